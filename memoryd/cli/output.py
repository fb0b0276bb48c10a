"""Command output: tables and colours on a terminal, JSON with --json, and plain text otherwise."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

import orjson

from memoryd.core.errors import MemorydError
from memoryd.core.text import one_line, visible

if TYPE_CHECKING:  # Only used on terminals. Importing it takes longer than the rest of a command.
    from rich.console import Console
    from rich.progress import Progress

STYLE = {"rule": "bold red", "preference": "magenta", "decision": "cyan", "fix": "green", "dead_end": "yellow"}


def _plain(text: object) -> str:
    from rich.markup import escape

    return escape(visible(str(text)))


def _is_terminal(stream: TextIO) -> bool:
    """Return whether to use colours and tables. The user can also force them when output is piped."""
    return stream.isatty() or bool(os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE") == "1")


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode("utf-8")


class Output:
    """Prints results. With `as_json`, exactly one JSON value is written to standard output."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    @cached_property
    def _out(self) -> Console:
        from rich.console import Console

        return Console(highlight=False, soft_wrap=True)

    @cached_property
    def _err(self) -> Console:
        from rich.console import Console

        return Console(stderr=True, highlight=False, soft_wrap=True)

    @property
    def is_interactive(self) -> bool:
        """Whether standard input and output are a terminal."""
        return sys.stdout.isatty() and sys.stdin.isatty()

    def json(self, value: Any) -> None:
        """Print one JSON value."""
        sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line without interpreting markup."""
        if _is_terminal(sys.stdout):
            self._out.print(_plain(text), style=style or None)
        else:
            sys.stdout.write(visible(text) + "\n")

    def note(self, text: str) -> None:
        """Print a remark to standard error."""
        if _is_terminal(sys.stderr):
            self._err.print(_plain(text), style="dim")
        else:
            sys.stderr.write(visible(text) + "\n")

    def error(self, error: MemorydError) -> None:
        """Print an error and its fix."""
        if self.as_json:
            self.json({"error": {"code": error.code, "message": error.message, "fix": error.fix}})
        if not _is_terminal(sys.stderr):
            fix = f"fix   {visible(error.fix)}\n" if error.fix else ""
            sys.stderr.write(f"error {visible(error.message)}\n{fix}")
            return
        self._err.print(f"[bold red]error[/] {_plain(error.message)}")
        if error.fix:
            self._err.print(f"[bold]fix[/]   {_plain(error.fix)}")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print rows as a table on a terminal, or separated by tabs otherwise."""
        if not _is_terminal(sys.stdout):
            for row in rows:
                sys.stdout.write("\t".join(one_line(visible(str(cell))) for cell in row) + "\n")
            return
        from rich.table import Table

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
            self.line(head, STYLE.get(memory["kind"], "bold"))
            self.line("  " + memory["content"].replace("\n", "\n  "))

    def answer(self, answer: Mapping[str, Any]) -> None:
        """Print the result of any operation: its memories if there are any, otherwise all its values."""
        found = [answer["memory"]] if "memory" in answer else answer.get("memories")
        if isinstance(found, list) and all(isinstance(memory, dict) and "content" in memory for memory in found):
            self.memories(found)
            for line in filter(None, (answer.get("left_out_secrets"), answer.get("note"))):
                self.line(line, "yellow")
        else:
            self.table(("", ""), [(name, _shown(value)) for name, value in answer.items() if value not in (None, "", [], {})])

    def progress(self) -> Progress:
        """Return a progress display on standard error. It is disabled unless standard error is a terminal."""
        from rich.progress import Progress

        return Progress(console=self._err, transient=True, disable=not self._err.is_terminal)
