"""Run the cells of a command and compare them.

Arms of a benchmark are compared on the same questions. The primary comparison is chosen before the run, and Holm's
correction covers the primary comparisons of a command, one per benchmark. All others are exploratory. McNemar's exact
test is used if all values are 0 or 1, otherwise the paired permutation test. If questions share conversations, both
test over conversations. Questions lost to an infrastructure fault (a crash, a limit) are left out and counted. A
session that ran out of time or turns counts as wrong.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Semaphore
from typing import Any

from memeval import stats
from memeval.claudecode.command import GRID, Command, GridRow, primary_of
from memeval.claudecode.contract import OWN_FAULTS, Arm, ClientName, Family, StepRecord, StepSequence
from memeval.claudecode.controls import arm_sequences
from memeval.claudecode.faults import CircuitBreaker, forget_faults
from memeval.claudecode.result import main_metric, step_records
from memeval.claudecode.sessions import injected_tokens
from memeval.claudecode.subject import ClientSubject, Machine
from memeval.report.runs import QuestionResult, RunResult, parse_run
from memeval.results.files import ResultsDir
from memeval.run import engine
from memeval.run.checkpoint import Run
from memeval.run.progress import Progress
from memeval.run.settings import Selection
from memeval.stats import Comparison
from memoryd.core.files import write_atomic


def perform(machine: Machine, group: str, command: Command, families: Mapping[str, Family], progress: Progress) -> dict[str, Any]:
    """Run all cells, cheapest first, and compare them. Raises MemevalError. Completed work is kept."""
    slots, outage = Semaphore(command.conditions.workers), CircuitBreaker(resume=f"--resume {group}")
    files: dict[GridRow, Path] = {}
    without: dict[GridRow, list[StepRecord]] = {}
    injected: dict[GridRow, Mapping[str, int]] = {}
    early: list[ClientSubject] = []
    for cell in (cell for cell in command.all_cells() if cell.benchmark in families):
        family = families[cell.benchmark]
        sequences = cell_sequences(family, cell, command.selection)
        baseline = without.get(cell.baseline, [])
        given = injected.get(replace(cell, arm=Arm.PLUGIN), {})
        subject = ClientSubject(machine, group, command, cell, family, sequences, slots, outage, baseline, given)
        with _open(machine, subject) as run:
            file = engine.perform(run, subject, machine.context.stop, progress)
            assert file is not None
            files[cell] = file
            if cell.arm is Arm.PLUGIN:
                injected[cell] = injected_tokens(run.store)
            if cell.arm is Arm.OFF:
                without[cell] = step_records(run, sequences)
            elif not baseline:
                early.append(subject)
    for subject in early:  # In a grid, the cell without memory runs later, so recompute.
        if subject.cell.baseline in without:
            with Run.resume(machine.results, subject.run_id) as run:
                engine.report(run, replace(subject, without=without[subject.cell.baseline]))
    return write_summary(machine.results, group, command, files.values())


def cell_sequences(family: Family, cell: GridRow, selection: Selection) -> list[StepSequence]:
    """Return the sequences of a cell, with the history altered as its arm requires. Raises ConfigError."""
    chosen = list(family.sequences(selection))
    return arm_sequences(cell.arm, chosen, list(family.sequences(Selection()))) if cell.arm.is_harm else chosen


def check_arms(command: Command, families: Mapping[str, Family]) -> None:
    """Check that each arm has tasks before any session is paid for. Raises ConfigError."""
    for cell in command.all_cells():
        if cell.benchmark in families and cell.arm.is_harm and cell.repeat == 1:
            cell_sequences(families[cell.benchmark], cell, command.selection)


def _open(machine: Machine, subject: ClientSubject) -> Run:
    """Create the run of a cell, or resume an existing one."""
    if subject.run_id not in machine.results.run_ids():
        return engine.start(machine.results, subject.run_id, subject.settings(), subject)
    run, _ = engine.reopen(machine.results, subject.run_id, lambda run: subject)
    forget_faults(run, cached=machine.cache.enabled)
    if machine.retry_failed:
        run.forget_failed()
    return run


def write_summary(results_dir: ResultsDir, group: str, command: Command, files: Iterable[Path]) -> dict[str, Any]:
    """Write the summary of a command: the results of its cells and the comparisons between them."""
    results = [json.loads(file.read_text("utf-8")) for file in files]
    summary = {
        "schema_version": 1,
        "kind": "run-bench-summary",
        "group": group,
        "cells": [_shown(result) for result in results],
        **compare_all(cell_values(results), command.seed, _ends(command), command.primary),
    }
    write_atomic(results_dir.run_dir(group) / "summary.json", (json.dumps(summary, indent=1) + "\n").encode(), private=False)
    return summary


def _ends(command: Command) -> tuple[str, str]:
    """Return the grid's small model (with memory) and its large model (the last one without memory)."""
    small = {model for arm, model in command.cells if arm != Arm.OFF}
    without = [model for arm, model in command.cells if arm == Arm.OFF]
    return (small.pop(), without[-1]) if len(small) == 1 and len(without) > 1 else ENDS


