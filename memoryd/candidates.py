"""The life of a candidate: a statement that a reader proposed and that nobody has confirmed yet."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from memoryd.types import MemoryItem, Status

LIFETIME = timedelta(days=30)
# So many may wait in a project; more than that nobody looks through.
MOST = 200


def is_faded(item: MemoryItem, now: datetime) -> bool:
    """Whether the item is a candidate whose time is over. Readers ignore it, whether or not it has been removed."""
    return item.status is Status.CANDIDATE and item.created_at + LIFETIME <= now


def surplus(items: Iterable[MemoryItem], most: int = MOST) -> list[MemoryItem]:
    """The candidates that are too many: the least promising go first, of equal ones the oldest."""
    waiting = [item for item in items if item.status is Status.CANDIDATE]
    waiting.sort(key=lambda item: (item.confidence, item.created_at, item.id))
    return waiting[: max(0, len(waiting) - most)]
