"""Asks a model about the pairs that words alone leave in doubt. It may say yes or no, nothing else.

An answer that is not exactly what was asked for, or that calls most pairs of a batch contradictions,
is thrown away and counted as failed: no model can empty a store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import orjson

from memoryd.dream.limits import DreamLimits
from memoryd.dream.neighbours import Pairing
from memoryd.errors import ModelError
from memoryd.protocols import LLM
from memoryd.statements import Comparison, Relation
from memoryd.types import Message

PROMPT_VERSION = "contradict_v1"
FEW = 4
MOST_SHARE = 0.8
_VERDICTS = ("contradict", "compatible", "unsure")
_ANSWER: dict[str, Any] = {
    "pair": {"type": "integer"},
    "verdict": {"type": "string", "enum": list(_VERDICTS)},
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
    """Asks about each pair once per plan, the newest pairs first, up to the limit."""

    def __init__(self, llm: LLM | None, limits: DreamLimits) -> None:
        self._llm = llm
        self._limits = limits
        self._known: dict[tuple[str, str], bool] = {}
        self.asked = 0
        self.failed = 0

    def contradictions(self, doubtful: Sequence[Pairing]) -> list[Pairing]:
        """Those of the pairs that the model calls contradictions."""
        if self._llm is None:
            return []
        ordered = sorted(doubtful, key=lambda pair: (pair.later.at, _key(pair)), reverse=True)
        new = [pair for pair in ordered if _key(pair) not in self._known]
        new = new[: max(0, self._limits.asked - self.asked)]
        for start in range(0, len(new), self._limits.batch):
            self._ask(self._llm, new[start : start + self._limits.batch])
        return [replace(pair, found=Comparison(Relation.REPLACES, "replaced")) for pair in ordered if self._known.get(_key(pair))]

    def _ask(self, llm: LLM, batch: Sequence[Pairing]) -> None:
        self.asked += len(batch)
        try:
            answers = parse(llm.complete(_messages(batch), SCHEMA).text, len(batch))
        except ModelError:
            answers = None
        if answers is None:
            self.failed += 1
            answers = [False] * len(batch)
        self._known.update({_key(pair): answer for pair, answer in zip(batch, answers, strict=True)})


def parse(text: str, count: int) -> list[bool] | None:
    """Per pair whether it contradicts; None when the answer breaks the schema, leaves pairs out, or condemns nearly all."""
    try:
        raw = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    answers = raw.get("answers") if isinstance(raw, dict) and set(raw) == {"answers"} else None
    if not isinstance(answers, list) or len(answers) != count or not all(map(_is_answer, answers)):
        return None
    by_pair = {answer["pair"]: answer["verdict"] == "contradict" for answer in answers}
    if set(by_pair) != set(range(1, count + 1)) or (count >= FEW and sum(by_pair.values()) > MOST_SHARE * count):
        return None
    return [by_pair[number] for number in range(1, count + 1)]


def _is_answer(answer: object) -> bool:
    return (
        isinstance(answer, dict)
        and set(answer) == set(_ANSWER)
        and type(answer["pair"]) is int
        and answer["verdict"] in _VERDICTS
    )


def _key(pair: Pairing) -> tuple[str, str]:
    return pair.earlier.said.text, pair.later.said.text


def _messages(batch: Sequence[Pairing]) -> list[Message]:
    pairs = [{"pair": n, "earlier": pair.earlier.said.text, "later": pair.later.said.text} for n, pair in enumerate(batch, 1)]
    system = files("memoryd.dream").joinpath("prompts", f"{PROMPT_VERSION}.md").read_text("utf-8")
    return [Message("system", system), Message("user", orjson.dumps({"pairs": pairs}).decode())]
