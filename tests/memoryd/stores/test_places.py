"""The cached rows that match a filter are kept across writes and always equal the table."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from memoryd.core.types import Kind, MemoryItem, Query, Status
from memoryd.stores import vector_cache
from memoryd.stores.vector import VectorStore

from .vector_samples import START, ClusterEmbedder, item

QUERIES = [
    Query(text="3", project="p0"),
    Query(text="3", project="p1", statuses=(Status.ACTIVE, Status.SUPERSEDED)),
    Query(text="7", kinds=(Kind.RULE,)),
    Query(text="7", session="s1", now=START + timedelta(days=1)),
]


def a_random_item(number: int, chance: Random) -> MemoryItem:
    return item(
        number,
        project=f"p{chance.randint(0, 2)}",
        kind=chance.choice([Kind.RULE, Kind.NOTE]),
        status=chance.choice([Status.ACTIVE, Status.ACTIVE, Status.SUPERSEDED]),
        session=f"s{chance.randint(0, 2)}",
    )


@pytest.mark.parametrize("most", [3, 2_000])
def test_after_any_writes_a_filter_leaves_what_a_new_search_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(vector_cache, "MAX_CHANGED", most)
    chance, path = random.Random(4), tmp_path / "vector.db"
    store, other = VectorStore(path, ClusterEmbedder()), VectorStore(path, ClusterEmbedder())
    store.write_many([a_random_item(number, chance) for number in range(1, 80)])
    for _ in range(12):
        writer = chance.choice([store, other])
        numbers = chance.sample(range(1, 100), chance.choice([1, 2, 5]))
        writer.write_many([a_random_item(number, chance) for number in numbers])
        writer.delete(item(chance.randint(1, 99)).id)
        new = VectorStore(path, ClusterEmbedder())
        for query in QUERIES:
            assert store.scores(query, 9) == new.scores(query, 9)
        new.close()
    store.close()
    other.close()


def test_after_a_write_only_what_changed_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = VectorStore(tmp_path / "vector.db", ClusterEmbedder())
    store.write_many([item(number) for number in range(1, 60)])
    store.scores(QUERIES[0], 5)
    asked, execute = [], store._db.execute
    monkeypatch.setattr(store._db, "execute", lambda sql, *more: asked.append(sql) or execute(sql, *more))
    store.write(item(60, project="p0"))
    found = store.scores(Query(text="0", project="p0"), 60)
    assert item(60).id in found and len(found) == sum(item(number).project == "p0" for number in range(1, 60)) + 1
    assert not [sql for sql in asked if sql.startswith("SELECT m.rowid FROM memory AS m WHERE (")]
    store.close()
