"""Pages for one memory: its history, the edit form and the resolution of edit conflicts."""

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
LONGEST_KEYS = 4_000
MAX_STEPS = 50
SAVED = "Saved."
SAVED_NEWER = "Saved as a newer statement; the older wording remains available under History."


async def show(ctx: Context) -> Reply:
    """Show a memory with all details. A deleted memory is shown in its last known state."""
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
    """Show the form, including the digest of the current file."""
    id = ctx.path["id"]
    seen = await ctx.call("get_memory", id=id)
    if seen["memory"]["status"] != Status.ACTIVE:
        fix = "Edit its replacement, or restore it first."
        return ctx.redirect(f"/memories/{id}", f"{id} is not active.", kind="failed", fix=fix)
    return await _form(ctx, seen["memory"], seen["digest"], path=seen["path"])


async def _form(
    ctx: Context, values: Mapping[str, Any], digest: str, *, path: str = "", wrong: MemorydError | None = None
) -> Reply:
    shown: dict[str, Any] = {"id": ctx.path["id"], "values": values, "digest": digest, "path": path, "wrong": wrong}
    choices: dict[str, Any] = {"kinds": list(Kind), "polarities": POLARITIES, "scopes": SCOPES}
    return await ctx.page("memory_edit.html", status=400 if wrong else 200, longest=LONGEST, **shown, **choices)


def _typed(ctx: Context) -> dict[str, Any]:
    """Return the form's values without validating them."""
    form = ctx.form
    typed = {name: form.text(name, limit=MAX_BODY_BYTES) for name in ("content", "kind", "polarity", "scope")}
    tags = form.text("tags", limit=MAX_BODY_BYTES).split(",")
    keys = form.text("asked_as", limit=MAX_BODY_BYTES).splitlines()
    return {
        **typed,
        "tags": [tag for part in tags if (tag := part.strip().lstrip("#"))],
        "asked_as": [key for line in keys if (key := line.strip())],
    }


def _values(ctx: Context) -> dict[str, Any]:
    """Return the validated values. Raises InputError."""
    form, typed, known = ctx.form, _typed(ctx), parameters(UpdateMemory)
    form.text("tags", limit=LONGEST_TAGS)
    form.text("asked_as", limit=LONGEST_KEYS)
    return {
        "content": _wording(ctx),
        **{name: form.choice(name, options_of(known[name])) for name in ("kind", "polarity", "scope")},
        "tags": typed["tags"],
        "asked_as": typed["asked_as"],
    }


def _wording(ctx: Context) -> str:
    """Return the entered text. Return an empty string if the memory's text is too long for the form and must not change."""
    return "" if ctx.form.flag("whole") else ctx.form.required("content", limit=LONGEST)


async def save(ctx: Context) -> Reply:
    """Save the memory. If it has changed since the form was rendered, show both versions."""
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
    message = SAVED if new == id else SAVED_NEWER
    return ctx.redirect(f"/memories/{new}", " ".join(filter(None, [message, changed.get("left_out_secrets", "")])))


async def _conflict(ctx: Context, mine: dict[str, Any]) -> Reply:
    """Show the current version next to the entered one. Submitting the same form twice is not a conflict."""
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
    """Return the current version: the memory or its replacement. `memory` is None if neither exists."""
    try:
        for _ in range(MAX_STEPS):
            seen = await ctx.call("get_memory", id=id)
            newer = (await ctx.call("why", id=id))["replaced_by"] if seen["memory"]["status"] == Status.SUPERSEDED else []
            if not newer:
                break
            id = newer[-1]
    except MemorydError as error:  # The file was deleted or can't be parsed, but the entered text must not be lost.
        return {"memory": None, "digest": "", "path": "", "problem": error}
    if seen["memory"]["status"] == Status.ACTIVE:
        return {**seen, "problem": None}
    what = "forgotten" if seen["memory"]["status"] == Status.BLACKLISTED else "replaced or faded"
    problem = ConflictError(f"{id} was {what} in the meantime.", fix=f"To restore it: memoryd restore {id}")
    return {**seen, "memory": None, "problem": problem}


# One-click actions


async def pin(ctx: Context) -> Reply:
    """Pin or unpin a memory. A pinned memory does not decay and is neither merged nor removed."""
    pinned = ctx.form.flag("pinned")
    await ctx.call("update_memory", id=ctx.path["id"], pinned=pinned)
    return ctx.redirect(f"/memories/{ctx.path['id']}", "Pinned." if pinned else "No longer pinned.")


async def forget(ctx: Context) -> Reply:
    """Forget the memory. Copies of it will be refused."""
    await ctx.call("forget", id=ctx.path["id"])
    return ctx.redirect(
        f"/memories/{ctx.path['id']}", "Forgotten: it is never recalled, and copies of it are refused. To undo this, use Restore."
    )


async def restore(ctx: Context) -> Reply:
    """Restore the memory."""
    await ctx.call("restore", id=ctx.path["id"])
    return ctx.redirect(f"/memories/{ctx.path['id']}", "Restored.")


# Merging


async def merge_form(ctx: Context) -> Reply:
    """Show both memories side by side, with the wording of the first preselected."""
    id, other = ctx.path["id"], ctx.query.id("other")
    if id == other:
        raise InputError("Both are the same memory.", fix="Choose another one.")
    first, second = await asyncio.gather(ctx.call("get_memory", id=id), ctx.call("get_memory", id=other))
    for seen in (first, second):
        if seen["memory"]["status"] != Status.ACTIVE:
            raise InputError(f"{seen['memory']['id']} is not active.", fix="Restore it first.")
    return await ctx.page("memory_merge.html", first=first["memory"], second=second["memory"], longest=LONGEST)


async def merge(ctx: Context) -> Reply:
    """Merge two memories into one."""
    merged = await ctx.call("merge", id=ctx.path["id"], other=ctx.form.id("other"), content=_wording(ctx))
    messages = ["Merged; both remain available under History.", merged.get("left_out_secrets", "")]
    return ctx.redirect(f"/memories/{merged['memory']['id']}", " ".join(filter(None, messages)))


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
