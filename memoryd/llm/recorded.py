"""Answers of a model on disk: recorded once, replayed without the model.

One JSON file for each request, named by a digest of its messages, so that the same text finds its answer again
whatever the order. The files hold what was sent (without secrets) and what came back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from memoryd.errors import InputError, ModelError
from memoryd.files import write_atomic
from memoryd.protocols import LLM
from memoryd.types import Completion, Message, Usage

VERSION = 1


def _path(folder: Path, messages: Sequence[Message]) -> Path:
    sent = orjson.dumps([[message.role, message.content] for message in messages])
    return folder / f"{hashlib.sha256(sent).hexdigest()[:24]}.json"


class RecordingLLM:
    """Asks the model and keeps each request with its answer in a folder."""

    def __init__(self, llm: LLM, folder: Path) -> None:
        self._llm = llm
        self._folder = folder

    @property
    def name(self) -> str:
        """The model that answers."""
        return self._llm.name

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """One answer, on disk before it is returned. Raises ModelError, and StoreError when it can't be written."""
        completion = self._llm.complete(messages, schema)
        record = {"version": VERSION, "messages": [asdict(message) for message in messages], "answer": asdict(completion)}
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomic(_path(self._folder, messages), orjson.dumps(record, option=orjson.OPT_INDENT_2))
        return completion


class ReplayLLM:
    """Answers from a folder of recordings; a request that was never recorded is an error."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}.", fix="Record one first: memoryd daydream … --record DIR.")
        self._folder = folder

    @property
    def name(self) -> str:
        """Not a model; answers name the one that gave them."""
        return "replay"

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """The recorded answer. Raises ModelError."""
        path = _path(self._folder, messages)
        try:
            answer = orjson.loads(path.read_bytes())["answer"]
            return Completion(answer["text"], answer["model"], Usage(**answer["usage"]))
        except FileNotFoundError as error:
            raise ModelError(
                f"{self._folder} holds no answer to this request ({path.stem}).",
                fix="The log, the prompt or chunk_tokens changed since it was recorded: record anew.",
                transient=False,
            ) from error
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise ModelError(f"{path} is no recorded answer.", fix="Delete it and record anew.", transient=False) from error
