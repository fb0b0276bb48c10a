"""Language: words, stems, negation and quantities, and the only implementation of statement comparison.

The similarity of two sets of words is one of four measures in `memoryd.core.text`, depending on the purpose:

| purpose | measure |
|---|---|
| the same content, or one word more (`rephrases`, `shares_words`) | `jaccard` of stems: any additional word counts against it |
| candidates for a pair in the dream (dream.neighbours) | `jaccard` of canonical words, estimated by hashes |
| two sentences of a session say nearly the same (offline reader, offer) | `dice` of key words: their sizes differ little |
| a clause denies what another affirms (verdict), evidence supports a statement | `containment`: the longer text may say more |
| a statement resembles one whose file was deleted (stores.manual_edits) | `overlap_coefficient`: either may be longer |
| a memory answers a query (retrieval.relevance) | share of the query's terms, rare ones count more |

Negations are in `cues`, synonyms and opposites in `lexicon`, the stemmer in `stems`, names of things in `entities`,
and times in `times`. Words and normal forms, which core needs as well, are in `memoryd.core.text`.
"""

from memoryd.language.compare import (
    CONFLICTS,
    Assertion,
    Compare,
    Comparison,
    Relation,
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
    "Compare",
    "Comparer",
    "Comparison",
    "Relation",
    "Assertion",
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
