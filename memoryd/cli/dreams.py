"""Commands for dreams: preview, run, undo and explain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import click

from memoryd.api import dreams
from memoryd.cli.options import takes
from memoryd.cli.root import Context, json_option, pass_context

LONG = 3600.0
MAX_DIFFS = 10_000
DROPPED = frozenset({"supersede", "archive", "expire"})
_SIGNS = {"create": ("+", "green"), **dict.fromkeys(DROPPED, ("-", "red"))}
_UNIMPORTANT = frozenset({"content", "entities", "created_at"})


@click.command()
@click.option("--dry-run", "dry", is_flag=True, help="Show what would be done and why, without changing anything.")
@click.option("--diff", is_flag=True, help="Also show the changed lines of each file.")
@click.option("--accept", multiple=True, metavar="PROPOSAL", help="Apply a proposal; 'all' for all. Repeatable.")
@click.option("--reject", multiple=True, metavar="PROPOSAL", help="Permanently refuse a proposal; 'all' for all. Repeatable.")
@json_option
@pass_context
def dream(context: Context, /, dry: bool, diff: bool, accept: tuple[str, ...], reject: tuple[str, ...]) -> None:
    """Merge duplicates, resolve contradictions and let old memories fade. Everything can be undone."""
    if accept or reject:
        _decide(context, accept, reject)
        return
    result = context.call("dream", timeout=LONG, dry_run=dry, lines=MAX_DIFFS if diff else None)
    if context.show(result):
        return
    _show_changes(context, result["changes"])
    _show_remarks(context, result)
    counted = ", ".join(f"{count} {stage}" for stage, count in result["counts"].items()) or "nothing to do"
    context.output.line(f"{'would change' if dry else result['entry'] or 'no change'}: {counted}", "bold")
    if result["entry"]:
        context.output.line(f"undo: memoryd undo {result['entry']}", "dim")


def _decide(context: Context, /, accept: tuple[str, ...], reject: tuple[str, ...]) -> None:
    result = context.call("decide", timeout=LONG, accept=accept, refuse=reject)
    if context.show(result):
        return
    _show_changes(context, result["accepted"])
    for id in result["changed_since"]:
        context.output.line(f"! {id} changed since it was proposed and was left unchanged; run 'memoryd dream' again", "yellow")
    context.output.line(f"{len(result['accepted'])} memories changed, {len(result['refused'])} proposals refused", "bold")


def _show_changes(context: Context, /, changes: Iterable[Mapping[str, Any]]) -> None:
    for stage, found in groupby(changes, key=lambda change: change["stage"]):
        context.output.line(stage, "bold cyan")
        for change in found:
            _show_change(context, change)


def _show_change(context: Context, /, change: Mapping[str, Any]) -> None:
    sign, style = _SIGNS.get(change["action"], ("~", "yellow"))
    context.output.line(f"  {sign} {change['action']}  {change['id']}  {change['content']}", style)
    fields = {name: pair for name, pair in change["differences"].items() if name not in _UNIMPORTANT}
    differences = ", ".join(f"{name}: {_short(old)} → {_short(new)}" for name, (old, new) in fields.items())
    context.output.line(f"      because {change['reason']}{'; ' + differences if differences else ''}", "dim")
    for sign, text in change.get("lines", ()):
        context.output.line(f"      {sign} {text}", {"+": "green", "-": "red"}.get(sign, "dim"))


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} entries" if any(isinstance(entry, dict) for entry in value) else ", ".join(value) or "none"
    return "none" if value in (None, "") else str(value)


def _show_remarks(context: Context, /, result: Mapping[str, Any]) -> None:
    for proposal in result["proposals"]:
        _show_proposal(context, proposal)
    for pair in result["undecided"]:
        context.output.line(f"? {pair['first']} against {pair['second']}: {pair['reason']}", "magenta")
    if result["model_failed"]:
        context.output.line(f"! the model failed on {result['model_failed']} questions, which were skipped", "red")
    if result["refused_before"]:
        context.output.line(f"{result['refused_before']} changes omitted because you refused them before", "dim")
    for id in result["changed_meanwhile"]:
        context.output.line(f"! {id} changed in the meantime and was left unchanged", "yellow")


def _show_proposal(context: Context, /, proposal: Mapping[str, Any]) -> None:
    context.output.line(f"{proposal['id']}  needs your consent: {proposal['why']}", "bold magenta")
    for change in proposal["changes"]:
        _show_change(context, change)


@click.command()
@takes(dreams.proposals, "lines")
@json_option
@pass_context
def proposals(context: Context, /, lines: bool | None) -> None:
    """List proposals that need your consent, and contradictions that only you can resolve."""
    result = context.call("proposals", lines=lines)
    if context.show(result):
        return
    for proposal in result["proposals"]:
        _show_proposal(context, proposal)
    for pair in result["undecided"]:
        context.output.line(f"undecided: {pair['reason']}", "bold magenta")
        for memory in pair["memories"]:
            context.output.line(f"  {memory['id']}  {memory['content']}")
    if result["proposals"]:
        context.output.line("memoryd dream --accept ID, or --reject ID; 'all' for all", "dim")
    if result["undecided"]:
        context.output.line("memoryd forget ID for the one that is wrong", "dim")
    if not result["proposals"] and not result["undecided"]:
        context.output.line("Nothing is waiting for you.")


@click.command()
@click.argument("id", required=False)
@takes(dreams.undo, "only")
@json_option
@pass_context
def undo(context: Context, /, id: str | None, only: tuple[str, ...]) -> None:
    """Undo the last dream, a journal entry (dream-0007) or the last change of a memory (mem_…)."""
    result = context.call("undo", timeout=LONG, id=id, only=only)
    if context.show(result):
        return
    for refusal in result["refused"]:
        context.output.line(f"! {refusal['path']} was left unchanged: {refusal['reason']}", "yellow")
    if result["refused"]:
        context.output.line(f"  compare it with the journal ('memoryd journal {result['of']}') and edit it by hand", "dim")
    number = len(result["restored"])
    if not number and not result["refused"]:
        context.output.line(f"Nothing was changed: {result['of']} had been undone before.", "bold")
        return
    message = f"{number} {'memory was' if number == 1 else 'memories were'} restored to the state before {result['of']}"
    context.output.line(result.get("note", message), "bold")
    if result["entry"]:
        context.output.line(f"redo: memoryd undo {result['entry']}", "dim")


@click.command()
@click.argument("id", required=False)
@takes(dreams.journal, "limit", "lines")
@json_option
@pass_context
def journal(context: Context, /, id: str | None, limit: int, lines: bool | None) -> None:
    """List what dreams did, newest first, or show one entry with every change and its reason."""
    result = context.call("journal", id=id, limit=limit, lines=lines)
    if context.show(result):
        return
    if id:
        _show_changes(context, result["changes"])
        return
    if not result["entries"]:
        context.output.line("The journal is empty: no dream has changed anything so far.")
        return
    rows = [(e["id"], e["at"][:16], e["trigger"], _state(e), _counted(e["counts"])) for e in result["entries"]]
    context.output.table(("entry", "when", "why", "state", "changes"), rows)


def _state(entry: Mapping[str, Any]) -> str:
    if not entry["undone"]:
        return f"{entry['step']} {entry['of']}".strip()
    return "undone" if len(entry["undone"]) == entry["memories"] else f"{len(entry['undone'])} undone"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {stage}" for stage, count in counts.items())


@click.command()
@takes(dreams.why)
@json_option
@pass_context
def why(context: Context, /, id: str) -> None:
    """Show where a memory came from, what used it and what changed it."""
    result = context.call("why", id=id)
    if context.show(result):
        return
    out, origin = context.output, result["origin"]
    out.memories([result["memory"]])
    rows = [(name, ", ".join(value) if isinstance(value, list) else value) for name, value in origin.items() if value]
    rows += [("file", result["path"] or "deleted")]
    rows += [(name.replace("_", " "), ", ".join(result[name])) for name in ("replaces", "replaced_by") if result[name]]
    rows += [("edited", "manually")] if result["edited_by_hand"] else []
    rows += [("found by", key) for key in result["memory"]["asked_as"]]
    rows += [("used", _counted(result["used"]) or "never")]
    out.table(("", ""), rows)
    for use in result["uses"]:
        out.line(f"  {use['at'][:16]}  {use['how']} in session {use['session']}", "dim")
    for change in result["changes"]:
        back = " (undone)" if change["undone"] else ""
        out.line(f"  {change['at'][:16]}  {change['entry']}: {change['action']}{back}, because {change['reason']}")


COMMANDS = (dream, proposals, undo, journal, why)
