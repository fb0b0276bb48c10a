"""Score PrecisionMemBench: retrieve the expected beliefs and nothing else.

The harness adds context to each search. The pinned beliefs and open questions of the scope come from the seed rather than
the system, and each retrieved relation adds its participants. The result is then truncated to a budget. The scores are:

    precision = expected and found / found, 0 if nothing was found but something is expected, None if nothing is expected
    recall = expected and found / expected, None when nothing is expected
    a case passes if all of its demands are met; an extra belief fails it, as does a missing one
    pass types: active (precision above 0), else structural by the case's category, else trivially empty

In the session part, the precision of a turn is the number of expected beliefs that were found or are pinned, divided
by the number of beliefs found. Drift is 1 - precision, or 0 if nothing was found. Source:
src/retrieval.external.eval.test.ts, src/session-retrieval.external.eval.test.ts and src/utils/buildRetrievalReport.ts
of tenurehq/precisionMemBench, commit 18c7955 (2026). Tests compare with that code's output, and `python -m
benchmarks.precisionmembench` recomputes the reports published with it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from memeval.core.types import EMPTY, Question, Retrieved

STRUCTURAL = frozenset(
    (
        "Scope disambiguation",
        "Supersession chain exclusion",
        "Type routing and open questions",
        "Budget eviction and capacity",
        "Cross-user isolation",
        "Ranking stability",
        "Persona prelude content",
    )
)
"""Categories in which a pass without precision counts as structural."""
PASS_TYPES = ("active", "structural", "trivial")
METRIC = "precisionmembench_pass"


@dataclass(frozen=True, slots=True)
class Frame:
    """The ids of the beliefs that the harness itself adds to a search. They match the query's user and scope.

    `names` maps each retrievable turn to its belief. `relations` maps each relation to its participants.
    """

    names: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    pinned: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    relations: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: EMPTY)
    max_beliefs: int = 20
    max_questions: int = 15


@dataclass(frozen=True, slots=True)
class Surfaced:
    """The ids returned to the caller: the pinned beliefs, the relevant beliefs and the open questions."""

    pinned: tuple[str, ...]
    relevant: tuple[str, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Demands:
    """The demands of a case. None means that the case has no such demand."""

    must_include: tuple[str, ...] = ()
    must_exclude: tuple[str, ...] = ()
    should_include: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    ordered: tuple[tuple[str, str], ...] = ()
    max_count: int | None = None
    min_count: int | None = None
    pinned_include: tuple[str, ...] = ()
    pinned_exclude: tuple[str, ...] = ()
    questions_include: tuple[str, ...] = ()
    questions_exclude: tuple[str, ...] = ()
    noise: tuple[str, ...] = ()
    seed_pinned: tuple[str, ...] = ()
    """The user's beliefs pinned in any scope. They don't count as gold of `must_include`."""

    @property
    def gold(self) -> tuple[str, ...]:
        """Return the beliefs expected from a search."""
        if self.only is not None:
            return tuple(dict.fromkeys(self.only))
        return tuple(dict.fromkeys(name for name in self.must_include if name not in self.seed_pinned))


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a report."""

    category: str
    passed: bool
    precision: float | None
    recall: float | None
    failures: tuple[str, ...] = ()
    pinned_coverage: float | None = None
    drift: float = 0.0
    latency_ms: float = 0.0

    @property
    def pass_type(self) -> str:
        """Return one of `PASS_TYPES`, or "" if the case didn't pass."""
        if not self.passed:
            return ""
        if self.precision:
            return "active"
        return "structural" if self.category in STRUCTURAL else "trivial"


def surfaced(found: Sequence[str], frame: Frame) -> Surfaced:
    """Return the harness's output for the beliefs retrieved by the system, ordered best first."""
    hidden = set(frame.pinned)
    known = set(frame.names.values())
    raw = [name for name in dict.fromkeys(found[: frame.max_beliefs]) if name in known and name not in hidden]
    hidden.update(raw)
    joined = [name for relation in raw for name in frame.relations.get(relation, ()) if name not in hidden]
    pinned = frame.pinned[: frame.max_beliefs]
    room = max(0, frame.max_beliefs - len(pinned))
    return Surfaced(pinned, tuple(dict.fromkeys([*raw, *joined][:room])), frame.questions[: frame.max_questions])


