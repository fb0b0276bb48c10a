"""LongMemEval-V2 (text only): questions about web environments, with a history of agent trajectories.

The official folder contains `questions.jsonl`, `trajectories.jsonl` and `haystacks/lme_v2_small.json` (or `_medium`).
A trajectory becomes a session with the goal, the address, thought, action and page text of each state, and finally
the outcome. Long page texts are split into pieces of `state_words`. Questions with the same haystack share a scope.
Screenshots and questions with screenshots are omitted, because images aren't supported. The gold doesn't refer to
trajectories, so there are no retrieval metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, RawTurn, build_session, file_records, passages
from memeval.benchmarks.reading import Field, load_json
from memeval.core.errors import ConfigError, DataError
from memeval.core.longmemeval_v2 import parse_function
from memeval.core.types import Case, Question, Session

TIERS = ("small", "medium")
DOMAINS = ("", "web", "enterprise")


@registry.benchmark_loader("longmemeval-v2")
class LongMemEvalV2(FileBenchmark):
    """Reads LongMemEval-V2.

    The option `tier` is small or medium. `domain` is web or enterprise, and both are read by default. `state_words`
    is the length of a page piece in words, or 0 for whole pages.
    """

    OPTIONS = {"tier": "small", "domain": "", "state_words": 400}

    def files(self) -> list[Path]:
        """Return the files of the questions, the trajectories and the tier's haystacks."""
        if self.options["tier"] not in TIERS or self.options["domain"] not in DOMAINS:
            key = "domain" if self.options["tier"] in TIERS else "tier"
            known = ", ".join(filter(None, DOMAINS if key == "domain" else TIERS))
            raise ConfigError(f"{self.spec.origin.where(f'options.{key}')} is {self.options[key]!r}.", fix=f"Known: {known}.")
        root = self.source if self.source.is_dir() else self.source.parent
        paths = [root / "questions.jsonl", root / "trajectories.jsonl", root / f"haystacks/lme_v2_{self.options['tier']}.json"]
        if lost := [path for path in paths if not path.is_file()]:
            raise DataError(f"{self.name}: there is no {lost[0]}.", fix=self.spec.source.instructions)
        return paths

    def _cases(self) -> Iterator[Case]:
        questions, _, haystacks = self.files()
        needed = Field(load_json(haystacks), str(haystacks), "1")
        groups: dict[tuple[str, ...], list[Question]] = {}
        for record in file_records(questions, "id"):
            domain = record["domain"].filled()
            if record["image"].present or self.options["domain"] not in ("", domain):
                continue
            name = record["id"].filled()
            haystack = needed[name]
            if not haystack.present:
                raise haystack.error("the trajectories of the question")
            key = (domain, *(item.filled() for item in haystack.items()))
            groups.setdefault(key, []).append(self._question(name, record, domain))
        for number, ((domain, *ids), asked) in enumerate(groups.items(), start=1):
            sessions = tuple(self._session(index, name) for index, name in enumerate(ids, start=1))
            yield Case(f"{self.options['tier']}:{domain}:{number}", sessions, tuple(asked), {"cluster": domain})

    def _question(self, name: str, record: Field, domain: str) -> Question:
        function = record["eval_function"]
        try:
            parse_function(function.filled())
        except ValueError as error:
            raise function.error(f"an evaluation function ({error})") from error
        kind = record["question_type"].filled()
        return Question(
            id=name,
            text=record["question"].filled(),
            type=self.type_of(record["question_type"]),
            answers=(_gold(record["answer"]),),
            category=kind,
            metadata={"eval_function": function.filled(), "domain": domain},
        )

    def _session(self, number: int, name: str) -> Session:
        record = self._trajectory(name)
        return build_session(number, self._said(record), source_id=name)

    def _said(self, record: Field) -> Iterator[RawTurn]:
        yield RawTurn("user", record["goal"].text() if record["goal"].present else "")
        for state in record["states"].items():
            shown = {key: state[key].scalar() for key in ("url", "thought", "thoughts", "action") if state[key].present}
            head = "\n".join(f"{key.removesuffix('s')}: {value}" for key, value in shown.items() if value.strip())
            page = state["accessibility_tree"] if state["accessibility_tree"].present else state["text"]
            text = page.text() if page.present else ""
            words = self.options["state_words"]
            pieces = list(passages(text, words)) if words and text.strip() else [text]
            yield RawTurn("assistant", f"{head}\n{pieces[0]}".strip())
            yield from (RawTurn("assistant", f"{shown.get('url', '')}\n{piece}".strip()) for piece in pieces[1:])
        if record["outcome"].present:
            yield RawTurn("assistant", f"outcome: {record['outcome'].scalar()}")

    def _trajectory(self, name: str) -> Field:
        path = self.files()[1]
        if name not in self._places:
            raise DataError(f"{path} has no trajectory {name!r}, which a haystack refers to.", fix="Download the files again.")
        number, start = self._places[name]
        with path.open("rb") as file:
            file.seek(start)
            return Field(orjson.loads(file.readline()), str(path), f"{number} ({name})")

    @cached_property
    def _places(self) -> Mapping[str, tuple[int, int]]:
        """Return the line number and byte offset of each trajectory. The file is too large to hold in memory."""
        path = self.files()[1]
        places: dict[str, tuple[int, int]] = {}
        start = 0
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    places[_id(line, path, number)] = number, start
                start += len(line)
        return places


def _id(line: bytes, path: Path, number: int) -> str:
    try:
        value: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: record {number} is not JSON: {error}", fix="Download the file again.") from error
    return Field(value, str(path), str(number))["id"].filled()


def _gold(field: Field) -> str:
    """Return the gold answer. A list is joined with commas, because the matching functions split at commas."""
    if isinstance(field.value, list):
        return ", ".join(item.scalar() for item in field.items())
    return field.scalar()
