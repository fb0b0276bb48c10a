"""Types shared across modules of the benchmark platform. All are frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from memoryd.core.types import Usage

EMPTY: Mapping[str, Any] = MappingProxyType({})


class QuestionType(StrEnum):
    """The ability that a question tests, unified over all benchmarks."""

    FACT_RECALL = "fact_recall"
    MULTI_HOP = "multi_hop"
    TEMPORAL = "temporal"
    INFERENCE = "inference"
    PREFERENCE = "preference"
    KNOWLEDGE_UPDATE = "knowledge_update"
    ABSTENTION = "abstention"


class Phase(StrEnum):
    """The five phases, in order."""

    INGEST = "ingest"
    SEARCH = "search"
    ANSWER = "answer"
    EVALUATE = "evaluate"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class Turn:
    """A message. `id` is unique within its case; `role` is user or assistant, `speaker` an optional name."""

    id: str
    role: str
    text: str
    speaker: str = ""
    at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation.

    `id` is opaque: some data sets' ids leak the gold answers, so loaders replace them and keep
    the original in `source_id`, which no system under test ever sees.
    """

    id: str
    turns: tuple[Turn, ...]
    at: datetime | None = None
    source_id: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold. `answers` empty: no gold answer; `evidence_*` empty: not known.

    Evidence ids are ids of sessions and turns of the case. `category` is the benchmark's own name for the type.
    """

    id: str
    text: str
    type: QuestionType
    answers: tuple[str, ...] = ()
    at: datetime | None = None
    evidence_sessions: tuple[str, ...] = ()
    evidence_turns: tuple[str, ...] = ()
    category: str = ""
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @property
    def is_abstention(self) -> bool:
        """Whether abstaining is the right answer."""
        return self.type is QuestionType.ABSTENTION


@dataclass(frozen=True, slots=True)
class Case:
    """A memory scope: the sessions to ingest, and the questions to ask of them."""

    id: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search of a provider. `granularity` is session, round or turn."""

    text: str
    k: int
    at: datetime | None = None
    granularity: str = "turn"
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A retrieved passage. Lists are ordered best first.

    `sessions` and `turns` name its sources, as far as the provider reports them; without
    them retrieval metrics are unscored, not zero.
    """

    text: str
    score: float = 0.0
    sessions: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Answer:
    """A hypothesis for a question, with the hash of the prompt that produced it.

    `confidence` (0 to 1) is the model's own, if it was asked; `withheld` is the answer it would have given with more
    confidence.
    """

    text: str
    model: str
    prompt_hash: str
    usage: Usage = Usage()
    seconds: float = 0.0
    confidence: float | None = None
    withheld: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """One judgement. `value` None means unscored (the judge failed, or the question has no gold): not wrong."""

    metric: str
    value: float | None
    reason: str = ""
    judge: str = ""
    usage: Usage = Usage()
