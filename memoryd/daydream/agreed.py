"""What the agent worded and the user only said yes to: a decision, marked as agreed to, never the user's rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memoryd.text import keywords
from memoryd.types import AGREED_TAG, Candidate, Kind, Polarity, Scope, Source, Turn, TurnKind

# A turn with so few words ("yes, do that", "option 2", the label of an option) can't hold what it is cited for.
FEW_WORDS = 8
# Words that a reader may add itself ("uses", "project"); with more of them somebody else worded the statement.
SPARE_WORDS = 2


def as_agreed(candidate: Candidate, turns: Sequence[Turn]) -> Candidate:
    """The candidate; as agreed to when it cites the user for words that do not stand in the user's turn.

    Looks at answers to the agent's questions and at turns too short to say it.
    """
    if candidate.source is not Source.USER:
        return candidate
    cited = [turn for turn in turns if turn.kind is TurnKind.USER and _is_cited(turn, candidate)]
    if not cited:
        return candidate
    typed = " ".join(turn.text for turn in cited if not turn.offered)
    said = set(keywords(typed))
    foreign = [word for word in keywords(candidate.content) if word not in said]
    chosen = any(turn.offered for turn in cited) and bool(foreign)
    answers = any(turn.via == "answer" for turn in cited)
    short = len(typed.split()) <= FEW_WORDS
    if not chosen and not ((answers or short) and len(foreign) > SPARE_WORDS):
        return candidate
    return replace(
        candidate,
        source=Source.AGENT_STEP,
        kind=Kind.DECISION if candidate.kind in (Kind.RULE, Kind.PREFERENCE) else candidate.kind,
        polarity=Polarity.KNOW,
        scope=Scope.PROJECT,
        tags=tuple(dict.fromkeys([*candidate.tags, AGREED_TAG])),
    )


def _is_cited(turn: Turn, candidate: Candidate) -> bool:
    return (turn.uuid in candidate.uuids) if turn.uuid and candidate.uuids else turn.line in candidate.lines