def _shown(result: Mapping[str, Any]) -> dict[str, Any]:
    meta = result["claudecode"]
    return {
        "run_id": result["run_id"],
        "benchmark": result["benchmark"]["name"],
        "client": client_of(meta),
        "client_version": meta["client_version"],
        "arm": meta["arm"],
        "model": meta["model"],
        "repeat": meta["repeat"],
        "history": meta["differences"]["history"],
        "questions": result["totals"],
        "sessions": meta["sessions"],
        "unscored": meta.get("unscored", {}),
        "lost": meta.get("lost", {}),
        "daydreams": meta.get("daydreams", {}),
        "costs": meta.get("costs", {}),
        "metrics": meta["four_metrics"],
        "summary": meta["summary"],
        "cost_usd": result["usage"]["total"]["cost_usd"],
        "tokens": result["usage"]["total"]["input_tokens"] + result["usage"]["total"]["output_tokens"],
    }


ALPHA = 0.05
ENDS = ("haiku", "opus")
MARGIN = 0.05
"""Largest difference below the baseline that still counts as reaching it, if the whole interval is within this margin."""
MIN_QUESTIONS = 20
"""Minimum number of questions for the conclusion "within". With fewer, bootstrap intervals are far too narrow."""


@dataclass(frozen=True, slots=True)
class CellValues:
    """The values of one cell by question, averaged over its repeats."""

    benchmark: str
    arm: Arm
    model: str
    metric: str
    values: Mapping[str, float | None]
    clusters: Mapping[str, str]
    by_repeat: tuple[float, ...] = ()
    client: str = str(ClientName.CLAUDE_CODE)

    @property
    def name(self) -> str:
        """Return the cell's name for tables."""
        return f"{self.benchmark} {self.arm} {self.model}"


def cell_values(results: Sequence[Mapping[str, Any]]) -> list[CellValues]:
    """Read cells from results. Repeats are combined into one cell."""
    groups: dict[tuple[str, str, str, str], list[RunResult]] = defaultdict(list)
    for data in results:
        meta = data["claudecode"]
        groups[(data["benchmark"]["name"], meta["arm"], meta["model"], client_of(meta))].append(parse_run(data))
    return [_cell(*cell, runs) for cell, runs in groups.items()]


def client_of(meta: Mapping[str, Any]) -> str:
    """Return the client of a result. Older results have no name, because they were all of Claude Code."""
    return str(meta.get("client", ClientName.CLAUDE_CODE))


def _cell(benchmark: str, arm: str, model: str, client: str, runs: Sequence[RunResult]) -> CellValues:
    metric = main_metric(runs[0].data["metrics"]) or "accuracy"
    found: dict[str, list[float]] = defaultdict(list)
    clusters: dict[str, str] = {}
    means = []
    for run in runs:
        asked = [question for question in run.questions if question.entry(metric).status != "skipped"]
        values = {question.key: _value(question, metric) for question in asked}
        scored = [value for value in values.values() if value is not None]
        if scored:
            means.append(math.fsum(scored) / len(scored))
        for question in asked:
            clusters[question.key] = question.cluster
            if (value := values[question.key]) is not None:
                found[question.key].append(value)
    mean = {key: math.fsum(found[key]) / len(found[key]) if found.get(key) else None for key in clusters}
    return CellValues(benchmark, Arm(arm), model, metric, mean, clusters, tuple(means), client)


