from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from memoryd.core.config import Settings
from memoryd.core.ledger import UseKind
from memoryd.core.state import State
from memoryd.core.types import Candidate, Extraction, Kind, MemoryItem, Passage, Turn, TurnKind
from memoryd.daydream.pipeline import DayDream, cited
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock
from tests.memoryd.daydream.log_lines import SESSION, Log, encode


class SayWhatIsSaid:
    """Keeps each statement of the user about a port, literally."""

    name = "heuristic"

    def extract(self, passage: Passage) -> Extraction:
        said = [turn for turn in passage.turns if turn.kind is TurnKind.USER and "listens" in turn.text]
        return Extraction(tuple(Candidate(t.text, Kind.ENVIRONMENT, uuids=(t.uuid,), at=t.at) for t in said))


World = tuple[Orchestrator, State, DayDream, Path, FakeClock]


@pytest.fixture
def world(service: Orchestrator, settings: Settings, clock: FakeClock, tmp_path: Path) -> Iterator[World]:
    state = State(settings.paths.state_db, clock)
    yield service, state, DayDream(service, state, settings, clock, SayWhatIsSaid()), tmp_path / "log.jsonl", clock
    state.close()


def read(world: World, *entries: object) -> None:
    _, state, daydream, log, _ = world
    with log.open("ab") as stream:
        stream.write(encode(*entries))
    state.enqueue(str(log), SESSION, "", "Stop")
    job = state.due_job()
    assert job is not None
    assert [run.error for run in daydream.run_job(job) if run.error] == []


def test_a_memory_that_the_assistant_names_was_used_once_in_the_session(world: World) -> None:
    service, state, _, _, _ = world
    id = service.write(MemoryItem("The port is 5544.", project="shop"))
    log = Log()
    read(world, log.user("Which port is it?"), log.assistant(f"It is 5544 [{id}], and mem_ffffffffffff is unknown."))
    read(world, log.user("Sure?"), log.assistant(f"Yes: {id}."))
    assert [(use.session, use.how) for use in state.ledger.uses(id)] == [(SESSION, UseKind.CITED)]
    assert state.ledger.uses("mem_ffffffffffff") == []


def test_only_the_assistants_own_words_cite() -> None:
    id = "mem_0123456789ab"
    turns = [Turn(kind, f"See {id}.") for kind in TurnKind if kind is not TurnKind.ASSISTANT]
    assert cited([*turns, Turn(TurnKind.ASSISTANT, f"x{id} {id}0", sidechain=False)]) == []
    assert cited([Turn(TurnKind.ASSISTANT, f"See {id}, {id}.")]) == [id]


def test_a_memory_that_the_user_replaces_was_wrong(world: World) -> None:
    service, state, _, _, clock = world
    log = Log()
    read(world, log.user("The staging database listens on port 5432."), log.assistant("Good."))
    (old,) = (item.id for item in service.all())
    clock.advance(days=100)
    read(world, log.user("The staging database listens on port 5544."), log.assistant("Understood."))
    assert [use.how for use in state.ledger.uses(old)] == [UseKind.CONTRADICTED]


def test_what_was_injected_stays_on_record_after_a_compaction(world: World) -> None:
    _, state, _, _, _ = world
    state.record_injection("s1", ["mem_0123456789ab"], "SessionStart")
    state.forget_injections("s1")
    state.record_injection("s1", ["mem_0123456789ab"], "SessionStart")
    assert [use.how for use in state.ledger.uses("mem_0123456789ab")] == [UseKind.INJECTED]
    assert state.injected("s1") == {"mem_0123456789ab"}


def test_a_memory_whose_value_the_agent_uses_was_cited_unless_somebody_else_named_it_before(world: World) -> None:
    service, state, _, _, _ = world
    known, repeated = (
        service.write(MemoryItem(text, project="shop")) for text in ("The port is 5544.", "The queue is shop-orders-v2.")
    )
    state.record_injection(SESSION, [known, repeated], "UserPromptSubmit")
    log = Log()
    read(
        world,
        log.user("Connect, and look at shop-orders-v2."),
        log.tool_use("t1", "Bash", command="psql -p 5544; q shop-orders-v2"),
    )
    assert {use.how for use in state.ledger.uses(known)} == {UseKind.INJECTED, UseKind.CITED}
    assert [use.how for use in state.ledger.uses(repeated)] == [UseKind.INJECTED]


def test_a_correction_right_after_a_prompt_counts_against_what_was_given_with_that_prompt(world: World) -> None:
    service, state, _, _, clock = world
    early, late = (service.write(MemoryItem(text, project="shop")) for text in ("Use the old queue.", "Use the blue theme."))
    log = Log()
    first = log.user("Send it to the queue.")
    clock.advance(seconds=(datetime.fromisoformat(first["timestamp"]) - clock.now()).total_seconds())
    state.record_injection(SESSION, [early], "UserPromptSubmit")
    answer = log.assistant("Sent to the old queue.")
    for _ in range(40):
        log.line("system")
    correction = log.user("No, the old queue was shut down.")
    clock.advance(seconds=(datetime.fromisoformat(correction["timestamp"]) - clock.now()).total_seconds())
    state.record_injection(SESSION, [late], "UserPromptSubmit")
    read(world, first, answer, correction, log.assistant("Sorry."))
    assert UseKind.CORRECTED in [use.how for use in state.ledger.uses(early)]
    assert UseKind.CORRECTED not in [use.how for use in state.ledger.uses(late)]
