"""The graph page: the neighbourhood of a memory or entity as a drawing and an accessible list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memoryd.console.contract import Context, NavEntry, Page, Reply, Route
from memoryd.core.text import visible
from memoryd.core.types import LinkType

MAX_SHOWN = 60
LABEL = 80
LONGEST = 300
TYPES = {type.value: type.value.lower().replace("_", " ") for type in LinkType}
# The label of an edge, from the perspective of the memory that stores it and of the other end.
WORDS = {
    "RELATES_TO": ("relates to", "relates to"),
    "CONTRADICTS": ("contradicts", "contradicts"),
    "SUPERSEDES": ("replaces", "replaced by"),
    "MERGED": ("merges", "merged into"),
    "MENTIONS": ("mentions", "mentioned by"),
}


async def index(ctx: Context) -> Reply:
    """Show the requested neighbourhood. Without a request, show the most frequently mentioned entities."""
    about = (
        ctx.query.text("about", limit=LONGEST) or ctx.query.text("id", limit=LONGEST) or ctx.query.text("entity", limit=LONGEST)
    )
    depth = ctx.query.count("depth", 1, low=1, high=2)
    chosen = ctx.query.choices("type", list(TYPES))
    request: dict[str, Any] = {"about": about, "depth": depth, "chosen": chosen, "types": TYPES}
    if not about:
        found = await ctx.call("names", k=40)
        return await ctx.page("graph.html", names=found["names"], picture=None, rows=[], hidden=0, **request)
    seen = await ctx.call("graph", about=about, depth=depth, types=chosen, most=MAX_SHOWN, project=ctx.project)
    drawn = picture(seen)
    if ctx.wants_json:
        return ctx.json(drawn)
    return await ctx.page("graph.html", names=[], picture=drawn, rows=rows(seen), hidden=hidden(seen, depth), **request)


def picture(seen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data for the script, with short labels."""
    return {"nodes": [_drawn(node) for node in seen["nodes"]], "edges": seen["edges"]}


def _drawn(node: Mapping[str, Any]) -> dict[str, Any]:
    memory = node["memory"]
    kind = memory["kind"] if memory else "name"
    old = bool(memory) and memory["status"] != "active"
    return {
        "key": node["key"],
        "label": label(node),
        "kind": kind,
        "old": old,
        "distance": node["distance"],
        "links": node["links"],
    }


def label(node: Mapping[str, Any]) -> str:
    """Return the label of a node: the beginning of a memory's text, or a name."""
    text = visible(" ".join(node["memory"]["content"].split()) if node["memory"] else node["name"])
    return text if len(text) <= LABEL else f"{text[: LABEL - 1]}…"


def rows(seen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every node except the centre, nearest first, with its edges towards the centre."""
    nodes = {node["key"]: node for node in seen["nodes"]}
    out = []
    for node in seen["nodes"][1:]:
        nearer = [edge_row for edge in seen["edges"] if (edge_row := _edge_row(edge, node, nodes)) is not None]
        out.append({"node": node, "label": label(node), "edges": nearer})
    return out


def _edge_row(edge: Mapping[str, str], node: Mapping[str, Any], nodes: Mapping[str, Any]) -> dict[str, Any] | None:
    ends = (edge["source"], edge["target"])
    if node["key"] not in ends:
        return None
    other = nodes[ends[1] if ends[0] == node["key"] else ends[0]]
    if other["distance"] >= node["distance"]:
        return None
    words = WORDS[edge["type"]][0 if ends[0] == node["key"] else 1]
    return {"type": edge["type"], "words": words, "other": label(other), "centre": other["distance"] == 0}


def hidden(seen: Mapping[str, Any], depth: int) -> int:
    """Count the edges from expanded nodes to nodes not shown."""
    shown: dict[str, int] = {}
    for edge in seen["edges"]:
        for end in (edge["source"], edge["target"]):
            shown[end] = shown.get(end, 0) + 1
    followed: Sequence[Mapping[str, Any]] = [node for node in seen["nodes"] if node["distance"] < depth]
    return sum(max(0, node["links"] - shown.get(node["key"], 0)) for node in followed)


PAGE = Page("graph", (Route("/graph", index),), NavEntry("Graph", "/graph", 30))
