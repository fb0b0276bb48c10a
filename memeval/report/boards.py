"""Group comparable runs: those that differ only in memory system and answering model.

All runs on a board have the same benchmark, data file, selection of questions, target variant, granularity, judge, cut-offs and,
for runs of run_bench, client.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from memeval.core.errors import RunError
from memeval.report.runs import CLAUDE_CODE, MetricCell, RunResult
from memeval.report.table import NONE, Table, interval, percent
from memeval.specs import SuiteEntrySpec, SuiteSpec

_SELECTION = ("limit", "start", "end", "shard", "types", "questions", "dev_slice")
_PROTOCOL = ("targets", "granularity", "judge", "judge model")
Part = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Board:
    """Comparable runs and the values they share.

    `title` omits the values shared by all boards in a list. `heading` is the title with judge, target variant and granularity.
    """

    benchmark: str
    parts: tuple[Part, ...]
    runs: tuple[RunResult, ...]
    title: str = ""
    heading: str = ""

    @property
    def id(self) -> str:
        """Return a short id that does not change when runs are added to the board."""
        return sha256(json.dumps([self.benchmark, self.parts]).encode()).hexdigest()[:12]


def protocol(run: RunResult) -> str:
    """Describe the scoring of a run: its judge, target variant and granularity."""
    judges = run.find("models", "judges") or []
    names = [str(judge["name"]) for judge in judges if isinstance(judge, dict) and judge.get("name")]
    answered = run.answering_model or run.find("hypotheses")
    judge = " and ".join(names) or run.judge_model or run.setting("judge") or "none"
    variant, unit = run.setting("variant"), run.setting("granularity")
    parts = [f"judge {judge}" if answered else "no judge"]
    return ", ".join([*parts, *([f"variant {variant}"] if variant else []), *([f"granularity {unit}"] if unit else [])])


def board_of(runs: Iterable[RunResult], run_id: str) -> Board | None:
    """Return the board of a run, or None if the run measured nothing."""
    return next((board for board in boards(runs) if any(run.run_id == run_id for run in board.runs)), None)


def boards(runs: Iterable[RunResult]) -> list[Board]:
    """Group runs into boards by benchmark, ordered by the number of questions, largest first, then by order of appearance.

    Broken runs are skipped. Titles name the differences between boards.
    """
    grouped: dict[str, dict[tuple[Part, ...], list[RunResult]]] = {}
    for run in runs:
        if run.fault:
            continue
        grouped.setdefault(run.benchmark, {}).setdefault(board_parts(run), []).append(run)
    by_name = {name: dict(sorted(parts.items(), key=_fewest_last)) for name, parts in sorted(grouped.items())}
    return [board for name, parts in by_name.items() for board in _titled(name, parts)]


def _fewest_last(board: tuple[tuple[Part, ...], list[RunResult]]) -> int:
    """Return the sort key that lists larger boards first, so that a board of two questions never precedes one of five hundred."""
    return -len(board[1][0].questions)


def board_parts(run: RunResult) -> tuple[Part, ...]:
    """Return the named values that must be equal for all runs of a board."""
    selection = {name: value for name, value in _settings(run, "selection").items() if name in _SELECTION and value}
    judges = run.find("models", "judges")
    prompts = json.dumps(judges, sort_keys=True) if judges else ""
    return (
        ("suite", run.setting("suite")),
        ("data", run.data_hash[:8]),
        ("questions", f"{len(run.questions)}{' ' + json.dumps(selection, sort_keys=True) if selection else ''}"),
        ("targets", run.setting("variant")),
        ("granularity", run.setting("granularity")),
        ("judge", run.setting("judge") if run.answering_model or run.find("hypotheses") else ""),
        ("judge model", run.judge_model),
        ("judge prompts", prompts),
        ("read", run.setting("top_k")),
        ("asked for", run.setting("search_k")),
        ("threshold", run.setting("threshold")),
        ("prepared", _prepared(run)),
        ("client", _other_client(run)),
    )


def _other_client(run: RunResult) -> str:
    """Return the client of a run_bench run unless it is Claude Code, whose results were the first and have no such part."""
    name = str(run.find("claudecode", "client") or "")
    return "" if name == CLAUDE_CODE else name


def _prepared(run: RunResult) -> str:
    """Describe how sessions are prepared before ingestion, from the benchmark's file."""
    made = {key: said for key in ("chunking", "preprocessing") if (said := run.find("benchmark", "spec", key))}
    return json.dumps(made, sort_keys=True) if made else ""


