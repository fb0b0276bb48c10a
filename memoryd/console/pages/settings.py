"""The settings page: all options with their cost, project switches, export, and forgetting a project."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memoryd.console.contract import Context, NavEntry, Page, Reply, Route
from memoryd.console.sessions import ALL
from memoryd.core.errors import InputError, MemorydError, NotFoundError

FORMATS = {"tar.gz": "application/gzip", "jsonl": "application/jsonl"}
# A browser session must not be able to choose the program to run.
BY_HAND = frozenset({"home", "claude_command"})
NAME = 200
FLAGS = {True: "on", False: "off"}


async def index(ctx: Context) -> Reply:
    """Show all settings, the projects, and the export and forget forms."""
    return await _page(ctx)


async def _page(ctx: Context, *, error: MemorydError | None = None, typed: Mapping[str, str] | None = None) -> Reply:
    settings, projects = await asyncio.gather(ctx.call("settings"), ctx.try_call("projects"))
    for entry in _entries(settings):
        entry["now"] = _text(entry["value"])
        entry["text"] = (typed or {}).get(entry["name"], entry["now"])
        entry["default_text"] = FLAGS.get(entry["default"], "") if entry["kind"] == "flag" else _text(entry["default"])
        entry["by_hand"] = entry["name"] in BY_HAND
    values = {"settings": settings, "known": projects, "wrong": error, "formats": list(FORMATS)}
    return await ctx.page("settings.html", status=400 if error else 200, **values)


async def change(ctx: Context) -> Reply:
    """Save the changed values. If one is invalid, save nothing and show the entered values again."""
    settings = await ctx.call("settings")
    values, typed = _wanted(ctx, settings)
    if not values:
        return ctx.redirect("/settings", "Nothing was changed.")
    try:
        result = await ctx.call("change_settings", values=values)
    except MemorydError as error:
        return await _page(ctx, error=error, typed=typed)
    kind, fix = "done", ""
    if result["waiting"]:
        fix = f"{', '.join(result['waiting'])}: takes effect when the daemon restarts (memoryd daemon --stop)."
    if result["overruled"]:
        kind, fix = "failed", "; ".join(f"{name} has no effect: {by} overrides it" for name, by in result["overruled"].items())
    return ctx.redirect("/settings", f"Saved: {', '.join(result['changed'])}.", kind=kind, fix=fix)


def _wanted(ctx: Context, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values to save, with None for the default, and all entered values."""
    known = {entry["name"]: entry for entry in _entries(settings) if entry["name"] not in BY_HAND}
    if reset := ctx.form.text("reset", limit=NAME):
        if reset not in known:
            raise InputError(f"'{reset[:50]}' can't be changed here.", fix="Use memoryd config.")
        return {reset: None}, {}
    typed = {name: ctx.form.text(name) for name in ctx.form.texts("shown", NAME) if name in known}
    was = {name: ctx.form.text(f"was-{name}", f"={_text(known[name]['value'])}")[1:] for name in typed}
    values = {name: _value(known[name], text) for name, text in typed.items() if _differs(known[name], was[name], text)}
    return values, typed


def _differs(entry: Mapping[str, Any], was: str, text: str) -> bool:
    """Return whether the user changed the value. Changes made elsewhere since the page was loaded must be preserved."""
    if entry["secret"]:  # The value is never shown, so an empty field means no change.
        return bool(text)
    return text.split() != was.split()


def _value(entry: Mapping[str, Any], text: str) -> Any:
    if not text:
        return None
    return [line.strip() for line in text.splitlines() if line.strip()] if entry["kind"] == "paths" else text


def _entries(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for group in settings["groups"]:
        yield from group["settings"]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


async def switch(ctx: Context) -> Reply:
    """Switch memory on or off for a project."""
    method = ctx.form.choice("memory", ("on", "off"), "")
    if not method:
        raise InputError("Choose on or off.", fix="Use the button next to the project.")
    project = ctx.form.required("project", NAME)
    await ctx.call(method, project=project)
    return ctx.redirect("/settings", f"Memory is {method} for {project}.")


async def export(ctx: Context) -> Reply:
    """Export all memories, or those of one project, to a file."""
    ending = ctx.form.choice("format", FORMATS, "tar.gz")
    project = ctx.form.text("project", ALL, NAME)
    known = (await ctx.call("project_names"))["projects"]
    if project != ALL and all(entry["id"] != project for entry in known):
        raise NotFoundError(f"There is no project '{project}'.", fix="Choose one from the list.")
    with tempfile.TemporaryDirectory(prefix="memoryd-") as folder:
        target = Path(folder) / f"export.{ending}"
        await ctx.call("export", path=str(target), project=None if project == ALL else project)
        data = await asyncio.to_thread(target.read_bytes)
    name = f"memoryd-{datetime.now(UTC):%Y-%m-%d}.{ending}"
    headers = {"content-disposition": f'attachment; filename="{name}"', "content-encoding": "identity"}
    return Reply(data, media_type=FORMATS[ending], headers=headers)


async def ask_forget(ctx: Context) -> Reply:
    """Explain the effects of forgetting a project, and ask for its name."""
    found = await ctx.call("forget_project", project=ctx.path["project"], dry_run=True)
    return await ctx.page("forget_project.html", found=found, wrong=None)


async def forget(ctx: Context) -> Reply:
    """Forget a project if its name was typed."""
    found = await ctx.call("forget_project", project=ctx.path["project"], dry_run=True)
    if ctx.form.text("name", limit=NAME) != found["name"]:
        wrong = InputError("The name does not match; nothing was forgotten.", fix=f"Type {found['name']}.")
        return await ctx.page("forget_project.html", status=400, found=found, wrong=wrong)
    result = await ctx.call("forget_project", project=ctx.path["project"])
    if not result["entry"]:
        return ctx.redirect("/settings", "There was nothing to forget.")
    message = f"{result['memories']:,} memories of {result['name']} are forgotten."
    return ctx.redirect(f"/dreams/{result['entry']}", message, fix="You can undo it here.")


ROUTES = (
    Route("/settings", index),
    Route("/settings", change, ("POST",)),
    Route("/settings/switch", switch, ("POST",)),
    Route("/settings/export", export, ("POST",)),
    Route("/settings/forget/{project}", ask_forget),
    Route("/settings/forget/{project}", forget, ("POST",)),
)
PAGE = Page("settings", ROUTES, NavEntry("Settings", "/settings", 70))
