"""The record of a day dream's decisions about single statements, without secrets and bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from memoryd import verdicts
from memoryd.clock import to_iso
from memoryd.daydream.keeping import Outcome
from memoryd.daydream.reconcile import Action
from memoryd.daydream.redact import redact
from memoryd.types import Candidate, Refused
from memoryd.verdicts import Verdict

# Refused statements that one piece may put on record; the counts by reason hold all.
MOST_REFUSED = 60
_OUTCOMES: Mapping[Action, str] = {Action.KNOWN: verdicts.KNOWN, Action.REFUSED: verdicts.REFUSED}


def refused(candidate: Candidate, reason: str) -> Refused:
    """A candidate that is not written, as it goes on record."""
    line = candidate.lines[0] if candidate.lines else 0
    return Refused(candidate.content, reason, candidate.source, line, candidate.at)


def counts(entries: Iterable[Refused]) -> dict[str, int]:
    """How many for each reason."""
    return dict(Counter(entry.reason for entry in entries))


def decided(outcomes: Sequence[tuple[Candidate, Outcome]], left_out: Sequence[Refused]) -> list[Verdict]:
    """Verdicts for what was compared with the store, and for the first of what never came that far."""
    return [_of_outcome(*pair) for pair in outcomes] + [_of_refused(entry) for entry in left_out[:MOST_REFUSED]]


def _of_outcome(candidate: Candidate, outcome: Outcome) -> Verdict:
    kind = _OUTCOMES.get(outcome.action, verdicts.KEPT)
    why = candidate.reason if outcome.action is Action.NEW else f"{outcome.action}: {outcome.reason}"
    return Verdict(
        kind,
        why,
        redact(candidate.content).text,
        outcome.id,
        candidate.kind.value,
        candidate.source.value,
        candidate.lines[0] if candidate.lines else 0,
        to_iso(candidate.at) if candidate.at else "",
    )


def _of_refused(entry: Refused) -> Verdict:
    said = to_iso(entry.at) if entry.at else ""
    text = redact(entry.text[: 4 * verdicts.TEXT_CHARS]).text
    return Verdict(verdicts.REFUSED, entry.reason, text, source=entry.source.value, line=entry.line, said_at=said)
