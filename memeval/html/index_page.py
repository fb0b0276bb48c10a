"""The list of all runs, one section for each board: numbers that can't be compared are never in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from memeval.html.charts import Bar, Dot, bars, scatter
from memeval.html.markup import Html, el, esc, join
from memeval.html.page import card, page, table
from memeval.report.boards import Board, boards
from memeval.report.compare import few_clusters
from memeval.report.primary import widest_metric
from memeval.report.runs import RunResult
from memeval.report.tables import leaderboard
from memeval.types import EMPTY

SHOWN = 20
"""Runs in a chart: the best ones."""


def index_page(
    runs: Sequence[RunResult], links: Mapping[str, str], left_out: Sequence[str] = (), commands: Mapping[str, str] = EMPTY
) -> str:
    """The whole page. `links` has the page of each run id; `left_out` says which results could not be read, and why.

    `commands` has the page of each run_bench command.
    """
    shown = boards(runs)
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
        [el("h2", "Left out"), el("ul", [el("li", line) for line in left_out])] if left_out else None,
    )


def _commands(commands: Mapping[str, str]) -> Html | None:
    if not commands:
        return None
    lines = [el("li", el("a", f"run_bench {group}", href=href)) for group, href in sorted(commands.items(), reverse=True)]
    return join([el("h2", "Claude Code with and without memory"), el("ul", lines)])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _section(board: Board, links: Mapping[str, str]) -> Html:
    lines = leaderboard(board.runs)
    rows = [(_link(row[0], links), *row[1:]) for row in lines.rows]
    return join(
        [
            el("h2", board.title),
            table(lines.columns, rows, lines.numbers),
            [el("p", warning, cls="soft small") for warning in dict.fromkeys(map(few_clusters, board.runs)) if warning],
            el("div", list(_charts(board.runs, links)), cls="grid"),
        ]
    )


def _named(run: RunResult) -> str:
    """What came out of the cache was paid for by an earlier run."""
    return f"{run.provider} (in part from the cache)" if run.cached_calls else run.provider


def _link(run_id: str, links: Mapping[str, str]) -> Html:
    return el("a", run_id, href=links[run_id]) if run_id in links else esc(run_id)


def _charts(runs: Sequence[RunResult], links: Mapping[str, str]) -> Iterator[Html]:
    metric = widest_metric(runs)
    if metric is None:
        return
    valued = sorted((run for run in runs if run.has_value(metric)), key=lambda run: -(run.metrics[metric].value or 0.0))[:SHOWN]
    rows = [
        Bar(run.provider, cell.value, cell.low, cell.high, f"run {run.run_id}")
        for run in valued
        for cell in (run.metrics[metric],)
    ]
    yield card(metric, bars(rows, f"{metric} of each run, per cent"), note="Per cent, with 95 % intervals.")
    dots = [
        Dot(_named(run), run.cost, cell.value, cell.low, cell.high, links.get(run.run_id))
        for run in valued
        for cell in (run.metrics[metric],)
        if run.cost is not None and cell.value is not None
    ]
    unknown = len(valued) - len(dots)
    note = f"{metric} in per cent." + (f" {unknown} with unknown cost not shown." if unknown else "")
    if dots:
        yield card("Cost against accuracy", scatter(dots, f"{metric} over the cost of each run"), note=note)
