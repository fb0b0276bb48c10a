"""Token F1: harmonic mean of precision and recall over the multiset of stems.

    common = |answer ∩ gold| (with multiplicity), p = common / |answer|, r = common / |gold|, F1 = 2pr / (p + r)

Source: SQuAD (Rajpurkar et al. 2016), with the normalisation and the Porter stemming of LoCoMo. LoCoMo stems with NLTK,
which departs from Porter's paper in a few words (`us`, `playful`): of 762 answers of a baseline to LoCoMo questions
6 get another score, the mean is 17.56 here and 17.52 there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memeval.text import normal_stems


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
