"""The command that syncs memories between the user's machines."""

from __future__ import annotations

from typing import Any

import click

from memoryd.api import machines
from memoryd.cli.options import takes
from memoryd.cli.root import Context, json_option, pass_context

LONG = 3600.0


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def sync(ctx: click.Context, /) -> None:
    """Sync with your other machines, or without a subcommand apply changes that were made to the files by hand."""
    context: Context = ctx.obj
    if ctx.invoked_subcommand is not None:
        return
    result = context.call("sync", timeout=LONG)
    if not context.show(result):
        context.output.answer(result)


@sync.command()
@takes(machines.sync_init, "target", "code", "name")
@json_option
@pass_context
def init(context: Context, /, **options: Any) -> None:
    """Set up this machine and sync. TARGET is the address of your own git repository, or a folder that a file service shares.

    The first machine shows a code. Every further machine needs it: memoryd sync init TARGET --code CODE
    """
    result = context.call("sync_init", timeout=LONG, **options)
    if context.output.as_json:
        context.call("sync_now", timeout=LONG)
        context.show(context.call("sync_status"))
        return
    context.output.line(f"{result['name']} syncs with {result['target']}", "bold")
    context.output.line(f"Your other machines: memoryd sync init {result['target']} --code {result['code']}")
    context.output.line("Keep the code to yourself: a machine that knows it is trusted like this one.", "dim")
    _show_exchange(context, context.call("sync_now", timeout=LONG))


@sync.command()
@json_option
@pass_context
def status(context: Context, /) -> None:
    """Show where this machine syncs, the code for another machine, and what was left alone."""
    result = context.call("sync_status")
    if context.show(result):
        return
    if not result["target"]:
        context.output.line("Sync is not set up: memoryd sync init ADDRESS-OR-FOLDER")
        return
    rows = [("with", result["target"]), ("this machine", f"{result['name']} ({result['machine']})")]
    rows += [("last sync", result["last"] or "never"), ("code", result["code"])]
    rows += [("machine", f"{one['name']} ({one['id']})") for one in result["machines"]]
    context.output.table(("", ""), rows)
    _problems(context, result["problems"])


@sync.command()
@takes(machines.sync_now, "force")
@json_option
@pass_context
def now(context: Context, /, **options: Any) -> None:
    """Exchange memories with your other machines now."""
    result = context.call("sync_now", timeout=LONG, **options)
    if not context.show(result):
        _show_exchange(context, result)


def _show_exchange(context: Context, /, result: dict[str, Any]) -> None:
    parts = f"{result['received']} received, {result['sent']} sent, {result['merged']} merged, {result['deleted']} deleted"
    context.output.line(parts, "bold")
    for entry in result["held_back"]:
        context.output.line(f"held back: {entry['id']}: {entry['reason']}")
    _problems(context, result["problems"])
    if result["proposals"]:
        context.output.line(f"{result['proposals']} to decide on: memoryd proposals")


@sync.command("shut-out")
@takes(machines.sync_shut_out, "machine")
@json_option
@pass_context
def shut_out(context: Context, /, machine: str) -> None:
    """Take over nothing more from one of your machines, for example after it was lost."""
    result = context.call("sync_shut_out", machine=machine)
    if not context.show(result):
        context.output.line("This machine accepts nothing more from it. Do the same on your other machines.")


def _problems(context: Context, /, problems: list[dict[str, str]]) -> None:
    for entry in problems:
        context.output.line(f"left alone: {entry['path']}: {entry['reason']}")


COMMANDS = (sync,)
