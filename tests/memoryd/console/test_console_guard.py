"""The page of the rules that are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from tests.memoryd.console.console_client import Console
from tests.memoryd.console.test_console_dreams import HOSTILE, unhurt


def rule(id: str, **more: Any) -> dict[str, Any]:
    check = {"kind": "command", "words": [HOSTILE], "silenced": [HOSTILE]}
    return {"id": id, "rule": HOSTILE, "mode": "note", "scope": "project", "check": check} | more


def test_rules_contradictions_and_violations_are_shown_as_text(console: Console) -> None:
    pair = {"one": rule("mem_000000000003"), "other": rule("mem_000000000004")}
    found = {"guard": "off", "rules": [rule("mem_000000000001"), rule("mem_000000000002")], "contradictions": [pair]}
    console.answers["guard"] = {**found, "without_check": 3}
    row = {"id": "mem_000000000001", "rule": HOSTILE, "mode": "note", "applied": 9, "obeyed": 5, "violated": 4, "overridden": 1}
    violation = {"id": "mem_000000000001", "session": "s1", "at": "2026-01-02T10:00:00Z", "outcome": "violated"}
    violation |= {"what": HOSTILE, "form": HOSTILE}
    report = {"rules": [row], "repeated": [{**row, "proposal": "Raise it."}], "violations": [violation], "contradictions": [pair]}
    console.answers["guard_report"] = report
    text = unhurt(console.get("/guard", project="shop"))
    for shown in ("The guard is off", "Contradictions", "4 violated", "9 applied", "1 overridden", "Raise it.", "3 other rules"):
        assert shown in text
    assert console.asked("guard") == [{"project": "shop"}]


def test_a_mode_is_raised_and_a_call_silenced_on_the_page(real_console: Console, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    assert "No rule is checked." in real_console.get("/guard", project="all").text
    api = real_console.api
    id = api.call("remember", {"content": "Never use npm here.", "kind": "rule", "cwd": str(folder)})["id"]

    def call(line: str) -> dict[str, Any]:
        payload = {"session_id": "s1", "cwd": str(folder), "tool_name": "Bash", "tool_input": {"command": line}}
        answer = api.hook("PreToolUse", payload, {})
        return dict(orjson.loads(answer)["hookSpecificOutput"]) if answer else {}

    real_console.post("/guard/mode", id=id, mode="block")
    assert call("npm view left-pad")["permissionDecision"] == "deny"
    text = real_console.get("/guard", project="all").text
    assert "Never use npm here." in text and "now: block" in text and "npm view left-pad" in text
    real_console.post("/guard/silence", id=id, call="npm view left-pad")
    assert call("npm view left-pad") == {}
    real_console.post("/guard/mode", id=id, mode="default")
    assert "permissionDecision" not in call("npm ci")
