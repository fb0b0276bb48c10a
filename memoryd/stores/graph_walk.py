"""Bounded walks over the graph: from seeds outwards, a few levels, never more than a few hundred nodes.

Levels are loaded breadth first, edges only from one level to the next, so the walk is a
directed acyclic graph and no path is longer than the depth. A node's score is the noisy-or
of what reaches it, s(v) = 1 - Π (1 - s(u)·w(u,v)) (Pearl 1988): several ways to a memory
count for more than one, and the score stays in 0..1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoryd.db import Database
from memoryd.rows import where
from memoryd.types import LinkType, Query

MAX_DEPTH = 4
FAN_OUT = 64
MAX_NODES = 400
MAX_HINTS_FOLLOWED = 24
STEP = {LinkType.SUPERSEDES: 0.9, LinkType.CONTRADICTS: 0.9, LinkType.RELATES_TO: 0.8, LinkType.MENTIONS: 0.8}


@dataclass(frozen=True, slots=True)
class Edge:
    """One step of a walk. `weight` 0..1 says how much of a node's score goes on over it."""

    type: LinkType
    target: str
    weight: float


@dataclass(frozen=True, slots=True)
class Reached:
    """A node that a walk came to: its score 0..1, the best path from a seed, the last edge's type (None for a seed)."""

    key: str
    score: float
    path: tuple[str, ...]
    via: LinkType | None


class Neighbours:
    """Edges of a node in both directions, filtered and capped."""

    def __init__(self, db: Database, query: Query, types: Sequence[LinkType]) -> None:
        self._db = db
        self._types = [str(type) for type in types or LinkType]
        condition, self._parameters = where(query, "i")
        marks = ", ".join("?" * len(self._types))
        self._out, self._in = (
            f"SELECT e.type, i.id, e.weight FROM edge e CROSS JOIN memory i ON i.id = e.{end}"
            f" WHERE e.{start} = ? AND e.type IN ({marks}) AND {condition} ORDER BY e.born DESC, e.{end} LIMIT {FAN_OUT}"
            for start, end in (("source", "target"), ("target", "source"))
        )
        self._named = (
            "SELECT e.type, e.target, e.weight FROM edge e JOIN node n ON n.key = e.target AND n.kind = 'entity'"
            f" WHERE e.source = ? AND e.type IN ({marks}) ORDER BY e.target LIMIT {FAN_OUT}"
        )
        self._damping: dict[str, float] = {}

    def memories(self, key: str) -> list[Edge]:
        """At most FAN_OUT memories that the node points to, and as many that point to it, the newest."""
        parameters = [key, *self._types, *self._parameters]
        rows = self._db.execute(self._out, parameters) + self._db.execute(self._in, parameters)
        return [Edge(LinkType(type), id, weight * STEP[LinkType(type)]) for type, id, weight in rows]

    def entities(self, key: str) -> list[Edge]:
        """At most FAN_OUT entities that the node mentions."""
        rows = self._db.execute(self._named, [key, *self._types])
        return [Edge(LinkType(type), target, weight * self._damp(target)) for type, target, weight in rows]

    def _damp(self, entity: str) -> float:
        if entity not in self._damping:
            self._damping[entity] = damping(self._db, entity)
        return self._damping[entity]


def damping(db: Database, entity: str) -> float:
    """degree^-½ of an entity: what everything mentions says little about any one memory."""
    degree = int(db.value("SELECT count(*) FROM edge WHERE target = ?", (entity,)))
    return float(max(1, degree) ** -0.5)


def walk(
    neighbours: Neighbours, seeds: Mapping[str, float], depth: int, hints: Mapping[str, float] | None = None
) -> dict[str, Reached]:
    """All nodes within `depth` edges of the seeds (1..4), with their scores; seeds start with the given weight.

    Hints are memories that the words of a query point to, with their weights: they count as
    one edge away from the query, beside whatever else reaches them.
    """
    import networkx

    hints = hints or {}
    graph = networkx.DiGraph()
    graph.add_nodes_from(sorted(seeds))
    level, depth = sorted(seeds), min(max(depth, 0), MAX_DEPTH)
    for step in range(depth):
        level = _load_level(graph, neighbours, level, last=step == depth - 1)
        if step == 0:
            level = sorted({*level, *_strongest(hints, seeds)})
            graph.add_nodes_from(sorted(hints))
    return _score(graph, networkx.lexicographical_topological_sort(graph), seeds, hints)


def _strongest(hints: Mapping[str, float], seeds: Mapping[str, float]) -> list[str]:
    """The hints whose own edges are worth following."""
    return sorted(hints.keys() - seeds.keys(), key=lambda key: (-hints[key], key))[:MAX_HINTS_FOLLOWED]


def _load_level(graph: Any, neighbours: Neighbours, level: Sequence[str], *, last: bool) -> list[str]:
    """Add the edges from this level to nodes not seen before; returns the new nodes, sorted.

    The last level takes memories only: nothing goes on from an entity there.
    """
    seen = set(graph)
    for key in level:
        for edge in neighbours.memories(key) + ([] if last else neighbours.entities(key)):
            if edge.target in seen or (edge.target not in graph and len(graph) >= MAX_NODES):
                continue
            if not graph.has_edge(key, edge.target) or graph[key][edge.target]["weight"] < edge.weight:
                graph.add_edge(key, edge.target, weight=edge.weight, type=edge.type)
    return sorted(set(graph) - seen)


def _score(graph: Any, order: Iterable[str], seeds: Mapping[str, float], hints: Mapping[str, float]) -> dict[str, Reached]:
    out: dict[str, Reached] = {}
    for key in order:
        arrivals = [
            (out[source].score * data["weight"], source, data["type"]) for source, _, data in graph.in_edges(key, data=True)
        ]
        arrivals += [(weights[key], "", None) for weights in (seeds, hints) if key in weights]
        arrivals.sort(key=lambda arrival: (-arrival[0], arrival[1]))
        missed = 1.0
        for share, _, _ in arrivals:
            missed *= 1.0 - share
        _, best, via = arrivals[0]
        out[key] = Reached(key, 1.0 - missed, (*out[best].path, key) if via else (key,), via)
    return out
