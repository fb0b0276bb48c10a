"""Language: words, stems, negation, quantities, and what one statement is to another. The only place that compares statements.

| purpose | measure |
|---|---|
| the same content, or one word more (compare, `shares_words`) | Jaccard of stems: `memoryd.core.text.overlap` |
| clauses that deny what another affirms (verdict) | share of the denied words that the other has |
| a candidate for a pair of the dream (dream.neighbours) | Jaccard of canonical words, by hashes |

Negations are in `cues`, synonyms and opposites in `lexicon`, the stemmer of search and comparison in `stems`, names of things in
`entities`, times that a text names in `times`. Words and normal forms, which core needs too, are in `memoryd.core.text`.
"""

from memoryd.language.compare import (
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
from memoryd.language.comparer import RULES, Comparer
from memoryd.language.cues import has_correction, language
from memoryd.language.wording import read, values_of

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
