"""The daemon as a separate process: signals, kill -9, start by a client."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from signal import Signals
from typing import Any

import pytest

from memoryd.core.config import Settings, daemon_environment
from memoryd.core.errors import DaemonError, DaemonUnavailable
from memoryd.core.paths import Paths
from memoryd.daemon.client import Client, ensure_daemon
from memoryd.daemon.endpoint import daemons_of, holder_pid, read_endpoint
from tests.waiting import HANGS_SECONDS, until

COMMAND = [sys.executable, str(Path(__file__).with_name("fake_api.py"))]


@pytest.fixture
def client(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setenv("MEMORYD_LEASE_MINUTES", "0.5")  # What a race leaves behind ends by itself.
    client = Client(settings.paths)
    yield client
    client.stop(HANGS_SECONDS)


def start(settings: Settings, **more: Any) -> Any:
    environment = daemon_environment(settings) | {"MEMORYD_LEASE_MINUTES": str(settings.lease_minutes), **more}
    return subprocess.Popen(COMMAND, env=environment, stderr=subprocess.PIPE, text=True)


def spool(paths: Paths, number: int) -> None:
    paths.spool.mkdir(parents=True, exist_ok=True)
    hidden = paths.spool / f".{number:020}-1.Stop"
    hidden.write_bytes(b'\n{"n": %d}' % number)
    hidden.rename(paths.spool / hidden.name[1:])


def test_a_killed_daemon_is_replaced_and_its_spool_drained(settings: Settings, client: Client) -> None:
    first = start(settings)
    until(client.is_running)
    first.kill()
    first.communicate(timeout=HANGS_SECONDS)
    assert settings.paths.endpoint.exists() and not client.is_running()
    spool(settings.paths, 1)
    second = start(settings)
    until(client.is_running)
    assert client.ping(HANGS_SECONDS)[1] == second.pid == holder_pid(settings.paths)
    until(lambda: not list(settings.paths.spool.glob("0*")))
    assert (settings.home / "noted").read_text() == "Stop 1\n"
    client.stop(HANGS_SECONDS)
    second.communicate(timeout=HANGS_SECONDS)


def lines(path: Path) -> list[Any]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.slow
def test_nothing_spooled_is_lost_over_kills_at_any_point(settings: Settings, client: Client) -> None:
    noted = settings.home / "noted"
    for round, kill_after in enumerate((1, 40, 150)):
        for number in range(300 * round, 300 * round + 300):
            spool(settings.paths, number)
        enough = len(lines(noted)) + kill_after
        process = start(settings)
        until(lambda enough=enough: len(lines(noted)) >= enough)  # type: ignore[misc]
        process.kill()
        process.communicate(timeout=HANGS_SECONDS)
    last = start(settings)
    until(lambda: not list(settings.paths.spool.glob("0*")))
    assert set(lines(noted)) == {f"Stop {number}" for number in range(900)}
    until(lambda: client.stop(HANGS_SECONDS))
    last.communicate(timeout=HANGS_SECONDS)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(settings: Settings, client: Client, number: Signals) -> None:
    process = start(settings)
    until(client.is_running)
    client.call("x")  # From here on, there is an API to close.
    path = Path(read_endpoint(settings.paths).path)
    process.send_signal(number)
    _, errors = process.communicate(timeout=HANGS_SECONDS)
    assert (process.returncode, errors) == (0, "")
    assert not path.exists() and not settings.paths.endpoint.exists()
    assert (settings.home / "noted").read_text() == "closed\n"


@pytest.mark.slow
def test_the_second_of_two_processes_ends_with_0_and_names_the_first(settings: Settings, client: Client) -> None:
    first = start(settings)
    until(client.is_running)
    second = start(settings)
    _, errors = second.communicate(timeout=HANGS_SECONDS)
    assert second.returncode == 0 and f"pid {first.pid}" in errors
    assert client.ping(HANGS_SECONDS)[1] == first.pid
    client.stop(HANGS_SECONDS)
    first.communicate(timeout=HANGS_SECONDS)


def test_many_clients_that_start_it_at_once_get_one_daemon(settings: Settings, client: Client) -> None:
    threads = [threading.Thread(target=ensure_daemon, args=(settings, HANGS_SECONDS, COMMAND)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANGS_SECONDS)
    _, pid = client.ping(HANGS_SECONDS)
    assert os.getsid(pid) == pid != os.getsid(0)
    assert stat.S_IMODE((settings.paths.logs / "daemon.out").stat().st_mode) == 0o600


def test_a_daemon_that_cannot_start_is_shown_with_its_last_words(settings: Settings) -> None:
    def result() -> bool:
        with pytest.raises(DaemonUnavailable) as caught:
            ensure_daemon(settings, 0.5, [sys.executable, "-c", "raise SystemExit('no such luck')"])
        return "no such luck" in str(caught.value)

    until(result)  # On a busy machine, no interpreter has got this far within half a second.


@pytest.mark.slow
def test_a_daemon_that_hangs_is_named(settings: Settings, client: Client) -> None:
    process = start(settings)
    until(client.is_running)
    process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(DaemonUnavailable, match=f"kill -9 {process.pid}"):
            ensure_daemon(settings, 0.5, COMMAND)
    finally:
        process.send_signal(signal.SIGCONT)
    client.stop(HANGS_SECONDS)
    process.communicate(timeout=HANGS_SECONDS)


def test_a_daemon_from_before_an_update_is_replaced(settings: Settings, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    old = start(settings)
    until(client.is_running)
    ensure_daemon(settings, HANGS_SECONDS, COMMAND)
    assert client.ping(HANGS_SECONDS)[1] == old.pid
    monkeypatch.setattr("memoryd.daemon.client.__version__", "0.1.1")
    with pytest.raises(DaemonError):  # The started daemon is as old in this test, or the old daemon takes long to end.
        ensure_daemon(settings, 0.3, COMMAND)
    old.communicate(timeout=HANGS_SECONDS)
    assert old.returncode == 0


def test_a_process_ends_with_its_lease(settings: Settings) -> None:
    process = start(replace(settings, lease_minutes=0.3 / 60))
    process.communicate(timeout=HANGS_SECONDS)
    assert process.returncode == 0


def test_a_wrong_setting_is_reported_before_anything_starts(settings: Settings) -> None:
    environment = daemon_environment(settings) | {"MEMORYD_LEASE_MINUTES": "soon"}
    done = subprocess.run(
        [sys.executable, "-m", "memoryd.daemon"], env=environment, capture_output=True, text=True, timeout=HANGS_SECONDS
    )
    assert done.returncode == 2 and "MEMORYD_LEASE_MINUTES" in done.stderr
    assert [path for path in settings.home.rglob("*") if path.is_file()] in ([], [settings.paths.start_problem])


def test_the_real_daemon_starts_with_nothing_but_a_home(settings: Settings, client: Client) -> None:
    ensure_daemon(settings, HANGS_SECONDS)
    client.call("remember", {"content": "Deploys happen on Tuesdays.", "cwd": str(settings.home.parent)})
    client.stop(HANGS_SECONDS)
    ensure_daemon(settings, HANGS_SECONDS)
    listed = client.call("list_memories", {"project": "all"})
    assert [memory["content"] for memory in listed["memories"]] == ["Deploys happen on Tuesdays."]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="daemons are found in /proc")
def test_the_real_daemon_of_a_deleted_home_ends_and_does_not_make_it_again(settings: Settings, client: Client) -> None:
    ensure_daemon(settings, HANGS_SECONDS)
    client.call("remember", {"content": "Deploys happen on Tuesdays.", "cwd": str(settings.home.parent)})
    assert daemons_of(settings.paths)
    until(lambda: shutil.rmtree(settings.home, ignore_errors=True) or not settings.home.exists())
    until(lambda: not daemons_of(settings.paths))
    assert not settings.home.exists()


def test_the_daemon_inherits_nothing_of_the_clients_login(settings: Settings) -> None:
    inherited = daemon_environment(
        settings,
        {
            "PATH": "/bin",
            "ANTHROPIC_API_KEY": "secret",
            "CLAUDE_CODE_OAUTH_TOKEN": "secret",
            "CLAUDECODE": "1",
            "CLAUDE_CONFIG_DIR": "/c",
            "MEMORYD_INTERNAL": "1",
        },
    )
    assert inherited == {"PATH": "/bin", "CLAUDE_CONFIG_DIR": "/c", "MEMORYD_HOME": str(settings.home)}


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ("RLIMIT_NOFILE, (32, 32)", "32 open files"),
        ("RLIMIT_AS, (400_000_000, 400_000_000)", "381 MiB of address"),
    ],
)
def test_limits_under_which_no_daemon_can_live_are_said_at_once(settings: Settings, limits: str, says: str) -> None:
    script = (
        "import resource, sys\nfrom memoryd.daemon.client import ensure_daemon\nfrom memoryd.core.config import load_settings\n"
        "from memoryd.core.errors import MemorydError\n"
        f"resource.setrlimit(resource.{limits})\n"
        "try:\n    ensure_daemon(load_settings({}, home=sys.argv[1]))\nexcept MemorydError as error:\n    print(error)\n"
    )
    command = [sys.executable, "-c", script, str(settings.home)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_SECONDS, check=False)
    assert says in done.stdout and "ulimit" in done.stdout
