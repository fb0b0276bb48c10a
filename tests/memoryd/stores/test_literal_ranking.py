"""The optimised queries of the literal index return the same as one plain SQL query."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path

import pytest

from memoryd.core.types import Kind, MemoryItem, Query, Scope, Status
from memoryd.stores import fulltext, rows
from memoryd.stores.fulltext import FullTextIndex, key_of
from memoryd.stores.markdown import MarkdownStore
from tests.memoryd.stores.markdown_samples import NOW, an_id, an_item, open_store

WORDS = "redis pnpm docker cache port staging login worker nginx kafka deploy friday".split()
FILTERS = (
    Query(),
    Query(project="p0"),
    Query(project="p7"),
    Query(project="nowhere"),
    Query(session="s3"),
    Query(project="p1", kinds=(Kind.RULE,), statuses=tuple(Status)),
    Query(statuses=(Status.BLACKLISTED,)),
    Query(project="p2", statuses=(Status.BLACKLISTED, Status.SUPERSEDED)),
    Query(tags=("even",), now=NOW),
    Query(as_of=NOW + timedelta(minutes=90)),
    Query(valid_at=NOW + timedelta(minutes=50)),
    Query(scopes=(Scope.USER,)),
)


def random_item(number: int, chance: random.Random) -> MemoryItem:
    return an_item(
        number,
        " ".join(chance.choices(WORDS, weights=range(1, len(WORDS) + 1), k=chance.randint(2, 9))),
        project=f"p{min(7, int(chance.expovariate(0.7)))}",
        session=f"s{number % 11}",
        kind=chance.choice(list(Kind)),
        scope=Scope.USER if chance.random() < 0.05 else Scope.PROJECT,
        status=chance.choice([*[Status.ACTIVE] * 6, *Status]),
        tags=("even",) if number % 2 == 0 else (),
        created_at=NOW + timedelta(minutes=number // 3),
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> MarkdownStore:
    chance = random.Random(5)
    store = open_store(tmp_path_factory.mktemp("home"))
    store.write_many([random_item(number, chance) for number in range(1, 601)])
    return store


def plain_ranking(index: FullTextIndex, query: Query, words: list[str], k: int) -> list[tuple[str, float]]:
    condition, parameters = rows.where(query, "m")
    found = index.db.execute(
        "SELECT m.id, -words.rank FROM words JOIN memory AS m ON m.rowid = words.rowid & 0xffffffff"
        f" WHERE words MATCH ? AND {condition} ORDER BY words.rank, m.id LIMIT ?",
        (" OR ".join(f'"{word}"' for word in words), *parameters, k),
    )
    return [(id, score) for id, score in found]


@pytest.mark.parametrize("query", FILTERS)
@pytest.mark.parametrize("k", [1, 7, 120])
def test_the_best_by_words_are_those_of_a_ranking_of_everything(store: MarkdownStore, query: Query, k: int) -> None:
    index = FullTextIndex(store._paths.index / "literal.db")
    for words in (["friday"], ["redis", "pnpm"], ["docker", "cache", "login", "worker"], WORDS):
        text = Query(**{name: getattr(query, name) for name in Query.__slots__} | {"text": " ".join(words)})
        found = store.scores(text, k)
        plain = plain_ranking(index, query, words, k)
        assert list(found) == [id for id, _ in plain]
        assert list(found.values()) == pytest.approx([score for _, score in plain], rel=1e-12)
        assert [(hit.item.id, hit.score) for hit in store.search(text, k)] == list(found.items())
    index.close()


@pytest.mark.parametrize("query", FILTERS)
@pytest.mark.parametrize("few", [0, 50, 2_000])
def test_the_newest_are_the_same_whether_few_rows_or_all_are_walked_through(
    store: MarkdownStore, query: Query, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "FEW", few)
    index = FullTextIndex(store._paths.index / "literal.db")
    condition, parameters = rows.where(query)
    plain = index.db.execute(f"SELECT id FROM memory WHERE {condition} ORDER BY created_at DESC, id", parameters)
    index.close()
    for k in (1, 20, 1_000):
        assert [hit.item.id for hit in store.search(query, k)] == [id for (id,) in plain][:k]


def test_a_project_without_memories_is_reported_before_anything_is_looked_up(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1, project="a"))
    assert store.holds(Query()) and store.holds(Query(project="a")) and not store.holds(Query(project="b"))
    store.write(an_item(2, scope=Scope.USER))
    assert store.holds(Query(project="b"))
    store.delete(an_id(2))
    assert not store.holds(Query(project="b")) and store.scores(Query("cache", project="b"), 5) == {}


def test_how_many_memories_each_project_has(store: MarkdownStore) -> None:
    counts = store.projects()
    assert sum(counts.values()) == 600
    assert counts["p0"] == sum(item.project == "p0" for item in store.all())


@pytest.mark.parametrize("query", FILTERS)
def test_pages_and_numbers_are_those_of_the_whole_list(store: MarkdownStore, query: Query) -> None:
    every = [hit.item for hit in store.search(query, 1_000)]
    assert store.count(query) == len(every) == sum(number for _, _, number in store.tally(query))
    pages, after = [], None
    while page := store.page(query, 50, after):
        pages += page
        after = key_of(page[-1])
    assert pages == every


def test_a_number_that_was_returned_before_is_counted_again_after_a_change(tmp_path: Path) -> None:
    store, other = open_store(tmp_path), open_store(tmp_path)
    everything = Query(statuses=tuple(Status))
    assert (store.count(everything), store.count(everything)) == (0, 0)
    store.write(an_item(1))
    assert store.count(everything) == other.count(everything) == 1
    other.write(an_item(2, status=Status.SUPERSEDED))
    assert store.count(everything) == 2 and store.count(Query()) == 1
    store.delete(an_id(1))
    assert other.count(everything) == 1 and other.tally(everything) == [("note", "superseded", 1)]
