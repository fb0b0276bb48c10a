"""An extractor that uses a language model. Its prompt is a versioned file next to this module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from memoryd.core.config import ENDPOINT, Settings
from memoryd.core.errors import ModelError
from memoryd.core.protocols import LLM, MemoryStore
from memoryd.core.text import containment, keywords, one_line, shorten, words
from memoryd.core.types import (
    Candidate,
    Extraction,
    Kind,
    MemoryItem,
    Message,
    Passage,
    Query,
    Refused,
    Status,
    Turn,
    TurnKind,
    Usage,
)
from memoryd.daydream.model_answer import SCHEMA, InvalidAnswerError, ground, middle_cut, parse_answer, render
from memoryd.daydream.reconcile import counts, refused
from memoryd.daydream.redact import redact, redacted_passage

# Decide which chunks are worth a call, and which known memories to show the model.

MAX_RELATED = 12
MAX_TODOS = 4
HITS_OF_A_QUERY = 4
QUERIES = 8
QUERY_CHARS = 400
_SAYS = frozenset({TurnKind.USER, TurnKind.ASSISTANT})
_KNOWN = (Status.ACTIVE, Status.CANDIDATE)


# A shorter prompt is only "ok" or "go on". An assistant text of this length may contain a finding.
MIN_USER_WORDS = 3
MIN_ANSWER_WORDS = 25


def is_searchable(passage: Passage) -> bool:
    """Return whether the passage has a prompt of several words, or an answer long enough for a finding."""
    return any(_says_something(turn) for turn in passage.turns)


def _says_something(turn: Turn) -> bool:
    if turn.kind is TurnKind.USER and not turn.sidechain:
        return turn.via != "prompt" or len(words(turn.text)) >= MIN_USER_WORDS
    return turn.kind is TurnKind.ASSISTANT and len(words(turn.text)) >= MIN_ANSWER_WORDS


def find_related(store: MemoryStore, passage: Passage) -> tuple[MemoryItem, ...]:
    """Return up to MAX_RELATED memories of the project and the user.

    They come from the same lines, resemble the passage, or are open todos.
    """
    found: dict[str, MemoryItem] = {}
    said = {turn.uuid for turn in passage.turns if turn.uuid}
    hits = [_search(store, passage, text) for text in _queries(passage.turns)]
    ranked = [item for rank in range(HITS_OF_A_QUERY) for items in hits for item in items[rank : rank + 1]]
    same = [item for item in _of_session(store, passage) if said & set(item.evidence.lines)]
    for item in (*same, *_open_todos(store, passage), *ranked):
        if len(found) < MAX_RELATED:
            found.setdefault(item.id, item)
    return tuple(found.values())


def choose_related(items: Iterable[MemoryItem], passage: Passage) -> tuple[MemoryItem, ...]:
    """Choose like `find_related`, but from a list instead of a store. Similarity is based on shared words."""
    near = set(keywords(" ".join(_queries(passage.turns))))

    def shared(item: MemoryItem) -> float:
        return containment(set(keywords(item.content)), near)

    order = sorted(items, key=lambda item: (-(item.kind is Kind.TODO), -shared(item), item.id))
    return tuple(item for item in order if item.kind is Kind.TODO or shared(item) > 0)[:MAX_RELATED]


def _queries(turns: Sequence[Turn]) -> list[str]:
    """Return the search texts: the user's texts and the assistant's longest answers."""
    said = [turn for turn in turns if turn.kind in _SAYS and len(turn.text) > 1]
    users = [turn for turn in said if turn.kind is TurnKind.USER][-QUERIES // 2 :]
    answers = sorted((turn for turn in said if turn.kind is TurnKind.ASSISTANT), key=lambda turn: -len(turn.text))
    return [middle_cut(one_line(turn.text), QUERY_CHARS) for turn in (*users, *answers[: QUERIES - len(users)])]


def _search(store: MemoryStore, passage: Passage, text: str) -> list[MemoryItem]:
    query = Query(text=text, project=passage.project, statuses=_KNOWN)
    return [hit.item for hit in store.search(query, HITS_OF_A_QUERY)]


def _of_session(store: MemoryStore, passage: Passage) -> list[MemoryItem]:
    if not passage.session:
        return []
    query = Query(project=passage.project, session=passage.session, statuses=_KNOWN)
    return [hit.item for hit in store.search(query, 4 * MAX_RELATED)]


def _open_todos(store: MemoryStore, passage: Passage) -> list[MemoryItem]:
    query = Query(project=passage.project, kinds=(Kind.TODO,), statuses=(Status.ACTIVE,))
    return [hit.item for hit in store.search(query, MAX_TODOS)]


PROMPT_VERSION = "extract_v3"


@runtime_checkable
class Closable(Protocol):
    """An object that may still be busy when the daemon stops."""

    def close(self) -> None:
        """Stop immediately."""
        ...


class UnusableAnswerError(ModelError):
    """Raised when the model gave two invalid answers in a row. `usage` covers both requests."""

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(
            message,
            fix="It will be retried later; if the problem persists, choose another model or reader = session.",
            transient=True,
        )
        self.usage = usage


def load_prompt(version: str = PROMPT_VERSION) -> str:
    """Return the instructions for the model."""
    return files("memoryd.daydream").joinpath("prompts", f"{version}.md").read_text("utf-8")


class ModelExtractor:
    """An extractor based on any LLM.

    Requests are redacted. Answers are validated against the schema and their evidence. If an answer is still invalid
    after one repair, an error is raised; it never counts as an empty success.
    """

    def __init__(self, llm: LLM, settings: Settings, name: str = ENDPOINT) -> None:
        self._llm = llm
        self._name = name
        self._budget = settings.chunk_tokens

    @property
    def name(self) -> str:
        """The reader's name: endpoint or claude."""
        return self._name

    @property
    def version(self) -> str:
        """The prompt's version, recorded with results."""
        return PROMPT_VERSION

    def extract(self, passage: Passage) -> Extraction:
        """Return candidates in the order of their evidence. Raises ModelError."""
        messages = self.messages(passage)
        completion = self._llm.complete(messages, SCHEMA)
        usage = completion.usage
        try:
            answer = parse_answer(completion.text)
        except InvalidAnswerError as problem:
            completion = self._llm.complete(_repair(messages, completion.text, str(problem)), SCHEMA)
            usage += completion.usage
            try:
                answer = parse_answer(completion.text)
            except InvalidAnswerError as again:
                raise UnusableAnswerError(f"{self._llm.name} returned an unusable answer: {again}.", usage) from again
        candidates, unfounded = ground(answer.proposals, passage)
        clean, secret = _without_secrets(candidates)
        left_out = (*unfounded, *secret)
        skipped = MappingProxyType(counts(left_out))
        model = completion.model or self._llm.name
        handoff = redact(answer.handoff).text if passage.ends else ""
        return Extraction(clean, skipped, self._name, model, usage, left_out, handoff)

    def close(self) -> None:
        """Stop a running model process.

        Can be called from any thread. HTTP requests end when they time out.
        """
        if isinstance(self._llm, Closable):
            self._llm.close()

    def messages(self, passage: Passage) -> list[Message]:
        """Return the request: instructions, and the redacted passage as data."""
        return messages_for(passage, self._budget)

    def print_prompt(self, passage: Passage) -> str:
        """Return the exact text that would leave the machine, for inspection."""
        return print_prompt(self.messages(passage))


def messages_for(passage: Passage, budget_tokens: int) -> list[Message]:
    """Return the fixed instructions, and the redacted passage as data, within the budget. Tool output is cut first."""
    return [Message("system", load_prompt()), Message("user", redact(render(redacted_passage(passage), budget_tokens)).text)]


def print_prompt(messages: Sequence[Message]) -> str:
    """Return the exact text of the messages, each preceded by its role."""
    return "\n\n".join(f"--- {message.role} ---\n{message.content}" for message in messages)


def _repair(messages: list[Message], answer: str, problem: str) -> list[Message]:
    request = f"Your answer can't be used: {problem}. Answer again with the one JSON object that was asked for, nothing else."
    return [*messages, Message("assistant", shorten(answer, 8_000)), Message("user", request)]


def _without_secrets(candidates: list[Candidate]) -> tuple[tuple[Candidate, ...], list[Refused]]:
    """Drop statements that contain a secret. Without the secret, they are rarely useful."""
    kept = tuple(candidate for candidate in candidates if not _holds_secret(candidate))
    return kept, [refused(candidate, "holds a secret") for candidate in candidates if candidate not in kept]


def _holds_secret(candidate: Candidate) -> bool:
    return any(redact(text).found for text in (candidate.content, *candidate.asked_as))
