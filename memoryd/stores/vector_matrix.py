"""All vectors in one array, for exact search by matrix product, which is much faster than comparing rows in SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from memoryd.core.db import Row
from memoryd.core.errors import EmbeddingError
from memoryd.core.protocols import FloatArray

# Vectors are stored as little-endian float32.

TOLERANCE = 0.01


def to_blob(vector: FloatArray) -> bytes:
    """Serialise one vector."""
    return vector.astype("<f4").tobytes()


def from_blobs(rows: Sequence[Row], dimensions: int) -> tuple[list[int], FloatArray]:
    """Parse (rowid, blob) rows into rowids and vectors. Blobs that are not unit vectors (NaN, zeros) are skipped."""
    array = np.frombuffer(b"".join(blob for _, blob in rows), dtype="<f4").reshape(len(rows), dimensions)
    with np.errstate(all="ignore"):
        norms = np.einsum("ij,ij->i", array, array)
        good = np.abs(norms - 1) < 2 * TOLERANCE
    return [row[0] for row, keep in zip(rows, good, strict=True) if keep], np.asarray(array[good], dtype=np.float32)


def unit_vectors(vectors: FloatArray, rows: int, model: str) -> FloatArray:
    """Validate an embedder's result, so that no bad vector is ever stored.

    Raises:
        EmbeddingError: The array has the wrong shape, or a row does not have length 1.
    """
    array = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or array.shape[0] != rows or array.shape[1] == 0:
        raise EmbeddingError(f"{model} returned an array of shape {array.shape} for {rows} texts.", fix="Check the embedder.")
    if not (np.abs(np.linalg.norm(array, axis=1) - 1) < TOLERANCE).all():
        raise EmbeddingError(f"{model} returned a vector whose length is not 1.", fix="Check the embedder.")
    return array


GROWTH = 1.25
FLOAT_BYTES = 4
# Number of rows gathered at a time, small enough for the CPU cache.
BLOCK = 256


class VectorMatrix:
    """Exact unit vectors by rowid. `version` is the last table change included. Not thread-safe."""

    exact = True

    def __init__(self, dimensions: int) -> None:
        self.version = 0
        self.dimensions = dimensions
        self._vectors: FloatArray = np.empty((0, dimensions), dtype=np.float32)
        self._rowids: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._positions: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._positions)

    def put(self, rowids: Sequence[int], vectors: FloatArray) -> None:
        """Add or replace rows. `vectors` has shape (n, dimensions)."""
        self._reserve(len(self) + len(rowids))
        for rowid in rowids:
            self._positions.setdefault(rowid, len(self._positions))
        positions = [self._positions[rowid] for rowid in rowids]
        self._vectors[positions] = vectors
        self._rowids[positions] = rowids

    def top(
        self, vector: FloatArray, sizes: Sequence[int], within: NDArray[np.intp] | None = None
    ) -> Iterator[tuple[list[int], FloatArray]]:
        """For each of the increasing sizes n, yield the rowids and cosines of up to n nearest rows, best first.

        `within` restricts the search to these positions (see `positions`).
        """
        cosines = self._cosines(slice(len(self)) if within is None else within, vector)
        rowids = self._rowids if within is None else self._rowids[within]
        far = -cosines
        for n in sizes:  # Usually the first size is enough.
            chosen = np.argpartition(far, n - 1)[:n] if n < len(far) else np.arange(len(far))
            chosen = chosen[np.argsort(far[chosen], kind="stable")]
            yield rowids[chosen].tolist(), cosines[chosen]

    def vector(self, rowid: int) -> FloatArray | None:
        """Return the vector of a row without copying it, or None if the row is unknown."""
        place = self._positions.get(rowid)
        return None if place is None else self._vectors[place]

    def positions(self, rowids: Iterable[int]) -> NDArray[np.intp]:
        """Return the positions of the known rows in memory order. Adding rows does not change them."""
        known = (self._positions.get(rowid, -1) for rowid in rowids)
        return np.sort(np.array([place for place in known if place >= 0], dtype=np.intp))

    def cosines(self, vector: FloatArray, rowids: Sequence[int]) -> dict[int, float]:
        """Return the cosine of each known row."""
        known = [rowid for rowid in rowids if rowid in self._positions]
        positions = np.array([self._positions[rowid] for rowid in known], dtype=np.intp)
        return dict(zip(known, self._cosines(positions, vector).tolist(), strict=True))

    def _cosines(self, rows: slice | NDArray[np.intp], vector: FloatArray) -> FloatArray:
        if isinstance(rows, slice):
            return _products(self._vectors[rows], vector)
        out = np.empty(len(rows), dtype=np.float32)
        gathered = np.empty((BLOCK, self.dimensions), dtype=np.float32)
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK]
            np.take(self._vectors, part, axis=0, out=gathered[: len(part)], mode="clip")  # The other modes copy twice.
            out[start : start + len(part)] = _products(gathered[: len(part)], vector)
        return out

    def _reserve(self, rows: int) -> None:
        if rows <= len(self._rowids):
            return
        capacity = int(rows * GROWTH) + 16 if len(self) else rows
        vectors = np.empty((capacity, self._vectors.shape[1]), dtype=np.float32)
        rowids = np.empty(capacity, dtype=np.int64)
        vectors[: len(self)], rowids[: len(self)] = self._vectors[: len(self)], self._rowids[: len(self)]
        self._vectors, self._rowids = vectors, rowids


def _products(rows: FloatArray, vector: FloatArray) -> FloatArray:
    # Not `@`: BLAS starts threads that wait for each other when the cores are busy (25 ms instead of 0.5 for 10,000
    # rows). A single thread is nearly as fast because memory bandwidth is the limit.
    return np.asarray(np.einsum("ij,j->i", rows, vector), dtype=np.float32)
