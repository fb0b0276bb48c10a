"""Sessions cut into pieces: the units that are indexed and retrieved.

A session is one piece, or one for each round (a user's turn and what follows until the next one), or one for each turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memeval.errors import ConfigError
from memeval.types import Retrieved, Session, Turn

GRANULARITIES = ("session", "round", "turn")
CONTEXT_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class Piece:
    """A unit. `key` is what it is found by, `text` what is handed out; `order` its place in the scope, from 0."""

    key: str
    text: str
    session: str
    turns: tuple[str, ...]
    at: datetime | None
    order: int

    def retrieved(self, score: float) -> Retrieved:
        """As an answer."""
        return Retrieved(self.text, score, (self.session,), self.turns, self.at)


def cut(sessions: Iterable[Session], granularity: str) -> list[Piece]:
    """All pieces with text, in order. Raises ConfigError for an unknown granularity."""
    if granularity not in GRANULARITIES:
        raise ConfigError(f"There is no granularity {granularity!r}.", fix=f"Use one of {', '.join(GRANULARITIES)}.")
    groups = ((session, turns) for session in sessions for turns in _groups(session, granularity))
    told = ((session, [turn for turn in turns if turn.text.strip()]) for session, turns in groups)
    return [_piece(session, turns, order) for order, (session, turns) in enumerate(pair for pair in told if pair[1])]


def in_context(pieces: Iterable[Piece], characters: int) -> list[Piece]:
    """Pieces whose keys go on with the end of what was said before them in their session (key expansion)."""
    out: list[Piece] = []
    last: Piece | None = None
    for piece in pieces:
        if characters and last is not None and last.session == piece.session:
            out.append(replace(piece, key=f"{piece.key}\n(after: {last.key[-characters:]})"))
        else:
            out.append(piece)
        last = piece
    return out


def _groups(session: Session, granularity: str) -> Iterator[Sequence[Turn]]:
    if granularity == "session":
        yield session.turns
    elif granularity == "turn":
        yield from ((turn,) for turn in session.turns)
    else:
        yield from _rounds(session.turns)


def _rounds(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    current: list[Turn] = []
    for turn in turns:
        if turn.role == "user" and any(earlier.role != "user" for earlier in current):
            yield current
            current = []
        current.append(turn)
    if current:
        yield current


def _piece(session: Session, turns: Sequence[Turn], order: int) -> Piece:
    at = turns[0].at or session.at
    return Piece("\n".join(map(key_of, turns)), render(turns, at), session.id, tuple(turn.id for turn in turns), at, order)


def key_of(turn: Turn) -> str:
    """What a turn is found by: its text, after the speaker's name if there is one (a role says nothing)."""
    return f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text


def render(turns: Sequence[Turn], at: datetime | None) -> str:
    """Turns as a reader sees them: the date, then `who: text` lines."""
    lines = [f"{turn.speaker or turn.role}: {turn.text.strip()}" for turn in turns]
    return "\n".join([f"[{at:%Y-%m-%d %H:%M}]", *lines] if at else lines)
