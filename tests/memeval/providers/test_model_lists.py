"""Parsing the JSON list of a model's answer, for all providers that request one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.core.errors import ProviderError
from memeval.core.types import Session, Turn
from memeval.models.scripted import ScriptedModel
from memeval.providers.expansion import expand
from memeval.providers.local import ask_list, json_list
from tests.costs import assert_linear

SESSION = Session("s1", (Turn("s1:1", "user", "I have a boat."),))
WORDS = st.text(st.characters(exclude_characters="[]{}", codec="utf-8"))


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1), WORDS, WORDS, st.booleans())
def test_a_list_is_found_alone_in_an_object_and_within_text(items: list[str], before: str, after: str, inside: bool) -> None:
    value = {"count": len(items), "items": items} if inside else items
    assert json_list(f"{before}{json.dumps(value)}{after}") == items


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("[]", []),
        ('```json\n["a"]\n```', ["a"]),
        ('As in [2024] and {x}: ["a", "b"] (see [3])', ["a", "b"]),
        ('{"questions": ["a"]}', ["a"]),
        ('{"none": []}', []),
        ("[1, 2]", [1, 2]),
        ('["cut off', None),
        ('{"turn": 1}', None),
        ("no list", None),
        ("", None),
    ],
)
def test_what_is_taken_for_the_list(answer: str, expected: list[object] | None) -> None:
    assert json_list(answer) == expected


@pytest.mark.parametrize("unit", ["[", '[{"a":', "[1,"])
def test_a_text_of_brackets_is_given_up_in_linear_time(unit: str) -> None:
    assert json_list(unit * 100_000) is None
    assert_linear(json_list, unit, 60_000)


def test_every_provider_reads_a_list_in_an_object() -> None:
    assert ask_list(ScriptedModel(default='Sure: {"questions": ["Who?", " ", 7]}'), "Ask.", "text") == ["Who?"]
    reply = '{"facts": [{"turn": 1, "text": "She has a boat."}, "Loose."]}'
    assert expand(ScriptedModel(default=reply), "userfact", SESSION) == [(1, "She has a boat."), (0, "Loose.")]
    with pytest.raises(ProviderError, match="no JSON list"):
        expand(ScriptedModel(default="None."), "event", SESSION)
