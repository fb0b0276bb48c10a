"""Vector caches: copies of the vectors outside their table, and their synchronisation with the table.

Every write gives its rows a new version number within its transaction. A cache records which version it includes and
loads newer rows before it is used, so the next search sees writes of other threads and processes. Deletions need no
synchronisation, because every candidate is looked up in the table.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from memoryd.core.db import Database, Row
from memoryd.core.protocols import FloatArray
from memoryd.stores.hnsw import HnswIndex, Identity, hnsw_available, load_hnsw, new_hnsw, remove_hnsw, save_hnsw
from memoryd.stores.vector_matrix import FLOAT_BYTES, VectorMatrix, from_blobs

# Filter cache: the matrix rows that can pass a filter. It is reused by later searches and updated after writes.

FILTERS_KEPT = 32
# Maximum number of changed rows applied to a cached filter. Above this, the filter is evaluated from scratch.
MAX_CHANGED = 2_000


@dataclass(frozen=True, slots=True)
class _Filter:
    condition: str
    parameters: tuple[Any, ...]
    positions: NDArray[np.intp]


class FilterCache:
    """Matrix positions by filter. Guarded by the caller's lock.

    Deleted rows remain in the cache, so callers must look up results in the table.
    """

    def __init__(self, db: Database, table: str, passing: str, changed: str, row: str) -> None:
        """Create the cache. `passing` and `changed` are FROM clauses as in VectorSource. `row` is the alias of vector rows."""
        self._db = db
        self._table = table
        self._row = row
        self._passing = f"SELECT {row}.rowid FROM {passing} WHERE"
        self._changed = f"SELECT {row}.rowid FROM {changed} WHERE {row}.version > ? AND"
        self._matrix: VectorMatrix | None = None
        self._version = -1
        self._known: dict[str, _Filter] = {}

    def of(self, matrix: VectorMatrix, condition: str, parameters: Sequence[Any]) -> NDArray[np.intp]:
        """Return the positions of the rows with memories (`m` in SQL) that satisfy a condition, in ascending order."""
        self._update(matrix)
        key = orjson.dumps([condition, *parameters]).decode()
        if key not in self._known:
            if len(self._known) >= FILTERS_KEPT:
                self._known.clear()
            positions = matrix.positions(self._rows(f"{self._passing} {condition}", *parameters))
            self._known[key] = _Filter(condition, tuple(parameters), positions)
        return self._known[key].positions

    def _update(self, matrix: VectorMatrix) -> None:
        """Apply the writes since the last call. A new matrix has different positions, so it clears the cache."""
        version, self._version = self._version, matrix.version
        if matrix is not self._matrix:
            self._matrix = matrix
            self._known.clear()
        elif version != matrix.version and self._known:
            changed = self._rows(f"SELECT rowid FROM {self._table} WHERE version > ? LIMIT ?", version, MAX_CHANGED + 1)
            if len(changed) > MAX_CHANGED:
                self._known.clear()
            else:
                self._known = {key: self._refresh(entry, matrix, changed, version) for key, entry in self._known.items()}

    def _refresh(self, entry: _Filter, matrix: VectorMatrix, changed: Sequence[int], version: int) -> _Filter:
        if not changed:
            return entry
        passing = self._rows(f"{self._changed} {entry.condition}", version, *entry.parameters)
        others = np.setdiff1d(entry.positions, matrix.positions(changed), assume_unique=True)
        return _Filter(entry.condition, entry.parameters, np.union1d(others, matrix.positions(passing)))

    def _rows(self, sql: str, *parameters: Any) -> list[int]:
        return [row for (row,) in self._db.execute(sql, parameters)]


MATRIX_BYTES = 160 * 2**20
READ_BATCH = 4_096
# Maximum number of changed rows that a search adds to the HNSW index. More are left to `rebuild_ann`.
MAX_BEHIND = 1_000
# Comparable rows: written by this model, with a blob of the right length. Parameters: model, bytes.
USABLE = "model = ? AND typeof(embedding) = 'blob' AND length(embedding) = ?"


def usable_condition(row: str) -> str:
    """Return the condition USABLE for rows with this alias."""
    return f"{row}.model = ? AND typeof({row}.embedding) = 'blob' AND length({row}.embedding) = ?"


class VectorCache(Protocol):
    """A copy of the vectors outside the table that proposes candidates."""

    version: int

    @property
    def exact(self) -> bool:
        """Whether `top` is exhaustive."""
        ...

    def __len__(self) -> int: ...

    def put(self, rowids: Sequence[int], vectors: FloatArray) -> None:
        """Add or replace rows."""
        ...

    def top(self, vector: FloatArray, sizes: Sequence[int]) -> Iterator[tuple[list[int], FloatArray]]:
        """For each of the increasing sizes n, yield the rowids and cosines of the n nearest rows, best first."""
        ...


@dataclass(frozen=True, slots=True)
class TableState:
    """State of a table: its last change, its number of rows, and the dimensions of this model's vectors (0 if there are none)."""

    version: int
    count: int
    dimensions: int


