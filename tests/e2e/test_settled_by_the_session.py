"""A new user with a login and no settings: the session's own model decides what is kept, with the real client."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import World
from tests.e2e.model_server import Block, Body, conversation, say, tool_names, tool_results, use

pytestmark = pytest.mark.e2e

SETTLE = "mcp__plugin_memoryd_memoryd__settle"
BLOCK = re.compile(r'<memoryd-recall reason="to settle">.*?</memoryd-recall>', re.DOTALL)
LINE = re.compile(r"^([0-9a-f]{4,12}) (?:user|you|agent): ", re.MULTILINE)
ANSWER = (
    "The thumbnails come out black because the resize worker reads the file before the upload is flushed. "
    "The worker listens on queue `thumbs-v2`, and the bucket of the test account is called `heron-test`."
)
KEPT = "The resize worker listens on the queue thumbs-v2; the test account's bucket is called heron-test."
PROMPTS = (
    "Why are the thumbnails black?",
    "Please show me the code of the worker.",
    "Which tests cover that file?",
    "And the docs?",
)


def offered(body: Body) -> list[str]:
    """Return the ids of the last block to settle that the model was given."""
    blocks = BLOCK.findall(conversation(body))
    return LINE.findall(blocks[-1]) if blocks else []


def settler(body: Body) -> list[Block]:
    """Answer the question, settle the first offered line in other words, and drop the rest."""
    if tool_results(body):
        return [say("Here it is.")]
    if ids := offered(body):
        assert SETTLE in tool_names(body), sorted(tool_names(body))
        first = {"id": ids[0], "keep": True, "content": KEPT, "kind": "environment", "asked_as": ["which queue has the worker?"]}
        return [use(SETTLE, items=[first, *({"id": id, "keep": False} for id in ids[1:])])]
    return [say(ANSWER)]


def talk(world: World, repo: Path, *prompts: str) -> str:
    """Run one session and resume it for each prompt after its log was read. Return its id."""
    session = ""
    for prompt in prompts:
        flags = ("--resume", session) if session else ()
        session = world.run(prompt, repo, *flags)["session_id"]
        world.wait_for_daydreams()
    return session


def test_what_the_sessions_model_settles_is_known_in_the_next_session(world: World) -> None:
    world.model.brain = settler
    repo = world.repository("shop")
    talk(world, repo, *PROMPTS[:2])
    asked = [body for body in world.model.main_requests() if offered(body)]
    assert asked, "no request showed anything to settle"
    (result,) = tool_results(world.last_request())
    assert "kept" in json.dumps(result)

    offers = world.call("memory_status")["offers"]
    assert offers["offers"] == 1 and offers["kept"] == 1 and 0 < offers["tokens"] <= 350
    world.model.requests.clear()
    world.run("What do we know about the worker?", repo)
    assert KEPT in conversation(world.model.main_requests()[0])


def test_a_rule_said_in_passing_is_settled_with_a_check_and_noted_at_the_call_that_violates_it(world: World) -> None:
    said = "The thumbnails look fine. The vendored tree third_party/ isn't ours by the way, editors stay out of it."
    rule = "The vendored tree third_party/ isn't ours, editors stay out of it."
    check = [{"kind": "path", "paths": ["third_party/"]}]

    def brain(body: Body) -> list[Block]:
        if tool_results(body):
            return [say("Here it is.")]
        if ids := [id for id in offered(body) if f"{id} user: " in conversation(body)]:
            entry = {"id": ids[0], "keep": True, "content": rule, "kind": "rule", "polarity": "dont", "check": check}
            return [use(SETTLE, items=[entry])]
        wanted = "vendor it" in conversation(body)
        return [use("Bash", command="touch third_party/made.txt", description="x") if wanted else say("ok")]

    world.model.brain = brain
    repo = world.repository("shop")
    (repo / "third_party").mkdir()
    talk(world, repo, said, PROMPTS[1])
    (kept,) = world.call("list_memories", cwd=str(repo))["memories"]
    assert (kept["kind"], kept["source"]) == ("rule", "user")
    world.run("Please vendor it.", repo, "--allowedTools", "Bash")
    (note,) = [line for line in conversation(world.last_request()).splitlines() if "goes against it" in line]
    assert kept["id"] in note
    assert "third_party/made.txt" in note


def test_a_model_that_ignores_the_offer_keeps_nothing_and_is_not_asked_again_at_once(world: World) -> None:
    world.model.brain = lambda body: [say(ANSWER if len(body["messages"]) < 3 else "Here it is.")]
    repo = world.repository("shop")
    talk(world, repo, *PROMPTS)
    counts = [len(BLOCK.findall(conversation(body))) for body in world.model.main_requests()]
    assert counts[0] == 0 and max(counts) == 1
    assert world.call("memory_status")["offers"]["settled"] == 0


def without_marks(value: Any) -> Any:
    """Remove cache markers from a request. They move with each turn, but the cached content does not."""
    if isinstance(value, dict):
        return {name: without_marks(entry) for name, entry in value.items() if name != "cache_control"}
    return [without_marks(entry) for entry in value] if isinstance(value, list) else value


def text_form(messages: list[Body]) -> list[tuple[str, str]]:
    """Return messages as role and blocks. A text is treated as a list of one text block."""
    out = []
    for message in without_marks(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        out += [(message["role"], json.dumps(block, sort_keys=True)) for block in blocks]
    return out


def shared(bodies: list[Body]) -> list[tuple[int, int]]:
    """Return, for each request after the first, the previous one's number of blocks, and how many of them it starts with."""
    out = []
    for before, after in zip(bodies, bodies[1:], strict=False):
        old, new = text_form(before["messages"]), text_form(after["messages"])
        same = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        out.append((len(old), same))
    return out


@pytest.mark.parametrize("reader", ["session", "offline"])
def test_the_cacheable_prefix_with_offers_is_as_long_as_without(world: World, reader: str) -> None:
    world.extra["MEMORYD_READER"] = reader
    world.model.brain = settler
    talk(world, world.repository("shop"), *PROMPTS)
    bodies = world.model.main_requests()
    assert any(offered(body) for body in bodies) is (reader == "session")
    # The first session may start before the daemon responds, with fewer tools.
    assert len({json.dumps(without_marks(body["tools"]), sort_keys=True) for body in bodies[1:]}) == 1
    assert all(had == same for had, same in shared(bodies)), shared(bodies)
