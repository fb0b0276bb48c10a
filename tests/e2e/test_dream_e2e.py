"""Dreams with the real client: what the next session receives, and what does not return."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.conftest import World
from tests.e2e.model_server import Block, Body, conversation, say, texts, tool_names, use

pytestmark = pytest.mark.e2e

RULE = "From now on always run `make lint-docs` before you commit."
AGAIN = "Remember: before you commit, always run `make lint-docs`."
UNWANTED = "From now on never deploy the shop on a Friday afternoon."
REMEMBER = "mcp__plugin_memoryd_memoryd__remember"
SEARCH = "ToolSearch"
DREAM = "mcp__plugin_memoryd_memoryd__dream"

Brain = Callable[[Body], list[Block]]


def asked(world: World, prompt: str, cwd: object) -> str:
    """Return the context that the model is given for a prompt in a new session."""
    world.model.brain = lambda body: [say("done")]
    world.model.requests.clear()
    world.run(prompt, cwd)  # type: ignore[arg-type]
    return conversation(world.model.main_requests()[0])


def calling(tool: str, **arguments: object) -> Brain:
    """Return a model that calls one tool once. It first searches for the tool if the client has not loaded it."""

    def brain(body: Body) -> list[Block]:
        called = [block["name"] for message in body["messages"] for block in blocks(message) if block.get("type") == "tool_use"]
        if tool in called:
            return [say("I see.")]
        if tool in tool_names(body) or SEARCH in called:
            return [use(tool, **arguments)]
        return [use(SEARCH, query=f"select:{tool}")]

    return brain


def blocks(message: Body) -> list[Block]:
    return [block for block in message["content"] if isinstance(block, dict)] if isinstance(message["content"], list) else []


def test_after_a_dream_the_next_session_starts_with_its_governance_and_nothing_forgotten_comes_back(world: World) -> None:
    repo = world.repository("shop")
    world.run(RULE, repo)
    world.wait_for_daydreams()
    world.run(UNWANTED, repo)
    world.wait_for_daydreams()
    memories = world.call("list_memories", cwd=str(repo))["memories"]
    (unwanted,) = (memory["id"] for memory in memories if "Friday" in memory["content"])
    world.call("forget", id=unwanted)
    done = world.call("dream", dry_run=False)
    assert done["status"] in ("done", "nothing to do")

    given = asked(world, "Please prepare the commit.", repo)
    assert "<memoryd-recall" in given
    assert "make lint-docs" in given
    assert "Friday" not in given

    # The agent proposes it again, with the tool and in its own words.
    world.model.brain = calling(REMEMBER, content="Never deploy the shop on Friday afternoons.", kind="rule", polarity="dont")
    world.model.requests.clear()
    world.run("What else should we keep in mind?", repo)
    assert "refused" in texts(world.last_request()["messages"][-1]["content"])
    world.model.brain = lambda body: [say("From now on I will never deploy the shop on a Friday afternoon.")]
    world.run("And what about deployments?", repo)
    world.wait_for_daydreams()
    world.call("dream", dry_run=False)

    again = asked(world, "Please deploy the shop this afternoon.", repo)
    assert "make lint-docs" in again
    assert "Friday" not in again
    active = world.call("list_memories", cwd=str(repo))["memories"]
    assert [memory for memory in active if "Friday" in memory["content"]] == []


def test_the_model_may_look_at_a_dream_and_what_it_recalled_is_on_record(world: World) -> None:
    repo = world.repository("shop")
    world.run(RULE, repo)
    world.wait_for_daydreams()
    (rule,) = (m["id"] for m in world.call("list_memories", cwd=str(repo))["memories"] if "lint-docs" in m["content"])
    world.model.brain = calling(DREAM)
    world.model.requests.clear()
    world.run("/memoryd:memory-dream", repo)
    assert '"status":"planned"' in texts(world.last_request()["messages"][-1]["content"]).replace(" ", "")
    assert world.call("journal")["entries"] == []

    world.model.brain = lambda body: [say(f"I ran the linter, as [{rule}] says.")]
    world.run("Please prepare the commit.", repo)
    world.wait_for_daydreams()
    used = world.call("why", id=rule)["used"]
    assert used["injected"] >= 1
    assert used["cited"] == 1
