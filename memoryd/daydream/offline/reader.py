"""The reader without a model. Acts of memory become active. Other promising statements are proposed."""

from __future__ import annotations

import heapq
import logging
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np

from memoryd.core.errors import EmbeddingError
from memoryd.core.protocols import Embedder, FloatArray
from memoryd.core.text import dice, keywords, overlap_coefficient
from memoryd.core.types import Candidate, Extraction, Kind, Passage, Polarity, Refused, Source, Status, Turn, TurnKind
from memoryd.daydream.offline import moment
from memoryd.daydream.offline.acts import Act, acts_of
from memoryd.daydream.offline.candidates import of_act, of_choice, of_finding, of_observation, of_retraction, proposal
from memoryd.daydream.offline.findings import (
    confirms_fix,
    find_fix,
    findings,
    is_echo,
    is_retraction,
    is_root_cause,
    is_unsure,
    is_wrong_cause,
    names_cause,
    refuted,
    stands_alone,
)
from memoryd.daydream.offline.observed import SessionCommands, observations
from memoryd.daydream.offline.sentences import Episode, Sentence, episodes, statements, without_quoted
from memoryd.daydream.offline.unfit import unfit
from memoryd.daydream.offline.units import DEFAULT, PASTE_CHARS, CueWeights, Unit, agent_units, is_choice, is_talk, user_units
from memoryd.daydream.secret_rules import MARK
from memoryd.language.stems import roots

# Omitted statements: counts by reason, and the texts of the most promising ones.

MAX_SKIPPED = 60
_CHARS = 600


class Skipped:
    """Collects the omitted units of a passage, using bounded memory."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._nearest: list[tuple[float, int, Unit, str]] = []
        self._number = 0

    def add(self, unit: Unit, reason: str, score: float = -math.inf) -> None:
        """Record the reason for omitting a unit. Units without a score are ranked in the order in which they were added."""
        self._counts[reason] += 1
        self._number += 1
        entry = (score, -self._number, unit, reason)
        (heapq.heappush if len(self._nearest) < MAX_SKIPPED else heapq.heappushpop)(self._nearest, entry)

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of omitted units by reason."""
        return dict(self._counts)

    def nearest(self) -> tuple[Refused, ...]:
        """Return up to 60 units, most promising first."""
        return tuple(_refused(unit, reason) for _, _, unit, reason in sorted(self._nearest, key=lambda e: e[:2], reverse=True))


def _refused(unit: Unit, reason: str) -> Refused:
    source = Source.USER if unit.by_user and not unit.pasted else Source.AGENT_STEP
    return Refused(unit.text[:_CHARS], reason, source, unit.turn.line, unit.turn.at)


# Selection of proposals: the most promising distinct statements, but no more than a reader can judge.

# A model that settles proposals reads eight for every three user prompts (docs/quality.md).
PER_PROMPT, PER_THREE = 3, 8
# Minimum log odds of a proposal. On labelled logs, this loses no recall and leaves room for later prompts.
MIN_LOG_ODDS = -2.7
# Two statements are the same if the share `WITHIN` of one's keywords occurs in the other, or if their token F1 reaches `ALIKE`.
WITHIN, ALIKE = 0.8, 0.5


def room(proposed: int) -> int:
    """Return the number of statements that may be proposed for the next prompt.

    For successive prompts in a session, this is three, three and two.
    """
    return min(PER_PROMPT, PER_THREE - proposed % PER_THREE)


def best(
    scored: Iterable[tuple[float, Unit]], known: Sequence[frozenset[str]], most: int, skipped: Skipped
) -> list[tuple[float, Unit]]:
    """Return up to `most` units, best first.

    `known` contains the keywords of the session's earlier statements.
    """
    out: list[tuple[float, Unit]] = []
    words = list(known)
    for score, unit in sorted(scored, key=lambda pair: -pair[0]):
        if any(same(unit.words, other) for other in words):
            skipped.add(unit, "repeated", score)
        elif score < MIN_LOG_ODDS:
            skipped.add(unit, "weak", score)
        elif len(out) >= most:
            skipped.add(unit, "enough of this prompt", score)
        else:
            out.append((score, unit))
            words.append(unit.words)
    return out


