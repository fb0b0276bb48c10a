"""The labelled pairs, split into a fixed half for choosing thresholds and one for reporting."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memoryd.core.protocols import FloatArray
from memoryd.core.text import digest
from memoryd.language import Assertion, Relation, compare

FOLDER = Path(__file__).with_name("pairs")
PARAPHRASE, CONTRADICTING, DIFFERENT, UNRELATED = "paraphrase", "contradicting", "different", "unrelated"


@dataclass(frozen=True)
class Pair:
    label: str
    a: str
    b: str

    @property
    def is_training(self) -> bool:
        return int(digest("pair", self.a, self.b)[:8], 16) % 2 == 0


@dataclass(frozen=True)
class Score:
    """Precision and recall of one verdict, with the counts."""

    right: int
    found: int
    wanted: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.wanted

    def __str__(self) -> str:
        return (
            f"precision {self.precision:.3f} ({self.right}/{self.found}), recall {self.recall:.3f} ({self.right}/{self.wanted})"
        )


def load() -> list[Pair]:
    files = sorted(FOLDER.glob("*.jsonl"))
    return [Pair(**json.loads(line)) for file in files for line in file.read_text("utf-8").splitlines()]


def texts(pairs: Sequence[Pair]) -> list[str]:
    return sorted({text for pair in pairs for text in (pair.a, pair.b)})


def judge(pair: Pair, vectors: Mapping[str, FloatArray] | None) -> Relation:
    cosine = float(vectors[pair.a] @ vectors[pair.b]) if vectors else None
    return compare(Assertion(pair.a), Assertion(pair.b), cosine).relation


def scores(pairs: Sequence[Pair], vectors: Mapping[str, FloatArray] | None) -> tuple[Score, Score]:
    """Return the scores of (merge, contradiction)."""
    judged = [(pair.label, judge(pair, vectors)) for pair in pairs]

    def score(label: str, verdicts: frozenset[Relation]) -> Score:
        found = [of for of, verdict in judged if verdict in verdicts]
        return Score(found.count(label), len(found), sum(of == label for of, _ in judged))

    return score(PARAPHRASE, frozenset({Relation.SAME})), score(CONTRADICTING, frozenset({Relation.REPLACES}))
