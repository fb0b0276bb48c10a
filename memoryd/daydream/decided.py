"""The record of a day dream's decisions about single statements: bounded, and without their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from memoryd import verdicts
from memoryd.clock import to_iso
from memoryd.daydream.keeping import Outcome
from memoryd.daydream.reconcile import Action
from memoryd.text import one_line, shorten
from memoryd.types import Candidate, Refused, Status, Turn
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


def decided(
    outcomes: Sequence[tuple[Candidate, Outcome]], left_out: Sequence[Refused], turns: Sequence[Turn] = ()
) -> list[Verdict]:
    """Verdicts for what was compared with the store, and for the first of what never came that far.

    They say where in these turns a statement stands instead of repeating it.
    """
    found = [(_of_outcome(*pair), pair[0].content) for pair in outcomes]
    found += [(_of_refused(entry), entry.text) for entry in left_out[:MOST_REFUSED]]
    by_line: dict[int, list[str]] = {}
    for turn in turns:
        by_line.setdefault(turn.line, []).append(turn.text)
    return [_placed(verdict, text, by_line.get(verdict.line, [])) for verdict, text in found]


def _placed(verdict: Verdict, statement: str, texts: Sequence[str]) -> Verdict:
    for part, text in enumerate(texts):
        if statement and (start := text.find(statement)) >= 0:
            return replace(verdict, part=part, start=start, chars=len(statement))
    return verdict


def shown_text(verdict: Verdict, turns: Sequence[Turn]) -> str:
    """The statement of a verdict out of the turns of its line; the turn's beginning where it is not told word for word."""
    if not 0 <= verdict.part < len(turns):
        return ""
    text = turns[verdict.part].text
    said = text[verdict.start : verdict.start + verdict.chars] if verdict.chars else text
    return shorten(one_line(said), verdicts.TEXT_CHARS)


def _of_outcome(candidate: Candidate, outcome: Outcome) -> Verdict:
    written = verdicts.PROPOSED if candidate.status is Status.CANDIDATE and outcome.action is Action.NEW else verdicts.KEPT
    kind = _OUTCOMES.get(outcome.action, written)
    why = candidate.reason if outcome.action is Action.NEW else f"{outcome.action}: {outcome.reason}"
    return Verdict(
        kind,
        why,
        memory=outcome.id,
        kind=candidate.kind.value,
        source=candidate.source.value,
        line=candidate.lines[0] if candidate.lines else 0,
        said_at=to_iso(candidate.at) if candidate.at else "",
    )


def _of_refused(entry: Refused) -> Verdict:
    said = to_iso(entry.at) if entry.at else ""
    return Verdict(verdicts.REFUSED, entry.reason, source=entry.source.value, line=entry.line, said_at=said)
