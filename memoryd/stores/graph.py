"""Graph store: memories and entities as nodes, and links as typed edges, in one SQLite file derived from the Markdown files.

A memory node is keyed by its id, an entity node by its case-folded name. An edge may point to a memory that does not
exist yet or no longer exists. It is ignored until the memory appears.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from memoryd.core.codec import ID_PATTERN, is_id, new_id
from memoryd.core.db import Database, Migrations
from memoryd.core.errors import NotFoundError
from memoryd.core.text import keywords
from memoryd.core.types import Backend, Hit, LinkType, MemoryItem, Query, Related, Status
from memoryd.language.entities import find_entities, normalise_entity
from memoryd.stores.rows import create_index_sql, create_table_sql, from_payload, seconds, to_row, upsert_sql, where

# Bounded graph traversal. It starts at seeds and visits a few levels and at most a few hundred nodes.
#
# Levels are loaded breadth first, with edges only from one level to the next. The traversed graph is thus acyclic, and no path
# exceeds the depth. A node's score is the noisy-or of its incoming edges, s(v) = 1 - Π (1 - s(u)·w(u,v)) (Pearl 1988):
# several paths to a memory count for more than one, and the score stays within 0..1.

MAX_DEPTH = 4
FAN_OUT = 64
MAX_NODES = 400
MAX_HINTS_FOLLOWED = 24
STEP = {
    LinkType.SUPERSEDES: 0.9,
    LinkType.MERGED: 0.9,
    LinkType.CONTRADICTS: 0.9,
    LinkType.RELATES_TO: 0.8,
    LinkType.MENTIONS: 0.8,
}


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge seen from one of its ends. `weight`, from 0 to 1, is the fraction of a node's score that the edge passes on."""

    type: LinkType
    target: str
    weight: float


@dataclass(frozen=True, slots=True)
class VisitedNode:
    """A visited node with its score (0 to 1), the best path from a seed, and the type of the last edge (None for a seed)."""

    key: str
    score: float
    path: tuple[str, ...]
    via: LinkType | None


class Neighbours:
    """Returns the edges of a node in both directions, filtered and limited in number."""

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
        """Return up to FAN_OUT memories that the node links to, and up to FAN_OUT that link to it, newest first."""
        parameters = [key, *self._types, *self._parameters]
        rows = self._db.execute(self._out, parameters) + self._db.execute(self._in, parameters)
        return [Edge(LinkType(type), id, weight * STEP[LinkType(type)]) for type, id, weight in rows]

    def entities(self, key: str) -> list[Edge]:
        """Return up to FAN_OUT entities that the node mentions."""
        rows = self._db.execute(self._named, [key, *self._types])
        return [Edge(LinkType(type), target, weight * self._damp(target)) for type, target, weight in rows]

    def _damp(self, entity: str) -> float:
        if entity not in self._damping:
            self._damping[entity] = damping(self._db, entity)
        return self._damping[entity]


def damping(db: Database, entity: str) -> float:
    """Return the degree of an entity to the power of -½. An entity mentioned everywhere says little about a single memory."""
    degree = int(db.value("SELECT count(*) FROM edge WHERE target = ?", (entity,)))
    return float(max(1, degree) ** -0.5)


