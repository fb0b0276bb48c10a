"""The command that shows the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from memoryd.api import graph as operations
from memoryd.cli.options import takes
from memoryd.cli.root import Context, json_option, pass_context

WIDTH = 60


@click.command("graph")
@click.argument("id_or_name", required=False)
@takes(operations.graph, "depth", "types", "most", "project")
@json_option
@pass_context
def graph(context: Context, /, id_or_name: str | None, **options: Any) -> None:
    """Show nodes and edges around a memory or a name. Without an argument, show the most frequently mentioned names."""
    if id_or_name is None:
        result = context.call("names")
        if not context.show(result):
            context.output.table(("name", "memories"), [(entry["name"], entry["mentions"]) for entry in result["names"]])
            if not result["names"]:
                context.output.line("No memory mentions a name yet.")
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