def judge_case(seen: Surfaced, demands: Demands, category: str) -> Entry:
    """Judge a single-turn case."""
    entry = _judge(seen, demands, category, demands.gold, seen.relevant)
    facts = tuple(dict.fromkeys(demands.pinned_include))
    return replace(
        entry,
        precision=0.0 if demands.gold and not seen.relevant else entry.precision,
        pinned_coverage=sum(name in seen.pinned for name in facts) / len(facts) if facts else None,
    )


def judge_turn(seen: Surfaced, demands: Demands, category: str) -> Entry:
    """Judge a turn of a session. Pinned beliefs count as both found and expected."""
    entry = _judge(seen, demands, category, replace(demands, seed_pinned=()).gold, {*seen.relevant, *seen.pinned})
    return replace(entry, drift=0.0 if entry.precision is None else 1 - entry.precision)


def _judge(seen: Surfaced, demands: Demands, category: str, gold: Sequence[str], found: Collection[str]) -> Entry:
    hits = sum(name in found for name in gold)
    failures = tuple(_failures(seen, demands))
    return Entry(
        category=category,
        passed=not failures,
        precision=hits / len(seen.relevant) if seen.relevant else None,
        recall=hits / len(gold) if gold else None,
        failures=failures,
    )


def _failures(seen: Surfaced, demands: Demands) -> Iterator[str]:
    both = {*seen.pinned, *seen.relevant}
    yield from (f"missing: {name}" for name in (*demands.must_include, *demands.should_include) if name not in both)
    yield from (f"forbidden: {name}" for name in demands.must_exclude if name in both)
    if demands.only is not None:
        yield from (f"not requested: {name}" for name in seen.relevant if name not in demands.only)
        yield from (f"missing: {name}" for name in dict.fromkeys(demands.only) if name not in seen.relevant)
    count = len(seen.relevant)
    if demands.max_count is not None and count > demands.max_count:
        yield f"{count} beliefs, at most {demands.max_count}"
    if demands.min_count is not None and count < demands.min_count:
        yield f"{count} beliefs, at least {demands.min_count}"
    for first, second in demands.ordered:
        yield from _disorder(seen.relevant, first, second)
    yield from (f"missing pinned: {name}" for name in demands.pinned_include if name not in seen.pinned)
    yield from (f"forbidden pinned: {name}" for name in demands.pinned_exclude if name in seen.pinned)
    yield from (f"missing question: {name}" for name in demands.questions_include if name not in seen.questions)
    yield from (f"forbidden question: {name}" for name in demands.questions_exclude if name in seen.questions)
    yield from (f"noise: {name}" for name in demands.noise if name in both)


def _disorder(found: Sequence[str], first: str, second: str) -> Iterator[str]:
    lost = [name for name in (first, second) if name not in found]
    yield from (f"missing in order: {name}" for name in lost)
    if not lost and found.index(first) >= found.index(second):
        yield f"{first} comes after {second}"


def precision_scores(question: Question, pieces: Sequence[Retrieved]) -> Iterator[dict[str, Any]]:
    """Score a question by the frame and the demands in its metadata. Yields nothing for questions of other benchmarks."""
    expected = question.metadata.get("precisionmembench")
    if not expected:
        return
    if pieces and not any(piece.turns for piece in pieces):
        yield _score(METRIC, None, "the provider does not report sources")
        return
    frame = frame_from_json(expected["frame"])
    found = [frame.names[turn] for piece in pieces for turn in piece.turns if turn in frame.names]
    judge = judge_turn if expected["session"] else judge_case
    entry = judge(surfaced(found, frame), demands_from_json(expected["demands"]), question.category)
    yield _score(METRIC, float(entry.passed), "; ".join(entry.failures)[:500])
    for kind in PASS_TYPES:
        yield _score(f"precisionmembench_{kind}", float(entry.pass_type == kind))
    yield _score("precisionmembench_precision", entry.precision, "nothing is expected, and nothing was found")
    yield _score("precisionmembench_recall", entry.recall, "nothing is expected")
    if expected["session"]:
        yield _score("precisionmembench_drift", entry.drift)


