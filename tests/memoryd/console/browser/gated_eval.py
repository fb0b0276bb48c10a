"""`memeval` with a model that waits for a line on standard input before each answer: a slow run controlled by a test."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from memeval import registry
from memeval.cli.app import build
from memeval.models.scripted import ScriptedModel
from memoryd.core.types import Message

PRICE = 0.01  # US dollars


class Gated(ScriptedModel):
    """Answers without waiting at the end of the input. Each answer has the same fictitious price."""

    def complete(self, messages: list[Message], **more: Any) -> Any:  # type: ignore[override]
        sys.stdin.readline()
        made = super().complete(messages, **more)
        return replace(made, usage=replace(made.usage, cost_usd=PRICE))


@registry.model("gated")
def gated(name: str, options: Any) -> Any:
    return Gated(default="I do not know.", name=name)


if __name__ == "__main__":
    build()()
