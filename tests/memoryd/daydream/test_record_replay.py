"""Answers of a model are recorded and replayed, and what would be sent can be read beforehand. Uses the command line."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from memoryd.cli.app import app
from memoryd.core.config import Settings
from memoryd.core.text import token_count
from memoryd.daydream.pipeline import requests
from tests.memoryd.llm.test_openai_llm import Endpoint
from tests.memoryd.llm.test_openai_llm import endpoint as endpoint

RULE = "Always run make check before a commit."
TOKEN = "ghp_0123456789abcdefABCDEF0123456789abcd"
ANSWER = {
    "content": RULE, "kind": "rule", "polarity": "do", "scope": "project", "evidence": [1], "importance": 3, "confidence": 0.9,
}  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "s1.jsonl"
    lines = [(f"{RULE} The token is {TOKEN}.", "user"), ("Understood.", "assistant")]
    entries = [
        {"type": role, "uuid": f"u{n}", "sessionId": "s1", "cwd": "/app", "message": {"role": role, "content": text}}
        for n, (text, role) in enumerate(lines)
    ]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


@pytest.fixture
def run(tmp_path: Path, endpoint: Endpoint, log: Path) -> Iterator[Any]:
    endpoint.text = json.dumps({"candidates": [ANSWER]})

    def command(*arguments: str, code: int = 0, url: str = "") -> Result:
        here = f"http://127.0.0.1:{endpoint.server_address[1]}/v1"
        environment = {
            **{name: "" for name in os.environ if name.endswith("_API_KEY")},
            "MEMORYD_HOME": str(tmp_path / "home"),
            "MEMORYD_OPENAI_BASE_URL": url or here,
        }
        result = CliRunner().invoke(app(), ["daydream", "--transcript", str(log), *arguments, "--json"], env=environment)
        assert result.exit_code == code, result.output
        return result

    yield command


def test_a_recorded_answer_is_replayed_without_the_model(run: Any, endpoint: Endpoint, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    recorded = json.loads(run("--reader", "endpoint", "--record", str(folder)).stdout)
    assert [entry["content"] for entry in recorded["candidates"]] == [RULE]
    endpoint.shutdown()
    replayed = json.loads(run("--reader", "endpoint", "--replay", str(folder)).stdout)
    assert replayed == recorded
    assert (replayed["model"], replayed["usage"]["calls"]) == ("m-1", 1)
    assert not (tmp_path / "home" / "memories").exists()


def test_a_recording_is_private_and_holds_what_was_sent_without_secrets(run: Any, endpoint: Endpoint, tmp_path: Path) -> None:
    run("--reader", "endpoint", "--record", str(tmp_path / "answers"))
    (path,) = (tmp_path / "answers").iterdir()
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["messages"] == endpoint.seen[0][1]["messages"]
    assert TOKEN not in path.read_text(encoding="utf-8")
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_printed_is_what_is_sent_and_nothing_is_sent_for_it(run: Any, endpoint: Endpoint) -> None:
    (printed,) = json.loads(run("--print-prompt").stdout)["requests"]
    assert endpoint.seen == []
    run("--reader", "endpoint", "--dry-run")
    sent = endpoint.seen[0][1]["messages"]
    assert printed == "\n\n".join(f"--- {message['role']} ---\n{message['content']}" for message in sent)
    assert RULE in printed and TOKEN not in printed


def test_a_request_that_was_never_recorded_is_an_error_with_the_way_out(run: Any, tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    error = json.loads(run("--reader", "endpoint", "--replay", str(tmp_path / "answers"), code=1).stdout)["error"]
    (written,) = (tmp_path / "answers").iterdir()
    assert "has no answer to this request" in error["message"] and str(written) in error["message"] and "answer" in error["fix"]


def test_a_request_that_a_replay_lacks_is_written_down_to_be_answered_by_hand(
    run: Any, endpoint: Endpoint, tmp_path: Path
) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    printed = json.loads(run("--print-prompt").stdout)
    run("--reader", "claude", "--replay", str(folder), code=1)
    (path,) = folder.iterdir()
    assert printed["ids"] == [path.stem]
    request = json.loads(path.read_text(encoding="utf-8"))
    assert RULE in request["messages"][1]["content"]
    path.write_text(json.dumps(request | {"answer": {"candidates": [ANSWER], "handoff": "A check was asked for."}}))
    result = json.loads(run("--reader", "claude", "--replay", str(folder)).stdout)
    assert [entry["content"] for entry in result["candidates"]] == [RULE]
    assert (result["handoff"], result["extractor"]) == ("A check was asked for.", "claude")
    assert endpoint.seen == []


def test_a_damaged_recording_is_named(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    run("--reader", "endpoint", "--record", str(folder))
    (path,) = folder.iterdir()
    path.write_text("{}")
    assert path.name in json.loads(run("--reader", "endpoint", "--replay", str(folder), code=1).stdout)["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--record", "x", "--replay", "y"), "--replay"),
        (("--record", "x", "--reader", "offline"), "--reader endpoint"),
        (("--replay", "no-such-folder", "--reader", "endpoint"), "no-such-folder"),
    ],
)
def test_a_wrong_call_says_so(run: Any, arguments: tuple[str, ...], named: str) -> None:
    assert named in run(*arguments, code=2).output


def test_a_long_log_takes_at_most_one_call_for_8000_tokens(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    path = tmp_path / "long.jsonl"
    words = " ".join(f"word{n}" for n in range(150))
    with path.open("w", encoding="utf-8") as stream:
        for n in range(120):
            role = ("user", "assistant")[n % 2]
            message = {"role": role, "content": f"{n} {words}"}
            stream.write(json.dumps({"type": role, "uuid": f"u{n}", "sessionId": "s", "message": message}) + "\n")
    found = list(requests(path, settings, datetime(2026, 1, 1, tzinfo=UTC)))
    assert 2 <= len(found) <= -(-token_count(path.read_text(encoding="utf-8")) // 8_000)
