"""Binding rules with the real client: the note reaches the model, and a question or a refusal stops the call."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.daemon.endpoint import daemons_of
from tests.e2e.conftest import World, kill_daemons
from tests.e2e.model_server import Block, Body, say, tool_results, use
from tests.waiting import until

pytestmark = pytest.mark.e2e


def run(world: World, repo: Path, mode: str) -> tuple[str, str]:
    """Let the scripted model change a forbidden file. Return the request after it, and the result of the call."""

    def brain(body: Body) -> list[Block]:
        if not tool_results(body):
            return [use("Bash", command="touch legacy/made.txt", description="x")]
        return [say("done")]

    world.model.brain = brain
    world.model.requests.clear()
    world.run(f"go on with mode {mode}", repo, "--allowedTools", "Bash")
    request = world.last_request()
    return str(request), str(tool_results(request)[-1])


def test_a_rule_is_noted_asked_about_and_refused_in_the_real_client(world: World) -> None:
    repo = world.repository("shop")
    (repo / "legacy").mkdir()
    made = repo / "legacy" / "made.txt"
    world.run("hello", repo)
    id = world.call("remember", cwd=str(repo), content="Don't touch anything in legacy/.", kind="rule")["id"]

    request, result = run(world, repo, "note")
    assert "goes against it: legacy/made.txt" in request
    assert made.exists(), result
    made.unlink()

    world.call("guard_mode", cwd=str(repo), id=id, mode="ask")
    request, result = run(world, repo, "ask")
    assert not made.exists()  # Nobody is there to be asked.

    world.call("guard_mode", cwd=str(repo), id=id, mode="block")
    request, result = run(world, repo, "block")
    assert not made.exists()
    assert id in result


def dead(world: World) -> None:
    world.kill_daemon()
    (world.paths.home / "run" / "start.stamp").touch()  # Prevents a daemon from being started.


def hung(world: World) -> None:
    for pid in daemons_of(world.paths) or ():
        os.kill(pid, signal.SIGSTOP)


@pytest.mark.parametrize("broken", [dead, hung])
def test_a_call_that_the_guard_would_refuse_is_made_while_the_daemon_is_dead_or_hung(
    world: World, broken: Callable[[World], None]
) -> None:
    repo = world.repository("shop")
    (repo / "legacy").mkdir()
    world.run("hello", repo)
    id = world.call("remember", cwd=str(repo), content="Don't touch anything in legacy/.", kind="rule")["id"]
    world.call("guard_mode", cwd=str(repo), id=id, mode="block")
    broken(world)
    try:
        request, result = run(world, repo, broken.__name__)
        assert (repo / "legacy" / "made.txt").exists(), result
        assert id not in request
    finally:
        kill_daemons(world.paths)  # a stopped one doesn't end otherwise


def test_a_step_that_was_missing_when_the_answer_ended_is_noted_with_the_next_prompt(world: World) -> None:
    repo = world.repository("shop")
    world.run("hello", repo)
    id = world.call("remember", cwd=str(repo), content="When you are done, run make lint.", kind="rule")["id"]

    def brain(body: Body) -> list[Block]:
        if not tool_results(body):
            return [use("Write", file_path=str(repo / "a.py"), content="x = 1\n")]
        return [say("done")]

    world.model.brain = brain
    session = world.run("Write a file.", repo, "--allowedTools", "Write")["session_id"]
    until(lambda: world.call("guard_report", cwd=str(repo))["violations"], "the end of the answer was not checked")
    world.model.requests.clear()
    world.run("What next?", repo, "--resume", session)
    noted = str(world.last_request())
    assert "make lint was not run after the last edit" in noted
    assert id in noted
