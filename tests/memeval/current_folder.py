"""The command line as in a terminal, with the files of the current folder."""

from __future__ import annotations

from click.testing import CliRunner, Result

from memeval.cli.app import build


def run(*words: str) -> Result:
    """Run a command in a wide terminal."""
    return CliRunner().invoke(build(), words, env={"COLUMNS": "200"})
