"""Compare statements by rules and by a classifier trained on labelled pairs.

The classifier may find what the rules miss, and doubts them where they were often wrong. A merge of two statements
must also pass checks that no probability overrides: no negation, number, name, limit or direction in only one of them.
"""

from __future__ import annotations

from functools import lru_cache

from memoryd.core.protocols import Embedder, FloatArray
from memoryd.core.text import jaccard
from memoryd.language.classifier import Model, load
from memoryd.language.compare import (
    CONFLICTS,
    RETRACTED,
    Comparison,
    Relation,
    Said,
    compare_read,
    may_be_same,
    plainly_same,
    reading,
)
from memoryd.language.features import features
from memoryd.language.reading import Reading
from memoryd.language.stems import is_foreign
from memoryd.language.verdict import names_other_things

VECTORS_KEPT = 4_096
# If the words themselves say what has ended, a lower probability is sufficient.
MARKED = frozenset({"replaced", "corrected"})
VETO = 0.2
# Statements that share neither meaning nor words are not the same, even if their form suggests so.
NEAR_COSINE = 0.75
NEAR_WORDS = 0.4
AGREES = 0.45
BOTH_USER = 0.55
UNSURE = 0.3
ASKED = 0.2
# Required odds for "the same"; otherwise a detail could be lost, or an opposite merged.
MORE_THAN_REFINES = 3.0
MORE_THAN_CONFLICT = 2.5


class Comparer:
    """Compares statements by the rules and the classifier. Thread-safe.

    Args:
        embedder: If given, vectors of the statements are compared, too.
        trained: Whether to use the classifier.

    """

    def __init__(self, embedder: Embedder | None = None, *, trained: bool = True) -> None:
        self._embedder = embedder
        self._trained = trained
        self._vector = lru_cache(maxsize=VECTORS_KEPT)(self._embed)

    def compare(self, old: Said, new: Said) -> Comparison:
        """Return the relation of `new`, the later statement, to `old`. Raises EmbeddingError."""
        a, b = reading(old), reading(new)
        return self.compare_read(old, new, a, b, self._cosine(old.text, new.text))

    def compare_read(self, old: Said, new: Said, a: Reading, b: Reading, cosine: float | None = None) -> Comparison:
        """Like `compare`, for statements that were already parsed. `cosine` is that of their vectors, if known."""
        if self._trained and self._embedder is None:
            cosine = None  # from an embedder that the classifier was not trained on: `compare` passes none either
        rules = compare_read(old, new, a, b, cosine)
        if a.statement.norm == b.statement.norm or not self._trained:
            return rules
        if rules.reason == RETRACTED:
            return rules
        if rules.reason not in MARKED and names_other_things(a, b):
            return Comparison(Relation.DIFFERENT, "another thing of the same sort")
        if rules.relation not in CONFLICTS and plainly_same(old, new, a, b):
            return Comparison(Relation.SAME, "the same in other words")
        model = load()
        chances = model.chances(features(old, new, a, b, rules))
        mergeable = is_near(a, b, cosine) and may_be_same(old, new, a, b)
        return weighed(model, rules, chances, old.by_user and new.by_user, mergeable)

    def _cosine(self, old: str, new: str) -> float | None:
        """Return the cosine, or None for texts that an English embedder can't judge."""
        if self._embedder is None or is_foreign(old) or is_foreign(new):
            return None
        return float(self._vector(old) @ self._vector(new))

    def _embed(self, text: str) -> FloatArray:
        assert self._embedder is not None
        vector: FloatArray = self._embedder.embed([text])[0]
        return vector


def is_near(a: Reading, b: Reading, cosine: float | None) -> bool:
    """Return whether the meaning (or the words, without vectors) is close enough for the classifier to call them the same."""
    if cosine is not None:
        return cosine >= NEAR_COSINE
    return jaccard(a.terms, b.terms) >= NEAR_WORDS


def weighed(model: Model, rules: Comparison, chances: dict[Relation, float], both_user: bool, mergeable: bool) -> Comparison:
    """Combine the rules' relation with the probabilities. `mergeable`: the checks of a merge are passed."""
    same, replaces = chances[Relation.SAME], chances[Relation.REPLACES]
    conflict = replaces + chances[Relation.CONTRADICTS]
    if rules.relation is Relation.REPLACES:
        if rules.reason in MARKED and replaces >= AGREES:
            return rules
        if both_user and replaces >= BOTH_USER:
            return rules  # of two opposite statements by the user, the newer one is valid
    if replaces >= model.replaces:
        return Comparison(Relation.REPLACES, rules.reason if rules.relation is Relation.REPLACES else "another answer since")
    mergeable = mergeable and same >= MORE_THAN_REFINES * chances[Relation.REFINES] and same >= MORE_THAN_CONFLICT * conflict
    if mergeable and (same >= model.same or (rules.relation is Relation.SAME and same >= VETO)):
        return Comparison(Relation.SAME, rules.reason if rules.relation is Relation.SAME else "means the same")
    chance = same + conflict
    if conflict >= (UNSURE if rules.relation is Relation.REPLACES else model.conflict):
        return Comparison(Relation.CONTRADICTS, "can't both hold", doubtful=True, chance=chance)
    refines = rules.relation is Relation.REFINES or chances[Relation.REFINES] > chances[Relation.DIFFERENT]
    relation, reason = (Relation.REFINES, "says more") if refines else (Relation.DIFFERENT, "another thing")
    return Comparison(relation, reason, doubtful=chance >= ASKED, chance=chance)


RULES = Comparer(trained=False)
