from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.config import Settings
from memoryd.core.errors import ConfigError, ModelError
from memoryd.core.protocols import LLM
from memoryd.core.types import Message, Usage
from memoryd.llm import OpenAILLM


class Endpoint(ThreadingHTTPServer):
    """Answers /chat/completions with given responses and records the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.status = 200
        self.text = '{"candidates": []}'


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append(({k.lower(): v for k, v in self.headers.items()}, body))
        choice = {"index": 0, "message": {"role": "assistant", "content": self.server.text}, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m-1", "choices": [choice],
                  "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}  # fmt: skip
        data = json.dumps(answer if self.server.status == 200 else {"error": {"message": "no"}}).encode()
        self.send_response(self.server.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def llm(endpoint: Endpoint, **settings: Any) -> OpenAILLM:
    url = f"http://127.0.0.1:{endpoint.server_address[1]}/v1"
    return OpenAILLM(Settings(home=Path("h"), openai_base_url=url, openai_timeout_seconds=60, **settings), {})


def test_an_answer_comes_with_its_usage(endpoint: Endpoint) -> None:
    model: LLM = llm(endpoint, openai_api_key="sk-own", openai_model="m")
    answer = model.complete([Message("system", "s"), Message("user", "u")], {"type": "object"})
    assert (answer.text, answer.model, answer.usage) == ('{"candidates": []}', "m-1", Usage(1, 7, 3, cost_usd=None))
    headers, body = endpoint.seen[0]
    assert headers["authorization"] == "Bearer sk-own"
    assert body["model"] == "m"
    assert [message["content"] for message in body["messages"]][:2] == ["s", "u"]
    assert body["response_format"]["json_schema"]["name"] == "candidates"


def test_a_local_server_needs_no_key(endpoint: Endpoint) -> None:
    assert llm(endpoint).complete([Message("user", "u")]).text


def test_a_refused_key_is_not_a_transient_fault(endpoint: Endpoint) -> None:
    endpoint.status = 401
    with pytest.raises(ModelError, match="401") as caught:
        llm(endpoint).complete([Message("user", "u")])
    assert not caught.value.transient


def test_openrouter_is_the_default_and_needs_a_key() -> None:
    with pytest.raises(ConfigError, match="no key"):
        OpenAILLM(Settings(home=Path("h")), {"OPENAI_API_KEY": "of another vendor"})
    model = OpenAILLM(Settings(home=Path("h")), {"OPENROUTER_API_KEY": "k"})
    assert model.base_url == "https://openrouter.ai/api/v1"
