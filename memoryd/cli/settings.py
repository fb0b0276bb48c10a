"""Commands that show and change settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from memoryd.cli.root import Context, json_option, pass_context
from memoryd.core.config import READERS, check_name
from memoryd.core.config_file import change_file
from memoryd.core.errors import InputError
from memoryd.daydream.costs import expected

RESTART = "memoryd daemon --stop"


@click.command(context_settings={"ignore_unknown_options": True})  # A value may start with a minus sign.
@click.argument("name", required=False)
@click.argument("value", required=False)
@click.option("--default", "to_default", is_flag=True, help="Remove the setting from the file, restoring its default.")
@json_option
@pass_context
def config(context: Context, /, name: str | None, value: str | None, to_default: bool) -> None:
    """Show all settings or one; with VALUE, change it in config.toml, keeping your comments.

    Lists of folders are separated like PATH.
    """
    if name is not None:
        if name.startswith("-"):
            raise click.NoSuchOption(name)
        check_name(name, "config")
    if name is not None and (value is not None or to_default):
        if value is not None and to_default:
            raise InputError("config: a value can't be combined with --default.", fix="Use one of them.")
        _change(context, name, value)
    else:
        _show(context, name)


def _change(context: Context, /, name: str, value: str | None) -> None:
    if context.fault is None:
        result = context.call("change_settings", values={name: value})
    else:  # An invalid value prevents the daemon from starting, but the user must still be able to correct it.
        path = context.settings.paths.config
        change_file(path, {name: value})
        result = {"path": str(path), "changed": [name], "overruled": {}, "waiting": []}
    if context.show(result):
        return
    context.output.line(f"{name} is {'at its default' if value is None else value} in {result['path']}")
    for source in result["overruled"].values():
        context.output.line(f"! it has no effect: {source} overrides it", "yellow")
    if result["waiting"]:
        context.output.line(f"it takes effect when the daemon restarts: {RESTART}", "dim")


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
        context.output.line(f"takes effect when the daemon restarts ({RESTART}): {', '.join(result['waiting'])}", "yellow")


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


@click.command()
@click.option("--claude/--no-claude", default=None, help="Allow, or no longer allow, Claude to read sessions with your login.")
@click.option("--reader", type=click.Choice(READERS), help="Choose the reader; auto uses the first one available.")
@click.option("--endpoint", metavar="URL", help="An OpenAI-compatible endpoint; its key is the setting openai_api_key.")
@click.option("--model", help="The endpoint's model.")
@click.option("--budget", type=click.IntRange(0), help="Maximum model tokens per day.")
@json_option
@pass_context
def setup(
    context: Context, /, claude: bool | None, reader: str | None, endpoint: str | None, model: str | None, budget: int | None
) -> None:
    """Choose who reads your sessions, and the budget. Without options, ask, or show the current choice."""
    given = {"use_claude": claude, "reader": reader, "openai_base_url": endpoint, "openai_model": model}
    values: dict[str, Any] = {
        name: value for name, value in (given | {"daily_token_budget": budget}).items() if value is not None
    }
    if not values and context.output.is_interactive:
        _explain(context)
        values["use_claude"] = click.confirm("Let Claude read your sessions?", default=False)
    if values.get("use_claude") is not None and reader is None and context.settings.reader != "auto":
        values["reader"] = None  # A reader set explicitly would override the user's answer.
    overruled = context.call("change_settings", values=values)["overruled"] if values else {}
    status = context.call("memory_status")
    shown = {name: status[name] for name in ("reader", "reader_line", "reader_problem", "daily_token_budget")}
    if context.show({**shown, "expected": expected(), "changed": sorted(values), "overruled": overruled}):
        return
    if not values:
        _explain(context)
    for name, source in overruled.items():
        context.output.line(f"! {name} has no effect here: {source} overrides it; change it there", "yellow")
    context.output.line(status["reader_line"])


def _explain(context: Context, /) -> None:
    for line in (
        "Who decides what is kept:",
        "  claude    a small Claude model with your own login, with your consent: memoryd setup --claude",
        f"            {expected()}; it counts towards your plan or bill,",
        f"            at most {context.settings.daily_token_budget:,} tokens per day (--budget); nothing is sent elsewhere.",
        "  endpoint  any OpenAI-compatible endpoint: memoryd setup --endpoint URL --model NAME",
        "  session   each session's own model, alongside its work, without extra calls (the default)",
        "  offline   rules only: memoryd setup --reader offline",
    ):
        context.output.line(line)


COMMANDS = (config, setup)
