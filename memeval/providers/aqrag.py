"""AQ-RAG: at indexing time, generate questions that each turn answers, and search them alongside the turns.

score = questionWeight·z(max cosine(query, question)) + contentWeight·z(cosine(query, content)) + wordWeight·z(BM25).
A model generates the questions. Without a model, they come from templates filled with speaker, topic and time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from memeval import registry
from memeval.core.text import STOP_WORDS, sentences, words
from memeval.core.types import SearchRequest, Session
from memeval.providers.hybrid import EmbeddingProvider, MixedIndex, nearest
from memeval.providers.local import Notes, Options, ask_list, postgres_notes, sqlite_notes
from memeval.providers.retrieval import RetrievalUnit, Scores, cut, z_scores

QUESTIONS = 2
SUBJECT_WORDS = 7
INSTRUCTION = (
    "You get one message of a conversation with its date. Write {n} different questions that somebody could ask much later and "
    "that this message answers. Name people and things; no pronouns. Answer with a JSON array of strings, [] if it answers none."
)
_TIME = re.compile(
    r"\b(yesterday|today|tomorrow|last|next|ago|since|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february"
    r"|march|april|may|june|july|august|september|october|november|december|week|weekend|month|year|\d{4})\b",
    re.I,
)


@registry.provider("aqrag")
class AqragProvider(EmbeddingProvider):
    """A provider that also searches generated questions.

    The options are `questions` (the number per turn), `model`, `dsn` (of a Postgres database), `questionWeight`,
    `contentWeight` and `wordWeight`.
    """

    capabilities = EmbeddingProvider.capabilities.searching("questionWeight", "contentWeight")

    def configure(self, options: Options) -> None:
        """Read the options."""
        super().configure(options)
        self._count = options.count("questions", QUESTIONS, least=1)
        self._question_weight = options.number("questionWeight", 0.5)
        self.dense_weight = options.number("contentWeight", 1.0)
        self.word_weight = options.number("wordWeight", 0.7)
        dsn = options.text("dsn", "")
        self._shared: Notes | None = postgres_notes(dsn) if dsn else None

    @property
    def _notes(self) -> Notes:
        return self._shared or sqlite_notes(self.store.folder)

    def index_fresh(self, scope: str, sessions: Sequence[Session]) -> None:
        """Embed the turns of these sessions, and the questions that they answer."""
        super().index_fresh(scope, sessions)
        turns = cut(sessions, "turn")
        asked = self._questions(scope, turns, fresh={turn.turns[0] for turn in turns})
        self.vectors(scope, [question for questions in asked.values() for question in questions])

    def _questions(self, scope: str, turns: Sequence[RetrievalUnit], fresh: Collection[str] = ()) -> Mapping[str, list[str]]:
        """Return the questions by turn id. They are generated once and stored."""
        by_id = {turn.turns[0]: turn for turn in turns}
        if self.model is not None:
            return self.answers(scope, self._notes, list(by_id), lambda id, _: self._ask(by_id[id]), fresh)
        known = self._notes.get(scope, list(by_id))
        made = {id: anticipate(turn, self._count) for id, turn in by_id.items() if id not in known}
        if made:
            self._notes.put(scope, made)
        return known | made

    def _ask(self, turn: RetrievalUnit) -> list[str]:
        assert self.model is not None
        return ask_list(self.model, INSTRUCTION.format(n=self._count), turn.text)[: self._count]

    def build(self, scope: str, pieces: Sequence[RetrievalUnit]) -> MixedIndex:
        """Build the vectors of the contents and the questions, and the BM25 index."""
        owner = {id: piece.order for piece in pieces for id in piece.turns}
        asked = self._questions(scope, cut(self.store.all(scope), "turn"))
        pairs = [(question, owner[id]) for id, questions in asked.items() if id in owner for question in questions]
        vectors = self.vectors(scope, [question for question, _ in pairs])
        return replace(super().build(scope, pieces), questions=vectors, askers=[number for _, number in pairs])

    def rank(self, index: MixedIndex, pieces: Sequence[RetrievalUnit], request: SearchRequest) -> Scores:
        """Return the weighted sum of the three scores."""
        base = super().rank(index, pieces, request)
        if index.questions is None or not index.askers:
            return base
        cosines = index.questions @ self.embedder.embed_query(request.text)
        return base + self._question_weight * z_scores(nearest(cosines, index.askers, len(pieces)))

    def clear(self, scope: str) -> None:
        """Delete the scope, including its stored questions."""
        if self._shared is not None:
            self._shared.clear(scope)
        super().clear(scope)


def anticipate(turn: RetrievalUnit, count: int) -> list[str]:
    """Build questions from a turn.

    They ask who talked about the topics of the longest sentences, and when, if the turn mentions a time.
    """
    speaker = turn.key.partition(":")[0] if ":" in turn.key[:40] and "\n" not in turn.key[:40] else ""
    out: list[str] = []
    for sentence in sorted(sentences(turn.key), key=len, reverse=True)[:count]:
        subject = list(dict.fromkeys(w for w in words(sentence) if w not in STOP_WORDS and w != speaker.lower()))
        if len(subject) < 2:
            continue
        about = " ".join(subject[:SUBJECT_WORDS])
        opening = "When did" if _TIME.search(sentence) else "What did"
        out.append(f"{opening} {speaker or 'the user'} say about {about}?")
    return out
