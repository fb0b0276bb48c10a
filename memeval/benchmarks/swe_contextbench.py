"""SWE-ContextBench: SWE-bench tasks that can profit from the experience of related ones.

Tasks are SWE-bench records (a folder of .json files, an array or lines). Experience comes apart, in a file of records
`{instance_id, messages | transcript, summary, related_to}`. Its conditions: none; free (all experience can be searched)
or oracle (only that of related tasks), each with full transcripts or summaries.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, Said, build_session, file_records, role_of
from memeval.benchmarks.reading import Field
from memeval.benchmarks.swe import TASK, task_question
from memeval.core.errors import ConfigError, DataError
from memeval.core.types import Case

CONDITIONS = ("none", "free-full", "free-summary", "oracle-full", "oracle-summary")


@registry.benchmark_loader("swe-contextbench")
class SweContextBench(FileBenchmark):
    """Options: `condition` (see above) and `experience`, the file with transcripts, relative to the data."""

    OPTIONS = {"condition": "none", "experience": ""}

    def files(self) -> list[Path]:
        """The tasks and, if one is used, the experience file."""
        return [*self._tasks(), *([self._experience_file] if self._condition != "none" else [])]

    def _tasks(self) -> list[Path]:
        wanted = self._folder / str(self.options["experience"]) if self.options["experience"] else None
        return [path for path in super().files() if path != wanted]

    def _cases(self) -> Iterator[Case]:
        for path in self._tasks():
            for record in file_records(path, "instance_id"):
                yield self._case(record)

    @property
    def _folder(self) -> Path:
        return self.source if self.source.is_dir() else self.source.parent

    @property
    def _condition(self) -> str:
        condition = str(self.options["condition"])
        if condition not in CONDITIONS:
            where = self.spec.origin.where("options.condition")
            raise ConfigError(f"{where}: there is no condition {condition!r}.", fix=f"Known: {', '.join(CONDITIONS)}.")
        return condition

    @property
    def _experience_file(self) -> Path:
        path = self._folder / str(self.options["experience"])
        if not self.options["experience"] or not path.is_file():
            raise DataError(
                f"{self.name}: condition {self._condition} needs transcripts, but there is no file {path}.",
                fix="Name it in options.experience, or use condition none.",
            )
        return path

    @cached_property
    def _experience(self) -> dict[str, Field]:
        return {record["instance_id"].filled(): record for record in file_records(self._experience_file, "instance_id")}

    def _case(self, record: Field) -> Case:
        name = record["instance_id"].filled()
        condition = self._condition
        if condition == "none":
            return Case(
                name,
                (),
                (task_question(record, self.type_of(record, TASK)),),
                {"condition": condition, "cluster": _repository(record, name)},
            )
        mode, _, form = condition.partition("-")
        related = self._related(record, name)
        chosen = [other for other in self._experience if other != name and (mode == "free" or other in related)]
        sessions = tuple(
            build_session(number, _experience_turns(self._experience[other], form), source_id=other)
            for number, other in enumerate(chosen, start=1)
        )
        evidence = tuple(session.id for session in sessions if session.source_id in related)
        missing = tuple(sorted(related - set(self._experience)))
        extra = {"unresolved_evidence": missing} if missing else {}
        return Case(
            name,
            sessions,
            (task_question(record, self.type_of(record, TASK), evidence, extra),),
            {"condition": condition, "cluster": _repository(record, name)},
        )

    def _related(self, record: Field, name: str) -> set[str]:
        """Tasks related by the task's own list, or by that of an experience."""
        own = record["related_tasks"]
        related = {field.filled() for field in own.decoded().items()} if own.present else set()
        for other, experience in self._experience.items():
            to = experience["related_to"]
            if to.present and name in [field.filled() for field in to.decoded().items()]:
                related.add(other)
        return related - {name}


def _repository(record: Field, name: str) -> str:
    """Tasks of one repository are alike; the task's own name where none is told."""
    return record["repo"].scalar() if record["repo"].present else name


def _experience_turns(record: Field, form: str) -> Iterator[Said]:
    if form == "summary":
        yield Said("assistant", record["summary"].filled())
    elif record["messages"].present:
        for message in record["messages"].items():
            yield Said(role_of(message["role"]), message["content"].text())
    else:
        yield Said("assistant", record["transcript"].filled())
