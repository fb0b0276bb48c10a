"""Commands of the guard, which checks an agent's actions against the user's rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from memoryd.api import guards
from memoryd.cli.options import takes
from memoryd.cli.root import Context, json_option, pass_context


@click.group("guard", invoke_without_command=True)
@json_option
@click.pass_context
def guard(click_context: click.Context) -> None:
    """Check what the agent does against your rules: list the rules, choose what happens, and see how they were followed."""
    if click_context.invoked_subcommand is None:
        click_context.invoke(list_)


@guard.command("list")
@takes(guards.guard)
@json_option
@pass_context
def list_(context: Context, /, **options: Any) -> None:
    """List the rules that are checked."""
    result = context.call("guard", **options)
    if context.show(result):
        return
    if result["guard"] == "off":
        context.output.line("The guard is off. Switch it on with: memoryd guard on")
    context.output.table(("id", "mode", "rule", "check"), [_row(rule) for rule in result["rules"]])
    if not result["rules"]:
        context.output.line("No rule is checked yet.")
    _contradictions(context, result)
    if result["without_check"]:
        context.output.note(f"{result['without_check']} other rules can't be checked on a tool call.")


@guard.command("mode")
@takes(guards.guard_mode)
@json_option
@pass_context
def mode(context: Context, /, **options: Any) -> None:
    """Choose what happens on a violation: off, note, ask, block or default."""
    result = context.call("guard_mode", **options)
    if not context.show(result):
        context.output.line(f"{result['rule']['id']} is now: {result['rule']['mode']}.")


@guard.command("silence")
@takes(guards.guard_silence)
@json_option
@pass_context
def silence(context: Context, /, **options: Any) -> None:
    """Stop a rule from firing on calls like its last violation."""
    result = context.call("guard_silence", **options)
    if not context.show(result):
        context.output.line(f"{result['rule']['id']} no longer fires on: {result['form']}")


@guard.command("compile")
@takes(guards.guard_compile)
@json_option
@pass_context
def compile_(context: Context, /, **options: Any) -> None:
    """Try to create checks for rules that have none."""
    result = context.call("guard_compile", 300.0, **options)
    if not context.show(result):
        context.output.table(("id", "mode", "rule", "check"), [_row(rule) for rule in result["rules"]])
        context.output.line(f"Checks were created for {len(result['rules'])} rules.")


@guard.command("report")
@takes(guards.guard_report)
@json_option
@pass_context
def report(context: Context, /, **options: Any) -> None:
    """Show how well the rules were followed, and which are violated repeatedly."""
    result = context.call("guard_report", **options)
    if context.show(result):
        return
    if not result["rules"]:
        context.output.line("No rule has applied to a tool call yet.")
    columns = ("applied", "obeyed", "violated", "blocked", "overridden", "sessions")
    rows = [(rule["id"], *(rule[name] for name in columns), rule["rule"]) for rule in result["rules"]]
    context.output.table(("id", *columns, "rule"), rows)
    for rule in result["repeated"]:
        context.output.line(f"{rule['id']} was violated {rule['violated']} times. {rule['proposal']}")
    if result["violations"]:
        context.output.line()
        shown = [(one["at"][:16].replace("T", " "), one["id"], one["outcome"], one["what"]) for one in result["violations"]]
        context.output.table(("when", "rule", "outcome", "call"), shown)
    _contradictions(context, result)


@guard.command("off")
@json_option
@pass_context
def off(context: Context, /) -> None:
    """Switch the guard off: violations are neither noted, asked about nor refused."""
    _set(context, "off")


@guard.command("on")
@json_option
@pass_context
def on(context: Context, /) -> None:
    """Switch the guard on: violations are noted, unless a rule has another mode."""
    _set(context, "note")


def _set(context: Context, value: str) -> None:
    result = context.call("change_settings", values={"guard": value})
    if not context.show(result):
        overruled = result.get("overruled", {}).get("guard")
        context.output.line(
            f"The guard is {'off' if value == 'off' else 'on'}{f', but {overruled} overrides it' if overruled else ''}."
        )


def _row(rule: Mapping[str, Any]) -> tuple[str, ...]:
    return rule["id"], rule["mode"], rule["rule"], _described(rule["check"])


def _described(check: Mapping[str, Any]) -> str:
    parts = [
        f"{name}: {', '.join(value) if isinstance(value, list) else value}"
        for name, value in check.items()
        if name not in ("kind", "mode", "near", "files", "also")
    ]
    further = "".join(f"; {_described(each)}" for each in check.get("also", ()))
    return f"{check['kind']} · {' · '.join(parts)}{further}"


def _contradictions(context: Context, result: Mapping[str, Any]) -> None:
    for pair in result["contradictions"]:
        one, other = pair["one"], pair["other"]
        context.output.line(
            f"These contradict each other, so neither is checked: {one['id']} ({one['rule']}) and {other['id']} ({other['rule']})"
        )


COMMANDS = (guard,)
