"""Pages for sessions and the timeline: the decisions of a session's day dreams, and changes by day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from memoryd.console.contract import Context, NavEntry, Page, Reply, Route
from memoryd.console.sessions import ALL
from memoryd.core.decision_log import KEPT, KNOWN, PROPOSED, REFUSED
from memoryd.core.errors import InputError

LISTED = 50
MAX_LISTED = 1_000
EVENTS = 100
OUTCOMES = (KEPT, PROPOSED, KNOWN, REFUSED)
NAME = 200


async def index(ctx: Context) -> Reply:
    """List sessions, latest first."""
    limit = ctx.query.count("limit", LISTED, low=1, high=MAX_LISTED)
    found = await ctx.call("sessions", limit=limit, project="" if ctx.project == ALL else ctx.project)
    days = [(day, list(rows)) for day, rows in groupby(found["sessions"], key=lambda row: str(row["last"])[:10])]
    more = min(MAX_LISTED, limit + 2 * LISTED) if found["left_out"] and limit < MAX_LISTED else 0
    return await ctx.page("sessions.html", days=days, left=found["left_out"], more=more)


async def show(ctx: Context) -> Reply:
    """Show a session with every decision of its day dreams."""
    outcome = ctx.query.choice("outcome", OUTCOMES, "")
    report = await ctx.call("session_report", session=ctx.path["session"])
    counts = {name: len(report[f"{name}_statements"]) for name in OUTCOMES}
    dreams = list(_replay(report, [outcome] if outcome else OUTCOMES))
    return await ctx.page("session.html", report=report, dreams=dreams, outcome=outcome, counts=counts)


def _replay(report: Mapping[str, Any], outcomes: Any) -> Iterator[tuple[dict[str, Any] | None, list[dict[str, Any]]]]:
    """Yield each day dream with its statements in log order. Statements of unrecorded day dreams come last."""
    by_run: dict[int, list[dict[str, Any]]] = {}
    for name in outcomes:
        for statement in report[f"{name}_statements"]:
            by_run.setdefault(statement["run"], []).append(statement)
    for run in report["runs"]:
        yield run, sorted(by_run.pop(run["id"], []), key=lambda statement: statement["line"])
    for statements in by_run.values():
        yield None, sorted(statements, key=lambda statement: statement["line"])


async def switch(ctx: Context) -> Reply:
    """Switch memory on or off for a session."""
    method = ctx.form.choice("memory", ("on", "off"), "")
    if not method:
        raise InputError("Choose on or off.", fix="Use the session's button.")
    session = ctx.path["session"]
    await ctx.call(method, session=session)
    return ctx.redirect(f"/sessions/{session}", f"Memory is {method} for this session.")


async def changes(ctx: Context) -> Reply:
    """Show the memories learnt, replaced and forgotten on each day."""
    topic, after, before = ctx.query.text("topic", limit=1_000), ctx.query.time("after"), ctx.query.time("before")
    found = await ctx.call("timeline", project=ctx.project, k=EVENTS, topic=topic, after=after, before=before)
    days = [(day, list(events)) for day, events in groupby(found["events"], key=lambda event: str(event["at"])[:10])]
    oldest = found["events"][-1]["at"] if found["events"] and found["left_out"] else ""
    return await ctx.page(
        "changes_by_day.html", days=days, oldest=oldest, asked={"topic": topic, "after": after, "before": before}
    )


ROUTES = (
    Route("/sessions", index),
    Route("/sessions/changes", changes),
    Route("/sessions/{session}", show),
    Route("/sessions/{session}", switch, ("POST",)),
)
PAGE = Page("sessions", ROUTES, NavEntry("Timeline", "/sessions", 40))
