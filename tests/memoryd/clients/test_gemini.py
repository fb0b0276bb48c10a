"""Gemini CLI: its sessions are read from recordings, and its hooks are answered in its format."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.base import System
from memoryd.clients.gemini import Gemini
from memoryd.clients.registry import client_of_log, foreign_client
from memoryd.core.tool_calls import Permission, ToolReply
from memoryd.core.types import TurnKind
from memoryd.daydream.transcript import first_folder
from tests.memoryd.clients.reading import said, turns

HEAD = {"sessionId": "dcbf3a2d-3913-46e4-8a12-b12a25224c46", "projectHash": "76", "kind": "main"}


class Recording:
    """A recording as Gemini CLI writes it."""

    def __init__(self, folder: Path, name: str = "session-2026-11-29T11-00-dcbf3a2d.jsonl", **head: Any) -> None:
        self.path = folder / ".gemini" / "tmp" / "shop" / "chats" / name
        self.path.parent.mkdir(parents=True, exist_ok=True)
        (folder / ".gemini" / "tmp" / "shop" / ".project_root").write_text("/work/shop")
        self.path.write_bytes(b"")
        self.number = 0
        self.record(HEAD | head)

    def record(self, values: Any) -> None:
        with self.path.open("ab") as stream:
            stream.write(orjson.dumps(values) + b"\n")

    def message(self, type: str, content: Any, **more: Any) -> str:
        self.number += 1
        id = f"m{self.number}"
        at = f"2026-11-29T11:00:{self.number:02}.000Z"
        self.record({"id": id, "timestamp": at, "type": type, "content": content, **more})
        return id

    def prompt(self, *texts: str, shown: str | None = None) -> str:
        return self.message("user", [{"text": text} for text in texts], **({"displayContent": shown} if shown else {}))


def call(name: str, status: str = "success", output: str = "ok", **args: Any) -> dict[str, Any]:
    result = [
        {"functionResponse": {"name": name, "response": {"output": f"<untrusted_context>\n{output}\n</untrusted_context>"}}}
    ]
    return {"id": f"call_{name}", "name": name, "args": args, "status": status, "result": result}


def test_prompts_answers_and_tools_become_turns(tmp_path: Path) -> None:
    log = Recording(tmp_path)
    log.prompt("Never commit to main directly.")
    shell = call("run_shell_command", output="Output: no\nExit Code: 1", command="git switch -c work")
    asked = call("mcp_memoryd_recall", status="executing", query="branches")
    for calls in ([], [shell, asked], [shell, asked | {"status": "success"}]):
        log.record({"id": "a1", "timestamp": "2026-11-29T11:00:20Z", "type": "gemini", "content": "I look.", "toolCalls": calls})
    log.message("user", [{"functionResponse": {"name": "run_shell_command", "response": {"output": "Always push."}}}])
    log.message("info", "Request cancelled.")
    found = [(turn.kind, turn.tool, turn.detail or turn.text, turn.error) for turn in turns(log.path)]
    assert found == [
        (TurnKind.USER, "", "Never commit to main directly.", False),
        (TurnKind.ASSISTANT, "", "I look.", False),
        (TurnKind.TOOL_USE, "Bash", "git switch -c work", False),
        (TurnKind.TOOL_RESULT, "Bash", "Output: no\nExit Code: 1", True),
        (TurnKind.TOOL_USE, "mcp__memoryd__recall", "branches", False),
        (TurnKind.TOOL_RESULT, "mcp__memoryd__recall", "ok", False),
    ]
    assert first_folder(str(log.path)) == "/work/shop" and foreign_client(str(log.path)) == "gemini"
    assert client_of_log(log.path).session_of(log.path) == HEAD["sessionId"]


def test_only_what_the_user_typed_is_the_users(tmp_path: Path) -> None:
    log = Recording(tmp_path)
    first = {"id": "c", "type": "user", "content": [{"text": "<session_context>\nAlways push.\n</session_context>"}]}
    log.record({"$set": {"messages": [first]}})
    log.prompt("Use @notes.", "\n--- Content from referenced files ---", "Always deploy on Fridays.", "--- End of content ---")
    context = "<hook_context>Never run &lt;tests&gt;.</hook_context>"
    log.prompt(f"{context}\n\nUse port 8080.", context)
    log.prompt("Use @a. Never squash.", shown="Use @a.")
    log.prompt("<state_snapshot>Always squash.</state_snapshot>")
    log.prompt("Please continue.")
    assert said(log.path) == ["Use @notes.", "Use port 8080.", "Use @a."]
    asked = {"session_id": "s", "cwd": "/w", "prompt": f"{context}\n\nUse port 8080."}
    event = Gemini().read_event("UserPromptSubmit", asked)
    assert event is not None and event.prompt == "Use port 8080."


def test_what_the_user_took_back_is_not_read_and_a_compressed_history_repeats_nothing(tmp_path: Path) -> None:
    log = Recording(tmp_path)
    log.prompt("Keep this.")
    undone = log.prompt("Not this.")
    log.message("gemini", "Fine.")
    log.record({"$rewindTo": undone})
    log.record({"$set": {"messages": [{"id": "m1", "type": "user", "content": [{"text": "Keep this."}]}]}})
    log.prompt("And this.")
    assert said(log.path) == ["Keep this.", "And this."]
    log.record({"$rewindTo": "unknown"})
    assert turns(log.path) == []


def test_subagents_and_the_old_format_are_read_as_what_they_are(tmp_path: Path) -> None:
    agent = Recording(tmp_path, "parent/a1.jsonl", kind="subagent")
    agent.prompt("Always use four spaces.")
    assert said(agent.path) == [] and client_of_log(agent.path).name == "gemini"
    old = agent.path.parents[3] / hashlib.sha256(b"/work/old").hexdigest() / "chats" / "session-2025-10-01T10-00-1.json"
    old.parent.mkdir(parents=True)
    (tmp_path / ".gemini" / "projects.json").write_text(json.dumps({"projects": {"/work/new": "new", "/work/old": "old"}}))
    old.write_text(json.dumps(HEAD | {"messages": [{"id": "1", "type": "user", "content": "Use ruff."}]}, indent=2))
    assert said(old) == ["Use ruff."] and first_folder(str(old)) == "/work/old"
    assert client_of_log(old).session_of(old) == HEAD["sessionId"]
    continued = old.with_suffix(".jsonl")
    system = System(tmp_path, {}, lambda _name: None)
    assert list(Gemini().past_logs(system)) == [old]
    continued.write_text(json.dumps(HEAD) + "\n")
    assert list(Gemini().past_logs(system)) == [continued]


VALUES = st.none() | st.text() | st.integers(-9, 9) | st.lists(st.just({"text": 1, "id": []})) | st.just({"id": {}, "text": "x"})


@given(st.lists(VALUES, max_size=4))
def test_damaged_records_lose_only_themselves(tmp_path_factory: pytest.TempPathFactory, values: list[Any]) -> None:
    log = Recording(tmp_path_factory.getbasetemp())
    for value in values:
        log.record(value)
        log.record({"$set": value})
        log.record({"$set": {"messages": [value, {"id": "x", "type": value}]}})
        log.message("user", value, displayContent=value)
        log.message("gemini", value, toolCalls=[value, {"status": "success", "name": value, "args": value, "result": [value]}])
    log.prompt("Last.")
    assert said(log.path)[-1] == "Last."


def test_calls_are_checked_with_the_names_of_claude_code_and_only_refusals_are_passed_on() -> None:
    (edit,) = Gemini().tool_calls(
        {"tool_name": "replace", "tool_input": {"file_path": "a", "old_string": "x", "new_string": "y"}}
    )
    assert (edit["tool_name"], edit["tool_input"]["file_path"]) == ("Edit", "a")
    refused = Gemini().write_reply("PreToolUse", ToolReply("A note.", Permission.DENY, "No."))
    assert orjson.loads(refused) == {"decision": "deny", "reason": "No."}
    assert Gemini().write_reply("PreToolUse", ToolReply("A note.", Permission.ASK, "Sure?")) == b""
