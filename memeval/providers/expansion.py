"""Key expansion by a model (LongMemEval, Wu et al. 2025): index sessions by generated keys as well.

There is one call per session and kind. Key phrases, facts and events refer to a turn, and a summary refers to the session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from memeval.core.protocols import Model
from memeval.core.types import Session
from memeval.providers.local import Options, ask, ask_items

CONTEXT = "context"
"""The only expansion without a model: the end of the previous text."""
MAX_TOKENS = 1_500
_LIST = (
    " The turns are numbered. Answer with a JSON array of objects {\"turn\": number, \"text\": text}, [] if there are none."
    " Each text must make sense alone: name people and things, no pronouns."
)  # fmt: skip
INSTRUCTIONS: Mapping[str, str] = MappingProxyType({
    "summary": "You get a conversation. Say in one or two sentences what it is about, with the names of people and things. "
    "Answer with the summary only.",
    "keyphrase": "You get a conversation. List the key phrases by which somebody could later look for what was said in a turn: "
    "names, things, places, topics." + _LIST,
    "userfact": "You get a conversation. List the facts that the speakers state about themselves: what they did, have, like, "
    "plan, know or are." + _LIST,
    "event": "You get a conversation with its date. List the events that are mentioned, each with its date as far as it can be "
    "worked out (2024-03-05, March 2024)." + _LIST,
})  # fmt: skip
KINDS = (CONTEXT, *INSTRUCTIONS)
Part = tuple[int, str]
"""A turn number starting at 1, or 0 for the whole session, and a text."""


def kinds_of(options: Options) -> tuple[str, ...]:
    """Parse the option `keyExpansion`.

    The value is a boolean (true means context), a kind, several kinds separated by commas, or a list of kinds.
    """
    value = options.get("keyExpansion", False)
    if isinstance(value, bool):
        return (CONTEXT,) if value else ()
    named = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(named, list | tuple) or not all(kind in KINDS for kind in named):
        raise options.wrong("keyExpansion", value, f"true, false, or any of {', '.join(KINDS)}")
    return tuple(dict.fromkeys(named))


def expand(model: Model, kind: str, session: Session) -> list[Part]:
    """Expand a session with a model. Raises ProviderError for a malformed answer."""
    lines = [
        f"{number}. {turn.speaker or turn.role}: {' '.join(turn.text.split())}" for number, turn in enumerate(session.turns, 1)
    ]
    day = [f"Date: {session.at:%Y-%m-%d}"] if session.at else []
    text = "\n".join([*day, *lines])
    if kind == "summary":
        return [(0, " ".join(ask(model, INSTRUCTIONS[kind], text, MAX_TOKENS).split()))]
    items = ask_items(model, INSTRUCTIONS[kind], text, MAX_TOKENS)
    return [part for one in items if (part := _part(one, len(session.turns))) is not None]


def _part(value: Any, turns: int) -> Part | None:
    """Parse an entry. Plain text, and entries with an unknown turn, apply to the whole session."""
    if isinstance(value, str) and value.strip():
        return 0, value.strip()
    text = value.get("text") if isinstance(value, Mapping) else None
    if not isinstance(text, str) or not text.strip():
        return None
    number = value.get("turn")
    known = isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= turns
    return (int(number) if known else 0), " ".join(text.split())


def by_turn(
    sessions: Sequence[Session], made: Mapping[str, Sequence[Sequence[Any]]], kinds: Sequence[str]
) -> dict[str, list[str]]:
    """Collect the texts of each turn from the parts stored under `kind:session`."""
    out: dict[str, list[str]] = {}
    for session in sessions:
        for kind in kinds:
            for number, text in made.get(f"{kind}:{session.id}", ()):
                for turn in session.turns if number == 0 else (session.turns[number - 1],):
                    out.setdefault(turn.id, []).append(str(text))
    return out
