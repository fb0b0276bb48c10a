"""One line of a session log to turns: who really speaks, cleaned of everything that the client added.

Knows the kinds of lines that Claude Code 1.0 to 2.1 writes, and the `stream-json` output of `claude -p`.
What is not understood is counted under a reason and left out; nothing here raises on odd values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memoryd.clock import from_iso
from memoryd.daydream.answers import answers_of
from memoryd.daydream.instructions import Instructions
from memoryd.daydream.memo import Memo
from memoryd.daydream.privacy import strip_private
from memoryd.daydream.quoted import own_words
from memoryd.daydream.redact import redact
from memoryd.daydream.user_text import CONTINUED, clean, foreign_run, typed_text, well_formed, without_colours
from memoryd.errors import InputError
from memoryd.types import Turn, TurnKind

Entry = Mapping[str, Any]

_REJECTED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "[Request interrupted by user for tool use]",
)
# What the client itself records of a rejection; the result's text can be imitated by any tool.
_REJECTION_MARK = "User rejected tool use"
_REJECTS = frozenset({"reject", "rejected", "deny", "denied"})
_SAID = "the user said:\n"
_AFTER_SAID = "\n\nNote: The user's next message may contain a correction"
_DETAIL_KEYS = ("command", "file_path", "notebook_path", "path", "url", "query", "pattern", "skill", "subject", "prompt")
_DETAIL_CHARS = 500
_DESCRIPTION_CHARS = 300
_SUMMARY_CHARS = 4_000
_PASTED_CHARS = 4_000
PASTE = "paste"
_HARNESS_ERRORS = ("API Error", "No response requested.", "Prompt is too long", "Invalid API key", "Credit balance is too low")


@dataclass(frozen=True, slots=True)
class TextLimits:
    """Most characters kept of one turn's text, and of one tool result."""

    turn: int = 24_000
    result: int = 800


def _cut_middle(text: str, limit: int) -> str:
    """Beginning and end: in a long paste or output both matter, and errors stand last."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]}\n[…]\n{text[-(limit - head) :]}"


def _string(value: Any) -> str:
    return well_formed(value) if isinstance(value, str) else ""


def _time(value: Any) -> datetime | None:
    if not isinstance(value, str) or not value:
        return None
    try:
        return from_iso(value)
    except (InputError, OverflowError):
        return None


def _moment(turn: Turn) -> str:
    return f"{turn.at.isoformat()} {turn.kind} {turn.detail} {turn.text}" if turn.at else ""


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    """The content as a list of blocks; a plain text is one text block, anything else is dropped."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [{"type": "text", "text": b} if isinstance(b, str) else b for b in content if isinstance(b, str | Mapping)]


def _texts(content: Any) -> list[str]:
    return [_string(block.get("text")) for block in _blocks(content) if block.get("type") == "text"]


def _is_coloured(content: Any) -> bool:
    return any(without_colours(text) != text for block in _blocks(content) if isinstance(text := block.get("text"), str))


def _uncoloured(content: Any) -> list[str]:
    """The texts without a terminal's output that was pasted into them."""
    texts = [block.get("text") for block in _blocks(content) if block.get("type") == "text"]
    return [_string(without_colours(text)) for text in texts if isinstance(text, str)]


def _joined(content: Any) -> str:
    """All text blocks as one text, so that a fence which spans blocks is seen whole."""
    return "\n".join(_texts(content))


