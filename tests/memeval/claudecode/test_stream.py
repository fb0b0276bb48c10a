"""Tests of parsing the client's output."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.claudecode.client import fault_of, read_stream
from memeval.claudecode.contract import ErrorKind
from memoryd.llm.print_mode import usage_of


def printed(*lines: dict[str, Any]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_tools_hooks_and_the_result_are_read_and_the_rest_is_skipped() -> None:
    stream = read_stream(
        "noise\n"
        + printed(
            {"type": "system", "subtype": "init", "model": "m"},
            {"type": "system", "subtype": "hook_response", "hook_event": "SessionStart", "stdout": "{}"},
            {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"a": 1}}]}},
            {
                "type": "user",
                "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"text": "seen"}]}]},
            },
            {"type": "something-new", "x": 1},
            {"type": "result", "result": "yes", "total_cost_usd": 0.5},
        )
    )
    assert stream.init["model"] == "m"
    assert stream.hooks == (("SessionStart", "{}"),)
    (call,) = stream.tool_calls
    assert (call.name, call.arguments, call.result) == ("Read", {"a": 1}, "seen")
    assert fault_of(stream, 0, "") is None


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        ({"result": "Not logged in · Please run /login"}, ErrorKind.LOGIN),
        ({"result": "API Error", "api_error_status": 401}, ErrorKind.LOGIN),
        ({"result": "API Error", "api_error_status": 429}, ErrorKind.RATE_LIMIT),
        ({"result": "You've hit your limit · resets 3pm"}, ErrorKind.RATE_LIMIT),
        ({"result": "There's an issue with the selected model (x). It may not exist"}, ErrorKind.MODEL),
        ({"result": "API Error: Connection error."}, ErrorKind.NETWORK),
        ({"subtype": "error_max_turns", "errors": ["Reached maximum number of turns (1)"]}, ErrorKind.MAX_TURNS),
        ({"subtype": "error_max_budget_usd"}, ErrorKind.BUDGET),
        ({"result": "Something else"}, ErrorKind.CRASH),
    ],
)
def test_a_fault_has_its_kind_and_a_fix(response: dict[str, Any], kind: ErrorKind) -> None:
    fault = fault_of(read_stream(printed({"type": "result", "is_error": True, **response})), 1, "")
    assert fault is not None
    assert fault.kind is kind
    assert fault.fix


def test_an_end_without_a_result_is_a_crash_and_an_unknown_option_an_old_client() -> None:
    assert fault_of(read_stream(""), -9, "").kind is ErrorKind.CRASH
    assert fault_of(read_stream(""), 1, "error: unknown option '--x'").kind is ErrorKind.CLIENT


def test_cached_input_counts_as_input_and_an_unknown_cost_stays_unknown() -> None:
    models = {"a": {"inputTokens": 1, "cacheReadInputTokens": 2, "cacheCreationInputTokens": 4, "outputTokens": 8}}
    used = usage_of({"modelUsage": models})
    assert (used.input_tokens, used.output_tokens, used.cost_usd) == (7, 8, None)


@given(
    st.lists(
        st.recursive(
            st.none() | st.integers() | st.text(max_size=20),
            lambda inner: st.dictionaries(st.text(max_size=20), inner, max_size=5) | st.lists(inner, max_size=5),
            max_leaves=12,
        ),
        max_size=5,
    )
)
def test_a_result_is_read_behind_any_json(lines: list[Any]) -> None:
    stream = read_stream(printed(*lines, {"type": "result", "result": "yes"}))
    assert stream.result is not None and stream.result["result"] == "yes"
