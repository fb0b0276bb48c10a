"""Turn the answers of another program into a run.

The file has LongMemEval's JSONL format, with one {"question_id", "hypothesis"} object per line.

As in the official script, questions without a line count as failed rather than being skipped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memeval.core.errors import ConfigError, DataError
from memeval.core.types import Answer, Phase
from memeval.results.codec import answer_to_json
from memeval.results.store import Key, QuestionRow, Status
from memeval.run.checkpoint import Run
from memeval.run.plan import RunContext, choose_questions, make_judges, make_plan
from memeval.run.provider_subject import ProviderSubject
from memeval.run.settings import Settings
from memoryd.core.types import Usage

MISSING = "the file has no hypothesis for this question"


def as_id(name: str) -> str:
    """Convert the name of a system to the form used in run ids."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:60] or "hypotheses"


def read_hypotheses(path: Path) -> dict[str, str]:
    """Read the hypotheses by question id. Raises DataError with the number of the faulty line."""
    found: dict[str, str] = {}
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            question, text = _line(line, f"{path}:{number}")
            if question in found:
                raise DataError(f"{path}:{number}: question {question!r} already has a hypothesis.", fix="Remove one.")
            found[question] = text
    if not found:
        raise DataError(f"{path} contains no hypotheses.", fix='Each line is {"question_id": "…", "hypothesis": "…"}.')
    return found


def _line(line: bytes, where: str) -> tuple[str, str]:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where}: not valid JSON: {error}.", fix="Correct that line.") from None
    for field in ("question_id", "hypothesis"):
        if not isinstance(data, dict) or not isinstance(data.get(field), str):
            raise DataError(f"{where}: {field} is missing or not text.", fix="Correct that line.")
    return data["question_id"], data["hypothesis"]


class HypothesesSubject(ProviderSubject):
    """A subject for the answers of another program. Raises ConfigError, or DataError for a broken file."""

    def __init__(self, settings: Settings, context: RunContext, file: Path, system: str) -> None:
        plan = make_plan(settings, context.catalog)
        make_judges(plan, context)
        super().__init__(plan, context)
        self._file = file
        self._system = system
        self._given = read_hypotheses(file)

    def about(self) -> Mapping[str, Any]:
        """Describe the run, including the hash of the answer file."""
        digest = hashlib.sha256(self._file.read_bytes()).hexdigest()
        return {**super().about(), "hypotheses": {"system": self._system, "file": self._file.name, "sha256": digest}}

    def plan(self, run: Run) -> None:
        """Choose the questions and record their answers. Raises DataError if a line matches no question of the benchmark."""
        with run.store.transaction():
            choose_questions(run, self._plan, self.data(), self._context.stop)
            _fill(run, self._given, self._system)


def _fill(run: Run, given: dict[str, str], system: str) -> None:
    rows = run.store.questions()
    names = {row.question_id for row in rows} | {f"{row.case_id}/{row.question_id}" for row in rows}
    if unknown := sorted(given.keys() - names):
        raise DataError(
            f"The benchmark has no question {unknown[0]!r}.", fix="Give the benchmark that was answered (--benchmark)."
        )
    _check_clear(rows, given)
    for case_id in dict.fromkeys(row.case_id for row in rows):
        run.done(Key(Phase.INGEST, case_id), status=Status.SKIPPED)
    for row in rows:
        run.done(Key(Phase.SEARCH, row.case_id, row.question_id), status=Status.SKIPPED)
        text = given.get(f"{row.case_id}/{row.question_id}", given.get(row.question_id))
        key = Key(Phase.ANSWER, row.case_id, row.question_id)
        if text is None:
            run.done(key, status=Status.FAILED, error=MISSING)
        else:
            run.done(key, answer_to_json(Answer(text, system, "", Usage())))


def _check_clear(rows: list[QuestionRow], given: dict[str, str]) -> None:
    seen: set[str] = set()
    for row in rows:
        if row.question_id in given and row.question_id in seen:
            raise ConfigError(f"Several cases have a question {row.question_id!r}.", fix="Use case/question as its id.")
        seen.add(row.question_id)
