"""Runs the cells of a command, from the first to the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Semaphore
from typing import Any

from memeval.claudecode.command import Cell, Command
from memeval.claudecode.contract import Arm, Family, StepRecord
from memeval.claudecode.outcome import step_records
from memeval.claudecode.sessions import Outage
from memeval.claudecode.subject import ClientSubject, Machine
from memeval.claudecode.verdict import ENDS, cell_values, compare_all
from memeval.results.files import ResultsDir
from memeval.run import engine
from memeval.run.checkpoint import Run
from memeval.run.progress import Progress
from memoryd.files import write_atomic


def perform(machine: Machine, group: str, command: Command, families: Mapping[str, Family], progress: Progress) -> dict[str, Any]:
    """Run all cells, cheapest first, and compare them. Raises MemevalError; what was done is kept."""
    slots, outage = Semaphore(command.conditions.workers), Outage()
    files: dict[Cell, Path] = {}
    without: dict[Cell, list[StepRecord]] = {}
    early: list[ClientSubject] = []
    for cell in (cell for cell in command.all_cells() if cell.benchmark in families):
        family = families[cell.benchmark]
        sequences = list(family.sequences(command.selection))
        baseline = without.get(cell.baseline, [])
        subject = ClientSubject(machine, group, command, cell, family, sequences, slots, outage, baseline)
        with _open(machine, subject) as run:
            file = engine.perform(run, subject, machine.context.stop, progress)
            assert file is not None
            files[cell] = file
            if cell.arm is Arm.OFF:
                without[cell] = step_records(run, sequences)
            elif not baseline:
                early.append(subject)
    for subject in early:  # in a grid the cell without memory comes later
        if subject.cell.baseline in without:
            with Run.resume(machine.results, subject.run_id) as run:
                engine.report(run, replace(subject, without=without[subject.cell.baseline]))
    return write_summary(machine.results, group, command, files.values())


def _open(machine: Machine, subject: ClientSubject) -> Run:
    """The cell's run, new or as it was left."""
    if subject.run_id not in machine.results.run_ids():
        return engine.start(machine.results, subject.run_id, subject.settings(), subject)
    run, _ = engine.reopen(machine.results, subject.run_id, lambda run: subject)
    if machine.retry_failed:
        run.forget_failed()
    return run


def write_summary(results_dir: ResultsDir, group: str, command: Command, files: Iterable[Path]) -> dict[str, Any]:
    """The cells of a command, from their result files, and the comparisons between them."""
    results = [json.loads(file.read_text("utf-8")) for file in files]
    summary = {
        "schema_version": 1,
        "kind": "run-bench-summary",
        "group": group,
        "cells": [_shown(result) for result in results],
        **compare_all(cell_values(results), command.seed, _ends(command)),
    }
    write_atomic(results_dir.run_dir(group) / "summary.json", (json.dumps(summary, indent=1) + "\n").encode(), private=False)
    return summary


def _ends(command: Command) -> tuple[str, str]:
    """The grid's small and large model: the one with memory, and the last of several without."""
    small = {model for arm, model in command.cells if arm != Arm.OFF}
    without = [model for arm, model in command.cells if arm == Arm.OFF]
    return (small.pop(), without[-1]) if len(small) == 1 and len(without) > 1 else ENDS


def _shown(result: Mapping[str, Any]) -> dict[str, Any]:
    told = result["claudecode"]
    return {
        "run_id": result["run_id"],
        "benchmark": result["benchmark"]["name"],
        "arm": told["arm"],
        "model": told["model"],
        "repeat": told["repeat"],
        "history": told["differences"]["history"],
        "questions": result["totals"],
        "sessions": told["sessions"],
        "metrics": told["four_metrics"],
        "summary": told["summary"],
        "cost_usd": result["usage"]["total"]["cost_usd"],
        "tokens": result["usage"]["total"]["input_tokens"] + result["usage"]["total"]["output_tokens"],
    }
