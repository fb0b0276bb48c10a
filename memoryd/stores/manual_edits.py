"""What people do to the files themselves: edits are protected from the dream, deletions are kept in mind.

A file that a person changed is that person's text from then on. A file that a person deleted must
not come back from what was said before; it is remembered as something forbidden (docs/dream.md).
"""

from __future__ import annotations

from collections.abc import Callable

from memoryd.core.codec import item_digest
from memoryd.core.ledger import Ledger
from memoryd.core.text import overlap_coefficient, words
from memoryd.core.types import MemoryItem
from memoryd.stores.markdown import SyncReport

MOST_FORBIDDEN = 20
OVERLAP = 0.5


class HandWork:
    """Notes hand work in the ledger; without a ledger it does nothing."""

    def __init__(self, ledger: Ledger | None) -> None:
        self._ledger = ledger

    def note(self, report: SyncReport, before: Callable[[str], MemoryItem | None]) -> None:
        """Take note of a sync. `before` gives a memory as it was, None for one that was not known."""
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
        """Keep nothing about a memory; whether its file had been deleted by hand."""
        return self._ledger is not None and self._ledger.erase(id)

    def forbidden(self, content: str, project: str) -> list[MemoryItem]:
        """Deleted memories that share at least half of the shorter one's words with the statement, closest first."""
        if self._ledger is None:
            return []
        wanted = set(words(content))
        scored = [(overlap_coefficient(wanted, set(words(item.content))), item) for item in self._ledger.deleted(project)]
        close = sorted(((score, item) for score, item in scored if score >= OVERLAP), key=lambda pair: (-pair[0], pair[1].id))
        return [item for _, item in close[:MOST_FORBIDDEN]]


def _differs(old: MemoryItem | None, new: MemoryItem) -> bool:
    return old is not None and item_digest(old) != item_digest(new)
