"""Interfaces between the driver and the benchmark families.

A **family** turns a benchmark into sequences. A **sequence** is a chain of steps that share one memory. A **step** is one
session of the client. The driver owns the client, sandboxes, arms, checkpoints and results. A family owns prompts, folders and
grading.

The memory of a sequence (the client's configuration folder and the plugin's home) carries over from replay to replay
and from task to task. Every question starts from the state after the last replay, so questions don't affect one
another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from memeval.core.types import EMPTY, Question, Score, Session
from memeval.report.runs import CLAUDE_CODE, CLIENT_LABELS
from memeval.run.settings import Selection
from memoryd.core.types import Usage


class Arm(StrEnum):
    """The kinds of memory that a session can have."""

    OFF = "off"
    BLANK = "blank"
    BUILTIN = "builtin"
    PLUGIN = "plugin"
    BOTH = "both"
    DREAMED = "dreamed"
    HISTORY = "history"
    NOTES = "notes"
    PLACEBO = "placebo"
    ABSENT = "absent"
    SUPERSEDED = "superseded"
    CONTRADICTORY = "contradictory"
    ADJACENT = "adjacent"

    @property
    def has_builtin(self) -> bool:
        """Return whether Claude Code's own memory is on."""
        return self in (Arm.BUILTIN, Arm.BOTH)

    @property
    def has_plugin(self) -> bool:
        """Return whether memoryd is loaded."""
        return self not in (Arm.OFF, Arm.BUILTIN, Arm.HISTORY, Arm.NOTES)

    @property
    def remembers(self) -> bool:
        """Return whether anything carries over between sessions, so that histories are replayed in this arm."""
        return self not in (Arm.OFF, Arm.BLANK, Arm.PLACEBO, Arm.HISTORY)

    @property
    def is_harm(self) -> bool:
        """Return whether this arm's memory deliberately lacks the answer or contains a wrong one."""
        return self in HARMS


