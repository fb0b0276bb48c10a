"""The command that shows and changes settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from memoryd.cli.root import Context, json_option, pass_context
from memoryd.config import check_name
from memoryd.config_file import change_file
from memoryd.errors import InputError

RESTART = "memoryd daemon --stop"


@click.command()
@click.argument("name", required=False)
@click.argument("value", required=False)
@click.option("--default", "to_default", is_flag=True, help="Take the setting out of the file: back to its default.")
@json_option
@pass_context
def config(context: Context, /, name: str | None, value: str | None, to_default: bool) -> None:
    """Show all settings, or one; with VALUE change it in config.toml, where your comments stay.

    Lists of folders are separated like PATH.
    """
    if name is not None:
        check_name(name, "config")
    if name is not None and (value is not None or to_default):
        if value is not None and to_default:
            raise InputError("config: a value or --default?", fix="Give one of them.")
        _change(context, name, value)
    else:
        _show(context, name)


def _change(context: Context, /, name: str, value: str | None) -> None:
    if context.fault is None:
        result = context.call("change_settings", values={name: value})
    else:  # a file with a wrong value keeps the daemon from starting, and must be mended all the same
        path = context.settings.paths.config
        change_file(path, {name: value})
        result = {"path": str(path), "changed": [name], "overruled": {}, "waiting": []}
    if context.show(result):
        return
    context.output.line(f"{name} is {'at its default' if value is None else value} in {result['path']}")
    for source in result["overruled"].values():
        context.output.line(f"! it has no effect: {source} sets it too", "yellow")
    if result["waiting"]:
        context.output.line(f"it takes effect when the daemon starts: {RESTART}", "dim")


def _show(context: Context, /, name: str | None) -> None:
    context.check()
    result = context.call("settings")
    if context.show(result):
        return
    if result["problem"]:
        context.output.line(f"! {result['problem']['message']} {result['problem']['fix']}", "red")
    found = [entry for entry in _all(result) if name in (None, entry["name"])]
    context.output.table(("setting", "value", "from", "default"), [_row(entry) for entry in found])
    for entry in found if name else ():
        context.output.line(entry["help"])
        if entry["cost"]:
            context.output.line(f"cost: {entry['cost']}")
    if result["waiting"] and not name:
        context.output.line(f"wait for the daemon's next start ({RESTART}): {', '.join(result['waiting'])}", "yellow")


def _all(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for group in result["groups"]:
        yield from group["settings"]


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    value = ("set" if entry["is_set"] else "") if entry["secret"] else _text(entry["value"])
    return entry["name"], value, entry["source"], _text(entry["default"])


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


COMMANDS = (config,)
