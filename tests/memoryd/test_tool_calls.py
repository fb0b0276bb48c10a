"""What memoryd says about tool calls, as printed by hooks."""

from __future__ import annotations

import json
from typing import Any

from memoryd.core.tool_calls import Permission, ToolReply, joined, tool_output
from tests.hooks.test_hook_client import _load


def test_contexts_are_joined_and_the_strictest_decision_wins() -> None:
    replies = [ToolReply("a", Permission.ASK, "asks"), None, ToolReply("b", Permission.DENY, "denies"), ToolReply("c")]
    assert joined(replies) == ToolReply("a\nb\nc", Permission.DENY, "denies")
    assert joined([None]) == ToolReply()


def test_a_call_is_never_allowed_by_memoryd() -> None:
    assert tool_output("PreToolUse", ToolReply()) == {}
    assert tool_output("PreToolUse", ToolReply("note")) == {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "note"}
    }
    assert tool_output("PostToolUseFailure", ToolReply(decision=Permission.DENY, reason="no")) == {}


def test_over_tcp_only_a_question_or_a_refusal_of_a_tool_call_is_passed_on() -> None:
    def passed(event: str, decision: str) -> Any:
        output = {"hookEventName": event, "permissionDecision": decision, "permissionDecisionReason": "r", "updatedInput": "x"}
        answer = _load("proof").own_answer(json.dumps({"hookSpecificOutput": output}).encode(), event)
        return json.loads(answer)["hookSpecificOutput"] if answer else None

    wanted = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "r"}
    assert passed("PreToolUse", "deny") == wanted
    assert passed("PreToolUse", "allow") is None
    assert passed("PostToolUseFailure", "deny") is None
