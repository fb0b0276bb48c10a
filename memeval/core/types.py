"""Frozen types shared across the benchmark platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from memoryd.core.types import Usage

EMPTY: Mapping[str, Any] = MappingProxyType({})
GRANULARITIES = ("session", "round", "turn")  # The units of retrieval.


class QuestionType(StrEnum):
    """The ability tested by a question. All benchmarks share these types."""

    FACT_RECALL = "fact_recall"
    MULTI_HOP = "multi_hop"
    TEMPORAL = "temporal"
    INFERENCE = "inference"
    PREFERENCE = "preference"
    KNOWLEDGE_UPDATE = "knowledge_update"
    ABSTENTION = "abstention"


class Phase(StrEnum):
    """The five phases of a run, in order."""

    INGEST = "ingest"
    SEARCH = "search"
    ANSWER = "answer"
    EVALUATE = "evaluate"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class Turn:
    """A message.

    `id` is unique within its case. `role` is user or assistant, and `speaker` is an optional name.
    """

    id: str
    role: str
    text: str
    speaker: str = ""
    at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation.

    `id` is opaque. In some data sets, the original ids give away the gold answers, so loaders replace them. The
    original id is kept in `source_id`, which is never passed to a system under test.
    """

    id: str
    turns: tuple[Turn, ...]
    at: datetime | None = None
    source_id: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its gold answers.

    `answers` is empty if there is no gold answer. The `evidence_*` fields are empty if the evidence is unknown.
    Evidence ids refer to sessions and turns of the case. `category` is the benchmark's own name for the type.

    The metadata of a question about a tool call contains the call as `call` (`tool`, `input`, `cwd`), the earlier
    calls of the session as `before`, and whether it violates the user's rule as `violates`.
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
        """Return whether abstaining is the correct answer."""
        return self.type is QuestionType.ABSTENTION


@dataclass(frozen=True, slots=True)
class Case:
    """A memory scope with the sessions to ingest and the questions to ask about them."""

    id: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class HookCall:
    """A tool call that an agent is about to make, in the format of Claude Code's PreToolUse hook.

    Relative paths are relative to `cwd`, the project's folder.
    """

    tool: str
    input: Mapping[str, str]
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search request to a provider. `granularity` is session, round or turn."""

    text: str
    k: int
    at: datetime | None = None
    granularity: str = "turn"
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A retrieved passage. Lists of passages are ordered best first.

    `sessions` and `turns` are the ids of its sources, if the provider reports them. Otherwise, retrieval metrics are
    unscored rather than zero.
    """

    text: str
    score: float = 0.0
    sessions: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a question, and the hash of the prompt that produced it.

    `confidence` is the model's own estimate from 0 to 1, if requested. `withheld` is the answer replaced by an
    abstention because of low confidence.
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
    """A judgement.

    A `value` of None means that the answer was not scored, because the judge failed or the question has no gold
    answer. It doesn't mean that the answer is wrong. `evidence` contains texts judged or produced by the judge, such
    as a patch and its test output. It is for reading only and not part of results.
    """

    metric: str
    value: float | None
    reason: str = ""
    judge: str = ""
    usage: Usage = Usage()
    evidence: Mapping[str, str] = field(default_factory=lambda: EMPTY, compare=False)
