"""Print the lists, plans and comparisons of run_bench as text or JSON.

A plan includes estimates of sessions, tokens, dollars and hours, and the differences that the primary comparison could detect.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from memeval.claudecode import families, planning
from memeval.claudecode.arms import MEANINGS
from memeval.claudecode.command import Command, GridRow
from memeval.claudecode.contract import Arm, Family
from memeval.claudecode.families import FamilyOptions
from memeval.claudecode.grid import lines_of
from memeval.claudecode.planning import Estimate, Offer
from memeval.claudecode.subject import history_of
from memeval.core.errors import ConfigError, ProviderError, RunError
from memeval.report.terminal import print_json, print_table
from memeval.results.files import ResultsDir

ASK_ABOVE_USD = 1.0


def list_benchmarks(options: FamilyOptions, *, as_json: bool) -> None:
    """Print each benchmark, whether it can run here, and its requirements."""
    found = {name: families.needs(name, options) for name in families.known(options)}
    if as_json:
        print_json({name: {"ready": not families.missing(name, options), "needs": needs} for name, needs in found.items()})
        return
    print_table(
        "",
        ("benchmark", "ready", "needs"),
        [(name, _ready(name, options), _describe_needs(needs)) for name, needs in found.items()],
    )


def _ready(name: str, options: FamilyOptions) -> str:
    if not families.missing(name, options, fetch=False):
        return "yes"
    return "after a download" if not families.missing(name, options) else "no"


def _describe_needs(needs: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(
        need["name"] if need["here"] else f"{need['name']}, not available: {need['fix'].rstrip('.')}" for need in needs
    )


def show_plan(command: Command, families: Mapping[str, Family], *, as_json: bool) -> None:
    """Print the estimate of each cell, the total, and the differences that the primary comparison could detect."""
    sequences = {name: list(family.sequences(command.selection)) for name, family in families.items()}
    cells, total = planning.estimate_all(command, sequences)
    outlooks = planning.outlooks(command, sequences)
    if as_json:
        rows = [{"cell": cell.label, "history": history_of(cell.arm, command.conditions), **asdict(one)} for cell, one in cells]
        comparisons = [asdict(one) for one in outlooks]
        print_json({"cells": rows, "total": asdict(total), "comparisons": comparisons, "command": command.to_json()})
        return
    lines = [(cell.label, *_numbers(one)) for cell, one in cells]
    columns = ("cell", "sessions", "tokens in", "tokens out", "cost", "of which memory models", "time")
    print_table("", columns, [*lines, ("all", *_numbers(total))])
    for one in outlooks:
        click.echo(one.line)
    click.echo("The estimate errs on the high side. Nothing was run.")


def _numbers(one: Estimate) -> tuple[str, ...]:
    costs = (_amount(one.cost_usd), _amount(one.memory_usd))
    return f"{one.sessions:,}", f"{one.input_tokens:,}", f"{one.output_tokens:,}", *costs, f"{one.hours:.2f} h"


def _amount(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:,.2f}"


def show_offers(offers: Sequence[Offer], usd: float, *, as_json: bool) -> None:
    """Print the best selection of each benchmark for an amount, with its command line.

    The most informative one comes first.
    """
    if as_json:
        print_json({"usd": usd, "offers": [{**asdict(offer), "command": offer.command} for offer in offers]})
        return
    rows = []
    for offer in offers:
        view = offer.outlook
        smallest = "–" if view.smallest_detectable is None else f"{100 * view.smallest_detectable:.0f} points"
        width = f"± {100 * view.half_width:.0f} points"
        size = (view.benchmark, f"{view.questions:,}", f"{view.clusters:,}")
        rows.append((*size, *_numbers(offer.estimate)[3:], width, smallest))
    columns = ("benchmark", "tasks", "conversations", "cost", "of which memory models", "time", "interval", "smallest difference")
    print_table(f"For ${usd:,.2f}, with the arms of the primary comparison", columns, rows)
    if offers:
        click.echo(f"{offers[0].outlook.line}\nRun it: {offers[0].command}")
    else:
        click.echo("No installed benchmark has a task for that amount. See --list-benchmarks, or plan with a larger amount.")


def confirm_cost(cells: Sequence[tuple[GridRow, Estimate]], total: Estimate, limit: float | None) -> None:
    """Describe the effects of a command and, on a terminal, ask for confirmation if it may cost over a dollar.

    Raises ConfigError if the user declines.
    """
    cost = total.cost_usd
    if (cost is not None and cost <= ASK_ABOVE_USD) or not sys.stdin.isatty():
        return
    for cell, one in cells:
        click.echo(f"  {cell.label}: {one.sessions:,} sessions, {_amount(one.cost_usd)}, {one.hours:.2f} h", err=True)
    most = "" if limit is None else f" No session starts if it could exceed ${limit:,.2f}."
    if not click.confirm(f"{total.sessions:,} sessions may cost {_amount(cost)}.{most} Start?", err=True):
        raise ConfigError("Nothing was started.", fix="See --dry-run for the estimate, or plan a smaller amount with --plan USD.")


def announce(group: str, command: Command, limit: float | None = None) -> None:
    """Print the command's id, the differences between its arms, and its cost limit if that is the default."""
    click.echo(f"Run {group}; resume it with --resume {group}", err=True)
    if command.primary:
        click.echo(f"Primary comparison: {command.primary.replace(':', ' – ')}. All others are exploratory.", err=True)
    for arm in dict.fromkeys(Arm(name) for name, _ in command.cells):
        click.echo(f"  {arm}: {MEANINGS[arm]}; history: {history_of(arm, command.conditions)}", err=True)
    if daily := daily_budget_of(command):
        click.echo(f"  {daily}", err=True)
    if limit is not None:
        click.echo(f"No session starts if the total could exceed ${limit:g}; --budget-usd sets another limit.", err=True)


