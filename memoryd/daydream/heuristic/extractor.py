"""The extractor that needs no model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from memoryd.daydream.heuristic.candidates import candidate
from memoryd.daydream.heuristic.episodes import Episode, episodes
from memoryd.daydream.heuristic.explicit import asks, is_correction, is_farewell, is_rule, names_cause, quotes_a_rule
from memoryd.daydream.heuristic.refuted import refuted
from memoryd.daydream.heuristic.score import DEFAULT, Weights
from memoryd.daydream.heuristic.select import Limits, Scored, choose, limits_for
from memoryd.daydream.heuristic.sentences import size
from memoryd.daydream.heuristic.skipped import Skipped
from memoryd.daydream.heuristic.units import Unit, agent_units, user_units
from memoryd.daydream.secret_rules import MARK
from memoryd.text import keywords
from memoryd.types import Extraction, Passage

MIN_WORDS, MAX_WORDS = 4, 60
# Log odds for what is worded so plainly: set beforehand, too rare in the labelled logs to be fitted.
PLAIN = 1.0
# Words for what is wanted.
_WANTS = frozenset({"wish", "norm", "prohibition", "standing rule", "alternative", "proposal"})
# With one of these a request says more than what is to be done now.
_LASTING = frozenset({"prohibition", "standing rule", "wish", "alternative", "reason", "condition"})
# Of those, what makes even a question that asks for something lasting.
_LASTING_QUESTION = _LASTING - {"reason", "condition"}
# With one of these a question of the user says what is wanted ("why not X instead of Y?").
_TELLING = frozenset({"agreed", "alternative", "wish", "prohibition", "standing rule"})


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
    """Pasted terminal text, the assistant quoted, the task with which a session opens, questions and mere reports."""
    if is_farewell(unit.text):
        return "farewell"
    for name in ("terminal", "quote", "for this task"):
        if f"noise {name}" in unit.cues:
            return name
    if _only_asks(unit):
        return "question"
    if _only_requests(unit):
        return "request"
    if _only_reports(unit):
        return "report"
    if _only_guesses(unit):
        return "guess"
    if "noise no subject" in unit.cues and not unit.cues & _WANTS:
        return "no subject"
    if unit.pasted and not unit.cues & _WANTS:
        return "pasted"
    wanted = unit.cues & {"noise request", "noise task", "noise question"}
    task = "first message" in unit.cues and wanted and not unit.cues & {"prohibition", "standing rule"}
    return "task" if task else ""


def _only_requests(unit: Unit) -> bool:
    lasting = _LASTING_QUESTION if "noise question" in unit.cues else _LASTING
    return "noise request" in unit.cues and not unit.cues & lasting and unit.turn.via != "answer"


def _only_asks(unit: Unit) -> bool:
    if unit.turn.via == "answer":
        return asks(unit.turn.text)
    return "noise question" in unit.cues and not unit.cues & _TELLING


def _only_reports(unit: Unit) -> bool:
    """What happened to somebody just now, without what is wanted instead and without a sure reason."""
    reasoned = "reason" in unit.cues and "noise uncertain" not in unit.cues
    return "noise report" in unit.cues and not unit.cues & _WANTS and not reasoned and unit.turn.via != "answer"


def _only_guesses(unit: Unit) -> bool:
    """What the user is not sure of, without what is wanted and without a reason or a condition."""
    said = unit.cues & (_WANTS | {"reason", "condition"})
    return "noise uncertain" in unit.cues and not said and unit.turn.via != "answer"


def _unfit_agent(unit: Unit) -> str:
    """Questions, promises, beginnings of lists, and what holds for the moment only (unless it says why)."""
    for name in ("question", "promise", "offer", "no subject", "speaks of itself"):
        if f"noise {name}" in unit.cues:
            return name
    if unit.text.endswith((":", "：")):
        return "unfinished"
    passing = "noise transient" in unit.cues and not unit.cues & {"root cause", "fix", "contrast"}
    return "transient" if passing else ""
