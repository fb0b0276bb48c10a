"""Late interaction beside the other indexes: which memory is encoded after which, and a token index that mends itself.

A turn of a stored conversation is read after the two turns before it: "She bought it" alone says nothing, and what "it" is
may have been said by the one who asked before. Statements of other kinds stand for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from memoryd.codec import item_digest
from memoryd.indexer import DerivedIndex
from memoryd.protocols import FloatArray, TokenEncoder
from memoryd.router import is_turn
from memoryd.stores.markdown import MarkdownStore
from memoryd.stores.terms import keys_of
from memoryd.stores.tokens import TokenEntry, TokenStore
from memoryd.types import MemoryItem, Query, Status

SESSION_TURNS = 5_000
# Turns that a turn is read after: the second adds a point of recall at 10, a third next to nothing (docs/quality.md).
READ_BEFORE = 2
_DIGITS = re.compile(r"(\d+)")


def place_in_session(item: MemoryItem) -> tuple[datetime, list[tuple[int, str]], str]:
    """Sort key of the turns of a session: time, then the name of the first line with its numbers as numbers."""
    name = item.evidence.lines[0] if item.evidence.lines else ""
    parts = [(int(part), "") if part.isdecimal() else (0, part) for part in _DIGITS.split(name)]
    return item.created_at, parts, item.id


class LateIndex(DerivedIndex[TokenStore]):
    """The token index `tokens.db`. `enqueue` gets the ids that must be encoded; they come back to `write`."""

    def __init__(
        self,
        path: Path,
        encoder: TokenEncoder,
        markdown: MarkdownStore,
        enqueue: Callable[[Sequence[str]], None],
        rebuilt: list[str],
    ) -> None:
        """`rebuilt` is told the index's name when damage was found."""
        self._encoder = encoder
        self._markdown = markdown
        self._enqueue = enqueue
        super().__init__(path, lambda place: TokenStore(place, encoder), self._enqueue_all, rebuilt)

    @property
    def name(self) -> str:
        """Identity of the token model."""
        return self._encoder.name

    def _enqueue_all(self, _store: TokenStore) -> None:
        self._enqueue(sorted(self._markdown.digests()))

    def catch_up(self) -> None:
        """Drop what is no longer there and let wait what is missing, changed or of another model."""
        self._enqueue(self.use(self._missing))

    def _missing(self, store: TokenStore) -> list[str]:
        held, wanted = store.digests(), self._markdown.digests()
        for id in held.keys() - wanted.keys():
            store.delete(id)
        return sorted(id for id, digest in wanted.items() if held.get(id) != digest)

    def write(self, items: Mapping[str, MemoryItem]) -> None:
        """Encode the items, and turns that now have others before them. Raises EmbeddingError."""
        self.use(lambda store: store.write_many(self._entries(store, items)))

    def _entries(self, store: TokenStore, items: Mapping[str, MemoryItem]) -> list[TokenEntry]:
        entries = [_entry(item, ()) for item in items.values() if not is_turn(item)]
        turns = [item for item in items.values() if is_turn(item)]
        for session in sorted({item.session for item in turns}):
            entries += self._entries_of(store, session, items)
        return entries

    def _entries_of(self, store: TokenStore, session: str, items: Mapping[str, MemoryItem]) -> list[TokenEntry]:
        query = Query(session=session, statuses=tuple(Status))
        found = [hit.item for hit in self._markdown.search(query, SESSION_TURNS) if is_turn(hit.item)]
        stored = store.before([item.id for item in found])
        out = []
        for project in sorted({item.project for item in found}):
            turns = sorted((item for item in found if item.project == project), key=place_in_session)
            befores = [turns[max(0, place - READ_BEFORE) : place] for place in range(len(turns))]
            moved = {item.id for item, before in zip(turns, befores, strict=True) if _is_moved(item, before, stored)}
            changed = moved | items.keys()
            for item, before in zip(turns, befores, strict=True):
                if item.id in changed or (item.id in stored and any(one.id in changed for one in before)):
                    out.append(_entry(item, before))
        return out

    def delete(self, id: str) -> None:
        """Remove a memory's vectors."""
        self.use(lambda store: store.delete(id))

    def prepare(self, text: str) -> None:
        """Begin to encode a query for `matches`, which waits for it."""
        self.use(lambda store: store.prepare(text))

    def matches(self, text: str, ids: Sequence[str], weight: Callable[[str], float]) -> dict[str, FloatArray]:
        """See TokenStore.matches; nothing while the index is rebuilt. Raises EmbeddingError."""
        return self.use(lambda store: store.matches(text, ids, weight))

    def linked(self) -> bool:
        """Whether there are turns that follow others, so that `neighbours` tells anything."""
        return self.use(lambda store: store.linked())

    def neighbours(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """For each memory with vectors the ids of those said just before and just after in its session; empty: none."""
        return self.use(lambda store: store.neighbours(ids))

    def warm(self) -> None:
        """Load the model. Raises EmbeddingError."""
        self._encoder.encode_query("warm")


def _is_moved(item: MemoryItem, before: Sequence[MemoryItem], stored: Mapping[str, str]) -> bool:
    """Whether the turn is stored as one that follows another."""
    return item.id in stored and stored[item.id] != (before[-1].id if before else "")


def _entry(item: MemoryItem, before: Sequence[MemoryItem]) -> TokenEntry:
    last = before[-1].id if before else ""
    return TokenEntry(item.id, item_digest(item), item.content, last, " ".join(one.content for one in before), keys_of(item))
