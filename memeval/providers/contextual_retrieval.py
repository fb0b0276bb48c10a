"""Contextual retrieval (Anthropic 2024): each turn is indexed together with a line of context.

A model writes that line from the session. Without a model, the line consists of the date, the words that characterise the
session, and the start of the previous turn. The words are chosen by tf-idf over the sessions up to this one, so that a later
session doesn't change an earlier line.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from memeval import registry
from memeval.core.text import STOP_WORDS, words
from memeval.core.types import Session
from memeval.providers.hybrid import HybridProvider, MixedIndex
from memeval.providers.indexed import INDEXES_KEPT
from memeval.providers.local import ask, sqlite_notes
from memeval.providers.retrieval import Bm25, RetrievalUnit, cut
from memeval.specs import ProviderSpec

TOPIC_WORDS = 6
BEFORE_CHARACTERS = 120
INSTRUCTION = (
    "You get a conversation and one message of it. In one short sentence, say what the message is about and resolve names, "
    "pronouns and times, so that a search for it succeeds. Answer with that sentence only."
)


class Topics:
    """The characteristic words of each session: frequent in the session, but rare in the sessions before it."""

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = {}
        self._spread: Counter[str] = Counter()

    def of(self, session: Session) -> list[str]:
        """Return the topics of a session. An unknown session is treated as the latest."""
        if session.id not in self._known:
            count = Counter(w for t in session.turns for w in words(t.text) if w not in STOP_WORDS and len(w) > 3)
            self._spread.update(count.keys())
            sessions = len(self._known) + 1
            weight = {word: number * math.log(sessions / self._spread[word] + 1) for word, number in count.items()}
            self._known[session.id] = sorted(count, key=lambda word: (-weight[word], word))[:TOPIC_WORDS]
        return self._known[session.id]


@registry.provider("contextual-retrieval")
class ContextualRetrievalProvider(HybridProvider):
    """A provider that indexes turns in context. It has the options of hybrid, and `model`."""

    expands = False

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        self._topics: OrderedDict[str, Topics] = OrderedDict()
        super().__init__(spec, options)

    def index_fresh(self, scope: str, sessions: Sequence[Session]) -> None:
        """Write the context of each turn in these sessions, and embed the turn together with it."""
        self.vectors(scope, [piece.key for piece in self._in_context(scope, sessions, fresh=True)])

    def build(self, scope: str, pieces: Sequence[RetrievalUnit]) -> MixedIndex:
        """Build the vectors of the turns in context, and the word index of the passages with the contexts of their turns."""
        turns = self._in_context(scope, self.store.all(scope))
        owner = {id: piece.order for piece in pieces for id in piece.turns}
        owners = [owner[turn.turns[0]] for turn in turns]
        texts: list[list[str]] = [[] for _ in pieces]
        for turn, number in zip(turns, owners, strict=True):
            texts[number].append(turn.key)
        return MixedIndex(self.vectors(scope, [turn.key for turn in turns]), owners, Bm25(["\n".join(text) for text in texts]))

    def clear(self, scope: str) -> None:
        """Delete the scope and the topics of its sessions."""
        with self._lock:
            self._topics.pop(scope, None)
        super().clear(scope)

    def close(self) -> None:
        """Close the provider and drop all topics."""
        self._topics.clear()
        super().close()

    def _in_context(self, scope: str, sessions: Sequence[Session], *, fresh: bool = False) -> list[RetrievalUnit]:
        turns = cut(sessions, "turn")
        contexts = self._written(scope, sessions, turns, fresh) if self.model else self._described(scope, sessions, turns)
        return [
            RetrievalUnit(f"{context}\n{turn.key}", turn.text, turn.session, turn.turns, turn.at, turn.order)
            for turn, context in zip(turns, contexts, strict=True)
        ]

    def _written(self, scope: str, sessions: Sequence[Session], turns: Sequence[RetrievalUnit], fresh: bool) -> list[str]:
        """Return the contexts written by the model."""
        whole = {piece.session: piece.text for piece in cut(sessions, "session")}
        by_id = {turn.turns[0]: turn for turn in turns}

        def ask_for(id: str, _: Mapping[str, Any]) -> str:
            assert self.model is not None
            text = f"Conversation:\n{whole[by_id[id].session]}\n\nMessage:\n{by_id[id].text}"
            return ask(self.model, INSTRUCTION, text, 200)

        known = self.answers(scope, sqlite_notes(self.store.folder), list(by_id), ask_for, by_id if fresh else ())
        return [str(known[turn.turns[0]]) for turn in turns]

    def _described(self, scope: str, sessions: Sequence[Session], turns: Sequence[RetrievalUnit]) -> list[str]:
        topics = self._topics_of(scope)
        about = {session.id: " ".join(topics.of(session)) for session in sessions}
        out = []
        before: RetrievalUnit | None = None
        for turn in turns:
            last = before.key[:BEFORE_CHARACTERS] if before is not None and before.session == turn.session else ""
            day = f"{turn.at:%d %B %Y}" if turn.at else ""
            out.append(" | ".join(part for part in (day, about[turn.session], last) if part))
            before = turn
        return out

    def _topics_of(self, scope: str) -> Topics:
        """Return the topics of a scope.

        They are cached for the last few scopes. For other scopes, they are recomputed from the sessions in insertion order.
        """
        with self._lock:
            if scope not in self._topics:
                topics = self._topics[scope] = Topics()
                for session in self.store.all(scope):
                    topics.of(session)
                while len(self._topics) > INDEXES_KEPT:
                    self._topics.popitem(last=False)
            self._topics.move_to_end(scope)
            return self._topics[scope]
