"""A turn that takes too long is skipped and reported. The rest of the log is read, also after a restart."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.cli.doctor import run_checks
from memoryd.core.config import Settings
from memoryd.core.deadline import Deadline
from memoryd.core.errors import DaemonUnavailable, TooSlowError
from memoryd.core.state import GIVEN_UP, Cursor
from memoryd.daydream import redact as redaction
from memoryd.daydream.quoted import own_words
from memoryd.daydream.redact import redact
from memoryd.daydream.secret_values import ScannedText
from memoryd.daydream.secret_words import Found, find_by_words
from memoryd.daydream.transcript import ReadLimits, read_transcript
from tests.memoryd.daydream.test_pipeline import Log, World

BOUND = 0.5
SAID = ("Always run make check", "this one is Slow, the password is a hard nut", "Never push to main")


def endless(scanned: ScannedText) -> list[Found]:
    """Simulate a scanner that never finishes one text, and checks its deadline in its loop."""
    while "Slow" in scanned.text:
        scanned.deadline.check()
    return find_by_words(scanned)


@pytest.fixture
def slow_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    redact("the patterns are loaded at the first text, with pw=a1b2c3d4e5")
    monkeypatch.setattr(redaction, "find_by_words", endless)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = Log(tmp_path)
    log.say(*SAID)
    return log


@pytest.fixture
def no_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prevent the doctor from finding a daemon or starting one that would outlive the test."""

    def refuse(settings: Settings) -> None:
        raise DaemonUnavailable("no daemon in this test")

    monkeypatch.setattr("memoryd.cli.doctor.ensure_daemon", refuse)


@pytest.mark.usefixtures("slow_scanner")
def test_a_line_that_takes_too_long_is_left_out_and_the_rest_is_read(log: Log) -> None:
    piece = read_transcript(log.path, Cursor(str(log.path)), limits=ReadLimits(line_seconds=BOUND))
    turns = [turn.text for turn in piece.turns]
    while piece.more:
        piece = read_transcript(log.path, piece.cursor, limits=ReadLimits(line_seconds=BOUND))
        turns += [turn.text for turn in piece.turns]
    assert turns == [SAID[0], SAID[2]]


@pytest.mark.usefixtures("slow_scanner")
def test_a_given_up_line_is_counted_by_its_number_and_not_read_again(log: Log) -> None:
    limits = ReadLimits(line_seconds=BOUND)
    first = read_transcript(log.path, Cursor(str(log.path)), limits=limits)
    assert (first.given_up, first.skipped) == ((2,), {"too slow": 1})
    again = read_transcript(log.path, first.cursor, limits=limits)
    assert again.given_up == ()


@pytest.mark.usefixtures("slow_scanner", "no_daemon")
def test_doctor_and_the_log_name_the_line_that_was_given_up(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(home=tmp_path / "home")
    settings.home.mkdir()
    world = World(tmp_path)
    monkeypatch.setattr("memoryd.daydream.pipeline.limits_for", lambda *_: ReadLimits(line_seconds=BOUND))
    with caplog.at_level(logging.WARNING):
        runs = world.run(log)
    assert sum(run.skipped.get("too slow", 0) for run in runs) == 1
    assert f"line 2 of {log.path}" in caplog.text
    assert SAID[1] not in caplog.text
    assert world.store.contents() == sorted([SAID[0], SAID[2]])
    noted = orjson.loads(world.state.note(GIVEN_UP))
    world.state.close()
    assert [(one["transcript"], one["line"]) for one in noted] == [(str(log.path), 2)]
    monkeypatch.setattr("memoryd.cli.doctor.DAYS_NAMED", 100_000)  # The test data are old.
    settings.paths.state_db.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "state.db").rename(settings.paths.state_db)
    (check,) = [one for one in run_checks(settings) if one.name == "slow lines"]
    assert f"line 2 of {log.path}" in check.detail
    assert not check.ok


@pytest.mark.usefixtures("no_daemon")
def test_a_quiet_home_names_no_slow_line(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.settings.paths.state_db.parent.mkdir(parents=True, exist_ok=True)
    world.state.close()
    (tmp_path / "state.db").rename(world.settings.paths.state_db)
    (check,) = [one for one in run_checks(world.settings) if one.name == "slow lines"]
    assert check.ok


@pytest.mark.parametrize("work", [redact, own_words])
def test_text_functions_stop_at_their_deadline(work: Any) -> None:
    ticks = iter(range(1_000))
    deadline = Deadline(2, now=lambda: float(next(ticks)))
    with pytest.raises(TooSlowError):
        text = "the password is not set, use `make`: see https://a.b/c and 1234 codes\n" * 40
        work(text, deadline=deadline)


HANGS = """
import sys
from pathlib import Path
from memoryd.daydream import redact as redaction
from memoryd.daydream.secret_words import find_by_words
from memoryd.core.deadline import Watchdog
from memoryd.daydream.pipeline import DayDream
from tests.memoryd.daydream.test_pipeline import EveryLine, World

def hang(scanned):
    while "Slow" in scanned.text:  # one call that never looks at its deadline
        pass
    return find_by_words(scanned)

redaction.redact("the patterns are loaded at the first text, with pw=a1b2c3d4e5")
redaction.find_by_words = hang
world = World(Path(sys.argv[1]))
if not world.state.jobs():
    world.state.enqueue(sys.argv[2], "s1", "/app", "by hand")
dream = DayDream(world.store, world.state, world.settings, world.clock, EveryLine(), watch=Watchdog(2))
runs = dream.run_job(world.state.due_job())
print("DONE", *world.store.contents(), sum(run.skipped.get("too slow", 0) for run in runs), sep="|")
"""


@pytest.mark.slow
def test_a_line_that_ends_the_process_is_given_up_after_a_few_restarts(log: Log, tmp_path: Path) -> None:
    """The scanner hangs in one call, the watchdog ends the process, and the next process must not hang there forever."""
    for restart in range(8):  # noqa: B007 - read after the loop
        done = subprocess.run(
            [sys.executable, "-c", HANGS, str(tmp_path), str(log.path)], capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode == 0:
            break
        assert "Timeout" in done.stderr
    assert done.stdout.strip().endswith(f"{SAID[2]}|1"), done.stderr
    assert restart <= 4
