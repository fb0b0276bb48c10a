"""Learning to route from labelled queries, and whether that is better than the rules on queries that were held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from memoryd.errors import InputError
from memoryd.protocols import FloatArray
from memoryd.router.learned import RouterModel, features
from memoryd.router.rules import route
from memoryd.types import Backend, Query

LABELS_FILE = Path(__file__).with_name("labels.json")
LABELS_FORMAT = 1
FOLDS = 10
SEED = 7
PENALTY = 0.003
STEPS = 300
SURE = 0.05
Z95 = 1.959964
_BYTES = 10 * 2**20
_FIX = 'Write {"format": 1, "markdown": [queries], "graph": [queries], "hybrid": [queries]}, at least 10 queries for each name.'


@dataclass(frozen=True, slots=True)
class Labelled:
    """A query with the backend that should answer it."""

    text: str
    backend: Backend


def read_labels(path: Path = LABELS_FILE) -> list[Labelled]:
    """Labelled queries, each text once. Raises InputError."""
    try:
        if path.stat().st_size > _BYTES:
            raise ValueError("it is too large")
        raw = orjson.loads(path.read_bytes())
        if raw["format"] != LABELS_FORMAT:
            raise ValueError(f"format {raw['format']} instead of {LABELS_FORMAT}")
        rows = [(str(text).strip(), Backend(name)) for name in raw if name not in ("format", "about") for text in raw[name]]
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} holds no labelled queries: {error}", fix=_FIX) from error
    found = dict(reversed([row for row in rows if row[0]]))
    out = [Labelled(text, found[text]) for text in sorted(found)]
    counts = [sum(row.backend is backend for row in out) for backend in {row.backend for row in out}]
    if len(counts) < 2 or min(counts) < FOLDS:
        raise InputError(f"{path} has too few labelled queries.", fix=_FIX)
    return out


def fit(rows: FloatArray, labels: NDArray[np.intp], classes: int, penalty: float = PENALTY, steps: int = STEPS) -> FloatArray:
    """Weights (classes, columns) of multinomial logistic regression; the last column of `rows` is the bias and is not penalised.

    Minimises mean cross-entropy + penalty/2 · |W|² (Bishop, Pattern Recognition and Machine Learning, 2006, eq. 4.108-4.109)
    by accelerated gradient descent (Nesterov 1983) from zero with the step 1/L, L = ½·λmax(XᵀX)/n + penalty (Böhning 1992).
    """
    x = rows.astype(np.float64)
    wanted = np.eye(classes)[labels]
    step = 1.0 / (0.5 * float(np.linalg.norm(x, 2)) ** 2 / len(x) + penalty)
    shrunk = np.ones(x.shape[1])
    shrunk[-1] = 0.0
    weights = ahead = np.zeros((classes, x.shape[1]))
    for n in range(1, steps + 1):
        logits = x @ ahead.T
        logits -= logits.max(axis=1, keepdims=True)
        chances = np.exp(logits)
        chances /= chances.sum(axis=1, keepdims=True)
        gradient = (chances - wanted).T @ x / len(x) + penalty * shrunk * ahead
        new = ahead - step * gradient
        ahead = new + (n - 1) / (n + 2) * (new - weights)
        weights = new
    return np.asarray(weights, dtype=np.float32)


def folds_of(labels: NDArray[np.intp], folds: int = FOLDS, seed: int = SEED) -> NDArray[np.intp]:
    """The fold of each row; every class is spread evenly, in a seeded order."""
    out = np.zeros(len(labels), dtype=np.intp)
    random = np.random.default_rng(seed)
    for label in np.unique(labels):
        places = random.permutation(np.flatnonzero(labels == label))
        out[places] = np.arange(len(places)) % folds
    return out


def train(labelled: Sequence[Labelled], embed: Callable[[Sequence[str]], FloatArray], embedder: str) -> RouterModel:
    """The model of all queries; `used` when models of the other folds beat the rules on held-out ones (McNemar, p < 0.05)."""
    backends = tuple(sorted({row.backend for row in labelled}))
    labels = np.asarray([backends.index(row.backend) for row in labelled], dtype=np.intp)
    vectors = embed([row.text for row in labelled])
    rows = np.stack([features(row.text, vector) for row, vector in zip(labelled, vectors, strict=True)])
    fold = folds_of(labels)
    guessed = np.empty_like(labels)
    for number in range(FOLDS):
        held = fold == number
        weights = fit(rows[~held], labels[~held], len(backends))
        guessed[held] = np.argmax(rows[held] @ weights.T, axis=1)
    by_rules = np.asarray([route(Query(row.text)).backend is row.backend for row in labelled])
    scores = compare(guessed == labels, by_rules)
    used = scores["learned"]["accuracy"] > scores["rules"]["accuracy"] and scores["p"] < SURE
    return RouterModel(embedder, backends, fit(rows, labels, len(backends)), used, scores)


def compare(learned: NDArray[np.bool_], rules: NDArray[np.bool_]) -> dict[str, Any]:
    """Accuracy of both on the same queries with 95 % intervals, and how often only one was right, with McNemar's exact p."""
    only_learned, only_rules = int((learned & ~rules).sum()), int((rules & ~learned).sum())
    return {
        "n": len(learned),
        "folds": FOLDS,
        "learned": _accuracy(learned),
        "rules": _accuracy(rules),
        "only_learned": only_learned,
        "only_rules": only_rules,
        "p": mcnemar(only_learned, only_rules),
    }


def _accuracy(right: NDArray[np.bool_]) -> Mapping[str, float]:
    low, high = wilson(int(right.sum()), len(right))
    return {"accuracy": round(float(right.mean()), 4), "low": round(low, 4), "high": round(high, 4)}


def wilson(right: int, n: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    share, z2 = right / n, Z95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def mcnemar(first: int, second: int) -> float:
    """Two-sided exact p of the discordant pairs (McNemar 1947, binomial form)."""
    n = first + second
    tail = sum(math.comb(n, k) for k in range(min(first, second) + 1))
    return min(1.0, tail / float(2 ** (n - 1))) if n else 1.0
