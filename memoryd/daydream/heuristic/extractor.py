"""The extractor that needs no model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from types import MappingProxyType

from memoryd.daydream.heuristic.candidates import candidate
from memoryd.daydream.heuristic.episodes import Episode, episodes
from memoryd.daydream.heuristic.explicit import is_correction, is_rule, names_cause
from memoryd.daydream.heuristic.refuted import refuted
from memoryd.daydream.heuristic.score import DEFAULT, Weights
from memoryd.daydream.heuristic.select import Limits, Scored, choose
from memoryd.daydream.heuristic.skipped import Skipped
from memoryd.daydream.heuristic.unfit import unfit
from memoryd.daydream.heuristic.units import Unit, agent_units, user_units
from memoryd.text import keywords
from memoryd.types import Candidate, Extraction, Passage

# Log odds for what is worded so plainly: set beforehand, too rare in the labelled logs to be fitted.
PLAIN = 1.0


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
        """Candidates in the order of their evidence; an empty passage gives none.

        A passage in which the user speaks often is judged as if each answer had been read when it ended, but for what
        was refuted since: so a log gives the same at once as while its session goes on.
        """
        skipped = Skipped()
        parts = episodes(passage.turns, passage.context)
        units = [list(passage_units([part], skipped)) for part in parts]
        flat = [unit for group in units for unit in group]
        wrong = {id(flat[index]) for index in refuted(flat, parts)}
        given = [frozenset(keywords(text)) for text in passage.given]
        kept: list[Scored] = []
        last = 0
        for part, group in zip(parts, units, strict=True):
            scored = [self._scored(unit) for unit in _standing(group, wrong, skipped)]
            last = part.last_line or last + len(part.user) + len(part.rest)
            kept += choose(scored, last, self._limits, skipped, [*given, *(one.unit.words for one in kept)])
        found: dict[str, Candidate] = {}
        for one in kept:
            said = candidate(one, self._weights)
            found.setdefault(said.content, said)  # a rule that is said again
        return Extraction(tuple(found.values()), MappingProxyType(skipped.counts), self.name, refused=skipped.nearest())

    def _scored(self, unit: Unit) -> Scored:
        plain = unit.by_user and not unit.pasted
        score = self._weights.of(unit) + (PLAIN if _is_plain(unit) else 0.0)
        return Scored(unit, score, plain and (is_rule(unit.text) or is_correction(unit.text)))


def _is_plain(unit: Unit) -> bool:
    """A cause that the assistant labels as such, or an option that the user chose."""
    return unit.turn.via == "answer" and ": " in unit.turn.text if unit.by_user else names_cause(unit.text)


def _standing(units: Iterable[Unit], wrong: Collection[int], skipped: Skipped) -> Iterator[Unit]:
    """The units that were not refuted; `wrong` holds the identities of those that were."""
    for unit in units:
        if id(unit) in wrong:
            skipped.add(unit, "refuted")
        else:
            yield unit


def passage_units(parts: Iterable[Episode], skipped: Skipped) -> Iterator[Unit]:
    """The units that may be kept, in order; notes in `skipped` why others may not."""
    for part in parts:
        for unit in (*user_units(part), *agent_units(part)):
            reason = unfit(unit)
            if reason:
                skipped.add(unit, reason)
            else:
                yield unit
