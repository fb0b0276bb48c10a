"""A scripted model behind the Messages API, on loopback. The answer depends only on the request."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Block = dict[str, Any]
Brain = Callable[[Body], list[Block]]


def say(text: str) -> Block:
    return {"type": "text", "text": text}


def use(tool: str, **arguments: Any) -> Block:
    return {
        "type": "tool_use",
        "id": f"toolu_{abs(hash((tool, json.dumps(arguments)))):022d}"[:28],
        "name": tool,
        "input": arguments,
    }


def texts(content: Any) -> str:
    """Return all text of a message's content, including tool results."""
    if isinstance(content, str):
        return content
    out = []
    for block in content or []:
        if isinstance(block, dict):
            out.append(block.get("text") or texts(block.get("content")))
    return "\n".join(filter(None, out))


def conversation(body: Body) -> str:
    """Return all text that the model was given: system prompt and messages."""
    return "\n".join([texts(body.get("system")), *(texts(message["content"]) for message in body.get("messages", []))])


def tool_names(body: Body) -> set[str]:
    return {tool.get("name", "") for tool in body.get("tools") or []}


def tool_results(body: Body) -> list[Block]:
    """Return all tool results in the conversation so far."""
    contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    return [block for content in contents for block in content if block.get("type") == "tool_result"]


@dataclass(frozen=True)
class Trouble:
    """The way in which a request fails: a status with headers, no answer at all, or a truncated answer."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    cuts: bool = False


class ModelServer:
    """Answers with `brain(body)`, or with the fault from `refuses(body)`. Records bodies and keys of all requests.

    `readings` are the requests of an OpenAI-compatible reader, which `refuses_reader` refuses. `chats` are the
    requests of a client that streams OpenAI's chat completions or responses, or Gemini's contents. They are answered
    with `chat(body)`.
    """

    def __init__(self, brain: Brain) -> None:
        self.brain = brain
        self.requests: list[Body] = []
        self.keys: list[str] = []
        self.refuses: Callable[[Body], int | Trouble] = lambda _body: 0
        self.readings: list[Body] = []
        self.chats: list[Body] = []
        self.chat: Brain = lambda _body: [say("done")]
        self.refuses_reader = Trouble()
        self.closed = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(60)

    def main_requests(self) -> list[Body]:
        """Return the requests of the main loop, which contain tools."""
        return [body for body in self.requests if body.get("tools")]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    model: ModelServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def model(self) -> ModelServer:
        assert isinstance(self.server, _Server)
        return self.server.model

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._json({})

    def do_GET(self) -> None:
        self._json({"data": [], "has_more": False})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.split("?")[0]
        if self._answer_client(path, body):
            return
        if path.endswith("count_tokens"):
            self._json({"input_tokens": len(json.dumps(body)) // 4})
        elif path == "/v1/messages":
            self.model.requests.append(body)
            self.model.keys.append(self.headers.get("x-api-key") or self.headers.get("authorization") or "")
            trouble = self.model.refuses(body)
            if isinstance(trouble, int):
                trouble = Trouble(status=trouble)
            if trouble.status:
                error = {"type": "error", "error": {"type": "api_error", "message": "scripted"}}
                self._json(error, trouble.status, trouble.headers)
            elif trouble.hangs:
                self.model.closed.wait()
                self.close_connection = True
            else:
                self._answer(body, self.model.brain(body), cut=trouble.cuts)
        elif path == "/v1/chat/completions":
            self.model.readings.append(body)
            trouble = self.model.refuses_reader
            if trouble.hangs:
                self.model.closed.wait()
                self.close_connection = True
                return
            self._json({"error": {"message": "scripted"}} if trouble.status else completion(body), trouble.status or 200)
        else:
            self._json({})

    def _answer_client(self, path: str, body: Body) -> bool:
        """Answer a request of a client other than Claude Code."""
        if path.startswith("/v1beta/models/") and not path.endswith(":streamGenerateContent"):
            self._json(gemini_answer(body, [say("{}")]))
            return True
        if not (path == "/v1/responses" or path.startswith("/v1beta/models/") or "completions" in path and body.get("stream")):
            return False
        self.model.chats.append(body)
        blocks = self.model.chat(body)
        if path == "/v1/responses":
            self._stream((f"event: {event['type']}\n", event) for event in response_events(blocks))
        elif path == "/v1/chat/completions":
            self._stream((("", chunk) for chunk in chat_chunks(body, blocks)), b"data: [DONE]\n\n")
        else:
            self._stream([("", gemini_answer(body, blocks))])
        return True

    def _json(self, value: Any, status: int = 200, headers: Mapping[str, str] = {}) -> None:  # noqa: B006
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, events: Iterable[tuple[str, Body]], end: bytes = b"") -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for head, data in events:
            self.wfile.write(f"{head}data: {json.dumps(data)}\n\n".encode())
        self.wfile.write(end)
        self.close_connection = True

    def _answer(self, body: Body, blocks: list[Block], *, cut: bool = False) -> None:
        reply = message(body, blocks)
        if not body.get("stream"):
            if cut:
                self.close_connection = True
            else:
                self._json(reply)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for number, event in enumerate(events(reply)):
            if cut and number == 3:
                break
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.close_connection = True


def response_events(blocks: list[Block]) -> Iterator[Body]:
    """Yield an answer in the stream format of OpenAI's responses.

    A block with `raw` is an output item that is passed on unchanged.
    """
    yield {"type": "response.created", "response": {"id": "resp"}}
    for number, block in enumerate(blocks):
        if block["type"] == "raw":
            item = block["item"]
        elif block["type"] == "tool_use":
            space, _, name = block["name"].rpartition("/")
            item = {"type": "function_call", "call_id": block["id"], "name": name, "arguments": json.dumps(block["input"])}
            item |= {"namespace": space} if space else {}
        else:
            content = [{"type": "output_text", "text": block["text"]}]
            item = {"type": "message", "role": "assistant", "id": f"msg{number}", "content": content}
        yield {"type": "response.output_item.done", "item": item}
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 5, "output_tokens_details": None}
    yield {"type": "response.completed", "response": {"id": "resp", "usage": usage | {"total_tokens": 15}}}


def gemini_answer(body: Body, blocks: list[Block]) -> Body:
    """Return an answer in the format of Gemini's contents."""
    parts = [
        {"functionCall": {"id": block["id"], "name": block["name"], "args": block["input"]}}
        if block["type"] == "tool_use"
        else {"text": block["text"]}
        for block in blocks
    ]
    read = len(json.dumps(body)) // 4
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": read, "candidatesTokenCount": 5, "totalTokenCount": read + 5},
    }


