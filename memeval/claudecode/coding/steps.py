"""Code shared by both coding families: steps for tasks, options, and a selection that keeps sequences in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memeval.claudecode.coding.grading import TaskVerdict
from memeval.claudecode.contract import ErrorKind, SessionResult, Step, StepKind, StepSequence
from memeval.core.errors import ConfigError
from memeval.core.types import Question, Score
from memeval.run.settings import Ref, Selection, select

RESOLVED = "accuracy"
"""The resolve rate, under the name that all reports use for accuracy."""
JUDGE = "tests"
EDITING = ("Bash", "Read", "Write", "Edit", "Glob", "Grep")
"""Tools of a coding session in every arm."""
AGAIN = "#again"
"""Suffix of the ids of tasks repeated after their sequence."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task to build a step from. The agent sees only `prompt`."""

    question: Question
    prompt: str
    payload: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Return the id of the task as it appears in results."""
        return self.question.id


@dataclass(frozen=True, slots=True)
class Chain:
    """Tasks that share a memory, in order. `folder` is the name of the working folder."""

    id: str
    folder: str
    tasks: tuple[Task, ...]
    replays: tuple[Step, ...] = ()


def sequences(chains: Iterable[Chain], selection: Selection, again: bool) -> Iterator[StepSequence]:
    """Return the steps of the selected tasks. A dev slice takes whole chains, because later tasks depend on the first one."""
    every = list(chains)
    kept = _dev_slice(every, selection)
    refs = [(chain, number) for chain in kept for number in range(len(chain.tasks))]
    places = select([_ref(*ref) for ref in refs], replace(selection, dev_slice=None))
    chosen = {(refs[place][0].id, refs[place][1]) for place in places}
    for chain in kept:
        numbers = [number for number in range(len(chain.tasks)) if (chain.id, number) in chosen]
        if numbers:
            yield _steps(chain, numbers, again)


def _dev_slice(chains: Sequence[Chain], selection: Selection) -> list[Chain]:
    if selection.dev_slice is None or not chains:
        return list(chains)
    refs = [Ref(chain.id, chain.id, chain.tasks[0].question.type) for chain in chains]
    return [chains[place] for place in select(refs, Selection(dev_slice=selection.dev_slice, seed=selection.seed))]


def _ref(chain: Chain, number: int) -> Ref:
    question = chain.tasks[number].question
    return Ref(chain.id, question.id, question.type, question.category)


def _steps(chain: Chain, numbers: Sequence[int], again: bool) -> StepSequence:
    first = [_step(chain, number, again=False) for number in numbers]
    later = [_step(chain, number, again=True) for number in numbers[:-1]] if again else []
    return StepSequence(chain.id, (*chain.replays, *first, *later), {"tasks": len(numbers)})


def _step(chain: Chain, number: int, *, again: bool) -> Step:
    task = chain.tasks[number]
    name = task.id + AGAIN if again else task.id
    return Step(
        id=name,
        kind=StepKind.TASK,
        prompt=task.prompt,
        folder=chain.folder,
        question=replace(task.question, id=name, category="again" if again else task.question.category),
        tools=EDITING,
        payload={**task.payload, "task": task.id, "sequence": chain.id, "position": number + 1, "again": again},
    )


def unscored(reason: str) -> list[Score]:
    """Return an unscored result for a task that can't be graded. It counts neither as failed nor as passed."""
    return [Score(RESOLVED, None, reason, JUDGE)]


def graded(verdict: TaskVerdict, patch: str) -> Score:
    """Return the score of a task, with the patch and the test output for the report pages."""
    return Score(RESOLVED, verdict.value, verdict.reason, JUDGE, evidence=_evidence(verdict, patch))


def _evidence(verdict: TaskVerdict, patch: str) -> dict[str, str]:
    return {"verdict": verdict.reason, "patch": patch, "test output": verdict.output}


def failed_session(result: SessionResult) -> str:
    """Return why a session can't be graded, or an empty string if its folder can be graded.

    If an agent used up its turns or time, the tests still decide. A session is not graded if it could not work, was
    stopped by the run's budget, or hung before its first turn.
    """
    if result.error is ErrorKind.TIMEOUT and not result.turns and not result.tool_calls:
        return "the session hung before it did anything"

    fair = (ErrorKind.NONE, ErrorKind.MAX_TURNS, ErrorKind.TIMEOUT)
    return "" if result.error in fair else f"the session ended early ({result.error}): {result.message}"


def read_options(given: Mapping[str, Any], defaults: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Merge options into their defaults, converting text to the default's type. Raises ConfigError."""
    made = dict(defaults)
    for key, value in given.items():
        if key not in defaults:
            raise ConfigError(f"{name} has no option {key!r}.", fix=f"Known: {', '.join(sorted(defaults))}.")
        made[key] = _as(value, defaults[key], f"{name}: option {key}")
    return made


def _as(value: Any, default: Any, where: str) -> Any:
    if isinstance(default, bool) and str(value).lower() in ("true", "false", "yes", "no", "1", "0"):
        return str(value).lower() in ("true", "yes", "1")
    if isinstance(default, float) and not isinstance(value, bool):
        try:
            return float(value)
        except (TypeError, ValueError):
            value = None
    if isinstance(default, str) and isinstance(value, str):
        return value
    raise ConfigError(f"{where} must be a value like {default!r}.", fix="Correct it.")