class EntryReader:
    """Turns of one entry after another, without secrets.

    `skipped` counts what was left out by reason, `redacted` the secrets by kind. `left` holds short hashes of the uuids of
    lines on branches that the user left (/rewind, edit and send again). `at` is the offset of the line that is read.
    """

    def __init__(self, memo: Memo, limits: TextLimits, known: Callable[[str], bool]) -> None:
        self.skipped: Counter[str] = Counter()
        self.redacted: Counter[str] = Counter()
        self._memo = memo
        self._limits = limits
        self._known = known
        self._instructions = Instructions()
        self._cwd = memo.cwd
        self.at = 0
        self.left: set[str] = set()
        self._kinds: dict[str, Callable[[Entry, Turn], Iterator[Turn]]] = {
            "user": self._user,
            "assistant": self._assistant,
            "system": self._system,
            "queue-operation": self._queue,
            "attachment": self._attachment,
        }

    def read(self, entry: Entry, line: int) -> list[Turn]:
        """The entry's turns, in order; an empty list when there is nothing to see for an extractor."""
        self._cwd = _string(entry.get("cwd")) or self._memo.cwd
        turns = self._new_turns(entry, line)
        self._follow(entry, turns)
        if self._memo.foreign:
            return self._skip(self._memo.foreign)
        if turns:
            self._note_cwd(entry)
        return turns

    def _follow(self, entry: Entry, turns: list[Turn]) -> None:
        """Keep track of the branch that is talked on, and note the lines that a prompt on an older line leaves behind."""
        uuid, sidechain = _string(entry.get("uuid")), entry.get("isSidechain") is True
        if not uuid or sidechain or "parentUuid" not in entry:
            return
        prompt = any(turn.kind is TurnKind.USER and turn.via in ("prompt", "queue") for turn in turns)
        parent = _string(entry.get("parentUuid")) or _string(entry.get("logicalParentUuid"))
        self.left |= self._memo.follow(uuid, parent, prompt=prompt)

    def _new_turns(self, entry: Entry, line: int) -> list[Turn]:
        kind = entry.get("type")
        reader = self._kinds.get(kind) if isinstance(kind, str) else None
        if reader is None:
            return self._skip("unknown_kind")
        uuid = _string(entry.get("uuid"))
        if self._memo.is_known(uuid) or (uuid and self._known(uuid)):
            return self._skip("duplicate")
        sidechain = entry.get("isSidechain") is True or bool(entry.get("parent_tool_use_id"))
        base = Turn(TurnKind.USER, "", uuid, line, _time(entry.get("timestamp")), sidechain=sidechain)
        turns = list(reader(entry, base))
        if not turns:
            return []
        # A resumed session may repeat lines under new uuids; the moment and the words stay the same.
        moment = _moment(turns[0])
        if self._memo.is_known(moment):
            return self._skip("duplicate")
        self._memo.remember(uuid)
        self._memo.remember(moment)
        return turns

    def _skip(self, reason: str) -> list[Turn]:
        self.skipped[reason] += 1
        return []

    def _safe(self, text: str, limit: int) -> str:
        """Without secrets, then cut; the first, wide cut bounds the work and leaves no half secret in what is kept."""
        if not text:
            return ""
        safe = redact(_cut_middle(text, 2 * limit))
        self.redacted.update(safe.found)
        return _cut_middle(safe.text, limit)

    def _note_cwd(self, entry: Entry) -> None:
        cwd = _string(entry.get("cwd"))
        if cwd:
            self._memo.cwd = cwd

    # Kinds of lines

    def _user(self, entry: Entry, base: Turn) -> Iterator[Turn]:
        message = entry.get("message")
        if not isinstance(message, Mapping) or message.get("role", "user") != "user":
            self._skip("no_message")
            return
        content = message.get("content")
        for block in _blocks(content):
            if block.get("type") == "tool_result":
                yield from self._result(block, entry, base)
        texts = [text for text in _texts(content) if text.strip()]
        if _is_coloured(content):
            texts = _uncoloured(content)
        if any(text.strip() for text in texts):
            yield from self._spoken(texts, entry, base)

    def _spoken(self, texts: list[str], entry: Entry, base: Turn) -> Iterator[Turn]:
        text = "\n".join(texts)
        self._check_foreign(text)
        reason = _not_spoken(text, entry)
        if reason == "compaction":
            yield replace(base, kind=TurnKind.COMPACTION, text=self._safe(clean(strip_private(text)), _SUMMARY_CHARS))
        elif reason:
            self._skip(reason)
        elif base.sidechain or entry.get("planContent"):
            # The prompt of a subagent, and a plan handed over to a fresh session, were written by the agent.
            yield from self._said(strip_private(text), base)
        else:
            self._memo.unqueue(text, strict=True)
            yield from self._typed(texts, base)

    def _typed(self, texts: list[str], base: Turn, via: str = "prompt") -> Iterator[Turn]:
        """Text that the person typed, as turns: the person's own words, then what was pasted or quoted."""
        typed = typed_text(texts)
        if typed.interrupt:
            yield replace(base, kind=TurnKind.INTERRUPT)
        if not typed.text:
            if not typed.interrupt:
                self._skip("injected")
            return
        self._memo.prompted = True
        safe = self._safe(typed.text, self._limits.turn)
        spoken = own_words(safe, lambda line: self._instructions.holds(line, self._cwd))
        if via == "prompt" and self._memo.take_echo(spoken.own):
            self._skip("duplicate")
            return
        yield replace(base, text=spoken.own, via=via, detail=typed.command)
        if spoken.quoted:
            pasted = _cut_middle(spoken.quoted, _PASTED_CHARS)
            yield replace(base, kind=TurnKind.TOOL_RESULT, text=pasted, tool=PASTE)

    def _check_foreign(self, text: str) -> None:
        """A session is our own, or another tool's observer, when its first prompt says so."""
        if not self._memo.prompted and not self._memo.foreign:
            self._memo.foreign = foreign_run(text)

    def _assistant(self, entry: Entry, base: Turn) -> Iterator[Turn]:
        message = entry.get("message")
        if not isinstance(message, Mapping) or message.get("role", "assistant") != "assistant":
            self._skip("no_message")
            return
        content = message.get("content")
        text = _joined(content)
        if entry.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>" or text.startswith(_HARNESS_ERRORS):
            self._skip("api_error")
            return
        if text.strip():
            yield from self._said(text, base)
        for block in _blocks(content):
            if block.get("type") == "tool_use":
                yield self._tool_use(block, base)

    def _said(self, text: str, base: Turn) -> Iterator[Turn]:
        cleaned = clean(text)
        if cleaned:
            yield replace(base, kind=TurnKind.ASSISTANT, text=self._safe(cleaned, self._limits.turn))

    def _tool_use(self, block: Entry, base: Turn) -> Turn:
        name = _string(block.get("name"))
        self._memo.remember_tool(_string(block.get("id")), name)
        values = block.get("input")
        values = values if isinstance(values, Mapping) else {}
        detail = next((_string(values[key]) for key in _DETAIL_KEYS if _string(values.get(key))), "")
        description = _string(values.get("description"))
        return replace(
            base,
            kind=TurnKind.TOOL_USE,
            text=self._safe(clean(description), _DESCRIPTION_CHARS),
            tool=name,
            detail=self._safe(clean(detail), _DETAIL_CHARS),
        )

    def _result(self, block: Entry, entry: Entry, base: Turn) -> Iterator[Turn]:
        tool = self._memo.tools.get(_string(block.get("tool_use_id")), "")
        error = block.get("is_error") is True
        text = _joined(block.get("content"))
        rejected = error and text.startswith(_REJECTED) and _is_rejection(entry, tool)
        said = text.partition(_SAID)[2].partition(_AFTER_SAID)[0] if rejected else ""
        shown = text.partition(_SAID)[0] if rejected else text
        yield replace(
            base,
            kind=TurnKind.TOOL_RESULT,
            text=self._safe(clean(shown), self._limits.result),
            tool=tool,
            error=error,
        )
        if said and not base.sidechain:
            yield from self._typed([said], base, "rejected_tool")
        if not base.sidechain:
            yield from self._answers(tool, text, entry.get("toolUseResult"), base)

    def _answers(self, tool: str, text: str, result: Any, base: Turn) -> Iterator[Turn]:
        """The user's answers to AskUserQuestion, an option with its description; `detail` holds the question."""
        for answer in answers_of(tool, text, result):
            for turn in self._typed([answer.text], base, "answer"):
                if turn.kind is TurnKind.USER:
                    turn = replace(
                        turn, tool=tool, detail=self._safe(clean(answer.question), _DETAIL_CHARS), offered=answer.offered
                    )
                yield turn

    def _system(self, entry: Entry, base: Turn) -> Iterator[Turn]:
        if entry.get("subtype") == "compact_boundary":
            yield replace(base, kind=TurnKind.COMPACTION)
        else:
            self._skip("system")

    def _queue(self, entry: Entry, base: Turn) -> Iterator[Turn]:
        """A prompt in the queue is said when it is delivered, as a prompt or an attachment; until then it may be withdrawn."""
        operation, text = entry.get("operation"), _joined(entry.get("content"))
        if operation == "enqueue" and not _by_machine(entry):
            self._check_foreign(text)
            self._memo.enqueue(text, self.at, base.line)
        elif operation == "popAll":
            self._memo.queued.clear()
        elif operation in ("dequeue", "remove"):
            self._memo.unqueue(text)
        self._skip("queued")
        yield from ()

    def undelivered(self, entry: Entry, line: int) -> list[Turn]:
        """The turns of a queued prompt that was neither withdrawn nor delivered when the session ended."""
        base = Turn(TurnKind.USER, "", _string(entry.get("uuid")), line, _time(entry.get("timestamp")))
        return list(self._typed(_texts(entry.get("content")), base, "queue"))

    def _attachment(self, entry: Entry, base: Turn) -> Iterator[Turn]:
        attachment = entry.get("attachment")
        if not isinstance(attachment, Mapping) or base.sidechain or not _is_queued_prompt(attachment):
            self._skip("attachment")
            return
        for turn in self._typed(_texts(attachment.get("prompt")), base, "queue"):
            if turn.kind is TurnKind.USER:
                self._memo.expect_echo(turn.text)
            yield turn
        self._memo.unqueue(_joined(attachment.get("prompt")), strict=True)


