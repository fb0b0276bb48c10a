"""Limits on what a model may see of memories and change in them. They apply on every interface. All functions are pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memoryd.core.errors import InputError, NotFoundError
from memoryd.core.types import RESERVED_TAGS, Candidate, MemoryItem, Source, Trust

MODEL_CONFIDENCE = 0.8
_PROTECTED = frozenset({"content", "kind", "polarity", "scope", "confidence", "valid_to", "asked_as"})


def model_tags(tags: Sequence[str], kept: Sequence[str] = ()) -> tuple[str, ...]:
    """Check a model's tags, and add the reserved tags that the memory already has.

    Raises:
        InputError: if a reserved tag would be added.
    """
    if refused := sorted({tag for tag in tags if _is_reserved(tag)} - set(kept)):
        raise InputError(
            f"tags: {', '.join(refused)} has a special meaning; only memoryd or the user may set it.",
            fix="Use different words as tags.",
        )
    return tuple(dict.fromkeys([*(tag for tag in kept if _is_reserved(tag)), *tags]))


def _is_reserved(tag: str) -> bool:
    return tag.strip().casefold() in RESERVED_TAGS


def model_changes(item: MemoryItem, changes: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Check a model's changes to a memory. The limits are the same as for new memories.

    A model may not change what the user said or pinned, create rules, move a memory to another project, raise its
    confidence above the limit or end its validity in the future.

    Returns:
        The permitted changes, without those that would change nothing.

    Raises:
        InputError: if the model may not change a field.
    """
    from memoryd.daydream.model_answer import restrain

    protected = _PROTECTED if item.trust in (Trust.INSTRUCTION, Trust.TEAM) or item.pinned else frozenset()
    if refused := sorted((protected | {"pinned"}) & changes.keys()):
        raise InputError(
            f"A model may not change {', '.join(refused)} of {item.id}; only the user can.",
            fix=f"The user can run: memoryd edit {item.id}. A newer statement by the user replaces it automatically.",
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


def unknown_to_model(id: str) -> NotFoundError:
    """Return the error for a memory that a model can't see. It doesn't reveal whether the memory exists."""
    return NotFoundError(f"There is no memory '{id}'.", fix="Look it up with recall; a candidate is settled in its own project.")
