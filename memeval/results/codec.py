"""Convert values to JSON and back. Times are in ISO 8601. Keys are sorted, so equal values encode to equal bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memeval.core.types import Answer, Question, QuestionType, Retrieved, Score
from memoryd.core.types import Usage


def dumps(value: Any) -> str:
    """Encode a value as compact JSON with sorted keys. Raises ValueError for NaN."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Sequence | set | frozenset):
        return sorted(value) if isinstance(value, set | frozenset) else list(value)
    return str(value)


def _time(value: datetime | None) -> str | None:
    return value.isoformat() if value else None


def _read_time(value: str | None) -> datetime | None:
    return datetime.fromisoformat(value) if value else None


def question_to_json(question: Question) -> dict[str, Any]:
    """Convert all fields of a question, including the gold."""
    return {
        "id": question.id,
        "text": question.text,
        "type": str(question.type),
        "answers": list(question.answers),
        "at": _time(question.at),
        "evidence_sessions": list(question.evidence_sessions),
        "evidence_turns": list(question.evidence_turns),
        "category": question.category,
        "metadata": dict(question.metadata),
    }


def question_from_json(data: Mapping[str, Any]) -> Question:
    """Convert the output of `question_to_json` back to a question."""
    return Question(
        id=data["id"],
        text=data["text"],
        type=QuestionType(data["type"]),
        answers=tuple(data["answers"]),
        at=_read_time(data["at"]),
        evidence_sessions=tuple(data["evidence_sessions"]),
        evidence_turns=tuple(data["evidence_turns"]),
        category=data["category"],
        metadata=data["metadata"],
    )


def retrieved_to_json(piece: Retrieved) -> dict[str, Any]:
    """Convert all fields."""
    return {
        "text": piece.text,
        "score": piece.score,
        "sessions": list(piece.sessions),
        "turns": list(piece.turns),
        "at": _time(piece.at),
        "metadata": dict(piece.metadata),
    }


def retrieved_from_json(data: Mapping[str, Any]) -> Retrieved:
    """Convert the output of `retrieved_to_json` back to a retrieved passage."""
    return Retrieved(
        data["text"], data["score"], tuple(data["sessions"]), tuple(data["turns"]), _read_time(data["at"]), data["metadata"]
    )


def usage_to_json(usage: Usage) -> dict[str, Any]:
    """Convert all fields."""
    return {
        "calls": usage.calls,
        "cached_calls": usage.cached_calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
    }


def usage_from_json(data: Mapping[str, Any]) -> Usage:
    """Convert the output of `usage_to_json` back to a usage."""
    return Usage(**data)


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """Convert all fields of an answer except `seconds`, which is stored with the timings of the record."""
    return {
        "text": answer.text,
        "model": answer.model,
        "prompt_hash": answer.prompt_hash,
        "usage": usage_to_json(answer.usage),
        **({"confidence": answer.confidence} if answer.confidence is not None else {}),
        **({"withheld": answer.withheld} if answer.withheld else {}),
    }


def answer_from_json(data: Mapping[str, Any], seconds: float = 0.0) -> Answer:
    """Convert the output of `answer_to_json` back to an answer."""
    said = data.get("confidence"), data.get("withheld", "")
    return Answer(data["text"], data["model"], data["prompt_hash"], usage_from_json(data["usage"]), seconds, *said)


def score_to_json(score: Score) -> dict[str, Any]:
    """Convert all fields."""
    return {
        "metric": score.metric,
        "value": score.value,
        "reason": score.reason,
        "judge": score.judge,
        "usage": usage_to_json(score.usage),
    }


def score_from_json(data: Mapping[str, Any]) -> Score:
    """Convert the output of `score_to_json` back to a score."""
    return Score(data["metric"], data["value"], data["reason"], data["judge"], usage_from_json(data["usage"]))


def score_entry(name: str, value: float | None, reason: str) -> dict[str, Any]:
    """Return the stored form of a metric's value for a question, or of the reason why it has none."""
    status = "scored" if value is not None else "skipped"
    return {"metric": name, "value": value, "status": status, "reason": "" if value is not None else reason}