def _is_rejection(entry: Entry, tool: str) -> bool:
    """Whether the client itself says that the user rejected this call.

    The result of a tool server may stand in the log as the server gave it: there only the client's decision counts.
    """
    decision = entry.get("permissionDecision")
    if isinstance(decision, Mapping):
        return decision.get("decision") in _REJECTS and str(decision.get("source", "")).startswith("user")
    result = entry.get("toolUseResult")
    return bool(tool) and not tool.startswith("mcp__") and isinstance(result, str) and result.strip() == _REJECTION_MARK


def _by_machine(entry: Entry) -> bool:
    origin = entry.get("origin")
    return isinstance(origin, Mapping) and origin.get("kind") not in (None, "human")


def _is_queued_prompt(attachment: Entry) -> bool:
    prompt = attachment.get("type") == "queued_command" and attachment.get("commandMode", "prompt") == "prompt"
    return prompt and not _by_machine(attachment)


def _not_spoken(text: str, entry: Entry) -> str:
    """Why a text with the role `user` is not a person's prompt, or empty."""
    if entry.get("isCompactSummary") is True or text.startswith(CONTINUED):
        return "compaction"
    if entry.get("isMeta") is True or entry.get("rowSource") == "harness" or entry.get("isVisibleInTranscriptOnly") is True:
        return "meta"
    if _by_machine(entry) or (entry.get("turnOrigin") or "human") not in ("human", "sdk") or entry.get("sourceToolUseID"):
        return "harness"
    return ""
