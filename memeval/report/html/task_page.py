"""Render the page of a coding task, with each arm's input, steps, changes and test output side by side."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memeval.report.html.page import Html, el, esc, facts, join, page, table
from memeval.report.html.run_bench_page import CellView, command_title
from memeval.report.runs import number
from memeval.report.table import dollars, short

Session = Mapping[str, Any]
_NUMBERS = frozenset({"tokens of memory", "used", "turns", "tokens", "cost"})


def sessions_of(file: Path) -> dict[str, list[Session]]:
    """Return the coding sessions in a trajectory file, keyed by task. Unreadable lines are skipped."""
    found: dict[str, list[Session]] = defaultdict(list)
    with file.open("rb") as lines:
        for line in lines:
            try:
                session = json.loads(line)
            except ValueError:
                continue
            if isinstance(session, dict) and session.get("kind") == "task":
                found[f"{session.get('sequence')}/{session.get('step')}"].append(session)
    return dict(found)


def task_page(task: str, cells: Sequence[CellView], sessions: Mapping[str, Sequence[Session]], command: str) -> str:
    """Render the page of a task. `sessions` maps run ids to the run's sessions, and `command` is the page of the command."""
    asked = next((str(one.get("prompt", "")) for found in sessions.values() for one in found), "")
    columns = ("arm", "outcome", "why", "tokens of memory", "used", "turns", "tokens", "cost")
    pairs = [(cell, session) for cell in cells for session in sessions.get(cell.run_id, ())]
    return page(
        f"{task}: every arm",
        el("p", el("a", "Does memory pay?", href=command), f" · {command_title(cells)}", cls="small"),
        el("h1", task),
        el("div", asked, cls="said", dir="auto"),
        el("h2", "In short"),
        table(columns, [_row(cell, task, session) for cell, session in pairs], _NUMBERS),
        el("h2", "Every arm"),
        el("div", [_arm(cell, task, session) for cell, session in pairs], cls="arms", tabindex="0"),
    )


def _row(cell: CellView, task: str, session: Session) -> tuple[object, ...]:
    usage = _part(session, "usage")
    tokens = sum(number(usage.get(name)) or 0 for name in ("input_tokens", "output_tokens"))
    return (
        cell.name,
        _outcome(cell, task),
        _graded(session).get("verdict") or session.get("message") or "",
        short(sum(number(_part(session, name).get("tokens")) or 0 for name in ("injected", "retrieved"))),
        short(len(_list(session, "used"))),
        short(number(session.get("turns"))),
        short(tokens),
        dollars(number(usage.get("cost_usd"))),
    )


def _outcome(cell: CellView, task: str) -> Html:
    word = cell.marks[task][0] if task in cell.marks else "open"
    return el("span", word, cls=f"mark {word}")


def _arm(cell: CellView, task: str, session: Session) -> Html:
    graded = _graded(session)
    return el(
        "section",
        el("h3", cell.name, " ", _outcome(cell, task)),
        facts([("session", session.get("status")), ("tests", graded.get("verdict")), ("message", session.get("message"))]),
        el("h3", "Memory given"),
        _given(session, "injected", "Nothing was given."),
        el("h3", "Memory asked for"),
        _given(session, "retrieved", "Nothing was requested."),
        el("h3", "Memory used"),
        _used(session),
        el("h3", "What it did"),
        [_call(call) for call in _list(session, "calls")] or el("p", "No tool was called.", cls="soft"),
        el("h3", "What it answered"),
        _text(session.get("answer"), "No answer was made."),
        el("h3", "Patch"),
        _text(graded.get("patch"), "Nothing was changed."),
        el("h3", "Test output"),
        _text(graded.get("test output"), "No tests were run."),
        el("h3", "Memory written"),
        list(_written(session)) or el("p", "Nothing was written.", cls="soft"),
        cls="card",
    )


def _given(session: Session, name: str, otherwise: str) -> Html:
    items = [one for one in _list(_part(session, name), "items") if isinstance(one, Mapping)]
    shown = [
        el("details", el("summary", f"{one.get('via')} · {one.get('id') or 'text'} · {one.get('tokens')} tokens", cls="small"),
           _text(one.get("text"), ""))
        for one in items
    ]  # fmt: skip
    return join(shown or [el("p", otherwise, cls="soft")])


def _used(session: Session) -> Html:
    found = [one for one in _list(session, "used") if isinstance(one, Mapping)]
    lines = [el("li", f"{one.get('id')} ({one.get('how')})") for one in found]
    return el("ul", lines) if lines else el("p", "No memory was cited or repeated.", cls="soft")


def _call(call: object) -> Html:
    one = call if isinstance(call, Mapping) else {}
    arguments = json.dumps(one.get("arguments"), ensure_ascii=False, indent=1)
    mark = el("span", " failed", cls="mark wrong") if one.get("is_error") else None
    inner = (el("div", arguments.replace("\\n", "\n"), cls="said"), _text(one.get("result"), "No result."))
    return el("details", el("summary", str(one.get("name")), mark, cls="small"), *inner)


def _written(session: Session) -> Iterator[Html]:
    for change in _part(session, "written").values():
        for kind in ("new", "changed"):
            for key, text in _part(change, kind).items() if isinstance(change, Mapping) else ():
                yield el("details", el("summary", f"{kind}: {key}", cls="small"), _text(text, ""))


def _text(text: object, otherwise: str) -> Html:
    if not text:
        return el("p", otherwise, cls="soft") if otherwise else esc("")
    return el("div", str(text), cls="said code", dir="auto")


def _graded(session: Session) -> Mapping[str, Any]:
    return _part(session, "graded")


def _part(session: Session, name: str) -> Mapping[str, Any]:
    found = session.get(name)
    return found if isinstance(found, Mapping) else {}


def _list(session: Session, name: str) -> Sequence[Any]:
    found = session.get(name)
    return found if isinstance(found, list) else []
