"""Commands that show the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from memoryd.cli.memories import project_option
from memoryd.cli.root import Context, json_option, pass_context
from memoryd.types import LinkType

TYPES = click.Choice([type.value for type in LinkType], case_sensitive=False)
WIDTH = 60


@click.command("graph")
@click.argument("id_or_name", required=False)
@click.option("--depth", default=1, show_default=True, type=click.IntRange(1, 2), help="So many edges away.")
@click.option("--type", "types", multiple=True, type=TYPES, help="Only edges of this type; may be repeated.")
@click.option("--most", default=60, show_default=True, type=click.IntRange(2, 200), help="At most so many nodes.")
@project_option
@json_option
@pass_context
def graph(context: Context, /, id_or_name: str | None, **options: Any) -> None:
    """Show nodes and edges around a memory or a name; without one, the names that are mentioned most."""
    if not id_or_name:
        result = context.call("names")
        if not context.show(result):
            context.output.table(("name", "memories"), [(entry["name"], entry["mentions"]) for entry in result["names"]])
        return
    result = context.call("graph", about=id_or_name, **options)
    if context.show(result):
        return
    shown = {node["key"]: _shown(node) for node in result["nodes"]}
    rows = [(shown[edge["source"]], edge["type"], shown[edge["target"]]) for edge in result["edges"]]
    context.output.table(("memory", "edge", "to"), rows)
    context.output.line(f"{len(shown)} nodes, {len(rows)} edges", "dim")


def _shown(node: Mapping[str, Any]) -> str:
    text = " ".join(node["memory"]["content"].split()) if node["memory"] else ""
    cut = text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"
    return f"{node['key']} {cut}" if text else str(node["name"])


COMMANDS = (graph,)
