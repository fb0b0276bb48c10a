"""The list of memories, in pages, and search with explanations."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from memoryd.api.memories import ListMemories, Recall
from memoryd.api.parameters import parameters
from memoryd.console.contract import Context, NavEntry, Page, Reply, Route
from memoryd.console.forms import options_of
from memoryd.console.pages import memory
from memoryd.core.types import Backend, Kind, Source, Status

PAGE_SIZE = 50
HITS = 30
STATUSES = (*(status.value for status in Status), "all")
LONGEST_QUERY = 1_000
END_OF_DAY = "T23:59:59Z"


def _tags(ctx: Context) -> list[str]:
    given = ctx.query.texts("tag", limit=200)
    return list(dict.fromkeys(tag for text in given for part in text.split(",") if (tag := part.strip().lstrip("#"))))


def filters_of(ctx: Context) -> dict[str, Any]:
    """Return the filters in the URL, in the form's format."""
    known = parameters(ListMemories)
    return {
        "kind": ctx.query.choices("kind", options_of(known["kinds"])),
        "status": ctx.query.choice("status", options_of(known["status"])),
        "source": ctx.query.choices("source", options_of(known["sources"])),
        "tag": _tags(ctx),
        "session": ctx.query.text("session", limit=200),
        "after": ctx.query.time("after"),
        "before": ctx.query.time("before"),
        "as_of": ctx.query.time("as_of"),
    }


def _params(ctx: Context, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filters in the API's format. For `as_of`, a date means the end of that day."""
    as_of = filters["as_of"]
    return {
        "project": ctx.project,
        "kinds": filters["kind"],
        "sources": filters["source"],
        "tags": filters["tag"],
        "session": filters["session"],
        "status": filters["status"],
        "after": filters["after"],
        "before": filters["before"],
        "as_of": f"{as_of}{END_OF_DAY}" if len(as_of) == len("2026-01-01") else as_of,
    }


async def index(ctx: Context) -> Reply:
    """Show the memories that answer a query, or the newest ones that match the filters."""
    filters = filters_of(ctx)
    q = ctx.query.text("q", limit=LONGEST_QUERY)
    backend = ctx.query.choice("backend", options_of(parameters(Recall)["backend"]))
    found, span = await asyncio.gather(
        _search(ctx, q, backend, filters) if q else _list(ctx, filters), ctx.call("overview", project="all", counts=False)
    )
    filtered = any(filters.values()) or bool(backend)
    shown: dict[str, Any] = {"q": q, "backend": backend, "filters": filters, "span": span, "filtered": filtered}
    choices: dict[str, Any] = {"kinds": list(Kind), "sources": list(Source), "statuses": STATUSES, "backends": list(Backend)}
    return await ctx.page("memories.html", found=found, **shown, **choices)


async def _search(ctx: Context, q: str, backend: str, filters: Mapping[str, Any]) -> dict[str, Any]:
    return await ctx.call("recall", _params(ctx, filters), query=q, k=HITS, weak=True, backend=backend)


async def _list(ctx: Context, filters: Mapping[str, Any]) -> dict[str, Any]:
    cursor = ctx.query.text("cursor", limit=100)
    return await ctx.call("list_memories", _params(ctx, filters), limit=PAGE_SIZE, cursor=cursor)


ROUTES = (Route("/memories", index), *memory.ROUTES)
PAGE = Page("memories", ROUTES, NavEntry("Memories", "/memories", 20))
