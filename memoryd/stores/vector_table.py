"""Nearest-neighbour search over one table of vectors, with every filter checked in SQL on the memory that a vector belongs to.

A memory has one vector for its statement (table `memory`) and one for each of its keys (table `key`). Both are searched in
the same way; a memory's cosine is the best of its vectors in the table.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from memoryd.db import Database
from memoryd.protocols import FloatArray
from memoryd.rows import where
from memoryd.stores.matrix import VectorMatrix
from memoryd.stores.mirrors import Mirrors, usable_of
from memoryd.stores.places import Places
from memoryd.stores.vectors import to_blob
from memoryd.types import Query

# Candidates asked of a mirror after the first few, in multiples of k, before the filter is taken for narrow.
_REACH = (2, 8, 64)


@dataclass(frozen=True, slots=True)
class VectorSource:
    """Where vectors lie: in SQL, `v` is the row with the vector and `m` that of its memory.

    `found` joins from vectors to their memories, `changed` is the same by the version's index, `passing` lets SQLite choose.
    `spread` is about how many vectors a memory has.
    """

    table: str
    passing: str
    found: str
    changed: str
    spread: int = 1


STATEMENTS = VectorSource(
    "memory",
    passing="memory AS m",
    # NOT INDEXED leaves the lookup by rowid as the only plan; SQLite else walks the whole filter index.
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
    """Search over the vectors of one source. Safe to share between threads; `lock` guards the copies in memory."""

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
        self._usable = usable_of(self._row)
        self._places = Places(db, source.table, source.passing, source.changed, self._row)
        self.mirrors = Mirrors(db, source.table, model, ann_path, ann_threshold, matrix_bytes)

    def clear(self) -> None:
        """Let go of the vectors in memory."""
        with self._lock:
            self.mirrors.clear()

    def scores(self, vector: FloatArray, query: Query, k: int) -> dict[str, float]:
        """Cosine by id of the k nearest memories that pass the filters, best first; ties by id."""
        with self._lock:
            if not self.mirrors.count():
                return {}
            found = self._by_mirror(vector, query, k)
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

    def _by_mirror(self, vector: FloatArray, query: Query, k: int) -> dict[str, float] | None:
        """The k best by a mirror, or None when the table must be asked.

        k candidates that pass the filter are the answer if the last of them is better than
        the last candidate; equal ones might continue past it, and ties go by id.
        """
        mirror = self.mirrors.current(len(vector))
        if mirror is None:
            return None
        sizes = [self._source.spread * (k + k // 4 + 8), *(self._source.spread * reach * k for reach in _REACH)]
        if isinstance(mirror, VectorMatrix):
            within = self._within(mirror, query) if _narrows(query) else None
            size, nearest = len(mirror) if within is None else len(within), mirror.top(vector, sizes, within)
        else:
            size, nearest = len(mirror), mirror.top(vector, sizes)
        if not size:
            return {}
        for rowids, cosines in nearest:
            rounded = [round(cosine, 6) for cosine in cosines.tolist()]
            ranked = self._passing(dict(zip(rowids, rounded, strict=True)), query)
            whole = mirror.exact and (len(rowids) == size or rounded[-1] <= 0)
            if whole or (len(ranked) >= k and ranked[k - 1][1] > rounded[-1]):
                return dict(ranked[:k])
        return self._by_matrix(mirror, vector, query, k) if isinstance(mirror, VectorMatrix) else None

    def _within(self, matrix: VectorMatrix, query: Query) -> NDArray[np.intp]:
        """Places of the rows that can pass the query's lasting filters (not its times); kept until the table changes."""
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
        return self._places.of(matrix, condition, parameters)

    def _by_matrix(self, matrix: VectorMatrix, vector: FloatArray, query: Query, k: int) -> dict[str, float]:
        """The k best of all rows that pass the filter; the cut is widened over ties, which go by id."""
        condition, parameters = where(query, "m")
        rows = self._db.execute(
            f"SELECT {self._row}.rowid FROM {self._source.passing} WHERE {condition} AND {self._row}.model = ?",
            [*parameters, self._model],
        )
        cosines = {row: round(cosine, 6) for row, cosine in matrix.cosines(vector, [row for (row,) in rows]).items()}
        least = heapq.nlargest(self._source.spread * k, cosines.values())[-1] if cosines else 0.0
        ranked = self._passing({row: cosine for row, cosine in cosines.items() if cosine >= least}, query)
        if len(ranked) < k and least > 0:  # the best vectors belong to few memories
            ranked = self._passing(cosines, query)
        return dict(ranked[:k])

    def _passing(self, cosines: Mapping[int, float], query: Query) -> list[tuple[str, float]]:
        """The memories of those rows that are there, usable and pass the filter: (id, best cosine), in rank order."""
        condition, parameters = where(query, "m")
        rows = self._db.execute(
            f"SELECT {self._row}.rowid, m.id FROM {self._source.found}"
            f" WHERE {self._row}.rowid IN (SELECT value FROM json_each(?)) AND {condition} AND {self._row}.model = ?",
            [_json(list(cosines)), *parameters, self._model],
        )
        best: dict[str, float] = {}
        for rowid, id in rows:
            if cosines[rowid] > max(0.0, best.get(id, 0.0)):
                best[id] = cosines[rowid]
        return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))


def _narrows(query: Query) -> bool:
    """Whether a filter may leave few rows, so that these are better looked up first."""
    return bool(query.project is not None or query.session is not None or query.scopes or query.kinds or query.tags)


def _json(values: Sequence[int]) -> str:
    return orjson.dumps(list(values)).decode()
