"""Vector store: memories with their embeddings in one SQLite file, searched by cosine similarity.

A memory's similarity is that of its closest vector, for the statement or a key (`MemoryItem.asked_as`). Keys are embedded as
queries, because a differently worded prompt is closer to a key than to the statement.

Derived from the Markdown files. Exact search has two implementations with identical results: an in-memory matrix
while the vectors fit, otherwise sqlite-vec on the table (measurements in docs/design/vector-index.md). Above
`ann_threshold`, an HNSW index proposes candidates if its library is installed. All filters run in SQL on the table
itself, so an outdated cache can't return memories that must not be shown.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import orjson
import sqlite_vec
from numpy.typing import NDArray

from memoryd.core.codec import new_id
from memoryd.core.db import Database, Migrations
from memoryd.core.protocols import Embedder, FloatArray
from memoryd.core.types import Backend, Hit, MemoryItem, Query
from memoryd.stores.fulltext import keys_of
from memoryd.stores.prefetch import PrefetchCache
from memoryd.stores.rows import create_table_sql, from_payload, to_row, upsert_sql, where
from memoryd.stores.vector_cache import (
    MATRIX_BYTES,
    READ_BATCH,
    USABLE,
    FilterCache,
    VectorCaches,
    dimensions_key,
    read_dimensions,
    usable_condition,
)
from memoryd.stores.vector_matrix import FLOAT_BYTES, VectorMatrix, from_blobs, to_blob, unit_vectors

# Nearest-neighbour search over one table of vectors. SQL checks every filter on the memory that a vector belongs to.
#
# A memory has one vector for its statement (table `memory`) and one per key (table `key`). Both tables are searched the same
# way; a memory's cosine is the best of its vectors in the table.

# Number of candidates after the first attempt, in multiples of k, before the filter is considered narrow.
_REACH = (2, 8, 64)


@dataclass(frozen=True, slots=True)
class VectorSource:
    """A table of vectors. In its SQL, `v` is a vector's row and `m` is the row of the vector's memory.

    Attributes:
        table: Table name.
        passing: Join of vectors and memories with the plan chosen by SQLite.
        found: The same join, starting from given vectors.
        changed: The same join, using the index on versions.
        spread: Approximate number of vectors per memory.
    """

    table: str
    passing: str
    found: str
    changed: str
    spread: int = 1


STATEMENTS = VectorSource(
    "memory",
    passing="memory AS m",
    # NOT INDEXED forces a lookup by rowid. Otherwise, SQLite scans the whole filter index.
    found="memory AS m NOT INDEXED",
    changed="memory AS m INDEXED BY memory_version",
)
KEYS = VectorSource(
    "key",
    passing="key AS v JOIN memory AS m ON m.rowid = v.owner",
    found="key AS v NOT INDEXED CROSS JOIN memory AS m NOT INDEXED ON m.rowid = v.owner",
    changed="key AS v INDEXED BY key_version CROSS JOIN memory AS m NOT INDEXED ON m.rowid = v.owner",
    spread=2,
)


class VectorTable:
    """Search over the vectors of one source. Thread-safe. `lock` guards the copies in memory."""

    def __init__(
        self,
        db: Database,
        source: VectorSource,
        model: str,
        lock: threading.RLock,
        ann_path: Path,
        ann_threshold: int,
        matrix_bytes: int,
    ) -> None:
        self._db = db
        self._source = source
        self._row = "m" if source.table == "memory" else "v"
        self._model = model
        self._lock = lock
        self._usable = usable_condition(self._row)
        self._positions = FilterCache(db, source.table, source.passing, source.changed, self._row)
        self.caches = VectorCaches(db, source.table, model, ann_path, ann_threshold, matrix_bytes)

    def clear(self) -> None:
        """Free the vectors in memory."""
        with self._lock:
            self.caches.clear()

    def scores(self, vector: FloatArray, query: Query, k: int) -> dict[str, float]:
        """Return the cosines by id of the k nearest memories that pass the filters, best first. Ties are ordered by id."""
        with self._lock:
            if not self.caches.count():
                return {}
            found = self._by_cache(vector, query, k)
        return self._by_table(vector, query, k) if found is None else found

    def _by_table(self, vector: FloatArray, query: Query, k: int) -> dict[str, float]:
        condition, parameters = where(query, "m")
        blob = to_blob(vector)
        rows = self._db.execute(
            f"SELECT m.id, max(round(1 - vec_distance_cosine({self._row}.embedding, ?), 6)) AS cosine FROM {self._source.passing}"
            f" WHERE {condition} AND {self._usable} GROUP BY m.id ORDER BY cosine DESC NULLS LAST, m.id LIMIT ?",
            [blob, *parameters, self._model, len(blob), min(k, 2**31)],
        )
        return {id: cosine for id, cosine in rows if cosine is not None and cosine > 0}

    def _by_cache(self, vector: FloatArray, query: Query, k: int) -> dict[str, float] | None:
        """Return the k best memories using a cache, or None if the table must be searched.

        The first k candidates that pass the filter are the answer if the k-th is strictly better than the last
        candidate. Otherwise, equal ones might follow, and ties are ordered by id.
        """
        cache = self.caches.current(len(vector))
        if cache is None:
            return None
        sizes = [self._source.spread * (k + k // 4 + 8), *(self._source.spread * reach * k for reach in _REACH)]
        if isinstance(cache, VectorMatrix):
            within = self._within(cache, query) if _narrows(query) else None
            size, nearest = len(cache) if within is None else len(within), cache.top(vector, sizes, within)
        else:
            size, nearest = len(cache), cache.top(vector, sizes)
        if not size:
            return {}
        for rowids, cosines in nearest:
            rounded = [round(cosine, 6) for cosine in cosines.tolist()]
            ranked = self._passing(dict(zip(rowids, rounded, strict=True)), query)
            whole = cache.exact and (len(rowids) == size or rounded[-1] <= 0)
            if whole or (len(ranked) >= k and ranked[k - 1][1] > rounded[-1]):
                return dict(ranked[:k])
        return self._by_matrix(cache, vector, query, k) if isinstance(cache, VectorMatrix) else None

    def _within(self, matrix: VectorMatrix, query: Query) -> NDArray[np.intp]:
        """Return the positions of rows that can pass the query's time-independent filters.

        They are cached until the table changes.
        """
        timed = query.as_of is not None or query.valid_at is not None
        lasting = Query(
            project=query.project,
            scopes=query.scopes,
            kinds=query.kinds,
            tags=query.tags,
            session=query.session,
            statuses=() if timed else query.statuses,
        )
        condition, parameters = where(lasting, "m")
        return self._positions.of(matrix, condition, parameters)

    def _by_matrix(self, matrix: VectorMatrix, vector: FloatArray, query: Query, k: int) -> dict[str, float]:
        """Rank all rows that pass the filter. The cut-off includes ties, which are ordered by id."""
        condition, parameters = where(query, "m")
        rows = self._db.execute(
            f"SELECT {self._row}.rowid FROM {self._source.passing} WHERE {condition} AND {self._row}.model = ?",
            [*parameters, self._model],
        )
        cosines = {row: round(cosine, 6) for row, cosine in matrix.cosines(vector, [row for (row,) in rows]).items()}
        least = heapq.nlargest(self._source.spread * k, cosines.values())[-1] if cosines else 0.0
        ranked = self._passing({row: cosine for row, cosine in cosines.items() if cosine >= least}, query)
        if len(ranked) < k and least > 0:  # The best vectors belong to too few different memories.
            ranked = self._passing(cosines, query)
        return dict(ranked[:k])

    def _passing(self, cosines: Mapping[int, float], query: Query) -> list[tuple[str, float]]:
        """Return (id, best cosine) of usable memories among these rows that still exist and pass the filter, best first."""
        condition, parameters = where(query, "m")
        rows = self._db.execute(
            f"SELECT {self._row}.rowid, m.id FROM {self._source.found}"
            f" WHERE {self._row}.rowid IN (SELECT value FROM json_each(?)) AND {condition} AND {self._row}.model = ?",
            [_json_list(list(cosines)), *parameters, self._model],
        )
        best: dict[str, float] = {}
        for rowid, id in rows:
            if cosines[rowid] > max(0.0, best.get(id, 0.0)):
                best[id] = cosines[rowid]
        return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))


def _narrows(query: Query) -> bool:
    """Return whether a filter may leave so few rows that looking them up first is faster."""
    return bool(query.project is not None or query.session is not None or query.scopes or query.kinds or query.tags)


def _json_list(values: Sequence[int]) -> str:
    return orjson.dumps(list(values)).decode()


SCHEMA = Migrations("vector")
EXTRA = ("embedding", "model", "version")
WRITE_BATCH = 256
# Norm of an embedding, or NULL for an unusable blob. Parameters: bytes, zero vector. CASE guarantees the evaluation order.
_NORM = (
    "CASE WHEN typeof(embedding) = 'blob' AND length(embedding) = ? AND length(embedding) > 0"
    " THEN vec_distance_L2(embedding, ?) END"
)
_NEXT_VERSION = "UPDATE counter SET value = value + 1 WHERE name = 'version' RETURNING value"
_UPSERT_KEY = """
INSERT INTO key (owner, text, embedding, model, version) VALUES (?, ?, ?, ?, ?)
ON CONFLICT(owner, text) DO UPDATE SET embedding = excluded.embedding, model = excluded.model, version = excluded.version
"""
_OWNED = "SELECT rowid FROM memory WHERE id IN (SELECT value FROM json_each(?))"
# Cosines of each statement and each of its keys. A memory without keys has one row without a key.
_COMPARE = f"""
SELECT m.id, round(1 - vec_distance_cosine(m.embedding, ?), 6),
CASE WHEN {usable_condition("v")} THEN round(1 - vec_distance_cosine(v.embedding, ?), 6) END, v.text
FROM memory AS m LEFT JOIN key AS v ON v.owner = m.rowid
WHERE m.id IN (SELECT value FROM json_each(?)) AND {usable_condition("m")}
"""


@SCHEMA.step
def m001_create(db: Database) -> None:
    """Create the first schema. One wide index serves every filter without reading the rows with their vectors."""
    db.execute(create_table_sql("memory", ["embedding BLOB", "model TEXT NOT NULL", "version INTEGER NOT NULL"]))
    db.execute(
        "CREATE INDEX memory_filter ON memory"
        "(status, project, scope, kind, session, created_at, expired_at, valid_from, valid_to, tags, model, id)"
    )
    db.execute("CREATE INDEX memory_version ON memory(version)")
    db.execute("CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID")
    db.execute("INSERT INTO counter VALUES ('version', 0), ('table', abs(random() % 1000000000000000))")


@SCHEMA.step
def m002_keys(db: Database) -> None:
    """Add vectors of keys. Memories with keys are embedded again."""
    db.execute(
        "CREATE TABLE key (rowid INTEGER PRIMARY KEY, owner INTEGER NOT NULL, text TEXT NOT NULL, embedding BLOB,"
        " model TEXT NOT NULL, version INTEGER NOT NULL, UNIQUE(owner, text))"
    )
    db.execute("CREATE INDEX key_version ON key(version)")
    db.execute("UPDATE memory SET digest = '' WHERE json_array_length(payload, '$.asked_as') > 0")


@dataclass(frozen=True, slots=True)
class QueryCosines:
    """Cosines of a query with a memory's statement and with each of its keys. `texts` contains the keys in the same order."""

    statement: float
    keys: tuple[float, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def best(self) -> float:
        """The highest of the cosines."""
        return max(self.statement, *self.keys, -1.0)


class VectorStore:
    """A MemoryStore that searches by meaning. Thread-safe.

    The embedder runs outside the database lock. After a change of embedder, old rows remain but are not searchable until
    they are written again (see `stale_count` and `digests`).
    """

    def __init__(
        self,
        path: Path,
        embedder: Embedder,
        *,
        ann_threshold: int = 20_000,
        matrix_bytes: int = MATRIX_BYTES,
        read_key: Callable[[str], str] = str,
    ) -> None:
        """Open or create the file.

        Args:
            path: Database file.
            embedder: Embeds statements and queries.
            ann_threshold: Number of memories above which the HNSW index is used.
            matrix_bytes: Maximum size of the in-memory matrix.
            read_key: Maps a key to the text that is embedded for it.

        Raises:
            IndexDamagedError: The file is not a usable database.
        """
        self._read_key = read_key
        self._embedder = embedder
        self._model = embedder.name
        self._lock = threading.RLock()
        extension: Any = sqlite_vec
        # Writes are not durable. Rows lost in a power cut are detected at the next start and embedded again.
        self._db = SCHEMA.open(path, extensions=[extension.loadable_path()], durable=False)
        self._queries = PrefetchCache(self._embed_query, "embed-query")
        shared = (self._model, self._lock)
        self._statements = VectorTable(self._db, STATEMENTS, *shared, path.with_suffix(".hnsw"), ann_threshold, matrix_bytes)
        self._keys = VectorTable(self._db, KEYS, *shared, path.with_suffix(".keys.hnsw"), ann_threshold, matrix_bytes)

    def close(self) -> None:
        """Close the database and free the vectors in memory. Safe to call twice."""
        self._queries.close()
        for table in (self._statements, self._keys):
            table.clear()
        self._db.close()

    def check(self) -> None:
        """Read every page. Raises IndexDamagedError if a page is damaged."""
        self._db.check()

    def scrub(self) -> None:
        """Erase the remains of deleted and replaced items.

        The HNSW files are deleted, because nothing can be removed from them.
        """
        with self._lock:
            for table in (self._statements, self._keys):
                table.caches.drop_ann()
        self._db.scrub()

    # Writing

    def write(self, item: MemoryItem) -> str:
        """Embed and store the item. Return its id.

        Raises:
            EmbeddingError: Embedding failed. Nothing was written.
        """
        return self.write_many([item])[0]

    def write_many(self, items: Iterable[MemoryItem]) -> list[str]:
        """Embed and store items, 256 per transaction. Return their ids in order. Unchanged texts keep their vectors.

        Raises:
            EmbeddingError: Embedding failed. Earlier batches remain stored.
        """
        ids: list[str] = []
        everything = list(items)
        for start in range(0, len(everything), WRITE_BATCH):
            ids += self._write_batch(everything[start : start + WRITE_BATCH])
        return ids

    def _write_batch(self, items: Sequence[MemoryItem]) -> list[str]:
        items = [item if item.id else replace(item, id=self._fresh_id()) for item in items]
        blobs = self._embed_contents(items)
        keys = self._embed_keys(items)
        size = len(next(iter(blobs.values())))
        with self._db.transaction():
            version = self._db.value(_NEXT_VERSION)
            self._db.execute("INSERT OR REPLACE INTO counter VALUES (?, ?)", (dimensions_key(self._model), size // FLOAT_BYTES))
            rows = [(*to_row(item), blobs[item.content], self._model, version) for item in items]
            self._db.executemany(upsert_sql("memory", EXTRA), rows)
            self._write_keys(items, keys, version)
        return [item.id for item in items]

    def _fresh_id(self) -> str:
        while self._db.value("SELECT 1 FROM memory WHERE id = ?", (id := new_id(),)):
            continue
        return id

    def _embed_contents(self, items: Sequence[MemoryItem]) -> dict[str, bytes]:
        """Return the embedding of each distinct content. Only those not stored yet are computed."""
        wanted = {item.content for item in items}
        known = self._stored_embeddings([item.id for item in items])
        blobs = {content: known[content] for content in wanted & known.keys()}
        fresh = self._embed(sorted(wanted - blobs.keys()))
        if len({len(blob) for blob in (*blobs.values(), *fresh.values())}) > 1:
            return self._embed(sorted(wanted))  # The model with this name has changed its number of dimensions.
        return blobs | fresh

    def _embed_keys(self, items: Sequence[MemoryItem]) -> dict[str, bytes]:
        """Return the query embedding of each distinct key. Only those not stored yet are computed."""
        wanted = {key for item in items for key in keys_of(item)}
        if not wanted:
            return {}
        rows = self._db.execute(
            f"SELECT text, embedding FROM key WHERE owner IN ({_OWNED}) AND model = ? AND {_NORM} BETWEEN 0.99 AND 1.01",
            (_json([item.id for item in items]), self._model, self._size(), bytes(self._size())),
        )
        blobs = {text: blob for text, blob in rows if text in wanted}
        fresh = sorted(wanted - blobs.keys())
        vectors = (
            unit_vectors(self._embedder.embed_queries(list(map(self._read_key, fresh))), len(fresh), self._model) if fresh else ()
        )
        return blobs | {text: to_blob(vector) for text, vector in zip(fresh, vectors, strict=True)}

    def _write_keys(self, items: Sequence[MemoryItem], blobs: Mapping[str, bytes], version: int) -> None:
        """Replace the stored keys of these items. All rows get the new version, so that filter caches notice the change."""
        ids = _json([item.id for item in items])
        if blobs:
            found = self._db.execute("SELECT id, rowid FROM memory WHERE id IN (SELECT value FROM json_each(?))", (ids,))
            owners = {id: rowid for id, rowid in found}
            latest = {item.id: item for item in items}
            rows = [(owners[item.id], key, blobs[key], self._model, version) for item in latest.values() for key in keys_of(item)]
            self._db.executemany(_UPSERT_KEY, rows)
        self._db.execute(f"DELETE FROM key WHERE owner IN ({_OWNED}) AND version != ?", (ids, version))

    def _embed(self, contents: Sequence[str]) -> dict[str, bytes]:
        if not contents:
            return {}
        vectors = unit_vectors(self._embedder.embed(contents), len(contents), self._model)
        return {content: to_blob(vector) for content, vector in zip(contents, vectors, strict=True)}

    def _stored_embeddings(self, ids: Sequence[str]) -> dict[str, bytes]:
        size = self._size()
        rows = self._db.execute(
            f"SELECT content, embedding FROM memory WHERE id IN (SELECT value FROM json_each(?)) AND model = ?"
            f" AND {_NORM} BETWEEN 0.99 AND 1.01",
            (_json(ids), self._model, size, bytes(size)),
        )
        return {content: blob for content, blob in rows}

    def delete(self, id: str) -> None:
        """Remove the item if it exists."""
        with self._db.transaction():
            for (rowid,) in self._db.execute("DELETE FROM memory WHERE id = ? RETURNING rowid", (id,)):
                self._db.execute("DELETE FROM key WHERE owner = ?", (rowid,))
                self._db.execute(_NEXT_VERSION)

    # Reading

    def get(self, id: str) -> MemoryItem | None:
        """Return the item, or None if it does not exist."""
        rows = self._db.execute("SELECT payload FROM memory WHERE id = ?", (id,))
        return from_payload(rows[0][0]) if rows else None

    def all(self) -> Iterator[MemoryItem]:
        """Yield every item, ordered by id. Items are read in pages, so concurrent writes are allowed."""
        last = ""
        while rows := self._db.execute("SELECT id, payload FROM memory WHERE id > ? ORDER BY id LIMIT 500", (last,)):
            yield from (from_payload(payload) for _, payload in rows)
            last = rows[-1][0]

    def count(self) -> int:
        """Return the number of rows in the table."""
        return int(self._db.value("SELECT count(*) FROM memory"))

    def digests(self) -> dict[str, str]:
        """Return the `item_digest` by id. It is empty for rows that must be embedded again (other model, damaged vector)."""
        size = self._size()
        rows = self._db.execute(
            f"SELECT id, iif(model = ? AND {_NORM} BETWEEN 0.99 AND 1.01, digest, '') FROM memory",
            (self._model, size, bytes(size)),
        )
        broken = self._db.execute(
            f"SELECT m.id FROM key JOIN memory AS m ON m.rowid = key.owner"
            f" WHERE NOT ifnull(key.model = ? AND {_NORM.replace('embedding', 'key.embedding')} BETWEEN 0.99 AND 1.01, 0)",
            (self._model, size, bytes(size)),
        )
        return {id: digest for id, digest in rows} | {id: "" for (id,) in broken}

    def vectors(self) -> dict[str, FloatArray]:
        """Return the vectors of the statements embedded by this model, by memory id. Damaged ones are skipped.

        Vectors already in memory are not copied. The rest are read in pages.
        """
        size = read_dimensions(self._db, self._model)
        with self._lock:
            cache = self._statements.caches.current(size) if size else None
        if isinstance(cache, VectorMatrix):
            found = self._db.execute(f"SELECT rowid, id FROM memory WHERE {USABLE}", (self._model, size * FLOAT_BYTES))
            with self._lock:
                return {id: vector for rowid, id in found if (vector := cache.vector(rowid)) is not None}
        sql = (
            f"SELECT rowid, embedding, id FROM memory NOT INDEXED WHERE rowid > ? AND {USABLE} ORDER BY rowid LIMIT {READ_BATCH}"
        )
        out: dict[str, FloatArray] = {}
        last = -1
        while rows := self._db.execute(sql, (last, self._model, size * FLOAT_BYTES)):
            ids = {row[0]: row[2] for row in rows}
            rowids, vectors = from_blobs([row[:2] for row in rows], size)
            out |= {ids[rowid]: vector for rowid, vector in zip(rowids, vectors, strict=True)}
            last = rows[-1][0]
        return out

    def stale_count(self) -> int:
        """Return the number of rows that can't be found by meaning until they are written again."""
        return sum(not digest for digest in self.digests().values())

    # Searching

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """Return up to k hits, scored by cosine, with ties ordered by id. Items with a cosine of 0 or less are not hits.

        A query with empty text returns the newest items that pass the filters, with score 0.

        Raises:
            EmbeddingError: The query can't be embedded.
        """
        if k <= 0:
            return []
        if not query.text.strip():
            return self._newest(query, k)
        return self._hits(self.scores(query, k))

    def scores(self, query: Query, k: int = 8) -> dict[str, float]:
        """Return the ids and cosines, in order, of the hits that `search` would return for a text.

        Raises:
            EmbeddingError: The query can't be embedded.
        """
        if k <= 0:
            return {}
        vector = self.query_vector(query.text)
        found = self._statements.scores(vector, query, k)
        keyed = self._keys.scores(vector, query, k)
        if not keyed:
            return found
        best = {id: max(found.get(id, 0.0), keyed.get(id, 0.0)) for id in found.keys() | keyed.keys()}
        return dict(sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:k])

    def score(self, text: str, ids: Sequence[str]) -> dict[str, float]:
        """Return the best cosine of the text with each memory (see `compare`). Missing and unusable memories are skipped."""
        return {id: closeness.best for id, closeness in self.compare(text, ids).items()}

    def compare(self, text: str, ids: Sequence[str]) -> dict[str, QueryCosines]:
        """Return the cosines of the text with each memory's statement and keys. Missing and unusable memories are skipped."""
        if not ids or not text.strip():
            return {}
        vector = to_blob(self.query_vector(text))
        size = len(vector)
        statements: dict[str, float] = {}
        keys: dict[str, dict[str, float]] = {}
        for id, statement, key, text in self._db.execute(
            _COMPARE, (vector, self._model, size, vector, _json(ids), self._model, size)
        ):
            if statement is not None:
                statements[id] = statement
                if key is not None:
                    keys.setdefault(id, {})[text] = key
        of = {id: keys.get(id, {}) for id in statements}
        return {id: QueryCosines(statement, tuple(of[id].values()), tuple(of[id])) for id, statement in statements.items()}

    def query_vector(self, text: str) -> FloatArray:
        """Return the unit vector of a query. The vectors of the last 32 queries are cached.

        Raises:
            EmbeddingError: The query can't be embedded.
        """
        return self._queries.get(text)

    def prepare(self, text: str) -> None:
        """Start embedding a query in the background. If this fails, the search raises the error."""
        self._queries.prepare(text)

    def _embed_query(self, text: str) -> FloatArray:
        vector: FloatArray = unit_vectors(self._embedder.embed_queries([text]), 1, self._model)[0]
        return vector

    def _newest(self, query: Query, k: int) -> list[Hit]:
        condition, parameters = where(query)
        newest = f"SELECT rowid FROM memory WHERE {condition} ORDER BY created_at DESC, id LIMIT ?"
        rows = self._db.execute(
            f"SELECT payload FROM memory WHERE rowid IN ({newest}) ORDER BY created_at DESC, id", [*parameters, min(k, 2**31)]
        )
        return [Hit(from_payload(payload), 0.0, Backend.VECTOR) for (payload,) in rows]

    def _hits(self, found: Mapping[str, float]) -> list[Hit]:
        rows = self._db.execute(
            "SELECT id, payload FROM memory WHERE id IN (SELECT value FROM json_each(?))", (_json(list(found)),)
        )
        hits = [
            Hit(from_payload(payload), found[id], Backend.VECTOR, MappingProxyType({"cosine": found[id]})) for id, payload in rows
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.item.id))

    # HNSW index

    def rebuild_ann(self) -> int:
        """Build and save the HNSW indexes. Return the number of rows of the larger one, or 0 below the threshold.

        Call this in the background. It indexes about 3,000 rows per second and does not block searches.

        Raises:
            DependencyError: hnswlib is not installed.
        """
        return max(table.caches.rebuild_ann() for table in (self._statements, self._keys))

    def ann_missing(self) -> bool:
        """Return whether `rebuild_ann` would help: enough memories, library installed, no usable index."""
        with self._lock:
            return any(table.caches.ann_missing() for table in (self._statements, self._keys))

    def _size(self) -> int:
        return read_dimensions(self._db, self._model) * FLOAT_BYTES


def _json(values: Sequence[str] | Sequence[int]) -> str:
    return orjson.dumps(list(values)).decode()
