"""A model is asked about full pieces, or at the end of a session. Waiting loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.state import Cursor
from memoryd.daydream import pipeline
from memoryd.daydream.model_reader import ModelExtractor
from memoryd.daydream.offline import HeuristicExtractor
from memoryd.daydream.readers import SILENT_SECONDS
from memoryd.daydream.transcript import LogChunk, read_transcript
from memoryd.testing import ScriptedLLM
from tests.memoryd.daydream.test_pipeline import SAID, Log, World, proposals

BUDGET = 1_000
WORDS = "The worker of the queue reads its settings anew at each start and keeps them. "
NOTHING = '{"candidates": []}'


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, chunk_tokens=BUDGET)
    yield world
    world.state.close()


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def offset(world: World, log: Log) -> int:
    return world.state.cursor(str(log.path)).offset


def model(world: World, *answers: str) -> tuple[ModelExtractor, ScriptedLLM]:
    llm = ScriptedLLM(*(answers or (NOTHING,) * 40))
    return ModelExtractor(llm, world.settings), llm


def test_a_short_turn_waits_and_is_read_when_the_session_ends(world: World, log: Log) -> None:
    asked, llm = model(world, proposals((SAID[0], 1)))
    log.say(SAID[0])
    assert world.run(log, asked, "Stop") == []
    assert (llm.calls, offset(world, log)) == ([], 0)
    assert [run.kept for run in world.run(log, asked, "SessionEnd")] == [1]
    assert world.store.contents() == [SAID[0]]
    assert world.state.jobs() == []


@pytest.mark.parametrize("reason", ["PreCompact", "SessionEnd", "catch-up", "by hand", "import"])
def test_whatever_ends_or_asks_brings_a_waiting_log_at_once(world: World, log: Log, reason: str) -> None:
    asked, llm = model(world)
    log.say(SAID[0])
    world.run(log, asked, "Stop")
    assert world.state.due_job() is None
    world.run(log, asked, reason)
    assert (len(llm.calls), offset(world, log)) == (1, log.path.stat().st_size)


def test_a_session_that_falls_silent_is_read(world: World, log: Log) -> None:
    asked, llm = model(world)
    log.say(SAID[0])
    world.run(log, asked, "Stop")
    world.clock.advance(seconds=SILENT_SECONDS - 1)
    assert world.state.due_job() is None
    world.clock.advance(seconds=1)
    world.dream(asked).run_job(world.job())
    assert (len(llm.calls), world.state.jobs()) == (1, [])


def test_each_turn_begins_the_silence_again(world: World, log: Log) -> None:
    asked, llm = model(world)
    for _ in range(3):
        log.say(SAID[0])
        world.run(log, asked, "Stop")
        world.clock.advance(seconds=SILENT_SECONDS - 1)
    assert llm.calls == []


@pytest.mark.slow
def test_a_long_session_takes_one_call_for_each_full_piece(world: World, log: Log) -> None:
    asked, llm = model(world)
    turns, tokens = 60, 0
    for _ in range(turns):
        log.say(WORDS * 8)
        tokens += len(WORDS * 8) // 4
        world.run(log, asked, "Stop")
    world.run(log, asked, "SessionEnd")
    assert 2 <= len(llm.calls) <= 1 + tokens * 2 // BUDGET
    assert len(llm.calls) < turns / 4
    runs = world.state.runs(limit=500)
    assert sum(run.turns for run in runs) == turns, "each turn once"


def test_looking_whether_there_is_enough_reads_little(world: World, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def counted(path: Path, cursor: Cursor, **options: Any) -> LogChunk:
        piece = read_transcript(path, cursor, **options)
        looked.append(piece.cursor.offset - piece.start)
        return piece

    monkeypatch.setattr(pipeline, "read_transcript", counted)
    asked, _ = model(world)
    for _ in range(100):
        log.tool("x" * 4_000)  # Long lines of which hardly anything counts as text.
        world.run(log, asked, "Stop")
    world.run(log, asked, "SessionEnd")
    assert sum(looked) <= 3 * log.path.stat().st_size


def test_a_kill_while_a_log_waits_loses_nothing(world: World, log: Log) -> None:
    asked, _ = model(world)
    log.say(SAID[0])
    world.run(log, asked, "Stop")
    world.clock.advance(seconds=SILENT_SECONDS)
    again, _ = model(world, proposals((SAID[0], 1)))
    assert world.dream(again).run_job(world.job())[0].kept == 1, "a new process finds the job and the cursor where they were"


def test_the_heuristic_reads_each_turn_at_once(world: World, log: Log) -> None:
    log.say(SAID[0])
    assert world.run(log, HeuristicExtractor(), "Stop")[0].kept == 1


def test_what_was_switched_off_is_not_held_back_until_it_is_on_again(world: World, log: Log) -> None:
    asked, llm = model(world)
    world.state.touch_session(log.name, "p", log.cwd, str(log.path))
    world.state.set_session_off(log.name, True)
    log.say(SAID[0])
    world.run(log, asked, "Stop")
    assert offset(world, log) == log.path.stat().st_size
    world.state.set_session_off(log.name, False)
    world.run(log, asked, "SessionEnd")
    assert llm.calls == []


def test_while_no_model_can_answer_nothing_is_gathered(world: World, log: Log) -> None:
    log.say(SAID[0])
    world.run(log, world.model("junk", "junk"), "SessionEnd")
    log.say(SAID[2])
    (run,) = world.run(log, world.model(), "Stop")
    assert (run.extractor, world.state.jobs()) == ("session", [])
