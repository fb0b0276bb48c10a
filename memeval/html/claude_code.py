"""The section of a run page for runs of the real client: arm, how sessions ended, the four metrics, the trajectories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memeval.html.markup import Html, el
from memeval.html.page import table
from memeval.report.numbers import NONE, is_number, percent
from memeval.report.runs import RunResult


def claude_code(run: RunResult) -> Iterator[Html]:
    """Nothing for other runs."""
    told = run.find("claudecode")
    if not isinstance(told, Mapping):
        return
    yield el("h2", "Claude Code")
    rows = [(name, str(value)) for name, value in _facts(run, told)]
    yield table(("what", "value"), rows, frozenset())
    if (file := trajectories(run)) is not None:
        yield el("p", el("a", "Trajectories", href=file.name), " of all sessions, one JSON line each.", cls="small")


def trajectories(run: RunResult) -> Path | None:
    """The file beside the result, which is copied beside the page; None if it is not there."""
    name = run.find("claudecode", "trajectories")
    if not isinstance(name, str) or run.path is None or Path(name).name != name:
        return None
    file = run.path.with_name(name)
    return file if file.is_file() else None


def _facts(run: RunResult, told: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield "arm", told.get("arm", NONE)
    yield "model", told.get("model", NONE)
    yield "client", told.get("client_version", NONE)
    yield "history", run.find("claudecode", "differences", "history") or NONE
    ended = run.find("claudecode", "sessions", "by_status")
    if isinstance(ended, Mapping):
        yield "sessions", ", ".join(f"{number} {status}" for status, number in ended.items())
        if cached := run.find("claudecode", "sessions", "cached"):
            yield "from the cache", f"{cached} sessions, which an earlier run paid for"
    for name in ("accuracy", "recency", "efficiency", "relevancy"):
        yield name, metric_text(run.find("claudecode", "four_metrics", name))


def metric_text(cell: Any) -> str:
    """A metric with its target, and whether that is met."""
    if not isinstance(cell, Mapping) or not is_number(cell.get("value")):
        return NONE
    target = (
        f" (target {percent(cell['target'])} %, {'met' if cell.get('met') else 'not met'})"
        if is_number(cell.get("target"))
        else ""
    )
    return f"{percent(cell['value'])} %{target}"
