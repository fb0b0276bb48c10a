"""Collect all commands under one root and provide the entry point."""

from __future__ import annotations

import io
import sys

import click

from memeval.cli import looking, reports, running, starting, suites
from memeval.cli.root import cli


def build() -> click.Group:
    """Return the root command with all subcommands."""
    for module in (running, suites, looking, reports, starting):
        for command in module.COMMANDS:
            cli.add_command(command)
    return cli


def main() -> None:
    """Run the command line. This is the entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    build()()
