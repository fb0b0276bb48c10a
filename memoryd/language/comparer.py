"""Compare statements with rules, and with a classifier trained on labelled pairs.

The classifier finds relations that the rules miss, and overrides rules that proved unreliable. With a reader (a
cross-encoder), it judges both texts together, otherwise only their words. Statements are merged only if they pass
checks that no probability can outweigh: a negation, number, name, limit or direction must not occur on one side only.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache

from memoryd.core.protocols import Embedder, FloatArray, PairReader
from memoryd.core.text import CJK, jaccard
from memoryd.language.classifier import ClassifierWeights, load, load_reader, states_of
from memoryd.language.compare import (
    CONFLICTS,
    MAX_LONGER,
    RETRACTED,
    SIGNS,
    Assertion,
    Comparison,
    Difference,
    Relation,
    are_rivals,
    compare_read,
    differences,
    excludes_instead,
    is_longer,
    may_be_same,
    orders_otherwise,
    plainly_same,
    reading,
    relates_otherwise,
    terms_in_english,
)
from memoryd.language.cues import has_correction, is_standing, language, order_words
from memoryd.language.features import features, speaks_of_another_part
from memoryd.language.reading import Reading
from memoryd.language.stems import is_foreign
from memoryd.language.verdict import is_inversion, names_other_things, strong

VECTORS_KEPT = 4_096
SCORES_KEPT = 50_000
# If the words themselves indicate what is no longer valid, the classifier needs less certainty.
MARKED = frozenset({"replaced", "corrected"})
VETO = 0.2
# Statements that share neither meaning nor words are not the same, even if their form suggests it.
NEAR_COSINE = 0.75
NEAR_WORDS = 0.4
# Less similar pairs are not passed to the reader. Few of them are about the same thing, and each takes 10 ms.
READ_COSINE = 0.6
MIN_WORDS = 4
AGREES = 0.65
BOTH_USER = 0.85
UNSURE = 0.3
# Without a word of change, a statement of the same day disputes an earlier one only if the two may be opposites. Otherwise, a
# task ("rebuild it with our usual command") would keep back the rule that it relies on.
DISPUTED = 0.03
# A pair that looks this much like a conflict is never considered the same. If both sides have many words of their own, or a text
# was glossed, "the same" must be considerably more certain.
READ_GATE = 0.2
# A lower threshold would merge statements about different things, as measured on pairs by authors excluded from training.
SAME_THRESHOLD = 0.6
# For statements that differ in a marker that something ended, changed or is done, or that express a denial or order in
# other words.
CERTAIN = 0.84
FAR_WORDS = 4
FAR_SAME = 0.7
FAR_OVERLAP = 0.2
FAR_LONGER = 4
SOON = timedelta(days=1)
ASKED = 0.2
# How likely one of two rules that ask for different things of one kind has ended.
RIVAL = 0.8
# Minimum cosine at which a statement can end another: if they share a distinctive word, if they don't, and if what the later one
# says is gone is not in the earlier one. Of 98 open pairs found before, 2 are below; of 87 pairs about different things, over 80.
RELATED_COSINE = 0.6
UNNAMED_COSINE = 0.67
ENDS_ANOTHER_COSINE = 0.7
# Required odds for "the same". Lower odds risk losing a detail or merging opposites.
MORE_THAN_REFINES = 3.0
MORE_THAN_CONFLICT = 4.0
# Required odds for a replacement without a word of change. One that is less likely is often about another thing, so the user
# decides.
MORE_THAN_DIFFERENT = 6.0


class Comparer:
    """Compares statements with the rules and the classifier. Thread-safe.

    Args:
        embedder: Compares the statements' vectors, if given.
        trained: Whether to use the classifier.
        reader: Judges statements with similar meanings together, if given.
        weights: Weights for what the reader returns. The default are those of the bundled reader.
    """

    def __init__(
        self,
        embedder: Embedder | None = None,
        *,
        trained: bool = True,
        reader: PairReader | None = None,
        weights: ClassifierWeights | None = None,
    ) -> None:
        self._embedder = embedder
        self._weights = weights
        self._trained = trained
        self._reader = reader
        self._vector = lru_cache(maxsize=VECTORS_KEPT)(self._embed)
        self._scores = lru_cache(maxsize=SCORES_KEPT)(self._read)

    def compare(self, old: Assertion, new: Assertion) -> Comparison:
        """Return the relation of `new`, the later statement, to `old`. Raises EmbeddingError."""
        a, b = reading(old), reading(new)
        return self.compare_read(old, new, a, b, self._cosine(old.text, new.text))

    def passes_to_reader(self, cosine: float | None) -> bool:
        """Return whether statements with this similarity are passed to the reader."""
        return self._reader is not None and (cosine is None or cosine >= READ_COSINE)

    def compare_read(
        self, old: Assertion, new: Assertion, a: Reading, b: Reading, cosine: float | None = None, *, read: bool = True
    ) -> Comparison:
        """Compare two parsed statements like `compare`.

        `cosine` is the cosine similarity of their vectors, if known. If `read` is False, only the words are judged, even where
        the reader would otherwise be used.
        """
        found = self._judge(old, new, a, b, cosine, read=read)
        if self._trained and found.relation not in CONFLICTS and are_rivals(old, new, a, b):
            return Comparison(Relation.CONTRADICTS, "only one can be obeyed", doubtful=True, chance=RIVAL)
        return found

    def _judge(self, old: Assertion, new: Assertion, a: Reading, b: Reading, cosine: float | None, *, read: bool) -> Comparison:
        if self._trained and self._embedder is None:
            cosine = None  # `compare` passes no cosine for embedders other than the one used in training.
        rules = compare_read(old, new, a, b, cosine)
        if a.statement.norm == b.statement.norm or not self._trained:
            return rules
        if rules.reason == RETRACTED:
            return rules
        if rules.reason not in MARKED and names_other_things(a, b):
            return Comparison(Relation.DIFFERENT, "another thing of the same sort")
        if rules.relation not in CONFLICTS and plainly_same(old, new, a, b):
            return Comparison(Relation.SAME, "the same in other words")
        numbers = features(old, new, a, b, rules)
        related = share_a_subject(a, b, cosine)
        marked = (old.by_user and new.by_user) or has_correction(new.text)
        if not (read and self.passes_to_reader(cosine)) or is_brief(old, a) or is_brief(new, b):
            model = load()
            mergeable = is_near(a, b, cosine) and may_be_same(old, new, a, b)
            chances = model.chances(numbers)
            return weighed(model, rules, chances, old.by_user and new.by_user, mergeable, marked=marked, related=related)
        model = self._weights or load_reader()
        chances = model.chances(numbers, self._scores(old.text, new.text))
        mergeable = reads_the_same(old, new, a, b, chances)
        both_user = old.by_user and new.by_user
        another = not has_correction(new.text) and speaks_of_another_part(a, b)
        cue = has_correction(new.text)
        another = another or (not cue and relates_otherwise(old, new, a, b))
        likely = chances[Relation.REPLACES] >= MORE_THAN_DIFFERENT * chances[Relation.DIFFERENT]
        soon = not cue and stated_within_a_day(old, new)
        replaceable = not another and not soon and (cue or likely)
        disputed = rules.relation in CONFLICTS or chances[Relation.CONTRADICTS] >= DISPUTED
        related = related and (disputed or not soon)
        if both_user and rules.relation not in CONFLICTS and b.gone.isdisjoint(a.terms) and is_task_under(old.text, new.text):
            related = False
        return weighed(model, rules, chances, both_user, mergeable, marked=marked, replaceable=replaceable, related=related)

    def _cosine(self, old: str, new: str) -> float | None:
        """Return the cosine similarity, or None if the embedder only supports English and can't judge the texts."""
        if self._embedder is None or is_foreign(old) or is_foreign(new):
            return None
        return float(self._vector(old) @ self._vector(new))

    def _read(self, old: str, new: str) -> FloatArray:
        """Return the reader's contribution to each relation's score."""
        assert self._reader is not None
        return (self._weights or load_reader()).of_states(states_of(self._reader, old, new))

    def _embed(self, text: str) -> FloatArray:
        assert self._embedder is not None
        vector: FloatArray = self._embedder.embed([text])[0]
        return vector


