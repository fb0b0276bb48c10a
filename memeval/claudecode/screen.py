"""What run_bench prints: lists, plans and verdicts, for people or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from memeval.claudecode import benches
from memeval.claudecode.command import Command
from memeval.claudecode.conditions import TRANSCRIPTS
from memeval.claudecode.contract import Arm, Family
from memeval.claudecode.estimate import Estimate, estimate
from memeval.claudecode.families import FamilyOptions
from memeval.claudecode.subject import history_of
from memeval.claudecode.verdict import lines_of
from memeval.report.terminal import print_json, print_table
from memeval.results.files import ResultsDir


def list_benchmarks(options: FamilyOptions, *, as_json: bool) -> None:
    """Name, whether it can run here, and what it needs."""
    found = {name: benches.needs(name, options) for name in benches.known(options)}
    if as_json:
        print_json({name: {"ready": not benches.missing(name, options), "needs": needs} for name, needs in found.items()})
        return
    print_table(
        "", ("benchmark", "ready", "needs"), [(name, _ready(name, options), _told(needs)) for name, needs in found.items()]
    )


def _ready(name: str, options: FamilyOptions) -> str:
    if not benches.missing(name, options, fetch=False):
        return "yes"
    return "after a download" if not benches.missing(name, options) else "no"


def _told(needs: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(need["name"] if need["here"] else f"{need['name']}, not here: {need['fix'].rstrip('.')}" for need in needs)


def show_plan(command: Command, families: Mapping[str, Family], *, as_json: bool) -> None:
    """Cells with their estimates, and the sum."""
    imported = command.conditions.ingest == TRANSCRIPTS
    sequences = {name: list(family.sequences(command.selection)) for name, family in families.items()}
    cells = [
        (cell, estimate(cell.arm, cell.model, sequences[cell.benchmark], command.conditions.workers, imported=imported))
        for cell in command.all_cells()
        if cell.benchmark in families
    ]
    total = sum((one for _, one in cells), Estimate())
    if as_json:
        rows = [{"cell": cell.label, "history": history_of(cell.arm, command.conditions), **asdict(one)} for cell, one in cells]
        print_json({"cells": rows, "total": asdict(total), "command": command.to_json()})
        return
    lines = [(cell.label, *_numbers(one)) for cell, one in cells]
    print_table("", ("cell", "sessions", "tokens in", "tokens out", "cost", "time"), [*lines, ("all", *_numbers(total))])
    click.echo("A rough upper estimate: cached input is counted at its full price. Nothing was run.")


def _numbers(one: Estimate) -> tuple[str, ...]:
    cost = "unknown" if one.cost_usd is None else f"${one.cost_usd:,.2f}"
    return f"{one.sessions:,}", f"{one.input_tokens:,}", f"{one.output_tokens:,}", cost, f"{one.hours:.2f} h"


def announce(group: str, command: Command) -> None:
    """The id, and what differs between the arms."""
    click.echo(f"Run {group}; go on with it by --resume {group}", err=True)
    for arm in dict.fromkeys(Arm(name) for name, _ in command.cells):
        own = "Claude Code's own memory" if arm.has_builtin else ""
        plugin = "the plugin" if arm.has_plugin else ""
        memory = " and ".join(part for part in (own, plugin) if part) or "no memory"
        click.echo(f"  {arm}: {memory}; history: {history_of(arm, command.conditions)}", err=True)


def show_summary(summary: Mapping[str, Any], *, as_json: bool) -> None:
    """Cells and verdicts."""
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
    for line in lines_of(summary):
        click.echo(line)
    for one in summary["variance"]:
        mean, spread = 100 * one["mean"], 100 * one["standard_deviation"]
        click.echo(f"{one['cell']}: {len(one['repeats'])} repeats, mean {mean:.1f}, standard deviation {spread:.1f}")


def show_files(results: ResultsDir, summary: Mapping[str, Any]) -> None:
    """Where it all is."""
    for cell in summary["cells"]:
        with results.open(cell["run_id"]) as store:
            click.echo(str(results.root / store.meta("result_file")))
    click.echo(str(results.run_dir(summary["group"]) / "summary.json"))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
