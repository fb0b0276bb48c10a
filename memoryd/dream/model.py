"""The model that a dream may ask about doubtful pairs: the extractor's own, within the same daily budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memoryd.clock import to_iso
from memoryd.config import Settings
from memoryd.daydream.extractors import ASKS_A_MODEL, ENDPOINT, choose
from memoryd.errors import ModelError
from memoryd.llm.logins import Logins
from memoryd.protocols import LLM, Clock
from memoryd.state import Run, State
from memoryd.types import Completion, Message

SESSION = "dream"


class MeteredLLM:
    """Passes questions on, and enters what they cost in the record of runs, where the daily budget is counted."""

    def __init__(self, llm: LLM, state: State, settings: Settings, clock: Clock) -> None:
        self._llm = llm
        self._state = state
        self._settings = settings
        self._clock = clock

    @property
    def name(self) -> str:
        """The model's name."""
        return self._llm.name

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """One answer. Raises ModelError, also when the day's tokens are used up."""
        midnight = self._clock.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        if self._state.tokens_since(to_iso(midnight)) >= self._settings.daily_token_budget:
            raise ModelError("The daily token budget is used up.", fix="Raise daily_token_budget.", transient=True)
        done = self._llm.complete(messages, schema)
        at = to_iso(self._clock.now())
        self._state.record_run(Run(SESSION, "", "", at, 0, 0, extractor=SESSION, model=done.model, usage=done.usage))
        return done


def dream_model(settings: Settings, state: State, clock: Clock, logins: Logins | None = None) -> LLM | None:
    """The model, or None when the extractor uses none or `dream_ask_model` is off. Raises ConfigError without a key."""
    name = choose(settings)
    if name not in ASKS_A_MODEL or not settings.dream_ask_model:
        return None
    from memoryd.llm import ClaudeLLM, OpenAILLM

    llm: LLM = OpenAILLM(settings) if name == ENDPOINT else ClaudeLLM(settings, logins=logins)
    return MeteredLLM(llm, state, settings, clock)