def is_brief(said: Assertion, read: Reading) -> bool:
    """Return whether a statement is too short for the reader.

    Short fragments all look alike to the reader, unless a word indicates a change.
    """
    return len(read.statement.tokens) < MIN_WORDS and not CJK.search(said.text) and not has_correction(said.text)


def is_near(a: Reading, b: Reading, cosine: float | None) -> bool:
    """Return whether the statements are similar enough for the classifier to consider them the same.

    Without vectors, word similarity is used.
    """
    if cosine is not None:
        return cosine >= NEAR_COSINE
    return jaccard(a.terms, b.terms) >= NEAR_WORDS


def share_a_subject(a: Reading, b: Reading, cosine: float | None) -> bool:
    """Return whether the statements may be about the same thing, so that one can end or contradict the other.

    The classifier was trained on related pairs. It takes any statement of a change ("We replaced X with Y") for the end of a
    short statement about something else.
    """
    earlier, later = (reading.terms | terms_in_english(reading.statement.text) for reading in (a, b))
    shared = strong(earlier & later)
    ends_another = bool(b.gone) and not b.gone & earlier
    if cosine is None:
        return len(shared) > ends_another or not b.gone.isdisjoint(earlier)
    return cosine >= (ENDS_ANOTHER_COSINE if ends_another else RELATED_COSINE if shared else UNNAMED_COSINE)


