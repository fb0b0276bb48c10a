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
from memoryd.daydream.extractors import ASKS_A_MODEL, ENDPOINT, limits_for
from memoryd.daydream.gate import admissible, is_own_run, summed
from memoryd.daydream.model_extract import messages_for
from memoryd.daydream.privacy import redacted_passage
from memoryd.daydream.reconcile import UNKNOWN_SESSION, Action, reconcile, to_item
from memoryd.daydream.references import resolve
from memoryd.daydream.related import choose_related, worth_asking
from memoryd.daydream.transcript import Piece, read_all
from memoryd.protocols import Extractor
from memoryd.types import Candidate, MemoryItem, Message, Passage, Usage


def dry_run(path: Path, extractor: Extractor, settings: Settings, now: datetime) -> dict[str, Any]:
    """See `DayDream.dry_run`. Raises TranscriptError and ModelError."""
    draft = _Draft(now)
    skipped: Counter[str] = Counter()
    usage, model, handoff = Usage(), "", ""
    for piece in read_all(path, limits=limits_for(settings, extractor.name)):
        skipped.update(piece.skipped)
        if is_own_run(settings, piece.cwd, piece):
            skipped["own run"] += len(piece.turns)
        elif piece.turns:
            passage = _passage(piece, path, draft)
            if extractor.name in ASKS_A_MODEL and not worth_asking(passage):
                skipped["nothing said"] += len(piece.turns)
                continue
            extraction = extractor.extract(passage)
            usage, model, handoff = usage + extraction.usage, extraction.model, extraction.handoff or handoff
            candidates, refused = admissible(extraction, piece.turns)
            skipped.update(summed(extraction.skipped, counts(refused)))
            for candidate in candidates:
                skipped.update(draft.add(candidate, passage))
    return {
        "candidates": [candidate_to_dict(candidate) for candidate in draft.candidates()],
        "skipped": {reason: count for reason, count in sorted(skipped.items()) if count},
        "handoff": handoff,
        "extractor": extractor.name,
        "model": model,
        "usage": {
            "calls": usage.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": usage.cost_usd,
        },
    }


def requests(path: Path, settings: Settings, now: datetime, extractor: Extractor | None = None) -> Iterator[list[Message]]:
    """Exactly what a model would be sent for the log, piece by piece. Raises TranscriptError.

    What a piece gives is shown with the later ones as known, so that those depend on the answers: `extractor` (one that
    replays) gives them, and the walk ends at the first request that has none. Without it nothing is known from earlier
    pieces. An answer that does not follow the schema is sent back once, with the fault; that is all that may come on top.
    """
    draft = _Draft(now)
    for piece in read_all(path, limits=limits_for(settings, ENDPOINT)):
        if not piece.turns or is_own_run(settings, piece.cwd, piece):
            continue
        passage = _passage(piece, path, draft)
        if not worth_asking(passage):
            continue
        yield messages_for(passage, settings.chunk_tokens)
        if extractor is not None:
            for candidate in admissible(extractor.extract(passage), piece.turns)[0]:
                draft.add(candidate, passage)


def _passage(piece: Piece, path: Path, draft: _Draft) -> Passage:
    """The piece with what the log gave before it; nothing of it is known from anywhere else."""
    passage = redacted_passage(Passage(piece.turns, piece.context, piece.session, "", piece.cwd, str(path), ends=not piece.more))
    given = tuple(candidate.content for candidate in draft.candidates())
    return replace(passage, given=given, known=choose_related(draft.items(), passage))


class _Draft:
    """Candidates of one log, reconciled among themselves."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._items: dict[str, tuple[Candidate, MemoryItem]] = {}
        self._count = 0

    def add(self, candidate: Candidate, passage: Passage) -> dict[str, int]:
        """Take the candidate in; the reason when it, or an earlier one, is left out."""
        for id in [id for id, (one, _) in self._items.items() if one.content in candidate.revises]:
            del self._items[id]
        known = {id: item for id, (_, item) in self._items.items()}
        session = passage.session or UNKNOWN_SESSION
        decision, references = reconcile(candidate, list(known.values()), session=session), resolve(candidate, known)
        if decision.action is Action.REFUSED:
            return {decision.action.value: 1}
        decision = references.decision or decision
        ended = set(references.ended)
        if decision.action in (Action.SUPERSEDES, Action.CONFIRMS):
            ended.add(decision.target)
        elif decision.action is Action.KNOWN:
            ended.discard(decision.target)
        for id in ended & known.keys():
            del self._items[id]
        if references.only_closes:
            return {"closes a todo": 1}
        if decision.action is Action.KNOWN:
            return {decision.action.value: 1}
        self._count += 1
        id = f"mem_{self._count:012x}"
        self._items[id] = (candidate, replace(to_item(candidate, passage, now=self._now), id=id))
        return {"superseded": len(ended)} if ended else {}

    def items(self) -> list[MemoryItem]:
        """What is left, as the memories that it would be."""
        return [item for _, item in self._items.values()]

    def candidates(self) -> list[Candidate]:
        """What is left, in the order of the log."""
        return [candidate for candidate, _ in self._items.values()]
