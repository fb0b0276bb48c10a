"""Which copy of the vectors outside the table answers a search, and keeping it up to date.

Each write gives its rows a new version number, inside its transaction. A mirror knows the
version up to which it has seen the table and takes in what is newer before it is used, so
writes of other threads and processes are seen by the next search. Deletions need no notice:
every candidate is looked up in the table.
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
from memoryd.stores.hnsw import HnswMirror, Identity, hnsw_available, load_mirror, new_mirror, remove_mirror, save_mirror
from memoryd.stores.vector_matrix import FLOAT_BYTES, VectorMatrix, from_blobs

# Which rows of the vectors' matrix can pass a filter: kept for the next search, and brought up to date after a write.

FILTERS_KEPT = 32
# Changed rows that are looked at for each filter; more of them, and the filter is asked anew.
MOST_CHANGED = 2_000


@dataclass(frozen=True, slots=True)
class _Filter:
    condition: str
    parameters: tuple[Any, ...]
    places: NDArray[np.intp]


class Places:
    """Places in one matrix by filter. The caller's lock guards it.

    Rows that are deleted stay, so whoever asks looks them up in the table.
    """

    def __init__(self, db: Database, table: str, passing: str, changed: str, row: str) -> None:
        """`passing` and `changed` are what SQL selects from, as in VectorSource; `row` is the alias of the vectors' rows."""
        self._db = db
        self._table = table
        self._row = row
        self._passing = f"SELECT {row}.rowid FROM {passing} WHERE"
        self._changed = f"SELECT {row}.rowid FROM {changed} WHERE {row}.version > ? AND"
        self._matrix: VectorMatrix | None = None
        self._version = -1
        self._known: dict[str, _Filter] = {}

    def of(self, matrix: VectorMatrix, condition: str, parameters: Sequence[Any]) -> NDArray[np.intp]:
        """Places of the rows whose memory (`m` in SQL) passes a condition, in growing order."""
        self._bring_up(matrix)
        key = orjson.dumps([condition, *parameters]).decode()
        if key not in self._known:
            if len(self._known) >= FILTERS_KEPT:
                self._known.clear()
            places = matrix.places(self._rows(f"{self._passing} {condition}", *parameters))
            self._known[key] = _Filter(condition, tuple(parameters), places)
        return self._known[key].places

    def _bring_up(self, matrix: VectorMatrix) -> None:
        """Take in what was written since; a matrix that was made anew has other places."""
        version, self._version = self._version, matrix.version
        if matrix is not self._matrix:
            self._matrix = matrix
            self._known.clear()
        elif version != matrix.version and self._known:
            changed = self._rows(f"SELECT rowid FROM {self._table} WHERE version > ? LIMIT ?", version, MOST_CHANGED + 1)
            if len(changed) > MOST_CHANGED:
                self._known.clear()
            else:
                self._known = {key: self._renewed(one, matrix, changed, version) for key, one in self._known.items()}

    def _renewed(self, one: _Filter, matrix: VectorMatrix, changed: Sequence[int], version: int) -> _Filter:
        if not changed:
            return one
        passing = self._rows(f"{self._changed} {one.condition}", version, *one.parameters)
        others = np.setdiff1d(one.places, matrix.places(changed), assume_unique=True)
        return _Filter(one.condition, one.parameters, np.union1d(others, matrix.places(passing)))

    def _rows(self, sql: str, *parameters: Any) -> list[int]:
        return [row for (row,) in self._db.execute(sql, parameters)]


MATRIX_BYTES = 160 * 2**20
READ_BATCH = 4_096
# Changed rows that an HNSW mirror takes in at a search; more is left to `rebuild_ann`.
MOST_BEHIND = 1_000
# A row can be compared when it is of this model and its blob has the right length; parameters: model, bytes.
USABLE = "model = ? AND typeof(embedding) = 'blob' AND length(embedding) = ?"


def usable_of(row: str) -> str:
    """USABLE for the row of that alias."""
    return f"{row}.model = ? AND typeof({row}.embedding) = 'blob' AND length({row}.embedding) = ?"


class Mirror(Protocol):
    """Vectors outside the table that propose candidates."""

    version: int

    @property
    def exact(self) -> bool:
        """Whether `top` misses nothing."""
        ...

    def __len__(self) -> int: ...

    def put(self, rowids: Sequence[int], vectors: FloatArray) -> None:
        """Add or replace rows."""
        ...

    def top(self, vector: FloatArray, sizes: Sequence[int]) -> Iterator[tuple[list[int], FloatArray]]:
        """For each size n, growing: rowids and cosines of the n nearest, best first."""
        ...


