"""The order of candidates by late interaction: one weighted sum of z-scores and of what holds for a candidate.

The weights lie in `late.json`, fitted by benchmarks/fit_ranking.py. Turns of stored conversations have other ones
than statements: a turn means little without its neighbours, a statement stands for itself.
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
# Compared over the candidates; the other features hold or don't.
SIMILARITIES = ("own", "pair", "around", "session")
Z_FEATURES = (*SIMILARITIES, "cosine", "bm25", "coverage")
_Z = frozenset(Z_FEATURES)
FEATURES = (*Z_FEATURES, "speaker", "date", "when", "question", "answer", "short", "user", "entity", "kind", "past")
SHORT_WORDS = 12
TRAITS_KEPT = 6_000
# What a turn's date counts when the span has but one end, and when a statement only held in it but began before.
OPEN_SHARE = 0.25
HELD_SHARE = 1 / 3
# What words of the turn before count for a turn, and being named after another speaker: "What did Jo tell Maya?" asks for Jo's.
BEFORE_SHARE = 0.5
LATER_NAMED = 0.7
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
# Asks for what the assistant said.
_TOLD = re.compile(
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
    """Weight of each feature for turns and for statements; a feature without one says nothing."""

    version: str
    turn: Mapping[str, float]
    statement: Mapping[str, float]

    def uses(self, name: str) -> bool:
        """Whether the feature counts anything."""
        return bool(self.turn.get(name) or self.statement.get(name))


@dataclass(frozen=True, slots=True)
class AskedTime:
    """What a query says of time: the span it names; whether it asks how things were; what each old statement gave way to."""

    span: Span | None = None
    past: bool = False
    successors: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


NO_TIME = AskedTime()


def load_late_weights(path: Path = WEIGHTS_FILE) -> LateWeights:
    """The weights in the file. Raises ConfigError when it is missing, of another format or knows other features."""
    try:
        raw = orjson.loads(path.read_bytes())
        if raw["format"] != FORMAT:
            raise ValueError(f"format {raw['format']} instead of {FORMAT}")
        sets = [{str(name): float(value) for name, value in raw[group].items()} for group in ("turn", "statement")]
        if unknown := sorted({name for group in sets for name in group} - set(FEATURES)):
            raise ValueError(f"no feature is called {unknown[0]}")
        return LateWeights(str(raw["version"]), MappingProxyType(sets[0]), MappingProxyType(sets[1]))
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} holds no ranking weights: {error}", fix="Install memoryd again.") from error


def late_features(
    query: Query,
    items: Mapping[str, MemoryItem],
    signals: Mapping[str, Row],
    matches: Mapping[str, Matches],
    neighbours: Mapping[str, tuple[str, str]],
    time: AskedTime = NO_TIME,
) -> dict[str, dict[str, float]]:
    """Features of each item by its id.

    `matches` is what each token of the query finds, by id, also of neighbours that are no candidates. own: the item's MaxSim;
    pair, around, session: that of it with its predecessor, with both neighbours, with all candidates of its session, as if
    they were one text (a statement stands for itself). bm25: for a turn with half of what its predecessor has. answer: a turn
    whose predecessor asks. speaker: the query names who speaks, first of all or (0.7) after another. date: it began in the time
    that is asked for, or (a third) held then, times the share of the candidates of which that is not true: a long time
    tells little. user: said by the user of a chat, unless the query asks what the assistant told; a user's questions tell of
    them, too, so those don't count as such. past: it no longer holds and the query asks how things were; such a statement is
    found by what has replaced it, too.
    """
    asked = _Asked(query, time)
    sessions = _by_session(items, matches)
    out = {}
    for id, item in items.items():
        row = asked.of(item)
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
    _compare_speakers(out, asked.places)
    _compare_dates(out)
    return out


def _compare_speakers(rows: Mapping[str, dict[str, float]], places: Mapping[str, int]) -> None:
    """Let being named count less where another speaker among the candidates is named before; `places` in the query, by id."""
    first = min(places.values(), default=0)
    for id, place in places.items():
        rows[id]["speaker"] = 1.0 if place == first else LATER_NAMED


def _compare_dates(rows: Mapping[str, dict[str, float]]) -> None:
    """Let a date count by the share of the candidates that are not of the time."""
    dated = [row for row in rows.values() if row.get("date")]
    for row in dated:
        row["date"] *= 1.0 - len(dated) / len(rows)


def _similarities(own: Matches, after: bool, near: Sequence[Matches], session: Matches | None) -> dict[str, float]:
    """The item's MaxSim and those with its neighbours (the first said before it, if `after`) and with its session."""
    alone = _total(own)
    if session is None and not near:
        return dict.fromkeys(SIMILARITIES, alone)
    pair = np.maximum(own, near[0]) if after else own
    around = np.maximum(pair, near[-1]) if near else own
    whole = alone if session is None else _total(session)
    return {"own": alone, "pair": _total(pair), "around": _total(around), "session": whole}


