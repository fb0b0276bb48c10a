"""Write all pages as files: one per run and command, and an index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from memeval.core.errors import RunError
from memeval.core.types import EMPTY
from memeval.registry import Catalog
from memeval.report.beside import PUBLISHED_NOTE, published_of, published_table, trends, version_of
from memeval.report.boards import Board, boards
from memeval.report.compare import few_clusters
from memeval.report.export import export, result_files
from memeval.report.html.charts import Bar, ScatterPoint, bars, scatter
from memeval.report.html.page import Html, card, el, esc, join, page, table
from memeval.report.html.run_bench_page import CellView, by_size, cell_view, command_title, grouped, read_summary, run_bench_page
from memeval.report.html.run_page import run_page, trajectories
from memeval.report.html.task_page import sessions_of, task_page
from memeval.report.runs import RunResult, light, read_run, widest_metric
from memeval.report.tables import leaderboard
from memeval.results.files import ResultsDir, result_text
from memoryd.core.files import write_atomic

SHOWN = 20
"""Maximum number of runs in a chart. Only the best ones are shown."""


def index_page(
    runs: Sequence[RunResult], links: Mapping[str, str], left_out: Sequence[str] = (), commands: Mapping[str, str] = EMPTY
) -> str:
    """Render the index. `links` maps run ids to pages. `left_out` lists unreadable results with the reasons.

    `commands` maps the pages of run_bench commands to their titles, in order.
    """
    shown = boards(runs)
    problems = [*left_out, *(f"{run.run_id} is not finished: {run.fault}." for run in runs if run.fault)]
    return page(
        "memeval: all runs",
        el("h1", "All runs"),
        el(
            "p",
            f"{_counted(len(runs), 'run')} of {_counted(len({board.benchmark for board in shown}), 'benchmark')}.",
            cls="soft",
        ),
        _commands(commands),
        [_section(board, links) for board in shown],
        [el("h2", "Left out"), el("ul", [el("li", line) for line in problems])] if problems else None,
    )


def _commands(commands: Mapping[str, str]) -> Html | None:
    if not commands:
        return None
    lines = [el("li", el("a", title, href=href)) for href, title in commands.items()]
    return join([el("h2", "Coding agents with and without memory"), el("ul", lines)])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _section(board: Board, links: Mapping[str, str]) -> Html:
    lines = leaderboard(board.runs)
    rows = [(_link(row[0], links), *row[1:]) for row in lines.rows]
    return join(
        [
            el("h2", board.title),
            table(lines.columns, rows, lines.numbers),
            [
                el("p", warning, cls="soft small")
                for warning in dict.fromkeys(few_clusters(run.clusters) for run in board.runs)
                if warning
            ],
            el("div", [chart for name, chart in board_charts(board, links) if not name.endswith(OVER_VERSIONS)], cls="grid"),
            [chart for name, chart in board_charts(board, links) if name.endswith(OVER_VERSIONS)],
            list(_published(board)),
        ]
    )


OVER_VERSIONS = " over versions"


def board_charts(board: Board, links: Mapping[str, str]) -> Iterator[tuple[str, Html]]:
    """Draw the charts of a board, keyed by name: its main metric, its cost, and each provider across versions."""
    yield from _charts(board.runs, links)
    yield from _trends(board)


def _trends(board: Board) -> Iterator[tuple[str, Html]]:
    """Render a chart over time, with one bar per version, for each provider with several runs."""
    for series in trends(board.runs):
        metric = series[-1].primary
        if metric is None:
            continue
        rows = [
            Bar(f"{run.finished_at[:10]} {version_of(run)}", cell.value, cell.low, cell.high, f"run {run.run_id}")
            for run in series[-SHOWN:]
            for cell in [run.metrics.get(metric)]
            if cell is not None
        ]
        title = f"{series[0].provider}{OVER_VERSIONS}"
        yield title, card(title, bars(rows, f"{metric} of {title}, per cent"), note=f"{metric}, per cent, newest last.")


def _published(board: Board) -> Iterator[Html]:
    """Render the benchmark's published figures, each with its source."""
    if figures := published_of(Catalog.default(), board.benchmark):
        content = published_table(figures)
        yield el("h3", "Published by others")
        yield el("p", PUBLISHED_NOTE, cls="soft small")
        # Pages contain no external links, so the address is plain text.
        yield table(content.columns, content.rows, content.numbers)


def _named(run: RunResult) -> str:
    """Return a run's label in the cost chart, with a note if an earlier run paid for cached calls."""
    return f"{run.provider} (in part from the cache)" if run.cached_calls else run.provider


def _link(run_id: str, links: Mapping[str, str]) -> Html:
    return el("a", run_id, href=links[run_id]) if run_id in links else esc(run_id)


