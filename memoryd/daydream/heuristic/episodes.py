"""A session cut at the times when the user speaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memoryd.types import Turn, TurnKind


@dataclass(frozen=True, slots=True)
class Episode:
    """What the user said at one time and all that followed until the next time.

    `before` is the assistant's text that the user answers, if known; `first`: nothing came before.
    `asked` is what the user said last before a passage that starts in the middle of an answer.
    `interrupted`: the user broke off the assistant's work to say it.
    """

    user: tuple[Turn, ...]
    rest: tuple[Turn, ...]
    before: Turn | None = None
    first: bool = False
    asked: tuple[Turn, ...] = ()
    interrupted: bool = False

    @property
    def last_line(self) -> int:
        """The number of the last line of the log that belongs to it, 0 if unknown."""
        return max((turn.line for turn in (*self.user, *self.rest)), default=0)


def _last_said(turns: Sequence[Turn]) -> Turn | None:
    return next((t for t in reversed(turns) if t.kind is TurnKind.ASSISTANT and not t.sidechain), None)


def _groups(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Consecutive turns, a new group where the user speaks after somebody else did."""
    group: list[Turn] = []
    for turn in turns:
        if turn.kind is TurnKind.USER and any(t.kind is not TurnKind.USER for t in group):
            yield group
            group = []
        group.append(turn)
    if group:
        yield group


def episodes(turns: Sequence[Turn], context: Sequence[Turn] = ()) -> list[Episode]:
    """The episodes of the main thread, in order. `context` only tells what the first one answers."""
    out: list[Episode] = []
    before = _last_said(context)
    interrupted = bool(context) and context[-1].kind is TurnKind.INTERRUPT
    asked = tuple(t for t in context if t.kind is TurnKind.USER and not t.sidechain)[-1:]
    for group in _groups([t for t in turns if not t.sidechain]):
        user = tuple(t for t in group if t.kind is TurnKind.USER)
        rest = tuple(t for t in group if t.kind is not TurnKind.USER)
        opening = not out
        out.append(Episode(user, rest, before, opening and not context, asked if opening and not user else (), interrupted))
        before = _last_said(rest) or before
        interrupted = bool(rest) and rest[-1].kind is TurnKind.INTERRUPT
    return out
