"""Feedback for the learned router: prompts with useful memories, read from the sessions' logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.api.dispatch import Api
from memoryd.api.router_feedback import Feedback, feedback
from memoryd.core.config import Settings
from memoryd.core.ledger import UseKind
from memoryd.core.types import Backend, Hit, MemoryItem, Query
from memoryd.retrieval.training import LabelledQuery
from memoryd.testing import FakeClock
from tests.memoryd.api.conftest import Desk

PROMPT = "Where does the mail queue keep what waits, and why there?"
BACKENDS = (Backend.GRAPH, Backend.HYBRID, Backend.MARKDOWN)
USED, OTHER = "mem_000000000001", "mem_000000000002"


@pytest.fixture
def desk(settings: Settings, clock: FakeClock, tmp_path: Path) -> Iterator[Desk]:
    api = Api(settings, clock)
    folder = tmp_path / "shop"
    folder.mkdir()
    yield Desk(api, folder)
    api.close()


def outcome(desk: Desk, *prompts: tuple[str, str]) -> None:
    """Write the session's log with (time, prompt) entries."""
    lines = [
        {"type": "user", "uuid": f"u{number}", "sessionId": "s1", "cwd": str(desk.folder), "timestamp": at}
        | {"message": {"role": "user", "content": text}}
        for number, (at, text) in enumerate(prompts)
    ]
    (desk.folder / "s1.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))


def used(desk: Desk, clock: FakeClock, *memories: str, event: str = "UserPromptSubmit", cited: bool = True) -> str:
    """Record that the session was just given memories and cited them. Return the time."""
    state = desk.api._state
    state.touch_session("s1", "shop", str(desk.folder), str(desk.folder / "s1.jsonl"))
    state.record_injection("s1", memories, event)
    if cited:
        state.ledger.record_use(memories, "s1", UseKind.CITED)
    return clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def ranking(**ranked: list[str]) -> Callable[..., Any]:
    """Return a search whose backends rank these ids, and which records its queries."""

    def search(query: Query, limit: int) -> list[Hit]:
        search.asked.append(query.text)  # type: ignore[attr-defined]
        ids = ranked.get(query.backend.value, [])
        return [Hit(MemoryItem(id=id, content=id), score=1.0, relevancy=1.0, backend=query.backend) for id in ids[:limit]]

    search.asked = []  # type: ignore[attr-defined]
    return search


def found(desk: Desk, clock: FakeClock, search: Callable[..., Any]) -> Feedback:
    return feedback(desk.api._state, search, clock.now(), BACKENDS)


def test_a_prompt_is_labelled_by_the_backend_that_ranks_the_cited_memory_highest(desk: Desk, clock: FakeClock) -> None:
    at = used(desk, clock, USED)
    outcome(desk, ("2020-01-01T00:00:00Z", "Something else, long ago, about the tests?"), (at, PROMPT))
    search = ranking(graph=[OTHER, USED], hybrid=[USED], markdown=[])
    result = found(desk, clock, search)
    assert result.rows == [LabelledQuery(PROMPT, Backend.HYBRID)] and (result.undecided, result.gone) == (0, 0)
    assert set(search.asked) == {PROMPT}  # type: ignore[attr-defined]


@pytest.mark.parametrize("ranked", [{}, {"graph": [USED], "hybrid": [USED]}, {"graph": [OTHER], "markdown": [OTHER]}])
def test_what_the_backends_rank_equally_says_nothing(desk: Desk, clock: FakeClock, ranked: dict[str, Any]) -> None:
    outcome(desk, (used(desk, clock, USED), PROMPT))
    result = found(desk, clock, ranking(**ranked))
    assert (result.rows, result.undecided) == ([], 1)


def test_what_was_not_cited_or_came_at_the_start_or_was_contradicted_is_not_feedback(desk: Desk, clock: FakeClock) -> None:
    at = used(desk, clock, "mem_00000000000a", cited=False)
    used(desk, clock, "mem_00000000000b", event="SessionStart")
    used(desk, clock, "mem_00000000000c")
    desk.api._state.ledger.record_use(["mem_00000000000c"], "s1", UseKind.CONTRADICTED)
    outcome(desk, (at, PROMPT))
    search = ranking()
    assert found(desk, clock, search).rows == [] and search.asked == []  # type: ignore[attr-defined]


def test_a_log_that_is_gone_is_counted_and_a_prompt_of_another_time_is_not_a_match(desk: Desk, clock: FakeClock) -> None:
    used(desk, clock, USED)
    assert found(desk, clock, ranking()).gone == 1
    outcome(desk, ("2020-01-01T00:00:00Z", PROMPT))
    result = found(desk, clock, ranking(hybrid=[USED]))
    assert (result.rows, result.undecided, result.gone) == ([], 0, 0)


def test_sessions_and_projects_that_are_off_are_not_read(desk: Desk, clock: FakeClock) -> None:
    outcome(desk, (used(desk, clock, USED), PROMPT))
    state = desk.api._state
    state.set_session_off("s1", True)
    assert found(desk, clock, ranking(hybrid=[USED])).rows == []
    state.set_session_off("s1", False)
    state.switches.set("shop", True)
    assert found(desk, clock, ranking(hybrid=[USED])).rows == []


def test_training_tells_how_many_prompts_it_used_and_keeps_no_word_of_them(desk: Desk, clock: FakeClock, tmp_path: Path) -> None:
    outcome(desk, (used(desk, clock, USED), PROMPT))
    desk.api.warm()
    service = desk.api._service
    service.search, real = ranking(hybrid=[USED]), service.search
    labels = tmp_path / "labels.json"
    labels.write_bytes(
        orjson.dumps({"format": 1, "hybrid": [f"why is {n} so" for n in range(10)], "markdown": [f"port {n}" for n in range(10)]})
    )
    result = desk.user("train_router", labels=str(labels))
    assert result["feedback"] == {"prompts": 1, "undecided": 0, "logs_gone": 0}
    assert result["scores"]["n"] == 20 and result["scores"]["feedback"]["rows"] == 1
    written = Path(result["path"]).read_text("utf-8")
    assert "mail queue" not in written and USED not in written
    left_out = desk.user("train_router", labels=str(labels), feedback=False)
    assert left_out["feedback"]["prompts"] == 0 and "feedback" not in left_out["scores"]
    service.search = real


def test_a_session_as_hooks_and_log_tell_it_becomes_feedback(desk: Desk, clock: FakeClock) -> None:
    desk.api.warm()
    asked = "On which port is the staging database?"
    desk.hook("SessionStart", source="startup")
    id = desk.user("remember", content="The staging database is on port 5544.", kind="fact")["id"]
    desk.hook("UserPromptSubmit", prompt=asked)
    at = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    common = {"sessionId": "s1", "cwd": str(desk.folder), "timestamp": at}
    said = {"role": "assistant", "content": [{"type": "text", "text": f"Port 5544, as {id} says."}]}
    lines = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": asked}, **common},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": said, **common},
    ]
    (desk.folder / "s1.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    desk.user("daydream")
    desk.api.tick()
    search = ranking(hybrid=[id])
    assert found(desk, clock, search).rows == [LabelledQuery(asked, Backend.HYBRID)]
