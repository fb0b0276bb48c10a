from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memoryd.core.errors import DependencyError
from memoryd.core.types import Hit, Query
from memoryd.stores import vector_cache
from memoryd.stores.hnsw import hnsw_available, remove_hnsw
from memoryd.stores.vector import VectorStore

from .vector_samples import ClusterEmbedder, item

COUNT = 1500


def ids(hits: list[Hit]) -> list[str]:
    return [hit.item.id for hit in hits]


def open_store(path: Path, threshold: int = 1000, embedder: Any = None) -> VectorStore:
    return VectorStore(path, embedder or ClusterEmbedder(), ann_threshold=threshold)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vector.db"


@pytest.fixture
def store(path: Path) -> Iterator[VectorStore]:
    store = open_store(path)
    store.write_many([item(n) for n in range(COUNT)])
    yield store
    store.close()


@pytest.fixture
def hnswlib() -> Any:
    return pytest.importorskip("hnswlib")


def uses_ann(store: VectorStore) -> bool:
    return type(store._statements.caches.current(16)).__name__ == "HnswIndex"


def recall(store: VectorStore, k: int = 10) -> float:
    exact = VectorStore(store._db.path, ClusterEmbedder(), ann_threshold=10**9)
    shares = []
    for n in range(60):
        query = Query(text=f"{n % 20} question {n}")
        truth = set(ids(exact.search(query, k)))
        shares.append(len(truth & set(ids(store.search(query, k)))) / k)
    exact.close()
    return float(np.mean(shares))


def test_without_the_library_search_above_the_threshold_is_exact(
    store: VectorStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    monkeypatch.setattr(vector_cache, "hnsw_available", lambda: False)
    plain = open_store(path)
    assert not uses_ann(plain) and not plain.ann_missing() and recall(plain) == 1.0
    with pytest.raises(DependencyError) as caught:
        plain.rebuild_ann()
    assert "pip install 'memoryd[ann]'" in caught.value.fix
    plain.close()


def test_below_the_threshold_there_is_no_mirror(path: Path) -> None:
    store = open_store(path, threshold=10)
    store.write_many([item(n) for n in range(10)])
    assert store.rebuild_ann() == 0 and not store.ann_missing() and not path.with_suffix(".hnsw").exists()
    store.close()


def test_the_library_is_looked_for_without_importing_it() -> None:
    before = "hnswlib" in sys.modules
    hnsw_available()
    assert ("hnswlib" in sys.modules) is before


def test_the_mirror_finds_nearly_all_of_the_exact_answer(hnswlib: Any, store: VectorStore) -> None:
    assert store.ann_missing() and not uses_ann(store)
    assert store.rebuild_ann() == COUNT
    assert uses_ann(store) and not store.ann_missing()
    assert recall(store) >= 0.95


def test_the_mirror_survives_a_restart_and_takes_in_what_changed(hnswlib: Any, store: VectorStore, path: Path) -> None:
    store.rebuild_ann()
    store.write_many([item(COUNT + 1, "5 brand new"), item(7, "6 changed")])
    store.delete(item(8).id)
    for again in (store, open_store(path)):
        assert uses_ann(again)
        assert ids(again.search(Query(text="5 brand new"), 1)) == [item(COUNT + 1).id]
        assert ids(again.search(Query(text="6 changed"), 1)) == [item(7).id]
        assert item(8).id not in ids(again.search(Query(text=item(8).content), 20))
    again.close()


def test_filters_hold_and_a_narrow_one_is_answered_exactly(hnswlib: Any, store: VectorStore) -> None:
    store.write_many([item(n, tags=("rare",)) for n in (3, 700, 1400)])
    store.rebuild_ann()
    assert set(ids(store.search(Query(text="19 fact 19", tags=("rare",)), 8))) == {item(n).id for n in (3, 700, 1400)}
    hits = store.search(Query(text="4 fact 4", project="p1"), 20)
    assert len(hits) == 20 and {hit.item.project for hit in hits} == {"p1"}


def test_a_file_that_is_far_behind_is_not_used(
    hnswlib: Any, store: VectorStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.rebuild_ann()
    monkeypatch.setattr(vector_cache, "MAX_BEHIND", 5)
    store.write_many([item(COUNT + n) for n in range(6)])
    again = open_store(path)
    assert not uses_ann(again) and again.ann_missing() and recall(again) == 1.0
    again.rebuild_ann()
    assert uses_ann(again)
    again.close()


def _truncate(file: Path, sidecar: Any) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def _flip(file: Path, sidecar: Any) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


def _no_sidecar(file: Path, sidecar: Any) -> None:
    sidecar.unlink()


def _bad_sidecar(file: Path, sidecar: Any) -> None:
    sidecar.write_bytes(b"{")


def _foreign_sidecar(file: Path, sidecar: Any) -> None:
    sidecar.write_bytes(b'{"format": 99}')


def _no_file(file: Path, sidecar: Any) -> None:
    file.unlink()


@pytest.mark.parametrize("damage", [_truncate, _flip, _no_sidecar, _bad_sidecar, _foreign_sidecar, _no_file])
def test_a_broken_or_absent_file_means_exact_search_and_can_be_rebuilt(
    hnswlib: Any, store: VectorStore, path: Path, damage: Any
) -> None:
    store.rebuild_ann()
    file = path.with_suffix(".hnsw")
    damage(file, file.with_name(file.name + ".json"))
    again = open_store(path)
    assert not uses_ann(again) and recall(again) == 1.0 and again.ann_missing()
    assert again.rebuild_ann() == COUNT and uses_ann(again)
    again.close()


def test_the_file_of_another_database_or_model_is_not_used(hnswlib: Any, store: VectorStore, path: Path, tmp_path: Path) -> None:
    store.rebuild_ann()
    other_model = open_store(path, embedder=ClusterEmbedder(name="other"))
    other_model.write_many([item(n) for n in range(COUNT)])
    assert not uses_ann(other_model)
    other_model.close()
    store.close()
    path.unlink()
    rebuilt = open_store(path)
    rebuilt.write_many([item(n) for n in reversed(range(COUNT))])
    assert not uses_ann(rebuilt)
    rebuilt.close()


def test_the_file_stays_bounded_when_memories_come_and_go(
    hnswlib: Any, store: VectorStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "READ_BATCH", 10)
    store.rebuild_ann()
    first = path.with_suffix(".hnsw").stat().st_size
    for turn in range(1, 4):
        store.write_many([item(turn * 10_000 + n) for n in range(900)])
        for entry in list(store.all())[:900]:
            store.delete(entry.id)
        store.search(Query(text="1 fact"))
    store.rebuild_ann()
    assert path.with_suffix(".hnsw").stat().st_size <= first * 1.2


def test_removing_the_mirror_removes_both_files(hnswlib: Any, store: VectorStore, path: Path) -> None:
    store.rebuild_ann()
    remove_hnsw(path.with_suffix(".hnsw"))
    assert [file.name for file in path.parent.glob("*.hnsw*")] == []
    remove_hnsw(path.with_suffix(".hnsw"))