def _score(name: str, value: float | None, reason: str = "") -> dict[str, Any]:
    kept = reason if value is None or name == METRIC else ""
    return {"metric": name, "value": value, "status": "scored" if value is not None else "skipped", "reason": kept}


def to_json(value: Frame | Demands) -> dict[str, Any]:
    """Convert the value to plain JSON values, omitting empty ones."""
    given = asdict(value)
    return {key: item for key, item in given.items() if item is not None and (item or key == "only" or isinstance(item, int))}


def frame_from_json(data: Mapping[str, Any]) -> Frame:
    """Convert the output of `to_json` back to a frame."""
    return Frame(
        names=dict(data.get("names", {})),
        pinned=tuple(data.get("pinned", ())),
        questions=tuple(data.get("questions", ())),
        relations={name: tuple(members) for name, members in data.get("relations", {}).items()},
        max_beliefs=int(data["max_beliefs"]),
        max_questions=int(data["max_questions"]),
    )


def demands_from_json(data: Mapping[str, Any]) -> Demands:
    """Convert the output of `to_json` back to demands."""
    given: dict[str, Any] = {key: tuple(item) if isinstance(item, list | tuple) else item for key, item in data.items()}
    if "ordered" in given:
        given["ordered"] = tuple((first, second) for first, second in given["ordered"])
    return Demands(**given)


# The summary of a report


def summary(entries: Sequence[Entry]) -> dict[str, Any]:
    """Summarise a report, using the harness's names and rounding."""
    latencies = [entry.latency_ms for entry in entries]
    counts = {kind: sum(entry.pass_type == kind for entry in entries) for kind in PASS_TYPES}
    passed = sum(entry.passed for entry in entries)
    return {
        "meanLatencyMs": _rounded(_total(latencies) / len(latencies), 100) if latencies else 0,
        "p50LatencyMs": _at(latencies, 0.5),
        "p95LatencyMs": _at(latencies, 0.95),
        "meanPrecision": _mean([entry.precision for entry in entries]),
        "meanRecall": _mean([entry.recall for entry in entries]),
        "totalPassed": passed,
        "totalCases": len(entries),
        "passRate": _rounded(passed / len(entries), 10_000) if entries else None,
        "activeRetrievalPasses": counts["active"],
        "passTypes": {
            "activeRetrieval": counts["active"],
            "structural": counts["structural"],
            "triviallyEmpty": counts["trivial"],
        },
        "categories": _categories(entries),
    }


def _categories(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    grouped: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        grouped[entry.category].append(entry)
    return [
        {
            "category": name,
            "caseCount": len(rows),
            "passed": (passed := sum(row.passed for row in rows)),
            "failed": len(rows) - passed,
            "meanPrecision": _mean([row.precision for row in rows]),
            "meanRecall": _mean([row.recall for row in rows]),
        }
        for name, rows in sorted(grouped.items(), key=lambda pair: -len(pair[1]))
    ]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _rounded(_total(known) / len(known), 10_000) if known else None


def _total(values: Sequence[float]) -> float:
    """Add the values from left to right, as JavaScript does.

    In newer Python versions, `sum` compensates for rounding errors, which can change the last digit.
    """
    total = 0.0
    for value in values:
        total += value
    return total


def _rounded(value: float, unit: int) -> float:
    return math.floor(value * unit + 0.5) / unit


def _at(values: Sequence[float], share: float) -> float:
    place = math.ceil(share * len(values)) - 1
    return sorted(values)[place] if values else 0


def recomputed(row: Mapping[str, Any], demands: Demands, *, session: bool) -> Entry:
    """Recompute the scores of a published row from the ids it lists."""
    keys = (
        ("pinnedBeliefIds", "retrievedBeliefIds", "") if session else ("pinnedBeliefs", "relevantBeliefs", "retrievedQuestions")
    )
    pinned, relevant, questions = (tuple(row.get(key, ())) for key in keys)
    if session:  # Session rows don't list the ids of their questions, so their verdict is copied.
        demands = replace(demands, questions_include=(), questions_exclude=())
    judge = judge_turn if session else judge_case
    entry = judge(Surfaced(pinned, relevant, questions), demands, str(row["category"]))
    return replace(entry, latency_ms=float(row["retrievalLatencyMs"]))
