"""SWE-ContextBench: SWE-bench tasks that can benefit from experience with related tasks.

Tasks are SWE-bench records (a folder of .json files, an array or lines). In a clone of the official repository, they
are in `cases`, by subset: 99 in lite, 166 in verified (19 of which are also in lite), 111 in multilingual, and 357 in
full, which is the union. Experience is stored separately, in a file of records `{instance_id, messages | transcript,
summary, related_to}` or a folder of Claude Code logs. The repository has such logs for the 300 base tasks of lite.
The first prompt of a log mentions its task, and the single broken line is skipped. The conditions are none, free (all
experience can be searched) and oracle (only experience with related tasks). Free and oracle use full transcripts or
summaries. Related tasks are listed in the records or in a file `{task: [base tasks]}` given by the option
`relations`. The repository doesn't include these relations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

import orjson

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, RawTurn, build_session, data_files, file_records, role_of
from memeval.benchmarks.reading import Field, load_json
from memeval.benchmarks.swe import TASK, task_question
from memeval.core.errors import ConfigError, DataError
from memeval.core.types import Case

SUBSETS = {
    "lite": "SWEContextBench Lite",
    "verified": "SWEContextBench Verified",
    "multilingual": "SWEContextBench Multilingual",
    "full": "SWEContextBench Full",
}
"""Folders of the official repository."""
PAST = "SWEContextBench Lite Past Experience"
CONDITIONS = ("none", "free-full", "free-summary", "oracle-full", "oracle-summary")


@registry.benchmark_loader("swe-contextbench")
class SweContextBench(FileBenchmark):
    """Reads SWE-ContextBench.

    The options are `condition`, `subset` (of a clone), `experience` (a file or folder) and `relations`. Paths are relative to
    the data.
    """

    OPTIONS = {"condition": "none", "experience": "", "subset": "full", "relations": ""}

    def files(self) -> list[Path]:
        """Return the task file and, if used, the files of experience and relations."""
        return [*self._tasks(), *(self._experience_files() if self._condition != "none" else [])]

    def _tasks(self) -> list[Path]:
        if (cases := self._official) is not None:
            return data_files(cases / SUBSETS[self._subset], (".json",))
        apart = {self._folder / str(self.options[key]) for key in ("experience", "relations") if self.options[key]}
        return [path for path in super().files() if apart.isdisjoint((path, *path.parents))]

    @property
    def _official(self) -> Path | None:
        """Return the folder with the subsets if the data is a clone of the repository."""
        places = (self.source, self.source / "cases")
        return next((place for place in places if any((place / name).is_dir() for name in SUBSETS.values())), None)

    @property
    def _subset(self) -> str:
        subset = str(self.options["subset"])
        if subset not in SUBSETS:
            where = self.spec.origin.where("options.subset")
            raise ConfigError(f"{where}: there is no subset {subset!r}.", fix=f"Known: {', '.join(SUBSETS)}.")
        return subset

    def _experience_files(self) -> list[Path]:
        place = self._experience_place
        named = self._folder / str(self.options["relations"]) if self.options["relations"] else None
        if named is not None and not named.is_file():
            raise DataError(f"{self.name}: there is no {named}.", fix="Correct options.relations.")
        found = data_files(place, (".jsonl",)) if place.is_dir() else [place]
        return [*found, *([named] if named else [])]

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
    def _experience_place(self) -> Path:
        official = self._official
        named = str(self.options["experience"])
        path = self._folder / named if named or official is None else official / PAST
        if not (named or official) or not path.exists():
            raise DataError(
                f"{self.name}: condition {self._condition} requires transcripts, but there is no file {path}.",
                fix="Set options.experience to it, or use condition none.",
            )
        return path

    @cached_property
    def _experience(self) -> dict[str, Field]:
        place = self._experience_place
        if place.is_file():
            return {record["instance_id"].filled(): record for record in file_records(place, "instance_id")}
        logs = (_log(path) for path in data_files(place, (".jsonl",)))
        return {record["instance_id"].filled(): record for record in logs}

    @cached_property
    def _relations(self) -> Mapping[str, set[str]]:
        if not self.options["relations"]:
            return {}
        path = self._folder / str(self.options["relations"])
        whole = Field(load_json(path), str(path), "1")
        return {task: {item.filled() for item in field.items()} for task, field in whole.fields()}

    def _case(self, record: Field) -> Case:
        name = record["instance_id"].filled()
        condition = self._condition
        if condition == "none" or not self._experience:
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
        """Return the related tasks listed by the task or by an experience record."""
        own = record["related_tasks"]
        related = {field.filled() for field in own.decoded().items()} if own.present else set()
        for other, experience in self._experience.items():
            to = experience["related_to"]
            if to.present and name in [field.filled() for field in to.decoded().items()]:
                related.add(other)
        return (related | self._relations.get(name, set())) - {name}


def _repository(record: Field, name: str) -> str:
    """Return the repository as the group of the task, or the task's own name if the repository is unknown."""
    return record["repo"].scalar() if record["repo"].present else name


_TASK = re.compile(r"instance_id:\s{0,9}([\w.-]{1,200})")


def _log(path: Path) -> Field:
    """Convert a session log to an experience record with the transcript and the task mentioned in the first prompts."""
    name = ""
    messages: list[dict[str, str]] = []
    for line in _lines(path):
        if line["isSidechain"].value is True or not line["message"].present:
            continue
        role = line["message"]["role"]
        if not role.present:
            continue
        text = _text_of(line["message"]["content"])
        if not name and role.value == "user" and (match := _TASK.search(text)):
            name = match[1]
        if text.strip():
            messages.append({"role": "tool" if _is_result(line["message"]["content"]) else role.filled(), "content": text})
    if not name:
        raise DataError(
            f"{path}: no prompt mentions its task (instance_id: …).", fix="Leave this log out, or add its task to a prompt."
        )
    return Field({"instance_id": name, "messages": messages}, str(path), name)


def _lines(path: Path) -> Iterator[Field]:
    """Yield the lines of a log that are JSON objects."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # This line was truncated when the log was published.
            if isinstance(value, dict):
                yield Field(value, str(path), str(number))


def _is_result(content: Field) -> bool:
    """Return whether a message with the role user is a tool result."""
    blocks = content.value if isinstance(content.value, list) else []
    return any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


def _text_of(content: Field) -> str:
    """Return the text, tool calls and results of a message in the client's log. A plain message is a string."""
    if not isinstance(content.value, list):
        return content.text() if content.present else ""
    parts = []
    for block in content.items():
        for key in ("text", "content", "input"):
            value = block[key].value if isinstance(block.value, dict) else None
            if isinstance(value, str):
                parts.append(value)
            elif isinstance(value, dict | list):
                parts.append(json.dumps(value, ensure_ascii=False))
    return "\n".join(parts)


def _experience_turns(record: Field, form: str) -> Iterator[RawTurn]:
    if form == "summary":
        if not record["summary"].present:
            raise record["summary"].error("a summary, which session logs don't have; use a condition with full transcripts")
        yield RawTurn("assistant", record["summary"].filled())
    elif record["messages"].present:
        for message in record["messages"].items():
            yield RawTurn(role_of(message["role"]), message["content"].text())
    else:
        yield RawTurn("assistant", record["transcript"].filled())
