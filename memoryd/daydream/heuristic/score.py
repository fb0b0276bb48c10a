"""How much a unit is worth: a sum of weights over its cues (logistic regression, so the sum is a log odds)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from memoryd.daydream.heuristic.units import Unit
from memoryd.daydream.heuristic.weights import AGENT_WEIGHTS, USER_WEIGHTS

BIAS = "bias"


@dataclass(frozen=True, slots=True)
class Weights:
    """Weight of each cue in a log odds, for statements of the user and of the assistant; `bias` holds for all."""

    user: Mapping[str, float]
    agent: Mapping[str, float]

    def of(self, unit: Unit) -> float:
        """The unit's log odds of being worth keeping. Unknown cues weigh nothing."""
        table = self.user if unit.by_user else self.agent
        return table.get(BIAS, 0.0) + sum(table.get(cue, 0.0) for cue in sorted(unit.cues))


DEFAULT = Weights(USER_WEIGHTS, AGENT_WEIGHTS)


def probability(log_odds: float) -> float:
    """The logistic function, 0..1."""
    return 1.0 / (1.0 + math.exp(-log_odds))
