"""Whether tasks are sound: they fail before, pass after the gold patch, can't be guessed, and nothing leaks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from memeval.claudecode.coding import unittests
from memeval.claudecode.coding.checkout import apply, write_files
from memeval.claudecode.coding.sample import SampleRepository, SampleTask


def problems(repository: SampleRepository) -> list[str]:
    """What is wrong with a repository of `sample-code`; empty when it is sound. Runs all tests several times."""
    found = list(leaks(repository))
    for number, task in enumerate(repository.tasks):
        if outcome(repository, task, "") != 0.0:
            found.append(f"{task.id}: passes before anything is done")
        if outcome(repository, task, task.gold) != 1.0:
            found.append(f"{task.id}: does not pass after the gold patch")
        guess = task.gold.replace(*repository.guess)
        if guess == task.gold:
            found.append(f"{task.id}: the guess changes nothing")
        elif number and outcome(repository, task, guess) != 0.0:
            found.append(f"{task.id}: can be guessed")
    return found


def leaks(repository: SampleRepository) -> Iterator[str]:
    """What an agent could see of that which it has to remember, or of a gold patch."""
    later = {task.id: task.prompt for task in repository.tasks[1:]}
    for need in repository.needs:
        if need not in repository.tasks[0].prompt:
            yield f"{repository.name}: the first task does not tell {need!r}"
        shown = {**later, **repository.files}
        yield from (f"{name}: tells {need!r}" for name, text in shown.items() if need.lower() in text.lower())
    for task in repository.tasks:
        added = {line[1:].strip() for line in task.gold.splitlines() if line.startswith("+") and len(line) > 30}
        yield from (f"{task.id}: the prompt holds a line of the gold patch" for line in added if line in task.prompt)


def outcome(repository: SampleRepository, task: SampleTask, patch: str) -> float | None:
    """Value of a task after a patch to the start; None when the patch can't be applied."""
    with tempfile.TemporaryDirectory(prefix="check-") as scratch:
        folder = Path(scratch) / repository.name
        folder.mkdir()
        write_files(folder, repository.files)
        if patch and not apply(folder, patch).ok:
            return None
        return unittests.grade(folder, repository.visible_tests(), task.tests).value
