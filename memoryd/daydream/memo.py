"""What the reader remembers between two readings of a log, carried as JSON in the cursor. Bounded.

Everything here depends only on the lines before the cursor, never on how reading was divided.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from memoryd.clock import from_iso, to_iso
from memoryd.errors import InputError
from memoryd.text import shorten
from memoryd.types import Turn, TurnKind

VERSION = 1
SEEN_LIMIT = 1_200
TOOLS_LIMIT = 64
ECHO_LIMIT = 16
CONTEXT_TURNS = 6
CONTEXT_CHARS = 1_000


def short_hash(text: str) -> str:
    """Ten hex digits, enough to tell apart the lines of one log."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=5).hexdigest()


@dataclass(slots=True)
class Memo:
    """Identities of recent lines, names of called tools, prompts that may come again, the last turns, a held prompt.

    A queued prompt is held until the next line tells whether it comes again as a prompt line.
    """

    seen: OrderedDict[str, None] = field(default_factory=OrderedDict)
    tools: OrderedDict[str, str] = field(default_factory=OrderedDict)
    echoes: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    held: Turn | None = None
    foreign: str = ""
    prompted: bool = False
    skipping: bool = False
    cwd: str = ""

    def is_known(self, identity: str) -> bool:
        """Whether a line with this identity (uuid, or moment and words) gave turns not long ago."""
        return bool(identity) and short_hash(identity) in self.seen

    def remember(self, identity: str) -> None:
        """Note that the line was used."""
        if identity:
            _put(self.seen, short_hash(identity), None, SEEN_LIMIT)

    def remember_tool(self, use: str, name: str) -> None:
        """Note the name of a tool call, for its result."""
        if use:
            _put(self.tools, use, name, TOOLS_LIMIT)

    def expect_echo(self, text: str) -> None:
        """A queued prompt: the same text may come once more as a prompt line."""
        self.echoes = [*self.echoes, short_hash(text)][-ECHO_LIMIT:]

    def take_echo(self, text: str) -> bool:
        """Whether the text is the second appearance of a queued prompt."""
        code = short_hash(text)
        if code not in self.echoes:
            return False
        self.echoes.remove(code)
        return True

    def keep_context(self, turn: Turn) -> None:
        """Keep the turn as context for the next piece, when a person would call it conversation."""
        if turn.kind in (TurnKind.USER, TurnKind.ASSISTANT) and not turn.sidechain and turn.text:
            kept = replace(turn, text=shorten(turn.text, CONTEXT_CHARS), detail=shorten(turn.detail, 200))
            self.turns = [*self.turns, kept][-CONTEXT_TURNS:]

    def dump(self) -> str:
        """As JSON, about 25 KB at most, and more only while a long queued prompt is held."""
        values = {
            "v": VERSION,
            "seen": "".join(self.seen),
            "tools": dict(self.tools),
            "echoes": self.echoes,
            "turns": [_turn_to_dict(turn) for turn in self.turns],
            "held": _turn_to_dict(self.held) if self.held else None,
            "foreign": self.foreign,
            "prompted": self.prompted,
            "skipping": self.skipping,
            "cwd": self.cwd,
        }
        return orjson.dumps(values).decode()


def _put(table: OrderedDict[str, Any], key: str, value: Any, limit: int) -> None:
    table[key] = value
    table.move_to_end(key)
    while len(table) > limit:
        table.popitem(last=False)


def load_memo(text: str) -> Memo | None:
    """The inverse of `Memo.dump`; None when the text is of another version or damaged, so that reading starts anew."""
    if not text:
        return Memo()
    try:
        values = orjson.loads(text)
        if values["v"] != VERSION:
            return None
        seen = values["seen"]
        return Memo(
            OrderedDict.fromkeys(seen[i : i + 10] for i in range(0, len(seen), 10)),
            OrderedDict(values["tools"]),
            list(values["echoes"]),
            [_turn_from_dict(turn) for turn in values["turns"]],
            _turn_from_dict(values["held"]) if values["held"] else None,
            values["foreign"],
            values["prompted"],
            values["skipping"],
            values["cwd"],
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, InputError):
        return None


def _turn_to_dict(turn: Turn) -> dict[str, Any]:
    values: dict[str, Any] = {"kind": turn.kind.value, "text": turn.text, "line": turn.line}
    optional = {"uuid": turn.uuid, "detail": turn.detail, "tool": turn.tool, "at": to_iso(turn.at) if turn.at else ""}
    return values | {name: value for name, value in optional.items() if value} | {"via": turn.via}


def _turn_from_dict(values: Mapping[str, Any]) -> Turn:
    return Turn(
        TurnKind(values["kind"]),
        values["text"],
        values.get("uuid", ""),
        values["line"],
        from_iso(values["at"]) if "at" in values else None,
        values["via"],
        values.get("tool", ""),
        values.get("detail", ""),
    )
