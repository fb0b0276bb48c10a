"""Short notation for conversations as turns."""

from __future__ import annotations

from collections.abc import Sequence

from memoryd.core.types import Candidate, Passage, Status, Turn, TurnKind
from memoryd.daydream.offline import HeuristicExtractor
from memoryd.daydream.offline.acts import Act, acts_of
from memoryd.daydream.offline.sentences import statements

KINDS = {
    "U": TurnKind.USER,
    "A": TurnKind.ASSISTANT,
    "T": TurnKind.TOOL_RESULT,
    "X": TurnKind.TOOL_USE,
    "I": TurnKind.INTERRUPT,
}


def talk(*lines: str, first: int = 1) -> tuple[Turn, ...]:
    """Return the turns of lines such as "U: text". Each turn gets a line number and a uuid."""
    out = []
    for number, line in enumerate(lines, first):
        mark, _, text = line.partition(": ")
        out.append(Turn(KINDS[mark], text, uuid=f"u{number}", line=number))
    return tuple(out)


def in_session(said: str) -> tuple[Turn, ...]:
    """Return the turns of a session in which the user says this between two answers."""
    return talk("U: Please look at the build.", "A: I did.", f"U: {said}", "A: Noted.")


def acts(text: str) -> list[Act]:
    """Return the acts of memory in a text."""
    return list(acts_of([one.text for one in statements(text)]))


def found(turns: Sequence[Turn], context: Sequence[Turn] = ()) -> list[Candidate]:
    """Return what the extractor proposes."""
    return list(HeuristicExtractor().extract(Passage(tuple(turns), tuple(context))).candidates)


def active(turns: Sequence[Turn], context: Sequence[Turn] = ()) -> list[Candidate]:
    """Return what the extractor keeps as active."""
    return [one for one in found(turns, context) if one.status is Status.ACTIVE]


def contents(turns: Sequence[Turn], context: Sequence[Turn] = ()) -> str:
    """Return the proposals' contents as one text."""
    return "\n".join(c.content for c in found(turns, context))
