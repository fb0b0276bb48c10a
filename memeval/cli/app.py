"""All commands under one root, and the entry point."""

from __future__ import annotations

import io
import sys

import click

from memeval.cli import looking, reports, running, starting
from memeval.cli.root import cli


def build() -> click.Group:
    """Return the root with all commands."""
    for module in (running, looking, reports, starting):
        for command in module.COMMANDS:
            cli.add_command(command)
    return cli


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    build()()