def walk(
    neighbours: Neighbours, seeds: Mapping[str, float], depth: int, hints: Mapping[str, float] | None = None
) -> dict[str, VisitedNode]:
    """Visit all nodes within `depth` edges (1 to 4) of the seeds, and score them.

    Args:
        neighbours: Source of edges.
        seeds: Start nodes with their weights.
        depth: Maximum number of edges.
        hints: Memories that share words with the query, with weights. They are treated as one edge away from the query.
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
    """Return the hints that are strong enough for their own edges to be followed."""
    return sorted(hints.keys() - seeds.keys(), key=lambda key: (-hints[key], key))[:MAX_HINTS_FOLLOWED]


def _load_level(graph: Any, neighbours: Neighbours, level: Sequence[str], *, last: bool) -> list[str]:
    """Add the edges from this level to unvisited nodes. Return those nodes, sorted.

    The last level only includes memories, because nothing is reached through its entities.
    """
    seen = set(graph)
    for key in level:
        for edge in neighbours.memories(key) + ([] if last else neighbours.entities(key)):
            if edge.target in seen or (edge.target not in graph and len(graph) >= MAX_NODES):
                continue
            if not graph.has_edge(key, edge.target) or graph[key][edge.target]["weight"] < edge.weight:
                graph.add_edge(key, edge.target, weight=edge.weight, type=edge.type)
    return sorted(set(graph) - seen)


def _score(graph: Any, order: Iterable[str], seeds: Mapping[str, float], hints: Mapping[str, float]) -> dict[str, VisitedNode]:
    out: dict[str, VisitedNode] = {}
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
        out[key] = VisitedNode(key, 1.0 - missed, (*out[best].path, key) if via else (key,), via)
    return out


# Neighbourhood of a memory or entity for display. It is bounded, lists the nearest nodes first, and treats all
# branches equally.

MAX_SHOWN = 200
# Share of the remaining capacity for each level before the last. Otherwise, the first level would use all of it.
NEAR_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class SubgraphNode:
    """A displayed node: a memory (`item`) or an entity (`item` is None).

    `distance` is the number of edges from the centre. `links` counts all edges of the node.
    """

    key: str
    name: str
    item: MemoryItem | None
    distance: int
    links: int


@dataclass(frozen=True, slots=True)
class SubgraphEdge:
    """An edge between two displayed nodes. `source` is the memory that contains the link."""

    source: str
    type: LinkType
    target: str


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The displayed nodes, starting with the centre, and all edges between them."""

    nodes: tuple[SubgraphNode, ...]
    edges: tuple[SubgraphEdge, ...]


def subgraph(db: Database, centre: str, query: Query, types: Sequence[LinkType], depth: int, most: int) -> Subgraph:
    """Return up to `most` nodes within `depth` edges of the centre. The centre is included even if the filters exclude it."""
    neighbours = Neighbours(db, query, types)
    found, level = {centre: 0}, [centre]
    for step in range(1, depth + 1):
        room = min(most, MAX_SHOWN) - len(found)
        taken = _take(neighbours, level, found, room if step == depth else round(room * NEAR_SHARE))
        found |= dict.fromkeys(taken, step)
        level = taken
    kept = list(types) or list(LinkType)
    nodes = tuple(_node(db, key, distance, query, kept) for key, distance in found.items())
    return Subgraph(nodes, tuple(_subgraph_edges(db, list(found), kept)))


def _take(neighbours: Neighbours, level: Sequence[str], found: dict[str, int], room: int) -> list[str]:
    """Choose the next nodes: first the strongest edge of each node in the level, then each node's second strongest, and so on."""
    lists = [sorted([*neighbours.memories(key), *neighbours.entities(key)], key=lambda edge: -edge.weight) for key in level]
    ordered = (edge.target for edge in chain.from_iterable(zip_longest(*lists)) if edge is not None)
    return list(dict.fromkeys(key for key in ordered if key not in found))[: max(0, room)]


def _node(db: Database, key: str, distance: int, query: Query, types: Sequence[LinkType]) -> SubgraphNode:
    payload = db.value("SELECT payload FROM memory WHERE id = ?", (key,))
    name = key if payload is not None else str(db.value("SELECT name FROM node WHERE key = ?", (key,)) or key)
    return SubgraphNode(key, name, None if payload is None else from_payload(payload), distance, _links(db, key, query, types))


def _links(db: Database, key: str, query: Query, types: Sequence[LinkType]) -> int:
    """Count the edges that would be shown if the number of nodes were not limited."""
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


