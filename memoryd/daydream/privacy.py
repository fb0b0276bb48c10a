"""A passage without secrets, before any extractor sees it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memoryd.daydream.redact import redact
from memoryd.types import Passage, Turn


def redacted_passage(passage: Passage) -> Passage:
    """The passage with each turn redacted as a whole: once a text is cut, half a secret is not recognised."""
    return replace(passage, turns=_redacted(passage.turns), context=_redacted(passage.context))


def _redacted(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    return tuple(replace(turn, text=redact(turn.text).text, detail=redact(turn.detail).text) for turn in turns)
