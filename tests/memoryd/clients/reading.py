"""What the day dream reads from the log of a client."""

from __future__ import annotations

from pathlib import Path

from memoryd.core.types import Turn, TurnKind
from memoryd.daydream.transcript import read_all


def turns(path: Path) -> list[Turn]:
    """Return all turns of a log."""
    return [turn for piece in read_all(path) for turn in piece.turns]


def said(path: Path) -> list[str]:
    """Return the texts of the user in a log."""
    return [turn.text for turn in turns(path) if turn.kind is TurnKind.USER]
