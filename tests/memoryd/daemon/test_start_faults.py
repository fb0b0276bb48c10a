"""Messages when the daemon can't start, or its configuration has become invalid."""

from __future__ import annotations

import errno
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from memoryd.api.dispatch import Api
from memoryd.cli import doctor
from memoryd.core.clock import SystemClock
from memoryd.core.config import Settings
from memoryd.core.errors import DaemonUnavailable, StoreError
from memoryd.core.files import try_lock
from memoryd.daemon import __main__ as server
from memoryd.daemon import client as client_module
from memoryd.daemon import process as daemon_module
from memoryd.daemon.client import ensure_daemon
from memoryd.daemon.process import run_daemon
from memoryd.dream.journal import EntryKind, EntryStep, Journal
from memoryd.testing import FakeClock

Usage = namedtuple("Usage", "total used free")


def test_a_broken_config_is_noted_for_the_next_session_and_forgotten_at_a_sound_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORYD_HOME", str(settings.home))
    settings.home.mkdir(parents=True, exist_ok=True)
    settings.paths.config.write_text("floor = 'high'\n")
    assert server.main() == 2
    result = settings.paths.start_problem.read_text()
    assert "floor" in result and result in capsys.readouterr().err
    monkeypatch.setattr(daemon_module, "_run_locked", lambda *_: 0)
    assert run_daemon(settings, lambda *_: pytest.fail("no API is made"), SystemClock()) == 0
    assert not settings.paths.start_problem.exists()


def test_a_config_that_breaks_while_the_daemon_runs_is_reported_at_the_session_start(
    settings: Settings, clock: FakeClock, tmp_path: Path
) -> None:
    api = Api(settings, clock)
    payload = {"session_id": "s", "cwd": str(tmp_path)}
    assert b"keeping the previous ones" not in api.hook("SessionStart", payload, {})
    settings.paths.config.write_text("no such setting = 1\n")
    assert b"keeping the previous ones" in api.hook("SessionStart", payload, {})
    api.close()


@pytest.mark.parametrize(
    ("fault", "fix"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "free some space"),
        (StoreError("Can't write endpoint: No space left on device.", fix="Check free space."), "Check free space"),
        (OSError(errno.EACCES, "Permission denied"), "memoryd doctor"),
    ],
)
def test_a_daemon_that_cannot_write_ends_with_a_reason_and_no_traceback(
    settings: Settings, fault: Exception, fix: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> int:
        raise fault

    monkeypatch.setattr(daemon_module, "_run_locked", broken)
    assert run_daemon(settings, lambda *_: pytest.fail("no API is made"), SystemClock()) == 1
    result = capsys.readouterr().err
    assert fix in result
    assert "Traceback" not in result


def test_a_client_says_that_the_disk_is_full(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.home.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, 0))
    monkeypatch.setattr(client_module, "PAUSE_SECONDS", 0.001)
    with pytest.raises(DaemonUnavailable, match="disk with .* is full"):
        ensure_daemon(settings, timeout=0.05, command=["false"])


def test_the_doctor_tells_an_entry_that_was_cut_off_from_a_dream_under_way(settings: Settings, clock: FakeClock) -> None:
    journal = Journal(settings.paths.journal)
    name = journal.create(EntryKind.DREAM, [], {}, at=clock.now(), trigger="nightly")
    journal.set_step(name, EntryStep.APPLYING)

    def found() -> tuple[bool, str]:
        (check,) = doctor._journal(settings)  # All checks together start a daemon, which repairs it.
        return check.ok, check.detail

    assert found() == (False, f"{name}: interrupted")
    lock = try_lock(settings.paths.dream_lock)
    assert lock is not None
    with lock:
        assert found() == (True, f"{name}: in progress")
    journal.set_step(name, EntryStep.DONE)
    assert found() == (True, "1 entries, none open")
