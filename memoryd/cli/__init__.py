"""The command line, `memoryd …`. Commands use the same operations as MCP and the console.

`--version` and `--help` are handled here without further imports, because loading the command library takes twice as
long as starting Python. `docs/generate.py` writes the help text to help.txt. It is reflowed for narrow terminals.
"""

import os
import sys

from memoryd import __version__

HELP_COLUMNS = 80
INTERRUPTED = 130

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
        try:
            from memoryd.cli.app import main as command

            command()
        except KeyboardInterrupt:  # Also while modules are loading.
            sys.exit(INTERRUPTED)


def _columns() -> int:
    """Return the terminal width like `shutil.get_terminal_size`, which is slow to import."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else HELP_COLUMNS
    except (OSError, ValueError):  # no terminal
        return HELP_COLUMNS


def _help() -> str:
    """Return the help of the root command, or an empty string if the file is missing."""
    try:
        with open(os.path.join(os.path.dirname(__file__), "help.txt"), encoding="utf-8") as stream:  # noqa: PTH118, PTH120, PTH123
            return stream.read()
    except OSError:
        return ""


def _printed(text: str) -> bool:
    """Write to standard output. Return False on failure, which the full CLI then reports."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (AttributeError, OSError):  # The stream is closed, or the disk is full.
        return False
    return True
