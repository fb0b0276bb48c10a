"""The order of candidates by late interaction: one weighted sum of z-scores and of what holds for a candidate.

The weights lie in `late.json`, fitted by benchmarks/fit_ranking.py. Turns of stored conversations have other ones
than statements: a turn means little without its neighbours, a statement stands for itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

import orjson

from memoryd.entities import find_entities
from memoryd.errors import ConfigError
from memoryd.router.fusion import Fused, z_scores
from memoryd.router.score import asked_kinds
from memoryd.router.times import asked_span, asks_when, names_time
from memoryd.text import keywords
from memoryd.types import Kind, MemoryItem, Query, Source

WEIGHTS_FILE = Path(__file__).with_name("late.json")
FORMAT = 1
# Compared over the candidates; the other features hold or don't.
Z_FEATURES = ("own", "pair", "around", "session", "cosine", "bm25", "coverage")
FEATURES = (*Z_FEATURES, "speaker", "date", "when", "question", "short", "entity", "kind")
SHORT_WORDS = 12
_SPEAKER = re.compile(r"(?P<name>\w[\w .'-]{0,40}?):\s")
Row = Mapping[str, float]


def is_turn(item: MemoryItem) -> bool:
    """Whether the memory is something that was said in a conversation, stored as it was said."""
    return item.kind is Kind.NOTE and item.source is Source.IMPORT and bool(item.evidence.lines) and item.session != "manual"


@dataclass(frozen=True, slots=True)
class LateWeights:
    """Weight of each feature for turns and for statements; a feature without one says nothing."""

    version: str
    turn: Mapping[str, float]
    statement: Mapping[str, float]


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
    now: datetime,
    items: Mapping[str, MemoryItem],
    signals: Mapping[str, Row],
    similarity: Row,
    neighbours: Mapping[str, tuple[str, str]],
) -> dict[str, dict[str, float]]:
    """Features of each item by its id.

    `similarity` is MaxSim by id, also of neighbours that are no candidates. own: the item's; pair, around: the best of it
    and its predecessor, both neighbours; session: the best of the candidates of its session (its own for statements).
    """
    asked = _Asked(query, now)
    best: dict[tuple[str, str], float] = {}
    for id, item in items.items():
        key = (item.project, item.session)
        best[key] = max(best.get(key, -math.inf), similarity.get(id, -math.inf))
    out = {}
    for id, item in items.items():
        row = dict(asked.of(item))
        row.update({name: value for name, value in signals[id].items() if name in Z_FEATURES})
        if id in similarity:
            before, after = (similarity.get(other, -math.inf) for other in neighbours.get(id, ("", "")))
            own = similarity[id]
            row |= {"own": own, "pair": max(own, before), "around": max(own, before, after)}
            row["session"] = best[item.project, item.session] if is_turn(item) else own
        out[id] = row
    return out


class _Asked:
    """What a query asks for beside its words."""

    def __init__(self, query: Query, now: datetime) -> None:
        self._names = frozenset(keywords(query.text))
        self._entities = frozenset(name.casefold() for name in find_entities(query.text))
        self._kinds = asked_kinds(query.text)
        self._span = asked_span(query.text, now)
        self._when = asks_when(query.text)

    def of(self, item: MemoryItem) -> dict[str, float]:
        """The features that hold for the item, as 1 (entity: the share of the query's names)."""
        speaker = _SPEAKER.match(item.content)
        at = item.valid_from or item.created_at
        holds = {
            "speaker": speaker is not None and bool(self._names.intersection(keywords(speaker["name"]))),
            "date": self._span is not None and self._span[0] <= at < self._span[1],
            "when": self._when and names_time(item.content),
            "question": item.content.rstrip().endswith("?"),
            "short": len(item.content.split()) <= SHORT_WORDS,
            "kind": item.kind in self._kinds,
        }
        out = {name: 1.0 for name, value in holds.items() if value}
        if self._entities:
            content = item.content.casefold()
            out["entity"] = sum(name in content for name in self._entities) / len(self._entities)
        return out


def late_order(rows: Mapping[str, Row], turns: frozenset[str], weights: LateWeights) -> list[Fused]:
    """Candidates best first. `rows` are features by id, `turns` the ids of those that are turns.

    The sum is divided by that of the z-scores' weights, so that turns and statements can be compared.
    """
    ids = sorted(rows)
    columns = {name: z_scores(rows, ids, name) for name in Z_FEATURES}
    out = []
    for position, id in enumerate(ids):
        chosen = weights.turn if id in turns else weights.statement
        parts = {name: chosen.get(name, 0.0) * column[position] for name, column in columns.items() if column}
        parts |= {name: chosen.get(name, 0.0) * value for name, value in rows[id].items() if name not in columns}
        whole = sum(abs(chosen.get(name, 0.0)) for name in columns) or 1.0
        parts = {name: value / whole for name, value in parts.items() if value}
        out.append(Fused(id, math.fsum(parts.values()), MappingProxyType(parts)))
    return sorted(out, key=lambda fused: (-fused.score, fused.id))


def word_weight(documents: int, frequency: int) -> float:
    """What a query word counts in MaxSim: log((N + 1) / (df + 1)) ^ ½, 0 for a word of all N documents."""
    return math.sqrt(max(0.0, math.log((documents + 1) / (min(frequency, documents) + 1))))
