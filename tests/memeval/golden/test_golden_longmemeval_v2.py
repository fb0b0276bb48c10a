"""LongMemEval-V2's answers are scored as the official functions score them, on stored inputs."""

from __future__ import annotations

from typing import Any

import pytest

from memeval.core.longmemeval_v2 import binary_label, boxed, is_unknown, score
from tests.memeval.golden.conftest import table

TABLE = table("longmemeval_v2")


@pytest.mark.parametrize("function", sorted({row["function"] for row in TABLE["rows"]}))
def test_a_function_decides_as_the_official_one(function: str) -> None:
    rows = [row for row in TABLE["rows"] if row["function"] == function]
    assert [score(function, row["answer"], row["gold"]) for row in rows] == [row["right"] for row in rows]


@pytest.mark.parametrize("row", TABLE["boxed"], ids=lambda row: row["text"])
def test_the_last_box_is_the_answer(row: Any) -> None:
    assert boxed(row["text"]) == row["answer"]


@pytest.mark.parametrize("row", TABLE["labels"], ids=lambda row: row["reply"][:20])
def test_a_judges_label_is_read_as_the_official_code_does(row: Any) -> None:
    """Where that code fails, there is no verdict here."""
    assert binary_label(row["reply"]) == row["label"]


def test_unknown_is_said_in_any_case() -> None:
    assert is_unknown(" unknown ") and not is_unknown("unknown unknowns")
