"""One memory: read it with its story, correct it, and settle what somebody else changed meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from memoryd.api.memories import UpdateMemory
from memoryd.api.parameters import parameters
from memoryd.console.contract import Context, Reply, Route
from memoryd.console.forms import options_of
from memoryd.console.markdown import MAX_CHARACTERS
from memoryd.console.safety import MAX_BODY_BYTES
from memoryd.core.errors import ConflictError, InputError, MemorydError
from memoryd.core.types import Kind, Status

SCOPES = {"user": "me, everywhere", "project": "this project", "team": "this project's team"}
POLARITIES = {"know": "Know", "do": "Do", "dont": "Don't"}
LONGEST = 20_000
LONGEST_TAGS = 2_000
MOST_STEPS = 50
SAVED = "Saved."
SAVED_NEWER = "Saved as a newer statement; the older wording stays readable under History."


async def show(ctx: Context) -> Reply:
    """The memory with all that is known about it; one that is gone is shown as it was last."""
    id = ctx.path["id"]
    story = await ctx.call("why", id=id)
    if not story["is_there"]:
        return await ctx.page(
            "memory.html", memory=story["memory"], story=story, evidence=None, related=[], longest=MAX_CHARACTERS
        )
    evidence, related = await asyncio.gather(
        ctx.try_call("evidence", id=id), ctx.try_call("related", id=id, depth=1, k=20, project="all")
    )
    found = related.get("related", [])
    return await ctx.page(
        "memory.html", memory=story["memory"], story=story, evidence=evidence, related=found, longest=MAX_CHARACTERS
    )


# Editing


async def edit(ctx: Context) -> Reply:
    """The form, with the digest of the file as it is now."""
    id = ctx.path["id"]
    seen = await ctx.call("get_memory", id=id)
    if seen["memory"]["status"] != Status.ACTIVE:
        fix = "Edit what took its place, or restore it first."
        return ctx.redirect(f"/memories/{id}", f"{id} is not active.", kind="failed", fix=fix)
    return await _form(ctx, seen["memory"], seen["digest"], path=seen["path"])


async def _form(
    ctx: Context, values: Mapping[str, Any], digest: str, *, path: str = "", wrong: MemorydError | None = None
) -> Reply:
    shown: dict[str, Any] = {"id": ctx.path["id"], "values": values, "digest": digest, "path": path, "wrong": wrong}
    choices: dict[str, Any] = {"kinds": list(Kind), "polarities": POLARITIES, "scopes": SCOPES}
    return await ctx.page("memory_edit.html", status=400 if wrong else 200, longest=LONGEST, **shown, **choices)


def _typed(ctx: Context) -> dict[str, Any]:
    """What the form says, whether right or wrong."""
    form = ctx.form
    typed = {name: form.text(name, limit=MAX_BODY_BYTES) for name in ("content", "kind", "polarity", "scope")}
    tags = form.text("tags", limit=MAX_BODY_BYTES).split(",")
    return {**typed, "tags": [tag for part in tags if (tag := part.strip().lstrip("#"))]}


def _values(ctx: Context) -> dict[str, Any]:
    """What is to be written. Raises InputError."""
    form, typed, known = ctx.form, _typed(ctx), parameters(UpdateMemory)
    form.text("tags", limit=LONGEST_TAGS)
    return {
        "content": _wording(ctx),
        **{name: form.choice(name, options_of(known[name])) for name in ("kind", "polarity", "scope")},
        "tags": typed["tags"],
    }


def _wording(ctx: Context) -> str:
    """The text of the form; "" for one that is too long for a form and stays as it is. Raises InputError."""
    return "" if ctx.form.flag("whole") else ctx.form.required("content", limit=LONGEST)


async def save(ctx: Context) -> Reply:
    """Write the file, unless it has changed since the form was made: then both versions are shown."""
    id, digest = ctx.path["id"], ctx.form.required("digest", limit=100)
    try:
        mine = _values(ctx)
        changed = await ctx.call("update_memory", mine, id=id, expect=digest)
    except ConflictError:
        return await _conflict(ctx, mine)
    except InputError as error:
        seen = await ctx.call("get_memory", id=id)
        kept = {"content": seen["memory"]["content"]} if ctx.form.flag("whole") else {}
        return await _form(ctx, {**_typed(ctx), **kept}, digest, path=seen["path"], wrong=error)
    new = changed["memory"]["id"]
    told = SAVED if new == id else SAVED_NEWER
    return ctx.redirect(f"/memories/{new}", " ".join(filter(None, [told, changed.get("left_out_secrets", "")])))


async def _conflict(ctx: Context, mine: dict[str, Any]) -> Reply:
    """What holds now beside what was typed. The same form sent twice is no conflict."""
    theirs = await _now(ctx, ctx.path["id"])
    memory = theirs["memory"]
    if memory and all(mine[name] in ("", memory[name]) for name in mine):
        return ctx.redirect(f"/memories/{memory['id']}", SAVED_NEWER)
    shown: dict[str, Any] = {"mine": mine, "theirs": memory, "digest": theirs["digest"], "path": theirs["path"]}
    whole = not mine["content"]
    return await ctx.page(
        "memory_conflict.html", status=409, id=ctx.path["id"], problem=theirs["problem"], whole=whole, longest=LONGEST, **shown
    )


async def _now(ctx: Context, id: str) -> dict[str, Any]:
    """What holds in the place of a memory: itself, or what replaced it; `memory` is None when nothing does."""
    try:
        for _ in range(MOST_STEPS):
            seen = await ctx.call("get_memory", id=id)
            newer = (await ctx.call("why", id=id))["replaced_by"] if seen["memory"]["status"] == Status.SUPERSEDED else []
            if not newer:
                break
            id = newer[-1]
    except MemorydError as error:  # the file was deleted, or can't be parsed any more: the text of the form must not be lost
        return {"memory": None, "digest": "", "path": "", "problem": error}
    if seen["memory"]["status"] == Status.ACTIVE:
        return {**seen, "problem": None}
    what = "forgotten" if seen["memory"]["status"] == Status.BLACKLISTED else "replaced or faded"
    problem = ConflictError(f"{id} was {what} meanwhile.", fix=f"To have it again: memoryd restore {id}")
    return {**seen, "memory": None, "problem": problem}


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
    if id == other:
        raise InputError("Both are the same memory.", fix="Name another one.")
    first, second = await asyncio.gather(ctx.call("get_memory", id=id), ctx.call("get_memory", id=other))
    for seen in (first, second):
        if seen["memory"]["status"] != Status.ACTIVE:
            raise InputError(f"{seen['memory']['id']} is not active.", fix="Restore it first.")
    return await ctx.page("memory_merge.html", first=first["memory"], second=second["memory"], longest=LONGEST)


async def merge(ctx: Context) -> Reply:
    """Put one in the place of both."""
    merged = await ctx.call("merge", id=ctx.path["id"], other=ctx.form.id("other"), content=_wording(ctx))
    told = ["Merged; both stay readable under History.", merged.get("left_out_secrets", "")]
    return ctx.redirect(f"/memories/{merged['memory']['id']}", " ".join(filter(None, told)))


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
