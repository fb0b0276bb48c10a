"""Token F1: harmonic mean of precision and recall over the multiset of stems.

    common = |answer ∩ gold| (with multiplicity), p = common / |answer|, r = common / |gold|, F1 = 2pr / (p + r)

Source: SQuAD (Rajpurkar et al. 2016), with the normalisation and the stemming of LoCoMo (`memeval.overlap.porter`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memeval.overlap.porter import normal_stems


def token_f1(answer: str, gold: str) -> float:
    """F1 between 0 and 1; 0 when nothing is common, also when a side is empty."""
    said, wanted = normal_stems(answer), normal_stems(gold)
    common = sum((Counter(said) & Counter(wanted)).values())
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def best_f1(answer: str, golds: Sequence[str]) -> float:
    """The highest F1 over several accepted golds."""
    return max((token_f1(answer, gold) for gold in golds), default=0.0)
