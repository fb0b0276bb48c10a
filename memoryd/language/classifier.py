"""A classifier for the relation of two statements: softmax regression over the numbers of `features`.

The weights are in `weights.json`, created by benchmarks/train_pairs.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import orjson

from memoryd.core.errors import ConfigError
from memoryd.core.protocols import FloatArray
from memoryd.language.compare import Relation
from memoryd.language.features import NAMES

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
ORDER = (Relation.SAME, Relation.REFINES, Relation.REPLACES, Relation.CONTRADICTS, Relation.DIFFERENT)


@dataclass(frozen=True, slots=True)
class Model:
    """Means and scales of the features, weights per feature and relation, and the minimum chance for a prediction."""

    mean: FloatArray
    scale: FloatArray
    weights: FloatArray
    bias: FloatArray
    same: float
    replaces: float
    conflict: float

    def chances(self, numbers: FloatArray) -> dict[Relation, float]:
        """Return the probability of each relation; they add up to 1."""
        scores = ((numbers - self.mean) / self.scale) @ self.weights + self.bias
        power = np.exp(scores - scores.max())
        return dict(zip(ORDER, (power / power.sum()).tolist(), strict=True))


@cache
def load() -> Model:
    """Load the bundled model. Raises ConfigError if the file does not match the features."""
    try:
        stored = orjson.loads(WEIGHTS_FILE.read_bytes())
        mean, scale, weights, bias = (np.asarray(stored[name], dtype=np.float32) for name in ("mean", "scale", "weights", "bias"))
        if weights.shape != (len(NAMES), len(ORDER)):
            raise ValueError(f"{weights.shape} weights for {len(NAMES)} numbers")
        same, replaces, conflict = (float(stored[name]) for name in ("same", "replaces", "conflict"))
        return Model(mean, scale, weights, bias, same, replaces, conflict)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{WEIGHTS_FILE} can't be used: {error}", fix="Install memoryd again.") from error
