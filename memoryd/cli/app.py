"""All commands under one root."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from memoryd.cli import admin, console, dreams, graph, memories, processes, review, router, sessions, settings
from memoryd.cli.root import Root, cli

BROKEN_PIPE = 141  # what a shell reports for a program that SIGPIPE ended


def app() -> Root:
    """The root command with every command registered."""
    for module in (memories, review, graph, router, dreams, admin, sessions, settings, console, processes):
        for command in module.COMMANDS:
            cli.add_command(command)
    return cli


def main() -> None:
    """Entry point of the `memoryd` script."""
    _open_streams()
    try:
        app()(prog_name="memoryd", standalone_mode=True)
    except SystemExit as end:
        sys.exit(_flushed(end.code))
    except OSError as error:  # standard output: a full disk, or a reader that has gone away
        sys.exit(_unwritten(error))


def _open_streams() -> None:
    """Give standard streams that the caller closed a place to go, or the next file that is opened would take their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115


def _flushed(code: object) -> int:
    """Write out what is buffered now: at the interpreter's exit a failure would print a traceback."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return _unwritten(error)
    return code if isinstance(code, int) else int(code is not None)


def _unwritten(error: OSError) -> int:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    sys.stderr.write(f"error The output can't be written: {error.strerror}.\n")
    return 1
