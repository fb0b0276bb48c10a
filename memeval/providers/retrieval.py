"""Building blocks of local search: passages, vectors, BM25, score combination, and times mentioned in questions."""

from __future__ import annotations

import calendar
import hashlib
import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memeval.core.errors import ConfigError, ProviderError
from memeval.core.text import content_stems, stems
from memeval.core.types import GRANULARITIES, Retrieved, Session, Turn

CONTEXT_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class RetrievalUnit:
    """A passage.

    `key` is the text to index, and `text` is the text to return. `order` is the passage's position in the scope, starting at 0.
    """

    key: str
    text: str
    session: str
    turns: tuple[str, ...]
    at: datetime | None
    order: int

    def retrieved(self, score: float) -> Retrieved:
        """Convert the passage to a search result."""
        return Retrieved(self.text, score, (self.session,), self.turns, self.at)


def cut(sessions: Iterable[Session], granularity: str) -> list[RetrievalUnit]:
    """Split sessions into passages in order. Empty passages are dropped. Raises ConfigError for an unknown granularity."""
    if granularity not in GRANULARITIES:
        raise ConfigError(f"There is no granularity {granularity!r}.", fix=f"Use one of {', '.join(GRANULARITIES)}.")
    groups = ((session, turns) for session in sessions for turns in _groups(session, granularity))
    filled = ((session, [turn for turn in turns if turn.text.strip()]) for session, turns in groups)
    return [_piece(session, turns, order) for order, (session, turns) in enumerate(pair for pair in filled if pair[1])]


def in_context(pieces: Iterable[RetrievalUnit], characters: int) -> list[RetrievalUnit]:
    """Add the end of the session's previous text to the key of each passage (key expansion)."""
    out: list[RetrievalUnit] = []
    last: RetrievalUnit | None = None
    for piece in pieces:
        if characters and last is not None and last.session == piece.session:
            out.append(replace(piece, key=f"{piece.key}\n(after: {last.key[-characters:]})"))
        else:
            out.append(piece)
        last = piece
    return out


def _groups(session: Session, granularity: str) -> Iterator[Sequence[Turn]]:
    if granularity == "session":
        yield session.turns
    elif granularity == "turn":
        yield from ((turn,) for turn in session.turns)
    else:
        yield from _rounds(session.turns)


