"""The command `memoryd review`, for keeping, editing or forgetting what was learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from memoryd.api import reviews
from memoryd.cli.memories import edit_in_editor
from memoryd.cli.options import takes
from memoryd.cli.root import Context, json_option, pass_context

KEEP, EDIT, FORGET, SKIP, KEEP_REST, FORGET_SESSION, QUIT = "kefsKFq"
KEYS = "[k]eep  [e]dit  [f]orget  [s]kip  [K]eep the rest  [F]orget the rest of this session  [q]uit"


@click.command()
@takes(reviews.review, "project", "everything", "limit")
@click.option("--keep", "keep", multiple=True, metavar="ID", help="Keep this memory without asking. Repeatable.")
@click.option("--forget", "forget", multiple=True, metavar="ID", help="Forget this memory without asking. Repeatable.")
@click.option("--keep-all", is_flag=True, help="Keep everything shown, without asking.")
@click.option("--seen", is_flag=True, help="Mark everything as seen without deciding.")
@json_option
@pass_context
def review(
    context: Context,
    /,
    project: str | None,
    keep: tuple[str, ...],
    forget: tuple[str, ...],
    keep_all: bool,
    seen: bool,
    **options: Any,
) -> None:
    """Review what was learnt since the last review: keep, edit or forget each memory with one key.

    Keeping a memory confirms it, so a candidate becomes active. On a terminal, you are asked about each memory.
    Otherwise, memories are listed.
    """
    if keep or forget:
        _decide(context, keep, forget)
        return
    found = context.call("review", project=project, **options)
    if seen or keep_all:
        if keep_all and found["memories"]:
            _decide(context, [memory["id"] for memory in found["memories"]], ())
        context.call("reviewed", project=project, until=found["until"])
        return
    if context.show(found):
        return
    if not found["memories"]:
        context.output.line("Nothing new.")
        return
    if not context.output.is_interactive:
        _list(context, found)
        return
    if _walk(context, found["memories"]) and not found["left_out"]:  # The rest is shown at the next review.
        context.call("reviewed", project=project, until=found["until"])


def _decide(context: Context, keep: Sequence[str], forget: Sequence[str]) -> None:
    if keep:
        context.call("confirm", ids=list(keep))
    for id in forget:
        context.call("forget", id=id)
    if not context.show({"kept": list(keep), "forgotten": list(forget)}):
        context.output.line(f"{len(keep)} kept, {len(forget)} forgotten")


def _list(context: Context, found: Mapping[str, Any]) -> None:
    context.output.memories(found["memories"])
    left = f", {found['left_out']} more" if found["left_out"] else ""
    context.output.line(f"{len(found['memories'])} to review{left}: memoryd review --keep ID, --forget ID, --keep-all", "dim")


def _walk(context: Context, memories: Sequence[Mapping[str, Any]]) -> bool:
    """Ask about each memory. Return whether the user went through all of them."""
    keep: list[str] = []
    forget: list[str] = []
    finished = True
    answer, session = "", ""
    for number, memory in enumerate(memories, 1):
        if answer == FORGET_SESSION and memory["session"] == session:
            forget.append(memory["id"])
            continue
        if answer != KEEP_REST:
            answer, session = _ask(context, memory, f"{number}/{len(memories)}"), memory["session"]
        if answer == QUIT:
            finished = False
            break
        if answer in (KEEP, KEEP_REST):
            keep.append(memory["id"])
        elif answer in (FORGET, FORGET_SESSION):
            forget.append(memory["id"])
        elif answer == EDIT:
            edited = edit_in_editor(context, memory["id"])
            keep.append(edited["memory"]["id"])
    _decide(context, keep, forget)
    return finished


def _ask(context: Context, memory: Mapping[str, Any], place: str) -> str:
    title = memory["session_title"] or memory["session"]
    context.output.line(f"{place}  {title}", "dim")
    context.output.memories([memory])
    while True:
        context.output.line(KEYS, "dim")
        try:
            key = click.getchar()
        except (KeyboardInterrupt, EOFError):  # Ctrl-C or Ctrl-D: what was decided so far still counts.
            return QUIT
        if key in ("\r", "\n"):
            return KEEP
        if key in ("", "\x03", "\x04", "\x1b"):  # The input ended, or the user pressed Escape.
            return QUIT
        if key in (KEEP, EDIT, FORGET, SKIP, KEEP_REST, FORGET_SESSION, QUIT):
            return key


COMMANDS = (review,)
