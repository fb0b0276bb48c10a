"""The inbox, where the user keeps, forgets or sorts memories learnt since the last visit, many at a time."""

from __future__ import annotations

from itertools import groupby

from memoryd.api.memories import UpdateMemory
from memoryd.api.parameters import parameters
from memoryd.console.contract import Context, NavEntry, Page, Reply, Route
from memoryd.console.forms import options_of
from memoryd.core.errors import InputError
from memoryd.core.types import Kind

SHOWN = 100
MAX_REVIEWED = 200
KEEP, FORGET, SORT, SEEN = "keep", "forget", "kind", "seen"


async def index(ctx: Context) -> Reply:
    """Show unreviewed memories by session, newest first."""
    everything = ctx.query.flag("everything")
    found = await ctx.call("review", project=ctx.project, limit=SHOWN, everything=everything or None)
    groups = [list(rows) for _, rows in groupby(found["memories"], key=lambda memory: memory["session"])]
    return await ctx.page("review.html", found=found, groups=groups, everything=everything, kinds=list(Kind))


async def decide(ctx: Context) -> Reply:
    """Apply the chosen action to the selected memories."""
    act = ctx.form.choice("act", (KEEP, FORGET, SORT, SEEN), "")
    ids = ctx.form.texts("id", 40)[:MAX_REVIEWED]
    if act == SEEN:
        await ctx.call("reviewed", project=ctx.project, until=ctx.form.required("until", limit=40))
        return ctx.redirect("/review", "Everything up to this time counts as seen.")
    if not ids:
        raise InputError("Nothing was selected.", fix="Select at least one memory.")
    if act == KEEP:
        await ctx.call("confirm", ids=ids)
    elif act == FORGET:
        for id in ids:
            await ctx.call("forget", id=id)
    elif act == SORT:
        kind = ctx.form.choice("kind", options_of(parameters(UpdateMemory)["kind"]))
        for id in ids:
            await ctx.call("update_memory", id=id, kind=kind)
    else:
        raise InputError("No action was chosen.", fix="Use one of the buttons.")
    done = {KEEP: "kept", FORGET: "forgotten", SORT: "changed"}[act]
    return ctx.redirect("/review", f"{len(ids)} {'memory' if len(ids) == 1 else 'memories'} {done}.")


ROUTES = (Route("/review", index), Route("/review", decide, ("POST",)))
PAGE = Page("review", ROUTES, NavEntry("Inbox", "/review", 15))
