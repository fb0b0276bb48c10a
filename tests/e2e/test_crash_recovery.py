"""Eight concurrent sessions with the real hooks while the daemon is repeatedly killed: nothing is lost or duplicated."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from memoryd.core.paths import Paths
from memoryd.daemon.endpoint import daemons_of
from tests.e2e.conftest import all_is_read, kill_daemons
from tests.waiting import HANGS_SECONDS, until

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SESSIONS = 8
TURNS = 25
MIN_KILLED = 5
LEASE_SECONDS = 6.0
WAIT_SECONDS = 600.0


def word(random_: random.Random) -> str:
    return "".join(random_.choice("bdfgklmnprst") + random_.choice("aeiou") for _ in range(4))


class Session:
    """A session log that grows turn by turn, and its hooks."""

    def __init__(self, folder: Path, home: Path, number: int) -> None:
        self.id = f"session-{number}"
        self.log = folder / "projects" / f"{self.id}.jsonl"
        self.cwd = folder / "shop"
        self.home = home
        self.random = random.Random(number)
        self.statements: list[str] = []

    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home.parent),
            "CLAUDE_PLUGIN_ROOT": str(ROOT),
            "MEMORYD_HOME": str(self.home),
            "MEMORYD_PYTHON": sys.executable,
            "MEMORYD_EMBEDDER": "hash",
            "MEMORYD_LEASE_MINUTES": str(LEASE_SECONDS / 60),
        }

    def hook(self, event: str, **more: str) -> None:
        payload = {"session_id": self.id, "transcript_path": str(self.log), "cwd": str(self.cwd), "hook_event_name": event} | more
        done = subprocess.run(
            ["sh", str(ROOT / "hooks" / "hook.sh"), event],
            input=json.dumps(payload).encode(), env=self.environment(), capture_output=True, timeout=HANGS_SECONDS, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")

    def turn(self, number: int) -> None:
        a, b, c, d, e, f = (word(self.random) for _ in range(6))
        statement = f"From now on always {a} the {b} {c} with {d} {e} {f}."
        self.statements.append(statement)
        with self.log.open("a") as stream:
            for role, text in (("user", statement), ("assistant", "Understood.")):
                line = {
                    "type": role, "uuid": f"{self.id}-{number}-{role}", "sessionId": self.id, "cwd": str(self.cwd),
                    "timestamp": f"2026-01-02T10:{number:02}:00Z", "message": {"role": role, "content": text},
                }  # fmt: skip
                stream.write(json.dumps(line) + "\n")
                stream.flush()
        self.hook("Stop")

    def live(self, killed: list[int]) -> None:
        """Append turns no faster than the kills, which are slow on a busy machine."""
        self.log.parent.mkdir(exist_ok=True)
        self.hook("SessionStart", source="startup")
        for number in range(TURNS):
            until(lambda due=MIN_KILLED * number // (TURNS - 1): len(killed) >= due, "no daemon to kill")  # type: ignore[misc]
            self.hook("UserPromptSubmit", prompt="What comes next in the plan?")
            self.turn(number)
        self.hook("SessionEnd", reason="other")


def kill_at_random(session: Session, stop: threading.Event, killed: list[int]) -> None:
    """Kill the daemon at random times. Another client (the command line) restarts it immediately."""
    random_ = random.Random(7)
    paths = Paths(session.home)
    while not stop.wait(random_.uniform(0.02, 0.3)):
        killed += kill_daemons(paths)
        # On a busy machine it may give up. Then the next hook or the next round starts one.
        command = [sys.executable, "-m", "memoryd", "daemon", "--start"]
        subprocess.run(command, env=session.environment(), capture_output=True, check=False)


def wait_until_read(paths: Paths, session: Session) -> None:
    def is_read() -> bool:
        session.hook("UserPromptSubmit", prompt="wake up")
        return all_is_read(paths)

    until(is_read, "the day dreams did not end", WAIT_SECONDS)


def test_nothing_is_lost_or_doubled_and_no_process_stays(tmp_path: Path) -> None:
    home = tmp_path / "home"
    paths = Paths(home)
    (tmp_path / "shop").mkdir()
    sessions = [Session(tmp_path, home, number) for number in range(SESSIONS)]
    failures: list[BaseException] = []

    def guarded(session: Session) -> None:
        try:
            session.live(killed)
        except BaseException as error:
            failures.append(error)
            raise

    stop = threading.Event()
    killed: list[int] = []
    killer = threading.Thread(target=kill_at_random, args=(sessions[0], stop, killed))
    threads = [threading.Thread(target=guarded, args=(session,)) for session in sessions]
    killer.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    stop.set()
    killer.join(WAIT_SECONDS)
    assert not killer.is_alive() and not any(thread.is_alive() for thread in threads)
    assert not failures
    assert len(killed) >= MIN_KILLED
    wait_until_read(paths, sessions[0])

    kept = Counter(path.read_text().split("\n---\n", 1)[1].strip() for path in paths.memories.rglob("*mem_*.md"))
    said = {statement for session in sessions for statement in session.statements}
    assert len(said) == SESSIONS * TURNS
    assert {statement for statement in said if kept[statement] != 1} == set()
    assert not [path for path in paths.spool.iterdir() if path.is_file()]

    until(lambda: daemons_of(paths) == [], "a daemon stays")
