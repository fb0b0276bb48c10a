"""Pages for the other operations, each with a form generated from its request."""

from __future__ import annotations

from typing import Any

from memoryd.api.registry import Operation, operations
from memoryd.console.contract import Context, NavEntry, Page, Reply, Route
from memoryd.console.fields import Fields
from memoryd.console.forms import fields_of, rows_of, values_of
from memoryd.core.errors import MemorydError, NotFoundError


def _with_form() -> dict[str, Operation[Any, Any]]:
    """Return the operations that have a form, by name."""
    return {name: entry for name, entry in sorted(operations().items()) if entry.form}


def _requested(ctx: Context) -> Operation[Any, Any]:
    found = _with_form().get(ctx.path["operation"])
    if found is None:
        raise NotFoundError("Form not found.", fix="Choose one from the list.")
    return found


async def index(ctx: Context) -> Reply:
    """List all forms."""
    return await ctx.page("operations.html", found=list(_with_form().values()))


async def ask(ctx: Context) -> Reply:
    """Show an empty form."""
    operation = _requested(ctx)
    fields = fields_of(operation.request, Fields())
    return await ctx.page("operation.html", operation=operation, fields=fields, wrong=None, rows=None, memories=[])


async def run(ctx: Context) -> Reply:
    """Run the operation, and show the form with the result or the error below it."""
    operation = _requested(ctx)
    fields = fields_of(operation.request, ctx.form)
    try:
        answer = await ctx.call(operation.name, _params(ctx, operation))
    except MemorydError as error:
        return await ctx.page(
            "operation.html", status=400, operation=operation, fields=fields, wrong=error, rows=None, memories=[]
        )
    memories = _memories(answer)
    rest = {name: value for name, value in answer.items() if not memories or name not in ("memory", "memories")}
    shown: dict[str, Any] = {"operation": operation, "fields": fields, "memories": memories, "rows": rows_of(rest)}
    return await ctx.page("operation.html", wrong=None, **shown)


def _params(ctx: Context, operation: Operation[Any, Any]) -> dict[str, Any]:
    """Return the entered values. The selected project is added unless the user entered one."""
    values = values_of(operation.request, ctx.form)
    names = operation.request.__dataclass_fields__
    return {"project": ctx.project, **values} if "project" in names else values


def _memories(answer: dict[str, Any]) -> list[Any]:
    found = [answer["memory"]] if "memory" in answer else answer.get("memories", [])
    whole = isinstance(found, list) and all(isinstance(memory, dict) and "content" in memory for memory in found)
    return found if whole else []


ROUTES = (
    Route("/operations", index),
    Route("/operations/{operation}", ask),
    Route("/operations/{operation}", run, ("POST",)),
)
PAGE = Page("operations", ROUTES, NavEntry("Other", "/operations", 80))