def is_task_under(rule: str, text: str) -> bool:
    """Return whether the text may be a task that is done by the rule, which it then neither ends nor disputes."""
    return is_standing(rule) and not is_standing(text)


def stated_within_a_day(old: Assertion, new: Assertion) -> bool:
    """Return whether the statements were made on the same or on following days. Many have only a date."""
    return old.at is not None and new.at is not None and abs(new.at - old.at) <= SOON


def reads_the_same(old: Assertion, new: Assertion, a: Reading, b: Reading, chances: dict[Relation, float]) -> bool:
    """Return whether the merge checks pass and the reader's result allows the statements to be the same."""
    same = chances[Relation.SAME]
    if same < SAME_THRESHOLD or chances[Relation.REPLACES] + chances[Relation.CONTRADICTS] >= READ_GATE:
        return False
    found = differences(old, new, a, b)
    forgiven = SIGNS | {Difference.DENIALS} if excludes_instead(a, b) else SIGNS
    if found - forgiven or is_inversion(a, b) or speaks_of_another_part(a, b) or orders_otherwise(a, b):
        return False
    if found or order_words(old.text) != order_words(new.text) or has_correction(old.text) != has_correction(new.text):
        return same >= CERTAIN and not is_longer(a, b, FAR_LONGER)
    own = min(len(strong(a.terms - b.terms)), len(strong(b.terms - a.terms)))
    glossed = language(old.text) != "en" or language(new.text) != "en"
    overlap = _overlap_in_english(a, b)
    if glossed and not overlap:
        return False  # The reader knows only English, and finds any two short statements in two other languages similar.
    if own >= FAR_WORDS or (glossed and overlap < FAR_OVERLAP):
        return same >= FAR_SAME and not is_longer(a, b, FAR_LONGER)
    return not is_longer(a, b, FAR_LONGER if same >= FAR_SAME else MAX_LONGER)


def _overlap_in_english(a: Reading, b: Reading) -> float:
    return jaccard(*(terms_in_english(reading.statement.text) for reading in (a, b)))


def weighed(
    model: ClassifierWeights,
    rules: Comparison,
    chances: dict[Relation, float],
    both_user: bool,
    mergeable: bool,
    *,
    marked: bool = False,
    replaceable: bool = True,
    related: bool = True,
) -> Comparison:
    """Combine the relation found by the rules with the probabilities.

    `mergeable` means that the merge checks pass. `marked` means that both statements are the user's, or that the later one
    mentions a change. If `replaceable` is False, the older statement remains valid, in doubt, however likely its replacement is.
    If `related` is False, it remains valid without doubt.
    """
    same, replaces = chances[Relation.SAME], chances[Relation.REPLACES]
    conflict = replaces + chances[Relation.CONTRADICTS]
    if rules.relation is Relation.REPLACES:
        if rules.reason in MARKED and replaces >= AGREES:
            return rules
        if both_user and replaces >= BOTH_USER:
            return rules  # If two statements of the user are opposites, the newer one applies.
    if replaces >= (model.marked if marked else model.replaces) and replaceable and related:
        return Comparison(Relation.REPLACES, rules.reason if rules.relation is Relation.REPLACES else "another answer since")
    mergeable = mergeable and same >= MORE_THAN_REFINES * chances[Relation.REFINES] and same >= MORE_THAN_CONFLICT * conflict
    if mergeable and (same >= model.same or (rules.relation is Relation.SAME and same >= VETO)):
        return Comparison(Relation.SAME, rules.reason if rules.relation is Relation.SAME else "means the same")
    chance = same + conflict
    if related and conflict >= (UNSURE if rules.relation is Relation.REPLACES else model.conflict):
        return Comparison(Relation.CONTRADICTS, "can't both hold", doubtful=True, chance=chance)
    refines = rules.relation is Relation.REFINES or chances[Relation.REFINES] > chances[Relation.DIFFERENT]
    relation, reason = (Relation.REFINES, "says more") if refines else (Relation.DIFFERENT, "another thing")
    return Comparison(relation, reason, doubtful=chance >= ASKED, chance=chance)


RULES = Comparer(trained=False)
