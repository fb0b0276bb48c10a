"""Ask a model how two memories are related if their words alone leave doubt.

The model can only choose one of the known relations for each pair. A response that violates the schema, or that would
close most pairs of a batch, is discarded and counted as failed, so that no model can empty a store.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import orjson

from memoryd.core.clock import to_iso
from memoryd.core.config import ASKS_A_MODEL, ENDPOINT, Settings
from memoryd.core.errors import ModelError
from memoryd.core.protocols import LLM, Clock
from memoryd.core.state import Run, State
from memoryd.core.types import Completion, Message
from memoryd.daydream.readers import choose
from memoryd.dream.neighbours import CandidatePair, Claim, Relations
from memoryd.dream.plan import DreamLimits
from memoryd.language import Comparison, Relation, read
from memoryd.llm.claude import Logins

log = logging.getLogger(__name__)

# Doubtful pairs use the reader's model and share its daily budget.

SESSION = "dream"


class MeteredLLM:
    """Forwards questions to a model and records their cost in the run log, on which the daily budget is based."""

    def __init__(self, llm: LLM, state: State, settings: Settings, clock: Clock) -> None:
        self._llm = llm
        self._state = state
        self._settings = settings
        self._clock = clock

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._llm.name

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """Return the model's answer to one question.

        Raises:
            ModelError: The call failed, or the daily token budget is used up.
        """
        midnight = self._clock.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        if self._state.tokens_since(to_iso(midnight)) >= self._settings.daily_token_budget:
            raise ModelError("The daily token budget is used up.", fix="Raise daily_token_budget.", transient=True)
        done = self._llm.complete(messages, schema)
        at = to_iso(self._clock.now())
        self._state.record_run(Run(SESSION, "", "", at, 0, 0, extractor=SESSION, model=done.model, usage=done.usage))
        return done


def dream_model(settings: Settings, state: State, clock: Clock, logins: Logins | None = None) -> LLM | None:
    """Create the model. Return None if the reader has no model or `dream_ask_model` is off.

    Raises:
        ConfigError: The endpoint's key is missing.
    """
    name = choose(settings)
    if name not in ASKS_A_MODEL or not settings.dream_ask_model:
        return None
    from memoryd.llm import ClaudeLLM, OpenAILLM

    llm: LLM = OpenAILLM(settings) if name == ENDPOINT else ClaudeLLM(settings, logins=logins)
    return MeteredLLM(llm, state, settings, clock)


PROMPT_VERSION = "relation_v1"
FEW = 4
MAX_SHARE = 0.8
_UNSURE = "unsure"
_RELATIONS = (*(relation.value for relation in Relation), _UNSURE)
_ANSWER: dict[str, Any] = {
    "pair": {"type": "integer"},
    "relation": {"type": "string", "enum": list(_RELATIONS)},
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "answers": {
            "type": "array",
            "items": {"type": "object", "properties": _ANSWER, "required": list(_ANSWER), "additionalProperties": False},
        }
    },
    "required": ["answers"],
    "additionalProperties": False,
}


class Adviser:
    """Asks a model about each pair once per plan, up to the limit, most likely matches first."""

    def __init__(self, llm: LLM | None, limits: DreamLimits) -> None:
        self._llm = llm
        self._limits = limits
        self._known: dict[tuple[str, str], Relation | None] = {}
        self.asked = 0
        self.failed = 0

    def settled(self, relations: Relations) -> Relations:
        """Return the relations, updated with the model's answers for doubtful pairs. Unanswered pairs are unchanged."""
        if self._llm is None:
            return relations
        ordered = sorted(relations.doubtful(), key=lambda pair: (-pair.found.chance, -pair.later.at.timestamp(), _key(pair)))
        new = [pair for pair in ordered if _key(pair) not in self._known]
        new = new[: max(0, self._limits.asked - self.asked)]
        # Distribute the pairs evenly. If a batch contained only the likeliest matches, a correct answer would seem to
        # close everything.
        batches = -(-len(new) // self._limits.batch)
        for number in range(batches):
            self._ask(self._llm, new[number::batches])
        return Relations(relations.claims, tuple(map(self._judged, relations.pairs)))

    def _judged(self, pair: CandidatePair) -> CandidatePair:
        answer = self._known.get(_key(pair)) if pair.found.doubtful else None
        if answer is None or (answer is Relation.SAME and not _may_merge(pair)):
            return pair
        return replace(pair, found=Comparison(answer, "according to a model"))

    def _ask(self, llm: LLM, batch: Sequence[CandidatePair]) -> None:
        self.asked += len(batch)
        answers: list[Relation | None] | None
        try:
            answers = parse(llm.complete(_messages(batch), SCHEMA).text, len(batch))
        except ModelError as error:
            log.warning("%d doubtful pairs were not compared by a model: %s", len(batch), error)
            answers = None
        if answers is None:
            self.failed += 1
            answers = [None] * len(batch)
        self._known.update({_key(pair): answer for pair, answer in zip(batch, answers, strict=True)})


def _may_merge(pair: CandidatePair) -> bool:
    """Return whether the pair may be merged. Texts with different numbers, paths or flags never make the same statement."""
    a, b = (set(read(claim.said.text).values) for claim in (pair.earlier, pair.later))
    return not (a - b and b - a)


def parse(text: str, count: int) -> list[Relation | None] | None:
    """Parse a response into the relation of each pair, or None where the model is unsure.

    Returns None if the response violates the schema, omits pairs, or would close nearly all of them.
    """
    try:
        raw = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    answers = raw.get("answers") if isinstance(raw, dict) and set(raw) == {"answers"} else None
    if not isinstance(answers, list) or len(answers) != count or not all(map(_is_answer, answers)):
        return None
    by_pair = {answer["pair"]: answer["relation"] for answer in answers}
    closing = sum(relation == Relation.REPLACES for relation in by_pair.values())
    if set(by_pair) != set(range(1, count + 1)) or (count >= FEW and closing > MAX_SHARE * count):
        return None
    return [None if by_pair[number] == _UNSURE else Relation(by_pair[number]) for number in range(1, count + 1)]


def _is_answer(answer: object) -> bool:
    return (
        isinstance(answer, dict)
        and set(answer) == set(_ANSWER)
        and type(answer["pair"]) is int
        and answer["relation"] in _RELATIONS
    )


def _key(pair: CandidatePair) -> tuple[str, str]:
    return pair.earlier.said.text, pair.later.said.text


def _messages(batch: Sequence[CandidatePair]) -> list[Message]:
    pairs = [{"pair": n, "earlier": _shown(pair.earlier), "later": _shown(pair.later)} for n, pair in enumerate(batch, 1)]
    system = files("memoryd.dream").joinpath("prompts", f"{PROMPT_VERSION}.md").read_text("utf-8")
    return [Message("system", system), Message("user", orjson.dumps({"pairs": pairs}).decode())]


def _shown(claim: Claim) -> dict[str, str]:
    source = "the user" if claim.said.by_user else claim.newest.source.value
    text = f"Don't: {claim.said.text}" if claim.said.dont else claim.said.text
    return {"text": text, "said by": source, "on": claim.at.date().isoformat()}
