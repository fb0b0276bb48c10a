"""End-to-end test of the main feature with the real client: facts of one session are known in the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import RECALL, ROOT, World
from tests.e2e.model_server import Block, Body, conversation, say, texts, tool_names, tool_results, use

pytestmark = pytest.mark.e2e

RULE = "From now on always run `make lint-docs` before you commit, the pipeline rejects everything else."
CORRECTION = "No, the staging database is on port 5544, not on 5432."


def learner(body: Body) -> list[Block]:
    """Answer the first session with the claim that the user corrects."""
    if "5544" in conversation(body):
        return [say("Understood, I will use port 5544 for the staging database.")]
    return [say("The staging database listens on port 5432, as usual.")]


def teach(world: World, repo: Path) -> None:
    world.model.brain = learner
    first = world.run(f"Which port has the staging database? {RULE}", repo)
    world.run(CORRECTION, repo, "--resume", first["session_id"])
    world.wait_for_daydreams()


def asked(world: World, prompt: str, cwd: Path) -> str:
    """Return the context that the model is given for a prompt in a new session."""
    world.model.requests.clear()
    world.run(prompt, cwd)
    return conversation(world.model.main_requests()[0])


@pytest.mark.parametrize("how", ["plugin-dir", "marketplace"])
def test_a_rule_and_a_correction_reach_the_next_session_of_the_project_only(world: World, how: str) -> None:
    if how == "marketplace":
        world.install_plugin(ROOT)
    repo = world.repository("shop")
    teach(world, repo)

    again = asked(world, "Please prepare the commit.", repo)
    assert "make lint-docs" in again
    assert "5544" in again
    assert "<memoryd-recall" in again

    elsewhere = asked(world, "Please prepare the commit.", world.repository("other"))
    assert "make lint-docs" not in elsewhere
    assert "5544" not in elsewhere

    tree = world.folder / "code" / "feature"
    world.git(repo, "worktree", "add", "-q", str(tree), "-b", "feature")
    assert "make lint-docs" in asked(world, "Please prepare the commit.", tree)


def test_recall_returns_it_to_the_model_and_survives_a_killed_daemon(world: World) -> None:
    repo = world.repository("shop")
    teach(world, repo)
    world.kill_daemon()

    def recaller(body: Body) -> list[Block]:
        if tool_results(body):
            return [say("I see.")]
        if RECALL not in tool_names(body):
            return [say("I have no memory tools yet.")]
        return [use(RECALL, query="Which port does the staging database use?")]

    world.model.brain = recaller
    # On a busy machine, the client may ask the model before it has heard from its MCP servers. The next session has them.
    for _ in range(3):
        world.model.requests.clear()
        world.run("Which port does the staging database use?", repo)
        if tool_results(world.last_request()):
            break
    (result,) = tool_results(world.last_request())
    assert "5544" in texts(result["content"])
    assert "mem_" in texts(result["content"])


def test_governance_is_given_at_the_start_even_when_the_daemon_was_killed(world: World) -> None:
    repo = world.repository("shop")
    teach(world, repo)
    world.kill_daemon()
    assert "make lint-docs" in asked(world, "Please prepare the commit.", repo)


def test_a_project_that_is_switched_off_is_neither_read_nor_mentioned(world: World) -> None:
    repo = world.repository("shop")
    teach(world, repo)
    world.call("off", folder=str(repo))
    assert "make lint-docs" not in asked(world, "Please prepare the commit.", repo)
    before = world.call("memory_status")["memories"]["all"]
    world.run("From now on never touch the vendor folder.", repo)
    world.wait_for_daydreams()
    assert world.call("memory_status")["memories"]["all"] == before


def test_private_text_and_secrets_never_leave_the_transcript(world: World) -> None:
    repo = world.repository("shop")
    key = "sk-ant-api03-" + "A1b2C3d4" * 6
    world.run(f"<private>The owner is called Zebulon.</private> From now on always deploy with the key {key} to Frankfurt.", repo)
    world.wait_for_daydreams()
    kept = "\n".join(path.read_text() for path in world.paths.memories.rglob("*.md"))
    assert "Zebulon" not in kept
    assert key not in kept


def test_what_was_recalled_is_not_remembered_again(world: World) -> None:
    repo = world.repository("shop")
    teach(world, repo)
    before = sorted(path.name for path in world.paths.memories.rglob("*.md"))
    for _ in range(3):
        asked(world, "Please prepare the commit with make lint-docs and check port 5544.", repo)
        world.wait_for_daydreams()
    assert sorted(path.name for path in world.paths.memories.rglob("*.md")) == before
