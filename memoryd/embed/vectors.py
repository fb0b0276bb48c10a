"""Validation shared by all embedders."""

from __future__ import annotations

from typing import Any

import numpy as np

from memoryd.core.errors import EmbeddingError
from memoryd.core.protocols import FloatArray

SHORTEST = 1e-12


def unit_rows(values: Any, rows: int, source: str) -> FloatArray:
    """Return the rows as float32 vectors of length 1, in shape (rows, dimensions).

    Raises:
        EmbeddingError: The shape is wrong, or a row is non-finite or all zeros (equally close to everything).
    """
    try:
        array = np.asarray(values, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise EmbeddingError(f"{source} returned vectors of unequal length.", fix="Check the model.") from error
    if array.ndim != 2 or array.shape[0] != rows or array.shape[1] == 0:
        raise EmbeddingError(f"{source} returned an array of shape {array.shape} for {rows} texts.", fix="Check the model.")
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or (norms < SHORTEST).any():
        raise EmbeddingError(f"{source} returned a vector that is non-finite or all zeros.", fix="Check the model.")
    return np.asarray(array / norms, dtype=np.float32)


def no_rows(dimensions: int) -> FloatArray:
    """Return an empty result of shape (0, dimensions)."""
    return np.zeros((0, dimensions), dtype=np.float32)


def clean_text(text: str, limit: int) -> str:
    """Truncate a text to `limit` characters, and replace lone surrogates, which tokenizers and JSON reject."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")
