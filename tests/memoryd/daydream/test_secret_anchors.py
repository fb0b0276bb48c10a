"""The literals found word by word equal those found by searching each one."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from memoryd.daydream.secret_values import Anchors, ScannedText, Stems, stems_in

LITERALS = ("pass", "password", "as", "key", "key-", "://", "x-", "пароль", "密码", "straße", "i")
SHAPES = {"<digits>": re.compile(r"\d{2,400}"), "<long>": re.compile(r"[a-z]{8}")}
PARTS = st.sampled_from(
    [*LITERALS, "PASSWORD", "KeY-", "İ", "ß", "STRASSE", "ПАРОЛЬ", "12", "abcdefgh", " ", "\n", "\u3000", "q", "."]
)
TEXTS = st.lists(st.one_of(PARTS, st.text(max_size=6)), max_size=12).map("".join)


def occurring(text: str) -> set[str]:
    folded = text.replace("İ", "I").casefold()
    literals = {literal.casefold() for literal in LITERALS if literal.casefold() in folded}
    return literals | {name for name, shape in SHAPES.items() if any(shape.search(word) for word in text.split())}


@given(st.lists(TEXTS, max_size=6))
def test_the_anchors_of_a_text_are_the_literals_and_shapes_in_it_whatever_was_seen_before(texts: list[str]) -> None:
    anchors = Anchors(LITERALS, SHAPES)
    for text in texts:
        assert anchors.within(text) == occurring(text)
        assert anchors.within(text) == occurring(text)


@given(TEXTS)
def test_stems_are_found_wherever_they_begin(text: str) -> None:
    stems = stems_in("pass key- as~key 密码")
    low = ScannedText(text, frozenset()).low()
    there = Anchors(stems.parts, {}).within(text)
    expected = {match.start() for stem in ("pass", "key-", "as key", "密码") for match in re.finditer(re.escape(stem), low)}
    assert len(low) == len(text)
    assert stems.positions(low, there) == sorted(expected)


def test_stems_with_a_space_are_searched_for_by_their_longest_part() -> None:
    stems = Stems(["mot de passe", "pin"])
    assert stems.parts == {"passe", "pin"}
    assert stems.positions("le mot de passe", frozenset({"passe"})) == [3]


def test_many_different_words_do_not_make_the_anchors_grow_without_bound() -> None:
    anchors = Anchors(("key",), {})
    for number in range(30):
        anchors.within(" ".join(f"w{number}x{n}" for n in range(2_000)))
    assert anchors.remembered() <= 42_000
    assert anchors.within("the key") == {"key"}
