"""The relevant ids of each protocol: the evidence as given in the data set, and the variants of LongMemEval and LoCoMo.

    evidence   every evidence id that exists in the case; questions without one are skipped
    locomo     the same, named after LoCoMo
    locomo_official  LoCoMo's script: every evidence entry counts as written, unresolvable entries are never found, and
                     questions without evidence count as found; recall_fraction only
    official   LongMemEval's script: user turns only; `_abs` questions and those without a user-side target are skipped;
               a session indexed by turn counts as two documents, its turns with an answer and the rest
    community  LongMemEval as in most published figures: evidence of all questions from both sides, with abstention (500)
    community_answerable  the same without abstention questions (470), as in some figures

`official` assumes a system that indexes only user turns (see `user_side`). It covers fewer questions (419 of 500), so
figures are always reported with their variant. Sources: LongMemEval, src/retrieval/run_retrieval.py; LoCoMo,
task_eval/evaluation.py. `memeval.metrics.targets` scores rankings against the two official variants.

Rankings are scored in the same way as in the official scripts of LongMemEval and LoCoMo.

LongMemEval, variant `official`
    At turn granularity, a session is two documents: its turns with an answer, and the rest (renamed `noans_...` by the
    script). At session level, k counts such documents, and only the first kind is evidence.
    ndcg_official counts every indexed turn: DCG = rel_1 + Σ_{i>=2} rel_i / log2(i) over the turns down to the first turn of
    the k-th document, divided by the ideal DCG of all relevant turns in the haystack, truncated at the same depth.
    If a haystack repeats a session id, that session's turns occur twice under one name.

LoCoMo, variant `locomo_official`
    recall = evidence entries among the first k pieces / evidence entries, or 1 for a question without evidence

Sources: LongMemEval, src/retrieval/eval_utils.py and run_retrieval.py; LoCoMo, task_eval/evaluation.py. Tests compare
with a stored table of these scripts' output.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from memeval.core.protocols import RetrievalMetric
from memeval.core.types import EMPTY, Case, Question, Retrieved, Session
from memeval.metrics.ranking import rank_by


@dataclass(frozen=True, slots=True)
class Targets:
    """The relevant ids of a question at a level. If there are none, `skipped` is the reason.

    For `official`, `turns` are the user's turns with an answer, and `same` maps sessions with a repeated id to the first of
    them. For `locomo_official`, `entries` are the evidence ids in the listed order, with "" for unresolvable evidence.
    """

    variant: str
    level: str
    ids: tuple[str, ...] = ()
    skipped: str = ""
    turns: tuple[str, ...] = ()
    same: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    entries: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Convert the targets to plain JSON values. Rarely used fields are omitted if empty."""
        rare = {"turns": list(self.turns), "same": dict(self.same), "entries": list(self.entries)}
        data = {"variant": self.variant, "level": self.level, "ids": list(self.ids), "skipped": self.skipped}
        return {**data, **{key: value for key, value in rare.items() if value}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Targets:
        """Convert the output of `to_json` back to targets."""
        rare = (tuple(data.get("turns", ())), data.get("same", EMPTY), tuple(data.get("entries", ())))
        return cls(data["variant"], data["level"], tuple(data["ids"]), data["skipped"], *rare)


def targets(variant: str, question: Question, case: Case, level: str) -> Targets:
    """Return the targets of a question at the level `session` or `turn`. Raises ValueError for an unknown variant or level."""
    variant = variant or "evidence"
    if variant not in VARIANTS or level not in ("session", "turn"):
        raise ValueError(f"unknown targets {variant!r} at level {level!r}: one of {', '.join(VARIANTS)}; session or turn")
    return VARIANTS[variant](question, case, level)


def user_side(session: Session) -> Session:
    """Return the session with only the user's turns, as indexed by LongMemEval's official script."""
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
    # The script recognises evidence sessions by names such as `answer_...`.
    sessions = [session for session in case.sessions if "answer" in session.source_id or not session.source_id]
    found = [turn.id for session in sessions for turn in session.turns if turn.role == "user" and turn.id in wanted]
    same = _repeated(case)
    ids = [document(turn, same) if level == "turn" else same.get(home := session_of(turn), home) for turn in found]
    skipped = "" if ids else "no target on the user's side"
    return Targets("official", level, tuple(dict.fromkeys(ids)), skipped, tuple(found), same)


def session_of(turn: str) -> str:
    """Return the session id of a turn (see `benchmarks.base`)."""
    return turn.rpartition(":")[0]


def document(turn: str, same: Mapping[str, str]) -> str:
    """Return the id of the turn. If its session is repeated, return the id in the session's first occurrence."""
    session, _, number = turn.rpartition(":")
    return f"{same.get(session, session)}:{number}" if session else turn


def _repeated(case: Case) -> Mapping[str, str]:
    """Map each session with a repeated source id to the first session with that id."""
    first: dict[str, str] = {}
    out = {}
    for session in case.sessions:
        home = first.setdefault(session.source_id or session.id, session.id)
        if home != session.id:
            out[session.id] = home
    return out


def _locomo_official(question: Question, case: Case, level: str) -> Targets:
    """Return the evidence entries at the level, as read by the loader. Unresolvable entries are ""."""
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


Scorer = Callable[[RetrievalMetric, int], float | None]
_REST = "#rest"


def ranking(pieces: Sequence[Retrieved], target: Targets, granularity: str) -> list[tuple[str, ...]]:
    """Return the ranking to compare with `target.ids`. At session level, each document is listed once."""
    if target.variant != "official":
        return rank_by(pieces, target.level)
    if target.level == "turn":
        return [tuple(document(turn, target.same) for turn in piece.turns) for piece in pieces]
    if granularity == "session":
        return [tuple(target.same.get(name, name) for name in entry) for entry in rank_by(pieces, "session")]
    return [(name,) if name else () for name in dict.fromkeys(_documents(pieces, target))]


def scorer(pieces: Sequence[Retrieved], target: Targets, granularity: str) -> Scorer:
    """Return a function that scores a metric at a cut-off. Its result is None if the metric isn't defined."""
    ranked = ranking(pieces, target, granularity)
    if target.variant == "locomo_official":
        return lambda metric, k: _locomo_recall(ranked, target, k) if metric.name == "recall_fraction" else None

    def score(metric: RetrievalMetric, k: int) -> float | None:
        value = metric(ranked, target.ids, k)
        if value is not None and metric.name == "ndcg_official" and target.variant == "official":
            return _ndcg(pieces, target, granularity, k)
        return value

    return score


def _documents(pieces: Sequence[Retrieved], target: Targets) -> list[str]:
    """Return the document of each retrieved turn in order, or "" for a passage with an unknown source."""
    wanted = set(target.turns)
    out = []
    for piece in pieces:
        for turn in piece.turns:
            home = session_of(turn)
            out.append(target.same.get(home, home) + ("" if turn in wanted else _REST))
        if not piece.turns:
            out += [target.same.get(home, home) for home in piece.sessions] or [""]
    return out


def _ndcg(pieces: Sequence[Retrieved], target: Targets, granularity: str, k: int) -> float:
    if target.level == "session" and granularity != "session":
        items = _documents(pieces, target)
        depth = _depth(items, k)
        indexed = len(target.turns)
    else:
        items = [name for entry in ranking(pieces, target, granularity) for name in entry or ("",)]
        depth = k
        indexed = len(target.turns) if target.level == "turn" else len({session_of(turn) for turn in target.turns})
    relevant = set(target.ids)
    # Session-level evidence has no turns to count.
    ideal = _dcg([True] * min(depth, indexed or len(relevant)))
    return _dcg([item in relevant for item in items[:depth]]) / ideal if ideal else 0.0


def _depth(items: Sequence[str], k: int) -> int:
    """Return the rank at which the k-th document appears.

    The rank is at least k. If there are fewer documents, it is the last rank.
    """
    seen: set[str] = set()
    for place, item in enumerate(items, start=1):
        seen.add(item)
        if place >= k and len(seen) >= k:
            return place
    return max(k, len(items))


def _dcg(relevances: Sequence[bool]) -> float:
    return math.fsum(1 / math.log2(max(place, 2)) for place, hit in enumerate(relevances, start=1) if hit)


def _locomo_recall(ranked: Sequence[Sequence[str]], target: Targets, k: int) -> float | None:
    """Compute LoCoMo's recall. Return None if no passage has a known source."""
    if not target.entries:
        return 1.0
    if ranked and not any(ranked):
        return None
    found = {name for entry in ranked[:k] for name in entry}
    return sum(entry in found for entry in target.entries) / len(target.entries)
