"""Record model answers once, then replay them without the model.

Each request has its own JSON file, named after a digest of its messages, so that replay does not depend on order. The
file contains the request (without secrets) and the answer. Replaying an unknown request creates a file with an empty
`answer`, to be filled in by a person or another program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from memoryd.core.errors import InputError, ModelError
from memoryd.core.files import write_atomic
from memoryd.core.protocols import LLM
from memoryd.core.types import Completion, Message, Usage

VERSION = 2
BY_HAND = "by hand"
FILL_IN = "Fill in its 'answer' (the JSON object that the prompt asks for, or its text) and run the command again."


class UnansweredError(ModelError):
    """Raised when a replayed request has no recorded answer."""


def request_id(messages: Sequence[Message]) -> str:
    """Return the id of a request in a recordings folder."""
    sent = orjson.dumps([[message.role, message.content] for message in messages])
    return hashlib.sha256(sent).hexdigest()[:24]


def _path(folder: Path, messages: Sequence[Message]) -> Path:
    return folder / f"{request_id(messages)}.json"


def _write(path: Path, messages: Sequence[Message], answer: Any) -> None:
    record = {"version": VERSION, "messages": [asdict(message) for message in messages], "answer": answer}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, orjson.dumps(record, option=orjson.OPT_INDENT_2))


class RecordingLLM:
    """Calls the model and stores each request with its answer."""

    def __init__(self, llm: LLM, folder: Path) -> None:
        self._llm = llm
        self._folder = folder

    @property
    def name(self) -> str:
        """Name of the model being recorded."""
        return self._llm.name

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """Return one answer after writing it to disk.

        Raises:
            ModelError: The call failed.
            StoreError: The recording can't be written.
        """
        completion = self._llm.complete(messages, schema)
        _write(_path(self._folder, messages), messages, asdict(completion))
        return completion


class ReplayLLM:
    """Answers from a recordings folder. An unknown request is written to the folder and raises an error."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}.", fix="Record one first: memoryd daydream … --record DIR.")
        self._folder = folder

    @property
    def name(self) -> str:
        """Placeholder name. Each answer contains the name of the model that gave it."""
        return "replay"

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """Return the recorded answer.

        Raises:
            UnansweredError: The request has no recorded answer yet.
            ModelError: The recording is damaged.
        """
        path = _path(self._folder, messages)
        try:
            answer = orjson.loads(path.read_bytes())["answer"]
            if answer:
                return _completion(answer)
        except FileNotFoundError:
            _write(path, messages, None)
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise ModelError(
                f"{path} is not a recorded answer.", fix="Delete it and record it again.", transient=False
            ) from error
        raise UnansweredError(f"{self._folder} has no answer to this request: {path}", fix=FILL_IN, transient=False)


def _completion(answer: Any) -> Completion:
    """Convert a recorded answer. Answers written by a person may be plain text or the JSON object itself."""
    if isinstance(answer, str):
        return Completion(answer, BY_HAND, Usage(calls=1))
    if "text" in answer:
        return Completion(answer["text"], answer.get("model", BY_HAND), Usage(**answer.get("usage", {"calls": 1})))
    return Completion(orjson.dumps(answer).decode(), BY_HAND, Usage(calls=1))
