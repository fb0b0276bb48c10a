"""Home: what memory holds and whether it works, at a glance."""

from __future__ import annotations

from memoryd.console.contract import Context, Nav, Page, Reply, Route


async def show(ctx: Context) -> Reply:
    """The page."""
    return await ctx.page("home.html", status_of=await ctx.try_call("memory_status"))


PAGE = Page("home", (Route("/", show),), Nav("Home", "/", 10))
