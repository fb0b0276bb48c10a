"""SWE-Bench-CL: eight sequences of SWE-bench tasks. Each sequence is from one repository, in chronological order.

A case is one task. Its memory contains the issues and patches of earlier tasks in the sequence, but nothing about the task
itself or later tasks. The evidence consists of the task's dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, build_session
from memeval.benchmarks.reading import Field, load_json
from memeval.benchmarks.swe import TASK, created, solved, task_question
from memeval.core.types import Case

_PARTS = ("metadata", "task", "evaluation")


@registry.benchmark_loader("swe-bench-cl")
class SweBenchCl(FileBenchmark):
    """Reads `SWE-Bench-CL.json`, which has the form `{sequences: [{id, repo, tasks: [...]}]}`.

    The option `window` is the number of most recent tasks to keep, or 0 for all.
    """

    OPTIONS = {"window": 0}

    def _cases(self) -> Iterator[Case]:
        for path in self.files():
            for sequence in Field(load_json(path), str(path), "1")["sequences"].items():
                name = sequence["id"].filled()
                tasks = sorted(map(_flat, sequence["tasks"].items()), key=_position)
                for index in range(len(tasks)):
                    yield self._case(name, tasks, index)

    def _case(self, sequence: str, tasks: Sequence[Field], index: int) -> Case:
        start = max(0, index - self.options["window"]) if self.options["window"] else 0
        sessions = tuple(
            build_session(number, solved(task), created(task["created_at"]), task["instance_id"].filled())
            for number, task in enumerate(tasks[start:index], start=1)
        )
        task = tasks[index]
        learning = task["continual_learning"]
        wanted = [field.scalar() for field in learning["dependencies"].items()] if learning["dependencies"].present else []
        evidence = tuple(session.id for session in sessions if session.source_id in wanted)
        missing = tuple(name for name in wanted if name not in {session.source_id for session in sessions})
        extra = {"sequence": sequence, "continual_learning": learning.value}
        if missing:
            extra["unresolved_evidence"] = missing
        question = task_question(task, self.type_of(task, TASK), evidence, extra)
        return Case(question.id, sessions, (question,), {"sequence": sequence, "cluster": sequence, "position": _position(task)})


def _flat(task: Field) -> Field:
    """Merge `metadata`, `task` and `evaluation` into one level. A task that is already flat is returned unchanged."""
    merged = dict(task.mapping())
    for part in _PARTS:
        if isinstance(merged.get(part), dict):
            merged |= merged[part]
    return Field(merged, task.file, task.record, task.path)


def _position(task: Field) -> int:
    return task["continual_learning"]["sequence_position"].integer()
