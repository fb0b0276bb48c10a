"""What commands print: tables and colour on a terminal, plain text elsewhere, JSON with --json."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from memoryd.errors import MemorydError
from memoryd.text import visible

STYLE = {"rule": "bold red", "preference": "magenta", "decision": "cyan", "fix": "green", "dead_end": "yellow"}


def _plain(text: object) -> str:
    return escape(visible(str(text)))


class Output:
    """Prints results. With `as_json` exactly one JSON value goes to standard output."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._out = Console(highlight=False, soft_wrap=True)
        self._err = Console(stderr=True, highlight=False, soft_wrap=True)

    @property
    def is_interactive(self) -> bool:
        """Whether a person can be asked: both standard input and output are a terminal."""
        return self._out.is_terminal and sys.stdin.isatty()

    def json(self, value: Any) -> None:
        """Print one JSON value."""
        sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line; the text is never read as markup."""
        self._out.print(_plain(text), style=style or None)

    def note(self, text: str) -> None:
        """Print a remark on standard error."""
        self._err.print(_plain(text), style="dim")

    def error(self, error: MemorydError) -> None:
        """Print what went wrong and what to do."""
        if self.as_json:
            self.json({"error": {"code": error.code, "message": error.message, "fix": error.fix}})
        self._err.print(f"[bold red]error[/] {_plain(error.message)}")
        if error.fix:
            self._err.print(f"[bold]fix[/]   {_plain(error.fix)}")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print rows as a table on a terminal, tab-separated elsewhere."""
        if not self._out.is_terminal:
            for row in rows:
                sys.stdout.write("\t".join(visible(str(cell)) for cell in row) + "\n")
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(_plain(cell) for cell in row))
        self._out.print(table)

    def memories(self, memories: Iterable[Mapping[str, Any]]) -> None:
        """Print memories, one paragraph each."""
        for memory in memories:
            when = str(memory.get("valid_from") or memory["created_at"])[:10]
            state = "" if memory["status"] == "active" else f" [{memory['status']}]"
            score = f"  {memory['relevancy']:.2f}" if "relevancy" in memory else ""
            head = f"{memory['id']}  {memory['kind']}  {when}  {memory['source']}{state}{score}"
            self._out.print(_plain(head), style=STYLE.get(memory["kind"], "bold"))
            self._out.print("  " + _plain(memory["content"].replace("\n", "\n  ")))

    def progress(self) -> Progress:
        """A progress display on standard error; silent when that is no terminal."""
        return Progress(console=self._err, transient=True, disable=not self._err.is_terminal)
