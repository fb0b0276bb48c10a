"""Tests of what memory returned to a session, its sources, and how much of it was used."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from memeval.claudecode import memories
from memeval.claudecode.client import ClaudeCode, context_of
from memeval.claudecode.contract import SessionResult, Step, StepKind, StepSequence, ToolCall
from memeval.claudecode.memories import DeliveredText
from memeval.claudecode.seeding import stable_id, write_log
from memeval.core.types import Session, Turn

NOTE = "- [mem_0123456789ab] (fact, 2025-01-14, said by the user) My cat is called Biscuit and eats only salmon."
AT = datetime(2025, 1, 14, 19, 40, tzinfo=UTC)
TALK = Session("s1", (Turn("s1:1", "user", "My cat is called Biscuit."), Turn("s1:2", "assistant", "Lovely.")), AT)


def hook(context: str) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}})


def test_what_hooks_inject_and_tools_return_is_distinguished() -> None:
    printed = hook(f"<memoryd-recall>\nKnow:\n{NOTE}\n</memoryd-recall>")
    assert context_of("not json") == ""
    (one,) = memories.injected(SessionResult("", injected=(("SessionStart", context_of(printed)),)))
    assert (one.via, one.id) == ("hook:SessionStart", "mem_0123456789ab")
    assert one.text == "My cat is called Biscuit and eats only salmon."
    calls = [
        ToolCall("mcp__plugin_memoryd_memoryd__recall", {}, NOTE),
        ToolCall("mcp__plugin_memoryd_memoryd__remember", {}, NOTE),
        ToolCall("Read", {"file_path": "/c/projects/p/memory/cats.md"}, "Biscuit"),
        ToolCall("Read", {"file_path": "/home/ada/main.py"}, "code"),
    ]
    assert [given.via for given in memories.retrieved(calls)] == ["tool:recall", "tool:Read"]


def test_used_is_what_the_answer_cites_or_repeats() -> None:
    given = [
        DeliveredText("hook", "The cat Biscuit eats only salmon", "mem_0123456789ab"),
        DeliveredText("hook", "Deploys go to Oslo", "mem_0123456789ac"),
    ]
    assert memories.used(given, SessionResult("As in mem_0123456789ac.")) == [{"id": "mem_0123456789ac", "how": "cited"}]
    said = SessionResult("Biscuit, your cat, eats salmon and nothing else.")
    assert memories.used(given, said) == [{"id": "mem_0123456789ab", "how": "content"}]
    assert memories.used(given, SessionResult("I don't know.")) == []


def test_a_memory_goes_back_to_the_turn_that_its_evidence_names() -> None:
    step = Step("r0", StepKind.REPLAY, "bye", session=TALK)
    session_id = stable_id("b", "c", "r0")
    sources = memories.line_sources(StepSequence("c", (step,)), {"r0": session_id}, ClaudeCode("claude").line_id)
    file = f"---\nevidence: {{transcript: /x.jsonl, lines: [{stable_id(session_id, '0')}]}}\n---\ntext"
    (piece,) = memories.pieces([DeliveredText("hook", "text", "mem_0123456789ab")], {"mem_0123456789ab": file}, sources)
    assert (piece.sessions, piece.turns) == (("s1",), ("s1:1",))


def test_a_replayed_log_holds_both_sides_with_their_times_and_no_gold_ids(tmp_path: Path) -> None:
    session = Session("s1", TALK.turns, AT, source_id="answer_1")
    log = write_log(session, stable_id("x"), tmp_path, Path("/home/ada/project"), "2.1.332")
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert [line["type"] for line in lines] == ["user", "assistant"]
    assert lines[0]["timestamp"] == "2025-01-14T19:40:00.000Z"
    assert lines[1]["parentUuid"] == lines[0]["uuid"]
    assert {line["cwd"] for line in lines} == {"/home/ada/project"}
    assert "answer_1" not in log.read_text("utf-8")


def test_what_a_session_wrote_is_new_changed_or_removed() -> None:
    change = memories.changed({"a": "1", "b": "1", "c": "1"}, {"b": "2", "c": "1", "d": "1"})
    assert change == {"new": {"d": "1"}, "changed": {"b": "2"}, "removed": ["a"]}
