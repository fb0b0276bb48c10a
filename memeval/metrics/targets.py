"""What counts as found, by protocol: LongMemEval's two readings, and the evidence as the data set gives it.

    evidence   every evidence id that exists in the case; questions without one are skipped
    locomo     the same, named after LoCoMo
    locomo_official  LoCoMo's script: every entry of the evidence as it is written counts, one that leads nowhere is never
                     found, and a question without evidence counts as found; recall_fraction only
    official   LongMemEval's script: user turns only; `_abs` questions and those without a user-side target are skipped;
               a session of which turns are indexed counts as two documents, its turns with an answer and the others
    community  LongMemEval as most published figures: the evidence of all questions, either side, abstention included (500)
    community_answerable  the same without abstention questions (470), which some figures use

`official` presumes a system that indexes user turns only (`user_side` leaves them); its number is lower in coverage
(419 of 500 questions), so a figure always names its variant. Sources: LongMemEval, src/retrieval/run_retrieval.py;
LoCoMo, task_eval/evaluation.py. `memeval.metrics.official` scores rankings against the two official variants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from memeval.core.types import EMPTY, Case, Question, Session


@dataclass(frozen=True, slots=True)
class Targets:
    """The relevant ids of a question at a level; `skipped` says why there are none.

    Of `official`: `turns` are the user's turns with an answer, `same` maps sessions of a repeated id to the first of them.
    Of `locomo_official`: `entries` are the ids of the evidence as it is listed, "" for an entry that leads nowhere.
    """

    variant: str
    level: str
    ids: tuple[str, ...] = ()
    skipped: str = ""
    turns: tuple[str, ...] = ()
    same: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    entries: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is empty and rare is left out."""
        rare = {"turns": list(self.turns), "same": dict(self.same), "entries": list(self.entries)}
        data = {"variant": self.variant, "level": self.level, "ids": list(self.ids), "skipped": self.skipped}
        return {**data, **{key: value for key, value in rare.items() if value}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Targets:
        """Inverse of `to_json`."""
        rare = (tuple(data.get("turns", ())), data.get("same", EMPTY), tuple(data.get("entries", ())))
        return cls(data["variant"], data["level"], tuple(data["ids"]), data["skipped"], *rare)


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
    # the script takes a session for evidence by its name, `answer_...`
    sessions = [session for session in case.sessions if "answer" in session.source_id or not session.source_id]
    found = [turn.id for session in sessions for turn in session.turns if turn.role == "user" and turn.id in wanted]
    same = _repeated(case)
    ids = [document(turn, same) if level == "turn" else same.get(home := session_of(turn), home) for turn in found]
    skipped = "" if ids else "no target on the user's side"
    return Targets("official", level, tuple(dict.fromkeys(ids)), skipped, tuple(found), same)


def session_of(turn: str) -> str:
    """The session of a turn by its id (see `benchmarks.base`)."""
    return turn.rpartition(":")[0]


def document(turn: str, same: Mapping[str, str]) -> str:
    """The turn's id, with the session's first occurrence in place of a later one."""
    session, _, number = turn.rpartition(":")
    return f"{same.get(session, session)}:{number}" if session else turn


def _repeated(case: Case) -> Mapping[str, str]:
    """Sessions whose source id was there before, by the first session of that id."""
    first: dict[str, str] = {}
    out = {}
    for session in case.sessions:
        home = first.setdefault(session.source_id or session.id, session.id)
        if home != session.id:
            out[session.id] = home
    return out


def _locomo_official(question: Question, case: Case, level: str) -> Targets:
    """Entries as the loader read them: (session, turn) of each, "" where it leads nowhere."""
    listed = question.metadata.get("evidence_entries")
    if listed is None:
        return Targets("locomo_official", level, skipped="the benchmark does not list its evidence as LoCoMo does")
    entries = tuple(str(entry[0 if level == "session" else 1]) for entry in listed)
    return Targets("locomo_official", level, tuple(dict.fromkeys(filter(None, entries))), "", entries=entries)


def _answerable(question: Question, case: Case, level: str) -> Targets:
    if question.is_abstention:
        return Targets("community_answerable", level, skipped="abstention question")
    return _resolved("community_answerable", question, case, level)


VARIANTS: Mapping[str, Callable[[Question, Case, str], Targets]] = {
    "evidence": partial(_resolved, "evidence"),
    "locomo": partial(_resolved, "locomo"),
    "locomo_official": _locomo_official,
    "official": _official,
    "community": partial(_resolved, "community"),
    "community_answerable": _answerable,
}
