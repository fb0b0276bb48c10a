"""A table as Markdown or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Table:
    """Cells are texts as they are shown; `numbers` names the columns that stand to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()

    def markdown(self) -> str:
        """A Markdown table with its line end."""
        rule = ["---:" if name in self.numbers else "---" for name in self.columns]
        lines = [self.columns, rule, *self.rows]
        return "".join(f"| {' | '.join(cell if line is rule else _plain(cell) for cell in line)} |\n" for line in lines)

    def csv(self) -> str:
        """CSV with a header, RFC 4180."""
        return write_csv(self.columns, self.rows)


def _plain(cell: str) -> str:
    """One line that starts no markup: what is shown is what is in the cell."""
    flat = " ".join(cell.split())
    for mark in "\\`*_[]|<>~":
        flat = flat.replace(mark, f"\\{mark}" if mark != "<" else "&lt;")
    return flat


def write_csv(columns: tuple[str, ...], rows: Iterable[Sequence[object]]) -> str:
    """CSV text. A text that a spreadsheet would run as a formula gets an apostrophe before it; numbers stay as they are."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_harmless(cell) for cell in row])
    return out.getvalue()


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) and not _is_number(cell) else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
