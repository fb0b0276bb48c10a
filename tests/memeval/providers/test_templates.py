from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.core.errors import ConfigError
from memeval.providers.http_client import fill, find, find_all, is_path

DATA = {"a": {"b": [1, {"c": "x"}, {"c": "y"}]}, "n": None, "f": 0.5, "it's": 1, "no": False}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", DATA),
        ("$.a.b[0]", 1),
        ("$.a.b[-1].c", "y"),
        ("$['a']['b'][1]['c']", "x"),
        ("$.a.b[*].c", [None, "x", "y"]),
        ("$.a[*]", None),
        ("$.missing.b", None),
        ("$.a.b[9]", None),
        ("$.n", None),
        ("$.n | $.f", 0.5),
        ("$.no | $.f", False),
        ("-$.f", -0.5),
        ("-$.a", None),
        ("zip($.a.b[*].c, $.a.b)", [[None, 1], ["x", {"c": "x"}], ["y", {"c": "y"}]]),
    ],
)
def test_paths_find_values(path: str, value: Any) -> None:
    assert find(path, DATA) == value


@pytest.mark.parametrize("path", ["a.b", "$a", "$.a[1:2]", "$..a", "$.a[?(@.b)]", "$.a.", "$['a", "zip(a)"])
def test_other_paths_are_config_errors(path: str) -> None:
    with pytest.raises(ConfigError, match="Known are"):
        find(path, DATA)


def test_one_value_is_a_list_of_one() -> None:
    assert find_all("$.f", DATA) == [0.5]
    assert find_all("$.n", DATA) == []


def test_templates_keep_types_and_put_texts_together() -> None:
    template = {
        "whole": "$.f",
        "text": "id-${a.b}",
        "plain": "$5",
        "list": ["$.no", 3],
        "gone": "$.n",
        "null": None,
        "deep": {"x": "$.f"},
    }
    filled = fill(template, {**DATA, "a": {"b": 7}})
    assert filled == {"whole": 0.5, "text": "id-7", "plain": "$5", "list": [False, 3], "null": None, "deep": {"x": 0.5}}


def test_each_makes_a_list() -> None:
    template = {"each": "$.rows", "item": {"v": "$.item.v", "tag": "${tag}"}}
    assert fill(template, {"rows": [{"v": 1}, {"v": 2}], "tag": "t"}) == [{"v": 1, "tag": "t"}, {"v": 2, "tag": "t"}]


def test_a_placeholder_without_value_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="runTag"):
        fill("x-${runTag}", {"id": 1})


@given(st.text())
def test_any_text_is_plain_or_a_path(text: str) -> None:
    if not is_path(text) and "${" not in text:
        assert fill(text, {}) == text


@given(st.recursive(st.none() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c), max_leaves=8))
def test_any_answer_can_be_read(answer: Any) -> None:
    found = {path: find(path, answer) for path in ("$", "$.a", "$[0].b", "$[*].a", "$.a[*]", "zip($.a, $.b)")}
    assert found["$"] == answer
    assert found["$.a"] == (answer.get("a") if isinstance(answer, dict) else None)
