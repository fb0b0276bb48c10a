"""History of one memory: its origin, uses and changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memoryd.clients.registry import CLAUDE_CODE
from memoryd.core.clock import to_iso
from memoryd.core.codec import item_to_dict
from memoryd.core.ledger import Ledger, Use, UseKind
from memoryd.core.types import MemoryItem, Status
from memoryd.dream.journal import EntrySummary, Journal, JournalRecord
from memoryd.lineage import SUCCESSION, replaced_ids
from memoryd.service import Orchestrator

SHOWN_USES = 50


def why(id: str, service: Orchestrator, ledger: Ledger, journal: Journal) -> dict[str, Any]:
    """Return the origin, uses and changes of a memory.

    Raises:
        NotFoundError: The memory is unknown.
    """
    history = list(journal.history(id))
    item = service.get(id) or _last_known(history) or service.require(id)
    uses = ledger.uses(id)
    return {
        "memory": item_to_dict(item),
        "origin": _origin(item),
        "uses": [_use(use) for use in uses[-SHOWN_USES:]],
        "used": _counts(uses),
        "changes": [_change(head, record) for head, record in history],
        "replaces": _replaced(item),
        "replaced_by": sorted(other.id for other in _successors(item, service)),
        "edited_by_hand": id in ledger.edited(),
        "is_there": service.get(id) is not None,
    }


def _last_known(history: Sequence[tuple[EntrySummary, JournalRecord]]) -> MemoryItem | None:
    return next((item for _, record in reversed(history) if (item := record.after or record.before)), None)


def _origin(item: MemoryItem) -> dict[str, Any]:
    evidence = item.evidence
    return {
        "source": item.source.value,
        "session": item.session,
        "created_at": to_iso(item.created_at),
        "transcript": evidence.transcript,
        "lines": list(evidence.lines),
        "commit": evidence.commit,
        "paths": list(evidence.paths),
        "client": evidence.client or (CLAUDE_CODE.name if evidence.transcript else ""),
    }


def _use(use: Use) -> dict[str, str]:
    return {"session": use.session, "how": use.how.value, "at": use.at}


def _counts(uses: Sequence[Use]) -> dict[str, int]:
    return {how.value: count for how in UseKind if (count := sum(use.how is how for use in uses))}


def _change(head: EntrySummary, record: JournalRecord) -> dict[str, Any]:
    undone = record.id in head.undone
    return {
        "entry": head.name,
        "at": head.at,
        "kind": head.kind.value,
        "step": head.step.value,
        "stage": record.stage,
        "action": record.action.value,
        "reason": record.reason,
        "undone": undone,
        "differences": differences(record.before, record.after),
    }


def differences(before: MemoryItem | None, after: MemoryItem | None) -> dict[str, list[Any]]:
    """Return the fields that differ, with both values. Return nothing if one side is missing."""
    if before is None or after is None:
        return {}
    old, new = item_to_dict(before), item_to_dict(after)
    return {name: [old[name], new[name]] for name in old if old[name] != new[name]}


def _replaced(item: MemoryItem) -> list[str]:
    return sorted(replaced_ids(item))


def _successors(item: MemoryItem, service: Orchestrator) -> list[MemoryItem]:
    if item.status is Status.ACTIVE or service.get(item.id) is None:
        return []
    near = (entry.item for entry in service.related(item.id, depth=1, types=SUCCESSION, k=50))
    return [other for other in near if item.id in _replaced(other)]