def chat_chunks(body: Body, blocks: list[Block]) -> Iterator[Body]:
    """Yield an answer in the stream format of OpenAI's chat completions."""
    calls = [block for block in blocks if block["type"] == "tool_use"]
    deltas: list[Body] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": block["text"]} for block in blocks if block["type"] == "text"]
    for index, call in enumerate(calls):
        function = {"name": call["name"], "arguments": json.dumps(call["input"])}
        deltas.append({"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": function}]})
    head = {"id": "chat", "object": "chat.completion.chunk", "created": 1, "model": body.get("model", "")}
    for delta in deltas:
        yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    read = len(json.dumps(body)) // 4
    usage = {"prompt_tokens": read, "completion_tokens": 5, "total_tokens": read + 5}
    yield head | {
        "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": usage,
    }


# A line of a session as shown to a reader, and what continues it.
SAID = re.compile(r"^\[(\d+)\] (USER|ASSISTANT)[^:\n]{0,40}: (.*(?:\n[ \t]+.*)*)", re.MULTILINE)
MAX_KEPT = 40
LIKES = re.compile(r"\b(?:hate|prefer|love|never|always)\b")
# What a session should know at its start, as a model would select it.
LASTS = re.compile(r"\b(?:Biscuit|Paediatrics)\b")


def completion(body: Body) -> Body:
    """Answer as an OpenAI-compatible endpoint that reads sessions. Keep each sentence as a fact, the user's sentences first."""
    shown = str(body["messages"][-1]["content"])
    found = sorted(SAID.finditer(shown), key=lambda match: match[2] != "USER")
    said = [(match[1], sentence) for match in found for sentence in re.split(r"(?<=[.!?])\s+", " ".join(match[3].split()))]
    kept = [
        {
            "content": sentence[:400],
            "kind": "preference" if LIKES.search(sentence) else "environment" if LASTS.search(sentence) else "fact",
            "polarity": "know",
            "scope": "project",
            "evidence": [int(number)],
            "importance": 3,
            "confidence": 0.9,
        }
        for number, sentence in said
        if len(sentence.split()) > 2
    ]
    answer = json.dumps({"candidates": kept[:MAX_KEPT]})
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", "scripted"),
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}],
        "usage": {"prompt_tokens": len(shown) // 4, "completion_tokens": len(answer) // 4, "total_tokens": 0},
    }


def message(body: Body, blocks: list[Block]) -> Body:
    return {
        # One id for each answer: on resume, the client joins messages that have the same id.
        "id": f"msg_{hashlib.sha256(json.dumps(body['messages']).encode()).hexdigest()[:24]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": blocks,
        "stop_reason": "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": len(json.dumps(body)) // 4, "output_tokens": 10},
    }


def events(reply: Body) -> Iterator[Body]:
    yield {"type": "message_start", "message": {**reply, "content": [], "stop_reason": None}}
    for index, block in enumerate(reply["content"]):
        if block["type"] == "tool_use":
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        else:
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": reply["usage"]}
    yield {"type": "message_stop"}