def _rounds(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    current: list[Turn] = []
    for turn in turns:
        if turn.role == "user" and any(earlier.role != "user" for earlier in current):
            yield current
            current = []
        current.append(turn)
    if current:
        yield current


def _piece(session: Session, turns: Sequence[Turn], order: int) -> RetrievalUnit:
    at = turns[0].at or session.at
    return RetrievalUnit(
        "\n".join(map(key_of, turns)), render(turns, at), session.id, tuple(turn.id for turn in turns), at, order
    )


def key_of(turn: Turn) -> str:
    """Return the key of a turn.

    The key is the text of the turn, preceded by the speaker's name if known. The role would add no information.
    """
    return f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text


def render(turns: Sequence[Turn], at: datetime | None) -> str:
    """Format turns for a reader, with the date followed by `who: text` lines."""
    lines = [f"{turn.speaker or turn.role}: {turn.text.strip()}" for turn in turns]
    return "\n".join([f"[{at:%Y-%m-%d %H:%M}]", *lines] if at else lines)


Vectors = NDArray[np.float32]
BATCH = 64
MAX_KEYS = 500


class NamedEmbedder(Protocol):
    """An embedder with a name. It returns unit vectors as float32 of shape (n, dimensions)."""

    @property
    def name(self) -> str:
        """The name of the model, including everything else that affects the vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed documents."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Embed a query and return a vector of shape (dimensions,)."""
        ...


def _known(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the existing keys with their values."""
    out: dict[bytes, bytes] = {}
    for start in range(0, len(keys), MAX_KEYS):
        some = keys[start : start + MAX_KEYS]
        out |= db.execute(f"SELECT key, value FROM vector WHERE key IN ({','.join('?' * len(some))})", some)
    return out


class EmbeddingCache:
    """Caches vectors in a folder's `vectors.db` as half floats, which are precise enough to preserve ranks."""

    def __init__(self, folder: Path, embedder: NamedEmbedder) -> None:
        self._path = folder / "vectors.db"
        self._embedder = embedder

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text. Missing vectors are computed and stored batch by batch."""
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


Scores = NDArray[np.float64]
K1 = 1.2
B = 0.75
DECIMALS = 9


class Bm25:
    """BM25 (Robertson & Zaragoza 2009) over Porter stems, with Lucene's idf log(1 + (N - n + 0.5) / (n + 0.5)).

    Function words are removed from queries unless nothing else would remain.
    """

    def __init__(self, documents: Sequence[str], k1: float = K1, b: float = B) -> None:
        self._size = len(documents)
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        counts = [Counter(stems(text)) for text in documents]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / len(lengths) if sum(lengths) else 1.0
        for number, count in enumerate(counts):
            norm = k1 * (1 - b + b * lengths[number] / mean)
            for term, frequency in count.items():
                self._postings[term].append((number, frequency * (k1 + 1) / (frequency + norm)))

    def scores(self, query: str) -> Scores:
        """Return the score of each document, as an array of shape (documents,). A score is 0 if no word is shared."""
        out = np.zeros(self._size)
        for term, times in Counter(content_stems(query) or stems(query)).items():
            found = self._postings.get(term)
            if found:
                weight = times * math.log(1 + (self._size - len(found) + 0.5) / (len(found) + 0.5))
                for number, share in found:
                    out[number] += weight * share
        return out


def z_scores(values: Scores) -> Scores:
    """Standardise the values. If all values are equal, the result is all zeros."""
    spread = float(values.std()) if values.size else 0.0
    return np.zeros_like(values) if spread < 1e-12 else (values - values.mean()) / spread


def best(scores: Scores, k: int, least: float = -math.inf) -> list[tuple[int, float]]:
    """Return up to k (position, score) pairs with scores above `least`.

    They are sorted by descending score, with ties in order of position.
    """
    rounded = np.round(scores, DECIMALS)
    order = np.lexsort((np.arange(len(rounded)), -rounded))
    return [(int(number), float(rounded[number])) for number in order[: max(0, k)] if rounded[number] > least]


BONUS = 1.5
"""Bonus for a passage inside the range, in standard deviations of the scores."""
Range = tuple[datetime, datetime]

_MONTHS = {
    name.lower(): number for names in (calendar.month_name, calendar.month_abbr) for number, name in enumerate(names) if name
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b\.?,?(?: (\d{{4}}))?", re.I)
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?", re.I)
_ONLY_MONTH = re.compile(rf"\b(?:in|during|of|since|early|late|mid|last) ({_MONTH})\b\.?,?(?: (?:of )?(\d{{4}}))?", re.I)
_ONLY_YEAR = re.compile(r"\b(?:in|during|of) (\d{4})\b", re.I)
_NUMBERS = {
    word: number for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
}
_AGO = re.compile(rf"\b(\d{{1,3}}|an?|couple of|few|{'|'.join(_NUMBERS)}) (day|week|month|year)s? ago\b", re.I)
_LAST = re.compile(r"\b(last|past|previous|this) (week|weekend|month|year)\b", re.I)
_UNIT_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}


def asked_range(text: str, at: datetime | None) -> Range | None:
    """Return the start and end of the first time expression in the text, or None if none can be resolved."""
    return _named(text, at) or (_relative(text, at) if at else None)


def _named(text: str, at: datetime | None) -> Range | None:
    if match := _DAY_FIRST.search(text):
        return _day(match[3], match[2], match[1], at)
    if match := _MONTH_FIRST.search(text):
        return _day(match[3], match[1], match[2], at)
    if match := _ONLY_MONTH.search(text):
        year = _year(match[2], _MONTHS[match[1].lower()], at)
        return _month(year, _MONTHS[match[1].lower()]) if year else None
    if match := _ONLY_YEAR.search(text):
        return _span(int(match[1]), 1, 1, 366) if 1900 < int(match[1]) < 2200 else None
    return None


def _day(year: str | None, month: str, day: str, at: datetime | None) -> Range | None:
    number = _MONTHS[month.lower()]
    chosen = _year(year, number, at)
    if not chosen or not 1 <= int(day) <= calendar.monthrange(chosen, number)[1]:
        return None
    return _span(chosen, number, int(day), 1)


def _year(year: str | None, month: int, at: datetime | None) -> int:
    """Return the written year. Without one, return the year of the latest such month that has begun, or 0 if unknown."""
    if year:
        return int(year) if 1900 < int(year) < 2200 else 0
    return 0 if at is None else at.year if month <= at.month else at.year - 1


def _month(year: int, month: int) -> Range:
    return _span(year, month, 1, calendar.monthrange(year, month)[1])


def _span(year: int, month: int, day: int, days: int) -> Range:
    start = datetime(year, month, day)  # noqa: DTZ001 - compared with local times of the data
    return start, start + timedelta(days=days)


def _relative(text: str, at: datetime) -> Range | None:
    now = at.replace(tzinfo=None)
    lowered = text.lower()
    for word, days in (("day before yesterday", 2), ("yesterday", 1), ("today", 0)):
        if word in lowered:
            start = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)
            return start, start + timedelta(days=1)
    if match := _AGO.search(text):
        unit = _UNIT_DAYS[match[2].lower()]
        days = _count(match[1].lower()) * unit
        margin = timedelta(days=1 + days * 0.2)
        return now - timedelta(days=days) - margin, now - timedelta(days=days) + margin
    if match := _LAST.search(text):
        back = _UNIT_DAYS[match[2].lower()] * (1 if match[1].lower() in ("past", "this") else 2)
        return now - timedelta(days=back), now
    return None


def _count(word: str) -> int:
    if word.isdigit():
        return int(word)
    return {"a": 1, "an": 1, "couple of": 2, "few": 3}.get(word) or _NUMBERS.get(word, 1)


def with_times(scores: Scores, pieces: Sequence[RetrievalUnit], text: str, at: datetime | None) -> Scores:
    """Add a bonus to passages from the time mentioned in the question. Without one, scores are unchanged."""
    asked = asked_range(text, at)
    if asked is None or not len(scores):
        return scores
    inside = [piece.at is not None and asked[0] <= piece.at.replace(tzinfo=None) < asked[1] for piece in pieces]
    spread = float(scores.std()) or 1.0
    return scores + BONUS * spread * np.asarray(inside, dtype=np.float64)
