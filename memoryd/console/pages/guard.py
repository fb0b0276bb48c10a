"""The page of the guard: rules that are checked on tool calls, how they were kept, and what happens on a violation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memoryd.api.guards import GuardMode
from memoryd.console.contract import Context, NavEntry, Page, Reply, Route

VIOLATIONS = 50
CALL = 2_000
COUNTS = ("applied", "obeyed", "violated", "overridden")


async def index(ctx: Context) -> Reply:
    """Show the rules with their counts, contradictions, and the latest violations."""
    found = await ctx.try_call("guard", project=ctx.project)
    report = await ctx.try_call("guard_report", project=ctx.project, limit=VIOLATIONS)
    kept = {row["id"]: row for row in report.get("rules", ())}
    rules = [{**rule, "counts": _counts(kept.get(rule["id"], {}))} for rule in found.get("rules", ())]
    rules.sort(key=lambda rule: (-rule["counts"]["violated"], -rule["counts"]["applied"], rule["rule"]))
    return await ctx.page("guard.html", found=found, report=report, rules=rules, modes=[mode.value for mode in GuardMode])


def _counts(row: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(row.get(name, 0)) for name in COUNTS}


async def mode(ctx: Context) -> Reply:
    """Choose what happens when a call violates a rule."""
    result = await ctx.call("guard_mode", id=ctx.form.id("id"), mode=ctx.form.choice("mode", tuple(GuardMode), ""))
    return ctx.redirect("/guard", f"{result['rule']['id']} is now: {result['rule']['mode']}.")


async def silence(ctx: Context) -> Reply:
    """Stop a rule from firing on calls like the given one, or like its last violation."""
    result = await ctx.call("guard_silence", id=ctx.form.id("id"), call=ctx.form.text("call", limit=CALL))
    return ctx.redirect("/guard", f"{result['rule']['id']} no longer fires on: {result['form']}")


ROUTES = (
    Route("/guard", index),
    Route("/guard/mode", mode, ("POST",)),
    Route("/guard/silence", silence, ("POST",)),
)
PAGE = Page("guard", ROUTES, NavEntry("Checks", "/guard", 55))
