"""Changes of memories as diffs of their files."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import MemoryItem
from memoryd.dream.journal import GAP, MAX_LINES, file_lines

ITEM = MemoryItem(content="The parser is ours.\n\nSince May.", id="mem_000000000001", project="shop")
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40)


def test_a_reworded_memory_shows_the_old_and_the_new_words_and_little_else() -> None:
    lines = file_lines(ITEM, replace(ITEM, content="The parser is theirs.\n\nSince May."))
    assert ("-", "The parser is ours.") in lines and ("+", "The parser is theirs.") in lines
    assert (" ", "Since May.") in lines
    assert lines[0] == (GAP, "")
    assert len(lines) < 8


def test_a_new_memory_comes_whole_and_one_that_is_gone_goes_whole() -> None:
    assert {sign for sign, _ in file_lines(None, ITEM)} == {"+"}
    assert {sign for sign, _ in file_lines(ITEM, None)} == {"-"}
    assert [text for _, text in file_lines(None, ITEM)] == [text for _, text in file_lines(ITEM, None)]


def test_bookkeeping_is_not_a_change_and_a_long_one_is_cut() -> None:
    assert not [sign for sign, _ in file_lines(ITEM, replace(ITEM, backends=("vector",))) if sign in "+-"]
    long = file_lines(None, replace(ITEM, content="\n".join(map(str, range(1_000)))))
    assert (len(long), long[-1]) == (MAX_LINES + 1, (GAP, ""))


@given(texts, texts)
def test_what_stays_and_what_comes_are_lines_of_the_new_file(old: str, new: str) -> None:
    before, after = replace(ITEM, content=old), replace(ITEM, content=new)
    whole = [text for _, text in file_lines(None, after)]
    shown = [text for sign, text in file_lines(before, after) if sign in " +"]
    rest = iter(whole)
    assert all(text in rest for text in shown)
