"""Judge rules in many wordings by calls that violate them and by look-alikes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from memoryd.core.checks import Check, check_from_dict, check_to_dict
from memoryd.core.tool_calls import ToolCall
from memoryd.guard.compile import compile_rule
from memoryd.guard.evaluate import evaluate

Edit = tuple[str, str]
Call = TypeVar("Call")


def violates(check: Check, tool: str, given: dict[str, str]) -> bool:
    return bool(evaluate(check, ToolCall(tool, given, "/r", "/r"), branch="topic").violation)


def misjudged_lines(rule: str, wrong: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the shell lines that the rule's check misses, and the look-alikes that it touches."""
    return _misjudged(rule, wrong, right, lambda check, line: violates(check, "Bash", {"command": line}))


def misjudged_edits(rule: str, wrong: Sequence[Edit], right: Sequence[Edit]) -> tuple[list[Edit], list[Edit]]:
    """Return the same for edits, each a path and what is written there."""
    return _misjudged(rule, wrong, right, _edit_violates)


def _edit_violates(check: Check, edit: Edit) -> bool:
    path, text = f"/r/{edit[0]}", edit[1]
    if path.endswith(".ipynb"):
        return violates(check, "NotebookEdit", {"notebook_path": path, "new_source": text})
    return violates(check, "Write", {"file_path": path, "content": text})


def _misjudged(
    rule: str, wrong: Sequence[Call], right: Sequence[Call], judge: Callable[[Check, Call], bool]
) -> tuple[list[Call], list[Call]]:
    check = compile_rule(rule)
    assert check is not None
    assert check_from_dict(check_to_dict(check)) == check
    return [call for call in wrong if not judge(check, call)], [call for call in right if judge(check, call)]
