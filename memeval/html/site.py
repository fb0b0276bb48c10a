"""Writes the report of a run, and of all runs with their index, as files that open from disk."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

from memeval.errors import RunError
from memeval.html.claude_code import trajectories
from memeval.html.index_page import index_page
from memeval.html.run_bench_page import CellView, cell_view, grouped, read_summary, run_bench_page
from memeval.html.run_page import run_page
from memeval.report.ledger import result_files
from memeval.report.runs import RunResult, light, read_run
from memeval.results.files import ResultsDir
from memoryd.core.files import write_atomic

FOLDER = "html"


def page_name(run_id: str) -> str:
    """File name of a run's page: its id where that is a safe name, else with a hash of it."""
    safe = re.sub(r"[^A-Za-z0-9_.-]+", "-", run_id).strip(".-")[:120] or "run"
    return f"{safe}.html" if safe == run_id and safe != "index" else f"{safe}-{sha256(run_id.encode()).hexdigest()[:8]}.html"


def write_run(run: RunResult, folder: Path) -> Path:
    """The page of one run, in a folder; gives its path."""
    target = folder / page_name(run.run_id)
    write_atomic(target, run_page(run).encode(), private=False)
    if (sessions := trajectories(run)) is not None:
        write_atomic(folder / sessions.name, sessions.read_bytes(), private=False)
    return target


def write_site(results: ResultsDir, folder: Path | None = None) -> Path:
    """Pages of all runs that have a result file, and index.html, whose path is given. One run is in memory at a time.

    A result that can't be read is named in the index rather than ending the work. Raises RunError when there is none at all.
    """
    folder = folder or results.root / FOLDER
    left_out: list[str] = []
    views: dict[str, CellView] = {}
    runs = _write_runs(result_files(results), folder, left_out, views)
    if not runs and not left_out:
        raise RunError(f"There is no result in {results.root}.", fix="Make one: memeval eval.")
    links = {run_id: page_name(run_id) for run_id in runs}
    commands = _write_commands(results, folder, views, links)
    target = folder / "index.html"
    write_atomic(target, index_page(list(runs.values()), links, left_out, commands).encode(), private=False)
    return target


def _write_commands(results: ResultsDir, folder: Path, views: dict[str, CellView], links: dict[str, str]) -> dict[str, str]:
    """A page for each run_bench command; their names by command."""
    pages = {}
    for group, cells in grouped(views.values()).items():
        pages[group] = page_name(f"run_bench-{group}")
        summary = read_summary(results.root / "runs" / Path(group).name / "summary.json")
        write_atomic(folder / pages[group], run_bench_page(group, cells, links, summary).encode(), private=False)
    return pages


def _write_runs(files: list[Path], folder: Path, left_out: list[str], views: dict[str, CellView]) -> dict[str, RunResult]:
    """A page for each run, of its newest result: a run that was judged again has several."""
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
    """The run's page is written; what the index needs of it is kept, which is all but the texts of the questions."""
    write_run(run, folder)
    return light(run)
