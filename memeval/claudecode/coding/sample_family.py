"""`sample-code`: runs anywhere, needs nothing that has to be downloaded, and shows the whole path in minutes.

What the first task of a sequence tells is needed by the three that follow, and stands nowhere in the repository. Each task
starts from the same files, so a task's result does not depend on what became of those before it, only on what is remembered.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from memeval.claudecode.coding import learning, sample, steps, unittests
from memeval.claudecode.coding.checkout import commit_all, empty, write_files
from memeval.claudecode.contract import Need, SessionResult, Step, StepRecord, StepSequence
from memeval.claudecode.families import FamilyOptions, family
from memeval.claudecode.leaks import came_upon
from memeval.errors import DataError
from memeval.run.settings import Selection
from memeval.types import Question, QuestionType, Score

NAME = "sample-code"
OPTIONS: Mapping[str, Any] = {"again": False, "test_timeout": 60.0}


@family(NAME)
class SampleCode:
    """Options: `again` asks all but the last task once more at the end (for forgetting), `test_timeout` in seconds."""

    def __init__(self, name: str, options: FamilyOptions) -> None:
        self._name = name
        self._folder = options.data or sample.DATA
        self._options = steps.read_options(options.options, OPTIONS, name)

    @staticmethod
    def known_options(name: str, options: FamilyOptions) -> frozenset[str]:
        """Names of the options."""
        return frozenset(OPTIONS)

    @property
    def name(self) -> str:
        """Name of the benchmark."""
        return self._name

    def needs(self) -> Sequence[Need]:
        """Git is used where it is there."""
        return [Need("git (optional)", shutil.which("git") is not None, "Install git, so that checkouts have a history.")]

    def about(self) -> Mapping[str, Any]:
        """Hash of the data, counts, licence."""
        tasks = sum(len(repository.tasks) for repository in self._repositories.values())
        return {
            "name": self._name,
            "display_name": "Sample repositories",
            "description": "Five tiny repositories; what the first task tells is needed by the three that follow.",
            "data_hash": sample.data_hash(self._folder),
            "cases": len(self._repositories),
            "questions": tasks,
            "licence": "MIT",
            "citation": "Written for memeval.",
            "options": dict(self._options),
        }

    def sequences(self, selection: Selection) -> Iterator[StepSequence]:
        """A sequence for each repository."""
        chains = (_chain(repository) for repository in self._repositories.values())
        return steps.sequences(chains, selection, self._options["again"])

    def prepare(self, step: Step, work: Path) -> None:
        """The repository as it is at the start of each task, with one commit."""
        folder = work / step.folder
        empty(folder)
        write_files(folder, self._repository(step).files)
        commit_all(folder)

    def grade(self, step: Step, result: SessionResult, work: Path) -> Sequence[Score]:
        """Resolved when the hidden tests and the repository's own pass."""
        if why := steps.failed_session(result) or came_upon(result, [self._folder]):
            return steps.unscored(why)
        repository = self._repository(step)
        task = next(task for task in repository.tasks if task.id == step.payload["task"])
        timeout = self._options["test_timeout"]
        verdict = unittests.grade(work / step.folder, repository.visible_tests(), task.tests, timeout=timeout)
        return [Score(steps.RESOLVED, verdict.value, verdict.reason, steps.JUDGE)]

    def summary(self, records: Sequence[StepRecord], without: Sequence[StepRecord] = ()) -> Mapping[str, Any]:
        """Metrics of continual learning; forward transfer is against the records `without` memory."""
        return learning.summary(records, without)

    @cached_property
    def _repositories(self) -> dict[str, sample.SampleRepository]:
        return {repository.name: repository for repository in sample.load_all(self._folder)}

    def _repository(self, step: Step) -> sample.SampleRepository:
        try:
            return self._repositories[step.payload["sequence"]]
        except KeyError:
            raise DataError(f"{step.id} is no task of {self._name}.", fix="Start the run anew.") from None


def _chain(repository: sample.SampleRepository) -> steps.Chain:
    tasks = tuple(
        steps.Task(
            Question(id=task.id, text=task.prompt, type=QuestionType.INFERENCE, answers=(task.gold,), category=_category(number)),
            task.prompt,
            {},
        )
        for number, task in enumerate(repository.tasks)
    )
    return steps.Chain(repository.name, repository.name, tasks)


def _category(number: int) -> str:
    """First tasks can be solved without memory, later ones can't: reports show them apart."""
    return "later" if number else "first"
