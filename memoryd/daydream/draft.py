"""A day dream that writes nothing: what it would keep of a whole log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memoryd.codec import candidate_to_dict
from memoryd.config import Settings
from memoryd.daydream.decided import counts
from memoryd.daydream.extractors import limits_for
from memoryd.daydream.gate import admissible, is_own_run, summed
from memoryd.daydream.model_extract import messages_for, print_prompt
from memoryd.daydream.privacy import redacted_passage
from memoryd.daydream.reconcile import Action, reconcile, to_item
from memoryd.daydream.transcript import Piece, read_all
from memoryd.protocols import Extractor
from memoryd.types import Candidate, MemoryItem, Passage, Usage


def dry_run(path: Path, extractor: Extractor, settings: Settings, now: datetime) -> dict[str, Any]:
    """See `DayDream.dry_run`. Raises TranscriptError and ModelError."""
    draft = _Draft(now)
    skipped: Counter[str] = Counter()
    usage, model = Usage(), ""
    for piece in read_all(path, limits=limits_for(settings, extractor.name)):
        skipped.update(piece.skipped)
        if is_own_run(settings, piece.cwd, piece):
            skipped["own run"] += len(piece.turns)
        elif piece.turns:
            given = tuple(candidate.content for candidate in draft.candidates())
            passage = _passage(piece, path, given)
            extraction = extractor.extract(passage)
            usage, model = usage + extraction.usage, extraction.model
            candidates, refused = admissible(extraction, piece.turns)
            skipped.update(summed(extraction.skipped, counts(refused)))
            for candidate in candidates:
                skipped.update(draft.add(candidate, passage))
    return {
        "candidates": [candidate_to_dict(candidate) for candidate in draft.candidates()],
        "skipped": {reason: count for reason, count in sorted(skipped.items()) if count},
        "extractor": extractor.name,
        "model": model,
        "usage": {
            "calls": usage.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": usage.cost_usd,
        },
    }


def prompts(path: Path, settings: Settings) -> Iterator[str]:
    """Exactly what a model would be sent for the log, piece by piece; no model is asked. Raises TranscriptError.

    An answer that does not follow the schema is sent back once, with the fault; that is all that may come on top.
    """
    for piece in read_all(path, limits=limits_for(settings, "model")):
        if piece.turns and not is_own_run(settings, piece.cwd, piece):
            yield print_prompt(messages_for(_passage(piece, path), settings.chunk_tokens))


def _passage(piece: Piece, path: Path, given: tuple[str, ...] = ()) -> Passage:
    return redacted_passage(Passage(piece.turns, piece.context, piece.session, "", piece.cwd, str(path), given))


class _Draft:
    """Candidates of one log, reconciled among themselves."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._items: dict[str, tuple[Candidate, MemoryItem]] = {}
        self._count = 0

    def add(self, candidate: Candidate, passage: Passage) -> dict[str, int]:
        """Take the candidate in; the reason when it, or an earlier one, is left out."""
        decision = reconcile(candidate, [item for _, item in self._items.values()])
        if decision.action in (Action.KNOWN, Action.REFUSED):
            return {decision.action.value: 1}
        replaced = self._items.pop(decision.target, None) if decision.action is Action.SUPERSEDES else None
        self._count += 1
        id = f"mem_{self._count:012x}"
        self._items[id] = (candidate, replace(to_item(candidate, passage, now=self._now), id=id))
        return {"superseded": 1} if replaced else {}

    def candidates(self) -> list[Candidate]:
        """What is left, in the order of the log."""
        return [candidate for candidate, _ in self._items.values()]
