"""Operations that read the graph: the neighbourhood of a memory or a name, as nodes and edges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

from memoryd.api.parameters import choices, count, request, text
from memoryd.api.registry import Caller, operation
from memoryd.api.shared import project_parameter
from memoryd.core.codec import item_to_dict
from memoryd.core.types import LinkType, Query, Status

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.stores.graph import SubgraphNode

SHOWN = Query(statuses=(Status.ACTIVE, Status.SUPERSEDED))
DEEPEST = 2
MAX_NODES = 200
MAX_NAME = 300


@request
class ReadGraph:
    """The centre and the size of the neighbourhood to read."""

    about: str = text(required=True, limit=MAX_NAME, help="A memory's id, or the name of a file, command or tool.")
    depth: int = count(default=1, low=1, high=DEEPEST, help="Maximum distance in edges.")
    most: int = count(default=60, low=2, high=MAX_NODES, help="At most this many nodes.")
    types: tuple[LinkType, ...] = choices(LinkType, flags=("--type",), help="Only edges of this type; may be repeated.")
    project: str = project_parameter()


class Graph(TypedDict):
    """The nodes, beginning with the centre, and the edges between them."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, str]]


@operation(ReadGraph, Graph)
def graph(runtime: Runtime, request: ReadGraph, caller: Caller) -> Graph:
    """Show the neighbourhood of `about` (a memory's id, or a name): nodes, the centre first, and the edges between them.

    The `links` of a node counts all its edges, including those to nodes outside the answer.
    """
    query = replace(SHOWN, project=runtime.project_of(request.project, caller.cwd))
    found = runtime.service.subgraph(request.about, query, types=request.types, depth=request.depth, most=request.most)
    edges = [{"source": edge.source, "type": edge.type.value, "target": edge.target} for edge in found.edges]
    return {"nodes": [_node(node) for node in found.nodes], "edges": edges}


@request
class ListNames:
    """The prefix of a name."""

    prefix: str = text(limit=MAX_NAME, help="Prefix of one of the name's words.")
    k: int = count(default=30, low=1, high=200, flags=("-k",), help="At most this many.")


class Names(TypedDict):
    """Names, each with the number of memories that mention it."""

    names: list[dict[str, Any]]


@operation(ListNames, Names)
def names(runtime: Runtime, request: ListNames, caller: Caller) -> Names:
    """List the names that memories of all projects mention, most frequent first. `prefix` matches the start of any word."""
    found = runtime.service.names(request.prefix, request.k)
    return {"names": [{"name": name, "mentions": mentions} for name, mentions in found]}


def _node(node: SubgraphNode) -> dict[str, Any]:
    memory = None if node.item is None else item_to_dict(node.item)
    return {"key": node.key, "name": node.name, "memory": memory, "distance": node.distance, "links": node.links}
