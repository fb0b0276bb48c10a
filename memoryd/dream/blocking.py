"""Which pairs of memories are worth comparing: near-linear in their number. Pure functions over arrays.

Two ways in, since each misses what the other finds:
- words: MinHash signatures (Broder 1997) cut into bands (locality-sensitive hashing); two texts whose
  sets of words have Jaccard similarity s meet with probability 1 - (1 - s³)²⁴
- meaning: neighbours among the unit vectors. Small groups are compared in full, large ones are split at the
  median of random projections until a leaf is small (random projection trees, Dasgupta and Freund 2008)
In each block a row is paired with a bounded number of others, so that a thousand copies of one sentence cost
a thousand times the bound, not a million.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memoryd.protocols import FloatArray

BANDS = 24
ROWS = 3
SEED = 20
LEAF = 512
WHOLE = 2_048
TREES = 6
LEAST_OVERLAP = 0.25
LEAST_COSINE = 0.6
# Pairs that are compared at once: both sides are copied for it.
PAIRS_AT_ONCE = 8_192

Pairs = NDArray[np.int64]
Hashes = NDArray[np.uint64]


def no_pairs() -> Pairs:
    """An empty answer, shape (0, 2)."""
    return np.zeros((0, 2), dtype=np.int64)


def signatures(bags: Sequence[Iterable[str]]) -> Hashes:
    """MinHash signatures of sets of words, shape (n, BANDS·ROWS). Hashing is multiply-shift (Dietzfelbinger 1997)."""
    vocabulary: dict[str, int] = {}
    flat: list[int] = []
    starts: list[int] = []
    for bag in bags:
        starts.append(len(flat))
        flat += [_code(word, vocabulary) for word in bag] or [_code("", vocabulary)]
    if not starts:
        return np.zeros((0, BANDS * ROWS), dtype=np.uint64)
    random = np.random.default_rng(SEED)
    factors = random.integers(0, 2**63, BANDS * ROWS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    shifts = random.integers(0, 2**63, BANDS * ROWS, dtype=np.uint64)
    codes, begin = np.array(flat, dtype=np.uint64), np.array(starts)
    out = np.empty((len(starts), BANDS * ROWS), dtype=np.uint64)
    for column, (factor, shift) in enumerate(zip(factors, shifts, strict=True)):
        out[:, column] = np.minimum.reduceat((codes * factor + shift) >> np.uint64(16), begin)
    return out


def _code(word: str, vocabulary: dict[str, int]) -> int:
    if word not in vocabulary:
        data = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        vocabulary[word] = int.from_bytes(data, "big")
    return vocabulary[word]


def pairs_by_words(signature: Hashes, groups: NDArray[np.int64], neighbours: int) -> Pairs:
    """Pairs (i, j), i < j, of the same group whose signatures share a band and agree in LEAST_OVERLAP of all places.

    Rows of one bucket are paired with their next `neighbours` in the order of the rows: sort rows so that alike ones are near.
    """
    found = no_pairs()
    for band in range(BANDS):
        key = groups.astype(np.uint64)
        for row in range(ROWS):
            key = (key ^ signature[:, band * ROWS + row]) * np.uint64(0x9E3779B97F4A7C15)
        met = _adjacent(key, neighbours)
        found = unique_pairs([found, met[_agreement(signature, met) >= LEAST_OVERLAP]], len(key))
    return found


def unique_pairs(parts: Sequence[Pairs], rows: int) -> Pairs:
    """All pairs of the parts once, in order. `rows` is the number of rows that they speak of."""
    pairs = np.concatenate([no_pairs(), *parts])
    # Sorted, not hashed: such keys collide so often that np.unique becomes quadratic.
    keys = np.sort(pairs[:, 0] * max(1, rows) + pairs[:, 1])
    left, right = np.divmod(keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]], max(1, rows))
    return np.stack([left, right], axis=1)


def _adjacent(key: Hashes, neighbours: int) -> Pairs:
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    out = [no_pairs()]
    for step in range(1, neighbours + 1):
        same = sorted_key[:-step] == sorted_key[step:]
        if not same.any():
            break
        out.append(np.stack([order[:-step][same], order[step:][same]], axis=1))
    return np.concatenate(out)


def _agreement(signature: Hashes, pairs: Pairs) -> FloatArray:
    """Estimated Jaccard similarity of each pair."""
    out = np.zeros(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        part = pairs[start : start + PAIRS_AT_ONCE]
        out[start : start + PAIRS_AT_ONCE] = (signature[part[:, 0]] == signature[part[:, 1]]).mean(axis=1)
    return out


def pairs_by_meaning(vectors: FloatArray, groups: NDArray[np.int64], neighbours: int) -> Pairs:
    """Pairs (i, j), i < j, of the same group: each row with its nearest `neighbours` of cosine LEAST_COSINE or more."""
    found = [no_pairs()]
    for group in np.unique(groups):
        for leaf in _leaves(vectors, np.flatnonzero(groups == group)):
            found.append(_nearest(vectors, leaf, neighbours))
    return unique_pairs(found, len(vectors))


def _leaves(vectors: FloatArray, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    if len(rows) <= WHOLE:
        return [rows]
    random = np.random.default_rng(SEED)
    return [leaf for _ in range(TREES) for leaf in _split(vectors, rows, random)]


def _split(vectors: FloatArray, rows: NDArray[np.int64], random: np.random.Generator) -> list[NDArray[np.int64]]:
    if len(rows) <= LEAF:
        return [rows]
    direction = np.asarray(random.normal(size=vectors.shape[1]), dtype=np.float32)
    order = np.argsort(vectors[rows] @ direction, kind="stable")
    half = len(rows) // 2
    low, high = np.sort(rows[order[:half]]), np.sort(rows[order[half:]])
    return [*_split(vectors, low, random), *_split(vectors, high, random)]


def _nearest(vectors: FloatArray, rows: NDArray[np.int64], neighbours: int) -> Pairs:
    if len(rows) < 2:
        return no_pairs()
    part = vectors[rows]
    cosines = part @ part.T
    np.fill_diagonal(cosines, -1.0)
    k = min(neighbours, len(rows) - 1)
    best = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
    near = np.take_along_axis(cosines, best, axis=1) >= LEAST_COSINE
    left, right = np.repeat(rows, k)[near.ravel()], rows[best.ravel()][near.ravel()]
    return np.stack([np.minimum(left, right), np.maximum(left, right)], axis=1)


def cosines_of(vectors: FloatArray, pairs: Pairs) -> FloatArray:
    """The cosine of each pair."""
    out = np.zeros(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        part = pairs[start : start + PAIRS_AT_ONCE]
        out[start : start + PAIRS_AT_ONCE] = np.einsum("ij,ij->i", vectors[part[:, 0]], vectors[part[:, 1]])
    return out