def same(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether two sets of keywords represent the same statement."""
    return overlap_coefficient(a, b) >= WITHIN or dice(a, b) >= ALIKE


# A second check of acts of memory: a small classifier for how closely a sentence resembles lasting statements.
#
# The classifier can only reject sentences accepted by the rules. Sentences that resemble a momentary instruction are proposed
# instead. It was trained by benchmarks/fit_acts.py on sentences written for this project, and requires the bundled embedder.

WEIGHTS = Path(__file__).with_name("acts.npy")
# The number in "shard3" or "case12" must not determine whether a sentence is a rule.
_NUMBERED_NAME = re.compile(r"(?<![\w.-])([^\W\d_]{3,40})\d{1,6}(?![\w.-])")


class ActClassifier:
    """The classifier. Its weights are loaded on first use.

    Raises EmbeddingError if the embedder fails.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @cached_property
    def _weights(self) -> FloatArray:
        """The threshold, the bias, and a weight for each dimension."""
        return np.asarray(np.load(WEIGHTS, allow_pickle=False), dtype=np.float32)

    def agrees(self, texts: Sequence[str]) -> list[bool]:
        """Return whether each sentence may be an act of memory."""
        if not texts:
            return []
        bar, bias, weights = self._weights[0], self._weights[1], self._weights[2:]
        scores = self._embedder.embed([_NUMBERED_NAME.sub(r"\1", text) for text in texts]) @ weights + bias
        return [bool(score >= bar) for score in scores]


log = logging.getLogger(__name__)
# Number of assistant findings that may become active per prompt. The last ones are the most reliable.
MAX_FINDINGS = 2
# Two words count as forms of the same word if they share this many initial letters.


class HeuristicExtractor:
    """Reads statements of the user and the assistant (protocols.Extractor). Deterministic, offline and stateless.

    Tool output is only checked for failed steps. It is never searched for statements.
    """

    def __init__(self, weights: CueWeights = DEFAULT, judge: ActClassifier | None = None) -> None:
        self._weights = weights
        self._judge = judge

    @property
    def name(self) -> str:
        """The reader's name, `offline`."""
        return "offline"

    def extract(self, passage: Passage) -> Extraction:
        """Return statements in the order of their evidence. Returns nothing for an empty passage.

        A passage with several prompts is judged as if each answer had been read when it ended, except that claims
        refuted later are omitted. Reading a log all at once therefore gives the same result as reading it during the
        session.
        """
        skipped = Skipped()
        parts = episodes(passage.turns, passage.context)
        units = [list(passage_units([part], skipped)) for part in parts]
        flat = [unit for group in units for unit in group]
        wrong = {id(flat[index]) for index in refuted(flat, parts)}
        session = _Session(passage, self._judge)
        for part, group in zip(parts, units, strict=True):
            session.read_user(part)
            session.read_assistant(part)
            scored = [(self._weights.of(unit), unit) for unit in group if id(unit) not in wrong]
            for unit in group:
                if id(unit) in wrong:
                    skipped.add(unit, "refuted")
            session.propose_all(best(scored, session.words(), room(session.proposed), skipped), self._weights)
        return Extraction(
            session.statements(),
            MappingProxyType(skipped.counts),
            self.name,
            refused=skipped.nearest(),
            retractions=tuple(session.retractions),
        )


class _Session:
    """The statements of a session so far, including retracted ones."""

    def __init__(self, passage: Passage, judge: ActClassifier | None) -> None:
        self._judge = judge
        self.proposed = len(passage.given)
        self.retractions: list[Candidate] = []
        self._given = passage.given
        self._kept: list[Candidate] = []
        self._taken_back: list[str] = []
        self._words: dict[str, frozenset[str]] = {}
        self._commands = SessionCommands((*passage.context, *passage.turns))
        self._said_before = _acts([t for t in passage.context if t.kind is TurnKind.USER and not t.sidechain][-1:])

    def words(self) -> list[frozenset[str]]:
        """Return the key words of each statement."""
        return [self._words_of(text) for text in (*self._given, *(one.content for one in self._kept))]

    def _words_of(self, text: str) -> frozenset[str]:
        if text not in self._words:
            self._words[text] = frozenset(keywords(text))
        return self._words[text]

    def statements(self) -> tuple[Candidate, ...]:
        """Return all valid statements in order, without duplicates."""
        found: dict[str, Candidate] = {}
        for one in self._kept:
            found.setdefault(one.content, one)
        return tuple(found.values())

    def propose(self, candidates: Iterable[Candidate]) -> None:
        """Add proposals."""
        new = [one for one in candidates if one.source is Source.USER or not self._is_retracted(one.content)]
        self._kept += new
        self.proposed += len(new)

    def read_user(self, part: Episode) -> None:
        """Add the user's lasting statements. A rewording of the previous statement replaces it."""
        self._keep_confirmed(part)
        acts = self._agreed(_acts(part.user, part.before))
        self._kept += [of_choice(turn) for turn in part.user if is_choice(turn) and MARK not in turn.text]
        for act, turn in acts:
            old = [said.text for said, _ in self._said_before if act.revises and _is_new_wording(act, said)]
            known = {one.content for one in self._kept}
            self._kept = [one for one in self._kept if one.content not in old]
            self._kept.append(replace(of_act(act, turn), revises=tuple(text for text in old if text not in known)))
        self._keep_explained(part.user, {act.text for act, _ in acts})
        if part.user:
            self._said_before = acts

    def _keep_explained(self, turns: Sequence[Turn], known: Collection[str]) -> None:
        """Add the causes that the user names together with their cure. Dead ends are acts of memory."""
        for turn, texts in _own_statements(turns):
            found = [one for one in findings(texts) if one.complete and one.kind is Kind.FIX and stands_alone(one.text)]
            found = [one for one in found if one.text not in known]
            self._kept += [replace(of_finding(one, turn), source=Source.USER) for one in found if not moment.asks(one.text)]

    def _keep_confirmed(self, part: Episode) -> None:
        """Add the last cause given by the assistant if the user's next message says that everything works now."""
        if part.before is None or not (part.user and confirms_fix(part.user[0].text)):
            return
        named = [one for one in findings(statements(part.before.text)) if one.kind is Kind.FIX and stands_alone(one.text)]
        for one in (one for one in named[-1:] if MARK not in one.text and not self._is_retracted(one.text)):
            found = of_finding(one, part.before)
            self._kept = [kept for kept in self._kept if kept.content != found.content]
            self._kept.append(replace(found, reason="root cause that the user confirmed"))

    def propose_all(self, units: Sequence[tuple[float, Unit]], weights: CueWeights) -> None:
        """Add proposals. A user's wish becomes active if the assistant agreed to it and it applies beyond the moment."""
        wishes = [unit.text for score, unit in units if is_agreed_wish(unit, score)]
        lasting = {text for text, yes in zip(wishes, self._verdicts(wishes), strict=True) if yes}
        made = [(unit, proposal(unit, score, weights)) for score, unit in units]
        self.propose(
            replace(one, status=Status.ACTIVE, importance=3, reason="wish that the assistant agreed to")
            if unit.text in lasting
            else one
            for unit, one in made
        )

    def _agreed(self, acts: list[tuple[Act, Turn]]) -> list[tuple[Act, Turn]]:
        """Return explicit acts, and those that the classifier also accepts as acts of memory."""
        doubtful = [act.text for act, _ in acts if not act.outright]
        agreed = dict(zip(doubtful, self._verdicts(doubtful), strict=True))
        return [(act, turn) for act, turn in acts if act.outright or agreed[act.text]]

    def _verdicts(self, texts: Sequence[str]) -> Sequence[bool]:
        if self._judge is not None:
            try:
                return self._judge.agrees(texts)
            except EmbeddingError as error:
                log.warning("acts of memory are read by rules only: %s", error)
        return [True] * len(texts)

    def read_assistant(self, part: Episode) -> None:
        """Add the assistant's findings, and drop those that it retracts."""
        turns = [turn for turn in part.rest if turn.kind is not TurnKind.USER and not turn.sidechain]
        found: list[Candidate] = []
        for number, turn in enumerate(turns):
            if turn.kind is not TurnKind.ASSISTANT or is_echo(turn.text):
                continue
            parts = statements(turn.text)
            revised: list[str] = []
            for text in (one.text for one in parts if is_retraction(one.text)):
                found = [one for one in found if not is_wrong_cause(one.content, text)]
                revised += self._take_back(text)
                self.retractions += [of_retraction(text, turn)] if MARK not in text and not is_unsure(text) else []
            new = list(_confirmed_findings(turn, parts, turns[:number], turns[number + 1 :]))
            found = [one for one in found if not any(roots(one.content) & roots(other.content) for other in new)]
            found += [replace(one, revises=tuple(revised)) for one in new]
        self._kept += found[-MAX_FINDINGS:]
        self._kept += [of_observation(one) for one in observations(turns, self._commands)]

    def _is_retracted(self, claim: str) -> bool:
        return any(is_wrong_cause(claim, text) for text in self._taken_back)

    def _take_back(self, text: str) -> list[str]:
        """Drop the causes that the assistant retracts in a sentence. Return the texts of those already written."""
        self._taken_back.append(text)
        wrong = [one for one in self._kept if one.source is not Source.USER and is_wrong_cause(one.content, text)]
        self._kept = [one for one in self._kept if one not in wrong]
        return [given for given in self._given if is_wrong_cause(given, text)]


# On labelled logs, three out of four such wishes at these odds were lasting.
AGREED_LOG_ODDS = 0.1
# A wish without a reason or condition is often just the current task.
_WISHES = frozenset({"norm", "prohibition", "standing rule"})
_EXPLAINS = frozenset({"reason", "condition"})


def is_agreed_wish(unit: Unit, score: float) -> bool:
    """Return whether the user states a probably lasting wish that the assistant agreed to, without referring to the moment."""
    sure = unit.by_user and not unit.pasted and "agreed" in unit.cues and score >= AGREED_LOG_ODDS
    wanted = unit.cues & _WISHES or ("wish" in unit.cues and unit.cues & _EXPLAINS)
    if not sure or not wanted or "correction" in unit.cues:
        return False
    noisy = any(cue.startswith("noise") for cue in unit.cues)
    return not (noisy or moment.binds(unit.text) or moment.reports(unit.text) or moment.asks(unit.text))


def _acts(turns: Sequence[Turn], before: Turn | None = None) -> list[tuple[Act, Turn]]:
    """Return the user's acts of memory in some turns. Chosen options and pasted text are ignored.

    A typed answer is read together with its question. On its own, it counts only if it is explicit.
    """
    out: list[tuple[Act, Turn]] = []
    for turn, parts in _own_statements(turns):
        acts = acts_of([one.text for one in parts], before.text if before else "")
        out += [(act, turn) for act in acts if act.outright or turn.via != "answer"]
    return out


def _own_statements(turns: Sequence[Turn]) -> Iterator[tuple[Turn, list[Sentence]]]:
    """Yield the turns that the user typed, with what they say in the user's own words."""
    for turn in turns:
        if not (turn.via == "answer" and turn.offered) and (len(turn.text) <= PASTE_CHARS or is_talk(turn.text)):
            yield turn, [one for one in statements(without_quoted(turn.text)) if MARK not in one.text]


def _is_new_wording(act: Act, said: Act) -> bool:
    """Return whether a correction rewords a wish from the previous message.

    Both must have the same subject and must not be opposites.
    """
    return said.polarity is act.polarity and said.polarity is not Polarity.KNOW and bool(roots(act.text) & roots(said.text))


def _confirmed_findings(
    turn: Turn, parts: Sequence[Sentence], before: Sequence[Turn], after: Sequence[Turn]
) -> Iterator[Candidate]:
    """Yield the findings in a turn that was not followed by a failure.

    A finding must include its fix, or be confirmed by the next steps.
    """
    tools = [t for t in (*before, *after) if t.kind is TurnKind.TOOL_RESULT]
    if not tools or (after and any(t.error for t in tools[-1:])):
        return
    final = not any(t.kind is TurnKind.ASSISTANT for t in after)
    acted = any(t.kind is TurnKind.TOOL_USE for t in after)
    last = next((t for t in reversed(after) if t.kind is TurnKind.ASSISTANT), None)
    for one in findings(parts):
        if MARK in one.text or not stands_alone(one.text):
            continue
        if one.complete:
            yield of_finding(one, turn)
        elif final and is_root_cause(one.text):  # A cause alone often just describes the current state.
            yield replace(of_finding(one, turn), status=Status.CANDIDATE)
        elif acted and last is not None and names_cause(one.text):
            cure = find_fix(statements(last.text), one.text)
            if cure:
                yield of_finding(replace(one, text=f"{one.text} {cure}"), turn)


def passage_units(parts: Iterable[Episode], skipped: Skipped) -> Iterator[Unit]:
    """Yield the units that may be proposed, in order. The reasons for omitting other units are recorded in `skipped`."""
    for part in parts:
        for unit in (*user_units(part), *agent_units(part)):
            reason = unfit(unit)
            if reason:
                skipped.add(unit, reason)
            else:
                yield unit
