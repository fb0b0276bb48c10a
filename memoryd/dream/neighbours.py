"""Find pairs of memories with the same or the opposite statement. Parsed texts are cached between rounds."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from memoryd.core.errors import EmbeddingError
from memoryd.core.protocols import FloatArray
from memoryd.core.text import jaccard
from memoryd.core.types import Kind, MemoryItem, Polarity, Source, Status
from memoryd.dream.plan import DreamLimits, PlanBuilder, partition
from memoryd.language import RULES, Assertion, Comparer, Comparison, Relation, compare_read
from memoryd.language.reading import Reading, read_memory
from memoryd.language.stems import is_foreign

log = logging.getLogger(__name__)

# Blocking selects the pairs that are worth comparing, in time near-linear in the number of memories. Pure functions over arrays.
#
# Two complementary methods:
# - words: MinHash signatures (Broder 1997) cut into bands (locality-sensitive hashing); two texts whose
#   sets of words have Jaccard similarity s meet with probability 1 - (1 - s³)²⁴; groups of a few rows need no bands
# - meaning: nearest unit vectors. Small groups are compared exhaustively; large ones are split at the median of
#   random projections until a leaf is small (random projection trees, Dasgupta and Freund 2008)
# Within a block, each row is paired with a limited number of rows, so a thousand copies of one sentence cost a thousand times
# that limit rather than a million comparisons.

BANDS = 24
ROWS = 3
SEED = 20
SMALL = 64  # Maximum size of a group in which all pairs are examined (2,016 at most).
LEAF = 512
WHOLE = 2_048
TREES = 6
MIN_OVERLAP = 0.25
MIN_COSINE = 0.6
# Number of pairs compared at once. Both sides of each pair are copied for the comparison.
PAIRS_AT_ONCE = 8_192

Pairs = NDArray[np.int64]
Hashes = NDArray[np.uint64]


def no_pairs() -> Pairs:
    """Return an empty array of pairs, with shape (0, 2)."""
    return np.zeros((0, 2), dtype=np.int64)


def signatures(bags: Sequence[Iterable[str]]) -> Hashes:
    """Compute MinHash signatures of word sets, shape (n, BANDS·ROWS), with multiply-shift hashing (Dietzfelbinger 1997)."""
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
    """Return the pairs (i, j), i < j, within groups that share a band and agree in MIN_OVERLAP of their signatures.

    Each row in a bucket is paired with the next `neighbours` rows, so similar rows should be sorted close together.
    """
    found = no_pairs()
    for band in range(BANDS):
        key = groups.astype(np.uint64)
        for row in range(ROWS):
            key = (key ^ signature[:, band * ROWS + row]) * np.uint64(0x9E3779B97F4A7C15)
        met = _adjacent(key, neighbours)
        found = unique_pairs([found, met[_agreement(signature, met) >= MIN_OVERLAP]], len(key))
    return found


def pairs_of_small_groups(bags: Sequence[frozenset[str]], groups: NDArray[np.int64]) -> Pairs:
    """Return the pairs (i, j), i < j, with a word overlap of at least MIN_OVERLAP, within groups of up to SMALL rows.

    In such small groups, hashing would save little and lose pairs by chance.
    """
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    found = [
        (i, j)
        for rows in np.split(order, starts[1:])
        if 1 < len(rows) <= SMALL
        for i, j in combinations(rows.tolist(), 2)
        if jaccard(bags[i], bags[j]) >= MIN_OVERLAP
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def unique_pairs(parts: Sequence[Pairs], rows: int) -> Pairs:
    """Return the distinct pairs of all parts, sorted. `rows` is the number of rows that the pairs refer to."""
    pairs = np.concatenate([no_pairs(), *parts])
    # Sort instead of hashing, because so many of these keys collide that np.unique becomes quadratic.
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
    """Estimate the Jaccard similarity of each pair."""
    out = np.zeros(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        part = pairs[start : start + PAIRS_AT_ONCE]
        out[start : start + PAIRS_AT_ONCE] = (signature[part[:, 0]] == signature[part[:, 1]]).mean(axis=1)
    return out


def pairs_by_meaning(vectors: FloatArray, groups: NDArray[np.int64], neighbours: int) -> Pairs:
    """Return pairs (i, j), i < j: each row and its nearest `neighbours` in the group with a cosine above MIN_COSINE."""
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
    near = np.take_along_axis(cosines, best, axis=1) >= MIN_COSINE
    left, right = np.repeat(rows, k)[near.ravel()], rows[best.ravel()][near.ravel()]
    return np.stack([np.minimum(left, right), np.maximum(left, right)], axis=1)


def cosines_of(vectors: FloatArray, pairs: Pairs) -> FloatArray:
    """Return the cosine of each pair."""
    out = np.zeros(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        part = pairs[start : start + PAIRS_AT_ONCE]
        out[start : start + PAIRS_AT_ONCE] = np.einsum("ij,ij->i", vectors[part[:, 0]], vectors[part[:, 1]])
    return out


_FAMILIES = {kind: kind.value for kind in Kind} | {
    Kind.PREFERENCE: Kind.RULE.value,
    Kind.DECISION: Kind.RULE.value,
    Kind.ENVIRONMENT: Kind.FACT.value,
    Kind.NOTE: Kind.FACT.value,
}


def family(item: MemoryItem) -> str:
    """Return the group of a kind. Readers confuse rule, preference and decision, and likewise fact, environment and note."""
    return _FAMILIES[item.kind]


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement made one or more times. Its memories have the same wording and meaning, newest first.

    `at` is the time of the last statement. `sessions` are all sessions that contain it. Both include merged memories.
    """

    items: tuple[MemoryItem, ...]
    said: Assertion
    at: datetime
    sessions: frozenset[str]

    @property
    def newest(self) -> MemoryItem:
        """The most recent memory."""
        return self.items[0]

    @property
    def forbidden(self) -> bool:
        """Whether the user had this statement forgotten."""
        return self.newest.status is Status.BLACKLISTED


