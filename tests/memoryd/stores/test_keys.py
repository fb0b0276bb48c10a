"""Keys (`asked_as`) are searched by words and by meaning in addition to the statement, and change with the memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.core.types import MemoryItem, Query, Status
from memoryd.stores.fulltext import MAX_KEYS, FullTextIndex, keys_of
from memoryd.stores.vector import VectorStore
from memoryd.testing import HashEmbedder
from tests.memoryd.stores.markdown_samples import an_id, an_item, ids, open_store
from tests.memoryd.stores.vector_samples import ClusterEmbedder, item

KEY = "which engine drives the slideshow?"


def test_a_word_of_a_key_finds_the_memory(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(1, "We use reveal", asked_as=(KEY,)), an_item(2, "Nothing here")])
    assert ids(store, "slideshows") == [an_id(1)]
    store.write(an_item(1, "We use reveal"))
    assert ids(store, "slideshows") == []
    store.write(an_item(2, "Nothing here", asked_as=("放映幻灯片用什么？",)))
    assert ids(store, "幻灯片") == [an_id(2)]


def test_memories_without_keys_score_as_if_there_were_none(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(number, f"deploy on day {number}") for number in range(1, 9)])
    before = store.scores(Query("deploy day 3"), 9)
    store.write(an_item(9, "Other things", asked_as=("what else is there?",)))
    after = store.scores(Query("deploy day 3"), 9)
    assert list(after) == list(before)


def test_an_index_without_a_column_for_keys_is_taken_over(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1, "We use reveal", asked_as=(KEY,)))
    index = store._open()
    index.db.execute("DROP TABLE vocabulary")
    index.db.execute("DROP TABLE words")
    index.db.execute("CREATE VIRTUAL TABLE words USING fts5(body, content='', contentless_delete=1)")
    index.db.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)")
    index.db.execute("PRAGMA user_version=4")
    store.close()
    opened = FullTextIndex(tmp_path / "index" / "literal.db")
    assert list(opened.scores(Query("slideshow"), 3)) == [an_id(1)]
    opened.close()


def test_what_is_indexed_of_many_long_keys_is_bounded() -> None:
    many = MemoryItem("x", asked_as=("", " a  b ", "a b", *(f"{number} {'word ' * 200}" for number in range(20))))
    assert keys_of(many)[0] == "a b" and len(keys_of(many)) == MAX_KEYS
    assert max(map(len, keys_of(many))) <= 300


@pytest.fixture(params=[2**20, 0], ids=["matrix", "table"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> VectorStore:
    return VectorStore(tmp_path / "vector.db", HashEmbedder(1024), matrix_bytes=request.param)


def test_a_memory_is_as_near_as_the_nearer_of_statement_and_keys(vectors: VectorStore) -> None:
    plain = item(1, "reveal is what we chose")
    keyed = replace(item(2, "reveal is what we chose"), asked_as=(KEY, "how do talks get their pages?"))
    vectors.write_many([plain, keyed])
    found = vectors.scores(Query(KEY), 5)
    assert found[keyed.id] == 1.0 and found.get(plain.id, 0.0) < 0.5
    assert vectors.score(KEY, [keyed.id])[keyed.id] == 1.0
    assert vectors.compare(KEY, [plain.id])[plain.id].keys == ()
    closeness = vectors.compare("reveal is what we chose", [keyed.id])[keyed.id]
    assert closeness.statement == 1.0 and len(closeness.keys) == 2 and max(closeness.keys) < 1.0


def test_keys_that_are_edited_away_are_not_found_any_more(vectors: VectorStore) -> None:
    keyed = replace(item(2, "reveal"), asked_as=(KEY, "other words"))
    vectors.write(keyed)
    assert vectors.scores(Query(KEY), 1)[keyed.id] == 1.0
    vectors.write(replace(keyed, asked_as=("other words",)))
    assert vectors.scores(Query(KEY), 1).get(keyed.id, 0.0) < 0.5
    assert vectors.scores(Query("other words"), 1)[keyed.id] == 1.0
    vectors.delete(keyed.id)
    assert vectors.scores(Query("other words"), 1) == {}


def test_a_filter_holds_for_keys_also_when_it_changes_later(vectors: VectorStore) -> None:
    keyed = replace(item(1, "reveal"), asked_as=(KEY,), project="a")
    vectors.write_many([keyed, replace(item(2, "else"), asked_as=("else",), project="b")])
    assert keyed.id in vectors.scores(Query(KEY, project="a"), 3)
    assert keyed.id not in vectors.scores(Query(KEY, project="b"), 3)
    vectors.write(replace(keyed, project="b"))
    assert keyed.id in vectors.scores(Query(KEY, project="b"), 3)
    vectors.write(replace(keyed, project="b", status=Status.SUPERSEDED))
    assert keyed.id not in vectors.scores(Query(KEY, project="b"), 3)


def test_a_key_is_embedded_once(tmp_path: Path) -> None:
    embedder = ClusterEmbedder()
    store = VectorStore(tmp_path / "vector.db", embedder)
    keyed = replace(item(1, "1 statement"), asked_as=("1 key", "2 key"))
    store.write(keyed)
    assert embedder.seen == 3
    store.write(replace(keyed, pinned=True))
    assert embedder.seen == 3
    store.write(replace(keyed, asked_as=("1 key", "3 key")))
    assert embedder.seen == 4


def test_a_key_with_a_damaged_vector_is_missed(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "vector.db", ClusterEmbedder())
    keyed = replace(item(1, "1 statement"), asked_as=("1 key",))
    store.write_many([keyed, item(2)])
    assert store.stale_count() == 0
    store._db.execute("UPDATE key SET embedding = zeroblob(length(embedding))")
    assert store.digests()[keyed.id] == "" and store.stale_count() == 1
    store.write(keyed)
    assert store.stale_count() == 0


@given(
    st.lists(st.tuples(st.integers(0, 11), st.lists(st.integers(0, 30), max_size=4)), min_size=1, max_size=12), st.integers(1, 8)
)
@settings(max_examples=30, deadline=None)
def test_the_best_with_keys_are_those_of_brute_force(tmp_path_factory: pytest.TempPathFactory, rows: list[Any], k: int) -> None:
    embedder = ClusterEmbedder()
    folder = tmp_path_factory.mktemp("vectors")
    stores = [VectorStore(folder / f"{size}.db", embedder, matrix_bytes=size) for size in (2**20, 0)]
    items = {f"mem_{n:012x}": [f"{text} s{n}", *(f"{key} k" for key in keys)] for n, (text, keys) in enumerate(rows)}
    vector = embedder.embed(["5 query"])[0]
    best = {id: max(round(float(v @ vector), 6) for v in embedder.embed(texts)) for id, texts in items.items()}
    wanted = sorted(best.values(), reverse=True)[:k]
    for store in stores:
        store.write_many([MemoryItem(texts[0], id=id, asked_as=tuple(texts[1:])) for id, texts in items.items()])
        found = store.scores(Query("5 query"), k)
        assert list(found.values()) == pytest.approx(wanted, abs=3e-6)
        assert all(best[id] == pytest.approx(cosine, abs=3e-6) for id, cosine in found.items())
        store.close()
