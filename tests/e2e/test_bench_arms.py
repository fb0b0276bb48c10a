"""The control arms with the real client: what each arm is given. Nothing else differs between the requests of the arms."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.bench import Rememberer, bench
from tests.e2e.model_server import Block, Body, ModelServer, conversation, say
from tests.e2e.test_run_bench import golds

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

QUESTION = "What is the name of Maya's cat?"
ARMS = ("off", "blank", "plugin", "history", "notes", "dreamed", "contradictory", "placebo")
SANDBOX = re.compile(r"/[^\s\"]*?/work/[0-9a-f]{12}/[0-9a-f]{12}")
ADDED = (
    "# MCP Server Instructions",
    "SessionStart hook additional context",
    "UserPromptSubmit hook additional",
    "user instructions",
)
"""Parts of a message that occur only in arms with the plugin or with notes."""


class Curator(Rememberer):
    """A scripted model that also writes notes on request: everything that the user said."""

    def __call__(self, body: Body) -> list[Block]:
        given = conversation(body)
        if "Rewrite the notes in your CLAUDE.md" in given:
            return [say("\n".join(line for line in given.splitlines() if line.startswith("User: ")))]
        return super().__call__(body)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    made = ModelServer(Curator(golds()))
    yield made
    made.close()


def shared(body: Body) -> str:
    """Return the part of a request that must be equal in all arms, as text."""
    kept = {key: value for key, value in body.items() if key != "metadata"}
    kept["tools"] = [tool for tool in body["tools"] if not tool["name"].startswith("mcp__plugin_memoryd")]
    kept["system"] = [{**block, "text": block["text"].partition("\n\nThese are your earlier")[0]} for block in body["system"]]
    kept["messages"] = [
        {**message, "content": [part for part in message["content"] if not any(sign in part["text"] for sign in ADDED)]}
        for message in body["messages"]
    ]
    return SANDBOX.sub("SANDBOX", json.dumps(kept, sort_keys=True))


def test_the_arms_differ_in_what_they_are_to_differ_in_and_in_no_other_byte(model: ModelServer, tmp_path: Path) -> None:
    flags = ("-b", "sample", "--questions", "maya-q1", "--ingest", "transcripts", "--no-probe", "--embedder", "", "--no-cache")
    summary = bench(model, tmp_path, *flags, "--mode", ",".join(ARMS), "--run-id", "g")
    accuracy = {cell["arm"]: cell["metrics"]["accuracy"]["value"] for cell in summary["cells"]}
    assert tuple(accuracy) == ARMS
    remember = ("plugin", "history", "notes", "dreamed")
    assert accuracy == {arm: float(arm in remember) for arm in ARMS}

    asked = [body for body in model.main_requests() if QUESTION in conversation(body)]
    assert len(asked) == len(ARMS)
    assert {body["messages"][-1]["content"][-1]["text"] for body in asked} == {QUESTION}, "typed as a user would"
    assert len({shared(body) for body in asked}) == 1

    given = dict(zip(ARMS, map(conversation, asked), strict=True))
    assert [arm for arm in ARMS if "<memoryd-recall" in given[arm]] == ["plugin", "dreamed", "contradictory"]
    assert [arm for arm in ARMS if "Orvik museum" in given[arm]] == ["placebo"]
    assert [arm for arm in ARMS if "These are your earlier conversations" in given[arm]] == ["history"]
    assert all("It is Sunday, 2025-06-01 09:00 now." in text for text in given.values())
    assert summary["primary"] == "plugin:off"
