"""Pages for dreams: proposals, the journal with every change, and undo."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from memoryd.console.contract import Context, NavEntry, Page, Reply, Route
from memoryd.core.clock import from_iso, to_iso
from memoryd.core.errors import InputError, NotFoundError

ENTRIES = 30
CHANGES = 50
PROPOSALS = 20
SHOWN = "shown"
EVERYTHING = "all"
ID = 200


async def index(ctx: Context) -> Reply:
    """Show proposals and the journal."""
    offset = ctx.query.count("offset", 0, high=1_000_000)
    first = ctx.query.count("first", 0, high=1_000_000)
    waiting = await ctx.try_call("proposals", lines=True, first=first, most=PROPOSALS)
    journal = await ctx.try_call("journal", limit=ENTRIES, offset=offset)
    place: dict[str, Any] = {"offset": offset, "first": first, "step": (ENTRIES, PROPOSALS), "now": to_iso(datetime.now(UTC))}
    return await ctx.page("dreams.html", waiting=waiting, journal=journal, **place)


async def show(ctx: Context) -> Reply:
    """Show all changes of an entry."""
    offset = ctx.query.count("offset", 0, high=1_000_000)
    found = await ctx.call("journal", id=ctx.path["entry"], lines=True, offset=offset, changes=CHANGES)
    return await ctx.page(
        "dream.html", entry=found["entry"], changes=found["changes"], left=found["left_out"], offset=offset, step=CHANGES
    )


async def ask_undo(ctx: Context) -> Reply:
    """Show the changes that an undo would revert: an entry, or one change with its group."""
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
    """Undo an entry or a change."""
    entry = ctx.path["entry"]
    only = [ctx.form.id("memory")] if ctx.form.text("memory", limit=ID) else []
    result = await ctx.call("undo", id=entry, only=only or None)
    left = [f"{refusal['path']} was left unchanged: {refusal['reason']}." for refusal in result["refused"]]
    message = f"{_counted(len(result['restored']), 'memory was', 'memories were')} restored to the state before {entry}."
    if left and not result["restored"]:
        return ctx.redirect(f"/dreams/{entry}", "Nothing was undone.", kind="failed", fix=" ".join(left[:5]))
    return ctx.redirect(f"/dreams/{result['entry'] or entry}", message, kind="failed" if left else "done", fix=" ".join(left[:5]))


async def decide(ctx: Context) -> Reply:
    """Accept or refuse one proposal, the proposals of the page, or all of them."""
    accept, refuse = await _meant(ctx, "accept"), await _meant(ctx, "refuse")
    if not accept and not refuse:
        raise InputError("No proposal was selected.", fix="Use the buttons next to it.")
    result = await ctx.call("decide", accept=accept or None, refuse=refuse or None)
    messages = []
    if accept:
        messages.append(f"{_counted(len(result['accepted']), 'memory', 'memories')} changed.")
    if refuse:
        messages.append(f"{_counted(len(result['refused']), 'proposal', 'proposals')} refused permanently.")
    stale = result["changed_since"]
    fix = f"{', '.join(stale)} changed since it was proposed, and was left unchanged." if stale else ""
    back = f"/dreams/{result['entry']}" if result["entry"] else "/dreams"
    return ctx.redirect(back, " ".join(messages), kind="failed" if stale else "done", fix=fix)


async def _meant(ctx: Context, name: str) -> list[str]:
    """Return the proposals that a button refers to: a single one, those on the page, or all that existed when it was rendered."""
    named = ctx.form.texts(name, ID)
    if SHOWN in named:
        return ctx.form.texts("seen", ID)
    if EVERYTHING in named:
        until = from_iso(ctx.form.required("until", limit=40))
        waiting = await ctx.call("proposals")
        return [proposal["id"] for proposal in waiting["proposals"] if from_iso(proposal["since"]) <= until]
    return named


async def settle(ctx: Context) -> Reply:
    """Forget one of two contradicting memories."""
    id = ctx.form.id("forget")
    await ctx.call("forget", id=id)
    return ctx.redirect("/dreams", f"{id} is forgotten; 'restore' on its page brings it back.")


async def run(ctx: Context) -> Reply:
    """Run a dream, or show the changes that it would make."""
    dry = ctx.form.flag("dry")
    result = await ctx.call("dream", dry_run=dry, lines=CHANGES if dry else None)
    if dry:
        total = len(result["changes"])
        return await ctx.page("dream_plan.html", plan=result, changes=result["changes"][:CHANGES], total=total)
    if result["entry"]:
        return ctx.redirect(f"/dreams/{result['entry']}", f"Done: {_counted(len(result['changes']), 'change', 'changes')}.")
    return ctx.redirect("/dreams", "There was nothing to do.")


def _counted(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


ROUTES = (
    Route("/dreams", index),
    Route("/dreams/run", run, ("POST",)),
    Route("/dreams/decide", decide, ("POST",)),
    Route("/dreams/settle", settle, ("POST",)),
    Route("/dreams/{entry}", show),
    Route("/dreams/{entry}/undo", ask_undo),
    Route("/dreams/{entry}/undo", undo, ("POST",)),
)
PAGE = Page("dreams", ROUTES, NavEntry("Dreams", "/dreams", 50))
