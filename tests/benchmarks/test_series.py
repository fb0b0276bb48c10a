"""The series tool gives a session the memories of the previous sessions, as the hooks would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.series import given_in, main


def log(folder: Path, name: str, *prompts: str) -> Path:
    lines = [
        {
            "type": "user",
            "uuid": f"{name}-{number}",
            "sessionId": name,
            "cwd": "/shop",
            "timestamp": f"2026-05-0{number + 1}T10:00:00Z",
            "message": {"role": "user", "content": text},
        }
        for number, text in enumerate(prompts)
    ]
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_last_session_is_given_memories_of_the_earlier_ones_only(tmp_path: Path) -> None:
    first, second = log(tmp_path, "one", "Set up the queue."), log(tmp_path, "two", "Deploy the shop.")
    memories = [
        {"session": "one", "content": "The queue runs on Redis 7 at port 6380.", "kind": "environment"},
        {"session": "two", "content": "The shop is deployed by hand.", "kind": "fact"},
    ]
    rows = given_in(memories, [first, second])
    assert [(row["session"], row["content"], row["context"]) for row in rows] == [
        ("two", "The queue runs on Redis 7 at port 6380.", "at the start")
    ]


def test_a_series_of_one_session_is_refused(tmp_path: Path) -> None:
    memories = tmp_path / "memories.json"
    memories.write_text("[]")
    with pytest.raises(SystemExit):
        main([str(memories), str(log(tmp_path, "one", "Hello there."))])