def _total(match: Matches) -> float:
    return math.fsum(match.tolist())  # of a dozen numbers; an array's own sum takes three times as long


def _by_session(items: Mapping[str, MemoryItem], matches: Mapping[str, Matches]) -> dict[tuple[str, str], Matches]:
    """The best that each token finds in any candidate of the session."""
    out: dict[tuple[str, str], Matches] = {}
    for id, item in items.items():
        if id in matches and item.is_turn:
            key = (item.project, item.session)
            out[key] = np.maximum(out[key], matches[id]) if key in out else matches[id]
    return out


class _Asked:
    """What a query asks for beside its words."""

    def __init__(self, query: Query, time: AskedTime) -> None:
        self._names = {word: place for place, word in enumerate(keywords(query.text))}
        self.places: dict[str, int] = {}
        self._entities = frozenset(name.casefold() for name in find_entities(query.text))
        self._kinds = asked_kinds(query.text)
        self._time = time
        self._when = asks_when(query.text)
        self._told = _TOLD.search(query.text) is not None

    def of(self, item: MemoryItem) -> dict[str, float]:
        """The features that hold for the item, as 1 (entity: the share of the query's names). Notes its speaker's place."""
        speaker, short, asks = _traits(item.content)
        if named := [self._names[word] for word in speaker if word in self._names]:
            self.places[item.id] = min(named)
        holds = (
            ("past", self._time.past and item.status is Status.SUPERSEDED),
            ("when", self._when and names_time(item.content)),
            ("short", short),
            ("user", USER_TAG in item.tags and not self._told),
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


@lru_cache(maxsize=TRAITS_KEPT)  # the candidates of a project's questions are mostly the same
def _traits(text: str) -> tuple[tuple[str, ...], bool, bool]:
    """The words of the speaker's name; whether the text has at most a dozen words; whether a question mark."""
    speaker = _SPEAKER.match(text)
    return tuple(keywords(speaker["name"])) if speaker else (), len(text.split()) <= SHORT_WORDS, "?" in text


def question_share(text: str) -> float:
    """Share of a text's words, 0..1, that stand in sentences which end with a question mark."""
    words = [(len(sentence.split()), sentence.rstrip().endswith("?")) for sentence in _SENTENCE_END.split(text)]
    return sum(count for count, asks in words if asks) / max(1, sum(count for count, _ in words))


def late_scores(rows: Mapping[str, Row], turns: frozenset[str], weights: LateWeights) -> dict[str, float]:
    """Score of each candidate, around 0. `rows` are features by id, `turns` the ids of those that are turns.

    The sum is divided by that of the z-scores' weights, so that turns and statements can be compared.
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
    """Z-scores of each column, `bm25` among them; what is missing counts as in `fusion.fuse`, a column that nobody has as 0.

    A candidate without token vectors, one that was written a moment ago, stands where its words place it.
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
    """What a query word counts in MaxSim: log((N + 1) / (df + 1)) ^ ½, 0 for a word of all N documents."""
    return math.sqrt(max(0.0, math.log((documents + 1) / (min(frequency, documents) + 1))))
