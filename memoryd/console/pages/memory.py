"""One memory: read it with its story, correct it, and settle what somebody else changed meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

from memoryd.console.contract import Context, Reply, Route
from memoryd.errors import ConflictError, MemorydError
from memoryd.types import Kind, Polarity, Scope

SCOPES = {"user": "me, everywhere", "project": "this project", "team": "this project's team"}
POLARITIES = {"know": "Know", "do": "Do", "dont": "Don't"}
LONGEST = 20_000


async def show(ctx: Context) -> Reply:
    """The memory with all that is known about it; one that is gone is shown as it was last."""
    id = ctx.path["id"]
    story = await ctx.call("why", id=id)
    if not story["is_there"]:
        return await ctx.page("memory.html", memory=story["memory"], story=story, evidence=None, related=[])
    evidence, related = await asyncio.gather(
        ctx.try_call("evidence", id=id), ctx.try_call("related", id=id, depth=1, k=20, project="all")
    )
    found = related.get("related", [])
    return await ctx.page("memory.html", memory=story["memory"], story=story, evidence=evidence, related=found)


# Editing


async def edit(ctx: Context) -> Reply:
    """The form, with the digest of the file as it is now."""
    seen = await ctx.call("get_memory", id=ctx.path["id"])
    return await _form(ctx, seen["memory"], seen["digest"], path=seen["path"])


async def _form(ctx: Context, values: dict[str, Any], digest: str, **more: Any) -> Reply:
    choices: dict[str, Any] = {"kinds": list(Kind), "polarities": POLARITIES, "scopes": SCOPES}
    return await ctx.page("memory_edit.html", id=ctx.path["id"], values=values, digest=digest, **choices, **more)


def _values(ctx: Context) -> dict[str, Any]:
    """What the form says. Raises InputError."""
    form = ctx.form
    return {
        "content": form.required("content", limit=LONGEST),
        "kind": form.choice("kind", [kind.value for kind in Kind], ""),
        "polarity": form.choice("polarity", [polarity.value for polarity in Polarity], ""),
        "scope": form.choice("scope", [scope.value for scope in Scope], ""),
        "tags": [tag for part in form.text("tags", limit=2_000).split(",") if (tag := part.strip().lstrip("#"))],
    }


async def save(ctx: Context) -> Reply:
    """Write the file, unless it has changed since the form was made: then both versions are shown."""
    id, mine = ctx.path["id"], _values(ctx)
    try:
        changed = await ctx.call("update_memory", mine, id=id, expect=ctx.form.required("digest", limit=100))
    except ConflictError:
        return await _conflict(ctx, mine)
    new = changed["memory"]["id"]
    told = "Saved." if new == id else "Saved as a newer statement; the older wording stays readable under History."
    return ctx.redirect(f"/memories/{new}", told)


async def _conflict(ctx: Context, mine: dict[str, Any]) -> Reply:
    try:
        theirs = await ctx.call("get_memory", id=ctx.path["id"])
    except MemorydError as error:  # the file was deleted, or can't be parsed any more: the text of the form must not be lost
        theirs = {"memory": None, "digest": "", "path": "", "problem": error}
    shown: dict[str, Any] = {"mine": mine, "theirs": theirs["memory"], "digest": theirs["digest"], "path": theirs["path"]}
    return await ctx.page(
        "memory_conflict.html", status=409, id=ctx.path["id"], problem=theirs.get("problem"), kinds=list(Kind), **shown
    )


# What needs one press


async def pin(ctx: Context) -> Reply:
    """Keep it from fading, merging and removal, or let it go again."""
    pinned = ctx.form.flag("pinned")
    await ctx.call("update_memory", id=ctx.path["id"], pinned=pinned)
    return ctx.redirect(f"/memories/{ctx.path['id']}", "Pinned." if pinned else "No longer pinned.")


async def forget(ctx: Context) -> Reply:
    """Hide it for good; copies are refused."""
    await ctx.call("forget", id=ctx.path["id"])
    return ctx.redirect(
        f"/memories/{ctx.path['id']}", "Forgotten: it is never recalled, and copies of it are refused. Restore undoes that."
    )


async def restore(ctx: Context) -> Reply:
    """Bring it back."""
    await ctx.call("restore", id=ctx.path["id"])
    return ctx.redirect(f"/memories/{ctx.path['id']}", "Restored.")


# Merging


async def merge_form(ctx: Context) -> Reply:
    """Both memories side by side, with the wording of the first to start from."""
    id, other = ctx.path["id"], ctx.query.id("other")
    first, second = await asyncio.gather(ctx.call("get_memory", id=id), ctx.call("get_memory", id=other))
    return await ctx.page("memory_merge.html", first=first["memory"], second=second["memory"])


async def merge(ctx: Context) -> Reply:
    """Put one in the place of both."""
    content = ctx.form.required("content", limit=LONGEST)
    merged = await ctx.call("merge", id=ctx.path["id"], other=ctx.form.id("other"), content=content)
    return ctx.redirect(f"/memories/{merged['memory']['id']}", "Merged; both stay readable under History.")


ROUTES = (
    Route("/memories/{id}", show),
    Route("/memories/{id}/edit", edit),
    Route("/memories/{id}/edit", save, ("POST",)),
    Route("/memories/{id}/pin", pin, ("POST",)),
    Route("/memories/{id}/forget", forget, ("POST",)),
    Route("/memories/{id}/restore", restore, ("POST",)),
    Route("/memories/{id}/merge", merge_form),
    Route("/memories/{id}/merge", merge, ("POST",)),
)
