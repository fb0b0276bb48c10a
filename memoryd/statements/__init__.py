"""How statements are read and compared: one notion of same, refines, replaces, contradicts and different."""

from memoryd.statements.compare import (
    CONFLICTS,
    Comparison,
    Relation,
    Said,
    adds,
    compare,
    compare_read,
    relate,
    rephrases,
    shares_words,
)
from memoryd.statements.comparer import RULES, Comparer
from memoryd.statements.cues import has_correction, language
from memoryd.statements.wording import read, values_of

__all__ = [
    "CONFLICTS",
    "RULES",
    "Comparer",
    "Comparison",
    "Relation",
    "Said",
    "adds",
    "compare",
    "compare_read",
    "has_correction",
    "language",
    "read",
    "relate",
    "rephrases",
    "shares_words",
    "values_of",
]
