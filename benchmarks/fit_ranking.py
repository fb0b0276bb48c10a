"""Fit the weights of turns in memoryd/retrieval/late.json by coordinate search.

    python benchmarks/fit_ranking.py DATA [--benchmark locomo] [--homes DIR] [--seed 0] [--write]

DATA is a file or folder for memeval's loader of the benchmark. Each case becomes a store, which is kept under --homes
so that a second run doesn't need to encode it again. Each question with evidence results in one table of features.
The objective is the mean of evidence recall at 5 and at 10 over the training half of the cases. The figures of both
halves are printed, before and after the fit. The product's own figures with the current weights are printed first,
overall and by category.
"""

from __future__ import annotations

import argparse
import json
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memeval.benchmarks.opening import open_benchmark
from memeval.core.types import Case, QuestionType
from memeval.providers.memoryd import PROJECT, MemorydProvider
from memeval.registry import Catalog
from memoryd.core.types import Query
from memoryd.retrieval import ranking
from memoryd.retrieval.late_interaction import (
    FEATURES,
    FORMAT,
    WEIGHTS_FILE,
    Z_FEATURES,
    LateWeights,
    late_scores,
    load_late_weights,
)
from memoryd.retrieval.scoring import z_scores

Array = NDArray[np.float64]
STEPS = (-1.0, -0.5, -0.25, 0.25, 0.5, 1.0)
ROUNDS = 3
CUTS = (1, 5, 10, 20)
SESSIONS = 5
REACH = 50
RESAMPLES = 2_000


@dataclass(frozen=True)
class Asked:
    """A question with the standardised features of its candidates, the evidence among them, and the product's own hits.

    `evidence` is the total number of evidence turns. The product's hits are in its order, with recency and the share
    of evidence sessions among the first ones. There are no features if the answer did not come from late interaction.
    """

    case: str
    category: str
    features: Array | None
    right: Array
    evidence: int
    hits: tuple[bool, ...]
    sessions: float


def matrix(rows: Mapping[str, Mapping[str, float]], ids: Sequence[str]) -> Array:
    """Return the features in the form used by late_scores, shape (candidates, FEATURES)."""
    columns = []
    for name in FEATURES:
        values = z_scores(rows, ids, name) if name in Z_FEATURES else [rows[id].get(name, 0.0) for id in ids]
        columns.append(values or [0.0] * len(ids))
    return np.array(columns, dtype=float).T


def ask(case: Case, provider: MemorydProvider) -> list[Asked]:
    """Return the tables of a case's questions."""
    provider.ingest(case.id, case.sessions)
    provider.await_indexed(case.id, 3600)
    seen: dict[str, Any] = {}

    def recording(rows: Any, turns: frozenset[str], weights: LateWeights) -> Any:
        seen["rows"] = rows
        return late_scores(rows, turns, weights)

    out = []
    now = max(turn_at for session in case.sessions if (turn_at := session.at))
    setattr(ranking, "late_scores", recording)  # noqa: B010 - the only place with the features of all candidates
    try:
        with provider._service(case.id) as service:
            turns = {item.id: item.evidence.lines for item in service.all()}
            for question in case.questions:
                if question.type is QuestionType.ABSTENTION or not question.evidence_turns:
                    continue
                found = service.search(Query(text=question.text, project=PROJECT, now=now), REACH)
                hits = tuple(bool(set(hit.item.evidence.lines) & set(question.evidence_turns)) for hit in found[: CUTS[-1]])
                first = list(dict.fromkeys(hit.item.session for hit in found))[:SESSIONS]
                sessions = len(set(first) & set(question.evidence_sessions)) / max(1, len(question.evidence_sessions))
                rows = seen.pop("rows", None) or {}
                ids = sorted(rows)
                right = np.array([bool(set(turns[id]) & set(question.evidence_turns)) for id in ids], dtype=float)
                features = matrix(rows, ids) if rows else None
                out.append(Asked(case.id, question.category, features, right, len(question.evidence_turns), hits, sessions))
    finally:
        setattr(ranking, "late_scores", late_scores)  # noqa: B010
    return out


