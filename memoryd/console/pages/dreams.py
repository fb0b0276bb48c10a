"""Dreams: what waits for consent, what was done line by line, and the way back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from memoryd.console.contract import Context, Nav, Page, Reply, Route
from memoryd.core.clock import from_iso, to_iso
from memoryd.core.errors import InputError, NotFoundError

ENTRIES = 30
CHANGES = 50
PROPOSALS = 20
SHOWN = "shown"
EVERYTHING = "all"
ID = 200


async def index(ctx: Context) -> Reply:
    """What waits, and the journal."""
    offset = ctx.query.count("offset", 0, high=1_000_000)
    first = ctx.query.count("first", 0, high=1_000_000)
    waiting = await ctx.try_call("proposals", lines=True, first=first, most=PROPOSALS)
    journal = await ctx.try_call("journal", limit=ENTRIES, offset=offset)
    place: dict[str, Any] = {"offset": offset, "first": first, "step": (ENTRIES, PROPOSALS), "now": to_iso(datetime.now(UTC))}
    return await ctx.page("dreams.html", waiting=waiting, journal=journal, **place)


async def show(ctx: Context) -> Reply:
    """All that one entry did."""
    offset = ctx.query.count("offset", 0, high=1_000_000)
    found = await ctx.call("journal", id=ctx.path["entry"], lines=True, offset=offset, changes=CHANGES)
    return await ctx.page(
        "dream.html", entry=found["entry"], changes=found["changes"], left=found["left_out"], offset=offset, step=CHANGES
    )


async def ask_undo(ctx: Context) -> Reply:
    """What would be taken back: an entry, or one change with what it stands or falls with."""
    found = await ctx.call("journal", id=ctx.path["entry"])
    changes = found["changes"]
    only = ctx.query.id("memory") if ctx.query.text("memory", limit=ID) else ""
    if only:
        groups = {change["group"] or change["id"] for change in changes if change["id"] == only}
        changes = [change for change in changes if (change["group"] or change["id"]) in groups]
        if not changes:
            raise NotFoundError(f"{ctx.path['entry']} did not change {only}.", fix="Choose a change from its page.")
    shown = {"total": len(changes), "changes": changes[:CHANGES], "only": only}
    return await ctx.page("dream_undo.html", entry=found["entry"], **shown)


async def undo(ctx: Context) -> Reply:
    """Take it back."""
    entry = ctx.path["entry"]
    only = [ctx.form.id("memory")] if ctx.form.text("memory", limit=ID) else []
    result = await ctx.call("undo", id=entry, only=only or None)
    left = [f"{refusal['path']} is left as it is: {refusal['reason']}." for refusal in result["refused"]]
    told = f"{_counted(len(result['restored']), 'memory is', 'memories are')} as before {entry}."
    if left and not result["restored"]:
        return ctx.redirect(f"/dreams/{entry}", "Nothing was taken back.", kind="failed", fix=" ".join(left[:5]))
    return ctx.redirect(f"/dreams/{result['entry'] or entry}", told, kind="failed" if left else "done", fix=" ".join(left[:5]))


async def decide(ctx: Context) -> Reply:
    """Carry out or refuse proposals: one, those of the page, or all."""
    accept, refuse = await _meant(ctx, "accept"), await _meant(ctx, "refuse")
    if not accept and not refuse:
        raise InputError("On which proposal?", fix="Use the buttons beside it.")
    result = await ctx.call("decide", accept=accept or None, refuse=refuse or None)
    told = []
    if accept:
        told.append(f"{_counted(len(result['accepted']), 'memory', 'memories')} changed.")
    if refuse:
        told.append(f"{_counted(len(result['refused']), 'proposal', 'proposals')} refused; they won't come again.")
    stale = result["changed_since"]
    fix = f"{', '.join(stale)} changed since it was proposed, and is left as it is." if stale else ""
    back = f"/dreams/{result['entry']}" if result["entry"] else "/dreams"
    return ctx.redirect(back, " ".join(told), kind="failed" if stale else "done", fix=fix)


async def _meant(ctx: Context, name: str) -> list[str]:
    """The proposals that a button names: one, those of the page, or all that waited then, not what came since."""
    named = ctx.form.texts(name, ID)
    if SHOWN in named:
        return ctx.form.texts("seen", ID)
    if EVERYTHING in named:
        until = from_iso(ctx.form.required("until", limit=40))
        waiting = await ctx.call("proposals")
        return [proposal["id"] for proposal in waiting["proposals"] if from_iso(proposal["since"]) <= until]
    return named


async def settle(ctx: Context) -> Reply:
    """Of two memories that contradict each other, forget the one that does not hold."""
    id = ctx.form.id("forget")
    await ctx.call("forget", id=id)
    return ctx.redirect("/dreams", f"{id} is forgotten; 'restore' on its page brings it back.")


async def run(ctx: Context) -> Reply:
    """Dream now, or only say what a dream would do."""
    dry = ctx.form.flag("dry")
    result = await ctx.call("dream", dry_run=dry, lines=CHANGES if dry else None)
    if dry:
        total = len(result["changes"])
        return await ctx.page("dream_plan.html", plan=result, changes=result["changes"][:CHANGES], total=total)
    if result["entry"]:
        return ctx.redirect(f"/dreams/{result['entry']}", f"Done: {_counted(len(result['changes']), 'change', 'changes')}.")
    return ctx.redirect("/dreams", "There was nothing to do.")


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


ROUTES = (
    Route("/dreams", index),
    Route("/dreams/run", run, ("POST",)),
    Route("/dreams/decide", decide, ("POST",)),
    Route("/dreams/settle", settle, ("POST",)),
    Route("/dreams/{entry}", show),
    Route("/dreams/{entry}/undo", ask_undo),
    Route("/dreams/{entry}/undo", undo, ("POST",)),
)
PAGE = Page("dreams", ROUTES, Nav("Dreams", "/dreams", 50))
