"""Represent tables as values, and format numbers for people."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NONE = "–"


def is_number(value: object) -> bool:
    """Return whether a value in a result file is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def percent(value: float | None) -> str:
    """Format a share in per cent with one decimal and no per cent sign: 0.9661 becomes 96.6."""
    return NONE if value is None else f"{value * 100:.1f}"


def points(value: float | None) -> str:
    """Format a difference of shares in percentage points, with its sign."""
    return NONE if value is None else f"{value * 100:+.1f}"


def interval(low: float | None, high: float | None) -> str:
    """Format an interval of shares."""
    return NONE if low is None or high is None else f"{percent(low)}–{percent(high)}"


def p_value(value: float | None) -> str:
    """Format a p-value with three decimals. A smaller value is shown as an upper bound."""
    if value is None:
        return NONE
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def seconds(value: float | None) -> str:
    """Format a duration in a suitable unit."""
    if value is None:
        return NONE
    if value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 100 else f"{value:,.0f} s"


def dollars(value: float | None) -> str:
    """Format an amount in US dollars. None means that the amount is unknown."""
    if value is None:
        return NONE
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 1 else f"${value:.3g}"


def cost_so_far(known: float, unknown: int) -> str:
    """Format the cost so far and the number of items with an unknown price. Return "" if nothing was paid."""
    parts = [dollars(known)] if known else []
    if unknown:
        parts.append(f"{unknown} of unknown cost")
    return ", ".join(parts)


def short(value: float | None) -> str:
    """Format a plain number, such as a count."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3f}"


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of formatted cells. `numbers` are the right-aligned columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()

    def markdown(self) -> str:
        """Return the table as Markdown with a final newline."""
        rule = ["---:" if name in self.numbers else "---" for name in self.columns]
        lines = [self.columns, rule, *self.rows]
        return "".join(f"| {' | '.join(cell if line is rule else _plain(cell) for cell in line)} |\n" for line in lines)

    def latex(self) -> str:
        """Return the table as a LaTeX tabular with the rules of booktabs."""
        align = "".join("r" if name in self.numbers else "l" for name in self.columns)
        head, *body = (" & ".join(map(_latex, line)) + r" \\" for line in (self.columns, *self.rows))
        lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        return "".join(f"{line}\n" for line in lines)

    def csv(self) -> str:
        """Return the table as CSV (RFC 4180) with a header."""
        return write_csv(self.columns, self.rows)

    def ordered(self, column: str, *, descending: bool = False) -> Table:
        """Return the table sorted by a column. Numbers are compared by value, and cells without a value come last.

        An unknown column does not change the order.
        """
        if column not in self.columns:
            return self
        place = self.columns.index(column)
        valued = [row for row in self.rows if row[place] not in ("", NONE)]
        empty = [row for row in self.rows if row[place] in ("", NONE)]
        numeric = column in self.numbers
        valued.sort(key=lambda row: (_number(row[place]) if numeric else 0.0, row[place].casefold()), reverse=descending)
        return Table(self.columns, (*valued, *empty), self.numbers)


_FIRST_NUMBER = re.compile(r"[<$]?([+-]?\d[\d,]{0,30}(?:\.\d{0,30})?(?:e[+-]?\d{1,3})?)( ms)?")


def _number(cell: str) -> float:
    """Return the first number in a formatted cell, so that 12 ms is less than 1.2 s."""
    match = _FIRST_NUMBER.match(cell)
    if match is None:
        return math.inf
    return float(match[1].replace(",", "")) / (1000 if match[2] else 1)


def _plain(cell: str) -> str:
    """Escape a cell so that Markdown shows it literally, on one line."""
    flat = " ".join(cell.split())
    for mark in "\\`*_[]|<>~":
        flat = flat.replace(mark, f"\\{mark}" if mark != "<" else "&lt;")
    return flat


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "−": "$-$", "×": r"$\times$",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}  # fmt: skip


def _latex(cell: str) -> str:
    """Escape a cell so that LaTeX shows it literally, on one line. A leading bracket would be read as an option of the row."""
    text = "".join(_LATEX.get(mark, mark) for mark in " ".join(cell.split()))
    return f"{{}}{text}" if text.startswith(("[", "*")) else text


def write_csv(columns: tuple[str, ...], rows: Iterable[Sequence[object]]) -> str:
    """Write CSV text. Texts that a spreadsheet would run as a formula get a leading apostrophe. Numbers are not changed."""
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
