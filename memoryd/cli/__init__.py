"""The command line: `memoryd …`. Every command is a call that MCP and the console share.

`--version` and `--help` are answered here, with nothing imported: a library for commands takes twice as long to load as
Python itself. The help is what `docs/generate.py` wrote into help.txt; a narrow terminal gets the one made for it.
"""

import os
import sys

from memoryd import __version__

HELP_COLUMNS = 80

__all__ = ["main"]


def main() -> None:
    """Entry point of the `memoryd` script."""
    if sys.argv[1:] == ["--version"]:
        text = f"memoryd, version {__version__}\n"
    elif sys.argv[1:] in (["--help"], ["-h"]) and _columns() >= HELP_COLUMNS:
        text = _help()
    else:
        text = ""
    if not (text and _printed(text)):
        from memoryd.cli.app import main as command

        command()


def _columns() -> int:
    """As `shutil.get_terminal_size`, which takes too long to import."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else HELP_COLUMNS
    except (OSError, ValueError):  # no terminal
        return HELP_COLUMNS


def _help() -> str:
    """The help of the root command; empty when the file is missing."""
    try:
        with open(os.path.join(os.path.dirname(__file__), "help.txt"), encoding="utf-8") as stream:  # noqa: PTH118, PTH120, PTH123
            return stream.read()
    except OSError:
        return ""


def _printed(text: str) -> bool:
    """Whether it could be written; if not, the whole program says why."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (AttributeError, OSError):  # closed, or full
        return False
    return True