def _settings(run: RunResult, name: str) -> dict[str, object]:
    found = run.find("settings", name)
    return dict(found) if isinstance(found, dict) else {}


def _titled(benchmark: str, groups: dict[tuple[Part, ...], list[RunResult]]) -> Iterable[Board]:
    several = {name for name, _ in _differing(list(groups))}
    for parts, runs in groups.items():
        shown = {
            name: f"{name} {value or 'none'}" if name != "judge prompts" else "own judge prompts"
            for name, value in parts
            if name in several
        }
        title = ", ".join([benchmark, *dict.fromkeys(shown.values())])
        rest = [text for name, text in shown.items() if name not in _PROTOCOL]
        yield Board(benchmark, parts, tuple(runs), title, ", ".join([benchmark, protocol(runs[0]), *dict.fromkeys(rest)]))


def _differing(keys: Sequence[tuple[Part, ...]]) -> list[Part]:
    """Return the parts of the first key with a different value in any other key."""
    return [part for part in keys[0] if any(part not in other for other in keys[1:])] if keys else []


def suite_table(suite: SuiteSpec, runs: Iterable[RunResult]) -> Table:
    """Tabulate a suite: a row per provider and answering model, a column per entry, and the mean over all entries.

    A cell is the value in per cent with its interval, from the latest run. The caller must exclude runs of other
    versions. Raises RunError if the runs of an entry differ in more than the system.
    """
    names = [entry.name for entry in suite.entries]
    latest = _latest_by_system(suite, runs)
    for name in names:
        _check_one_board(name, [found[name] for found in latest.values() if name in found])
    rows = [
        (*system, *(_suite_cell(entry, found.get(entry.name)) for entry in suite.entries), _suite_mean(suite, found))
        for system, found in latest.items()
    ]
    ordered = sorted(rows, key=lambda row: (row[-1] == NONE, -float(row[-1]) if row[-1] != NONE else 0.0, row[0]))
    with_models = [(row[0], row[1] or NONE, *row[2:]) for row in ordered]
    return Table(("provider", "answering model", *names, "mean"), tuple(with_models), frozenset((*names, "mean")))


def _latest_by_system(suite: SuiteSpec, runs: Iterable[RunResult]) -> dict[tuple[str, str], dict[str, RunResult]]:
    """Return the latest run of each entry by provider and answering model. Runs without a model are included for every model."""
    latest: dict[tuple[str, str], dict[str, RunResult]] = {}
    for run in sorted((run for run in runs if not run.fault), key=lambda run: run.finished_at):
        latest.setdefault((run.provider, run.answering_model), {})[run.setting("suite_entry")] = run
    answering = {provider for provider, model in latest if model}
    for (provider, model), found in latest.items():
        if model:
            found |= {name: run for name, run in latest.get((provider, ""), {}).items() if name not in found}
    return {system: found for system, found in latest.items() if system[1] or system[0] not in answering}


def _check_one_board(entry: str, runs: Sequence[RunResult]) -> None:
    for other in runs[1:]:
        if differing := _differing([board_parts(runs[0]), board_parts(other)]):
            name, value = differing[0]
            raise RunError(
                f"Runs {runs[0].run_id} and {other.run_id} of entry {entry} differ in {name} ({value or 'none'} and another).",
                fix="Run both systems with the same data, judge and options.",
            )


def _suite_value(entry: SuiteEntrySpec, run: RunResult | None) -> MetricCell | None:
    name = entry.metric or (run.primary if run is not None else None)
    return run.metrics[name] if run is not None and name is not None and run.has_value(name) else None


def _suite_cell(entry: SuiteEntrySpec, run: RunResult | None) -> str:
    cell = _suite_value(entry, run)
    return NONE if cell is None else f"{percent(cell.value)} ({interval(cell.low, cell.high)})"


def _suite_mean(suite: SuiteSpec, found: Mapping[str, RunResult]) -> str:
    """Return the mean over all entries, or a dash if one is missing. A mean over fewer would not be comparable."""
    cells = [_suite_value(entry, found.get(entry.name)) for entry in suite.entries]
    values = [cell.value for cell in cells if cell is not None and cell.value is not None]
    return percent(sum(values) / len(values)) if len(values) == len(cells) else NONE