@dataclass(frozen=True, slots=True)
class State:
    """What the table holds: its last change, its rows, and the length of this model's vectors (0: none yet)."""

    version: int
    count: int
    dimensions: int


def dimensions_key(model: str) -> str:
    """Name of the counter that holds the length of a model's vectors."""
    return f"dimensions:{model}"


def read_dimensions(db: Database, model: str) -> int:
    """Length of the model's vectors in this table, 0 before the first was written."""
    return int(db.value("SELECT value FROM counter WHERE name = ?", (dimensions_key(model),)) or 0)


class Mirrors:
    """The matrix and the HNSW mirror of one table. The caller's lock guards all but `rebuild_ann`."""

    def __init__(self, db: Database, table: str, model: str, ann_path: Path, ann_threshold: int, matrix_bytes: int) -> None:
        self._db = db
        self._table = table
        self._model = model
        self._ann_path = ann_path
        self._ann_threshold = ann_threshold
        self._matrix_bytes = matrix_bytes
        self._matrix: VectorMatrix | None = None
        self._ann: HnswMirror | None = None
        self._ann_tried = not hnsw_available()
        self._last = State(-1, 0, 0)
        self._building = threading.Lock()

    def _state(self) -> State:
        """The table's state; rows are counted once for each version, which deletions raise too."""
        version = int(self._db.value("SELECT value FROM counter WHERE name = 'version'"))
        if version != self._last.version:
            count = int(self._db.value(f"SELECT count(*) FROM {self._table}"))
            self._last = State(version, count, read_dimensions(self._db, self._model))
        return self._last

    def count(self) -> int:
        """Rows of the table."""
        return self._state().count

    def clear(self) -> None:
        """Let go of the vectors in memory."""
        self._matrix = self._ann = None

    def current(self, dimensions: int) -> Mirror | None:
        """The mirror that suits the number of memories, up to date; None when the table itself must be asked."""
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
        self._bring_up(self._matrix, state)
        return self._matrix

    def rebuild_ann(self) -> int:
        """See VectorStore.rebuild_ann."""
        with self._building:
            state = self._state()
            if not self._wants_ann(state):
                return 0
            mirror = new_mirror(self._identity(state), state.count)
            self._bring_up(mirror, state)
            save_mirror(mirror, self._ann_path, self._identity(state))
            self._ann, self._matrix, self._ann_tried = mirror, None, True
            return len(mirror)

    def drop_ann(self) -> None:
        """Delete the HNSW file and let go of all vectors in memory; `rebuild_ann` makes the file again."""
        self.clear()
        remove_mirror(self._ann_path)

    def ann_missing(self) -> bool:
        """See VectorStore.ann_missing."""
        state = self._state()
        return self._wants_ann(state) and hnsw_available() and self._current_ann(state) is None

    def _wants_ann(self, state: State) -> bool:
        return state.count > self._ann_threshold and state.dimensions > 0

    def _current_ann(self, state: State) -> HnswMirror | None:
        if not self._ann_tried:
            self._ann_tried = True
            self._ann = load_mirror(self._ann_path, self._identity(state))
        ann = self._ann
        if ann is None:
            return None
        behind = self._db.value(f"SELECT count(*) FROM {self._table} WHERE version > ?", (ann.version,))
        if behind > MOST_BEHIND or ann.dimensions != state.dimensions or _is_bloated(ann, state):
            self._ann = None
            return None
        self._bring_up(ann, state)
        return ann

    def _bring_up(self, mirror: Mirror, state: State) -> None:
        """Take in the rows that changed since the mirror's version."""
        if mirror.version >= state.version:
            return
        for rows in self._changed(mirror.version, state):
            rowids, vectors = from_blobs(rows, state.dimensions)
            mirror.put(rowids, vectors)
        mirror.version = state.version

    def _changed(self, version: int, state: State) -> Iterator[list[Row]]:
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

    def _identity(self, state: State) -> Identity:
        return Identity(self._db.value("SELECT value FROM counter WHERE name = 'table'"), self._model, state.dimensions)


def _is_bloated(mirror: Mirror, state: State) -> bool:
    """Whether more than half of the mirror are rows that were deleted since."""
    return len(mirror) > 2 * state.count + READ_BATCH
