from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.api.registry import Tool, tools
from memoryd.mcp.answers import MIN_BUDGET, fit, render, size

LEAVES = st.text(max_size=300) | st.integers(-(2**53), 2**53) | st.none() | st.booleans()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=8), inner, max_size=5), max_leaves=30
)


@given(
    st.sampled_from([operation.tool for operation in tools().values()]),
    st.lists(st.fixed_dictionaries({"id": st.just("mem_1"), "content": st.text(max_size=900)}), max_size=30),
    st.integers(0, 3000),
)
def test_a_list_never_breaks_the_budget_and_loses_only_its_end(tool: Tool, entries: list[Any], budget: int) -> None:
    key = tool.list_key or "things"
    answer = fit(tool, {key: entries}, budget)
    assert size(answer) <= max(budget, MIN_BUDGET)
    assert [e["id"] for e in answer[key]] == [e["id"] for e in entries][: len(answer[key])]
    if tool.list_key:
        assert len(answer[key]) + answer.get("left_out", 0) == len(entries)


@given(VALUES)
def test_what_fits_is_left_as_it_is(value: Any) -> None:
    answer = {"value": value}
    if size(answer) <= 50_000:
        assert fit(tools()["memory_status"].tool, answer, 50_000) == orjson.loads(orjson.dumps(answer))


def test_details_go_before_entries() -> None:
    hits = [{"id": f"m{n}", "content": "x", "parts": {"a": 0.123456}, "evidence": {"transcript": "y" * 40}} for n in range(20)]
    answer = fit(tools()["recall"].tool, {"hits": hits}, 300)
    assert len(answer["hits"]) == 20 and "parts" not in answer["hits"][0]
    assert "get_memory" in answer["note"] and "left_out" not in answer


def test_more_that_the_api_held_back_is_reported_even_when_all_fits() -> None:
    assert fit(tools()["list_memories"].tool, {"memories": [], "total": 9, "left_out": 9}, 500)["note"].startswith(
        "9 more; narrow by kinds"
    )


@pytest.mark.parametrize("text", ["记忆" * 4000, '"\\' * 9000, "x" * 30_000])
def test_one_long_text_is_cut_and_that_is_reported(text: str) -> None:
    answer = fit(tools()["get_memory"].tool, {"memory": {"id": "m", "content": text}}, 400)
    assert size(answer) <= 400 and answer["memory"]["content"].endswith("…") and "cut" in answer["note"]
    assert orjson.loads(render(answer)) == answer
