"""A team of two, each with a home, a daemon and a clone of one bare repository, as their shells and sessions see it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from memoryd.daemon.client import Client
from tests.hooks.fake_daemon import ROOT, base_env
from tests.memoryd.cli.conftest import Terminal
from tests.memoryd.team.test_team import git

pytestmark = pytest.mark.slow
RULE = "Never run npm install; use pnpm install."


@dataclass
class Teammate(Terminal):
    """A member at a terminal."""

    def push(self, branch: str) -> None:
        git(self.folder, "push", "-q", "origin", f"HEAD:{branch}")

    def commit(self, message: str) -> None:
        git(self.folder, "add", ".memory")
        git(self.folder, "commit", "-q", "-m", message)

    def session_start(self) -> str:
        """Return what the hook gives a new session in the clone."""
        event = {
            "session_id": "s1",
            "cwd": str(self.folder),
            "transcript_path": str(self.folder / "s1.jsonl"),
            "source": "startup",
        }
        environment = {**base_env(self.home, self.home.parent / "data"), "MEMORYD_EMBEDDER": "hash"}
        command = [sys.executable, str(ROOT / "hooks" / "hook.py"), "SessionStart"]
        for _ in range(5):  # On a busy machine, an answer can come after the hook's time limit.
            done = subprocess.run(
                command, input=json.dumps(event).encode(), env=environment, cwd=self.folder, capture_output=True, check=True
            )
            if done.stdout:
                answer = json.loads(done.stdout)  # The first one may only have a line for the user.
                return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
        return ""

    def after_pull(self) -> str:
        git(self.folder, "pull", "-q", "--ff-only")
        self.run("team")  # The daemon looks every few seconds, and this command at once.
        return self.session_start()


@pytest.fixture
def members(tmp_path: Path) -> Iterator[tuple[Teammate, Teammate]]:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(tmp_path / "shop.git"))
    git(tmp_path, "clone", "-q", "shop.git", "first")
    git(tmp_path / "first", "commit", "-q", "--allow-empty", "-m", "Begin")
    git(tmp_path / "first", "push", "-q", "origin", "HEAD:main")
    made = []
    for name in ("ada", "bob"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "clone", "-q", str(tmp_path / "shop.git"), "shop")
        for key in ("name", "email"):
            git(tmp_path / name / "shop", "config", f"user.{key}", f"{name}@x.io")
        made.append(Teammate(tmp_path / name / "home", tmp_path / name / "shop"))
    yield made[0], made[1]
    for member in made:
        Client(member.paths).stop(60)


def test_a_rule_reaches_a_teammates_session_only_while_it_is_on_the_default_branch(members: tuple[Teammate, Teammate]) -> None:
    ada, bob = members
    for member in members:
        member.run("team", "init")
    id = ada.json("remember", RULE, "--kind", "rule")["id"]
    ada.run("share", id)
    git(ada.folder, "switch", "-q", "-c", "remember-pnpm")
    ada.commit("Remember that we use pnpm")
    ada.push("remember-pnpm")
    git(bob.folder, "fetch", "-q")
    git(bob.folder, "switch", "-q", "remember-pnpm")
    bob.run("team")
    assert (bob.folder / ".memory").is_dir() and RULE not in bob.session_start(), "a feature branch gives nothing"
    git(bob.folder, "switch", "-q", "main")
    ada.push("main")
    given = bob.after_pull()
    assert RULE in given and "team, reviewed in this repository" in given and "the team's" in given
    (memory,) = bob.json("team")["memories"]
    evidence = bob.json("show", memory["id"])["memory"]["evidence"]
    head = git(bob.folder, "rev-parse", "origin/main").strip()
    assert memory["trust"] == "team" and evidence["commit"] == head and evidence["paths"][0].startswith(".memory/")
    git(ada.folder, "revert", "--no-edit", "HEAD")
    ada.push("main")
    assert RULE not in bob.after_pull(), "it was reverted"
    assert RULE in ada.session_start(), "Ada still wants it herself"
