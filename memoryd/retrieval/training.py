"""Train the query router on labelled queries, and compare it with the rules on held-out queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from memoryd.core.errors import InputError
from memoryd.core.protocols import FloatArray
from memoryd.core.types import Backend, Query
from memoryd.retrieval.routing import RouterModel, features, route

LABELS_FILE = Path(__file__).with_name("labels.json")
LABELS_FORMAT = 1
FOLDS = 10
SEED = 7
PENALTY = 0.003
STEPS = 300
SURE = 0.05
# Weight of a session prompt relative to a labelled query. The best backend for a prompt was inferred rather than judged.
FEEDBACK_WEIGHT = 0.5
# Maximum total weight of all prompts relative to the labelled queries.
FEEDBACK_SHARE = 0.25
Z95 = 1.959964
_BYTES = 10 * 2**20
_FIX = 'Write {"format": 1, "markdown": [queries], "graph": [queries], "hybrid": [queries]}, at least 10 queries per name.'


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A query and the backend that should answer it."""

    text: str
    backend: Backend


def read_labels(path: Path = LABELS_FILE) -> list[LabelledQuery]:
    """Load the labelled queries without duplicates.

    Raises:
        InputError: The file is unreadable or has too few queries.
    """
    try:
        if path.stat().st_size > _BYTES:
            raise ValueError("it is too large")
        raw = orjson.loads(path.read_bytes())
        if raw["format"] != LABELS_FORMAT:
            raise ValueError(f"format {raw['format']} instead of {LABELS_FORMAT}")
        rows = [(str(text).strip(), Backend(name)) for name in raw if name not in ("format", "about") for text in raw[name]]
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is not a file of labelled queries: {error}", fix=_FIX) from error
    found = dict(reversed([row for row in rows if row[0]]))
    out = [LabelledQuery(text, found[text]) for text in sorted(found)]
    counts = [sum(row.backend is backend for row in out) for backend in {row.backend for row in out}]
    if len(counts) < 2 or min(counts) < FOLDS:
        raise InputError(f"{path} has too few labelled queries.", fix=_FIX)
    return out


def fit(
    rows: FloatArray,
    labels: NDArray[np.intp],
    classes: int,
    counts: NDArray[np.float64] | None = None,
    penalty: float = PENALTY,
    steps: int = STEPS,
) -> FloatArray:
    """Fit a multinomial logistic regression. Return weights of shape (classes, columns).

    Minimises mean cross-entropy + penalty/2 · |W|² (Bishop, Pattern Recognition and Machine Learning, 2006, eq. 4.108-4.109)
    by accelerated gradient descent (Nesterov 1983) from zero with the step 1/L, L = ½·λmax(XᵀDX) + penalty (Böhning 1992).

    Args:
        rows: Features. The last column is the bias, which is not penalised.
        labels: Class of each row.
        classes: Number of classes.
        counts: Weight of each row (default: equal); normalised, the diagonal of D.
        penalty: L2 penalty.
        steps: Number of gradient steps.
    """
    x = rows.astype(np.float64)
    wanted = np.eye(classes)[labels]
    share = np.ones(len(x)) if counts is None else np.asarray(counts, dtype=np.float64)
    share = share[:, None] / share.sum()
    step = 1.0 / (0.5 * float(np.linalg.norm(np.sqrt(share) * x, 2)) ** 2 + penalty)
    shrunk = np.ones(x.shape[1])
    shrunk[-1] = 0.0
    weights = ahead = np.zeros((classes, x.shape[1]))
    for n in range(1, steps + 1):
        logits = x @ ahead.T
        logits -= logits.max(axis=1, keepdims=True)
        chances = np.exp(logits)
        chances /= chances.sum(axis=1, keepdims=True)
        gradient = (share * (chances - wanted)).T @ x + penalty * shrunk * ahead
        new = ahead - step * gradient
        ahead = new + (n - 1) / (n + 2) * (new - weights)
        weights = new
    return np.asarray(weights, dtype=np.float32)