def _subgraph_edges(db: Database, keys: Sequence[str], types: Iterable[LinkType]) -> Iterator[SubgraphEdge]:
    wanted, shown = frozenset(types), frozenset(keys)
    for key in keys:
        for type, target in db.execute("SELECT type, target FROM edge WHERE source = ? ORDER BY type, target", (key,)):
            if target in shown and target != key and LinkType(type) in wanted:
                yield SubgraphEdge(key, LinkType(type), target)


SCHEMA = Migrations("graph")
SEARCH_DEPTH = 2
MAX_SEEDS = 24
MAX_HINTS = 100
MAX_WORDS = 32
MAX_ALIAS_SHARE = 200
NAME_WEIGHT, FILE_WEIGHT, WORD_WEIGHT = 1.0, 0.8, 0.4
_ANY_BUT_BLACKLISTED = Query(statuses=(Status.ACTIVE, Status.SUPERSEDED))
_FILE_ENDING = re.compile(r"(?<=\w)\.[A-Za-z]\w{0,4}\b")
_SEPARATOR = re.compile(r"[/\\]")
_EDGE = "INSERT OR REPLACE INTO edge (source, type, target, weight, born) VALUES (?, ?, ?, 1.0, ?)"


@SCHEMA.step
def m001_create(db: Database) -> None:
    """Create the first schema."""
    db.execute(create_table_sql("memory"))
    for sql in create_index_sql("memory"):
        db.execute(sql)
    db.execute("CREATE TABLE node (key TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL) WITHOUT ROWID")
    db.execute(
        "CREATE TABLE edge (source TEXT NOT NULL, type TEXT NOT NULL, target TEXT NOT NULL, weight REAL NOT NULL,"
        " born REAL NOT NULL, PRIMARY KEY (source, type, target)) WITHOUT ROWID"
    )
    db.execute("CREATE INDEX edge_target ON edge(target, born DESC, source)")
    db.execute(
        "CREATE TABLE alias (alias TEXT NOT NULL, node TEXT NOT NULL, weight REAL NOT NULL, PRIMARY KEY (alias, node))"
        " WITHOUT ROWID"
    )
    db.execute("CREATE INDEX alias_node ON alias(node)")
    db.execute("CREATE VIRTUAL TABLE word USING fts5(text, content='', contentless_delete=1, tokenize='porter unicode61')")


