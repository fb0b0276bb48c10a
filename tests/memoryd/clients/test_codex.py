"""Codex CLI: its sessions are read from rollout files, its hooks are answered, and patches are checked like edits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.base import System
from memoryd.clients.codex import Codex
from memoryd.clients.codex_log import patch_edits
from memoryd.clients.registry import client_of_log, foreign_client
from memoryd.core.state import Cursor
from memoryd.core.tool_calls import Permission, ToolReply
from memoryd.core.types import TurnKind
from memoryd.daydream.transcript import first_folder, read_transcript
from tests.memoryd.clients.reading import said, turns

ID = "01a226e3-f55a-7951-beba-fe04cc29e19e"
PATCH = """\
*** Begin Patch
*** Add File: notes.md
+Use tabs.
*** Update File: src/app.py
@@ def main():
 keep
-old
+new
*** Delete File: gone.txt
*** End Patch
"""


class Rollout:
    """A rollout file as Codex writes it."""

    def __init__(self, folder: Path, id: str = ID, **meta: Any) -> None:
        self.path = folder / "sessions" / "2026" / f"rollout-2026-11-29T10-40-03-{id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        self.second = 0
        self.line("session_meta", {"id": id, "cwd": "/work/shop", "source": "cli", **meta})

    def line(self, kind: str, payload: dict[str, Any]) -> None:
        self.second += 1
        at = f"2026-11-29T10:{self.second // 60:02}:{self.second % 60:02}.000Z"
        with self.path.open("ab") as stream:
            stream.write(orjson.dumps({"timestamp": at, "type": kind, "payload": payload}) + b"\n")

    def event(self, type: str, **values: Any) -> None:
        self.line("event_msg", {"type": type, **values})

    def item(self, type: str, **values: Any) -> None:
        self.line("response_item", {"type": type, **values})

    def given(self, text: str, role: str = "user") -> None:
        self.item("message", role=role, content=[{"type": "output_text" if role == "assistant" else "input_text", "text": text}])

    def prompt(self, text: str) -> None:
        self.given(text)
        self.event("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": text}, {"type": "image"}]})

    def answer(self, text: str) -> None:
        self.given(text, "assistant")


def test_prompts_answers_and_tools_become_turns(tmp_path: Path) -> None:
    log = Rollout(tmp_path)
    log.given("<environment_context>\n  <cwd>/work/shop</cwd>\n</environment_context>")
    log.given("Always deploy on Fridays.", "developer")  # memoryd's own context.
    log.prompt("Never commit to main directly.")
    log.answer("I will use a branch.")
    log.item("function_call", name="exec_command", call_id="c1", arguments=json.dumps({"cmd": "git switch -c work"}))
    ran = "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 1\nOriginal token count: 1\nOutput:\n\nSwitched\n"
    log.item("function_call_output", call_id="c1", output=ran)
    log.item("custom_tool_call", name="apply_patch", call_id="c2", input=PATCH)
    log.event("turn_aborted", reason="interrupted")
    found = turns(log.path)
    assert [(turn.kind, turn.tool, turn.detail or turn.text) for turn in found] == [
        (TurnKind.USER, "", "Never commit to main directly."),
        (TurnKind.ASSISTANT, "", "I will use a branch."),
        (TurnKind.TOOL_USE, "Bash", "git switch -c work"),
        (TurnKind.TOOL_RESULT, "Bash", "Switched"),
        (TurnKind.TOOL_USE, "Write", "notes.md"),
        (TurnKind.TOOL_USE, "Edit", "src/app.py"),
        (TurnKind.TOOL_USE, "Edit", "gone.txt"),
        (TurnKind.INTERRUPT, "", ""),
    ]
    assert found[3].error
    assert first_folder(str(log.path)) == "/work/shop" and foreign_client(str(log.path)) == "codex"
    assert client_of_log(log.path).session_of(log.path) == ID


def test_only_what_the_user_typed_is_the_users(tmp_path: Path) -> None:
    log = Rollout(tmp_path)
    log.given("# AGENTS.md instructions for /work/shop\n\nAlways use four spaces.")
    log.given("Never run the tests.")  # Codex's own note: no event reports that it was typed.
    log.event("user_message", message="Always use spaces.", kind="user_instructions")
    log.prompt("# Context from my IDE setup:\n\n## Active selection\nAlways push.\n\n## My request for Codex:\nUse port 8080.")
    log.event("task_started", turn_attribution={"parent_turn_id": "t1"})
    log.prompt("Always squash commits.")
    assert said(log.path) == ["Use port 8080."]


def test_what_the_user_took_back_is_not_read(tmp_path: Path) -> None:
    log = Rollout(tmp_path)
    for text in ("Keep this.", "Not this.", "Nor this."):
        log.prompt(text)
        log.answer(f"Answer to {text}")
    log.event("thread_rolled_back", num_turns=2)
    log.prompt("And this.")
    assert said(log.path) == ["Keep this.", "And this."]
    log.event("thread_rolled_back", num_turns=9)
    assert turns(log.path) == []


def test_the_prompts_of_subagents_are_not_the_users(tmp_path: Path) -> None:
    log = Rollout(tmp_path, source={"subagent": {"thread_spawn": {"parent_thread_id": ID}}})
    log.prompt("Always use four spaces.")
    log.answer("Done.")
    own = Rollout(tmp_path, ID.replace("1", "2"))
    own.prompt("Mine.")
    assert said(log.path) == [] and all(turn.sidechain for turn in turns(log.path))
    system = System(tmp_path, {"CODEX_HOME": str(tmp_path)}, lambda _name: None)
    assert list(Codex().past_logs(system)) == [own.path]


def test_older_versions_are_read(tmp_path: Path) -> None:
    log = Rollout(tmp_path)
    log.given("Use ruff.")
    log.event("user_message", message="Use ruff.")
    log.event("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "Use ruff."}]})
    log.event("user_message", message="Use ruff.")  # typed again
    log.item("function_call", name="shell", call_id="c", arguments=json.dumps({"command": ["bash", "-lc", "ls"]}))
    log.item("function_call_output", call_id="c", output=json.dumps({"output": "a\n", "metadata": {"exit_code": 2}}))
    assert said(log.path) == ["Use ruff.", "Use ruff."]
    assert [(turn.detail, turn.error) for turn in turns(log.path)[2:]] == [("ls", False), ("", True)]
    first = log.path.with_name(f"rollout-2025-05-01T10-00-00-{ID}.jsonl")
    texts = ["<environment_context>\nCurrent working directory: /work/old\n</environment_context>", "Never use tabs."]
    lines: list[dict[str, Any]] = [{"id": ID, "timestamp": "2025-05-01T10:00:00.000Z", "instructions": "Always push."}]
    lines += [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]} for text in texts]
    first.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert said(first) == ["Never use tabs."] and first_folder(str(first)) == "/work/old"


def test_an_old_fork_repeats_nothing(tmp_path: Path) -> None:
    log = Rollout(tmp_path)
    log.prompt("Use port 8080.")
    known = {turn.uuid for turn in turns(log.path)}
    fork = Rollout(tmp_path, ID.replace("1", "2"), forked_from_id=ID)
    fork.line("session_meta", {"id": ID, "cwd": "/work/shop"})
    fork.prompt("Use port 8080.")
    fork.prompt("Use port 9090.")
    assert [turn.text for turn in read_transcript(fork.path, Cursor(""), known=known.__contains__).turns] == ["Use port 9090."]


VALUES = (
    st.none() | st.text() | st.integers(-9, 9) | st.lists(st.just({"text": 1, "type": []})) | st.just({"type": {}, "text": "x"})
)


@given(st.lists(VALUES, max_size=4))
def test_damaged_lines_lose_only_themselves(tmp_path_factory: pytest.TempPathFactory, values: list[Any]) -> None:
    log = Rollout(tmp_path_factory.getbasetemp())
    for value in values:
        for kind in ("event_msg", "response_item", "session_meta", "compacted"):
            log.line(kind, value)
        for kind in ("message", "function_call", "function_call_output", "local_shell_call"):
            log.item(kind, content=value, arguments=value, output=value, action=value, role="user")
        log.event("item_completed", item=value)
    log.prompt("Last.")
    assert said(log.path)[-1] == "Last."


@given(st.text())
def test_a_patch_of_any_text_is_read(text: str) -> None:
    for tool, values in patch_edits("*** Begin Patch\n*** Update File: a\n" + text):
        assert tool in ("Edit", "Write") and values["file_path"]


def test_a_patch_is_checked_as_edits_of_its_files() -> None:
    calls = Codex().tool_calls({"tool_name": "apply_patch", "tool_input": {"command": PATCH}})
    assert [(call["tool_name"], call["tool_input"]["file_path"]) for call in calls] == [
        ("Write", "notes.md"),
        ("Edit", "src/app.py"),
        ("Edit", "gone.txt"),
    ]
    assert calls[1]["tool_input"] | {"file_path": ""} == {"file_path": "", "old_string": "keep\nold", "new_string": "keep\nnew"}
    shell = Codex().tool_calls({"tool_name": "Bash", "tool_input": {"command": f"apply_patch <<'EOF'\n{PATCH}EOF"}})
    assert [call["tool_name"] for call in shell] == ["Bash", "Write", "Edit", "Edit"]


def test_a_refusal_is_passed_on_and_a_question_is_not() -> None:
    refused = orjson.loads(Codex().write_reply("PreToolUse", ToolReply(decision=Permission.DENY, reason="No.")))
    assert refused["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert Codex().write_reply("PreToolUse", ToolReply(decision=Permission.ASK, reason="Sure?")) == b""
    asked = Codex().read_event("SessionStart", {"session_id": "s", "cwd": "/w", "transcript_path": None, "source": "fork"})
    assert asked is not None and (asked.source, asked.transcript) == ("resume", "")
