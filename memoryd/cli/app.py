"""All commands under one root."""

from __future__ import annotations

from memoryd.cli import admin, console, dreams, graph, memories, processes, review, router, sessions, settings
from memoryd.cli.root import Root, cli


def app() -> Root:
    """The root command with every command registered."""
    for module in (memories, review, graph, router, dreams, admin, sessions, settings, console, processes):
        for command in module.COMMANDS:
            cli.add_command(command)
    return cli


def main() -> None:
    """Entry point of the `memoryd` script."""
    app()(prog_name="memoryd")
