"""Memory at the moment of action, with the real client: the context of a tool call and of a subagent, and the cached prefix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import World
from tests.e2e.model_server import Block, Body, conversation, say, tool_results, use
from tests.e2e.test_settled_by_the_session import shared, without_marks

pytestmark = pytest.mark.e2e
DEAD_END = "Sending the letters of src/mailer.py from a thread pool deadlocked, because the lock of the spool is not reentrant."
CURE = "When the build says 'spool.lock is held by pid', delete var/spool.lock, because a killed run leaves it behind."
RULE = "Never write to the production database."
TASK = "Look through src/mailer.py and list its functions."


@pytest.fixture
def repo(world: World) -> Path:
    """Return a repository with three memories that a session does not receive at its start or with its prompts."""
    world.extra |= {"MEMORYD_INJECT_SESSION": "false", "MEMORYD_INJECT_PROMPT": "false", "MEMORYD_HOOK_SECONDS": "4"}
    folder = world.repository("shop")
    (folder / "src").mkdir()
    (folder / "src" / "mailer.py").write_text("def send(letter):\n    return letter\n")
    world.run("hello", folder)
    for kind, text in (("dead_end", DEAD_END), ("fix", CURE), ("rule", RULE)):
        world.call("remember", cwd=str(folder), content=text, kind=kind)
    world.model.requests.clear()
    return folder


def test_a_tool_call_is_given_what_bears_on_it_once_and_earlier_text_never_changes(world: World, repo: Path) -> None:
    calls = [
        use("Read", file_path=str(repo / "src" / "mailer.py")),
        use("Bash", command="echo 'spool.lock is held by pid 71' >&2; exit 3", description="build"),
        use("Read", file_path=str(repo / "src" / "mailer.py"), limit=1),
    ]

    def brain(body: Body) -> list[Block]:
        done = len(tool_results(body))
        return [calls[done]] if done < len(calls) else [say("done")]

    world.model.brain = brain
    world.run("Have a look at how letters are sent.", repo, "--allowedTools", "Bash,Read")
    bodies = world.model.main_requests()
    assert [DEAD_END in conversation(body) for body in bodies] == [False, True, True, True]
    assert [CURE in conversation(body) for body in bodies] == [False, False, True, True]
    assert conversation(bodies[-1]).count(DEAD_END) == conversation(bodies[-1]).count(CURE) == 1
    assert len({json.dumps(without_marks(body["tools"]), sort_keys=True) for body in bodies}) == 1
    assert len({json.dumps(without_marks(body["system"]), sort_keys=True) for body in bodies}) == 1
    assert all(had == same for had, same in shared(bodies)), shared(bodies)


def test_a_subagent_is_given_the_rules_and_what_bears_on_its_task(world: World, repo: Path) -> None:
    def brain(body: Body) -> list[Block]:
        if any(TASK in str(message["content"]) for message in body["messages"] if message["role"] == "user"):
            return [say("send")]
        if tool_results(body):
            return [say("done")]
        return [use("Agent", description="list functions", prompt=TASK, subagent_type="general-purpose")]

    world.model.brain = brain
    world.run("Ask somebody to list the functions.", repo, "--allowedTools", "Agent")
    (asked,) = [body for body in world.model.main_requests() if TASK in str(body["messages"][0]["content"])]
    assert RULE in conversation(asked)
    assert DEAD_END in conversation(asked)
