"""Serve the Results pages: leaderboards, run_bench grids, runs with their questions, comparisons, and active runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from memeval.console.library import Library
from memeval.console.live import RUNNING, RunProgress
from memeval.core.errors import MemevalError, UnknownRunError
from memeval.report.compare import OUTCOMES, comparison_table
from memeval.report.export import ledger_table
from memeval.report.html.run_bench_page import read_summary, sections
from memeval.report.html.run_page import MARKS, anchor, charts, claude_code, made, mark, metrics, question_row, sentence, tiles
from memeval.report.runs import QuestionResult, RunResult
from memeval.report.table import Table
from memeval.report.tables import leaderboard, types_table
from memoryd.console.contract import Context, Nav, Page, Reply, Route
from memoryd.core.errors import InputError, NotFoundError

PAGE_SIZE = 50
LEDGER_LINES = 20
LIBRARIES = 4
POLL_SECONDS = 1.0
BEAT_SECONDS = 15.0
STREAM_SECONDS = 1800.0
"""Maximum duration of an event stream; the browser reconnects by itself."""
LONGEST_ID = 151
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

T = TypeVar("T")


async def ask(work: Callable[..., T], *values: Any) -> T:
    """Run blocking work in a thread, and convert its errors to errors of the console."""
    try:
        return await asyncio.to_thread(work, *values)
    except UnknownRunError as error:
        raise NotFoundError(error.message, fix=error.fix) from error
    except MemevalError as error:
        raise InputError(error.message, fix=error.fix) from error


class Results:
    """The request handlers, with a cache of a few results folders."""

    def __init__(self) -> None:
        self._libraries: dict[str, Library] = {}

    def _library(self, ctx: Context) -> Library:
        folder = ctx.session.results
        if not folder:
            raise NotFoundError("This console shows no results.", fix="Open it with: memoryd console --results FOLDER")
        if folder not in self._libraries:
            self._libraries = {**dict(list(self._libraries.items())[1 - LIBRARIES :]), folder: Library(Path(folder))}
        return self._libraries[folder]

    async def index(self, ctx: Context) -> Reply:
        """Show active runs, a leaderboard for each benchmark, the grids, and the end of the ledger."""
        if not ctx.session.results:
            return await ctx.page("results/none.html")
        library = self._library(ctx)
        runs = await ask(library.runs)
        unfinished, cells, problems = await asyncio.gather(ask(library.unfinished), ask(library.cells), ask(library.problems))
        ledger = await ask(partial(ledger_table, library.results, last=LEDGER_LINES))
        groups = [{"name": name, "cells": len(members)} for name, members in sorted(cells.items(), reverse=True)]
        return await ctx.page(
            "results/index.html", folder=ctx.session.results, boards=_boards(runs), unfinished=unfinished, groups=groups,
            problems=problems, ledger=ledger, linked=_linked(runs),
        )  # fmt: skip

    async def run(self, ctx: Context) -> Reply:
        """Show a finished run with its questions page by page, or the progress of an unfinished run."""
        library, name = self._library(ctx), ctx.path["run"]
        if name not in await ask(library.runs):
            return await ctx.page("results/live.html", progress=await ask(library.progress, name))
        run = await ask(library.run, name)
        metric = _metric(ctx, run)
        found = _filtered(ctx, run, metric)
        page = ctx.query.count("page", 1, low=1, high=100_000)
        if place := ctx.query.text("at", limit=20):
            page = next((at // PAGE_SIZE + 1 for at, one in enumerate(found) if anchor(one) == place), page)
        shown = found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        others = sorted(
            one for one, other in (await ask(library.runs)).items() if other.benchmark == run.benchmark and one != name
        )
        return await ctx.page(
            "results/run.html", run=run, metric=metric, sentence=sentence(run), tiles=list(tiles(run, metric)),
            charts=list(charts(run, metric)), metrics=list(metrics(run)), types=types_table(run, metric or ""),
            client=list(claude_code(run)), made=made(run), others=others, page=page, found=len(found), size=PAGE_SIZE,
            questions=[question_row(one, metric) for one in shown], marks=MARKS, filters=_filters(ctx),
            question_types=sorted({one.type for one in run.questions}),
        )  # fmt: skip

    async def compare(self, ctx: Context) -> Reply:
        """Compare two runs of a benchmark with the paired test of `memeval compare`, question by question."""
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
        return await ctx.page("results/grid.html", group=group, sections=list(sections(cells, links, summary)))

    async def events(self, ctx: Context) -> Reply:
        """Stream the progress of a run until it ends."""
        library, name = self._library(ctx), ctx.path["run"]
        await ask(library.progress, name)
        return ctx.events(stream(partial(ask, library.progress, name)))


async def stream(look: Callable[[], Any], poll: float = POLL_SECONDS) -> AsyncIterator[tuple[str, Any]]:
    """Yield ("progress", …) on each change, ("beat", {}) at intervals to detect a closed tab, and finally ("end", …)."""
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


def _boards(runs: dict[str, RunResult]) -> list[dict[str, Any]]:
    """Return a leaderboard for each benchmark. Numbers of different benchmarks are never in one table."""
    names = sorted({run.benchmark for run in runs.values()})
    return [{"name": name, "table": leaderboard([one for one in runs.values() if one.benchmark == name])} for name in names]


def _without_names(table: Table) -> Table:
    """Drop the columns of names, because the heading has the names."""
    return Table(table.columns[2:], tuple(row[2:] for row in table.rows), table.numbers)


def _linked(runs: dict[str, RunResult]) -> frozenset[str]:
    """Return the run ids that are valid in a URL."""
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


def _page() -> Page:
    results = Results()
    routes = (
        Route("/results", results.index),
        Route("/results/_compare", results.compare),
        Route("/results/_grid", results.grid),
        Route("/results/{run}", results.run),
        Route("/results/{run}/events", results.events, stream=True),
    )
    return Page("results", routes, Nav("Results", "/results", 60), Path(__file__).parent)


PAGE = _page()