def recalls(asked: Sequence[Asked], weights: Array) -> Array:
    """Return the mean evidence recall at each of CUTS."""
    total = np.zeros(len(CUTS))
    for one in asked:
        assert one.features is not None
        found = one.right[np.argsort(-(one.features @ weights), kind="stable")]
        total += [found[:cut].sum() / one.evidence for cut in CUTS]
    return total / max(1, len(asked))


def goal(asked: Sequence[Asked], weights: Array) -> float:
    """Return the objective: the mean of recall at 5 and at 10."""
    return float(recalls(asked, weights)[1:3].mean())


def search(asked: Sequence[Asked], start: Array, seed: int) -> Array:
    """Run a coordinate search that tries other values for each weight in turn and keeps improvements.

    `own` stays 1 as the unit.
    """
    random = np.random.default_rng(seed)
    best, value = start.copy(), goal(asked, start)
    for _ in range(ROUNDS):
        for column in random.permutation(np.arange(1, len(FEATURES))):
            for step in STEPS:
                tried = best.copy()
                tried[column] += step * max(0.25, abs(start[column]))
                # A gain of less than one question is noise.
                if (found := goal(asked, tried)) > value + 0.5 / len(asked):
                    best, value = tried, found
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--benchmark", default="locomo")
    parser.add_argument("--homes", type=Path, help="store the stores and features in this folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="replace the weights of turns")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        asked = tables(options.data, options.benchmark, options.homes or Path(scratch))
    print_answers(asked, options.seed)
    asked = [one for one in asked if one.features is not None]
    weights = load_late_weights()
    start = np.array([weights.turn.get(name, 0.0) for name in FEATURES])
    cases = sorted({one.case for one in asked})
    halves = [[one for one in asked if (cases.index(one.case) % 2 == 0) is first] for first in (True, False)]
    for training, test, name in ((halves[0], halves[1], "odd"), (halves[1], halves[0], "even"), (asked, asked, "all")):
        found = search(training, start, options.seed)
        print(f"fitted on the {name} cases:", json.dumps(dict(zip(FEATURES, found.round(3).tolist(), strict=True))))
        for label, values in (("start", start), ("fitted", found)):
            print(f"  {label:7} training {recalls(training, values).round(3)}  test {recalls(test, values).round(3)}  at {CUTS}")
    if options.write:
        turn = {name: round(value, 3) for name, value in zip(FEATURES, found.tolist(), strict=True) if value}
        kept = {"format": FORMAT, "version": str(int(weights.version) + 1), "turn": turn, "statement": dict(weights.statement)}
        WEIGHTS_FILE.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")


def print_answers(asked: Sequence[Asked], seed: int) -> None:
    """Print the product's own results by category and overall (with the middle 95 % of resampled questions)."""
    print(f"the product's hits with the weights of the file: turn at {CUTS}, any of ten, session at {SESSIONS}")
    values = np.array(
        [[*(sum(one.hits[:cut]) / one.evidence for cut in CUTS), any(one.hits[:10]), one.sessions] for one in asked], dtype=float
    )
    random = np.random.default_rng(seed)
    means = [values[random.integers(0, len(values), len(values))].mean(axis=0) for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5], axis=0).round(3)
    print(f"{len(asked)} questions {values.mean(axis=0).round(3)} from {low} to {high}")
    for category in sorted({one.category for one in asked}):
        of = np.array([one.category == category for one in asked])
        print(f"category {category}, {of.sum()} questions {values[of].mean(axis=0).round(3)}")


def tables(data: Path, benchmark: str, homes: Path) -> list[Asked]:
    """Return the tables of all questions of the benchmark. Existing tables under `homes` are read."""
    kept = homes / "asked.pickle"
    if kept.exists():
        return list(pickle.loads(kept.read_bytes()))
    catalog = Catalog.default()
    provider = MemorydProvider(catalog.provider("memoryd"), {"settings": {"rank": "maxsim"}})
    homes.mkdir(parents=True, exist_ok=True)
    provider.open(homes)
    asked = [one for case in open_benchmark(catalog.benchmark(benchmark), data).cases() for one in ask(case, provider)]
    provider.close()
    kept.write_bytes(pickle.dumps(asked))
    return asked


if __name__ == "__main__":
    main()
