"""Write search keys for memories that have none. A model paraphrases them as questions and tasks that help to find them.

Only redacted statements leave the machine, and only to the model that also reads sessions. The answer is checked for
format and secrets, and is used only for search. Keys added to a memory in the meantime are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import orjson

from memoryd.core.clock import local_midnight, to_iso
from memoryd.core.config import Settings
from memoryd.core.errors import ModelError
from memoryd.core.protocols import LLM, Clock
from memoryd.core.state import Run, State
from memoryd.core.text import normalise, one_line
from memoryd.core.types import Completion, MemoryItem, Message, Query, Usage
from memoryd.daydream.model_answer import without_fence
from memoryd.daydream.redact import redact
from memoryd.service import Orchestrator

PROMPT_VERSION = "keys_v1"
SESSION = "keys"
BATCH = 12
KEYS = 4
MAX_KEY_CHARACTERS = 200
MAX_STATEMENT = 600
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "keys": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "asked_as": {"type": "array", "items": {"type": "string"}}},
                "required": ["n", "asked_as"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["keys"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class KeyBatch:
    """Result of one call: how many memories received keys, and how many still have none.

    `stopped` gives the reason if no model was asked.
    """

    written: int
    left: int
    stopped: str = ""


class KeyWriter:
    """Writes keys in batches.

    Results are stored in the files, so the work can be interrupted and resumed at any time.
    """

    def __init__(self, llm: LLM, service: Orchestrator, state: State, settings: Settings, clock: Clock) -> None:
        self._llm = llm
        self._service = service
        self._state = state
        self._settings = settings
        self._clock = clock

    def missing(self, after: str = "") -> list[MemoryItem]:
        """Return the active memories after this id that need keys, ordered by id.

        Chat turns and memories of projects with memory off are omitted.
        """
        return [item for item in self._service.all() if item.id > after and self._wants_keys(item)]

    def _wants_keys(self, item: MemoryItem) -> bool:
        active = item.status in Query().statuses
        return active and not item.asked_as and not item.is_turn and not self._state.is_off(item.project)

    def write_batch(self, waiting: Sequence[MemoryItem]) -> KeyBatch:
        """Ask the model for keys for the first few of these memories. Raises ModelError."""
        batch = waiting[:BATCH]
        if not batch:
            return KeyBatch(0, 0)
        if self._spent() >= self._settings.daily_token_budget:
            budget = self._settings.daily_token_budget
            reason = f"The daily token budget of {budget} is used up; run this again tomorrow, or raise the budget."
            return KeyBatch(0, len(waiting), reason)
        keys, completion = ask_keys(self._llm, batch)
        written = sum(self._keep(item, own) for item, own in zip(batch, keys or (), strict=False))
        self._record(completion.model or self._llm.name, completion.usage, written)
        if keys is None:
            raise _unusable(self._llm, batch)
        return KeyBatch(written, len(waiting) - len(batch))

    def _spent(self) -> int:
        return self._state.tokens_since(to_iso(local_midnight(self._clock.now())))

    def _keep(self, item: MemoryItem, keys: Sequence[str]) -> bool:
        with self._service.writing():
            now = self._service.get(item.id)
            if not keys or now is None or now.asked_as or now.content != item.content:
                return False
            self._service.update(item.id, asked_as=tuple(keys))
            return True

    def _record(self, model: str, usage: Usage, written: int) -> None:
        at = to_iso(self._clock.now())
        self._state.record_run(Run(SESSION, "", "", at, 0, 0, kept=written, extractor=SESSION, model=model, usage=usage))


def ask_keys(llm: LLM, batch: Sequence[MemoryItem]) -> tuple[list[tuple[str, ...]] | None, Completion]:
    """Return the keys of these memories, in order, and the model's answer.

    The keys are None if the answer is unusable. Raises ModelError.
    """
    completion = llm.complete(messages_for(batch), SCHEMA)
    return parse_keys(completion.text, batch), completion


def with_keys(llm: LLM, items: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the items with keys written by the model. Uses neither the budget nor a store. Raises ModelError."""
    out: list[MemoryItem] = []
    for start in range(0, len(items), BATCH):
        batch = items[start : start + BATCH]
        keys, _ = ask_keys(llm, batch)
        if keys is None:
            raise _unusable(llm, batch)
        out += [replace(item, asked_as=own) for item, own in zip(batch, keys, strict=True)]
    return out


def _unusable(llm: LLM, batch: Sequence[MemoryItem]) -> ModelError:
    return ModelError(f"{llm.name} returned no keys for {len(batch)} memories.", fix="Try again, or use another model.")


def messages_for(batch: Sequence[MemoryItem]) -> list[Message]:
    """Return the messages for the model: fixed instructions, and the redacted statements as data."""
    statements = [
        {"n": place, "kind": item.kind.value, "statement": redact(one_line(item.content)[:MAX_STATEMENT]).text}
        for place, item in enumerate(batch, start=1)
    ]
    prompt = files("memoryd.daydream").joinpath("prompts", f"{PROMPT_VERSION}.md").read_text("utf-8")
    return [Message("system", prompt), Message("user", orjson.dumps({"statements": statements}).decode())]


def parse_keys(text: str, batch: Sequence[MemoryItem]) -> list[tuple[str, ...]] | None:
    """Return the usable keys for each statement, or None if the answer has the wrong format."""
    try:
        entries = orjson.loads(without_fence(text))["keys"]
        found = {entry["n"]: entry["asked_as"] for entry in entries}
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    return [_usable(found.get(place), item) for place, item in enumerate(batch, start=1)]


def _usable(keys: Any, item: MemoryItem) -> tuple[str, ...]:
    """Return the keys that fit on one line, contain no secrets and differ from the statement."""
    if not isinstance(keys, list):
        return ()
    texts = dict.fromkeys(one_line(key) for key in keys if isinstance(key, str) and key.strip())
    own = normalise(item.content)
    fit = [text for text in texts if len(text) <= MAX_KEY_CHARACTERS and normalise(text) != own and not redact(text).found]
    return tuple(fit[:KEYS])
