"""The command that opens the console in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from memoryd.cli.root import Context, json_option, pass_context


@click.command()
@click.option("--no-browser", is_flag=True, help="Print the link only.")
@click.option(
    "--results",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of benchmark results to show (default: `results` in this folder, if it exists).",
)
@json_option
@pass_context
def console(context: Context, /, no_browser: bool, results: Path | None) -> None:
    """Open the console in a browser: search, review and edit memories, and decide on proposals."""
    result = context.call("console_open", results=_results(results))
    if context.show(result):
        return
    opened = not no_browser and webbrowser.open(result["url"])
    context.output.line(result["url"])
    state = "opened in the browser" if opened else "open it in a browser"
    context.output.note(f"{state}; the link can be used once, within {result['seconds']} s")


def _results(named: Path | None) -> str:
    folder = named or Path("results")
    return str(folder.resolve()) if folder.is_dir() else ""


COMMANDS = (console,)
