"""Measures taken from a session's log: prompts, tool calls, tokens, corrections, reverted edits, tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memoryd.daydream.measures import measure
from tests.memoryd.daydream.log_lines import REJECTED, Log, write


def _reply(log: Log, id: str, blocks: list[dict[str, Any]], **usage: int) -> dict[str, Any]:
    entry = log.assistant(blocks)
    entry["message"] |= {"id": id, "usage": usage}
    return entry


def _edit(log: Log, use: str, old: str, new: str) -> dict[str, Any]:
    return log.tool_use(use, "Edit", file_path="/home/ann/shop/a.py", old_string=old, new_string=new)


def test_the_tokens_of_a_message_count_once_however_many_lines_it_has(tmp_path: Path) -> None:
    log = Log()
    text = [{"type": "text", "text": "Done."}]
    found = measure(
        write(
            tmp_path / "log.jsonl",
            log.user("Please tidy the parser."),
            _reply(log, "m1", text, input_tokens=10, cache_read_input_tokens=100, output_tokens=1),
            _reply(log, "m1", text, input_tokens=10, cache_read_input_tokens=100, output_tokens=7),
            _reply(log, "m2", text, input_tokens=1, output_tokens=2),
        )
    )
    assert (found.prompts, found.tokens) == (1, 120)


def test_corrections_are_prompts_that_deny_and_calls_that_the_user_rejected(tmp_path: Path) -> None:
    log = Log()
    found = measure(
        write(
            tmp_path / "log.jsonl",
            log.user("Please rename the handler."),
            log.tool_use("t1", "Bash", command="rm -r build"),
            log.result("t1", REJECTED, error=True, toolUseResult="User rejected tool use"),
            log.user("No, keep the build folder and rename only the handler."),
            log.user("Now the tests."),
        )
    )
    assert (found.prompts, found.corrections) == (3, 2)


def test_an_edit_that_is_taken_back_and_a_discarding_command_count_as_reverted(tmp_path: Path) -> None:
    log = Log()
    found = measure(
        write(
            tmp_path / "log.jsonl",
            log.user("Please change the limit."),
            _edit(log, "t1", "limit = 5", "limit = 9"),
            _edit(log, "t2", "limit = 9", "limit = 5"),
            _edit(log, "t3", "limit = 5", "limit = 7"),
            log.tool_use("t4", "Bash", command="git checkout -- a.py"),
            log.tool_use("t5", "Bash", command="git checkout main"),
        )
    )
    assert (found.steps, found.reverted) == (5, 2)


def test_test_runs_and_their_results_are_counted(tmp_path: Path) -> None:
    log = Log()
    found = measure(
        write(
            tmp_path / "log.jsonl",
            log.user("Please fix it."),
            log.tool_use("t1", "Bash", command="pytest -q"),
            log.result("t1", "1 failed", error=True),
            log.tool_use("t2", "Bash", command="pytest -q"),
            log.result("t2", "3 passed"),
            log.tool_use("t3", "Bash", command="ls"),
            log.result("t3", "a.py"),
        )
    )
    assert (found.test_runs, found.tests_passed) == (2, 1)


def test_broken_lines_and_odd_values_are_passed_over(tmp_path: Path) -> None:
    log = Log()
    odd = log.assistant("Done.")
    odd["message"]["usage"] = {"input_tokens": "many", "output_tokens": None}
    nothing = measure(write(tmp_path / "log.jsonl", b"{broken", b"[1, 2]", odd, log.line("assistant", message="text")))
    assert (nothing.prompts, nothing.tokens) == (0, 0)
