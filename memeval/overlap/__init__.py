"""How much an answer and its gold have in common, without a model. One file for each formula."""

from memeval.overlap.abstention import says_nothing_known
from memeval.overlap.cosine import cosine
from memeval.overlap.exact import contains, exact_match, substring
from memeval.overlap.f1 import best_f1, token_f1
from memeval.overlap.kendall import EventOrder, event_order
from memeval.overlap.locomo import locomo_f1
from memeval.overlap.rouge_l import best_rouge_l, rouge_l

__all__ = [
    "EventOrder",
    "best_f1",
    "best_rouge_l",
    "contains",
    "cosine",
    "event_order",
    "exact_match",
    "locomo_f1",
    "rouge_l",
    "says_nothing_known",
    "substring",
    "token_f1",
]
