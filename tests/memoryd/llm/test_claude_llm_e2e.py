"""The real client with a scripted model server on loopback. Needs CLAUDE_BIN."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.config import Settings
from memoryd.core.errors import ModelError
from memoryd.core.types import Message, Passage, Turn, TurnKind
from memoryd.daydream.model_reader import ModelExtractor
from memoryd.llm import ClaudeLLM, extractor_folder
from tests.waiting import HANGS_SECONDS, until

CLAUDE = os.environ.get("CLAUDE_BIN", "")
pytestmark = pytest.mark.e2e
TEXT = "Always run make check before a commit"


class Model(ThreadingHTTPServer):
    """Implements the part of the Messages API that one text turn needs."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[dict[str, Any]] = []
        self.text = "{}"
        self.status = 200
        self.hold: threading.Event | None = None
        self.asked = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: Model

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            self._send(404, "application/json", b"{}")
            return
        self.server.bodies.append(body)
        self.server.asked.set()
        if self.server.hold:
            self.server.hold.wait(10 * HANGS_SECONDS)
        if self.server.status != 200:
            error = {"type": "error", "error": {"type": "api_error", "message": "scripted"}}
            self._send(self.server.status, "application/json", json.dumps(error).encode())
            return
        self._send(200, "text/event-stream", b"".join(_event(event) for event in _events(body["model"], self.server.text)))

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # A client that was killed meanwhile.
            self.wfile.write(data)


def _event(value: dict[str, Any]) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()


def _events(model: str, text: str) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 100, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}


@pytest.fixture(autouse=True)
def real_client() -> None:
    if not Path(CLAUDE).is_file():
        pytest.fail("CLAUDE_BIN does not name the Claude Code client.")


@pytest.fixture
def model() -> Iterator[Model]:
    server = Model()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    if server.hold:
        server.hold.set()
    server.shutdown()
    server.server_close()


def environment(tmp_path: Path, model: Model, **more: str) -> dict[str, str]:
    """Create a client configuration with a memory file and a hook, which must both be ignored."""
    config = tmp_path / "config"
    config.mkdir(exist_ok=True)
    (config / "CLAUDE.md").write_text("Speak like a pirate.")
    command = {"type": "command", "command": f"touch {tmp_path}/hook-ran"}
    events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    (config / "settings.json").write_text(json.dumps({"hooks": {event: [{"hooks": [command]}] for event in events}}))
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(config),
        "CLAUDE_CODE_TMPDIR": str(tmp_path / "t"),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_address[1]}",
        "ANTHROPIC_API_KEY": "dummy",
        **more,
    }


def processes_in(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").resolve().is_relative_to(folder):
                found.append((entry / "cmdline").read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return found


def test_the_real_client_answers_and_leaves_nothing_behind(tmp_path: Path, model: Model) -> None:
    entry = {
        "content": TEXT,
        "kind": "rule",
        "polarity": "do",
        "scope": "project",
        "evidence": [1],
        "importance": 3,
        "confidence": 0.9,
    }
    model.text = json.dumps({"candidates": [entry]})
    settings = Settings(home=tmp_path / "home", claude_command=CLAUDE)
    llm = ClaudeLLM(settings, environment(tmp_path, model, CLAUDECODE="1"))
    found = ModelExtractor(llm, settings, "claude").extract(Passage((Turn(TurnKind.USER, TEXT, "u1", 1),)))
    assert [candidate.content for candidate in found.candidates] == [TEXT]
    assert (found.usage.calls, found.usage.input_tokens, found.usage.output_tokens) == (1, 100, 9)
    assert found.usage.cost_usd > 0
    (body,) = model.bodies
    sent = json.dumps(body)
    assert body["tools"] == []
    assert "haiku" in body["model"]
    assert "memoryd-internal-run" in sent
    assert "You read one piece of a coding session" in sent
    assert "pirate" not in sent, "CLAUDE.md stays out"
    assert not (tmp_path / "hook-ran").exists(), "hooks stay out"
    assert not list((tmp_path / "config").rglob("*.jsonl")), "no transcript"
    until(lambda: processes_in(extractor_folder(settings)) == [], "a process is left")


@pytest.mark.parametrize(("status", "transient"), [(401, False), (429, True), (404, False)])
def test_the_real_clients_failures_are_understood(tmp_path: Path, model: Model, status: int, transient: bool) -> None:
    model.status = status
    llm = ClaudeLLM(Settings(home=tmp_path / "home", claude_command=CLAUDE), environment(tmp_path, model))
    with pytest.raises(ModelError) as caught:
        llm.complete([Message("user", "hello")])
    assert caught.value.transient is transient


def test_a_missing_login_is_reported(tmp_path: Path, model: Model) -> None:
    llm = ClaudeLLM(Settings(home=tmp_path / "home", claude_command=CLAUDE), environment(tmp_path, model, ANTHROPIC_API_KEY=""))
    with pytest.raises(ModelError, match="ogged in") as caught:
        llm.complete([Message("user", "hello")])
    assert "log in" in caught.value.fix


def test_a_login_in_the_users_settings_is_used(tmp_path: Path, model: Model) -> None:
    environ = environment(tmp_path, model)
    login = {name: environ.pop(name) for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")}
    (tmp_path / "config" / "settings.json").write_text(json.dumps({"env": login}))
    llm = ClaudeLLM(Settings(home=tmp_path / "home", claude_command=CLAUDE), environ)
    assert llm.complete([Message("user", "hello")]).text == "{}"


def test_a_hanging_real_client_is_ended(tmp_path: Path, model: Model) -> None:
    model.hold = threading.Event()
    settings = Settings(home=tmp_path / "home", claude_command=CLAUDE)
    for seconds in (3.0, 15.0, HANGS_SECONDS):
        llm = ClaudeLLM(settings, environment(tmp_path, model), timeout=seconds)
        with pytest.raises(ModelError, match="did not respond"):
            llm.complete([Message("user", "hello")])
        if model.asked.is_set():  # It got this far in time. On a busy machine this takes longer.
            break
    assert model.asked.is_set()
    until(lambda: processes_in(extractor_folder(settings)) == [], "a process is left")
