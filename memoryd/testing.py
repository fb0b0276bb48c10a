"""Fakes that are shipped, so that tests of this project and of its users need no patching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memoryd.core.errors import ModelError
from memoryd.core.text import token_count
from memoryd.core.types import Completion, Message, Usage
from memoryd.embed.hashed import HashEmbedder, HashTokenEncoder

__all__ = ["FakeClock", "HashEmbedder", "HashTokenEncoder", "ScriptedLLM"]


class FakeClock:
    """A clock that moves only when told."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        """The set time."""
        return self._now

    def advance(self, **delta: float) -> None:
        """Move by timedelta's keyword arguments; negative values jump back."""
        self._now += timedelta(**delta)


class ScriptedLLM:
    """Answers from a list, in order; an exception in the list is raised instead. Calls are kept in `calls`."""

    def __init__(self, *answers: str | Exception) -> None:
        self._answers = list(answers)
        self.calls: list[tuple[Message, ...]] = []

    @property
    def name(self) -> str:
        """Model name as recorded."""
        return "scripted"

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """The next answer; ModelError when the script is at its end."""
        self.calls.append(tuple(messages))
        if not self._answers:
            raise ModelError("The script has no further answer.")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        asked = sum(token_count(message.content) for message in messages)
        return Completion(answer, self.name, Usage(1, asked, token_count(answer)))
