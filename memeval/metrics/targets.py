"""What counts as found, by protocol: LongMemEval's two readings, and the evidence as the data set gives it.

    evidence   every evidence id that exists in the case; questions without one are skipped
    locomo     the same, by LoCoMo's protocol
    official   LongMemEval's script: user turns only; `_abs` questions and those without a user-side target are skipped
    community  LongMemEval as most published figures: the evidence of all questions, either side, abstention included (500)
    community_answerable  the same without abstention questions (470), which some figures use

`official` presumes a system that indexes user turns only (`user_side` leaves them); its number is lower in coverage
(419 of 500 questions), so a figure always names its variant. Source: LongMemEval, src/retrieval/run_retrieval.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from memeval.types import Case, Question, Session


@dataclass(frozen=True, slots=True)
class Targets:
    """The relevant ids of a question at a level; `skipped` says why there are none."""

    variant: str
    level: str
    ids: tuple[str, ...] = ()
    skipped: str = ""


def targets(variant: str, question: Question, case: Case, level: str) -> Targets:
    """Targets of a question at `session` or `turn` level. An unknown variant or level is a ValueError."""
    variant = variant or "evidence"
    if variant not in VARIANTS or level not in ("session", "turn"):
        raise ValueError(f"unknown targets {variant!r} at level {level!r}: one of {', '.join(VARIANTS)}; session or turn")
    return VARIANTS[variant](question, case, level)


def user_side(session: Session) -> Session:
    """The session as LongMemEval's official script indexes it: what the user said."""
    return replace(session, turns=tuple(turn for turn in session.turns if turn.role == "user"))


def _resolved(variant: str, question: Question, case: Case, level: str) -> Targets:
    if level == "session":
        wanted, known = question.evidence_sessions, {session.id for session in case.sessions}
    else:
        wanted, known = question.evidence_turns, {turn.id for session in case.sessions for turn in session.turns}
    ids = tuple(dict.fromkeys(item for item in wanted if item in known))
    return Targets(variant, level, ids, "" if ids else "no evidence that can be resolved")


def _official(question: Question, case: Case, level: str) -> Targets:
    if question.is_abstention:
        return Targets("official", level, skipped="abstention question")
    wanted = set(question.evidence_turns)
    found = [
        (session.id, turn.id) for session in case.sessions for turn in session.turns if turn.role == "user" and turn.id in wanted
    ]
    ids = tuple(dict.fromkeys(session if level == "session" else turn for session, turn in found))
    return Targets("official", level, ids, "" if ids else "no target on the user's side")


def _answerable(question: Question, case: Case, level: str) -> Targets:
    if question.is_abstention:
        return Targets("community_answerable", level, skipped="abstention question")
    return _resolved("community_answerable", question, case, level)


VARIANTS: Mapping[str, Callable[[Question, Case, str], Targets]] = {
    "evidence": partial(_resolved, "evidence"),
    "locomo": partial(_resolved, "locomo"),
    "official": _official,
    "community": partial(_resolved, "community"),
    "community_answerable": _answerable,
}
