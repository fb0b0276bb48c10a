"""Token vectors in SQLite, and MaxSim scoring of given candidates (Khattab & Zaharia 2020).

A vector consists of 224 four-bit numbers and one float16 scale, or 114 bytes per token. Nothing is cached in memory. Each query
reads the vectors of its candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from memoryd.core.db import Database, Migrations, Row
from memoryd.core.errors import EmbeddingError
from memoryd.core.protocols import FloatArray, TokenEncoder
from memoryd.core.text import digest
from memoryd.stores.prefetch import PrefetchCache

SCHEMA = Migrations("tokens")
SCALE_BYTES = 2
WRITE_BATCH = 64
# Maximum multiplications per matrix product. From 2^18 on, BLAS uses several threads. On busy cores, they wait for
# each other and can take a hundred times as long.
PRODUCTS = 180_000
# Number of blocks unpacked and multiplied per call. Few calls are needed, and the data still fits the CPU cache.
AT_ONCE = 8
# Four bits represent the numbers -7 to 7, stored as 1 to 15.
MAX_LEVEL, MIDDLE = 7, 8
USUAL = 0.98
_UPSERT = """
INSERT INTO tokens (id, model, digest, source, before, vectors) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT(id) DO UPDATE SET model = excluded.model, digest = excluded.digest, source = excluded.source,
before = excluded.before, vectors = excluded.vectors
"""
_NEIGHBOURS = """
SELECT t.id, t.before, (SELECT min(a.id) FROM tokens AS a WHERE a.before = t.id AND a.before != '')
FROM json_each(?) AS wanted CROSS JOIN tokens AS t ON t.id = wanted.value
"""
_USABLE = "model = ? AND typeof(vectors) = 'blob' AND length(vectors) > 0 AND length(vectors) % ? = 0"


@SCHEMA.step
def m001_create(db: Database) -> None:
    """Create the table. `source` is the digest of the encoded text, and `before` is the session's previous memory."""
    db.execute(
        "CREATE TABLE tokens (rowid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, model TEXT NOT NULL, digest TEXT NOT NULL,"
        " source TEXT NOT NULL, before TEXT NOT NULL, vectors BLOB NOT NULL)"
    )
    db.execute("CREATE INDEX tokens_before ON tokens(before) WHERE before != ''")


@SCHEMA.step
def m002_four_bits(db: Database) -> None:
    """Switch from eight to four bits. Everything is encoded again."""
    db.execute("DELETE FROM tokens")


