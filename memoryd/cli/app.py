"""All commands under one root."""

from __future__ import annotations

from memoryd.cli import admin, dreams, memories, processes, sessions
from memoryd.cli.root import Root, cli


def app() -> Root:
    """The root command with every command registered."""
    for command in (*memories.COMMANDS, *dreams.COMMANDS, *admin.COMMANDS, *sessions.COMMANDS, *processes.COMMANDS):
        cli.add_command(command)
    return cli


def main() -> None:
    """Entry point of the `memoryd` script."""
    app()(prog_name="memoryd")
