"""Calibration of a reader's confidence, and the best abstention threshold.

All functions are pure and take one value per question.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

BINS = 10


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """A judged answer.

    It has the reader's confidence, the value of the answer (0 to 1), the value of withholding the answer, and the cluster.
    """

    confidence: float
    value: float
    withheld: float
    cluster: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration figures.

    `expected_error` is the mean difference between confidence and accuracy (ECE with ten bins). `threshold` is the best
    threshold for these questions, and `at_threshold` is the resulting mean value. `held_out` is the mean value with the
    threshold for each cluster chosen on the other clusters, which estimates the value for unseen questions. `ranking` (AUROC)
    is the probability that a correct answer has a higher confidence than a wrong one. It is None if all answers are correct or
    all are wrong.
    """

    questions: int
    confidence: float
    value: float
    expected_error: float
    brier: float
    ranking: float | None
    threshold: float
    at_threshold: float
    withheld: int
    held_out: float | None


def calibrate(answers: Sequence[JudgedAnswer]) -> Calibration:
    """Compute all calibration figures. Raises ValueError if there are no answers."""
    if not answers:
        raise ValueError("no answers")
    threshold = best_threshold(answers)
    return Calibration(
        questions=len(answers),
        confidence=_mean([one.confidence for one in answers]),
        value=_mean([one.value for one in answers]),
        expected_error=sum(abs(sure - value) * share for sure, value, share in bins(answers)),
        brier=_mean([(one.confidence - one.value) ** 2 for one in answers]),
        ranking=_ranking(answers),
        threshold=threshold,
        at_threshold=mean_at(answers, threshold),
        withheld=sum(one.confidence < threshold for one in answers),
        held_out=_held_out(answers),
    )


def mean_at(answers: Sequence[JudgedAnswer], threshold: float) -> float:
    """Return the mean value with all answers below a threshold withheld."""
    return _mean([one.value if one.confidence >= threshold else one.withheld for one in answers])


def best_threshold(answers: Sequence[JudgedAnswer]) -> float:
    """Return the threshold with the best mean value.

    In a tie, the lowest threshold is returned, because it withholds the fewest answers. A threshold of 0 withholds nothing.
    """
    ordered = sorted(answers, key=lambda one: one.confidence)
    gain, best, threshold = 0.0, 0.0, 0.0
    for number, one in enumerate(ordered):
        gain += one.withheld - one.value
        last = number + 1 == len(ordered)
        if (last or ordered[number + 1].confidence > one.confidence) and gain > best + 1e-12:
            best, threshold = gain, (min(1.0, one.confidence + 0.01) if last else ordered[number + 1].confidence)
    return threshold


def bins(answers: Sequence[JudgedAnswer], count: int = BINS) -> list[tuple[float, float, float]]:
    """Return the mean confidence, the mean value and the share of answers for each non-empty confidence bin."""
    grouped: dict[int, list[JudgedAnswer]] = defaultdict(list)
    for one in answers:
        grouped[min(count - 1, math.floor(one.confidence * count + 1e-9))].append(one)
    return [
        (_mean([one.confidence for one in some]), _mean([one.value for one in some]), len(some) / len(answers))
        for _, some in sorted(grouped.items())
    ]


def _held_out(answers: Sequence[JudgedAnswer]) -> float | None:
    clusters: dict[str, list[JudgedAnswer]] = defaultdict(list)
    for one in answers:
        clusters[one.cluster].append(one)
    if len(clusters) < 2:
        return None
    values: list[float] = []
    for name, some in clusters.items():
        threshold = best_threshold([one for one in answers if one.cluster != name])
        values += [one.value if one.confidence >= threshold else one.withheld for one in some]
    return _mean(values)


def _ranking(answers: Sequence[JudgedAnswer]) -> float | None:
    """Compute the AUROC of correct answers (value of at least ½) against wrong ones. Mean ranks are used, so ties count half."""
    ordered = sorted(answers, key=lambda one: one.confidence)
    ranks = 0.0
    position = 0
    while position < len(ordered):
        end = position
        while end < len(ordered) and ordered[end].confidence == ordered[position].confidence:
            end += 1
        ranks += (position + end + 1) / 2 * sum(one.value >= 0.5 for one in ordered[position:end])
        position = end
    right = sum(one.value >= 0.5 for one in ordered)
    wrong = len(ordered) - right
    return (ranks - right * (right + 1) / 2) / (right * wrong) if right and wrong else None


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