def daily_budget_of(command: Command) -> str:
    """Return a sentence about the user's daily budget for day dreams, if one is set. There is none by default."""
    limit = command.conditions.plugin_settings.get("daily_token_budget")
    if limit is None or not any(Arm(arm).has_plugin for arm, _ in command.cells):
        return ""
    return f"Day dreams get at most {limit} model tokens a day, according to --plugin-setting daily_token_budget."


def show_summary(summary: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the cells and comparisons."""
    if as_json:
        print_json(summary)
        return
    rows = []
    for cell in summary["cells"]:
        metrics, counts = cell["metrics"], cell["sessions"]
        ended = ", ".join(f"{number} {status}" for status, number in counts["by_status"].items())
        cost = "unknown" if cell["cost_usd"] is None else f"${cell['cost_usd']:.3f}"
        shown = [_percent(metrics[name]["value"]) for name in ("accuracy", "recency", "efficiency")]
        near = metrics["relevancy"]["value"]
        arm = cell["arm"] + (f" #{cell['repeat']}" if cell["repeat"] > 1 else "")
        ended += f"; {counts['cached']} from the cache" if counts.get("cached") else ""
        rows.append((cell["benchmark"], arm, cell["model"], *shown, "–" if near is None else f"{near:.2f}", ended, cost))
    print_table("", ("benchmark", "arm", "model", "accuracy", "recency", "efficiency", "relevancy", "sessions", "cost"), rows)
    for line in [*faults_of(summary), *memory_costs_of(summary), *lines_of(summary)]:
        click.echo(line)
    for one in summary["variance"]:
        mean, spread = 100 * one["mean"], 100 * one["standard_deviation"]
        click.echo(f"{one['cell']}: {len(one['repeats'])} repeats, mean {mean:.1f}, standard deviation {spread:.1f}")


def memory_costs_of(summary: Mapping[str, Any]) -> list[str]:
    """Describe the cost of memory in each cell: replaying the history, and the models of the plugin."""
    out = []
    for cell in summary["cells"]:
        parts = cell.get("costs") or {}
        spent = {name: usage for name, usage in parts.items() if usage["calls"] or usage["cached_calls"]}
        if {"memory", "replays"} & spent.keys():
            shown = ", ".join(
                f"{_PARTS[name]} {_dollars(one['cost_usd'])} ({_tokens(one):,} tokens)" for name, one in spent.items()
            )
            out.append(f"{_name(cell)}: {shown}.")
    return out


_PARTS = {"replays": "replaying the history", "answers": "questions and tasks", "memory": "day dreams", "judge": "judges"}


def _tokens(usage: Mapping[str, Any]) -> int:
    return int(usage["input_tokens"] + usage["output_tokens"])


def _dollars(cost: float | None) -> str:
    return "an unknown amount" if cost is None else f"${cost:.3f}"


def _name(cell: Mapping[str, Any]) -> str:
    return f"{cell['benchmark']} {cell['arm']} {cell['model']}" + (f" #{cell['repeat']}" if cell["repeat"] > 1 else "")


def daydream_fault(summary: Mapping[str, Any]) -> ProviderError | None:
    """Return the error with which to end a command whose day dreams failed, or None."""
    failed = {_name(cell): cell["daydreams"] for cell in summary["cells"] if cell.get("daydreams", {}).get("failed")}
    if not failed:
        return None
    first = next(iter(failed.values()))["problem"]
    return ProviderError(
        f"Day dreams failed in {len(failed)} of {len(summary['cells'])} cells ({', '.join(failed)}), so their memory is "
        f"incomplete and the questions after them are unscored. {first}",
        fix=f"Correct the reader's model or login, then continue with --resume {summary['group']}.",
    )


def unscored_fault(summary: Mapping[str, Any]) -> RunError | None:
    """Return the error to end a command with if faults left a cell without any scored question, or None."""
    empty = [cell for cell in summary["cells"] if cell.get("unscored") and _is_empty(cell)]
    if not empty:
        return None
    return RunError(
        f"Nothing could be scored in {len(empty)} of {len(summary['cells'])} cells because of faults "
        f"({', '.join(map(_name, empty))}).",
        fix=f"Continue with --resume {summary['group']}.",
    )


def _is_empty(cell: Mapping[str, Any]) -> bool:
    return bool(sum(cell["unscored"].values()) >= cell["questions"]["total"])


def faults_of(summary: Mapping[str, Any]) -> list[str]:
    """Describe the unscored questions of each cell, grouped by fault, and the cost of failed sessions."""
    out = []
    for cell in summary["cells"]:
        name = _name(cell)
        if unscored := cell.get("unscored"):
            count = sum(unscored.values())
            causes = ", ".join(f"{number} {fault}" for fault, number in unscored.items())
            out.append(
                f"{name}: {count} questions are unscored because of faults ({causes}). Ask them with --resume {summary['group']}."
            )
        if ungraded := cell.get("summary", {}).get("ungraded"):
            task, reason = next(iter(ungraded.items()))
            tasks = ", ".join(list(ungraded)[:10]) + (" …" if len(ungraded) > 10 else "")
            out.append(f"{name}: not scored because they can't be graded on this machine: {tasks}. {task}: {reason}")
        if (lost := cell.get("lost")) and lost["sessions"]:
            cost = lost["usage"]["cost_usd"]
            causes = ", ".join(f"{number} {fault}" for fault, number in lost["by_kind"].items())
            sessions = f"{lost['sessions']} sessions that faults ended are not counted ({causes})"
            out.append(f"{name}: {sessions}; they cost {_dollars(cost)} more.")
        if (dreams := cell.get("daydreams")) and dreams["failed"]:
            out.append(f"{name}: {dreams['failed']} day dreams failed. {dreams['problem']}")
    return out


def show_validated(found: Mapping[str, Mapping[str, str]], *, as_json: bool) -> None:
    """Print the tasks that can be graded on this machine, and why others can't."""
    if as_json:
        print_json(found)
        return
    for benchmark, tasks in found.items():
        good = sum(not reason for reason in tasks.values())
        click.echo(f"{benchmark}: {good} of {len(tasks)} tasks can be graded here.")
        for task, reason in tasks.items():
            click.echo(f"  {task}: {reason or 'can be graded'}")


def show_files(results: ResultsDir, summary: Mapping[str, Any]) -> None:
    """Print the paths of the result files."""
    for cell in summary["cells"]:
        with results.open(cell["run_id"]) as store:
            click.echo(str(results.root / store.meta("result_file")))
    click.echo(str(results.run_dir(summary["group"]) / "summary.json"))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
