"""A classifier for the relation between two statements: a softmax regression.

There are two models. The first, `words`, uses only the numeric `features`. Its weights are in `weights.json`, written by
benchmarks/train_pairs.py. The second, `reader`, also uses the output of a cross-encoder for both texts (`states_of`), which
captures more than the words alone. Its weights are in `reader.npz`, written by benchmarks/tune_pairs.py together with the
cross-encoder's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import orjson

from memoryd.core.errors import ConfigError
from memoryd.core.protocols import FloatArray, PairReader
from memoryd.language.compare import Relation
from memoryd.language.features import NAMES
from memoryd.language.gloss import gloss

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
READER_FILE = Path(__file__).with_name("reader.npz")
ORDER = (Relation.SAME, Relation.REFINES, Relation.REPLACES, Relation.CONTRADICTS, Relation.DIFFERENT)
LIMITS = ("same", "replaces", "conflict", "marked")


@dataclass(frozen=True, slots=True)
class ClassifierWeights:
    """Means and scales of the features, weights by feature and relation, and the minimum probability for each relation.

    `marked` is the minimum for a replacement if both statements are the user's or the later one mentions a change.
    `states` contains the weights for the cross-encoder's states, or None for a model that uses only words.
    """

    mean: FloatArray
    scale: FloatArray
    weights: FloatArray
    bias: FloatArray
    same: float
    replaces: float
    conflict: float
    marked: float
    states: FloatArray | None = None

    def of_states(self, states: FloatArray) -> FloatArray:
        """Return the contribution of the cross-encoder's states of two texts to each relation's score."""
        assert self.states is not None
        return np.asarray(states @ self.states)

    def chances(self, numbers: FloatArray, of_states: FloatArray | None = None) -> dict[Relation, float]:
        """Return the probability of each relation. The probabilities add up to 1."""
        scores = ((numbers - self.mean) / self.scale) @ self.weights + self.bias
        if of_states is not None:
            scores = scores + of_states
        power = np.exp(scores - scores.max())
        return dict(zip(ORDER, (power / power.sum()).tolist(), strict=True))


def states_of(reader: PairReader, old: str, new: str) -> FloatArray:
    """Return the cross-encoder's states of two texts, read in both orders.

    Texts in other languages are glossed if possible.
    """
    first, second = gloss(old) or old, gloss(new) or new
    return np.concatenate([reader.read(first, second).ravel(), reader.read(second, first).ravel()])


@cache
def load() -> ClassifierWeights:
    """Load the bundled words model. Raises ConfigError if the file does not match the features."""
    try:
        stored = orjson.loads(WEIGHTS_FILE.read_bytes())
        return _model({name: np.asarray(value, dtype=np.float32) for name, value in stored.items()})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unusable(WEIGHTS_FILE, error) from error


@cache
def load_reader(file: Path = READER_FILE) -> ClassifierWeights:
    """Load a model of words and states. Raises ConfigError if the file does not match the features."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            return _model({name: np.asarray(stored[name], dtype=np.float32) for name in stored.files})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unusable(file, error) from error


def _model(stored: dict[str, FloatArray]) -> ClassifierWeights:
    limits = {name: float(stored[name]) for name in LIMITS}
    model = ClassifierWeights(
        stored["mean"], stored["scale"], stored["weights"], stored["bias"], **limits, states=stored.get("states")
    )
    if model.weights.shape != (len(NAMES), len(ORDER)):
        raise ValueError(f"{model.weights.shape} weights for {len(NAMES)} numbers")
    return model


def _unusable(file: Path, error: Exception) -> ConfigError:
    return ConfigError(f"{file} can't be used: {error}", fix="Reinstall memoryd.")