@SCHEMA.step
def m003_two_turns_before(db: Database) -> None:
    """Use two previous turns as context instead of one. Memories with a predecessor are encoded again."""
    db.execute("DELETE FROM tokens WHERE before != ''")


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """Input for the token vectors of a memory.

    Attributes:
        digest: Digest of the item (see `item_digest`).
        before: Id of the session's previous memory.
        context: Previous text, ending with the text of `before`.
        keys: Keys of the memory. They are encoded separately, and their tokens follow those of the text.
    """

    id: str
    digest: str
    text: str
    before: str = ""
    context: str = ""
    keys: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Digest of the encoded text."""
        return digest(self.text, self.context, *self.keys)


class TokenStore:
    """Token vectors by memory id. Thread-safe. The encoder runs outside the database lock."""

    def __init__(self, path: Path, encoder: TokenEncoder) -> None:
        """Open or create the file.

        Raises:
            IndexDamagedError: The file is not a usable database.
        """
        self._encoder = encoder
        self._width = -(-encoder.dimensions // 2) + SCALE_BYTES
        # Writes are not durable. Rows lost in a power cut are detected at the next start and encoded again.
        self._db = SCHEMA.open(path, durable=False)
        self._queries = PrefetchCache(encoder.encode_query, "encode-query")

    def close(self) -> None:
        """Close the database. Safe to call twice."""
        self._queries.close()
        self._db.close()

    def check(self) -> None:
        """Read every page. Raises IndexDamagedError if a page is damaged."""
        self._db.check()

    def scrub(self) -> None:
        """Erase the remains of deleted and replaced entries."""
        self._db.scrub()

    def write_many(self, entries: Sequence[TokenEntry]) -> None:
        """Encode and store entries, 64 per transaction. Entries with unchanged text and context keep their vectors.

        Raises:
            EmbeddingError: Encoding failed. Earlier batches remain stored.
        """
        for start in range(0, len(entries), WRITE_BATCH):
            self._write_batch(entries[start : start + WRITE_BATCH])

    def _write_batch(self, entries: Sequence[TokenEntry]) -> None:
        known = self._known([entry.id for entry in entries])
        fresh = [entry for entry in entries if known.get(entry.id, ("", b""))[0] != entry.source]
        blobs = dict(zip([entry.id for entry in fresh], map(to_blob, self._encode(fresh)), strict=True))
        rows = [
            (entry.id, self._encoder.name, entry.digest, entry.source, entry.before, blobs.get(entry.id) or known[entry.id][1])
            for entry in entries
        ]
        self._db.executemany(_UPSERT, rows)

    def _encode(self, entries: Sequence[TokenEntry]) -> list[FloatArray]:
        """Encode the text and keys of each entry."""
        keys = [key for entry in entries for key in entry.keys]
        texts = [*(entry.text for entry in entries), *keys]
        encoded = self._encoder.encode(texts, [*(entry.context for entry in entries), *("" for _ in keys)])
        of_keys = iter(encoded[len(entries) :])
        return [np.concatenate([own, *islice(of_keys, len(entry.keys))]) for entry, own in zip(entries, encoded, strict=False)]

    def _known(self, ids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        rows = self._db.execute(
            f"SELECT id, source, vectors FROM tokens WHERE id IN (SELECT value FROM json_each(?)) AND {_USABLE}",
            (_json(ids), self._encoder.name, self._width),
        )
        return {id: (source, vectors) for id, source, vectors in rows}

    def delete(self, id: str) -> None:
        """Remove the memory's vectors, if any."""
        self._db.execute("DELETE FROM tokens WHERE id = ?", (id,))

    def clear(self) -> None:
        """Remove all entries."""
        self._db.execute("DELETE FROM tokens")

    def digests(self) -> dict[str, str]:
        """Return item digests by id. The digest is empty for rows that must be encoded again (other model, damaged vectors)."""
        rows = self._db.execute(f"SELECT id, iif({_USABLE}, digest, '') FROM tokens", (self._encoder.name, self._width))
        return {id: found for id, found in rows}

    def count(self) -> int:
        """Return the number of memories with token vectors."""
        return int(self._db.value("SELECT count(*) FROM tokens"))

    def linked(self) -> bool:
        """Return whether any memory has a predecessor."""
        return self._db.value("SELECT 1 FROM tokens WHERE before != '' LIMIT 1") is not None

    def neighbours(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return the ids of the previous and next memory of each stored memory.

        An id is empty if there is no such memory.
        """
        rows = self._db.execute(_NEIGHBOURS, (_json(ids),))
        return {id: (before, after or "") for id, before, after in rows}

    def before(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the id of each stored memory's predecessor. The id is empty if there is none."""
        return dict(self._db.execute("SELECT id, before FROM tokens WHERE id IN (SELECT value FROM json_each(?))", (_json(ids),)))

    def score(self, text: str, ids: Sequence[str], weight: Callable[[str], float]) -> dict[str, float]:
        """Return the weighted MaxSim of the query with each memory, which is the sum of its `matches`."""
        return {id: float(match.sum()) for id, match in self.matches(text, ids, weight).items()}

    def matches(self, text: str, ids: Sequence[str], weight: Callable[[str], float]) -> dict[str, FloatArray]:
        """Return each query token's contribution to the score of each memory. Missing and unusable memories are skipped.

        A contribution is weight(word) times the best cosine with any token of the memory, divided by the sum of all
        weights. The contributions sum to 1 if every token is present.

        Raises:
            EmbeddingError: The query can't be encoded.
        """
        query = self._queries.get(text)
        weights = np.array([max(0.0, weight(word)) for word in query.words], dtype=np.float32)
        if not ids or not weights.any():
            return {}
        rows = self._db.execute(
            f"SELECT id, vectors FROM tokens WHERE id IN (SELECT value FROM json_each(?)) AND {_USABLE}",
            (_json(ids), self._encoder.name, self._width),
        )
        found = max_similarities(query.vectors, rows, self._width) * (weights / weights.sum())
        usable = np.isfinite(found).all(axis=1).tolist()
        return {row[0]: match for row, match, whole in zip(rows, found, usable, strict=True) if whole}

    def prepare(self, text: str) -> None:
        """Start encoding a query in the background. If this fails, `matches` raises the error."""
        self._queries.prepare(text)


def to_blob(vectors: FloatArray) -> bytes:
    """Serialise token vectors. For each token, two numbers are stored per byte, followed by the scale.

    Raises:
        EmbeddingError: A vector is zero or non-finite.
    """
    peaks = np.abs(vectors).max(axis=1, initial=0.0)
    if not len(vectors) or not np.isfinite(peaks).all() or not (peaks > 0).all():
        raise EmbeddingError("The token model returned unusable vectors.", fix="Run 'memoryd doctor'.")
    even = np.pad(vectors, ((0, 0), (0, vectors.shape[1] % 2)))
    scales = _scales(even, peaks)
    numbers = _rounded(even, scales).astype(np.uint8) + MIDDLE
    pairs = numbers[:, ::2] | numbers[:, 1::2] << 4
    return np.concatenate([pairs, scales.view(np.uint8).reshape(-1, SCALE_BYTES)], axis=1).astype(np.uint8).tobytes()


def _scales(vectors: FloatArray, peaks: FloatArray) -> NDArray[np.float16]:
    """Choose the better of two scales for each vector: one that fits the largest number, and one that clips the top 2 %."""
    usual = np.quantile(np.abs(vectors), USUAL, axis=1)
    choices = [np.maximum(values / MAX_LEVEL, np.finfo(np.float16).tiny).astype("<f2") for values in (peaks, usual)]
    errors = [((_rounded(vectors, scales) * _wide(scales) - vectors) ** 2).sum(axis=1) for scales in choices]
    return np.where(errors[0] <= errors[1], *choices).astype("<f2")


def _rounded(vectors: FloatArray, scales: NDArray[np.float16]) -> FloatArray:
    return np.asarray(np.clip(np.rint(vectors / _wide(scales)), -MAX_LEVEL, MAX_LEVEL))


def _wide(scales: NDArray[np.float16]) -> FloatArray:
    return scales.astype(np.float32)[:, None]


def max_similarities(query: FloatArray, rows: Sequence[Row], width: int) -> FloatArray:
    """Return the best product of each query token with any token of each (id, blob) row, in shape (rows, query tokens)."""
    if not rows:
        return np.zeros((0, len(query)), dtype=np.float32)
    packed = np.frombuffer(b"".join(blob for _, blob in rows), dtype=np.uint8).reshape(-1, width)
    products = _products(query, packed[:, :-SCALE_BYTES])
    with np.errstate(all="ignore"):
        products *= np.ascontiguousarray(packed[:, -SCALE_BYTES:]).view("<f2").astype(np.float32)
    starts = np.cumsum([0, *(len(blob) // width for _, blob in rows[:-1])])
    return np.asarray(np.maximum.reduceat(products, starts, axis=0))


def _products(query: FloatArray, pairs: NDArray[np.uint8]) -> FloatArray:
    """Return unscaled products of stored tokens with query tokens, in shape (stored tokens, query tokens).

    A byte b contains a low number l = b mod 16 and a high number h = (b - l) / 16, so l·e + h·o = l·(e - o/16) + b·o/16.
    """
    tokens = len(query)
    # BLAS is faster if the number of query tokens is a multiple of four.
    even = np.pad(query, ((0, -tokens % 4), (0, query.shape[1] % 2)))
    for_low, for_high = even[:, ::2], even[:, 1::2] / 16
    columns = np.ascontiguousarray(np.concatenate([for_low - for_high, for_high], axis=1).T)
    block = max(1, PRODUCTS // max(1, columns.size))
    stored, half = pairs.shape
    products = np.empty((-(-stored // block), block, len(even)), dtype=np.float32)
    numbers = np.zeros((min(AT_ONCE, len(products)) * block, 2 * half), dtype=np.float32)
    for start in range(0, stored, len(numbers)):
        part = pairs[start : start + len(numbers)]
        numbers[: len(part), :half] = part & 15
        numbers[: len(part), half:] = part
        first, blocks = start // block, -(-len(part) // block)
        np.matmul(numbers[: blocks * block].reshape(blocks, block, -1), columns, out=products[first : first + blocks])
    flat = products.reshape(-1, len(even))[:stored, :tokens]
    return np.asarray(flat - MIDDLE * even[:tokens].sum(axis=1))  # The stored numbers are offset by MIDDLE.


def _json(values: Iterable[str]) -> str:
    return orjson.dumps(list(values)).decode()