def dimensions_key(model: str) -> str:
    """Return the name of the counter for the dimensions of a model's vectors."""
    return f"dimensions:{model}"


def read_dimensions(db: Database, model: str) -> int:
    """Return the dimensions of the model's vectors in this table, or 0 before the first write."""
    return int(db.value("SELECT value FROM counter WHERE name = ?", (dimensions_key(model),)) or 0)


class VectorCaches:
    """The matrix and the HNSW index of one table. The caller's lock guards everything except `rebuild_ann`."""

    def __init__(self, db: Database, table: str, model: str, ann_path: Path, ann_threshold: int, matrix_bytes: int) -> None:
        self._db = db
        self._table = table
        self._model = model
        self._ann_path = ann_path
        self._ann_threshold = ann_threshold
        self._matrix_bytes = matrix_bytes
        self._matrix: VectorMatrix | None = None
        self._ann: HnswIndex | None = None
        self._ann_tried = not hnsw_available()
        self._last = TableState(-1, 0, 0)
        self._building = threading.Lock()

    def _state(self) -> TableState:
        """Return the state of the table. Rows are counted once per version, which also increases with deletions."""
        version = int(self._db.value("SELECT value FROM counter WHERE name = 'version'"))
        if version != self._last.version:
            count = int(self._db.value(f"SELECT count(*) FROM {self._table}"))
            self._last = TableState(version, count, read_dimensions(self._db, self._model))
        return self._last

    def count(self) -> int:
        """Return the number of rows in the table."""
        return self._state().count

    def clear(self) -> None:
        """Free the vectors in memory."""
        self._matrix = self._ann = None

    def current(self, dimensions: int) -> VectorCache | None:
        """Return an up-to-date cache that suits the number of memories, or None if the table itself must be searched."""
        state = self._state()
        if state.dimensions != dimensions:
            return None
        if state.count > self._ann_threshold and (ann := self._current_ann(state)):
            return ann
        if state.count * dimensions * FLOAT_BYTES > self._matrix_bytes:
            self._matrix = None
            return None
        if self._matrix is None or self._matrix.dimensions != dimensions or _is_bloated(self._matrix, state):
            self._matrix = VectorMatrix(dimensions)
        self._update(self._matrix, state)
        return self._matrix

    def rebuild_ann(self) -> int:
        """Build and save the HNSW index (see VectorStore.rebuild_ann)."""
        with self._building:
            state = self._state()
            if not self._wants_ann(state):
                return 0
            cache = new_hnsw(self._identity(state), state.count)
            self._update(cache, state)
            save_hnsw(cache, self._ann_path, self._identity(state))
            self._ann, self._matrix, self._ann_tried = cache, None, True
            return len(cache)

    def drop_ann(self) -> None:
        """Delete the HNSW file and free all vectors in memory. `rebuild_ann` creates the file again."""
        self.clear()
        remove_hnsw(self._ann_path)

    def ann_missing(self) -> bool:
        """Return whether a rebuild would help (see VectorStore.ann_missing)."""
        state = self._state()
        return self._wants_ann(state) and hnsw_available() and self._current_ann(state) is None

    def _wants_ann(self, state: TableState) -> bool:
        return state.count > self._ann_threshold and state.dimensions > 0

    def _current_ann(self, state: TableState) -> HnswIndex | None:
        if not self._ann_tried:
            self._ann_tried = True
            self._ann = load_hnsw(self._ann_path, self._identity(state))
        ann = self._ann
        if ann is None:
            return None
        behind = self._db.value(f"SELECT count(*) FROM {self._table} WHERE version > ?", (ann.version,))
        if behind > MAX_BEHIND or ann.dimensions != state.dimensions or _is_bloated(ann, state):
            self._ann = None
            return None
        self._update(ann, state)
        return ann

    def _update(self, cache: VectorCache, state: TableState) -> None:
        """Load the rows that have changed since the cache's version."""
        if cache.version >= state.version:
            return
        for rows in self._changed(cache.version, state):
            rowids, vectors = from_blobs(rows, state.dimensions)
            cache.put(rowids, vectors)
        cache.version = state.version

    def _changed(self, version: int, state: TableState) -> Iterator[list[Row]]:
        rowid = 2**62
        while True:
            rows = self._db.execute(
                f"SELECT rowid, embedding, version FROM {self._table} WHERE (version, rowid) > (?, ?) AND version <= ?"
                f" AND {USABLE} ORDER BY version, rowid LIMIT ?",
                (version, rowid, state.version, self._model, state.dimensions * FLOAT_BYTES, READ_BATCH),
            )
            if not rows:
                return
            yield [row[:2] for row in rows]
            version, rowid = rows[-1][2], rows[-1][0]

    def _identity(self, state: TableState) -> Identity:
        return Identity(self._db.value("SELECT value FROM counter WHERE name = 'table'"), self._model, state.dimensions)


def _is_bloated(cache: VectorCache, state: TableState) -> bool:
    """Return whether more than half of the cached rows have been deleted from the table."""
    return len(cache) > 2 * state.count + READ_BATCH
