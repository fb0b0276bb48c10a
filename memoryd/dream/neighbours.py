"""Finds the pairs of memories that say the same or the contrary, with what was read once kept between rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memoryd.dream.blocking import (
    LEAST_COSINE,
    Hashes,
    Pairs,
    cosines_of,
    pairs_by_meaning,
    pairs_by_words,
    signatures,
    unique_pairs,
)
from memoryd.dream.board import Board, partition
from memoryd.dream.limits import DreamLimits
from memoryd.protocols import FloatArray
from memoryd.router.relevance import is_foreign
from memoryd.statements import RULES, Comparer, Comparison, Relation, Said, compare_read
from memoryd.statements.reading import Reading, read_memory
from memoryd.types import Kind, MemoryItem, Polarity, Source, Status

_FAMILIES = {kind: kind.value for kind in Kind} | {
    Kind.PREFERENCE: Kind.RULE.value,
    Kind.DECISION: Kind.RULE.value,
    Kind.ENVIRONMENT: Kind.FACT.value,
    Kind.NOTE: Kind.FACT.value,
}


def family(item: MemoryItem) -> str:
    """Kinds that extractors mix up count as one: a rule, a preference and a decision; a fact, an environment and a note."""
    return _FAMILIES[item.kind]


@dataclass(frozen=True, slots=True)
class Claim:
    """Memories with the same words in the same sense: one statement, said once or often. Newest first.

    `at` is when it was said last, `sessions` where, what was merged before included.
    """

    items: tuple[MemoryItem, ...]
    said: Said
    at: datetime
    sessions: frozenset[str]

    @property
    def newest(self) -> MemoryItem:
        """Who said it last."""
        return self.items[0]

    @property
    def forbidden(self) -> bool:
        """Whether it is what the user had forgotten."""
        return self.newest.status is Status.BLACKLISTED


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two claims and what the later is to the earlier."""

    earlier: Claim
    later: Claim
    found: Comparison

    @property
    def relation(self) -> Relation:
        """The relation alone."""
        return self.found.relation


@dataclass(frozen=True, slots=True)
class Relations:
    """All claims, and the pairs of them that are more than neighbours, in a fixed order."""

    claims: tuple[Claim, ...]
    pairings: tuple[Pairing, ...]

    def of(self, *relations: Relation) -> list[Pairing]:
        """The pairings with one of these relations."""
        return [pairing for pairing in self.pairings if pairing.relation in relations]

    def doubtful(self) -> list[Pairing]:
        """The pairings that could be something else than they look."""
        return [pairing for pairing in self.pairings if pairing.found.doubtful]


class Neighbourhood:
    """Compares the memories on a board. Readings and verdicts are kept: a second round costs the blocking only."""

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
        self._found: dict[tuple[Said, Said], Comparison] = {}

    def reading(self, said: Said) -> Reading:
        """The text, read once."""
        key = said.text, said.dont
        if key not in self._readings:
            self._readings[key] = read_memory(said.text, dont=said.dont)
        return self._readings[key]

    def relations(self, board: Board) -> Relations:
        """Claims and their relations as things stand on the board."""
        claims = self._claims(board)
        if not claims:
            return Relations((), ())
        pairs, cosines = self._pairs(claims)
        found = []
        for (i, j), cosine in zip(pairs.tolist(), cosines.tolist(), strict=True):
            pairing = self._judge(claims[i], claims[j], None if np.isnan(cosine) else cosine)
            found += [pairing] if pairing.relation is not Relation.DIFFERENT or pairing.found.doubtful else []
        return Relations(tuple(claims), tuple(found))

    def agree_in_words(self, pairing: Pairing) -> bool:
        """Whether the words alone make them the same."""
        a, b = pairing.earlier.said, pairing.later.said
        return compare_read(a, b, self.reading(a), self.reading(b)).relation is Relation.SAME

    def _claims(self, board: Board) -> list[Claim]:
        groups: dict[tuple[object, ...], list[MemoryItem]] = {}
        for item in (*board.active(), *board.forbidden()):
            reading = self.reading(_said(item))
            key = (
                *partition(item),
                reading.statement.norm,
                tuple(c.stands for c in reading.clauses),
                family(item),
                item.status.value,
            )
            groups.setdefault(key, []).append(item)
        return [_claim(board, groups[key]) for key in sorted(groups)]

    def _pairs(self, claims: Sequence[Claim]) -> tuple[Pairs, FloatArray]:
        """Candidate pairs with their cosines (NaN where a vector is missing)."""
        numbers: dict[tuple[str, str], int] = {}
        groups = np.array([numbers.setdefault(partition(claim.newest), len(numbers)) for claim in claims], dtype=np.int64)
        pairs = pairs_by_words(self._signatures(claims), groups, self._limits.neighbours)
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
        keep = ~(cosines < LEAST_COSINE)
        return both[keep], cosines[keep]

    def _signatures(self, claims: Sequence[Claim]) -> Hashes:
        return signatures([_bag(self.reading(claim.said)) for claim in claims])

    def _judge(self, a: Claim, b: Claim, cosine: float | None) -> Pairing:
        earlier, later = sorted((a, b), key=lambda claim: (claim.at, claim.newest.id))
        old, new = earlier.said, later.said
        if (old, new) not in self._found:
            self._found[old, new] = self._comparer.compare_read(old, new, self.reading(old), self.reading(new), cosine)
        return Pairing(earlier, later, self._found[old, new])


def _bag(reading: Reading) -> frozenset[str]:
    """What a text is found by: canonical words, and plain stems, which also hold the words that say little."""
    return reading.terms | reading.statement.stems or frozenset({reading.statement.norm})


def _claim(board: Board, members: list[MemoryItem]) -> Claim:
    said = sorted(((board.last_said(item), item.id) for item in members), reverse=True)
    sessions = {each.session for item in members for each in (item, *board.merged_into(item))}
    items = tuple(board[id] for _, id in said)
    return Claim(items, _said(items[0]), said[0][0], frozenset(sessions))


def _said(item: MemoryItem) -> Said:
    return Said(item.content, item.polarity is Polarity.DONT, item.source is Source.USER)
