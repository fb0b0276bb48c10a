"""LoCoMo's question-answering score, by category.

    1 multi-hop       both sides split at commas; mean over golds of the best F1 of any answer part
    2 temporal        token F1
    3 open-domain     token F1 with the gold cut at the first ';'
    4 single-hop      token F1
    5 adversarial     1 if the answer says "no information available" or "not mentioned", else 0

Source: eval_question_answering in task_eval/evaluation.py of LoCoMo (Maharana et al. 2024).
"""

from __future__ import annotations

from memeval.overlap.f1 import token_f1
from memeval.types import QuestionType

CATEGORIES = {
    QuestionType.MULTI_HOP: 1,
    QuestionType.TEMPORAL: 2,
    QuestionType.INFERENCE: 3,
    QuestionType.FACT_RECALL: 4,
    QuestionType.ABSTENTION: 5,
}
"""Numbers of the official code; several vendors number the categories otherwise."""
_REFUSALS = ("no information available", "not mentioned")


def locomo_f1(answer: str, gold: str, category: int) -> float:
    """The official score of one answer, between 0 and 1. `category` is 1 to 5; anything else is a ValueError."""
    if category == 1:
        return _multi_answer(answer, gold)
    if category == 3:
        return token_f1(answer, gold.split(";")[0].strip())
    if category in (2, 4):
        return token_f1(answer, gold)
    if category == 5:
        return float(any(refusal in answer.lower() for refusal in _REFUSALS))
    raise ValueError(f"LoCoMo has no category {category}")


def _multi_answer(answer: str, gold: str) -> float:
    said = [part.strip() for part in answer.split(",")]
    wanted = [part.strip() for part in gold.split(",")]
    return sum(max(token_f1(part, one) for part in said) for one in wanted) / len(wanted)
