"""Vectors to and from the bytes that a row holds: little-endian float32."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memoryd.db import Row
from memoryd.errors import EmbeddingError
from memoryd.protocols import FloatArray

TOLERANCE = 0.01


def to_blob(vector: FloatArray) -> bytes:
    """The bytes of one vector."""
    return vector.astype("<f4").tobytes()


def from_blobs(rows: Sequence[Row], dimensions: int) -> tuple[list[int], FloatArray]:
    """Rowids and vectors of (rowid, blob) rows; blobs that hold no unit vector (NaN, zeros) are left out."""
    array = np.frombuffer(b"".join(blob for _, blob in rows), dtype="<f4").reshape(len(rows), dimensions)
    with np.errstate(all="ignore"):
        norms = np.einsum("ij,ij->i", array, array)
        good = np.abs(norms - 1) < 2 * TOLERANCE
    return [row[0] for row, keep in zip(rows, good, strict=True) if keep], np.asarray(array[good], dtype=np.float32)


def unit_vectors(vectors: FloatArray, rows: int, model: str) -> FloatArray:
    """The embedder's answer, if it keeps the contract; raises EmbeddingError else: a bad vector is never stored."""
    array = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or array.shape[0] != rows or array.shape[1] == 0:
        raise EmbeddingError(f"{model} gave an array of shape {array.shape} for {rows} texts.", fix="Check the embedder.")
    if not (np.abs(np.linalg.norm(array, axis=1) - 1) < TOLERANCE).all():
        raise EmbeddingError(f"{model} gave a vector that has not length 1.", fix="Check the embedder.")
    return array
