"""What a model may do to memories: less than the user, whichever way it calls. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memoryd.core.errors import InputError
from memoryd.core.types import RESERVED_TAGS, Candidate, MemoryItem, Source, Trust

MODEL_CONFIDENCE = 0.8
_PROTECTED = frozenset({"content", "kind", "polarity", "scope", "confidence", "valid_to", "asked_as"})


def model_tags(tags: Sequence[str], kept: Sequence[str] = ()) -> tuple[str, ...]:
    """The tags that a model gives, with the reserved ones that a memory has already. Raises InputError for others of these."""
    if refused := sorted({tag for tag in tags if _is_reserved(tag)} - set(kept)):
        raise InputError(
            f"tags: {', '.join(refused)} has a meaning of its own; only memory itself or the user sets it.",
            fix="Use other words as tags.",
        )
    return tuple(dict.fromkeys([*(tag for tag in kept if _is_reserved(tag)), *tags]))


def _is_reserved(tag: str) -> bool:
    return tag.strip().casefold() in RESERVED_TAGS


def model_changes(item: MemoryItem, changes: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """What is left of a model's changes: the result obeys what restrains a model that remembers. Raises InputError.

    Nothing of what the user said or pinned, no rule, no other project, no more confidence, no end in the future.
    """
    from memoryd.daydream.model_answer import restrain

    protected = _PROTECTED if item.trust is Trust.INSTRUCTION or item.pinned else frozenset()
    if refused := sorted((protected | {"pinned"}) & changes.keys()):
        raise InputError(
            f"A model may not change {', '.join(refused)} of {item.id}; that is the user's to do.",
            fix=f"The user can run: memoryd edit {item.id}. A newer statement of the user replaces it by itself.",
        )
    changes = dict(changes)
    if changes.get("valid_to") is not None and changes["valid_to"] > now:
        raise InputError("valid_to: a model can't end a memory at a future time.", fix="Give a time up to now.")
    if "tags" in changes:
        changes["tags"] = model_tags(changes["tags"], item.tags)
    if item.source is Source.USER:
        return changes
    wanted = {name: changes.get(name, getattr(item, name)) for name in ("content", "kind", "polarity", "scope")}
    allowed = restrain(Candidate(source=item.source, **wanted))
    for name in changes.keys() & wanted.keys():
        changes[name] = getattr(allowed, name)
    if "confidence" in changes:
        changes["confidence"] = min(changes["confidence"], max(MODEL_CONFIDENCE, item.confidence))
    return {name: value for name, value in changes.items() if value != getattr(item, name)}
