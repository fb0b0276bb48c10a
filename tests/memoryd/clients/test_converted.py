"""Files of sessions that are converted: read once, by complete lines, whichever client wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryd.clients.converted import complete_lines, loaded
from memoryd.clients.registry import log_status, open_log
from memoryd.core.state import Cursor
from memoryd.daydream.transcript import cursor_at_end, read_transcript
from tests.memoryd.clients.test_codex import Rollout
from tests.memoryd.clients.test_gemini import Recording

Log = Rollout | Recording


@pytest.fixture(params=[Rollout, Recording])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Log:
    made: Log = request.param(tmp_path)
    return made


def test_what_was_said_while_memory_was_off_is_passed_over_without_opening_the_log(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.prompt("Never read this.")
    with monkeypatch.context() as patched:
        patched.setattr("memoryd.core.files.regular_handle", lambda *_arguments: pytest.fail("the log was opened"))
        cursor = cursor_at_end(str(log.path), "s")
    assert cursor is not None
    log.prompt("Memory is on again.")
    assert [turn.text for turn in read_transcript(log.path, cursor).turns] == ["Memory is on again."]


def test_a_session_only_grows_and_an_unfinished_line_is_left_for_later(log: Log) -> None:
    log.prompt("Use port 8080.")
    before, piece = open_log(log.path).read(), read_transcript(log.path, Cursor(str(log.path)))
    log.prompt("Use port 9090 for the metrics.")
    log.path.write_bytes(log.path.read_bytes() + b'{"timestamp": "2026')
    assert open_log(log.path).read().startswith(before)
    assert log_status(log.path).size == len(open_log(log.path).read())
    later = read_transcript(log.path, piece.cursor)
    assert [turn.text for turn in later.turns] == ["Use port 9090 for the metrics."] and not later.reset


def test_an_overlong_line_is_left_out_and_the_next_one_is_read(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(b'{"a": 1}\n{"b": "' + b"x" * 100 + b'"}\n{"c": 3}\n[4]\n')
    lines = list(complete_lines(file, file.stat().st_size, 20))
    assert [loaded(line) for line in lines] == [{"a": 1}, {"c": 3}, {}]
