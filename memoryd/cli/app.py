"""The root command. The module of a command is imported only when the command is used."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from memoryd.api.registry import Operation, operations
from memoryd.cli.root import Context, Root, cli, json_option, pass_context

BROKEN_PIPE = 141  # Exit code that shells report for a program terminated by SIGPIPE.
MODULES = {
    "memories": "overview search remember show edit forget list related timeline governance handoff",
    "review": "review",
    "graph": "graph",
    "router": "router",
    "dreams": "dream proposals undo journal why",
    "admin": "status doctor daydream reindex log import export migrate off on projects",
    "sessions": "sessions",
    "machines": "sync",
    "team": "share team",
    "trial": "ab",
    "guard": "guard",
    "settings": "config setup",
    "console": "console",
    "install": "install-claude",
    "connect": "connect",
    "processes": "daemon mcp hook completion",
}
_MODULE_OF = {name: module for module, names in MODULES.items() for name in names.split()}


def command_names() -> list[str]:
    """Return the names of all commands, both handwritten and generated from operations."""
    return sorted([*_MODULE_OF, *(entry.command for entry in operations().values() if entry.command)])


def load_command(name: str) -> click.Command | None:
    """Load the command with this name."""
    if module := _MODULE_OF.get(name):
        found: tuple[click.Command, ...] = import_module(f"memoryd.cli.{module}").COMMANDS
        return next(command for command in found if command.name == name)
    made = next((entry for entry in operations().values() if entry.command == name), None)
    return None if made is None else _made(made)


def _made(operation: Operation[Any, Any]) -> click.Command:
    """Create a command that accepts an operation's parameters and prints its result."""
    from memoryd.cli.options import takes

    def run(context: Context, /, **params: Any) -> None:
        result = context.call(operation.name, **params)
        if not context.show(result):
            context.output.answer(result)

    command = click.command(operation.command, help=operation.summary)
    return command(takes(operation)(json_option(pass_context(run))))


def lazy_app() -> Root:
    """Return the root command with lazily loaded commands."""
    cli.load_from(command_names, load_command)
    return cli


def app() -> Root:
    """Return the root command with every command loaded, for the documentation."""
    root = lazy_app()
    for name in command_names():
        command = load_command(name)
        assert command is not None, name
        root.add_command(command)
    return root


def main() -> None:
    """Run the command line."""
    _open_streams()
    try:
        lazy_app()(prog_name="memoryd", standalone_mode=True)
    except SystemExit as end:
        sys.exit(_flushed(end.code))
    except OSError as error:
        sys.exit(_failed(error) if error.filename is not None else _unwritten(error))


def _open_streams() -> None:
    """Replace standard streams closed by the caller. Otherwise, the next opened file would get their descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115


def _flushed(code: object) -> int:
    """Flush standard output now. A failure at interpreter exit would print a traceback."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return _unwritten(error)
    return code if isinstance(code, int) else int(code is not None)


def _failed(error: OSError) -> int:
    """Report a file that can't be used. It is named, unlike standard output."""
    sys.stderr.write(f"error {error.filename}: {error.strerror}.\n")
    return 1


def _unwritten(error: OSError) -> int:
    """Report that standard output can't be written because the disk is full, or that its reader has exited."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    sys.stderr.write(f"error The output can't be written: {error.strerror}.\n")
    return 1
