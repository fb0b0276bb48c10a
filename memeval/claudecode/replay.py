"""Writes a conversation as the log of a Claude Code session, which the client resumes and the plugin reads.

The log holds both sides' words with their own times. To resume it with one more prompt makes it a real session: hooks fire,
the model sees the whole conversation, and what ends is a log that the day dream reads as any other.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memeval.types import Session, Turn

CLOSING = "Thank you, that is all for this time."
"""The prompt that is added to a replayed conversation, the same in every arm."""
_NAMESPACE = uuid.UUID("6f0a1e52-3c0b-4d6e-9a57-0c5d8f5c2b11")
_NO_TIME = datetime(2024, 1, 1, 12, tzinfo=UTC)


def stable_id(*parts: str) -> str:
    """A UUID that is the same in every run: ids of sessions and lines decide ids of memories."""
    return str(uuid.uuid5(_NAMESPACE, "\0".join(parts)))


def write_log(session: Session, session_id: str, folder: Path, cwd: Path, version: str, *, number: int = 0) -> Path:
    """The session's log in the client's folder for `cwd`. `number` orders sessions without a date, a day apart."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session_id}.jsonl"
    lines = _lines(session, session_id, cwd, version, number)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return path


def _lines(session: Session, session_id: str, cwd: Path, version: str, number: int) -> Iterator[dict[str, Any]]:
    parent: str | None = None
    start = session.at or _NO_TIME + timedelta(days=number)
    for place, turn in enumerate(session.turns):
        own = stable_id(session_id, str(place))
        said = turn.at if turn.at and turn.at != session.at else start + timedelta(seconds=20 * place)
        yield {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": str(cwd),
            "sessionId": session_id,
            "version": version,
            "gitBranch": "",
            "type": turn.role,
            "message": _message(turn, own),
            "uuid": own,
            "timestamp": _utc(said),
        }
        parent = own


def _message(turn: Turn, own: str) -> dict[str, Any]:
    if turn.role == "user":
        return {"role": "user", "content": turn.text}
    return {
        "id": f"msg_{own}",
        "type": "message",
        "role": "assistant",
        "model": "replayed",
        "content": [{"type": "text", "text": turn.text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _utc(moment: datetime) -> str:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
