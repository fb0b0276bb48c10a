"""Ranking by late interaction: a weighted sum of z-scores and binary features.

The weights in `late.json` are fitted by benchmarks/fit_ranking.py. Turns of stored conversations have their own weights,
because a turn means little without its neighbours while a statement is self-contained.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import numpy as np
import orjson
from numpy.typing import NDArray

from memoryd.core.errors import ConfigError
from memoryd.core.text import keywords
from memoryd.core.types import USER_TAG, MemoryItem, Query, Status
from memoryd.language.entities import find_entities
from memoryd.language.times import Span, asks_when, is_open, names_time, within
from memoryd.retrieval.scoring import SMALLEST_SPREAD, ZERO_WHEN_MISSING, asked_kinds

WEIGHTS_FILE = Path(__file__).with_name("late.json")
FORMAT = 1
# These features are z-scored over the candidates. All others are binary.
SIMILARITIES = ("own", "pair", "around", "session")
Z_FEATURES = (*SIMILARITIES, "cosine", "bm25", "coverage")
_Z = frozenset(Z_FEATURES)
FEATURES = (*Z_FEATURES, "speaker", "date", "when", "question", "answer", "short", "user", "entity", "kind", "past")
SHORT_WORDS = 12
TRAITS_KEPT = 6_000
# Date feature of a turn if the span is open at one end, and of a statement that was valid in the span but began before it.
OPEN_SHARE = 0.25
HELD_SHARE = 1 / 3
# Share of the previous turn's words that count for a turn, and the value for a speaker mentioned after another one:
# "What did Jo tell Maya?" asks for Jo's turns.
BEFORE_SHARE = 0.5
LATER_NAMED = 0.7
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
# Matches queries about something the assistant said.
_ASKS_ASSISTANT = re.compile(
    r"\byou(?:'ve|'d|\s+have|\s+had)?\s+(?:just\s+|also\s+|previously\s+)?(?:said|told|suggested|recommended|advised|proposed|mentioned"
    r"|explained|described|gave|provided|listed|shared|showed|wrote|made|created)\b",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"(?P<name>\w[\w .'-]{0,40}?):\s")
Row = Mapping[str, float]
FloatArray = NDArray[np.float64]
Matches = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LateWeights:
    """Weight of each feature for turns and for statements. Missing weights are 0."""

    version: str
    turn: Mapping[str, float]
    statement: Mapping[str, float]

    def uses(self, name: str) -> bool:
        """Return whether the feature has a non-zero weight."""
        return bool(self.turn.get(name) or self.statement.get(name))


@dataclass(frozen=True, slots=True)
class QueryTime:
    """Temporal aspects of a query.

    Attributes:
        span: Time span given in the query.
        past: Whether it asks for a former state.
        successors: The successor of each superseded statement.
    """

    span: Span | None = None
    past: bool = False
    successors: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


NO_TIME = QueryTime()


def load_late_weights(path: Path = WEIGHTS_FILE) -> LateWeights:
    """Load the late-interaction weights from their file.

    Raises:
        ConfigError: The file is missing, or has another format or unknown features.
    """
    try:
        raw = orjson.loads(path.read_bytes())
        if raw["format"] != FORMAT:
            raise ValueError(f"format {raw['format']} instead of {FORMAT}")
        sets = [{str(name): float(value) for name, value in raw[group].items()} for group in ("turn", "statement")]
        if unknown := sorted({name for group in sets for name in group} - set(FEATURES)):
            raise ValueError(f"no feature is called {unknown[0]}")
        return LateWeights(str(raw["version"]), MappingProxyType(sets[0]), MappingProxyType(sets[1]))
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} is not a file of ranking weights: {error}", fix="Reinstall memoryd.") from error


def late_features(
    query: Query,
    items: Mapping[str, MemoryItem],
    signals: Mapping[str, Row],
    matches: Mapping[str, Matches],
    neighbours: Mapping[str, tuple[str, str]],
    time: QueryTime = NO_TIME,
) -> dict[str, dict[str, float]]:
    """Compute the features of each item, by id.

    own: MaxSim of the item. pair, around, session: MaxSim of the item merged with its predecessor, with both
    neighbours, with all candidates of its session (for statements, the item alone). bm25: for a turn, plus half its
    predecessor's. answer: the previous turn asks a question. speaker: the query mentions the speaker, first (1) or
    after another (0.7). date: it began in the requested time (1) or was valid then (1/3), times the share of
    candidates for which this is not true, because a long span is less informative. user: written by the user of a
    chat, unless the query asks what the assistant said. question: share of questions in an assistant's turn (a user's
    questions are informative about the user). past: superseded, and the query asks about the past. Such a statement
    also matches through its successor.

    Args:
        query: The query.
        items: Candidates by id.
        signals: Signals by id.
        matches: Contribution of each query token by id, including neighbours that are not candidates.
        neighbours: Ids of the previous and next items.
        time: Temporal aspects of the query.
    """
    traits = _QueryTraits(query, time)
    sessions = _by_session(items, matches)
    out = {}
    for id, item in items.items():
        row = traits.of(item)
        row |= {name: value for name, value in signals[id].items() if name in _Z}
        before, after = neighbours.get(id, ("", ""))
        if before and (words := signals.get(before, {}).get("bm25")):
            row["bm25"] = row.get("bm25", 0.0) + BEFORE_SHARE * words
        if before in items and items[before].content.rstrip().endswith("?"):
            row["answer"] = 1.0
        if id in matches:
            near = tuple(matches[other] for other in (before, after) if other in matches)
            session = sessions[item.project, item.session] if item.is_turn else None
            old = matches.get(time.successors.get(id, ""))
            row |= _similarities(matches[id] if old is None else np.maximum(matches[id], old), before in matches, near, session)
        out[id] = row
    _compare_speakers(out, traits.places)
    _compare_dates(out)
    return out


def _compare_speakers(rows: Mapping[str, dict[str, float]], places: Mapping[str, int]) -> None:
    """Lower the weight of a speaker mentioned after another candidate's speaker."""
    first = min(places.values(), default=0)
    for id, place in places.items():
        rows[id]["speaker"] = 1.0 if place == first else LATER_NAMED


