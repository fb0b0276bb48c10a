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

VERSION = 2
SEEN_LIMIT = 1_200
TOOLS_LIMIT = 64
ECHO_LIMIT = 16
QUEUE_LIMIT = 16
PATH_LIMIT = 2_000
CONTEXT_TURNS = 6
CONTEXT_CHARS = 1_000


def short_hash(text: str) -> str:
    """Ten hex digits, enough to tell apart the lines of one log."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=5).hexdigest()


@dataclass(slots=True)
class Memo:
    """Identities of recent lines, names of called tools, prompts that may come again, the last turns, the branch.

    `queued` holds offset, line and hash of the queued prompts that nothing was heard of since; their text stays in the log.
    `path` holds the lines from the root to the newest one, as short hashes, each with `p` before it for a prompt and `-`
    for another line. `chained`: a line named its parent, so that a prompt without one begins at the root.
    """

    seen: OrderedDict[str, None] = field(default_factory=OrderedDict)
    tools: OrderedDict[str, str] = field(default_factory=OrderedDict)
    echoes: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    queued: list[tuple[int, int, str]] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    chained: bool = False
    foreign: str = ""
    prompted: bool = False
    skipping: bool = False
    cwd: str = ""
    apart: bool = False

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

    def enqueue(self, text: str, offset: int, line: int) -> None:
        """Note where a queued prompt stands in the log."""
        self.queued = [*self.queued, (offset, line, short_hash(text.strip()))][-QUEUE_LIMIT:]

    def unqueue(self, text: str, *, strict: bool = False) -> None:
        """A queued prompt was withdrawn or delivered: the one with this text, else (not `strict`) the oldest."""
        code = short_hash(text.strip())
        place = next((n for n, entry in enumerate(self.queued) if entry[2] == code), -1)
        if place >= 0 or (self.queued and not strict and not text.strip()):
            del self.queued[max(place, 0)]

    def follow(self, uuid: str, parent: str, *, prompt: bool) -> set[str]:
        """Add a line to the branch; the short hashes of the lines that a prompt leaves, when it goes on from an older line.

        Lines of tools that ran side by side branch as well; only where a prompt was taken back is a branch left.
        """
        left = self._leave(parent) if prompt else set()
        self.chained = self.chained or bool(parent)
        self.path.append(f"{'p' if prompt else '-'}{short_hash(uuid)}")
        if len(self.path) > PATH_LIMIT:
            del self.path[: len(self.path) - PATH_LIMIT]
        return left

    def _leave(self, parent: str) -> set[str]:
        if parent:
            code = short_hash(parent)
            end = next((n + 1 for n in range(len(self.path) - 1, -1, -1) if self.path[n][1:] == code), -1)
        else:  # The first prompt was edited. After several prompts it is a fresh start in the same log, which takes nothing back.
            prompts = sum(mark[0] == "p" for mark in self.path)
            end = 0 if self.chained and self.path and self.path[0][0] == "p" and prompts == 1 else -1
        if end < 0 or not any(mark[0] == "p" for mark in self.path[end:]):
            return set()
        left = {mark[1:] for mark in self.path[end:]}
        del self.path[end:]
        self.turns = [turn for turn in self.turns if short_hash(turn.uuid) not in left]
        return left

    def keep_context(self, turn: Turn) -> None:
        """Keep the turn as context for the next piece, when a person would call it conversation."""
        if turn.kind in (TurnKind.USER, TurnKind.ASSISTANT) and not turn.sidechain and turn.text:
            kept = replace(turn, text=shorten(turn.text, CONTEXT_CHARS), detail=shorten(turn.detail, 200))
            self.turns = [*self.turns, kept][-CONTEXT_TURNS:]

    def dump(self) -> str:
        """As JSON, about 50 KB at most."""
        values = {
            "v": VERSION,
            "seen": "".join(self.seen),
            "tools": dict(self.tools),
            "echoes": self.echoes,
            "turns": [turn_to_dict(turn) for turn in self.turns],
            "queued": self.queued,
            "path": "".join(self.path),
            "chained": self.chained,
            "foreign": self.foreign,
            "prompted": self.prompted,
            "skipping": self.skipping,
            "cwd": self.cwd,
            "apart": self.apart,
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
            [turn_from_dict(turn) for turn in values["turns"]],
            [(int(offset), int(line), str(code)) for offset, line, code in values["queued"]],
            [values["path"][i : i + 11] for i in range(0, len(values["path"]), 11)],
            values["chained"],
            values["foreign"],
            values["prompted"],
            values["skipping"],
            values["cwd"],
            values.get("apart", False),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, InputError):
        return None


def turn_to_dict(turn: Turn) -> dict[str, Any]:
    """A turn as plain values."""
    values: dict[str, Any] = {"kind": turn.kind.value, "text": turn.text, "line": turn.line}
    optional = {"uuid": turn.uuid, "detail": turn.detail, "tool": turn.tool, "at": to_iso(turn.at) if turn.at else ""}
    return values | {name: value for name, value in optional.items() if value} | {"via": turn.via, "offered": turn.offered}


def turn_from_dict(values: Mapping[str, Any]) -> Turn:
    """The inverse of `turn_to_dict`."""
    return Turn(
        TurnKind(values["kind"]),
        values["text"],
        values.get("uuid", ""),
        values["line"],
        from_iso(values["at"]) if "at" in values else None,
        values["via"],
        values.get("tool", ""),
        values.get("detail", ""),
        offered=bool(values.get("offered")),
    )
