"""The extractor that needs no model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from memoryd.daydream.heuristic.candidates import candidate
from memoryd.daydream.heuristic.episodes import Episode, episodes
from memoryd.daydream.heuristic.explicit import is_correction, is_rule, names_cause
from memoryd.daydream.heuristic.refuted import refuted
from memoryd.daydream.heuristic.score import DEFAULT, Weights
from memoryd.daydream.heuristic.select import Limits, Scored, choose, limits_for
from memoryd.daydream.heuristic.skipped import Skipped
from memoryd.daydream.heuristic.unfit import unfit
from memoryd.daydream.heuristic.units import Unit, agent_units, user_units
from memoryd.text import keywords
from memoryd.types import Extraction, Passage

# Log odds for what is worded so plainly: set beforehand, too rare in the labelled logs to be fitted.
PLAIN = 1.0


class HeuristicExtractor:
    """Cue words, weighed (protocols.Extractor). Deterministic, offline, without state.

    Looks only at what the user and the assistant say; tool output is never read for candidates.
    """

    def __init__(self, weights: Weights = DEFAULT, limits: Limits | None = None) -> None:
        self._weights = weights
        self._limits = limits

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
        given = [frozenset(keywords(text)) for text in passage.given]
        kept = choose(scored, passage.turns, self._limits or limits_for(parts), skipped, given)
        found = tuple(candidate(one, self._weights) for one in kept)
        return Extraction(found, MappingProxyType(skipped.counts), self.name, refused=skipped.nearest())

    def _scored(self, unit: Unit) -> Scored:
        plain = unit.by_user and not unit.pasted
        score = self._weights.of(unit) + (PLAIN if _is_plain(unit) else 0.0)
        return Scored(unit, score, plain and (is_rule(unit.text) or is_correction(unit.text)))


def _is_plain(unit: Unit) -> bool:
    """A cause that the assistant labels as such, or an option that the user chose."""
    return unit.turn.via == "answer" and ": " in unit.turn.text if unit.by_user else names_cause(unit.text)


def passage_units(parts: Iterable[Episode], skipped: Skipped) -> Iterator[Unit]:
    """The units that may be kept, in order; notes in `skipped` why others may not."""
    for part in parts:
        for unit in (*user_units(part), *agent_units(part)):
            reason = unfit(unit)
            if reason:
                skipped.add(unit, reason)
            else:
                yield unit
