"""The benchmark `sample-code`. It runs anywhere without a download and demonstrates the whole procedure in minutes.

The first task of a sequence states a fact that the next three tasks need and that is nowhere in the repository. Each task starts
from the same files, so its result depends only on memory and not on the outcome of earlier tasks.

Each repository is a TOML file with its files, tasks, hidden tests and gold patches:

name, description
fact      the fact that the first task states and the later tasks need
needs     texts that an agent must know to solve a later task; only the first prompt contains them
guess     [a, b]: replacing a by b in the gold patch gives a plausible guess that hidden tests must reject
[files]   the repository, the same at the start of every task
[[tasks]] id, prompt, tests (a module of unittest cases), gold (a unified diff)
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from memeval.claudecode.coding import grading, learning, steps
from memeval.claudecode.coding.checkouts import apply, change, commit_all, empty, write_files
from memeval.claudecode.contract import Family, Need, SessionResult, Step, StepRecord, StepSequence
from memeval.claudecode.families import FamilyOptions, family
from memeval.claudecode.sandbox import contamination
from memeval.core.errors import DataError
from memeval.core.types import Question, QuestionType, Score
from memeval.run.settings import Selection

DATA = Path(__file__).parents[2] / "data" / "sample_code"


@dataclass(frozen=True, slots=True)
class SampleTask:
    """A task of the sample. `tests` and `gold` are never written to an agent's working folder."""

    id: str
    prompt: str
    tests: str
    gold: str


@dataclass(frozen=True, slots=True)
class SampleRepository:
    """A repository and its sequence of tasks."""

    name: str
    description: str
    fact: str
    needs: tuple[str, ...]
    guess: tuple[str, str]
    files: Mapping[str, str]
    tasks: tuple[SampleTask, ...]

    def visible_tests(self) -> dict[str, str]:
        """Return the repository's own tests in their original form."""
        return {path: text for path, text in self.files.items() if path.startswith("tests/")}


def load_all(folder: Path = DATA) -> list[SampleRepository]:
    """Load all repositories by name. Raises DataError with the file and the problem."""
    found = [load(path) for path in sorted(folder.glob("*.toml"))]
    if not found:
        raise DataError(f"{folder} holds no .toml file.", fix="Install memeval again, or correct --data.")
    return found


def load(path: Path) -> SampleRepository:
    """Load one repository. Raises DataError."""
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
        first, second = raw["guess"]
        return SampleRepository(
            name=raw["name"],
            description=raw["description"],
            fact=raw["fact"],
            needs=tuple(raw["needs"]),
            guess=(first, second),
            files=dict(raw["files"]),
            tasks=tuple(_task(task) for task in raw["tasks"]),
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError, ValueError, TypeError) as error:
        raise DataError(
            f"{path}: {type(error).__name__}: {error}.", fix="Repair the file as described in docs/run_bench.md."
        ) from None


def _task(raw: Mapping[str, Any]) -> SampleTask:
    return SampleTask(id=raw["id"], prompt=raw["prompt"].strip(), tests=raw["tests"], gold=raw["gold"])


