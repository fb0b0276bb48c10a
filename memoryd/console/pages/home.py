"""The home page: the contents of the memory, the latest sessions, the context for the next session, and health."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memoryd.console.contract import Context, NavEntry, Page, Reply, Route
from memoryd.console.sessions import ALL
from memoryd.core.config import ASKS_A_MODEL

SESSIONS = 5
LEARNT = 3
REREAD = "Read it again with 'memoryd daydream'; see 'memoryd log' for details."
LOOK = "See 'memoryd doctor'."


@dataclass(frozen=True, slots=True)
class HealthLine:
    """A line about health. `tone` is ok, warn or bad. `fix` is set if the user needs to act."""

    name: str
    detail: str
    tone: str = "ok"
    fix: str = ""


async def show(ctx: Context) -> Reply:
    """Show the page. Its parts fail independently, because people open the page when something is wrong."""
    overview, status, sessions, governance, waiting = await asyncio.gather(
        ctx.try_call("overview", project=ctx.project),
        ctx.try_call("memory_status"),
        _sessions(ctx),
        _governance(ctx),
        ctx.try_call("review", project=ctx.project, limit=1),
    )
    health = [] if "error" in status else list(findings(status, ctx.project))
    unseen = len(waiting.get("memories", ())) + waiting.get("left_out", 0)
    shown: dict[str, Any] = {"overview": overview, "machine": status, "sessions": sessions, "governance": governance}
    return await ctx.page("home.html", health=health, unseen=unseen, **shown)


async def forget(ctx: Context) -> Reply:
    """Forget one of the memories that the next session would receive."""
    id = ctx.form.id("forget")
    await ctx.call("forget", id=id)
    return ctx.redirect("/", f"{id} is forgotten; 'restore' on its page brings it back.")


async def _governance(ctx: Context) -> dict[str, Any] | None:
    return None if ctx.project == ALL else await ctx.try_call("governance", project=ctx.project)


async def _sessions(ctx: Context) -> dict[str, Any]:
    """Return the latest sessions, each with the memories learnt in it."""
    project = "" if ctx.project == ALL else ctx.project
    answer = await ctx.try_call("sessions", limit=SESSIONS, project=project)
    heads = answer.get("sessions", [])
    calls = [ctx.try_call("list_memories", project=ALL, session=head["session"], limit=LEARNT, status=ALL) for head in heads]
    learnt = await asyncio.gather(*calls)
    rows = [
        {**head, "learnt": found.get("memories", []), "more": found.get("left_out", 0)}
        for head, found in zip(heads, learnt, strict=True)
    ]
    return {**answer, "sessions": rows}


def findings(status: Mapping[str, Any], project: str) -> Iterator[HealthLine]:
    """Yield health findings from the status, most important first."""
    if project in status["projects_off"]:
        yield HealthLine("Memory", "switched off for this project", "warn", "Switch it on with 'memoryd on' in its folder.")
    yield from _reader(status)
    yield from _daydreams(status)
    yield from _dreams(status["dreams"])
    yield from _index(status["index"])
    for fault in status.get("daemon", {}).get("errors", ())[-3:]:
        yield HealthLine("Daemon", f"{fault['at'][:16]} {fault['where']}: {fault['what']}", "warn", LOOK)


def _reader(status: Mapping[str, Any]) -> Iterator[HealthLine]:
    used, budget = status["tokens_today"], status["daily_token_budget"]
    line, problem = status["reader_line"], status["reader_problem"]
    spent = status["reader"] in ASKS_A_MODEL and used >= budget
    fix = "Raise daily_token_budget, or wait until tomorrow; nothing is lost." if spent else ""
    yield HealthLine("Reader", line, "warn" if spent or problem else "ok", fix)


def _daydreams(status: Mapping[str, Any]) -> Iterator[HealthLine]:
    jobs, sessions = status["daydreams"], status["sessions"]
    last = f"last {sessions[0]['last'][:16].replace('T', ' ')}" if sessions else "none yet"
    yield HealthLine("Day dream", f"{last}, {jobs['waiting']} waiting")
    for job in jobs["failing"]:
        detail = f"session {job['session'][:8]}, attempt {job['attempts']}: {job['error']}"
        yield HealthLine("Day dream", detail, "bad", REREAD)


def _dreams(dreams: Mapping[str, Any]) -> Iterator[HealthLine]:
    waiting = dreams["proposals"] + dreams["undecided"]
    last = f"last {dreams['last_run'][:16].replace('T', ' ')}" if dreams["last_run"] else "none yet"
    asks = f", {waiting} waiting for your consent" if waiting else ""
    yield HealthLine("Dream", f"{last}{asks}", "warn" if waiting else "ok", "Decide with 'memoryd proposals'." if waiting else "")
    if dreams["last_error"]:
        yield HealthLine("Dream", dreams["last_error"], "bad", "Try again with 'memoryd dream'.")


def _index(index: Mapping[str, Any]) -> Iterator[HealthLine]:
    waiting = index["waiting_for_vectors"]
    detail = f"{index['embedder']}, {waiting:,} memories waiting for their vectors" if waiting else str(index["embedder"])
    error = index["embedder_error"]
    yield HealthLine("Search by meaning", f"{detail} {error}".strip(), "bad" if error else "ok", LOOK if error else "")
    for name in index["rebuilt"]:
        yield HealthLine("Index", f"'{name}' was damaged and was rebuilt from the files", "warn")
    for problem in index["broken_files"]:
        yield HealthLine("File", problem, "bad")


PAGE = Page("home", (Route("/", show), Route("/forget", forget, ("POST",))), NavEntry("Home", "/", 10))
