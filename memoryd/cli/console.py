"""The command that opens the console in a browser."""

from __future__ import annotations

import webbrowser

import click

from memoryd.cli.root import Context, json_option, pass_context


@click.command()
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@json_option
@pass_context
def console(context: Context, /, no_browser: bool) -> None:
    """Open memory in a browser: look, search, correct, settle what waits for you."""
    result = context.call("console_open")
    if context.show(result):
        return
    opened = not no_browser and webbrowser.open(result["url"])
    context.output.line(result["url"])
    told = "opened in the browser" if opened else "open it in a browser"
    context.output.note(f"{told}; the link is good for one use within {result['seconds']} s")


COMMANDS = (console,)