def data_hash(folder: Path = DATA) -> str:
    """Return the SHA-256 over all files, sorted by name."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.toml")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


NAME = "sample-code"
OPTIONS: Mapping[str, Any] = {"again": False, "test_timeout": 60.0}


@family(NAME)
class SampleCode(Family):
    """The `sample-code` family.

    The option `again` repeats all tasks except the last at the end, to measure forgetting. `test_timeout` is in seconds.
    """

    def __init__(self, name: str, options: FamilyOptions) -> None:
        self._name = name
        self._folder = options.data or DATA
        self._options = steps.read_options(options.options, OPTIONS, name)

    @staticmethod
    def known_options(name: str, options: FamilyOptions) -> frozenset[str]:
        """Return the names of the options."""
        return frozenset(OPTIONS)

    @property
    def name(self) -> str:
        """Return the name of the benchmark."""
        return self._name

    def needs(self) -> Sequence[Need]:
        """List the requirements. Git is optional."""
        return [Need("git (optional)", shutil.which("git") is not None, "Install git, so that checkouts have a history.")]

    def about(self) -> Mapping[str, Any]:
        """Describe the data by its hash, counts and licence."""
        tasks = sum(len(repository.tasks) for repository in self._repositories.values())
        return {
            "name": self._name,
            "display_name": "Sample repositories",
            "description": "Five tiny repositories; the first task gives information that the next three need.",
            "data_hash": data_hash(self._folder),
            "cases": len(self._repositories),
            "questions": tasks,
            "licence": "MIT",
            "citation": "Written for memeval.",
            "options": dict(self._options),
        }

    def sequences(self, selection: Selection) -> Iterator[StepSequence]:
        """Return a sequence for each repository."""
        chains = (_chain(repository) for repository in self._repositories.values())
        return steps.sequences(chains, selection, self._options["again"])

    def prepare(self, step: Step, work: Path) -> None:
        """Write the repository in its initial state with a single commit."""
        folder = work / step.folder
        empty(folder)
        write_files(folder, self._repository(step).files)
        commit_all(folder)

    def grade(self, step: Step, result: SessionResult, work: Path) -> Sequence[Score]:
        """Score a task as resolved if the hidden tests and the repository's own tests pass."""
        if why := steps.failed_session(result) or contamination(result, [self._folder]):
            return steps.unscored(why)
        repository = self._repository(step)
        task = next(task for task in repository.tasks if task.id == step.payload["task"])
        timeout = self._options["test_timeout"]
        verdict = grading.grade(work / step.folder, repository.visible_tests(), task.tests, timeout=timeout)
        return [steps.graded(verdict, _patch(repository.files, work / step.folder))]

    def summary(self, records: Sequence[StepRecord], without: Sequence[StepRecord] = ()) -> Mapping[str, Any]:
        """Return metrics of continual learning. Forward transfer is relative to the records `without` memory."""
        return learning.summary(records, without)

    def validate(self, selection: Selection) -> Iterator[tuple[str, str]]:
        """Yield each task with the problems of the task or its repository, or an empty string if it can be graded."""
        for repository in self._repositories.values():
            found = problems(repository)
            for task in repository.tasks:
                own = [one for one in found if one.startswith((f"{task.id}:", f"{repository.name}:"))]
                yield task.id, "; ".join(own)

    @cached_property
    def _repositories(self) -> dict[str, SampleRepository]:
        return {repository.name: repository for repository in load_all(self._folder)}

    def _repository(self, step: Step) -> SampleRepository:
        try:
            return self._repositories[step.payload["sequence"]]
        except KeyError:
            raise DataError(f"{step.id} is not a task of {self._name}.", fix="Start a new run.") from None


def _chain(repository: SampleRepository) -> steps.Chain:
    tasks = tuple(
        steps.Task(
            Question(id=task.id, text=task.prompt, type=QuestionType.INFERENCE, answers=(task.gold,), category=_category(number)),
            task.prompt,
            {},
        )
        for number, task in enumerate(repository.tasks)
    )
    return steps.Chain(repository.name, repository.name, tasks)


def _patch(files: Mapping[str, str], agent: Path) -> str:
    """Return the agent's changes, or an empty string if the folder or git is missing."""
    if not agent.is_dir():
        return ""
    with tempfile.TemporaryDirectory(prefix="clean-") as scratch:
        clean = Path(scratch)
        write_files(clean, files)
        commit_all(clean)
        return change(agent, clean) if (clean / ".git").is_dir() else ""


def _category(number: int) -> str:
    """Return the category of a task. First tasks can be solved without memory, and later ones can't."""
    return "later" if number else "first"


def problems(repository: SampleRepository) -> list[str]:
    """List the problems of a `sample-code` repository, if any. All tests are run several times."""
    found = list(leaks(repository))
    for number, task in enumerate(repository.tasks):
        if outcome(repository, task, "") != 0.0:
            found.append(f"{task.id}: passes before any change")
        if outcome(repository, task, task.gold) != 1.0:
            found.append(f"{task.id}: does not pass after the gold patch")
        guess = task.gold.replace(*repository.guess)
        if guess == task.gold:
            found.append(f"{task.id}: the guess changes nothing")
        elif number and outcome(repository, task, guess) != 0.0:
            found.append(f"{task.id}: can be guessed")
    return found


def leaks(repository: SampleRepository) -> Iterator[str]:
    """List facts and gold patches that an agent could see without memory."""
    later = {task.id: task.prompt for task in repository.tasks[1:]}
    for need in repository.needs:
        if need not in repository.tasks[0].prompt:
            yield f"{repository.name}: the first task does not mention {need!r}"
        shown = {**later, **repository.files}
        yield from (f"{name}: tells {need!r}" for name, text in shown.items() if need.lower() in text.lower())
    for task in repository.tasks:
        added = {line[1:].strip() for line in task.gold.splitlines() if line.startswith("+") and len(line) > 30}
        yield from (f"{task.id}: the prompt contains a line of the gold patch" for line in added if line in task.prompt)


def outcome(repository: SampleRepository, task: SampleTask, patch: str) -> float | None:
    """Grade a task after applying a patch to the initial state. Return None if the patch can't be applied."""
    with tempfile.TemporaryDirectory(prefix="check-") as scratch:
        folder = Path(scratch) / repository.name
        folder.mkdir()
        write_files(folder, repository.files)
        if patch and not apply(folder, patch).ok:
            return None
        return grading.grade(folder, repository.visible_tests(), task.tests).value
