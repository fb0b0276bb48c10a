"""Commands of the trial, which compares the user's own sessions with and without memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from memoryd.api import trials
from memoryd.cli.options import takes
from memoryd.cli.root import Context, json_option, pass_context

MEASURE_SECONDS = 600.0


@click.group("ab")
@json_option
def ab() -> None:
    """Find out whether memory helps you: some sessions, chosen at random, get none."""


@ab.command("on")
@takes(trials.start_trial)
@json_option
@pass_context
def on(context: Context, /, **options: Any) -> None:
    """Start the trial: some new sessions get no memory from now on. They are still read."""
    _show(context, context.call("start_trial", **options))


@ab.command("off")
@json_option
@pass_context
def off(context: Context, /) -> None:
    """Stop the trial: every session gets memory again. The measurements are kept."""
    _show(context, context.call("stop_trial"))


@ab.command("clear")
@json_option
@pass_context
def clear(context: Context, /) -> None:
    """Delete the measurements."""
    _show(context, context.call("clear_trial"))


@ab.command("status")
@json_option
@pass_context
def status(context: Context, /) -> None:
    """Show whether a trial is running, and the number of sessions per arm."""
    _show(context, context.call("trial"))


@ab.command("report")
@takes(trials.trial_report)
@json_option
@pass_context
def report(context: Context, /, **options: Any) -> None:
    """Compare sessions with and without memory."""
    result = context.call("trial_report", MEASURE_SECONDS, **options)
    if context.show(result):
        return
    context.output.line(_counts(result, "measured") + _missing(result))
    context.output.table(("mean per session", "memory", "control", "difference [95%]", ""), _rows(result))
    context.output.note(
        "Each interval has 95 % confidence. With six measures, one of them excludes 0 by chance in one report out of four."
    )


def _show(context: Context, result: Mapping[str, Any]) -> None:
    if context.show(result):
        return
    if result["running"]:
        context.output.line(f"A trial is running: {result['control_share']:.0%} of new sessions get no memory.")
    else:
        context.output.line("No trial is running: every session gets memory.")
    context.output.line(_counts(result, "sessions"))


def _counts(result: Mapping[str, Any], key: str) -> str:
    counts = result[key]
    return f"{counts['memory']} sessions with memory, {counts['control']} without"


def _missing(result: Mapping[str, Any]) -> str:
    return f" ({result['not_measured']} without a prompt or a readable log are excluded)" if result["not_measured"] else ""


def _rows(result: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, str]]:
    for row in result["rows"]:
        if row["difference"] is None:
            yield row["measure"], "", "", "", row["verdict"]
            continue
        interval = f"{_number(row['difference'])} [{_number(row['low'])}, {_number(row['high'])}]"
        yield row["measure"], _number(row["memory"]), _number(row["control"]), interval, row["verdict"]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


COMMANDS = (ab,)
