from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd.core.codec import item_digest
from memoryd.core.errors import EmbeddingError, IndexDamagedError
from memoryd.core.types import Backend, Kind, MemoryItem, Query, Scope, Status
from memoryd.stores.vector import VectorStore
from memoryd.testing import HashEmbedder

from .vector_samples import START, ClusterEmbedder, item


@pytest.fixture(params=["matrix", "table"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a store on one file, repeatedly. Each search path is used in turn."""
    stores = []

    def open(embedder: Any = None, **options: Any) -> VectorStore:
        options.setdefault("matrix_bytes", 2**20 if request.param == "matrix" else 0)
        stores.append(VectorStore(tmp_path / "index" / "vector.db", embedder or ClusterEmbedder(), **options))
        return stores[-1]

    yield open
    for store in stores:
        store.close()


def raw(tmp_path: Path, sql: str, *parameters: Any) -> list[Any]:
    connection = apsw.Connection(str(tmp_path / "index" / "vector.db"))
    try:
        return connection.execute(sql, parameters).fetchall()
    finally:
        connection.close()


def ids(hits: list[Any]) -> list[Any]:
    return [hit.item.id for hit in hits]


def test_the_nearest_come_first_with_their_cosine_as_score(open_store: Callable[..., Any]) -> None:
    store = open_store(HashEmbedder(1024))
    near = store.write(MemoryItem(content="the build uses pnpm"))
    far = store.write(MemoryItem(content="postgres has the other port"))
    hits = store.search(Query(text="which tool for the build: pnpm"))
    assert ids(hits) == [near, far]
    assert hits[0].backend is Backend.VECTOR and hits[0].parts == {"cosine": hits[0].score} and hits[0].relevancy == 0
    assert store.search(Query(text="the build uses pnpm"))[0].score == 1.0


def test_an_item_comes_back_equal_and_can_be_replaced_and_deleted(open_store: Callable[..., Any]) -> None:
    store = open_store()
    first = item(1, tags=("a",), kind=Kind.RULE)
    assert store.write(first) == first.id and store.get(first.id) == first
    second = replace(first, content="3 other", relevancy=0.2)
    store.write(second)
    assert store.get(first.id) == second and list(store.all()) == [second]
    assert store.search(Query(text="3 other"), 1)[0].score == 1.0
    store.delete(first.id)
    store.delete(first.id)
    assert store.get(first.id) is None and store.search(Query(text="3 other")) == [] and store.count() == 0


def test_write_many_gives_ids_in_order_and_all_is_ordered(open_store: Callable[..., Any]) -> None:
    store = open_store()
    assert store.write_many([]) == []
    given = [item(n) for n in (5, 2, 9)] + [MemoryItem(content="no id")]
    out = store.write_many(given)
    assert out[:3] == [entry.id for entry in given[:3]] and out[3].startswith("mem_")
    assert [entry.id for entry in store.all()] == sorted(out)


def test_empty_text_gives_the_newest_that_pass(open_store: Callable[..., Any]) -> None:
    store = open_store()
    store.write_many([item(n) for n in range(9)])
    hits = store.search(Query(text="  ", project="p1"), 2)
    assert ids(hits) == [item(7).id, item(4).id] and [hit.score for hit in hits] == [0, 0]


@pytest.mark.parametrize("k", [0, -1])
def test_nothing_is_asked_for_with_k_of_zero_or_less(open_store: Callable[..., Any], k: int) -> None:
    store = open_store()
    store.write(item(1))
    assert store.search(Query(text="1"), k) == [] and store.search(Query(), k) == []


def test_what_has_nothing_in_common_is_not_a_hit(open_store: Callable[..., Any]) -> None:
    class Axes(ClusterEmbedder):
        def embed(self, texts: list[str]) -> Any:  # type: ignore[override]
            return np.array([[1, 0] if text == "a" else [0, 1] if text == "b" else [-0.6, 0.8] for text in texts], np.float32)

    store = open_store(Axes(2))
    store.write_many([item(1, "a"), item(2, "b"), item(3, "c")])
    assert ids(store.search(Query(text="a"))) == [item(1).id]
    assert ids(store.search(Query(text="b"))) == [item(2).id, item(3).id]
    assert store.score("a", [item(2).id, item(3).id]) == {item(2).id: 0.0, item(3).id: -0.6}


def test_an_empty_store_finds_nothing(open_store: Callable[..., Any]) -> None:
    store = open_store()
    assert store.search(Query(text="x")) == [] and store.score("x", ["mem_000000000001"]) == {} and store.digests() == {}


def test_a_huge_k_gives_everything_once(open_store: Callable[..., Any]) -> None:
    store = open_store()
    store.write_many([item(n) for n in range(30)])
    assert len(set(ids(store.search(Query(text="3"), 10**9)))) == 30


def test_equal_vectors_are_ordered_by_id_past_any_cut(open_store: Callable[..., Any]) -> None:
    store = open_store()
    store.write_many([item(n, "same words") for n in reversed(range(700))])
    assert ids(store.search(Query(text="same words"), 5)) == [item(n).id for n in range(5)]
    assert ids(store.search(Query(text="same words", project="p1"), 2)) == [item(1).id, item(4).id]


def test_a_narrow_filter_is_answered_from_all_rows(open_store: Callable[..., Any]) -> None:
    store = open_store()
    store.write_many([item(n) for n in range(1500)])
    rare = [item(n, tags=("rare",), session="s9") for n in (3, 700, 1400)]
    store.write_many(rare)
    assert set(ids(store.search(Query(text="19 fact 19", tags=("rare",)), 8))) == {entry.id for entry in rare}
    assert len(store.search(Query(text="19 fact 19", session="s9"), 2)) == 2


FILTERS = st.builds(
    Query,
    text=st.sampled_from(["3 fact 3", "7", "nothing like it", "same"]),
    project=st.sampled_from([None, "p0", "p1", "other"]),
    scopes=st.sampled_from([(), (Scope.USER,), (Scope.PROJECT, Scope.TEAM)]),
    kinds=st.sampled_from([(), (Kind.RULE,)]),
    tags=st.sampled_from([(), ("t",)]),
    session=st.sampled_from([None, "s1"]),
    statuses=st.sampled_from([(Status.ACTIVE,), (), (Status.SUPERSEDED,)]),
    as_of=st.sampled_from([None, START + timedelta(minutes=40)]),
    created_after=st.sampled_from([None, START + timedelta(minutes=20)]),
)


def _mixed(n: int) -> MemoryItem:
    return item(
        n,
        "same" if n % 7 == 0 else None,
        scope=[Scope.PROJECT, Scope.USER, Scope.TEAM][n % 5 % 3],
        kind=Kind.RULE if n % 4 == 0 else Kind.NOTE,
        tags=("t",) if n % 6 == 0 else (),
        session=f"s{n % 3}",
        status=Status.SUPERSEDED if n % 11 == 0 else Status.ACTIVE,
        expired_at=START + timedelta(minutes=n + 30) if n % 11 == 0 else None,
    )


@pytest.fixture(scope="module")
def both_ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[VectorStore]]:
    """Return the same memories searched by matrix and by table."""
    stores = [VectorStore(tmp_path_factory.mktemp(name) / "v.db", ClusterEmbedder(), matrix_bytes=size)
              for name, size in (("matrix", 2**20), ("table", 0))]  # fmt: skip
    for store in stores:
        store.write_many([_mixed(n) for n in range(160)])
    yield stores
    for store in stores:
        store.close()


@given(query=FILTERS, k=st.integers(1, 200))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_ways_of_exact_search_give_the_answer_of_brute_force(both_ways: list[VectorStore], query: Query, k: int) -> None:
    matrix, table = both_ways
    passing = table.search(replace(query, text=""), 1000)
    embedder = ClusterEmbedder()
    vector = embedder.embed([query.text])[0]
    ranked = sorted((-round(float(embedder.embed([hit.item.content])[0] @ vector), 6), hit.item.id) for hit in passing)
    for store in (matrix, table):
        hits = store.search(query, k)
        assert len(hits) == min(k, len(ranked))
        assert [(hit.score, hit.item.id) for hit in hits] == sorted(
            ((h.score, h.item.id) for h in hits), key=lambda p: (-p[0], p[1])
        )
        assert np.allclose([hit.score for hit in hits], [-cosine for cosine, _ in ranked[:k]], atol=3e-6)
    assert ids(matrix.search(query, k)) == ids(table.search(query, k)) or not _clear(ranked)


def _clear(ranked: Any) -> Any:
    """Return whether no two different vectors are nearly equally distant. Only then, the order is determined."""
    gaps = np.diff([cosine for cosine, _ in ranked])
    return not ((gaps > 0) & (gaps < 3e-6)).any()


def test_writes_and_deletes_of_another_process_are_seen_at_once(open_store: Callable[..., Any]) -> None:
    one, other = open_store(), open_store()
    one.write_many([item(n) for n in range(20)])
    assert len(other.search(Query(text="3 fact 3"), 50)) == 20
    one.write(item(3, "19 changed"))
    one.write(item(99, "5 new"))
    one.delete(item(4).id)
    hits = other.search(Query(text="5 new"), 50)
    assert ids(hits)[0] == item(99).id and item(4).id not in ids(hits) and len(hits) == 20
    assert other.search(Query(text="19 changed"), 1)[0].item.id == item(3).id


def test_a_row_number_that_is_used_again_does_not_bring_the_old_vector_back(open_store: Callable[..., Any]) -> None:
    store = open_store()
    store.write_many([item(1, "1 a"), item(2, "2 b")])
    store.search(Query(text="2 b"))
    store.delete(item(2).id)
    store.write(item(3, "7 c"))
    assert store.search(Query(text="7 c"), 1)[0].score == 1.0
    assert store.search(Query(text="2 b"), 5)[0].score < 0.99


def test_a_new_model_makes_the_rows_count_as_missing_until_written_again(open_store: Callable[..., Any]) -> None:
    items = [item(n) for n in range(6)]
    old = open_store()
    old.write_many(items)
    assert old.digests() == {entry.id: item_digest(entry) for entry in items} and old.stale_count() == 0
    new = open_store(ClusterEmbedder(8, "newer"))
    assert new.stale_count() == 6 and set(new.digests().values()) == {""}
    assert new.search(Query(text="1")) == [] and new.score("1", [items[0].id]) == {} and new.get(items[0].id) == items[0]
    assert len(new.search(Query(), 10)) == 6
    new.write_many(items[:4])
    assert new.stale_count() == 2 and len(new.search(Query(text="1"), 10)) == 4
    assert len(old.search(Query(text="1"), 10)) == 2 == 6 - old.stale_count()


def test_a_model_that_changed_its_dimensions_under_the_same_name_starts_again(open_store: Callable[..., Any]) -> None:
    open_store().write_many([item(1), item(2)])
    store = open_store(ClusterEmbedder(8))
    store.write_many([item(1), item(3)])
    assert store.stale_count() == 1 and set(ids(store.search(Query(text="1")))) == {item(1).id, item(3).id}


def test_only_a_changed_content_is_embedded_again(open_store: Callable[..., Any]) -> None:
    embedder = ClusterEmbedder()
    store = open_store(embedder)
    store.write_many([item(1), item(2), item(3, item(2).content)])
    assert embedder.seen == 2
    store.write_many([replace(item(1), relevancy=0.1), item(2)])
    assert embedder.seen == 2 and store.get(item(1).id).relevancy == 0.1
    store.write(replace(item(1), content="4 new"))
    assert embedder.seen == 3


def test_a_query_is_embedded_once(open_store: Callable[..., Any]) -> None:
    embedder = ClusterEmbedder()
    store = open_store(embedder)
    store.write(item(1))
    before = embedder.seen
    store.search(Query(text="q"))
    store.search(Query(text="q", project="p1"))
    store.score("q", [item(1).id])
    assert embedder.seen == before + 1


def test_all_vectors_are_read_page_by_page(open_store: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.stores.vector.READ_BATCH", 3)
    embedder = ClusterEmbedder()
    store = open_store(embedder)
    assert store.vectors() == {}
    store.write_many([item(n) for n in range(10)])
    store.delete(item(4).id)
    found = store.vectors()
    assert sorted(found) == [item(n).id for n in range(10) if n != 4]
    assert all(np.allclose(found[item(n).id], embedder.embed([item(n).content])[0]) for n in range(10) if n != 4)


def test_score_gives_the_cosine_of_each_known_id(open_store: Callable[..., Any]) -> None:
    store = open_store()
    store.write_many([item(n) for n in range(5)])
    scores = store.score("2 fact 2", [item(2).id, item(4).id, "mem_ffffffffffff"])
    assert scores.keys() == {item(2).id, item(4).id} and scores[item(2).id] == 1.0
    assert scores == {hit.item.id: hit.score for hit in store.search(Query(text="2 fact 2")) if hit.item.id in scores}
    assert store.score(" ", [item(2).id]) == {} and store.score("x", []) == {}


@pytest.mark.parametrize(
    "blob",
    [
        np.full(16, np.nan, "<f4").tobytes(),
        np.zeros(16, "<f4").tobytes(),
        np.full(16, 1e30, "<f4").tobytes(),
        b"short",
        b"",
        "[1, 2]",
        None,
        7,
    ],
)
def test_a_damaged_vector_counts_as_missing_and_is_repaired_by_writing(
    open_store: Callable[..., Any], tmp_path: Path, blob: Any
) -> None:
    store = open_store()
    store.write_many([item(n) for n in range(4)])
    raw(tmp_path, "UPDATE memory SET embedding = ? WHERE id = ?", blob, item(2).id)
    fresh = open_store()
    found = set(ids(fresh.search(Query(text="1 fact 1"), 8)))
    assert {item(0).id, item(1).id, item(3).id} <= found
    assert fresh.digests()[item(2).id] == "" and fresh.stale_count() == 1
    fresh.score("x", [item(2).id])
    fresh.write(item(2))
    assert fresh.stale_count() == 0 and fresh.search(Query(text="2 fact 2"), 1)[0].item.id == item(2).id


def test_a_file_that_is_not_a_database_is_reported_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    path.write_bytes(b"not a database, " * 400)
    with pytest.raises(IndexDamagedError):
        VectorStore(path, ClusterEmbedder())


def test_a_damaged_page_is_reported_as_damage_when_used(tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    store = VectorStore(path, ClusterEmbedder())
    store.write_many([item(n) for n in range(400)])
    store.close()
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start : start + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with pytest.raises(IndexDamagedError):
        VectorStore(path, ClusterEmbedder()).search(Query(text="1"))


class BrokenEmbedder(ClusterEmbedder):
    """Fails, or returns a given result."""

    def __init__(self, answer: Any = None) -> None:
        super().__init__()
        self.answer = answer

    def embed(self, texts: list[str]) -> Any:  # type: ignore[override]
        if self.answer is None:
            raise EmbeddingError("no model")
        return self.answer


@pytest.mark.parametrize("answer", [None, np.full((1, 16), np.nan), np.zeros((1, 16)), np.ones((2, 16)) / 4, np.ones(16) / 4])
def test_a_failing_embedder_leaves_the_store_as_it_was(open_store: Callable[..., Any], answer: Any) -> None:
    store = open_store(BrokenEmbedder(answer))
    with pytest.raises(EmbeddingError):
        store.write(item(1))
    assert store.count() == 0
    with pytest.raises(EmbeddingError):
        store.search(Query(text="x"))


def test_reading_continues_while_the_embedder_works(open_store: Callable[..., Any]) -> None:
    class SlowEmbedder(ClusterEmbedder):
        started, release = threading.Event(), threading.Event()

        def embed(self, texts: list[str]) -> Any:  # type: ignore[override]
            if texts[0].startswith("slow"):
                self.started.set()
                assert self.release.wait(60)
            return super().embed(texts)

    embedder = SlowEmbedder()
    store = open_store(embedder)
    store.write(item(1))
    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(store.write, item(2, "slow text"))
        assert embedder.started.wait(60)
        try:
            reading = pool.submit(lambda: (store.get(item(1).id), ids(store.search(Query(text="1 fact 1")))))
            assert reading.result(60) == (item(1), [item(1).id])
        finally:
            embedder.release.set()
        assert writing.result(60) == item(2).id


def test_threads_that_write_and_search_lose_nothing(open_store: Callable[..., Any]) -> None:
    store, other = open_store(), open_store()

    def work(n: int) -> None:
        target = (store, other)[n % 2]
        target.write_many([item(n * 10 + i) for i in range(10)])
        target.search(Query(text=f"{n}"), 3)
        target.delete(item(n * 10).id)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(12)))
    assert store.count() == 108 == len(store.search(Query(text="3"), 500)) == len(other.search(Query(text="3"), 500))


def test_closing_twice_is_fine(open_store: Callable[..., Any]) -> None:
    store = open_store()
    store.write_many([item(1)])
    store.close()
    store.close()
    assert open_store().count() == 1


def test_a_cache_that_holds_mostly_deleted_rows_is_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memoryd.stores import vector_cache

    monkeypatch.setattr(vector_cache, "READ_BATCH", 10)
    store = VectorStore(tmp_path / "v.db", ClusterEmbedder())
    store.write_many([item(n) for n in range(100)])
    store.search(Query(text="1"))
    for n in range(90):
        store.delete(item(n).id)
    assert len(store.search(Query(text="1"), 50)) == 10
    assert len(store._statements.caches._matrix) == 10
    store.close()


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_a_filter_that_is_kept_gives_what_the_table_gives(seed: int, k: int) -> None:
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        fast, exact = (VectorStore(Path(name) / "v.db", HashEmbedder(), matrix_bytes=size) for size in (2**20, 0))
        words = "cache port queue deploy staging token".split()
        for _ in range(3):  # The kept filter must notice what is written and deleted between queries.
            fast.write_many(
                MemoryItem(
                    " ".join(draw.choices(words, k=4)),
                    id=f"mem_{draw.randrange(40):012x}",
                    project=draw.choice("ab"),
                    kind=draw.choice([Kind.FACT, Kind.RULE]),
                    status=draw.choice([Status.ACTIVE, Status.SUPERSEDED]),
                )
                for _ in range(10)
            )
            fast.delete(f"mem_{draw.randrange(40):012x}")
            for query in (
                Query("cache port", project="a"),
                Query("cache port", kinds=(Kind.RULE,)),
                Query("queue", project="b", as_of=datetime(2030, 1, 1, tzinfo=UTC)),
                Query("queue", project="c"),
            ):
                found, right = ([(hit.item.id, hit.score) for hit in store.search(query, k)] for store in (fast, exact))
                assert found == right
        fast.close()
        exact.close()
