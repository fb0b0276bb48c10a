"""Session starts without a daemon: cached governance, and messages of the first setup."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.core.project import find_git
from tests.hooks.conftest import Hooks
from tests.hooks.fake_daemon import BOUND_SECONDS, FakeDaemon

Make = Callable[..., FakeDaemon]
CACHED = b'{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"the rules"}}'


@pytest.fixture
def ready(hooks: Hooks) -> Hooks:
    """Return a plugin with a ready environment, as in a development clone."""
    (hooks.plugin / ".venv" / "bin").mkdir(parents=True)
    (hooks.plugin / ".venv" / "bin" / "python").write_text("")
    (hooks.plugin / ".venv" / "lib" / "python3.11" / "site-packages" / "memoryd-0.1.0.dist-info").mkdir(parents=True)
    return hooks


def store(hooks: Hooks, key: Path, answer: bytes = CACHED) -> None:
    folder = hooks.home / "run" / "governance"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (hashlib.sha256(str(key).encode()).hexdigest() + ".json")).write_bytes(answer)


def git(folder: Path, *arguments: str) -> None:
    name = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True, timeout=BOUND_SECONDS)


def test_outside_git_the_key_is_the_real_folder(ready: Hooks, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(ready.project)
    store(ready, ready.project)
    assert json.loads(ready.run("SessionStart", ready.payload(cwd=str(link)))) == json.loads(CACHED)


def test_a_subfolder_and_a_worktree_share_the_repositorys_governance(ready: Hooks, tmp_path: Path) -> None:
    git(ready.project, "init", "-q")
    git(ready.project, "commit", "-q", "--allow-empty", "-m", "first")
    git(ready.project, "worktree", "add", "-q", str(tmp_path / "worktree"))
    (ready.project / "deep" / "er").mkdir(parents=True)
    store(ready, ready.project / ".git")
    for cwd in (ready.project, ready.project / "deep" / "er", tmp_path / "worktree"):
        found = find_git(cwd)
        assert found is not None
        assert found.common_dir == ready.project / ".git"
        assert json.loads(ready.run("SessionStart", ready.payload(cwd=str(cwd)))) == json.loads(CACHED)


def test_a_worktree_below_a_folder_that_is_off_or_excluded_gets_nothing(ready: Hooks, tmp_path: Path) -> None:
    git(ready.project, "init", "-q")
    git(ready.project, "commit", "-q", "--allow-empty", "-m", "first")
    for name in ("clients/a", "clients/open/b", "secret/c", "free/d"):
        git(ready.project, "worktree", "add", "-q", str(tmp_path / name))
    store(ready, ready.project / ".git")
    closed = f"-{tmp_path}/clients\n+{tmp_path}/clients/open\n!{tmp_path}/secret"
    (ready.home / "run" / "governance" / "closed").write_text(closed)
    given = {name for name in ("clients/a", "clients/open/b", "secret/c", "free/d") if _is_given(ready, tmp_path / name)}
    assert given == {"clients/open/b", "free/d"}


def _is_given(ready: Hooks, cwd: Path) -> bool:
    return ready.run("SessionStart", ready.payload(cwd=str(cwd))) != b""


def test_another_folder_gets_nothing(ready: Hooks, tmp_path: Path) -> None:
    store(ready, ready.project)
    (tmp_path / "other").mkdir()
    assert ready.run("SessionStart", ready.payload(cwd=str(tmp_path / "other"))) == b""


def test_a_hung_daemon_does_not_hide_the_governance(ready: Hooks, daemon: Make) -> None:
    ready.as_shipped()
    daemon(behave=lambda link: None)
    store(ready, ready.project)
    assert json.loads(ready.run("SessionStart")) == json.loads(CACHED)
    start, shown = ready.spooled()
    assert (start.suffix, shown.suffix) == (".SessionStart", ".GovernanceShown")
    assert json.loads(shown.read_bytes()) == json.loads(ready.payload("SessionStart"))


def test_what_was_not_shown_is_not_said_to_be(ready: Hooks) -> None:
    ready.run("SessionStart")
    assert [path.suffix for path in ready.spooled()] == [".SessionStart"]


def test_other_events_never_print_the_governance(ready: Hooks) -> None:
    store(ready, ready.project)
    assert [ready.run(event) for event in ("UserPromptSubmit", "Stop", "SessionEnd")] == [b"", b"", b""]


@pytest.mark.parametrize("name", ["MEMORYD_INJECT_SESSION", "CLAUDE_PLUGIN_OPTION_INJECT_SESSION"])
def test_injection_that_is_switched_off_stays_off(ready: Hooks, name: str) -> None:
    store(ready, ready.project)
    assert ready.run("SessionStart", None, **{name: "false"}) == b""


def test_a_damaged_cache_file_is_not_printed(ready: Hooks) -> None:
    store(ready, ready.project, CACHED[:-5])
    assert ready.run("SessionStart") == b""


def test_without_an_environment_the_user_is_notified_that_it_is_built(hooks: Hooks) -> None:
    assert "being set up" in json.loads(hooks.run("SessionStart"))["systemMessage"]


def test_the_message_comes_with_the_governance(hooks: Hooks) -> None:
    store(hooks, hooks.project)
    answer = json.loads(hooks.run("SessionStart"))
    assert answer["hookSpecificOutput"]["additionalContext"] == "the rules"
    assert "being set up" in answer["systemMessage"]


def test_a_failed_setup_is_named_with_its_log(hooks: Hooks) -> None:
    (hooks.data / "setup.json").write_text(json.dumps({"state": "failed", "message": "no space left.", "since": time.time()}))
    message = json.loads(hooks.run("SessionStart"))["systemMessage"]
    assert "no space left." in message
    assert str(hooks.home / "logs" / "launcher.log") in message


def test_readiness_is_reported_once_beside_the_answer(hooks: Hooks, daemon: Make) -> None:
    daemon(answer=CACHED)
    (hooks.data / "announce").write_text("memoryd is ready.")
    first, second = json.loads(hooks.run("SessionStart")), json.loads(hooks.run("SessionStart"))
    assert first == {**json.loads(CACHED), "systemMessage": "memoryd is ready."}
    assert second == json.loads(CACHED)


def test_readiness_is_reported_when_there_is_nothing_else_to_say(hooks: Hooks, daemon: Make) -> None:
    daemon(answer=b"")
    (hooks.data / "announce").write_text("memoryd is ready.")
    assert json.loads(hooks.run("SessionStart")) == {"systemMessage": "memoryd is ready."}


def test_why_no_daemon_can_start_is_reported_until_the_configuration_changes(ready: Hooks) -> None:
    (ready.home / "run").mkdir(parents=True, exist_ok=True)
    (ready.home / "run" / "start-problem").write_text("config.toml, line 3: floor is no number. Fix: write 0.5.")
    assert "floor is no number" in json.loads(ready.run("SessionStart"))["systemMessage"]
    assert ready.run("UserPromptSubmit") == b""
    config = ready.home / "config.toml"
    config.write_text("floor = 0.5\n")
    later = time.time() + 60
    os.utime(config, (later, later))
    assert ready.run("SessionStart") == b""
