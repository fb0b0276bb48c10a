"""The Results pages: leaderboards, run_bench grids, runs with their questions, comparisons, and active runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from memeval.console.library import Library
from memeval.console.live import RUNNING, RunProgress
from memeval.core.errors import MemevalError, UnknownRunError
from memeval.core.types import Phase
from memeval.metrics.answers import headline
from memeval.registry import Catalog
from memeval.report.beside import PUBLISHED_NOTE, published_of, trend_table, trends
from memeval.report.boards import Board, board_of, boards, protocol
from memeval.report.compare import OUTCOMES, comparison_table, few_clusters
from memeval.report.export import ledger_table
from memeval.report.html.page import Html, esc
from memeval.report.html.run_bench_page import by_size, command_title, read_summary, sections
from memeval.report.html.run_page import (
    MARKS,
    anchor,
    charts,
    client_section,
    made,
    mark,
    metrics,
    question_details,
    question_row,
    sentence,
    tiles,
)
from memeval.report.html.site import board_charts
from memeval.report.runs import QuestionResult, RunResult
from memeval.report.table import Table
from memeval.report.tables import leaderboard, types_table
from memoryd.console.contract import Context, NavEntry, Page, Reply, Route
from memoryd.core.errors import InputError, NotFoundError

PAGE_SIZE = 50
LEDGER_LINES = 20
LIBRARIES = 4
POLL_SECONDS = 1.0
BEAT_SECONDS = 15.0
STREAM_SECONDS = 1800.0
"""Maximum duration of an event stream. The browser reconnects automatically."""
LONGEST_ID = 151
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

T = TypeVar("T")


async def ask(work: Callable[..., T], *values: Any) -> T:
    """Run blocking work in a thread, converting its errors to console errors."""
    try:
        return await asyncio.to_thread(work, *values)
    except UnknownRunError as error:
        raise NotFoundError(error.message, fix=error.fix) from error
    except MemevalError as error:
        raise InputError(error.message, fix=error.fix) from error


class Results:
    """The request handlers, with a cache of a few results folders. `catalog` provides the published figures of benchmarks."""

    def __init__(self, catalog: Callable[[], Catalog] = Catalog.default) -> None:
        self._catalog = catalog
        self._libraries: dict[str, Library] = {}

    def _library(self, ctx: Context) -> Library:
        folder = ctx.session.results
        if not folder:
            raise NotFoundError("This console shows no results.", fix="Open it with: memoryd console --results FOLDER")
        if folder not in self._libraries:
            self._libraries = {**dict(list(self._libraries.items())[1 - LIBRARIES :]), folder: Library(Path(folder))}
        return self._libraries[folder]

    async def index(self, ctx: Context) -> Reply:
        """Show active runs, a leaderboard per benchmark, the grids, and the latest ledger entries."""
        if not ctx.session.results:
            return await ctx.page("results/none.html")
        library = self._library(ctx)
        runs = await ask(library.runs)
        (unfinished, unread), cells, problems = await asyncio.gather(
            ask(library.unfinished), ask(library.cells), ask(library.problems)
        )
        ledger = await ask(partial(ledger_table, library.results, last=LEDGER_LINES))
        groups = [{"name": name, "title": command_title(cells[name]), "cells": len(cells[name])} for name in by_size(cells)]
        chosen = _chosen(ctx, runs.values())
        shown = [board for board in boards(runs.values()) if any(run.run_id in chosen for run in board.runs)]
        broken = [f"{run.run_id} is not finished: {run.fault}." for run in runs.values() if run.fault]
        return await ctx.page(
            "results/index.html", folder=ctx.session.results, boards=[_listed(ctx, board, chosen) for board in shown],
            unfinished=unfinished, groups=groups, problems=[*problems, *unread, *broken], ledger=_sorted(ctx, ledger),
            linked=_linked(runs), filters=_run_filters(ctx), total=len(runs), found=sum(run in chosen for run in runs),
            benchmarks=sorted({run.benchmark for run in runs.values()}),
            providers=sorted({run.provider for run in runs.values()}),
        )  # fmt: skip

    async def board(self, ctx: Context) -> Reply:
        """Show comparable runs with a chart, each provider across versions, and figures published by others."""
        library, wanted = self._library(ctx), ctx.query.required("board", limit=LONGEST_ID)
        runs = await ask(library.runs)
        board = next((one for one in boards(runs.values()) if one.id == wanted), None)
        if board is None:
            raise NotFoundError("There is no such board here.", fix="Choose one from Results.")
        chosen = _chosen(ctx, board.runs)
        linked = _linked(runs)
        drawn = dict(board_charts(board, {run: run for run in linked}))
        chart = ctx.query.choice("chart", drawn, next(iter(drawn), ""))
        return await ctx.page(
            "results/board.html", board=board, facts=_facts(board),
            table=_listed(ctx, board, chosen)["table"], linked=linked, charts=list(drawn),
            chart=chart, drawing=drawn.get(chart, ""), filters=_run_filters(ctx), total=len(board.runs), found=len(chosen),
            providers=sorted({run.provider for run in board.runs}), warnings=_cluster_warnings(board),
            trends=[(series[-1], trend_table(series)) for series in trends(board.runs)],
            published=await ask(published_of, self._catalog(), board.benchmark), published_note=PUBLISHED_NOTE,
        )  # fmt: skip

    async def run(self, ctx: Context) -> Reply:
        """Show a finished run with its questions page by page, or the progress of an unfinished run."""
        library, name = self._library(ctx), ctx.path["run"]
        if name not in await ask(library.runs):
            return await self._live(ctx, library, name)
        run = await ask(library.run, name)
        metric = _metric(ctx, run)
        found = _in_order(ctx, _filtered(ctx, run, metric), metric)
        page = ctx.query.count("page", 1, low=1, high=100_000)
        if place := ctx.query.text("at", limit=20):
            page = next((at // PAGE_SIZE + 1 for at, one in enumerate(found) if anchor(one) == place), page)
        shown = found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        board = board_of((await ask(library.runs)).values(), name)
        others = sorted(other.run_id for other in board.runs if other.run_id != name) if board else []
        drawn = dict(charts(run, metric))
        chart = ctx.query.choice("chart", drawn, next(iter(drawn), ""))
        return await ctx.page(
            "results/run.html", run=run, metric=metric, sentence=sentence(run), tiles=list(tiles(run, metric)), board=board,
            protocol=protocol(run), charts=list(drawn), chart=chart, drawing=drawn.get(chart, ""), orders=ORDERS,
            order=ctx.query.choice("order", ORDERS, ""), metrics=list(metrics(run)), types=types_table(run, metric or ""),
            client=list(client_section(run)), made=made(run), others=others, page=page, found=len(found), size=PAGE_SIZE,
            questions=[question_row(one, metric, _more(name, one)) for one in shown], marks=MARKS, filters=_filters(ctx),
            question_types=sorted({one.type for one in run.questions}),
        )  # fmt: skip

    async def _live(self, ctx: Context, library: Library, name: str) -> Reply:
        now = await ask(library.progress, name)
        latest, problems = await ask(library.latest, name)
        rows = [(_question_link(name, one), one.key, one.text, one.type, _so_far(one)) for one in latest]
        return await ctx.page("results/live.html", progress=now, latest=rows, problems=problems)

    async def question(self, ctx: Context) -> Reply:
        """Show a question with its answer, the retrieved passages, and all prompts and replies."""
        library, name = self._library(ctx), ctx.path["run"]
        detail = await ask(library.question, name, ctx.path["question"])
        runs = await ask(library.runs)
        heading = protocol(runs[name]) if name in runs else ""
        return await ctx.page(
            "results/question.html", run_id=name, heading=heading, detail=detail, question=detail.question,
            details=question_details(detail.question), calls=[call for call in detail.calls if call.phase != str(Phase.EVALUATE)],
            judged=[call for call in detail.calls if call.phase == str(Phase.EVALUATE)],
            scores={name: one for name, one in detail.question.scores.items() if "." not in name},
        )  # fmt: skip

    async def compare(self, ctx: Context) -> Reply:
        """Compare two runs of a benchmark question by question, with the paired test of `memeval compare`."""
        library = self._library(ctx)
        first, second = (ctx.query.required(name, limit=LONGEST_ID) for name in ("first", "second"))
        metric, outcome = ctx.query.text("metric", limit=200), ctx.query.choice("outcome", OUTCOMES, "")
        comparison, pairs = await ask(library.compared, first, second, metric)
        run = await ask(library.run, first)
        kept = [pair for pair in pairs if not outcome or pair.outcome == outcome]
        page = ctx.query.count("page", 1, low=1, high=100_000)
        places = {question.key: anchor(question) for question in run.questions}
        counts = {name: sum(pair.outcome == name for pair in pairs) for name in OUTCOMES}
        return await ctx.page(
            "results/compare.html", first=first, second=second, outcome=outcome,
            table=_without_names(comparison_table(comparison)),
            warnings=comparison.warnings, metric=comparison.rows[0].metric, metrics=run.metric_names, counts=counts,
            shown=kept[(page - 1) * PAGE_SIZE : page * PAGE_SIZE], found=len(kept), page=page, size=PAGE_SIZE, places=places,
        )  # fmt: skip

    async def grid(self, ctx: Context) -> Reply:
        """Show a run_bench command with its cells, its comparisons, and every task in every cell."""
        library, group = self._library(ctx), ctx.query.required("group", limit=LONGEST_ID)
        cells = (await ask(library.cells)).get(group)
        if cells is None or not _PLAIN.fullmatch(group):
            raise NotFoundError(f"There is no run_bench command '{group}' here.", fix="Choose one from Results.")
        summary = await ask(read_summary, library.results.root / "runs" / group / "summary.json")
        links = {cell.run_id: cell.run_id for cell in cells if _PLAIN.fullmatch(cell.run_id)}
        return await ctx.page(
            "results/grid.html", group=group, title=command_title(cells), sections=list(sections(cells, links, summary))
        )

    async def events(self, ctx: Context) -> Reply:
        """Stream the progress of a run until it ends."""
        library, name = self._library(ctx), ctx.path["run"]
        await ask(library.progress, name)
        return ctx.events(stream(partial(ask, library.progress, name)))


async def stream(look: Callable[[], Any], poll: float = POLL_SECONDS) -> AsyncIterator[tuple[str, Any]]:
    """Yield ("progress", …) on each change, ("beat", {}) at intervals to detect closed tabs, and finally ("end", …)."""
    loop = asyncio.get_running_loop()
    begun = sent_at = loop.time()
    last: RunProgress | None = None
    while loop.time() - begun < STREAM_SECONDS:
        try:
            now = await look()
        except (InputError, NotFoundError) as error:
            yield "end", {"state": "gone", "message": error.message}
            return
        if now != last:
            last, sent_at = now, loop.time()
            yield "progress", now.plain()
        elif loop.time() - sent_at > BEAT_SECONDS:
            sent_at = loop.time()
            yield "beat", {}
        if now.state != RUNNING:
            yield "end", {"state": now.state, "message": ""}
            return
        await asyncio.sleep(poll)


ORDERS = ("worst first", "best first", "slowest first", "most tokens first")
_FAR = float("inf")


def _in_order(ctx: Context, questions: list[QuestionResult], metric: str | None) -> list[QuestionResult]:
    """Return the questions in the chosen order. Questions without a value come last."""
    order = ctx.query.choice("order", ORDERS, "")

    def key(question: QuestionResult) -> float:
        if order == "slowest first":
            return -sum(question.seconds.values())
        if order == "most tokens first":
            return -(question.tokens or 0)
        value = question.entry(metric).value if metric else None
        if value is None:
            return 0.0 if question.status == "failed" and order == "worst first" else _FAR
        return value if order == "worst first" else -value

    return sorted(questions, key=key) if order else questions


def _run_filters(ctx: Context) -> dict[str, str]:
    return {name: ctx.query.text(name, limit=200) for name in ("benchmark", "provider", "words")}


def _chosen(ctx: Context, runs: Iterable[RunResult]) -> frozenset[str]:
    """Return the ids of the runs that match the filters."""
    wanted = _run_filters(ctx)
    words = wanted["words"].casefold().split()
    return frozenset(
        run.run_id
        for run in runs
        if wanted["benchmark"] in ("", run.benchmark)
        and wanted["provider"] in ("", run.provider)
        and all(word in _about(run) for word in words)
    )


def _about(run: RunResult) -> str:
    return " ".join((run.run_id, run.benchmark, run.provider, run.answering_model, protocol(run))).casefold()


def _listed(ctx: Context, board: Board, chosen: frozenset[str]) -> dict[str, Any]:
    """Return a board with the table of the selected runs.

    The gain is relative to a run without memory, whether selected or not.
    """
    table = leaderboard(board.runs)
    rows = tuple(row for row in table.rows if row[0] in chosen)
    return {"id": board.id, "heading": board.heading, "table": _sorted(ctx, Table(table.columns, rows, table.numbers))}


def _sorted(ctx: Context, table: Table) -> Table:
    descending = ctx.query.choice("order", ("ascending", "descending"), "") == "descending"
    return table.ordered(ctx.query.text("sort", limit=200), descending=descending)


def _facts(board: Board) -> list[tuple[str, str]]:
    """Return the values shared by all runs. Prompt hashes only distinguish boards."""
    return [part for part in board.parts if part[0] != "judge prompts"]


def _cluster_warnings(board: Board) -> list[str]:
    return [said for said in dict.fromkeys(few_clusters(run.clusters) for run in board.runs) if said]


def _question_link(run_id: str, question: QuestionResult) -> str:
    return f"/results/{quote(run_id, safe='')}/questions/{anchor(question)}"


def _more(run_id: str, question: QuestionResult) -> Html:
    address = _question_link(run_id, question)
    return Html(f'<p><a href="{esc(address)}">Prompts and replies, and everything that was retrieved</a></p>')


def _so_far(question: QuestionResult) -> str:
    """Describe the current state of a question in an active run."""
    name = headline(name for name, entry in question.scores.items() if entry.value is not None)
    if question.status == "failed":
        return "failed"
    if name is not None:
        return f"{mark(question, name)} by {name}"
    return "answered" if question.hypothesis is not None else "searched"


def _without_names(table: Table) -> Table:
    """Drop the name columns, because the heading contains the names."""
    return Table(table.columns[2:], tuple(row[2:] for row in table.rows), table.numbers)


def _linked(runs: dict[str, RunResult]) -> frozenset[str]:
    """Return the run ids that can be used in a URL."""
    return frozenset(run_id for run_id in runs if _PLAIN.fullmatch(run_id))


def _metric(ctx: Context, run: RunResult) -> str | None:
    named = ctx.query.text("metric", limit=200)
    if named and named not in run.metrics:
        raise InputError(f"Run {run.run_id} has no metric '{named}'.", fix="Choose one from the table.")
    return named or run.primary


def _filters(ctx: Context) -> dict[str, str]:
    query = ctx.query
    return {
        "type": query.text("type", limit=200),
        "mark": query.choice("mark", MARKS, ""),
        "words": query.text("words", limit=500),
    }


def _filtered(ctx: Context, run: RunResult, metric: str | None) -> list[QuestionResult]:
    wanted = _filters(ctx)
    words = wanted["words"].casefold().split()
    return [
        one
        for one in run.questions
        if (not wanted["type"] or one.type == wanted["type"])
        and (not wanted["mark"] or mark(one, metric) == wanted["mark"])
        and all(word in _text(one) for word in words)
    ]


def _text(question: QuestionResult) -> str:
    return " ".join((question.key, question.text, *question.answers, question.hypothesis or "")).casefold()


def results_page(catalog: Callable[[], Catalog] = Catalog.default) -> Page:
    """Build the page."""
    results = Results(catalog)
    routes = (
        Route("/results", results.index),
        Route("/results/_board", results.board),
        Route("/results/_compare", results.compare),
        Route("/results/_grid", results.grid),
        Route("/results/{run}", results.run),
        Route("/results/{run}/events", results.events, stream=True),
        Route("/results/{run}/questions/{question}", results.question),
    )
    return Page("results", routes, NavEntry("Results", "/results", 60), Path(__file__).parent)


PAGE = results_page()
