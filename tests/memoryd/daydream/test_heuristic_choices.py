from __future__ import annotations

import pytest

from memoryd.core.types import Turn, TurnKind
from memoryd.daydream.offline.units import offered, picked
from tests.memoryd.daydream.talk import contents, talk

OFFER = """Here are the ways:

## Option 1: Ask once
- A blocking prompt on the first run

## Option 2: Inform only
Show a notice on the first run instead of a question.

Which do you prefer?"""


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("let's go with option 2", "2"),
        ("Option B please", "2"),
        ("the second one", "2"),
        ("2", "2"),
        ("1 sounds good", "1"),
        ("我选 2", "2"),
        ("option 1 doesn't work", ""),
        ("what is the difference between option 1 and 2?", ""),
        ("the page has 2 columns", ""),
        ("yes", ""),
    ],
)
def test_only_a_clear_pick_counts(text: str, number: str) -> None:
    assert picked(text) == number


def test_an_option_is_read_with_its_first_statement() -> None:
    assert offered(OFFER, "2") == "Inform only. Show a notice on the first run instead of a question."


def test_a_numbered_list_is_an_offer_too() -> None:
    assert offered("We can:\n1. Keep the file\n2. **Delete the file** and its index\n", "2") == "Delete the file and its index"


def test_no_list_no_option() -> None:
    assert offered("I changed two files.", "2") == ""
    assert offered(OFFER, "3") == ""


def test_a_pick_is_kept_in_words_that_stand_alone() -> None:
    assert "Show a notice on the first run" in contents(
        talk("U: let's go with option 2", "A: Got it.", first=3), talk(f"A: {OFFER}")
    )


def test_an_answer_is_read_with_its_question() -> None:
    asked = talk("A: I have a question about the storage. Which one should we use?")
    answer = Turn(
        TurnKind.USER,
        "Only SQLite, we should never need a server",
        "u2",
        2,
        via="answer",
        detail="Which database should the service use?",
    )
    assert "Which database should the service use? Only SQLite" in contents((*asked, answer, *talk("A: Got it.", first=3)))
