"""Recall at a cut-off, three readings of it, over the ids that the first k pieces cover.

    recall_any@k       1 if at least one relevant id is among them, else 0
    recall_all@k       1 if every relevant id is among them, else 0
    recall_fraction@k  |found ∩ relevant| / |relevant|

Sources: LongMemEval (Wu et al. 2025), src/retrieval/eval_utils.py, for any and all; LoCoMo (Maharana et al. 2024),
task_eval/evaluation.py, for the fraction of evidence.
"""

from __future__ import annotations

from collections.abc import Sequence

from memeval.metrics.ranking import ranking_metric


def _found(top: Sequence[frozenset[str]], relevant: frozenset[str]) -> frozenset[str]:
    return frozenset().union(*top) & relevant


@ranking_metric("recall_any")
def recall_any(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Whether anything relevant was found."""
    return float(bool(_found(top, relevant)))


@ranking_metric("recall_all")
def recall_all(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Whether everything relevant was found."""
    return float(_found(top, relevant) == relevant)


@ranking_metric("recall_fraction")
def recall_fraction(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """How much of what is relevant was found."""
    return len(_found(top, relevant)) / len(relevant)
