"""Shared parts of the coding benchmarks: the fields of SWE-bench, and sessions that describe a solved task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from memeval.benchmarks.base import RawTurn
from memeval.benchmarks.reading import Field, read_date
from memeval.core.types import EMPTY, Question, QuestionType

_KEPT = ("repo", "base_commit", "version", "detected_version", "environment_setup_commit", "difficulty", "language")
TASK = "task"
"""The only question category of these benchmarks."""


def tests(field: Field) -> tuple[str, ...]:
    """Read a list of tests, given as a list or as a string in JSON or Python notation."""
    if not field.present or field.value == "":
        return ()
    return tuple(test.text() for test in field.decoded().items())


def created(field: Field) -> datetime | None:
    """Return the creation time of the issue."""
    return read_date(field) if field.present and field.value != "" else None


def task_question(
    record: Field, kind: QuestionType, evidence: tuple[str, ...] = (), extra: Mapping[str, Any] = EMPTY
) -> Question:
    """Turn a task into a question. The issue is the question, and the gold patch is the answer."""
    name = record["instance_id"].filled()
    patch = record["patch"]
    return Question(
        id=name,
        text=record["problem_statement"].filled(),
        type=kind,
        answers=(patch.text(),) if patch.present and patch.text() else (),
        at=created(record["created_at"]),
        evidence_sessions=evidence,
        category=TASK,
        metadata={
            **{key: record[key].scalar() for key in _KEPT if record[key].present},
            "fail_to_pass": tests(record["FAIL_TO_PASS"]),
            "pass_to_pass": tests(record["PASS_TO_PASS"]),
            "test_patch": record["test_patch"].text() if record["test_patch"].present else "",
            **extra,
        },
    )


def solved(record: Field) -> Iterator[RawTurn]:
    """Yield the turns of a session that describes a finished task by its issue and the patch that closed it."""
    yield RawTurn("user", f"Task in {record['repo'].filled()}:\n{record['problem_statement'].filled()}")
    if record["patch"].present:
        yield RawTurn("assistant", f"This change solved it:\n{record['patch'].text()}")
