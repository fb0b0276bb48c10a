"""The call that draws the graph: what lies around a memory or a name, as nodes and edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memoryd.api.memories import Caller, MemoryCalls
from memoryd.api.params import Params
from memoryd.codec import item_to_dict
from memoryd.errors import InputError
from memoryd.service import Orchestrator
from memoryd.stores.graph_around import MOST, Spot
from memoryd.types import LinkType, Query, Status

SHOWN = Query(statuses=(Status.ACTIVE, Status.SUPERSEDED))
DEEPEST = 2


class GraphCalls:
    """graph, names."""

    def __init__(self, service: Orchestrator, memory: MemoryCalls) -> None:
        self._service = service
        self._memory = memory

    def graph(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What lies around `about` (a memory's id, or a name): nodes, the centre first, and the edges between them.

        `links` of a node counts all its edges, those to nodes that found no room included.
        """
        about = params.required("about")
        depth = params.count("depth", 1, low=1, high=DEEPEST)
        most = params.count("most", 60, low=2, high=MOST)
        types = params.choices("types", LinkType)
        query = replace(SHOWN, project=self._memory.project_of(params, caller))
        params.done()
        if len(about) > 300:
            raise InputError("graph: the name is too long.", fix="Give a memory's id, or the name of a file, command or tool.")
        found = self._service.in_graph(lambda graph: graph.around(about, query, types=types, depth=depth, most=most))
        edges = [{"source": tie.source, "type": tie.type.value, "target": tie.target} for tie in found.ties]
        return {"nodes": [_node(spot) for spot in found.spots], "edges": edges}

    def names(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Names that memories of all projects mention, those mentioned most first; `prefix` begins one of their words."""
        prefix = params.text("prefix")
        k = params.count("k", 30, low=1, high=200)
        params.done()
        found = self._service.in_graph(lambda graph: graph.entities(prefix[:300], k))
        return {"names": [{"name": name, "mentions": mentions} for name, mentions in found]}


def _node(spot: Spot) -> dict[str, Any]:
    memory = None if spot.item is None else item_to_dict(spot.item)
    return {"key": spot.key, "name": spot.name, "memory": memory, "distance": spot.distance, "links": spot.links}
