"""A router that was learned: multinomial logistic regression over the query's embedding and over what the rules look at.

Made by `memoryd router train` (see `training`), kept as JSON under the home. It decides only where the text decides:
what the caller asked for by name or flag, an id and an empty text stay with the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from memoryd.entities import find_entities
from memoryd.protocols import FloatArray
from memoryd.router.rules import RULES, route
from memoryd.types import Backend, Query, Route

FORMAT = 1
CERTAIN = frozenset({"given", "empty", "relationship_flag", "semantic_flag", "memory_id"})
_CUES = tuple(rule for rule in RULES if rule.name not in CERTAIN and rule.name != "default")
FEATURES = (*(rule.name for rule in _CUES), "words", "entities", "question_mark", "signs")
# A component of a unit vector of 384 numbers is about 0.05: unscaled, the penalty would leave nothing of it.
EMBEDDING_SCALE = 4.0
MOST_WORDS = 64
_REASON = "queries like it are best answered that way (learned, {:.0%} sure)"

Embed = Callable[[str], FloatArray]


@dataclass(frozen=True, slots=True)
class RouterModel:
    """Weights of shape (backends, dimensions + FEATURES + 1), the last column the bias; `used`: it beat the rules.

    `scores` says how both did on held-out queries.
    """

    embedder: str
    backends: tuple[Backend, ...]
    weights: FloatArray
    used: bool
    scores: Mapping[str, Any]

    def choose(self, row: FloatArray) -> tuple[Backend, float]:
        """The most probable backend for the features of a query, with its probability (softmax)."""
        logits = self.weights @ row
        place = int(np.argmax(logits))
        return self.backends[place], float(1.0 / np.exp(logits - logits[place]).sum())


@dataclass(frozen=True, slots=True)
class RouterChoice:
    """What routes queries, and why; `model` None: the rules. `problem`: the file can't be used."""

    model: RouterModel | None
    reason: str
    problem: bool = False

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"used": "learned" if self.model else "rules", "reason": self.reason, "problem": self.problem}


class LearnedRouter:
    """Takes the place of `rules.route`: called with a query, gives a route. `embed` gives the unit vector of a query."""

    def __init__(self, model: RouterModel, embed: Embed) -> None:
        self._model = model
        self._embed = embed

    def __call__(self, query: Query) -> Route:
        """The backend for a query. Raises what `embed` raises."""
        by_rules = route(query)
        if by_rules.rule in CERTAIN:
            return by_rules
        row = features(query.text, self._embed(query.text))
        if len(row) != self._model.weights.shape[1]:
            return by_rules
        backend, sure = self._model.choose(row)
        return Route(backend, "learned", _REASON.format(sure))


def features(text: str, vector: FloatArray) -> FloatArray:
    """The query's unit vector times EMBEDDING_SCALE, FEATURES (each 0..1), and 1 for the bias."""
    query = Query(text)
    letters = max(1, len(text))
    own = [
        *(float(rule.fits(query)) for rule in _CUES),
        math.log(1 + min(MOST_WORDS, len(text.split()))) / math.log(1 + MOST_WORDS),
        min(1.0, sum(map(len, find_entities(text))) / letters),
        float(text.rstrip().endswith(("?", "？"))),
        sum(not (c.isalnum() or c.isspace()) for c in text) / letters,
    ]
    return np.concatenate([EMBEDDING_SCALE * np.asarray(vector, dtype=np.float32), np.asarray([*own, 1.0], dtype=np.float32)])


def load_router(path: Path, embedder: str) -> RouterChoice:
    """What the file says; the rules when there is none, it is of another version or embedder, broken, or did not beat them."""
    try:
        model = _read(path)
        scores = _summary(model.scores)
    except FileNotFoundError:
        return RouterChoice(None, "no learned router; 'memoryd router train' makes one")
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        return RouterChoice(None, f"{path} is ignored: {error}", problem=True)
    if model.embedder != embedder:
        why = f"it was learned with the embedder {model.embedder}, now it is {embedder or 'none'}"
        return RouterChoice(None, f"{path} is ignored: {why}", problem=True)
    if not model.used:
        return RouterChoice(None, f"the learned router did not beat the rules: {scores}")
    return RouterChoice(model, f"the learned router beat the rules: {scores}")


def _read(path: Path) -> RouterModel:
    raw = orjson.loads(path.read_bytes())
    if raw["format"] != FORMAT or raw["features"] != list(FEATURES):
        raise ValueError("it is of another version")
    backends = tuple(Backend(name) for name in raw["backends"])
    weights = np.asarray(raw["weights"], dtype=np.float32)
    if weights.ndim != 2 or len(weights) != len(backends) or not len(backends) or not np.isfinite(weights).all():
        raise ValueError("its weights are damaged")
    return RouterModel(str(raw["embedder"]), backends, weights, raw["used"] is True, raw["scores"])


def _summary(scores: Mapping[str, Any]) -> str:
    learned, rules = (float(scores[name]["accuracy"]) for name in ("learned", "rules"))
    return f"right {learned:.1%} against {rules:.1%} on {int(scores['n'])} held-out queries, p = {float(scores['p']):.3g}"


def router_to_json(model: RouterModel) -> bytes:
    """What `load_router` reads."""
    raw = {
        "format": FORMAT,
        "used": model.used,
        "scores": dict(model.scores),
        "embedder": model.embedder,
        "features": list(FEATURES),
        "backends": [backend.value for backend in model.backends],
        "weights": [[round(float(value), 5) for value in row] for row in model.weights],
    }
    return orjson.dumps(raw, option=orjson.OPT_INDENT_2)
