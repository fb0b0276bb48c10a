"""What lies around a memory or a name in the graph: a bounded picture of it, nearest first, fair to every branch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from memoryd.db import Database
from memoryd.rows import from_payload, where
from memoryd.stores.graph_walk import Neighbours
from memoryd.types import LinkType, MemoryItem, Query

MOST = 200
NEAR_SHARE = 0.6
"""Of the room that is left, as much goes to a level that is not the last: else the first fills the picture."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A node: a memory (`item`) or an entity (None), `distance` edges from the centre; `links` counts all its edges."""

    key: str
    name: str
    item: MemoryItem | None
    distance: int
    links: int


@dataclass(frozen=True, slots=True)
class Tie:
    """An edge between two nodes of the picture, as it is stored: `source` is the memory that says it."""

    source: str
    type: LinkType
    target: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The nodes, the centre first, and all edges between them."""

    spots: tuple[Spot, ...]
    ties: tuple[Tie, ...]


def around(db: Database, centre: str, query: Query, types: Sequence[LinkType], depth: int, most: int) -> Surroundings:
    """At most `most` nodes within `depth` edges of the centre, which is shown whatever the filters say."""
    neighbours = Neighbours(db, query, types)
    found, level = {centre: 0}, [centre]
    for step in range(1, depth + 1):
        room = min(most, MOST) - len(found)
        taken = _take(neighbours, level, found, room if step == depth else round(room * NEAR_SHARE))
        found |= dict.fromkeys(taken, step)
        level = taken
    kept = list(types) or list(LinkType)
    spots = tuple(_spot(db, key, distance, query, kept) for key, distance in found.items())
    return Surroundings(spots, tuple(_ties(db, list(found), kept)))


def _take(neighbours: Neighbours, level: Sequence[str], found: dict[str, int], room: int) -> list[str]:
    """The next nodes: the strongest edge of each node of the level, then the second of each, and so on."""
    lists = [sorted([*neighbours.memories(key), *neighbours.entities(key)], key=lambda edge: -edge.weight) for key in level]
    ordered = (edge.target for edge in chain.from_iterable(zip_longest(*lists)) if edge is not None)
    return list(dict.fromkeys(key for key in ordered if key not in found))[: max(0, room)]


def _spot(db: Database, key: str, distance: int, query: Query, types: Sequence[LinkType]) -> Spot:
    payload = db.value("SELECT payload FROM memory WHERE id = ?", (key,))
    name = key if payload is not None else str(db.value("SELECT name FROM node WHERE key = ?", (key,)) or key)
    return Spot(key, name, None if payload is None else from_payload(payload), distance, _links(db, key, query, types))


def _links(db: Database, key: str, query: Query, types: Sequence[LinkType]) -> int:
    """How many edges would be shown if there were room."""
    condition, parameters = where(query, "i")
    marks = ", ".join("?" * len(types))
    edges = f"e.type IN ({marks}) AND {condition}"
    values = [key, *types, *parameters]
    into = db.value(f"SELECT count(*) FROM edge e JOIN memory i ON i.id = e.source WHERE e.target = ? AND {edges}", values)
    out = db.value(f"SELECT count(*) FROM edge e JOIN memory i ON i.id = e.target WHERE e.source = ? AND {edges}", values)
    names = db.value(
        "SELECT count(*) FROM edge e JOIN node n ON n.key = e.target AND n.kind = 'entity'"
        f" WHERE e.source = ? AND e.type IN ({marks})",
        [key, *types],
    )
    return int(into) + int(out) + int(names)


def _ties(db: Database, keys: Sequence[str], types: Iterable[LinkType]) -> Iterator[Tie]:
    wanted, shown = frozenset(types), frozenset(keys)
    for key in keys:
        for type, target in db.execute("SELECT type, target FROM edge WHERE source = ? ORDER BY type, target", (key,)):
            if target in shown and target != key and LinkType(type) in wanted:
                yield Tie(key, LinkType(type), target)
