"""Timeline and sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.memoryd.console.console_client import Console, unhurt

HOSTILE = '<script>alert(1)</script> "><img src=x onerror=alert(1)> {{ 7777777*7 }}'
HEAD = {
    "session": "s1-hostile",
    "title": HOSTILE,
    "project": HOSTILE,
    "project_name": HOSTILE,
    "last": "2026-01-02T10:00:00Z",
    "bytes_read": 900,
    "turns": 3,
}
HEAD |= {"kept": 1, "known": 1, "skipped": {HOSTILE: 4}, "failed": HOSTILE, "extractor": "openai", "model": HOSTILE, "calls": 2}
HEAD |= {
    "tokens": 1200,
    "given": {"tokens": 540, "memories": 7, "cited": 2},
    "cost_usd": 0.0123,
    "off": False,
    "cwd": HOSTILE,
    "transcript": HOSTILE,
    "started_at": "",
    "ended_at": "",
}
RUN = {
    "id": 5,
    "at": "2026-01-02T10:00:00Z",
    "start": 0,
    "stop": 900,
    "turns": 3,
    "extractor": "openai",
    "model": HOSTILE,
    "error": "",
}
RUN |= {"usage": {"calls": 2, "input_tokens": 1000, "output_tokens": 200, "cost_usd": 0.0123}}


def statement(outcome: str, **more: int | str) -> dict[str, Any]:
    made = {"outcome": outcome, "reason": HOSTILE, "text": f"{outcome} {HOSTILE}", "memory": "", "kind": "fact", "source": "user"}
    return made | {"line": 3, "said_at": "", "run": 5} | more


REPORT = HEAD | {
    "kept_statements": [statement("kept", memory="mem_000000000001", line=9)],
    "proposed_statements": [statement("proposed", memory="mem_000000000003")],
    "known_statements": [statement("known")],
    "refused_statements": [statement("refused", line=1), statement("refused", run=4)],
    "injected": [{"id": "mem_000000000001", "at": "2026-01-02T09:00:00Z", "content": HOSTILE, "event": "SessionStart"}],
    "used": [{"id": "mem_000000000002", "at": "2026-01-02T09:00:00Z", "content": "", "how": "cited"}],
    "given_by_event": {"SessionStart": 400, "PreToolUse": 140},
    "runs": [RUN],
}


def test_sessions_are_listed_by_day_for_the_project(console: Console) -> None:
    console.answers["sessions"] = {"sessions": [HEAD], "left_out": 7}
    text = unhurt(console.get("/sessions", project="shop"))
    assert "2026-01-02</h2>" in text and "1 kept" in text and "4 skipped" in text and "1,200 tokens, $0.0123" in text
    assert "given 540 tokens, cited 2 of 7" in text
    assert console.asked("sessions") == [{"limit": 50, "project": "shop"}]
    assert "limit=150" in text


def test_a_session_replays_each_decision_with_those_that_were_refused(console: Console) -> None:
    console.answers["session_report"] = REPORT
    text = unhurt(console.get("/sessions/s1-hostile"))
    replay = [text.index(part) for part in ("Day dream of 2026-01-02", "line 1<", "line 3<", "line 9<", "Earlier")]
    assert replay == sorted(replay)
    assert "mem_000000000002 was deleted" in text and "Injected" in text and "/memories/mem_000000000001" in text
    refused = unhurt(console.get("/sessions/s1-hostile", outcome="refused"))
    assert "refused &lt;script" in refused and "kept &lt;script" not in refused
    assert console.get("/sessions/s1-hostile", outcome="x").status_code == 400


def test_what_memory_learnt_is_shown_by_day(console: Console) -> None:
    event = {"at": "2026-01-02T10:00:00Z", "change": "learnt", "id": "mem_000000000001", "content": HOSTILE, "kind": "fact"}
    event |= {"status": "active", "created_at": "2026-01-02T10:00:00Z", "source": "user"}
    console.answers["timeline"] = {"events": [event], "left_out": 1}
    text = unhurt(console.get("/sessions/changes", topic="mail", after="2026-01-01"))
    assert "2026-01-02</h2>" in text and "learnt" in text and "Older" in text
    assert console.asked("timeline")[0] == {"project": "all", "k": 100, "topic": "mail", "after": "2026-01-01"}
    assert console.get("/sessions/changes", after="yesterday").status_code == 400


@pytest.mark.parametrize("path", ["/sessions", "/sessions/changes", "/dreams", "/settings"])
def test_an_empty_store_says_so(real_console: Console, path: str) -> None:
    answer = real_console.get(path)
    assert answer.status_code == 200
    assert 'class="empty"' in answer.text


def test_a_real_session_is_read_and_can_be_switched_off(real_console: Console, tmp_path: Path) -> None:
    line = {"type": "user", "uuid": "u1", "sessionId": "s1", "cwd": str(tmp_path), "timestamp": "2026-01-01T00:00:00Z"}
    line |= {"message": {"role": "user", "content": "Always run make check before a commit. Could you look at it?"}}  # type: ignore[dict-item]
    path = tmp_path / "s1.jsonl"
    path.write_bytes(orjson.dumps(line) + b"\n")
    payload = {"session_id": "s1", "cwd": str(tmp_path), "transcript_path": str(path), "source": "startup"}
    real_console.api.warm()
    real_console.api.hook("SessionStart", payload, {})
    real_console.api.call("daydream", {})
    real_console.api.tick()
    text = real_console.get("/sessions/s1").text
    assert "Always run make check before a commit." in text and "line 1<" in text
    real_console.post("/sessions/s1", memory="off")
    assert "Switch on for this session" in real_console.get("/sessions/s1").text
    assert real_console.get("/sessions/unknown").status_code == 404
