from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import pytest
from openai import OpenAI

from memoryd.core import openai_api
from memoryd.core.errors import ModelError
from memoryd.core.types import Message, Usage

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
ASK = [Message("user", "a?")]


class Endpoint:
    """A local server that answers from a list of (status, body) and records the requests."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.requests: list[Any] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                owner.requests.append(orjson.loads(self.rfile.read(int(self.headers["content-length"]))))
                status, body = owner.answers.pop(0)
                data = body if isinstance(body, bytes) else orjson.dumps(body)
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: str) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def close(self) -> None:
        if self.thread.is_alive():
            self.server.shutdown()
            self.server.server_close()
            self.thread.join(60)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    yield server
    server.close()


@pytest.fixture
def client(endpoint: Endpoint) -> OpenAI:
    return openai_api.make_client(endpoint.url, "", 5, retries=0)


def answer(text: str | None, finish: str = "stop", **more: float) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, **more}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "real-model", "choices": [choice], "usage": usage}


def test_an_answer_carries_text_model_tokens_and_cost(endpoint: Endpoint, client: OpenAI) -> None:
    endpoint.answers = [(200, answer("hello", cost=0.002))]
    completion = openai_api.chat(client, "m", ASK)
    assert (completion.text, completion.model) == ("hello", "real-model")
    assert completion.usage.calls == 1
    assert (completion.usage.input_tokens, completion.usage.output_tokens, completion.usage.cost_usd) == (7, 3, 0.002)
    assert endpoint.requests[0]["messages"] == [{"role": "user", "content": "a?"}]
    assert "response_format" not in endpoint.requests[0]


def test_a_cost_that_the_server_does_not_tell_is_unknown_and_not_free(endpoint: Endpoint, client: OpenAI) -> None:
    endpoint.answers = [(200, answer("hello"))]
    used = openai_api.chat(client, "m", ASK).usage
    assert used.cost_usd is None
    assert (used + Usage(calls=1, cost_usd=0.5)).cost_usd is None


def test_a_schema_is_sent_as_structured_output(endpoint: Endpoint, client: OpenAI) -> None:
    endpoint.answers = [(200, answer('{"a": 1}'))]
    openai_api.chat(client, "m", ASK, SCHEMA)
    assert endpoint.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA


def test_a_server_without_structured_output_is_asked_for_an_object_then_for_text(endpoint: Endpoint, client: OpenAI) -> None:
    refusal = {"error": {"message": "response_format is not supported"}}
    endpoint.answers = [(400, refusal), (400, refusal), (200, answer('{"a": 1}'))]
    assert openai_api.chat(client, "m", ASK, SCHEMA).text == '{"a": 1}'
    formats = [request.get("response_format", {}).get("type") for request in endpoint.requests]
    assert formats == ["json_schema", "json_object", None]
    assert "additionalProperties" in endpoint.requests[2]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("status", "transient"), [(400, False), (401, False), (404, False), (429, True), (500, True), (503, True)]
)
def test_a_status_says_whether_another_try_helps(endpoint: Endpoint, client: OpenAI, status: int, transient: bool) -> None:
    endpoint.answers = [(status, {"error": {"message": "no"}})]
    with pytest.raises(ModelError) as caught:
        openai_api.chat(client, "m", ASK)
    assert caught.value.transient is transient
    assert caught.value.fix and str(status) in caught.value.message


def test_an_unreachable_server_is_transient(endpoint: Endpoint) -> None:
    endpoint.close()
    dead = openai_api.make_client(endpoint.url, "k", 2, retries=0)
    with pytest.raises(ModelError) as caught:
        openai_api.chat(dead, "m", ASK)
    assert caught.value.transient


@pytest.mark.parametrize(
    "body",
    [
        answer("half", finish="length"),
        answer("", finish="stop"),
        answer(None, finish="content_filter"),
        {"error": {"message": "provider down"}},
        b"<html>not json",
        b'"text"',
    ],
)
def test_half_empty_and_foreign_answers_are_errors(endpoint: Endpoint, client: OpenAI, body: Any) -> None:
    endpoint.answers = [(200, body)]
    with pytest.raises(ModelError):
        openai_api.chat(client, "m", ASK)


def vectors(*pairs: tuple[int, list[float]]) -> dict[str, Any]:
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in pairs]
    return {"object": "list", "data": data, "model": "e", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def test_embeddings_come_in_the_order_of_the_texts(endpoint: Endpoint, client: OpenAI) -> None:
    endpoint.answers = [(200, vectors((1, [0.0, 1.0]), (0, [1.0, 0.0])))]
    assert openai_api.embeddings(client, "e", ["x", "y"]) == [[1.0, 0.0], [0.0, 1.0]]
    assert openai_api.embeddings(client, "e", []) == []


def test_a_missing_embedding_is_an_error(endpoint: Endpoint, client: OpenAI) -> None:
    endpoint.answers = [(200, vectors((0, [1.0])))]
    with pytest.raises(ModelError, match="1 vectors for 2"):
        openai_api.embeddings(client, "e", ["x", "y"])