class ClientName(StrEnum):
    """The clients that run_bench can drive."""

    CLAUDE_CODE = CLAUDE_CODE
    OPENCODE = "opencode"

    @property
    def label(self) -> str:
        """Return the name as its makers write it."""
        return CLIENT_LABELS[self]

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Return the arms that are possible with the client. OpenCode has no memory of its own."""
        return tuple(arm for arm in Arm if self is ClientName.CLAUDE_CODE or not arm.has_builtin)


HARMS = frozenset({Arm.ABSENT, Arm.SUPERSEDED, Arm.CONTRADICTORY, Arm.ADJACENT})


class StepKind(StrEnum):
    """The purpose of a step."""

    REPLAY = "replay"
    QUESTION = "question"
    TASK = "task"


class ErrorKind(StrEnum):
    """Why a session gave no usable result."""

    NONE = ""
    CRASH = "crash"
    TIMEOUT = "timeout"
    HANG = "hang"
    SERVER = "server"
    RATE_LIMIT = "rate_limit"
    LOGIN = "login"
    MODEL = "model"
    NETWORK = "network"
    MAX_TURNS = "max_turns"
    BUDGET = "budget"
    PLUGIN = "plugin"
    DAYDREAM = "daydream"
    CLIENT = "client"
    UNPREPARED = "unprepared"


OWN_FAULTS = (str(ErrorKind.TIMEOUT), str(ErrorKind.MAX_TURNS))
"""Errors caused by the session itself. Its question counts as wrong."""
OUTSIDE_FAULTS = frozenset(ErrorKind) - {ErrorKind.NONE, ErrorKind.TIMEOUT, ErrorKind.MAX_TURNS, ErrorKind.UNPREPARED}
"""Errors not caused by the session. Its question is unscored, and any --resume runs the session again."""


@dataclass(frozen=True, slots=True)
class Step:
    """A session to run. `folder` is its working folder relative to the sequence's work folder, and is the same in every arm.

    `session` is the conversation of a replay. `question` carries the gold for grading and the row of the report, and is never
    shown to the client, which sees only `prompt`, `system` and the folder. `prompt` is what a user would type, and `system` holds
    the benchmark's instructions, which are appended to the client's system prompt. `tools` are the tools that the session may
    use, by their names in Claude Code. `placebo` is a text that is added to the prompt in place of memories. `at` is the time at
    which the session takes place, if the data have one.
    """

    id: str
    kind: StepKind
    prompt: str
    folder: str = "project"
    question: Question | None = None
    session: Session | None = None
    tools: tuple[str, ...] = ()
    payload: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    system: str = ""
    placebo: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StepSequence:
    """The steps of a sequence in order, replays first. `id` is the case id in the report. `metadata` is copied to the result."""

    id: str
    steps: tuple[Step, ...]
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call, with its result as text."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    result: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class SessionResult:
    """The result of a session. `text` is the final answer, and `transcript` is the session's log if one was written.

    `usage` counts cached input as input. Its `cost_usd` is the client's own figure for this start only. `init` is the
    client's own report: version, model, tools, plugins. `injected` holds the texts that the plugin added to the context,
    each with the name of the event.
    """

    text: str
    usage: Usage = Usage()
    seconds: float = 0.0
    session_id: str = ""
    transcript: Path | None = None
    error: ErrorKind = ErrorKind.NONE
    message: str = ""
    fix: str = ""
    retry_after: float | None = None
    turns: int = 0
    tool_calls: tuple[ToolCall, ...] = ()
    init: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    injected: tuple[tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether the session ended with an answer."""
        return self.error is ErrorKind.NONE


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A completed step with its scores. Results are built from these. `attempts` counts the starts of the client."""

    sequence_id: str
    step: Step
    result: SessionResult
    scores: tuple[Score, ...] = ()
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Need:
    """A requirement of a family, its status on this machine, and a way to meet it."""

    name: str
    here: bool
    fix: str = ""


class Family(Protocol):
    """A benchmark as sequences of sessions. One object serves all arms, and its methods are called from several threads.

    Nothing that a step shows to the client (prompt, folder, ids in paths) may contain or lead to gold answers. Subclasses
    inherit the defaults of `check` and `known_options`, and are constructed with `(name, FamilyOptions)`.
    """

    @property
    def name(self) -> str:
        """Return the name of the benchmark, as in results."""
        ...

    def needs(self) -> Sequence[Need]:
        """List the requirements. Must be cheap: nothing is downloaded and no data is read."""
        ...

    def about(self) -> Mapping[str, Any]:
        """Return the `benchmark` entry of the result: the data hash, the number of cases and questions, and the spec."""
        ...

    def sequences(self, selection: Selection) -> Iterator[StepSequence]:
        """Return the selected sequences in a stable order. Raises DataError or ConfigError."""
        ...

    def prepare(self, step: Step, work: Path) -> None:
        """Reset the step's folder (`work / step.folder`), also after an interrupted attempt.

        Raises DataError or DependencyError if this is not possible on this machine. The step is then unscored.
        """
        ...

    def grade(self, step: Step, result: SessionResult, work: Path) -> Sequence[Score]:
        """Return the scores of a question or task, main score first. None means unscored, neither failed nor passed.

        Called in step order right after each session, even a failed one. `result.text` is the answer.
        """
        ...

    def summary(self, records: Sequence[StepRecord], without: Sequence[StepRecord] = ()) -> Mapping[str, Any]:
        """Return additional metrics of a whole cell, such as transfer and forgetting. May be empty.

        `without` contains the records of the same model without memory, if that cell was also run.
        """
        ...

    def validate(self, selection: Selection) -> Iterator[tuple[str, str]]:
        """Yield each selected task with the reason why it can't be graded on this machine, or an empty string.

        Only coding tasks need more than their data, so the default yields nothing.
        """
        return iter(())

    def check(self) -> None:
        """Check for problems that would otherwise appear only after sessions were paid for. Raises ConfigError."""
        return

    @staticmethod
    def known_options(name: str, options: Any) -> frozenset[str] | None:
        """Return the names of a benchmark's options, or None to accept any option."""
        return None
