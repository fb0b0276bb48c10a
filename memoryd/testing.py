"""Test doubles, shipped with the package so that tests need no patching."""

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
    """A clock that moves only when advanced."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        """Return the current fake time."""
        return self._now

    def advance(self, **delta: float) -> None:
        """Move the clock forward by the keyword arguments of timedelta. Negative values move it back."""
        self._now += timedelta(**delta)


class ScriptedLLM:
    """Returns scripted answers in order, and raises those that are exceptions. `calls` records the calls."""

    def __init__(self, *answers: str | Exception) -> None:
        self._answers = list(answers)
        self.calls: list[tuple[Message, ...]] = []

    @property
    def name(self) -> str:
        """Name of the model, as recorded."""
        return "scripted"

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """Return the next answer.

        Raises:
            ModelError: The script is exhausted.
        """
        self.calls.append(tuple(messages))
        if not self._answers:
            raise ModelError("The script has no more answers.")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        tokens = sum(token_count(message.content) for message in messages)
        return Completion(answer, self.name, Usage(1, tokens, token_count(answer)))
