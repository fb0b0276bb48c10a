"""The command for session reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from memoryd.api import sessions as operations
from memoryd.cli.options import takes
from memoryd.cli.root import Context, json_option, pass_context

_ID_CHARS = 8


@click.command()
@click.argument("session", required=False)
@takes(operations.sessions, "limit", "project")
@click.option("--refused", "show_refused", is_flag=True, help="Also show statements that were not kept, with reasons.")
@json_option
@pass_context
def sessions(context: Context, /, session: str | None, limit: int, project: str | None, show_refused: bool) -> None:
    """List sessions, or show what was read, kept, skipped, injected and used in one, and its cost."""
    if session is not None:
        report = context.call("session_report", session=session)
        if not context.show(report):
            _show(context, report, show_refused)
        return
    result = context.call("sessions", limit=limit, project=project)
    if context.show(result):
        return
    columns = ("session", "last", "project", "turns", "kept", "known", "skipped", "tokens", "given", "cited", "failed")
    context.output.table(columns, [_row(row) for row in result["sessions"]])
    if result["left_out"]:
        context.output.line(f"{result['left_out']} more: --limit", "dim")
    if not result["sessions"]:
        context.output.line("No sessions yet.")


def _cost(cost_usd: float | None) -> str:
    return "cost unknown" if cost_usd is None else f"${cost_usd:.4f}"


def _row(row: Mapping[str, Any]) -> tuple[object, ...]:
    name = row["session"][:_ID_CHARS] + (" (off)" if row["off"] else "")
    where = row["project_name"] or row["project"]
    skipped = sum(row["skipped"].values())
    read = row["turns"], row["kept"], row["known"], skipped, row["tokens"]
    return name, row["last"][:16], where, *read, row["given"]["tokens"], cited_of(row["given"]), row["failed"][:60]


def cited_of(given: Mapping[str, int]) -> str:
    """Return how many of the memories given to a session it cited."""
    return f"{given['cited']} of {given['memories']}"


def _show(context: Context, /, report: Mapping[str, Any], show_refused: bool) -> None:
    out = context.output
    rows: list[tuple[str, object]] = [
        ("session", report["session"] + (" (off)" if report["off"] else "")),
        ("project", f"{report['project_name']} {report['project']}".strip()),
        ("folder", report["cwd"]),
        ("log", report["transcript"]),
        ("from, to", f"{report['started_at'][:16]} {(report['ended_at'] or report['last'])[:16]}".strip()),
        ("read", f"{report['bytes_read']} bytes, {report['turns']} turns, in {len(report['runs'])} day dreams"),
        ("reader", f"{report['extractor']} {report['model']}".strip()),
        ("cost", f"{report['calls']} calls, {report['tokens']} tokens, {_cost(report['cost_usd'])}"),
        ("given", f"{report['given']['tokens']} tokens{_by_event(report)}; cited {cited_of(report['given'])} memories"),
        ("skipped", ", ".join(f"{count} {reason}" for reason, count in sorted(report["skipped"].items())) or "nothing"),
    ]
    out.table(("", ""), [row for row in rows if row[1]])
    if report["failed"]:
        out.line(f"! {report['failed']}", "red")
    _statements(context, "kept", report["kept_statements"], "green")
    _statements(context, "already known", report["known_statements"], "cyan")
    if show_refused:
        _statements(context, "not kept", report["refused_statements"], "yellow")
    elif report["refused_statements"]:
        out.line(f"not kept: {len(report['refused_statements'])} statements on record, see --refused", "dim")
    _memories(context, "injected", [(entry, entry["event"]) for entry in report["injected"]])
    _memories(context, "used", [(entry, entry["how"]) for entry in report["used"]])


def _by_event(report: Mapping[str, Any]) -> str:
    parts = [f"{tokens} at {event}" for event, tokens in report["given_by_event"].items()]
    return f" ({', '.join(parts)})" if parts else ""


def _statements(context: Context, /, title: str, entries: list[Mapping[str, Any]], style: str) -> None:
    if not entries:
        return
    context.output.line(title, f"bold {style}")
    for entry in entries:
        where = [entry["memory"], f"line {entry['line']}" if entry["line"] else "", f"{entry['source']}: {entry['reason']}"]
        context.output.line(f"  {entry['text'] or '(the log was deleted, or memory is off for it)'}")
        context.output.line(f"      {', '.join(part for part in where if part)}", "dim")


def _memories(context: Context, /, title: str, entries: list[tuple[Mapping[str, Any], str]]) -> None:
    if not entries:
        return
    context.output.line(title, "bold")
    for entry, how in entries:
        context.output.line(f"  {entry['id']}  {entry['at'][:16]}  {how}  {entry['content'] or '(deleted)'}")


COMMANDS = (sessions,)
