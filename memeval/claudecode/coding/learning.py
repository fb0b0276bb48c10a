"""Compute metrics of continual learning from the records of a cell, such as resolve rate, transfer and forgetting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from memeval.claudecode.contract import StepKind, StepRecord
from memeval.metrics.continual import Attempt, continual
from memeval.metrics.usage import total_usage

SOURCE = "SWE-Bench-CL (Joshi et al. 2025), paper, section 7, all weights 1"


def summary(records: Sequence[StepRecord], without: Sequence[StepRecord] = ()) -> dict[str, Any]:
    """Return the metrics of a cell as plain JSON values.

    Forward transfer is computed against `without`, the records of the same tasks without memory.
    """
    tasks = [record for record in records if record.step.kind is StepKind.TASK]
    calls = [call for record in tasks for call in record.result.tool_calls]
    errors = sum(call.is_error for call in calls)
    off = {attempt.task: attempt.value for attempt in attempts(without) if not attempt.again}
    found = continual(attempts(tasks), off)
    made = asdict(found)
    made["curve"] = {str(position): value for position, value in found.curve.items()}
    return {
        "continual": made | {"source": SOURCE},
        "tasks": _counts(tasks),
        "ungraded": _ungraded(tasks),
        "tool_calls": {"total": len(calls), "errors": errors},
        "usage": asdict(total_usage(record.result.usage for record in tasks)),
        "seconds": sum(record.result.seconds for record in tasks),
    }


def attempts(records: Iterable[StepRecord]) -> list[Attempt]:
    """Return all attempts at tasks, including unscored ones."""
    return [
        Attempt(
            record.sequence_id,
            payload["task"],
            payload["position"],
            value_of(record),
            bool(payload["again"]),
            record.result.seconds or None,
        )
        for record in records
        if record.step.kind is StepKind.TASK and _is_task(payload := record.step.payload)
    ]


def _ungraded(records: Iterable[StepRecord]) -> dict[str, str]:
    """Return the tasks whose session was completed but could not be graded, with the reasons."""
    return {
        record.step.id: record.scores[0].reason
        for record in records
        if record.result.ok and record.scores and record.scores[0].value is None
    }


def value_of(record: StepRecord) -> float | None:
    """Return the main score of a record."""
    return record.scores[0].value if record.scores else None


def _is_task(payload: Mapping[str, Any]) -> bool:
    return "task" in payload and "position" in payload and "again" in payload


def _counts(records: Sequence[StepRecord]) -> dict[str, int]:
    values = [value_of(record) for record in records if not record.step.payload.get("again")]
    return {
        "total": len(values),
        "resolved": sum(value == 1.0 for value in values),
        "failed": sum(value is not None and value < 1.0 for value in values),
        "unscored": sum(value is None for value in values),
    }
