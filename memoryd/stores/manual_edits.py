"""Manual edits of memory files. Edited files are protected from the dream, and deleted ones are remembered.

A file changed by a person counts as that person's text from then on. A file deleted by a person must not be learnt
again from earlier statements, so it is recorded as forbidden (docs/dream.md).
"""

from __future__ import annotations

from collections.abc import Callable

from memoryd.core.codec import item_digest
from memoryd.core.ledger import Ledger
from memoryd.core.text import overlap_coefficient, words
from memoryd.core.types import MemoryItem
from memoryd.stores.markdown import SyncReport

MAX_FORBIDDEN = 20
OVERLAP = 0.5


class ManualEdits:
    """Records manual edits in the ledger. Does nothing without a ledger."""

    def __init__(self, ledger: Ledger | None) -> None:
        self._ledger = ledger

    def note(self, report: SyncReport, before: Callable[[str], MemoryItem | None]) -> None:
        """Record the manual changes found in a sync.

        `before` returns a memory's previous state, or None if it was unknown.
        """
        if self._ledger is None:
            return
        old = {item.id: before(item.id) for item in report.changed}
        edited = [item.id for item in report.changed if _differs(old[item.id], item)]
        gone = [item for item in map(before, report.removed) if item is not None]
        if edited:
            self._ledger.mark_edited(edited)
        if gone:
            self._ledger.mark_deleted(gone)
        if new := [id for id, item in old.items() if item is None]:
            self._ledger.unmark_deleted(new)

    def erase(self, id: str) -> bool:
        """Delete all records about a memory. Return whether its file had been deleted manually."""
        return self._ledger is not None and self._ledger.erase(id)

    def forbidden(self, content: str, project: str) -> list[MemoryItem]:
        """Return deleted memories that resemble the statement, most similar first.

        They resemble each other if the shorter text shares at least half of its words with the other.
        """
        if self._ledger is None:
            return []
        wanted = set(words(content))
        scored = [(overlap_coefficient(wanted, set(words(item.content))), item) for item in self._ledger.deleted(project)]
        close = sorted(((score, item) for score, item in scored if score >= OVERLAP), key=lambda pair: (-pair[0], pair[1].id))
        return [item for _, item in close[:MAX_FORBIDDEN]]


def _differs(old: MemoryItem | None, new: MemoryItem) -> bool:
    return old is not None and item_digest(old) != item_digest(new)