def _compare_dates(rows: Mapping[str, dict[str, float]]) -> None:
    """Scale the date feature by the share of candidates outside the requested time."""
    dated = [row for row in rows.values() if row.get("date")]
    for row in dated:
        row["date"] *= 1.0 - len(dated) / len(rows)


def _similarities(own: Matches, after: bool, near: Sequence[Matches], session: Matches | None) -> dict[str, float]:
    """Return MaxSim of the item alone, with its neighbours (the first one precedes it if `after`), and with its session."""
    alone = _total(own)
    if session is None and not near:
        return dict.fromkeys(SIMILARITIES, alone)
    pair = np.maximum(own, near[0]) if after else own
    around = np.maximum(pair, near[-1]) if near else own
    whole = alone if session is None else _total(session)
    return {"own": alone, "pair": _total(pair), "around": _total(around), "session": whole}


def _total(match: Matches) -> float:
    return math.fsum(match.tolist())  # About a dozen numbers. numpy's sum takes three times as long.


def _by_session(items: Mapping[str, MemoryItem], matches: Mapping[str, Matches]) -> dict[tuple[str, str], Matches]:
    """Return the best match of each query token among the candidates of each session."""
    out: dict[tuple[str, str], Matches] = {}
    for id, item in items.items():
        if id in matches and item.is_turn:
            key = (item.project, item.session)
            out[key] = np.maximum(out[key], matches[id]) if key in out else matches[id]
    return out


class _QueryTraits:
    """The features of a query that don't depend on matching words."""

    def __init__(self, query: Query, time: QueryTime) -> None:
        self._names = {word: place for place, word in enumerate(keywords(query.text))}
        self.places: dict[str, int] = {}
        self._entities = frozenset(name.casefold() for name in find_entities(query.text))
        self._kinds = asked_kinds(query.text)
        self._time = time
        self._when = asks_when(query.text)
        self._asks_assistant = _ASKS_ASSISTANT.search(query.text) is not None

    def of(self, item: MemoryItem) -> dict[str, float]:
        """Return the features that apply to the item (1, or a share), and record where the query mentions the item's speaker."""
        speaker, short, asks = _traits(item.content)
        if named := [self._names[word] for word in speaker if word in self._names]:
            self.places[item.id] = min(named)
        holds = (
            ("past", self._time.past and item.status is Status.SUPERSEDED),
            ("when", self._when and names_time(item.content)),
            ("short", short),
            ("user", USER_TAG in item.tags and not self._asks_assistant),
            ("kind", item.kind in self._kinds),
        )
        out = {name: 1.0 for name, value in holds if value}
        if asks and USER_TAG not in item.tags:
            out["question"] = question_share(item.content)
        if self._time.span is not None:
            out["date"] = self._dated(item, self._time.span)
        if self._entities:
            content = item.content.casefold()
            out["entity"] = sum(name in content for name in self._entities) / len(self._entities)
        return out

    def _dated(self, item: MemoryItem, span: Span) -> float:
        start = item.valid_from or item.created_at
        share = OPEN_SHARE if is_open(span) and item.is_turn else 1.0
        if within(span, start):
            return share
        return HELD_SHARE * share if item.valid_to is not None and within(span, start, item.valid_to) else 0.0