def _value(question: QuestionResult, metric: str) -> float | None:
    entry = question.entry(metric)
    if entry.status == "failed":
        return 0.0 if question.error.startswith(OWN_FAULTS) else None
    return entry.value


def compare_all(cells: Sequence[CellValues], seed: int, ends: tuple[str, str] = ENDS, primary: str = "") -> dict[str, Any]:
    """Make all comparisons that the cells allow, each with a conclusion and its question in one line.

    `ends` contains substrings of the names of the grid's small and large models. `primary` is the command's primary
    comparison, by default `primary_of`. It comes first.
    """
    chosen = primary or _default_primary(cells, ends)
    pairs = [(kind, first, second, one) for kind, first, second in _pairs(cells, ends) if (one := _compare(first, second, seed))]
    pairs.sort(key=lambda pair: not _is_primary(chosen, pair[0], pair[1], pair[2]))
    family = {_name(first, second): one.p for kind, first, second, one in pairs if _is_primary(chosen, kind, first, second)}
    adjusted = stats.holm(family)
    comparisons = [_described(pair, adjusted.get(_name(pair[1], pair[2])), max(1, len(family))) for pair in pairs]
    return {
        "alpha": ALPHA,
        "primary": chosen,
        "comparisons": comparisons,
        "variance": [_variance(cell) for cell in cells if len(cell.by_repeat) > 1],
    }


def _default_primary(cells: Sequence[CellValues], ends: tuple[str, str]) -> str:
    grid = any(kind == GRID for kind, _, _ in _pairs(cells, ends))
    return primary_of("", [(str(cell.arm), cell.model) for cell in cells], grid=grid)


def _name(first: CellValues, second: CellValues) -> str:
    return f"{first.name} – {second.name}"


def _is_primary(primary: str, kind: str, first: CellValues, second: CellValues) -> bool:
    return primary == kind == GRID or (kind != GRID and primary == f"{first.arm}:{second.arm}")


def _described(pair: tuple[str, CellValues, CellValues, Comparison], p_holm: float | None, family: int) -> dict[str, Any]:
    kind, first, second, one = pair
    p = one.p if p_holm is None else p_holm
    verdict = _reaches(one, p) if kind == GRID else _pays(one, p)
    limits = _limits(first, second, one, family)
    if limits["clusters"] == 1 < one.questions:
        verdict = UNDECIDED  # Its questions share one memory, so they don't generalise to other conversations.
    described = {
        "kind": kind,
        "role": "exploratory" if p_holm is None else "primary",
        "benchmark": first.benchmark,
        "metric": first.metric,
        "first": {"arm": str(first.arm), "model": first.model},
        "second": {"arm": str(second.arm), "model": second.model},
        **_numbers(one),
        "test": one.test,
        "p": one.p,
        "p_holm": p_holm,
        "verdict": verdict,
        "power": limits,
    }
    described["enough"] = enough_of(described) if verdict == UNDECIDED else ""
    return described | ({"question": asked(described)} if kind == GRID else {})


def _limits(first: CellValues, second: CellValues, one: Comparison, family: int) -> dict[str, Any]:
    """Return the differences that the comparison can detect, and the number of questions needed for the observed one."""
    both = [key for key, value in first.values.items() if value is not None and second.values.get(key) is not None]
    left, right = ([float(side.values[key] or 0.0) for key in both] for side in (first, second))
    clusters = [first.clusters.get(key) or second.clusters[key] for key in both]
    design = stats.observed_design(left, right, clusters, ALPHA / family)
    return {
        "power": stats.POWER,
        "clusters": design.clusters,
        "smallest_detectable": stats.smallest_detectable(design),
        "questions_needed": stats.questions_needed(design, one.difference) if design.clusters > 1 else None,
    }


def _pairs(cells: Sequence[CellValues], ends: tuple[str, str]) -> list[tuple[str, CellValues, CellValues]]:
    """Return the pairs of cells to compare.

    Each arm is compared with no memory. Arms with the plugin are also compared with the built-in memory and the
    controls. The small model with memory is compared with the large model without it.
    """
    out = []
    for first in cells:
        for second in cells:
            alike = (first.benchmark, first.metric, first.client) == (second.benchmark, second.metric, second.client)
            if not alike or first is second:
                continue
            if first.model == second.model and (kind := _kind(first.arm, second.arm)):
                out.append((kind, first, second))
            elif ends[0] in first.model and first.arm.remembers and ends[1] in second.model and second.arm is Arm.OFF:
                out.append((GRID, first, second))
    return out


