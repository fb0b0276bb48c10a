"""What a model is asked about, and what it is shown: whether a piece is worth a call, and the known memories near it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memoryd.daydream.render import middle_cut
from memoryd.protocols import MemoryStore
from memoryd.text import keywords, one_line, words
from memoryd.types import Kind, MemoryItem, Passage, Query, Status, Turn, TurnKind

MOST = 12
MOST_TODOS = 4
HITS_OF_A_QUERY = 4
QUERIES = 8
QUERY_CHARS = 400
_SAYS = frozenset({TurnKind.USER, TurnKind.ASSISTANT})
_KNOWN = (Status.ACTIVE, Status.CANDIDATE)


# Fewer words than these are no more than "ok" or "go on"; an assistant's text of so many may hold a finding.
LEAST_USER_WORDS = 3
LEAST_ANSWER_WORDS = 25


def worth_asking(passage: Passage) -> bool:
    """Whether somebody said or found something: a prompt of some words, or an answer long enough for a finding."""
    return any(_says_something(turn) for turn in passage.turns)


def _says_something(turn: Turn) -> bool:
    if turn.kind is TurnKind.USER and not turn.sidechain:
        return turn.via != "prompt" or len(words(turn.text)) >= LEAST_USER_WORDS
    return turn.kind is TurnKind.ASSISTANT and len(words(turn.text)) >= LEAST_ANSWER_WORDS


def find_related(store: MemoryStore, passage: Passage) -> tuple[MemoryItem, ...]:
    """At most MOST memories of the project and the user: from the same lines, near what was said, and open todos."""
    found: dict[str, MemoryItem] = {}
    said = {turn.uuid for turn in passage.turns if turn.uuid}
    hits = [_search(store, passage, text) for text in _queries(passage.turns)]
    ranked = [item for rank in range(HITS_OF_A_QUERY) for items in hits for item in items[rank : rank + 1]]
    same = [item for item in _of_session(store, passage) if said & set(item.evidence.lines)]
    for item in (*same, *_open_todos(store, passage), *ranked):
        if len(found) < MOST:
            found.setdefault(item.id, item)
    return tuple(found.values())


def choose_related(items: Iterable[MemoryItem], passage: Passage) -> tuple[MemoryItem, ...]:
    """The same choice among a few items without a store, by shared words."""
    near = set(keywords(" ".join(_queries(passage.turns))))

    def shared(item: MemoryItem) -> float:
        said = keywords(item.content)
        return len(near & set(said)) / len(said) if said else 0.0

    order = sorted(items, key=lambda item: (-(item.kind is Kind.TODO), -shared(item), item.id))
    return tuple(item for item in order if item.kind is Kind.TODO or shared(item) > 0)[:MOST]


def _queries(turns: Sequence[Turn]) -> list[str]:
    """The texts to search with: what the user said, and the assistant's longest answers."""
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
    return [hit.item for hit in store.search(query, 4 * MOST)]


def _open_todos(store: MemoryStore, passage: Passage) -> list[MemoryItem]:
    query = Query(project=passage.project, kinds=(Kind.TODO,), statuses=(Status.ACTIVE,))
    return [hit.item for hit in store.search(query, MOST_TODOS)]