@lru_cache(maxsize=TRAITS_KEPT)  # Queries within a project mostly share their candidates.
def _traits(text: str) -> tuple[tuple[str, ...], bool, bool]:
    """Return the words in the speaker's name, whether the text is short, and whether it contains a question mark."""
    speaker = _SPEAKER.match(text)
    return tuple(keywords(speaker["name"])) if speaker else (), len(text.split()) <= SHORT_WORDS, "?" in text


def question_share(text: str) -> float:
    """Return the share, from 0 to 1, of a text's words in sentences that end with a question mark."""
    words = [(len(sentence.split()), sentence.rstrip().endswith("?")) for sentence in _SENTENCE_END.split(text)]
    return sum(count for count, asks in words if asks) / max(1, sum(count for count, _ in words))


def late_scores(rows: Mapping[str, Row], turns: frozenset[str], weights: LateWeights) -> dict[str, float]:
    """Return a score around 0 for each candidate.

    `rows` contains the features by id, `turns` the ids of turns. Sums are divided by the total weight of the
    z-scores, which makes turns and statements comparable.
    """
    ids = sorted(rows)
    groups = [(weights.turn, turns.intersection(ids)), (weights.statement, rows.keys() - turns)]
    used = [name for name in FEATURES if any(group.get(name) for group, members in groups if members)]
    z = [name for name in Z_FEATURES if name in used or name == "bm25"]
    names = [*z, *(name for name in used if name not in Z_FEATURES)]
    values = np.array([[rows[id].get(name, np.nan) for name in names] for id in ids], dtype=float).reshape(len(ids), -1)
    values[:, : len(z)] = _standardised(values[:, : len(z)], z)
    values[:, len(z) :] = np.nan_to_num(values[:, len(z) :])
    by_turn, by_statement = (values @ _normalised(group, names) for group, _ in groups)
    scores = np.where([id in turns for id in ids], by_turn, by_statement)
    return dict(zip(ids, scores.tolist(), strict=True))


def _normalised(weights: Mapping[str, float], names: Sequence[str]) -> FloatArray:
    whole = math.fsum(abs(weights.get(name, 0.0)) for name in Z_FEATURES) or 1.0
    return np.array([weights.get(name, 0.0) / whole for name in names])


def _standardised(values: FloatArray, names: Sequence[str]) -> FloatArray:
    """Z-score each column. Missing values are handled as in `scoring.fuse`. A column without values becomes 0.

    A candidate without token vectors, for example one just written, is ranked by its `bm25` instead.
    """
    out = np.zeros_like(values)
    for column, name in enumerate(names):
        present = values[np.isfinite(values[:, column]), column]
        if len(present):
            missing = 0.0 if name in ZERO_WHEN_MISSING else present.min()
            filled = np.where(np.isfinite(values[:, column]), values[:, column], missing)
            spread = filled.std()
            out[:, column] = (filled - filled.mean()) / spread if spread > SMALLEST_SPREAD * np.abs(filled).max() else 0.0
    similar = np.array([name in SIMILARITIES for name in names])
    return np.where(np.isnan(values) & similar, out[:, [names.index("bm25")]], out)


def word_weight(documents: int, frequency: int) -> float:
    """Return the weight of a query word in MaxSim: log((N + 1) / (df + 1)) ^ ½.

    It is 0 for a word that occurs in all N documents.
    """
    return math.sqrt(max(0.0, math.log((documents + 1) / (min(frequency, documents) + 1))))
