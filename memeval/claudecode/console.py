"""Print the lists, plans and comparisons of run_bench as text or JSON.

A plan includes a rough estimate of sessions, tokens, dollars and hours, and says that it is rough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from memeval.claudecode import families
from memeval.claudecode.arms import MEANINGS, TRANSCRIPTS
from memeval.claudecode.command import Command
from memeval.claudecode.contract import Arm, Family, Step, StepKind, StepSequence
from memeval.claudecode.families import FamilyOptions
from memeval.claudecode.grid import lines_of
from memeval.claudecode.subject import history_of
from memeval.core.errors import ProviderError
from memeval.core.text import estimate_tokens
from memeval.models.prices import load_prices
from memeval.report.terminal import print_json, print_table
from memeval.results.files import ResultsDir


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
    return "; ".join(need["name"] if need["here"] else f"{need['name']}, not here: {need['fix'].rstrip('.')}" for need in needs)


def show_plan(command: Command, families: Mapping[str, Family], *, as_json: bool) -> None:
    """Print the estimate of each cell and the total."""
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
    """Print the id of the command and how its arms differ."""
    click.echo(f"Run {group}; resume it with --resume {group}", err=True)
    for arm in dict.fromkeys(Arm(name) for name, _ in command.cells):
        click.echo(f"  {arm}: {MEANINGS[arm]}; history: {history_of(arm, command.conditions)}", err=True)
    if limit := daily_budget_of(command):
        click.echo(f"  {limit}", err=True)


def daily_budget_of(command: Command) -> str:
    """Return a sentence about a daily budget of day dreams that the user set. By default none applies."""
    limit = command.conditions.plugin_settings.get("daily_token_budget")
    if limit is None or not any(Arm(arm).has_plugin for arm, _ in command.cells):
        return ""
    return f"Day dreams get at most {limit} model tokens a day, as --plugin-setting daily_token_budget says."


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
    """Describe, cell by cell, what memory itself cost: replaying the history, and the models of the plugin."""
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
    """Return the error that a command ends with if day dreams failed, or None."""
    failed = {_name(cell): cell["daydreams"] for cell in summary["cells"] if cell.get("daydreams", {}).get("failed")}
    if not failed:
        return None
    first = next(iter(failed.values()))["problem"]
    return ProviderError(
        f"Day dreams failed in {len(failed)} of {len(summary['cells'])} cells ({', '.join(failed)}), so their memory is "
        f"incomplete and the questions after them are unscored. {first}",
        fix=f"Correct the reader's model or login, then continue with --resume {summary['group']}.",
    )


def faults_of(summary: Mapping[str, Any]) -> list[str]:
    """Describe, cell by cell, the questions that have no score because of a fault, and what failed sessions cost."""
    out = []
    for cell in summary["cells"]:
        name = _name(cell)
        if unscored := cell.get("unscored"):
            count = sum(unscored.values())
            causes = ", ".join(f"{number} {fault}" for fault, number in unscored.items())
            out.append(
                f"{name}: {count} questions are unscored because of faults ({causes}). Ask them with --resume {summary['group']}."
            )
        if (lost := cell.get("lost")) and lost["sessions"]:
            cost = lost["usage"]["cost_usd"]
            causes = ", ".join(f"{number} {fault}" for fault, number in lost["by_kind"].items())
            sessions = f"{lost['sessions']} sessions ended by faults are not counted ({causes})"
            out.append(f"{name}: {sessions}; they cost {_dollars(cost)} more.")
        if (dreams := cell.get("daydreams")) and dreams["failed"]:
            out.append(f"{name}: {dreams['failed']} day dreams failed. {dreams['problem']}")
    return out


def show_files(results: ResultsDir, summary: Mapping[str, Any]) -> None:
    """Print the paths of the files."""
    for cell in summary["cells"]:
        with results.open(cell["run_id"]) as store:
            click.echo(str(results.root / store.meta("result_file")))
    click.echo(str(results.run_dir(summary["group"]) / "summary.json"))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


BASE_TOKENS = {StepKind.REPLAY: 10_000, StepKind.QUESTION: 10_000, StepKind.TASK: 25_000}
"""Tokens of the client's own prompt and tools (about 9,000 were measured with three tools)."""
CALLS = {StepKind.REPLAY: 1, StepKind.QUESTION: 2, StepKind.TASK: 15}
OUTPUT_TOKENS = {StepKind.REPLAY: 100, StepKind.QUESTION: 250, StepKind.TASK: 6_000}
SECONDS = {StepKind.REPLAY: 5.0, StepKind.QUESTION: 9.0, StepKind.TASK: 150.0}
PLUGIN_SECONDS = 2.0
_ALIASES = {"haiku": "claude-haiku-4-5", "sonnet": "claude-sonnet-5-5", "opus": "claude-opus-5-5"}


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated effort of a cell.

    `cost_usd` is None if the price of the model is unknown. `hours` is wall time with the given number of workers.
    """

    sessions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    hours: float = 0.0

    def __add__(self, other: Estimate) -> Estimate:
        cost = None if self.cost_usd is None or other.cost_usd is None else self.cost_usd + other.cost_usd
        return Estimate(
            self.sessions + other.sessions,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            cost,
            self.hours + other.hours,
        )


def steps_of(arm: Arm, sequence: StepSequence, *, imported: bool) -> list[Step]:
    """Return the steps that need a client session. Nothing is replayed without memory, and an import does not need a session."""
    skip = not arm.remembers or (imported and arm.has_plugin and not arm.has_builtin)
    return [step for step in sequence.steps if not (skip and step.kind is StepKind.REPLAY)]


def estimate(arm: Arm, model: str, sequences: Sequence[StepSequence], workers: int, *, imported: bool) -> Estimate:
    """Estimate one cell. Cached input is counted at its full price, so the cost is an upper bound."""
    given = taken = sessions = 0
    seconds = 0.0
    for sequence in sequences:
        for step in steps_of(arm, sequence, imported=imported):
            given += (BASE_TOKENS[step.kind] + _said(step)) * CALLS[step.kind]
            taken += OUTPUT_TOKENS[step.kind]
            seconds += SECONDS[step.kind] + (PLUGIN_SECONDS if arm.has_plugin else 0.0)
            sessions += 1
    price = load_prices().of(f"anthropic/{_ALIASES.get(model, model)}")
    cost = price.cost(given, taken) if price else None
    return Estimate(sessions, given, taken, cost, seconds / 3600 / max(1, workers))


def _said(step: Step) -> int:
    turns = step.session.turns if step.session else ()
    return estimate_tokens(step.prompt) + sum(estimate_tokens(turn.text) for turn in turns)
