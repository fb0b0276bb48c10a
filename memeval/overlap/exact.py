"""Exact match and containment after normalisation.

Exact match as in SQuAD (Rajpurkar et al. 2016), in LoCoMo's normal form. `substring` normalises nothing: it is the
score of NoLiMa (Modarressi et al. 2025), `contains` in its evaluation/async_evaluate.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from memeval.text import normalize_answer


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """1 if the answer equals one of the golds in normal form, else 0."""
    return float(normalize_answer(answer) in {normalize_answer(gold) for gold in golds})


def contains(answer: str, golds: Sequence[str]) -> float:
    """1 if one of the golds stands in the answer as whole words, in normal form, else 0. An empty gold is in nothing."""
    said = f" {normalize_answer(answer)} "
    wanted = (normalize_answer(gold) for gold in golds)
    return float(any(f" {gold} " in said for gold in wanted if gold))


def substring(answer: str, golds: Sequence[str]) -> float:
    """1 if one of the golds occurs in the answer letter by letter, also within a word, else 0."""
    return float(any(gold in answer for gold in golds if gold))
