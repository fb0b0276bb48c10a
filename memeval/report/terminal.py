"""Print to the terminal, report errors with exit codes, and handle signals.

Exit codes: 0 done · 1 failed, or a significant drop (regress) · 2 wrong usage, setting, file, login or client · 3
stopped by the budget · 130 interrupted. Completed work is kept.
"""

from __future__ import annotations

import errno
import json
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from memeval.core.calls import Stop
from memeval.core.errors import BudgetError, ConfigError, DependencyError, MemevalError, StoppedError, UnknownRunError
from memoryd.core.errors import StoreError

UNWRAPPED = 20
"""Maximum length of cells kept on one line."""
_NUMBER = re.compile(r"[-–+]?[\d.,]*( |%|$|[–-])")


EXIT_CODES: dict[type[MemevalError], int] = {
    ConfigError: 2,
    DependencyError: 2,
    UnknownRunError: 2,
    BudgetError: 3,
    StoppedError: 130,
}
_RIGHTS = "Check the path, its permissions and the free disk space. Completed work is kept; continue with --resume."


@contextmanager
def faults_reported() -> Iterator[None]:
    """Report expected errors with a message, a fix and an exit code instead of a traceback."""
    try:
        yield
    except MemevalError as error:
        tell(error)
        sys.exit(EXIT_CODES.get(type(error), 1))
    except StoreError as error:
        tell(MemevalError(error.message, fix=_RIGHTS))
        sys.exit(1)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # The reader has closed the pipe. click exits quietly.
        tell(MemevalError(f"{error.filename or 'A file or connection'}: {error.strerror or error}.", fix=_RIGHTS))
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        sys.exit(130)


def tell(error: MemevalError) -> None:
    """Print the error and its fix to standard error."""
    note(f"Error: {error.message}")
    if error.fix:
        note(f"  {error.fix}")


def note(text: str) -> None:
    """Print a readable line to standard error."""
    click.echo(text, err=True)


@contextmanager
def stopped_by_signals(stop: Stop, *, ending: Callable[[], None] | None = None) -> Iterator[None]:
    """End the run cleanly on the first Ctrl-C or SIGTERM, and at once on the second.

    `ending` is called to end work that does not check the flag.
    """
    old = {}

    def handle(number: int, frame: Any) -> None:
        if stop.is_set:
            raise KeyboardInterrupt
        stop.set()
        if ending is not None:
            ending()
        under_way = "work in progress is ended and will be repeated" if ending else "work in progress is finished first"
        note(f"Stopping; {under_way}. Press again to stop at once.")

    try:
        for one in (signal.SIGINT, signal.SIGTERM):
            old[one] = signal.signal(one, handle)
        yield
    finally:
        for one, before in old.items():
            signal.signal(one, before)


def console(*, stderr: bool = False) -> Console:
    """Return a console, with colours and tables on a terminal. Elsewhere, it prints plain text without truncation."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else 200, highlight=False)


def print_json(value: Any) -> None:
    """Print a JSON value with indentation."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table with numeric columns aligned right."""
    cells = [[shown(cell) for cell in row] for row in rows]
    table = Table(
        title=title or None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0)
    )
    for number, column in enumerate(columns):
        numeric = all(_NUMBER.match(row[number]) for row in cells)
        short = max((len(row[number]) for row in cells), default=0) <= UNWRAPPED
        table.add_column(column, justify="right" if numeric else "left", overflow="fold", no_wrap=short)
    for row in cells:
        table.add_row(*map(escape, row))
    console().print(table)


def print_mapping(data: Mapping[str, Any], indent: int = 0) -> None:
    """Print nested values line by line in YAML style."""
    pad = "  " * indent
    for key, value in data.items():
        if isinstance(value, Mapping) and value:
            click.echo(f"{pad}{key}:")
            print_mapping(value, indent + 1)
        elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
            click.echo(f"{pad}{key}:")
            for item in value:
                click.echo(f"{pad}  - {json.dumps(item, ensure_ascii=False, default=str)}")
        elif value not in (None, "", [], {}, ()):
            click.echo(f"{pad}{key}: {f'{value:g}' if isinstance(value, float) else shown(value)}")


def shown(value: Any) -> str:
    """Format one cell as text."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def percent(value: float | None) -> str:
    """Format a share as a percentage with one decimal."""
    return "-" if value is None else f"{100 * value:.1f}"


def with_interval(cell: Mapping[str, Any]) -> str:
    """Format a metric's value in per cent with its interval."""
    interval = cell.get("interval")
    if cell["value"] is None or not interval:
        return percent(cell["value"])
    return f"{percent(cell['value'])} [{percent(interval['low'])}, {percent(interval['high'])}]"
