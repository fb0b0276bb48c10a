"""Format retrieved passages for a prompt, and parse them again for the `extractive` model."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime

from memeval.core.types import Retrieved

MEMORIES = "memories"
QUESTION = "question"
"""Tags around the two values in the built-in answer prompts."""


def format_memories(retrieved: Sequence[Retrieved], *, as_json: bool = False, by_time: bool = False) -> str:
    """Format passages as text, or as a JSON list of {"date", "text"}, either best first or in chronological order.

    In chronological order, passages without a date come last, ordered by rank.
    """
    pieces = sorted(retrieved, key=lambda piece: _when(piece.at)) if by_time else list(retrieved)
    if as_json:
        return json.dumps([{"date": shown_date(piece.at), "text": piece.text} for piece in pieces], ensure_ascii=False, indent=1)
    return "\n\n".join(_block(number, piece) for number, piece in enumerate(pieces, start=1))


def shown_date(at: datetime | None) -> str:
    """Format a date as `2023-05-20 (Sat) 02:21`, or return "" if there is none. Independent of the locale."""
    if at is None:
        return ""
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[at.weekday()]
    return f"{at:%Y-%m-%d} ({day}) {at:%H:%M}"


def tagged(tag: str, text: str) -> str:
    """Return the stripped text between the first `<tag>` and the last `</tag>`, or an empty string if there is no such tag."""
    found = re.search(rf"<{tag}>\n?(.*)</{tag}>", text, re.DOTALL)
    return found.group(1).strip() if found else ""


def _block(number: int, piece: Retrieved) -> str:
    date = shown_date(piece.at)
    return f"[{number}]{' ' + date if date else ''}\n{piece.text.strip()}"


def _when(at: datetime | None) -> tuple[bool, str]:
    return (at is None, at.isoformat() if at else "")
