"""Compares statements with what is at hand: the rules, and a classifier trained on labelled pairs that weighs them.

The classifier may find what the rules miss, and doubts them where they were often wrong. What would merge two statements
must pass gates that no chance can outweigh: a negation, number, name, limit or direction on one side only.
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
# Where the words themselves say what is gone, less is asked of the classifier to agree.
MARKED = frozenset({"replaced", "corrected"})
VETO = 0.2
# Statements that share neither meaning nor words are not the same, whatever the classifier makes of their form.
NEAR_COSINE = 0.75
NEAR_WORDS = 0.4
AGREES = 0.45
BOTH_USER = 0.55
UNSURE = 0.3
ASKED = 0.2
# How many times likelier the same must be: else a detail would be lost, or an opposite.
MORE_THAN_REFINES = 3.0
MORE_THAN_CONFLICT = 2.5


class Comparer:
    """Compares statements by the rules, and by what the classifier makes of them. Safe between threads.

    With an `embedder` their vectors are compared too; `trained` False leaves the rules alone.
    """

    def __init__(self, embedder: Embedder | None = None, *, trained: bool = True) -> None:
        self._embedder = embedder
        self._trained = trained
        self._vector = lru_cache(maxsize=VECTORS_KEPT)(self._embed)

    def compare(self, old: Said, new: Said) -> Comparison:
        """What `new`, said later, is to `old`. Raises EmbeddingError."""
        a, b = reading(old), reading(new)
        return self.compare_read(old, new, a, b, self._cosine(old.text, new.text))

    def compare_read(self, old: Said, new: Said, a: Reading, b: Reading, cosine: float | None = None) -> Comparison:
        """The same, of statements that were read before. `cosine` of their vectors, None when there is none."""
        if self._trained and self._embedder is None:
            cosine = None  # of an embedder whose cosines the classifier does not know: `compare` has none either
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
        """None for texts that an English embedder can't judge, as in the dream."""
        if self._embedder is None or is_foreign(old) or is_foreign(new):
            return None
        return float(self._vector(old) @ self._vector(new))

    def _embed(self, text: str) -> FloatArray:
        assert self._embedder is not None
        vector: FloatArray = self._embedder.embed([text])[0]
        return vector


def is_near(a: Reading, b: Reading, cosine: float | None) -> bool:
    """Whether meaning, or words where there is no vector, are near enough that the classifier may call them the same."""
    if cosine is not None:
        return cosine >= NEAR_COSINE
    return jaccard(a.terms, b.terms) >= NEAR_WORDS


def weighed(model: Model, rules: Comparison, chances: dict[Relation, float], both_user: bool, mergeable: bool) -> Comparison:
    """The relation, from what the rules say and the chances of each relation. `mergeable`: the gates of a merge are passed."""
    same, replaces = chances[Relation.SAME], chances[Relation.REPLACES]
    conflict = replaces + chances[Relation.CONTRADICTS]
    if rules.relation is Relation.REPLACES:
        if rules.reason in MARKED and replaces >= AGREES:
            return rules
        if both_user and replaces >= BOTH_USER:
            return rules  # of two opposite statements of the user the newer one holds
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