@dataclass(frozen=True, slots=True)
class CandidatePair:
    """Two claims, and the relation of the later claim to the earlier one."""

    earlier: Claim
    later: Claim
    found: Comparison

    @property
    def relation(self) -> Relation:
        """The relation, without its details."""
        return self.found.relation


@dataclass(frozen=True, slots=True)
class Relations:
    """All claims and their related pairs, in a fixed order."""

    claims: tuple[Claim, ...]
    pairs: tuple[CandidatePair, ...]

    def of(self, *relations: Relation) -> list[CandidatePair]:
        """Return the pairs with one of these relations."""
        return [pair for pair in self.pairs if pair.relation in relations]

    def doubtful(self) -> list[CandidatePair]:
        """Return the pairs with an uncertain relation."""
        return [pair for pair in self.pairs if pair.found.doubtful]


class Neighbourhood:
    """Compares the memories of a plan. Texts and comparisons are cached, so a second round repeats only the blocking."""

    def __init__(
        self,
        items: Iterable[MemoryItem],
        vectors: Mapping[str, FloatArray],
        limits: DreamLimits,
        comparer: Comparer = RULES,
    ) -> None:
        self._limits = limits
        self._comparer = comparer
        self._vectors: dict[str, FloatArray] = {}
        for item in sorted(items, key=lambda item: item.id):
            if item.id in vectors and item.content not in self._vectors and not is_foreign(item.content):
                self._vectors[item.content] = vectors[item.id]
        self._readings: dict[tuple[str, bool], Reading] = {}
        self._found: dict[tuple[Assertion, Assertion], Comparison] = {}
        self._read = 0

    def reading(self, said: Assertion) -> Reading:
        """Return the parsed text, from the cache if possible."""
        key = said.text, said.dont
        if key not in self._readings:
            self._readings[key] = read_memory(said.text, dont=said.dont)
        return self._readings[key]

    def relations(self, builder: PlanBuilder) -> Relations:
        """Return the current claims and their relations."""
        claims = self._claims(builder)
        if not claims:
            return Relations((), ())
        pairs, cosines = self._pairs(claims)
        found = []
        known = [
            (claims[i], claims[j], None if np.isnan(cosine) else cosine)
            for (i, j), cosine in zip(pairs.tolist(), cosines.tolist(), strict=True)
        ]
        for entry in sorted(known, key=lambda entry: max(entry[0].at, entry[1].at), reverse=True):
            self._judge(*entry)  # Newest first, because the number of pairs to read together is limited.
        for entry in known:
            pair = self._judge(*entry)
            found += [pair] if pair.relation is not Relation.DIFFERENT or pair.found.doubtful else []
        return Relations(tuple(claims), tuple(found))

    def agree_in_words(self, pair: CandidatePair) -> bool:
        """Return whether the words alone show that both sides of the pair make the same statement."""
        a, b = pair.earlier.said, pair.later.said
        return compare_read(a, b, self.reading(a), self.reading(b)).relation is Relation.SAME

    def _claims(self, builder: PlanBuilder) -> list[Claim]:
        groups: dict[tuple[object, ...], list[MemoryItem]] = {}
        for item in (*builder.active(), *builder.forbidden()):
            reading = self.reading(_said(item))
            key = (
                *partition(item),
                reading.statement.norm,
                tuple(c.affirmed for c in reading.clauses),
                family(item),
                item.status.value,
            )
            groups.setdefault(key, []).append(item)
        return [_claim(builder, groups[key]) for key in sorted(groups)]

    def _pairs(self, claims: Sequence[Claim]) -> tuple[Pairs, FloatArray]:
        """Return the candidate pairs and their cosines. The cosine is NaN if a vector is missing."""
        numbers: dict[tuple[str, str], int] = {}
        groups = np.array([numbers.setdefault(partition(claim.newest), len(numbers)) for claim in claims], dtype=np.int64)
        bags = [_bag(self.reading(claim.said)) for claim in claims]
        by_hashes = pairs_by_words(signatures(bags), groups, self._limits.neighbours)
        pairs = unique_pairs([by_hashes, pairs_of_small_groups(bags, groups)], len(claims))
        known = np.array([claim.said.text in self._vectors for claim in claims], dtype=bool)
        if not known.any():
            return pairs, np.full(len(pairs), np.nan, dtype=np.float32)
        return self._with_meaning(claims, pairs, groups, known)

    def _with_meaning(self, claims: Sequence[Claim], pairs: Pairs, groups: Pairs, known: Pairs) -> tuple[Pairs, FloatArray]:
        rows = np.flatnonzero(known)
        matrix = np.stack([self._vectors[claims[row].said.text] for row in rows.tolist()], dtype=np.float32)
        near = rows[pairs_by_meaning(matrix, groups[rows], self._limits.neighbours)]
        both = unique_pairs([pairs, near.reshape(-1, 2)], len(claims))
        at = np.full(len(claims), -1, dtype=np.int64)
        at[rows] = np.arange(len(rows))
        cosines = np.full(len(both), np.nan, dtype=np.float32)
        measured = known[both].all(axis=1)
        cosines[measured] = cosines_of(matrix, at[both[measured]])
        keep = ~(cosines < MIN_COSINE)
        return both[keep], cosines[keep]

    def _judge(self, a: Claim, b: Claim, cosine: float | None) -> CandidatePair:
        earlier, later = sorted((a, b), key=lambda claim: (claim.at, claim.newest.id))
        old, new = earlier.said, later.said
        if (old, new) not in self._found:
            self._found[old, new] = self._compare(old, new, cosine)
        return CandidatePair(earlier, later, self._found[old, new])

    def _compare(self, old: Assertion, new: Assertion, cosine: float | None) -> Comparison:
        """Compare two statements. Pairs are no longer read together once the limit is reached or the reader has failed."""
        a, b = self.reading(old), self.reading(new)
        if self._read < self._limits.read and self._comparer.passes_to_reader(cosine):
            self._read += 1
            try:
                return self._comparer.compare_read(old, new, a, b, cosine)
            except EmbeddingError as error:
                log.warning("comparing statements by their words alone: %s", error)
                self._read = self._limits.read
        return self._comparer.compare_read(old, new, a, b, cosine, read=False)


def _bag(reading: Reading) -> frozenset[str]:
    """Return the words used for blocking: the text's canonical terms, and its plain stems including common words."""
    return reading.terms | reading.statement.stems or frozenset({reading.statement.norm})


def _claim(builder: PlanBuilder, members: list[MemoryItem]) -> Claim:
    said = sorted(((builder.last_stated(item), item.id) for item in members), reverse=True)
    sessions = {each.session for item in members for each in (item, *builder.merged_into(item))}
    items = tuple(builder[id] for _, id in said)
    return Claim(items, replace(_said(items[0]), at=said[0][0]), said[0][0], frozenset(sessions))


def _said(item: MemoryItem) -> Assertion:
    return Assertion(item.content, item.polarity is Polarity.DONT, item.source is Source.USER)
