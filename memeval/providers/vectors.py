"""Vectors of texts, kept on disk by text and model, so that no text of a scope is embedded twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memeval.errors import ProviderError

Vectors = NDArray[np.float32]
BATCH = 64
MOST_KEYS = 500


class TextEmbedder(Protocol):
    """Texts to unit vectors, float32 of shape (n, dimensions)."""

    @property
    def name(self) -> str:
        """Model and whatever else decides the vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of documents."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Vector of a query, shape (dimensions,)."""
        ...


def _known(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """Key and value of those keys that are there."""
    out: dict[bytes, bytes] = {}
    for start in range(0, len(keys), MOST_KEYS):
        some = keys[start : start + MOST_KEYS]
        out |= db.execute(f"SELECT key, value FROM vector WHERE key IN ({','.join('?' * len(some))})", some)
    return out


class VectorCache:
    """Vectors in `vectors.db` of a folder, as half floats (they lose nothing that a rank would show)."""

    def __init__(self, folder: Path, embedder: TextEmbedder) -> None:
        self._path = folder / "vectors.db"
        self._embedder = embedder

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """A row for each text; what is not there yet is embedded and kept, batch by batch."""
        if not texts:
            return np.zeros((0, 1), dtype=np.float32)
        keys = [self._key(text) for text in texts]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self._path, timeout=30)) as db:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA synchronous=NORMAL")
                db.execute("CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
                known = _known(db, keys)
                missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
                known |= self._embed(db, missing)
        except sqlite3.Error as error:
            raise ProviderError(f"{self._path} can't be used: {error}.", fix="Delete that file.") from error
        return np.stack([np.frombuffer(known[key], dtype=np.float16) for key in keys]).astype(np.float32)

    def _embed(self, db: sqlite3.Connection, missing: dict[bytes, str]) -> dict[bytes, bytes]:
        out: dict[bytes, bytes] = {}
        waiting = list(missing.items())
        for start in range(0, len(waiting), BATCH):
            batch = waiting[start : start + BATCH]
            rows = self._embedder.embed([text for _, text in batch]).astype(np.float16)
            fresh = {key: row.tobytes() for (key, _), row in zip(batch, rows, strict=True)}
            with db:
                db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", fresh.items())
            out |= fresh
        return out

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(f"{self._embedder.name}\0{text}".encode("utf-8", "replace")).digest()