class GraphStore:
    """A MemoryStore that searches by links and shared names. Thread-safe."""

    def __init__(self, path: Path) -> None:
        """Open or create the file.

        Raises:
            IndexDamagedError: The file is not a usable database.
        """
        # Writes are not durable. Rows lost in a power cut are detected by their digests at the next start and written again.
        self._db = SCHEMA.open(path, durable=False)

    def close(self) -> None:
        """Close the database. Safe to call twice."""
        self._db.close()

    def check(self) -> None:
        """Read every page. Raises IndexDamagedError if a page is damaged."""
        self._db.check()

    def scrub(self) -> None:
        """Erase the remains of deleted and replaced items."""
        self._db.scrub(["word"])

    # Writing

    def write(self, item: MemoryItem) -> str:
        """Store the item, its node and its edges, replacing earlier versions. Return its id."""
        return self.write_many([item])[0]

    def write_many(self, items: Iterable[MemoryItem]) -> list[str]:
        """Store several items in one transaction. Return their ids."""
        with self._db.transaction():
            return [self._write_one(item) for item in items]

    def _write_one(self, item: MemoryItem) -> str:
        item = item if item.id else replace(item, id=self._fresh_id())
        self._db.execute(upsert_sql("memory"), to_row(item))
        self._db.execute("INSERT OR REPLACE INTO node (key, name, kind) VALUES (?, ?, 'memory')", (item.id, item.id))
        self._index_words(item)
        before = self._targets(item.id)
        self._db.execute("DELETE FROM edge WHERE source = ?", (item.id,))
        for type, target in _edges(item):
            self._db.execute(_EDGE, (item.id, type.value, self._target_key(type, target), seconds(item.created_at)))
        self._drop_unmentioned(before)
        return item.id

    def _index_words(self, item: MemoryItem) -> None:
        row = self._db.value("SELECT rowid FROM memory WHERE id = ?", (item.id,))
        text = " ".join(keywords(" ".join((item.content, *item.tags, *item.entities))))
        self._db.execute("DELETE FROM word WHERE rowid = ?", (row,))
        self._db.execute("INSERT INTO word (rowid, text) VALUES (?, ?)", (row, text))

    def _fresh_id(self) -> str:
        while self._db.value("SELECT 1 FROM node WHERE key = ?", (id := new_id(),)):
            continue
        return id

    def _target_key(self, type: LinkType, target: str) -> str:
        """Return the node key of an edge's target. For an entity, create the node and its aliases."""
        if type is not LinkType.MENTIONS or is_id(target):
            return target
        key = target.casefold()
        known = self._db.value("SELECT name FROM node WHERE key = ?", (key,))
        if known is None or known != target:
            # The displayed spelling is the first in code-point order, so that the order of writes does not matter.
            # All spellings are searchable.
            name = target if known is None else min(known, target)
            self._db.execute("INSERT OR REPLACE INTO node (key, name, kind) VALUES (?, ?, 'entity')", (key, name))
            rows = [(alias, key, weight) for alias, weight in aliases(target).items()]
            self._db.executemany("INSERT OR IGNORE INTO alias (alias, node, weight) VALUES (?, ?, ?)", rows)
        return key

    def _targets(self, id: str) -> list[str]:
        return [row[0] for row in self._db.execute("SELECT target FROM edge WHERE source = ?", (id,))]

    def _drop_unmentioned(self, keys: Iterable[str]) -> None:
        for key in keys:
            if not self._db.value("SELECT 1 FROM edge WHERE target = ? LIMIT 1", (key,)):
                self._db.execute("DELETE FROM alias WHERE node = ?", (key,))
                self._db.execute("DELETE FROM node WHERE key = ? AND kind = 'entity'", (key,))

    def delete(self, id: str) -> None:
        """Remove the item, its node and its outgoing edges. Incoming edges are kept, although their target is missing."""
        with self._db.transaction():
            before = self._targets(id)
            self._db.execute("DELETE FROM word WHERE rowid IN (SELECT rowid FROM memory WHERE id = ?)", (id,))
            self._db.execute("DELETE FROM memory WHERE id = ?", (id,))
            self._db.execute("DELETE FROM node WHERE key = ? AND kind = 'memory'", (id,))
            self._db.execute("DELETE FROM edge WHERE source = ?", (id,))
            self._drop_unmentioned(before)

    # Reading

    def get(self, id: str) -> MemoryItem | None:
        """Return the item, or None if it does not exist."""
        payload = self._db.value("SELECT payload FROM memory WHERE id = ?", (id,))
        return None if payload is None else from_payload(payload)

    def all(self) -> Iterator[MemoryItem]:
        """Yield every item, ordered by id."""
        last = ""
        while rows := self._db.execute("SELECT id, payload FROM memory WHERE id > ? ORDER BY id LIMIT 500", (last,)):
            for last, payload in rows:  # noqa: B007 - the last id starts the next page
                yield from_payload(payload)

    def digests(self) -> dict[str, str]:
        """Return the digest of every item by id. Used to find outdated entries."""
        return {id: digest for id, digest in self._db.execute("SELECT id, digest FROM memory")}

    def successors(self, id: str) -> list[str]:
        """Return the ids of memories that supersede this one."""
        found = self._db.execute(
            "SELECT DISTINCT source FROM edge WHERE target = ? AND type IN (?, ?) ORDER BY source",
            (id, LinkType.SUPERSEDES, LinkType.MERGED),
        )
        return [row[0] for row in found]

    def pairs(self, type: LinkType) -> list[tuple[str, str]]:
        """Return source and target of all links of a type."""
        return [
            (source, target) for source, target in self._db.execute("SELECT source, target FROM edge WHERE type = ?", (type,))
        ]

    def count(self) -> int:
        """Return the number of items."""
        return int(self._db.value("SELECT count(*) FROM memory"))

    def entities(self, prefix: str = "", k: int = 20) -> list[tuple[str, int]]:
        """Return entities and their mention counts, most mentioned first.

        A part of the name must start with the prefix, ignoring case.
        """
        low = prefix.casefold()
        rows = self._db.execute(
            "SELECT n.name, count(DISTINCT e.source) AS mentions FROM node n JOIN edge e ON e.target = n.key"
            " WHERE n.kind = 'entity' AND n.key IN (SELECT node FROM alias WHERE alias >= ? AND alias < ?)"
            " GROUP BY n.key ORDER BY mentions DESC, n.key LIMIT ?",
            (low, low + "\U0010ffff", max(0, k)),
        )
        return [(name, mentions) for name, mentions in rows]

    # Searching

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """Return the memories that the text refers to by id, entity or word, and the memories linked to them.

        `parts` contains {"graph": score}, where the score is from 0 to 1.
        """
        if k <= 0:
            return []
        if not query.text.strip():
            return self._newest(query, k)
        reached = walk(Neighbours(self._db, query, ()), self._seeds(query), SEARCH_DEPTH, self._hints(query))
        found = islice(self._items(reached.values(), query), k)
        return [Hit(item, node.score, Backend.GRAPH, {"graph": node.score}) for node, item in found]

    def related(
        self, id: str, *, depth: int = 2, types: Sequence[LinkType] = (), k: int = 10, query: Query | None = None
    ) -> list[Related]:
        """Return memories within `depth` edges (1 to 4) of this one, best first.

        Two memories that mention the same entity are two edges apart.

        Args:
            id: The memory to start from.
            depth: Maximum number of edges.
            types: Edge types to follow. An empty value means all types.
            k: Maximum number of results.
            query: Filters. By default, everything except blacklisted memories is returned.

        Raises:
            NotFoundError: The id is unknown.
        """
        if self.get(id) is None:
            raise NotFoundError(f"There is no memory {id}.", fix="Look the id up with 'memoryd list' or 'memoryd search'.")
        query = query or _ANY_BUT_BLACKLISTED
        reached = walk(Neighbours(self._db, query, types), {id: 1.0}, max(1, depth))
        found = self._items((node for node in reached.values() if node.via), query)
        best = islice(found, max(0, k))
        return [Related(item, node.score, self._names(node.path), node.via) for node, item in best if node.via]

    def subgraph(
        self, about: str, query: Query | None = None, *, types: Sequence[LinkType] = (), depth: int = 1, most: int = 60
    ) -> Subgraph:
        """Return the neighbourhood of a memory (id) or an entity (name), for display.

        Raises:
            NotFoundError: There is no such memory or entity.
        """
        key = about if is_id(about) else normalise_entity(about).casefold()
        if self._db.value("SELECT 1 FROM node WHERE key = ?", (key,)) is None:
            near = ", ".join(name for name, _ in self.entities(about.strip(), 5))
            fix = f"Did you mean: {near}?" if near else "Search for it with 'memoryd list' or 'memoryd search'."
            raise NotFoundError(f"Nothing in memory mentions '{about[:80]}'.", fix=fix)
        return subgraph(self._db, key, query or _ANY_BUT_BLACKLISTED, types, depth, most)

    def _newest(self, query: Query, k: int) -> list[Hit]:
        condition, parameters = where(query)
        rows = self._db.execute(
            f"SELECT payload FROM memory WHERE {condition} ORDER BY created_at DESC, id LIMIT ?", [*parameters, k]
        )
        return [Hit(from_payload(row[0]), 0.0, Backend.GRAPH, {"graph": 0.0}) for row in rows]

    def _seeds(self, query: Query) -> dict[str, float]:
        """Return seed nodes with weights from 0 to 1: memory ids in the text, and entities matched by its names and words."""
        seeds = dict.fromkeys(ID_PATTERN.findall(query.text), 1.0)
        for term in _terms(query.text):
            rows = self._db.execute(
                f"SELECT node, weight FROM alias WHERE alias = ? ORDER BY weight DESC, node LIMIT {MAX_ALIAS_SHARE}", (term,)
            )
            for key, weight in rows:
                seeds[key] = max(seeds.get(key, 0.0), weight * len(rows) ** -0.5)
        best = sorted(seeds, key=lambda key: (-seeds[key], key))[:MAX_SEEDS]
        return {key: seeds[key] * (1.0 if is_id(key) else damping(self._db, key)) for key in best}

    def _hints(self, query: Query) -> dict[str, float]:
        """Return memories that share words with the text.

        Their weights, from 0 to WORD_WEIGHT, are proportional to their BM25 scores.
        """
        terms = keywords(_FILE_ENDING.sub(" ", query.text))[:MAX_WORDS] or keywords(query.text)[:MAX_WORDS]
        if not terms:
            return {}
        condition, parameters = where(query, "i")
        rows = self._db.execute(
            "SELECT i.id, -bm25(word) AS strength FROM word JOIN memory i ON i.rowid = word.rowid"
            f" WHERE word MATCH ? AND {condition} ORDER BY strength DESC, i.id LIMIT {MAX_HINTS}",
            [" OR ".join(f'"{term}"' for term in terms), *parameters],
        )
        return {id: WORD_WEIGHT * strength / rows[0][1] for id, strength in rows}

    def _items(self, nodes: Iterable[VisitedNode], query: Query) -> Iterator[tuple[VisitedNode, MemoryItem]]:
        """Yield the memories among the nodes that pass the filters, by score, then id. Seeds have not been filtered yet."""
        condition, parameters = where(query)
        for node in sorted(nodes, key=lambda node: (-node.score, node.key)):
            payload = self._db.value(f"SELECT payload FROM memory WHERE id = ? AND {condition}", [node.key, *parameters])
            if payload is not None:
                yield node, from_payload(payload)

    def _names(self, path: Sequence[str]) -> tuple[str, ...]:
        return tuple(str(self._db.value("SELECT name FROM node WHERE key = ?", (key,)) or key) for key in path)


