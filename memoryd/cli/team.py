"""The command for a team that reviews its memories in a git repository."""

from __future__ import annotations

from typing import Any

import click

from memoryd.api import team as operations
from memoryd.cli.options import takes
from memoryd.cli.root import Context, json_option, pass_context

LONG = 300.0


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def team(ctx: click.Context, /) -> None:
    """Use the memories that your team reviews in this repository. Without a subcommand, show them."""
    if ctx.invoked_subcommand is None:
        _status(ctx.obj)


@team.command()
@takes(operations.team_init, "remote", "branch", "folder")
@json_option
@pass_context
def init(context: Context, /, **options: Any) -> None:
    """Join the team of this repository, or found it.

    What the default branch of the remote holds in .memory becomes known here, now and after each git fetch or pull.
    """
    result = context.call("team_init", timeout=LONG, **options)
    if not context.show(result):
        _show(context, result)
        context.output.line("Propose a memory of yours: memoryd share ID", "dim")


@team.command()
@json_option
@pass_context
def status(context: Context, /) -> None:
    """Read what the team has reviewed up to the last git fetch, and show it."""
    _status(context)


def _status(context: Context, /) -> None:
    result = context.call("team_status", timeout=LONG)
    if not context.show(result):
        _show(context, result)


@team.command()
@json_option
@pass_context
def audit(context: Context, /) -> None:
    """Show who brought, changed or removed which memory, by the commits of the default branch."""
    result = context.call("team_audit", timeout=LONG)
    if context.show(result):
        return
    rows = [
        (one["at"][:10], one["commit"], f"{one['author']} <{one['email']}>", one["what"], one.get("statement") or one["path"])
        for one in result["changes"]
    ]
    context.output.table(("when", "commit", "who", "what", "memory"), rows)


@team.command()
@json_option
@pass_context
def leave(context: Context, /) -> None:
    """Remove the team's memories from this machine, and take over nothing more."""
    result = context.call("team_leave", timeout=LONG)
    if not context.show(result):
        context.output.line(f"{_count(result['removed'])} of the team removed here. The repository was not changed.")


def _count(number: int) -> str:
    return "1 memory" if number == 1 else f"{number} memories"


def _show(context: Context, result: dict[str, Any], /) -> None:
    if not result["joined"]:
        context.output.line("You have not joined this project's team: memoryd team init")
        return
    context.output.line(f"{_count(len(result['memories']))} of the team, from {result['branch']} of {result['address']}", "bold")
    for one in result["memories"]:
        context.output.line(f"{one['id']}  {one['kind']}  {one['content']}")
    for entry in result["left_alone"]:
        context.output.line(f"left alone: {entry['path']}: {entry['reason']}")
    if not result["here"]:
        context.output.line(f"only a git fetch in {result['clone']} has an effect; to use this clone instead: memoryd team init")
    if result["problem"]:
        context.output.line(f"nothing newer could be read: {result['problem']}")


@click.command()
@takes(operations.share, "id")
@json_option
@pass_context
def share(context: Context, /, **options: Any) -> None:
    """Share an active memory with the team, after another check for secrets and personal data.

    In a repository whose team you joined, this writes a file for you to commit. In a team's database, the memory is stored there.
    """
    result = context.call("share", **options)
    if context.show(result):
        return
    if "proposal" not in result:
        context.output.line(f"{result['memory']['id']} is stored with the team. A teammate approves it: memoryd approve ID")
        return
    context.output.line(f"written: {result['proposal']}")
    context.output.line(result["next"])


COMMANDS = (share, team)