def _charts(runs: Sequence[RunResult], links: Mapping[str, str]) -> Iterator[tuple[str, Html]]:
    metric = widest_metric(runs)
    if metric is None:
        return
    valued = sorted((run for run in runs if run.has_value(metric)), key=lambda run: -(run.metrics[metric].value or 0.0))[:SHOWN]
    rows = [
        Bar(run.provider, cell.value, cell.low, cell.high, f"run {run.run_id}")
        for run in valued
        for cell in (run.metrics[metric],)
    ]
    yield metric, card(metric, bars(rows, f"{metric} of each run, per cent"), note="Per cent, with 95 % intervals.")
    dots = [
        ScatterPoint(_named(run), run.cost, cell.value, cell.low, cell.high, links.get(run.run_id))
        for run in valued
        for cell in (run.metrics[metric],)
        if run.cost is not None and cell.value is not None
    ]
    unknown = len(valued) - len(dots)
    note = f"{metric} in per cent." + (f" {unknown} with unknown cost not shown." if unknown else "")
    if dots:
        yield "cost", card("Cost against accuracy", scatter(dots, f"{metric} over the cost of each run"), note=note)


FOLDER = "html"


def page_name(run_id: str) -> str:
    """Return the file name of a run's page: the run id, with a hash appended if the id is not a safe file name."""
    safe = re.sub(r"[^A-Za-z0-9_.-]+", "-", run_id).strip(".-")[:120] or "run"
    return f"{safe}.html" if safe == run_id and safe != "index" else f"{safe}-{sha256(run_id.encode()).hexdigest()[:8]}.html"


def write_run(run: RunResult, folder: Path) -> Path:
    """Write the page of one run to a folder and return its path."""
    target = folder / page_name(run.run_id)
    write_atomic(target, run_page(run).encode(), private=False)
    if (sessions := trajectories(run)) is not None:
        write_atomic(folder / sessions.name, sessions.read_bytes(), private=False)
    return target


def write_report(run: RunResult, folder: Path) -> list[Path]:
    """Write a run's report to its own folder: the result, the questions as CSV, a Markdown report and the page."""
    stem = page_name(run.run_id).removesuffix(".html")
    texts = {f"{stem}.json": result_text(run.data), f"{stem}.csv": export(run, "csv"), f"{stem}.md": export(run, "md")}
    for name, text in texts.items():
        write_atomic(folder / name, text.encode(), private=False)
    return [*(folder / name for name in texts), write_run(run, folder)]


def write_site(results: ResultsDir, folder: Path | None = None) -> Path:
    """Write index.html and a page per run with a result file. Return the index's path. Runs are loaded one at a time.

    Unreadable results are listed in the index. Raises RunError if there are no results.
    """
    folder = folder or results.root / FOLDER
    left_out: list[str] = []
    views: dict[str, CellView] = {}
    runs = _write_runs(result_files(results), folder, left_out, views)
    if not runs and not left_out:
        raise RunError(f"There are no results in {results.root}.", fix="Create one: memeval eval.")
    links = {run_id: page_name(run_id) for run_id in runs}
    commands = _write_commands(results, folder, views, links)
    target = folder / "index.html"
    write_atomic(target, index_page(list(runs.values()), links, left_out, commands).encode(), private=False)
    return target


def _write_commands(results: ResultsDir, folder: Path, views: dict[str, CellView], links: dict[str, str]) -> dict[str, str]:
    """Write a page per run_bench command. Return the titles by page, ordered by number of tasks, largest first."""
    pages = {}
    commands = grouped(views.values())
    for group in by_size(commands):
        name = page_name(f"run_bench-{group}")
        pages[name] = f"{command_title(commands[group])} · {group}"
        summary = read_summary(results.root / "runs" / Path(group).name / "summary.json")
        tasks = _write_tasks(group, commands[group], folder, name)
        write_atomic(folder / name, run_bench_page(group, commands[group], links, summary, tasks).encode(), private=False)
    return pages


def _write_tasks(group: str, cells: Sequence[CellView], folder: Path, command: str) -> dict[str, dict[str, str]]:
    """Write a page per coding task of a command. Return the pages by benchmark and task.

    The cells' trajectories must already be in the folder.
    """
    pages: dict[str, dict[str, str]] = {}
    for benchmark in dict.fromkeys(cell.benchmark for cell in cells):
        members = [cell for cell in cells if cell.benchmark == benchmark]
        sessions = {cell.run_id: sessions_of(folder / cell.trajectories) for cell in members if cell.trajectories}
        for task in dict.fromkeys(task for found in sessions.values() for task in found):
            target = page_name(f"task-{group}-{benchmark}-{task}")
            own = {run_id: found[task] for run_id, found in sessions.items() if task in found}
            write_atomic(folder / target, task_page(task, members, own, command).encode(), private=False)
            pages.setdefault(benchmark, {})[task] = target
    return pages


def _write_runs(files: list[Path], folder: Path, left_out: list[str], views: dict[str, CellView]) -> dict[str, RunResult]:
    """Write a page for the newest result of each run. A run that was judged again has several results."""
    runs: dict[str, RunResult] = {}
    for path in files:
        try:
            run = read_run(path)
        except RunError as error:
            left_out.append(str(error))
            continue
        known = runs.get(run.run_id)
        if known is not None:
            older = path if run.finished_at < known.finished_at else known.path
            left_out.append(f"{older} is an older result of run {run.run_id}.")
            if older == path:
                continue
        if (view := cell_view(run)) is not None:
            views[run.run_id] = view
        runs[run.run_id] = _light(run, folder)
    return runs


def _light(run: RunResult, folder: Path) -> RunResult:
    """Write the page of a run. Return the run without the texts of its questions, which the index does not need."""
    write_run(run, folder)
    return light(run)
