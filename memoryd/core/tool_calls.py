"""Tool calls of an agent, and what memoryd says about them: values that the guard and recall share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Decision(IntEnum):
    """What happens to a tool call. A higher value is stricter. memoryd never allows what the client would ask about."""

    NONE = 0
    ASK = 1
    DENY = 2


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the client reports it before it is made, or after it failed.

    Attributes:
        cwd: The session's working folder.
        root: The project's folder.
        project: The project's id.
        subagent: Id of the subagent that makes the call; empty for the main agent.
        id: The client's id of the call.
        error: Why the call failed. It is empty before the call is made.
        transcript: Path of the session's log.
        guarded: Whether rules are checked in this session.
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


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What one responder says about a call.

    Attributes:
        context: Given to the model.
        decision: Whether the call is refused, or the user is asked.
        reason: Why; shown to the user, and to the model if the call is refused.
    """

    context: str = ""
    decision: Decision = Decision.NONE
    reason: str = ""


Responder = Callable[[ToolCall], ToolReply | None]
NO_REPLY = ToolReply()
_NAMES = {Decision.ASK: "ask", Decision.DENY: "deny"}


def joined(replies: Iterable[ToolReply | None]) -> ToolReply:
    """Join replies: all contexts, the strictest decision, and the reasons of those that made it."""
    given = [reply for reply in replies if reply is not None]
    decision = max((reply.decision for reply in given), default=Decision.NONE)
    reasons = [reply.reason for reply in given if reply.decision is decision and reply.reason]
    return ToolReply("\n".join(reply.context for reply in given if reply.context), decision, "\n".join(reasons))


def tool_output(event: str, reply: ToolReply) -> dict[str, Any]:
    """Return the hook's output as the client expects it. It is empty if there is nothing to say."""
    out: dict[str, Any] = {"additionalContext": reply.context} if reply.context else {}
    if event == "PreToolUse" and reply.decision in _NAMES:
        out |= {"permissionDecision": _NAMES[reply.decision], "permissionDecisionReason": reply.reason}
    return {"hookSpecificOutput": {"hookEventName": event, **out}} if out else {}
