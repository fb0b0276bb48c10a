"""The extractor that needs no model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from memoryd.daydream.heuristic.candidates import candidate
from memoryd.daydream.heuristic.episodes import Episode, episodes
from memoryd.daydream.heuristic.explicit import is_correction, is_farewell, is_rule, names_cause, quotes_a_rule
from memoryd.daydream.heuristic.refuted import refuted
from memoryd.daydream.heuristic.score import DEFAULT, Weights
from memoryd.daydream.heuristic.select import Limits, Scored, choose
from memoryd.daydream.heuristic.sentences import size
from memoryd.daydream.heuristic.skipped import Skipped
from memoryd.daydream.heuristic.units import Unit, agent_units, user_units
from memoryd.daydream.secret_rules import MARK
from memoryd.types import Extraction, Passage

MIN_WORDS, MAX_WORDS = 4, 60
# Log odds for a cause that the assistant labels as such: set beforehand, too rare in the labelled logs to be fitted.
LABELLED = 1.0
# With one of these a question of the user says what is wanted ("why not X instead of Y?").
_TELLING = frozenset({"agreed", "norm", "alternative", "wish", "prohibition", "standing rule", "via answer", "condition"})


class HeuristicExtractor:
    """Cue words, weighed (protocols.Extractor). Deterministic, offline, without state.

    Looks only at what the user and the assistant say; tool output is never read for candidates.
    """

    def __init__(self, weights: Weights = DEFAULT, limits: Limits | None = None) -> None:
        self._weights = weights
        self._limits = limits or Limits()

    @property
    def name(self) -> str:
        """The extractor is called `heuristic`."""
        return "heuristic"

    def extract(self, passage: Passage) -> Extraction:
        """Candidates in the order of their evidence; an empty passage gives none."""
        skipped = Skipped()
        parts = episodes(passage.turns, passage.context)
        units = list(passage_units(parts, skipped))
        wrong = refuted(units, parts)
        for index in sorted(wrong):
            skipped.add(units[index], "refuted")
        scored = [self._scored(unit) for index, unit in enumerate(units) if index not in wrong]
        kept = choose(scored, passage.turns, self._limits, skipped)
        found = tuple(candidate(one, self._weights) for one in kept)
        return Extraction(found, MappingProxyType(skipped.counts), self.name, refused=skipped.nearest())

    def _scored(self, unit: Unit) -> Scored:
        plain = unit.by_user and not unit.pasted
        score = self._weights.of(unit) + (LABELLED if not unit.by_user and names_cause(unit.text) else 0.0)
        return Scored(unit, score, plain and (is_rule(unit.text) or is_correction(unit.text)))


def passage_units(parts: Iterable[Episode], skipped: Skipped) -> Iterator[Unit]:
    """The units that may be kept, in order; notes in `skipped` why others may not."""
    for part in parts:
        for unit in (*user_units(part), *agent_units(part)):
            reason = _unfit(unit)
            if reason:
                skipped.add(unit, reason)
            else:
                yield unit


def _unfit(unit: Unit) -> str:
    """Why a unit can't be a memory whatever else speaks for it, or empty."""
    if MARK in unit.text:
        return "held a secret"
    if unit.by_user and quotes_a_rule(unit.text):
        return "quote"
    if unit.by_user and not unit.pasted and is_rule(unit.text):
        return ""
    if not MIN_WORDS <= size(unit.text) <= MAX_WORDS:
        return "length"
    return _unfit_user(unit) if unit.by_user else _unfit_agent(unit)


def _unfit_user(unit: Unit) -> str:
    """Pasted terminal text, the assistant quoted, and the task with which a session opens."""
    if is_farewell(unit.text):
        return "farewell"
    for name in ("terminal", "quote", "for this task"):
        if f"noise {name}" in unit.cues:
            return name
    if "noise question" in unit.cues and not unit.cues & _TELLING:
        return "question"
    asks = unit.cues & {"noise request", "noise task", "noise question"}
    task = "first message" in unit.cues and asks and not unit.cues & {"prohibition", "standing rule"}
    return "task" if task else ""


def _unfit_agent(unit: Unit) -> str:
    """Questions, promises, beginnings of lists, and what holds for the moment only (unless it says why)."""
    for name in ("question", "promise", "offer", "no subject"):
        if f"noise {name}" in unit.cues:
            return name
    if unit.text.endswith((":", "：")):
        return "unfinished"
    passing = "noise transient" in unit.cues and not unit.cues & {"root cause", "fix", "contrast"}
    return "transient" if passing else ""
