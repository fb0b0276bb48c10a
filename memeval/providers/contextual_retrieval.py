"""Contextual retrieval (Anthropic 2024): each turn is indexed behind a line that says what it belongs to.

With a model it writes that line from the session; without one it is made of the date, the session's own words (by
tf-idf over the sessions) and the start of the turn before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from memeval import registry
from memeval.providers.assistance import ask
from memeval.providers.dense import HybridProvider, MixedIndex
from memeval.providers.local import ModelAided
from memeval.providers.notes import sqlite_notes
from memeval.providers.pieces import Piece, cut
from memeval.providers.ranking import Bm25
from memeval.text import STOP_WORDS, words
from memeval.types import Session

TOPIC_WORDS = 6
BEFORE_CHARACTERS = 120
INSTRUCTION = (
    "You get a conversation and one message of it. In one short sentence, say what the message is about and resolve names, "
    "pronouns and times, so that a search for it succeeds. Answer with that sentence only."
)


@registry.provider("contextual-retrieval")
class ContextualRetrievalProvider(ModelAided, HybridProvider):
    """Options: those of hybrid, and `model`."""

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        """Write contexts and embed what has no vector yet."""
        self._fresh.pop(scope, None)
        self.vectors(scope, [piece.key for piece in self._in_context(scope)])

    def build(self, scope: str, pieces: Sequence[Piece]) -> MixedIndex:
        """Vectors of turns in context; words of the pieces with the contexts of their turns."""
        turns = self._in_context(scope)
        owner = {id: piece.order for piece in pieces for id in piece.turns}
        owners = [owner[turn.turns[0]] for turn in turns]
        texts: list[list[str]] = [[] for _ in pieces]
        for turn, number in zip(turns, owners, strict=True):
            texts[number].append(turn.key)
        return MixedIndex(self.vectors(scope, [turn.key for turn in turns]), owners, Bm25(["\n".join(text) for text in texts]))

    def _in_context(self, scope: str) -> list[Piece]:
        sessions = self.store.all(scope)
        turns = cut(sessions, "turn")
        contexts = self._written(scope, sessions, turns) if self.model else _made(sessions, turns)
        return [
            Piece(f"{context}\n{turn.key}", turn.text, turn.session, turn.turns, turn.at, turn.order)
            for turn, context in zip(turns, contexts, strict=True)
        ]

    def _written(self, scope: str, sessions: Sequence[Session], turns: Sequence[Piece]) -> list[str]:
        """Contexts by the model; each is kept as soon as it is there."""
        assert self.model is not None
        notes = sqlite_notes(self.store.folder)
        known = notes.get(scope)
        whole = {piece.session: piece.text for piece in cut(sessions, "session")}
        for turn in turns:
            if turn.turns[0] not in known:
                text = f"Conversation:\n{whole[turn.session]}\n\nMessage:\n{turn.text}"
                known[turn.turns[0]] = ask(self.model, INSTRUCTION, text, 200)
                notes.put(scope, {turn.turns[0]: known[turn.turns[0]]})
        return [str(known[turn.turns[0]]) for turn in turns]


def _made(sessions: Sequence[Session], turns: Sequence[Piece]) -> list[str]:
    topics = _topics(sessions)
    out = []
    before: Piece | None = None
    for turn in turns:
        last = before.key[:BEFORE_CHARACTERS] if before is not None and before.session == turn.session else ""
        day = f"{turn.at:%d %B %Y}" if turn.at else ""
        out.append(" | ".join(part for part in (day, " ".join(topics[turn.session]), last) if part))
        before = turn
    return out


def _topics(sessions: Sequence[Session]) -> dict[str, list[str]]:
    """The words of each session that are frequent in it and rare in the others."""
    counts = {s.id: Counter(w for t in s.turns for w in words(t.text) if w not in STOP_WORDS and len(w) > 3) for s in sessions}
    spread = Counter(word for count in counts.values() for word in count)
    return {
        id: sorted(count, key=lambda word: (-count[word] * math.log(len(counts) / spread[word] + 1), word))[:TOPIC_WORDS]
        for id, count in counts.items()
    }
