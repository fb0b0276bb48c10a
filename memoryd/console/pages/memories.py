"""Memories: search, read, correct."""

from __future__ import annotations

from memoryd.console.contract import Context, Nav, Page, Reply, Route


async def index(ctx: Context) -> Reply:
    """The newest memories, or those that answer a question."""
    found = await ctx.call("list_memories", project=ctx.project, limit=50)
    return await ctx.page("memories.html", memories=found["memories"], total=found["total"])


async def show(ctx: Context) -> Reply:
    """One memory."""
    found = await ctx.call("get_memory", id=ctx.path["id"])
    return await ctx.page("memory.html", memory=found["memory"], path=found["path"])


PAGE = Page("memories", (Route("/memories", index), Route("/memories/{id}", show)), Nav("Memories", "/memories", 20))
