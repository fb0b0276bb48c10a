"""What commands print: lines for people, JSON for programs. The importer of rich, with `progress`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

UNWRAPPED = 20
"""Cells of up to so many characters stay on one line."""
_NUMBER = re.compile(r"[-–+]?[\d.,]*( |%|$|[–-])")


def console(*, stderr: bool = False) -> Console:
    """Colours and tables on a terminal; plain text, never cut, elsewhere."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else 200, highlight=False)


def print_json(value: Any) -> None:
    """A JSON value, indented."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table; columns of numbers are aligned right."""
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
    """Nested values, one a line, as in YAML."""
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
    """One cell as text."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def percent(value: float | None) -> str:
    """A share as a percentage with one digit."""
    return "-" if value is None else f"{100 * value:.1f}"


def with_interval(cell: Mapping[str, Any]) -> str:
    """A metric's value in percent with its interval."""
    interval = cell.get("interval")
    if cell["value"] is None or not interval:
        return percent(cell["value"])
    return f"{percent(cell['value'])} [{percent(interval['low'])}, {percent(interval['high'])}]"
