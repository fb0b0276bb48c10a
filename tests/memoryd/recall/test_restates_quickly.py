"""The quick check before comparing two statements never contradicts the comparison."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memoryd.language import Assertion, Relation, relate, rephrases, shares_words
from memoryd.recall.governance import RESTATES

WORDS = st.sampled_from("use never not pnpm npm port 8080 the a for checkout src/app.py deploy make ship only --force".split())
TEXTS = st.lists(WORDS, max_size=8).map(" ".join)


@given(TEXTS, TEXTS, st.booleans(), st.booleans())
def test_what_shares_too_few_words_is_never_the_same(known: str, new: str, known_dont: bool, new_dont: bool) -> None:
    if shares_words(known, new):
        return
    assert relate(known, new, known_dont=known_dont, new_dont=new_dont) is not Relation.SAME
    assert not rephrases(Assertion(known, known_dont), Assertion(new, new_dont), RESTATES)