def folds_of(labels: NDArray[np.intp], folds: int = FOLDS, seed: int = SEED) -> NDArray[np.intp]:
    """Assign each row to a fold, in a seeded order that spreads every class evenly."""
    out = np.zeros(len(labels), dtype=np.intp)
    random = np.random.default_rng(seed)
    for label in np.unique(labels):
        places = random.permutation(np.flatnonzero(labels == label))
        out[places] = np.arange(len(places)) % folds
    return out


def train(
    labelled: Sequence[LabelledQuery],
    embed: Callable[[Sequence[str]], FloatArray],
    embedder: str,
    feedback: Sequence[LabelledQuery] = (),
) -> RouterModel:
    """Train the router on all queries. `used` is set if cross-validation beats the rules (McNemar, p < 0.05).

    Feedback rows are used for training in every fold, with reduced weight, but never for testing.
    """
    backends = tuple(sorted({row.backend for row in labelled}))
    own = {row.text for row in labelled}
    more = [row for row in feedback if row.backend in backends and row.text not in own]
    rows, labels = _rows([*labelled, *more], embed, backends)
    n = len(labelled)
    weight = min(FEEDBACK_WEIGHT, FEEDBACK_SHARE * n / len(more)) if more else 0.0
    counts = np.concatenate([np.ones(n), np.full(len(more), weight)])
    by_rules = np.asarray([route(Query(row.text)).backend is row.backend for row in labelled])
    scores = compare(_held_out(rows, labels, counts, n, len(backends)) == labels[:n], by_rules)
    if more:
        alone = _held_out(rows[:n], labels[:n], counts[:n], n, len(backends)) == labels[:n]
        scores["feedback"] = {"rows": len(more), "weight": round(weight, 4), "without": _accuracy(alone)}
    used = scores["learned"]["accuracy"] > scores["rules"]["accuracy"] and scores["p"] < SURE
    return RouterModel(embedder, backends, fit(rows, labels, len(backends), counts), used, scores)


def _rows(
    labelled: Sequence[LabelledQuery], embed: Callable[[Sequence[str]], FloatArray], backends: Sequence[Backend]
) -> tuple[FloatArray, NDArray[np.intp]]:
    labels = np.asarray([backends.index(row.backend) for row in labelled], dtype=np.intp)
    vectors = embed([row.text for row in labelled])
    return np.stack([features(row.text, vector) for row, vector in zip(labelled, vectors, strict=True)]), labels


def _held_out(rows: FloatArray, labels: NDArray[np.intp], counts: NDArray[np.float64], n: int, classes: int) -> NDArray[np.intp]:
    """Return cross-validated predictions for the first `n` rows. The later rows are used for training in every fold."""
    fold = np.concatenate([folds_of(labels[:n]), np.full(len(labels) - n, FOLDS, dtype=np.intp)])
    guessed = np.empty(n, dtype=np.intp)
    for number in range(FOLDS):
        held = fold == number
        weights = fit(rows[~held], labels[~held], classes, counts[~held])
        guessed[held[:n]] = np.argmax(rows[held] @ weights.T, axis=1)
    return guessed


def compare(learned: NDArray[np.bool_], rules: NDArray[np.bool_]) -> dict[str, Any]:
    """Compare accuracies on the same queries: 95 % intervals, how often only one of the two was right, and McNemar's exact p."""
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
    """Return the 95 % confidence interval of a proportion (Wilson 1927)."""
    share, z2 = right / n, Z95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def mcnemar(first: int, second: int) -> float:
    """Return the two-sided exact p-value of the discordant pairs (McNemar 1947, binomial form)."""
    n = first + second
    tail = sum(math.comb(n, k) for k in range(min(first, second) + 1))
    return min(1.0, tail / float(2 ** (n - 1))) if n else 1.0
