"""ROUGE-L: F1 over the longest common subsequence of stems.

    l = LCS(answer, gold), p = l / |answer|, r = l / |gold|, ROUGE-L = 2pr / (p + r)

Source: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", section 3.1 with beta = 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from memeval.overlap.porter import normal_stems


def rouge_l(answer: str, gold: str) -> float:
    """ROUGE-L between 0 and 1; 0 when a side is empty."""
    said, wanted = normal_stems(answer), normal_stems(gold)
    common = longest_common_subsequence(said, wanted)
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def best_rouge_l(answer: str, golds: Sequence[str]) -> float:
    """The highest ROUGE-L over several accepted golds."""
    return max((rouge_l(answer, gold) for gold in golds), default=0.0)


def longest_common_subsequence(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence, in O(|left|·|right|) time and one row of memory."""
    row = [0] * (len(right) + 1)
    for item in left:
        diagonal = 0
        for column, other in enumerate(right, start=1):
            above = row[column]
            row[column] = diagonal + 1 if item == other else max(above, row[column - 1])
            diagonal = above
    return row[-1]