def _kind(first: Arm, second: Arm) -> str:
    """Return the kind of comparison between two arms of the same model, or an empty string if they aren't compared."""
    if second is Arm.OFF and first is not Arm.OFF:
        return "harm" if first.is_harm else "memory" if first.remembers else "control"
    if first.is_harm:
        return "harm" if second is Arm.PLUGIN else ""
    own = first.has_plugin and first.remembers
    if own and second is Arm.BUILTIN:
        return "against built-in"
    if own and second in (Arm.BLANK, Arm.PLACEBO, Arm.NOTES, Arm.HISTORY):
        return "against control"
    return "dream" if (first, second) == (Arm.DREAMED, Arm.PLUGIN) else ""


def _compare(first: CellValues, second: CellValues, seed: int) -> Comparison | None:
    clusters = {**second.clusters, **first.clusters}
    return stats.compare(first.values, second.values, seed=seed, clusters=clusters)


def _numbers(one: Comparison) -> dict[str, Any]:
    data = asdict(one)
    means = {"first_mean": data.pop("first"), "second_mean": data.pop("second")}
    return data | means


UNDECIDED = "not enough data to say"


def _pays(one: Comparison, p: float) -> str:
    if p < ALPHA:
        return "pays" if one.difference > 0 else "harms"
    return UNDECIDED


def _reaches(one: Comparison, p: float) -> str:
    if p < ALPHA:
        return "yes, it is above" if one.difference > 0 else "no, it stays below"
    if one.interval.low > -MARGIN and one.questions >= MIN_QUESTIONS:
        return "yes, within 5 points"
    return UNDECIDED


def _variance(cell: CellValues) -> dict[str, Any]:
    mean = math.fsum(cell.by_repeat) / len(cell.by_repeat)
    squares = math.fsum((value - mean) ** 2 for value in cell.by_repeat)
    deviation = math.sqrt(squares / (len(cell.by_repeat) - 1))
    return {"cell": cell.name, "repeats": list(cell.by_repeat), "mean": mean, "standard_deviation": deviation}


def asked(one: Mapping[str, Any]) -> str:
    """Phrase the question answered by a comparison."""
    small, large = one["first"]["model"], one["second"]["model"]
    names = ("Haiku", "Opus") if ENDS[0] in small and ENDS[1] in large else (small, large)
    return f"Does {names[0]} with memory reach the {names[1]} baseline?"


def lines_of(summary: Mapping[str, Any]) -> list[str]:
    """Format each comparison as one readable line, primary ones first."""
    out = []
    for one in summary["comparisons"]:
        first, second = (f"{one[side]['arm']} {one[side]['model']}" for side in ("first", "second"))
        low, high = one["interval"]["low"], one["interval"]["high"]
        p = f"p {one['p']:.3f}, exploratory" if one["p_holm"] is None else f"p {one['p_holm']:.3f}"
        numbers = (
            f"{100 * one['first_mean']:.1f} against {100 * one['second_mean']:.1f} on {one['questions']} questions, difference "
            f"{100 * one['difference']:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}], {p}"
        )
        question = f"{asked(one)} " if one["kind"] == GRID else ""
        more = f" {enough_of(one)}" if one["verdict"] == UNDECIDED else ""
        out.append(f"{one['benchmark']}: {question}{first} – {second}: {one['verdict']}. {one['metric']} {numbers}.{more}")
    return out


def enough_of(one: Mapping[str, Any]) -> str:
    """Describe how much data an undecided comparison would have needed. This is missing in older summaries."""
    limits = one.get("power")
    if not limits:
        return ""
    if limits["clusters"] == 1:
        return "All questions are about one conversation; use more of them."
    smallest, needed = limits["smallest_detectable"], limits["questions_needed"]
    found = (
        "So few questions can't detect any difference"
        if smallest is None
        else f"Differences of {100 * smallest:.0f} points or more are detected"
    )
    chance = f" with {100 * limits['power']:.0f} % power"
    return f"{found}{chance}{f'; this one needs about {needed:,} questions' if needed else ''}."
