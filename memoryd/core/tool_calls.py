"""Tool calls and memoryd's replies: value types shared by the guard and recall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

EDITING_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})  # The names of Claude Code's tools that change files.


class Permission(IntEnum):
    """Decision about a tool call. Higher values are stricter. memoryd never allows a call that the client would ask about."""

    NONE = 0
    ASK = 1
    DENY = 2


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as reported by the client, before execution or after a failure.

    Attributes:
        cwd: The session's working folder.
        root: The project's folder.
        project: The project's id.
        subagent: Id of the subagent that makes the call. Empty for the main agent.
        id: The client's id for the call.
        error: Error message of a failed call. Empty before execution.
        transcript: Path of the session's log.
        guarded: Whether rules are checked in this session.
        given: Ids of memories that the model is already given with this call.
    """

    tool: str
    input: Mapping[str, Any]
    cwd: str = ""
    root: str = ""
    session: str = ""
    project: str = ""
    subagent: str = ""
    id: str = ""
    error: str = ""
    transcript: str = ""
    guarded: bool = True
    given: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ToolReply:
    """A responder's reply to a call.

    Attributes:
        context: Text for the model.
        decision: Whether to refuse the call or ask the user.
        reason: Reason for the decision, shown to the user, and to the model if the call is refused.
        given: Ids of the memories that the model is given by this reply.
    """

    context: str = ""
    decision: Permission = Permission.NONE
    reason: str = ""
    given: frozenset[str] = frozenset()


Responder = Callable[[ToolCall], ToolReply | None]
NO_REPLY = ToolReply()
_NAMES = {Permission.ASK: "ask", Permission.DENY: "deny"}


def asked_in_turn(responders: Sequence[Responder], calls: Iterable[ToolCall]) -> ToolReply:
    """Ask responders in order about each call and combine their replies. Each knows which memories the earlier ones gave."""
    replies: list[ToolReply] = []
    given: frozenset[str] = frozenset()
    for call in calls:
        for respond in responders:
            if (reply := respond(replace(call, given=call.given | given))) is not None:
                replies.append(reply)
                given |= reply.given
    return joined(replies)


def joined(replies: Iterable[ToolReply | None]) -> ToolReply:
    """Combine replies: all contexts, the strictest decision and its reasons."""
    given = [reply for reply in replies if reply is not None]
    decision = max((reply.decision for reply in given), default=Permission.NONE)
    reasons = [reply.reason for reply in given if reply.decision is decision and reply.reason]
    contexts = "\n".join(reply.context for reply in given if reply.context)
    return ToolReply(contexts, decision, "\n".join(reasons), frozenset().union(*(reply.given for reply in given)))


def tool_output(event: str, reply: ToolReply) -> dict[str, Any]:
    """Return the hook's output in the client's format, or an empty string if there is nothing to report."""
    out: dict[str, Any] = {"additionalContext": reply.context} if reply.context else {}
    if event == "PreToolUse" and reply.decision in _NAMES:
        out |= {"permissionDecision": _NAMES[reply.decision], "permissionDecisionReason": reply.reason}
    return {"hookSpecificOutput": {"hookEventName": event, **out}} if out else {}
