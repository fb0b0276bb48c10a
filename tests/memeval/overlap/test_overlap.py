"""Expected values are computed by hand. The steps are shown next to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.core.overlap import (
    best_f1,
    best_rouge_l,
    contains,
    cosine,
    exact_match,
    locomo_f1,
    longest_common_subsequence,
    normal_stems,
    rouge_l,
    says_nothing_known,
    token_f1,
)
from memeval.core.text import content_stems, estimate_tokens, normalize_answer, sentences, stem, words


def test_the_normal_form_of_locomo() -> None:
    assert normalize_answer("The Lakes, Rivers AND a forest!") == "lakes rivers forest"
    assert normalize_answer("1,500 km") == "1500 km"
    assert normalize_answer("Mel's") == "mels", "punctuation goes without a gap"
    assert normalize_answer("") == ""


@pytest.mark.parametrize(
    ("word", "expected"),
    # Examples of Porter's paper.
    [("caresses", "caress"), ("ponies", "poni"), ("plastered", "plaster"), ("motoring", "motor"), ("hopping", "hop"),
     ("relational", "relat"), ("vietnamization", "vietnam"), ("electriciti", "electr"), ("adjustment", "adjust"), ("sky", "sky")],
)  # fmt: skip
def test_stems_are_those_of_porters_paper(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_words_sentences_and_tokens() -> None:
    assert words("Don't stop_now: Zürich, 3 cafés!") == ["don't", "stop", "now", "zürich", "3", "cafés"]
    assert content_stems("Where did the runners go?") == ["runner", "go"]
    assert sentences("One. Two!\n\nThree? Four") == ["One.", "Two!", "Three?", "Four"]
    assert (estimate_tokens(""), estimate_tokens("abcde"), estimate_tokens("日本語")) == (0, 2, 3)


def test_token_f1() -> None:
    # psycholog counsel | psycholog counsel certif: p = 2/2, r = 2/3
    assert token_f1("Psychology and counselling", "Psychology, counseling certification") == pytest.approx(0.8)
    # 7 may 2023 | may 7th 2023: 2 of 3 on both sides
    assert token_f1("7 May 2023", "May 7th, 2023") == pytest.approx(2 / 3)
    # multiplicity: no no yes | no yes yes: common no, yes
    assert token_f1("no no yes", "no yes yes") == pytest.approx(2 / 3)
    assert token_f1("", "x") == token_f1("x", "") == token_f1("the", "a") == 0.0
    assert best_f1("red", ["blue", "red car"]) == pytest.approx(2 / 3)
    assert best_f1("red", []) == 0.0


def test_locomo_category_1_takes_each_gold_with_its_best_answer_part() -> None:
    # golds: pottery -> best of (pottery 1, swimming 0) = 1; camping trip -> 0; mean 1/2
    assert locomo_f1("pottery, swimming", "Pottery, camping trip", 1) == pytest.approx(0.5)
    # one answer part without a comma: pottery: p 1/2 r 1 = 2/3; camping: 2/3
    assert locomo_f1("pottery and camping", "pottery, camping", 1) == pytest.approx(2 / 3)


def test_locomo_category_3_cuts_the_gold_at_the_semicolon() -> None:
    gold = "Likely no; she wants to be a counselor"
    assert locomo_f1("likely no", gold, 3) == 1.0
    assert locomo_f1("likely no", gold, 4) < 1.0


@pytest.mark.parametrize("category", [2, 4])
def test_locomo_categories_2_and_4_are_plain_f1(category: int) -> None:
    assert locomo_f1("7 May 2023", "May 7th, 2023", category) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("No information available.", 1.0), ("It is NOT MENTIONED in the talk", 1.0), ("I do not know", 0.0), ("blue", 0.0)],
)
def test_locomo_category_5_knows_two_phrases(answer: str, expected: float) -> None:
    assert locomo_f1(answer, "", 5) == expected


def test_locomo_has_five_categories() -> None:
    with pytest.raises(ValueError, match="category 6"):
        locomo_f1("a", "b", 6)


def test_rouge_l() -> None:
    assert rouge_l("police killed the gunman", "police kill the gunman") == 1.0, "stems"
    # gunman polic kill | polic kill gunman: longest common: polic kill, 2 of 3 on both sides
    assert rouge_l("gunman police killed", "police kill gunman") == pytest.approx(2 / 3)
    assert rouge_l("", "x") == 0.0
    assert best_rouge_l("x y", ["q", "x"]) == pytest.approx(2 / 3)
    assert longest_common_subsequence("AGGTAB", "GXTXAYB") == 4


def test_exact_match_and_containment() -> None:
    assert exact_match("The Oslo!", ["bergen", "oslo"]) == 1.0
    assert exact_match("Oslo, Norway", ["oslo"]) == 0.0
    assert contains("She lives in Oslo, Norway.", ["oslo"]) == 1.0
    assert contains("She lives in Oslofjord.", ["oslo"]) == 0.0
    assert contains("anything", ["the"]) == 0.0, "an empty normal form is in nothing"
    assert contains("anything", []) == 0.0


@pytest.mark.parametrize(
    "answer",
    ["No information available", "", "  ", "I don't know.", "The memories do not mention a dog.", "That is not mentioned.",
     "I cannot determine this from the memories.", "There is no record of a trip.", "Unknown", "It isn't specified.",
     "The user did not say which one.", "You didn’t mention that."],
)  # fmt: skip
def test_answers_that_abstain(answer: str) -> None:
    assert says_nothing_known(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Oslo",
        "She does not like olives.",
        "He can't swim.",
        "In May. I don't know the day.",
        "They didn't go.",
        "No",
        "Nothing but tea.",
    ],
)
def test_answers_that_do_not_abstain(answer: str) -> None:
    assert not says_nothing_known(answer)


texts = st.text(alphabet="ab cd, the.", max_size=30)


@given(texts, texts)
def test_overlaps_are_symmetric_and_bounded(left: str, right: str) -> None:
    for measure in (token_f1, rouge_l):
        value = measure(left, right)
        assert 0 <= value <= 1
        assert value == pytest.approx(measure(right, left))
    assert rouge_l(left, right) <= token_f1(left, right) + 1e-12, "a common subsequence is common"


@given(texts)
def test_a_text_agrees_with_itself_unless_it_is_empty(text: str) -> None:
    expected = float(bool(normal_stems(text)))
    assert token_f1(text, text) == pytest.approx(expected)
    assert rouge_l(text, text) == pytest.approx(expected)
    assert exact_match(text, [text]) == 1.0


@given(st.text())
def test_the_normal_form_is_stable(text: str) -> None:
    once = normalize_answer(text)
    assert normalize_answer(once) == once


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=5))
def test_a_cosine_is_bounded(vector: list[float]) -> None:
    assert -1 <= cosine(vector, list(reversed(vector))) <= 1