def _edges(item: MemoryItem) -> list[tuple[LinkType, str]]:
    """Return the item's edges: its links, the memories that it supersedes, and the entities that it mentions."""
    out = [(link.type, _end(link.type, link.target)) for link in item.links]
    if item.supersedes and (LinkType.MERGED, item.supersedes) not in out:
        out.append((LinkType.SUPERSEDES, item.supersedes))
    out += [(LinkType.MENTIONS, normalise_entity(name)) for name in item.entities or find_entities(item.content)]
    return [(type, target) for type, target in dict.fromkeys(out) if target and target != item.id]


def _end(type: LinkType, target: str) -> str:
    return normalise_entity(target) if type is LinkType.MENTIONS else target


def aliases(name: str) -> dict[str, float]:
    """Return the names that queries may use for an entity, with weights from 0 to 1.

    These are its name, the file name of a path, and single words.
    """
    last = _SEPARATOR.split(name.casefold())[-1]
    bare, _, extension = last.rpartition(".") if "." in last.strip(".") else (last, "", "")
    out = {word: WORD_WEIGHT for word in keywords(name) if len(word) > 1 and word != extension}
    out[bare] = FILE_WEIGHT
    out[last] = FILE_WEIGHT
    out[name.casefold()] = NAME_WEIGHT
    return out


def _terms(text: str) -> list[str]:
    """Return the distinct case-folded names and words of a query."""
    names = [normalise_entity(name).casefold() for name in find_entities(text, 24)]
    tokens = [normalise_entity(token).casefold() for token in text.split()]
    return list(dict.fromkeys([*names, *(token for token in tokens if len(token) > 2), *keywords(text)]))[:64]
