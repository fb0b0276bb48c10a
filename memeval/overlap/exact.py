"""Exact match and containment after normalisation.

Exact match as in SQuAD (Rajpurkar et al. 2016); containment as in NoLiMa (Modarressi et al. 2025) and the
substring match of MemoryAgentBench (Hu et al. 2025).
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
