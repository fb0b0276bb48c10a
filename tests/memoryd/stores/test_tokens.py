from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.db import Database
from memoryd.core.errors import EmbeddingError, IndexDamagedError
from memoryd.core.protocols import FloatArray
from memoryd.stores.tokens import TokenEntry, TokenStore, max_similarities, to_blob
from memoryd.testing import HashTokenEncoder


class Counting(HashTokenEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> list[FloatArray]:
        self.texts += texts
        return super().encode(texts, contexts)


@pytest.fixture
def encoder() -> Counting:
    return Counting()


@pytest.fixture
def store(tmp_path: Path, encoder: Counting) -> Iterator[TokenStore]:
    store = TokenStore(tmp_path / "tokens.db", encoder)
    yield store
    store.close()


def even(word: str) -> float:
    return 1.0


def test_the_memory_with_the_words_of_the_query_scores_best(store: TokenStore) -> None:
    store.write_many([TokenEntry("a", "1", "the port is 8443"), TokenEntry("b", "1", "cats sleep")])
    scores = store.score("port 8443", ["a", "b", "absent"], even)
    assert scores.keys() == {"a", "b"}
    assert scores["a"] == pytest.approx(1, abs=0.02)
    assert scores["b"] < 0.6


def test_words_count_by_their_weight(store: TokenStore) -> None:
    store.write_many([TokenEntry("a", "1", "alpha"), TokenEntry("b", "1", "beta")])
    scores = store.score("alpha beta", ["a", "b"], {"alpha": 1.0, "beta": 3.0}.__getitem__)
    assert scores["b"] > scores["a"]
    assert store.score("alpha beta", ["a"], lambda word: 0.0) == {}
    assert store.score("", ["a"], even) == {}


def test_what_is_stored_already_is_not_encoded_again(store: TokenStore, encoder: Counting) -> None:
    store.write_many([TokenEntry("a", "1", "alpha")])
    store.write_many([TokenEntry("a", "2", "alpha"), TokenEntry("b", "1", "beta")])
    assert encoder.texts == ["alpha", "beta"]
    assert store.digests() == {"a": "2", "b": "1"}
    store.write_many([TokenEntry("b", "1", "beta", "a", "alpha")])
    assert encoder.texts[2:] == ["beta"]


def test_neighbours_are_found_both_ways_and_deletion_forgets(store: TokenStore) -> None:
    store.write_many([TokenEntry("a", "1", "x"), TokenEntry("b", "1", "y", "a", "x")])
    assert store.before(["a", "b"]) == {"a": "", "b": "a"}
    assert store.neighbours(["a", "b", "absent"]) == {"a": ("", "b"), "b": ("a", "")}
    store.delete("b")
    store.delete("b")
    assert store.neighbours(["a", "b"]) == {"a": ("", "")}
    assert store.count() == 1


def test_rows_of_another_model_and_damaged_rows_wait_to_be_encoded_again(store: TokenStore, tmp_path: Path) -> None:
    store.write_many([TokenEntry(id, "1", "alpha") for id in "abc"])
    other = Database(tmp_path / "tokens.db")
    other.execute("UPDATE tokens SET model = 'older' WHERE id = 'a'")
    other.execute("UPDATE tokens SET vectors = x'0102' WHERE id = 'b'")
    other.close()
    assert store.digests() == {"a": "", "b": "", "c": "1"}
    assert store.score("alpha", list("abc"), even).keys() == {"c"}


def test_a_file_that_is_not_a_database_is_reported(tmp_path: Path, encoder: Counting) -> None:
    (tmp_path / "tokens.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(IndexDamagedError):
        TokenStore(tmp_path / "tokens.db", encoder)


def test_half_a_byte_a_number_keeps_the_products_near() -> None:
    random = np.random.default_rng(0)
    text = random.normal(size=(23, 224)).astype(np.float32)
    text /= np.linalg.norm(text, axis=1, keepdims=True)
    blob = to_blob(text)
    assert len(blob) == 23 * 114 < 3 * 1024
    found = max_similarities(text[:5], [("a", blob), ("b", blob[:114])], 114)
    assert found[0] == pytest.approx(np.ones(5), abs=0.05)
    assert found[1] == pytest.approx(text[:5] @ text[0], abs=0.05)


@given(st.integers(1, 40), st.integers(1, 9), st.floats(1e-3, 1e3), st.integers(0, 2**32 - 1))
def test_bytes_hold_every_number_within_half_a_step_of_the_largest(dimensions: int, tokens: int, size: float, seed: int) -> None:
    vectors = (np.random.default_rng(seed).normal(size=(tokens, dimensions)) * size).astype(np.float32)
    width = -(-dimensions // 2) + 2
    blob = to_blob(vectors)
    assert len(blob) == tokens * width
    unit = np.eye(dimensions, dtype=np.float32)
    for token, vector in enumerate(vectors):
        read = max_similarities(unit, [("a", blob[token * width : (token + 1) * width])], width)[0]
        assert np.square(read - vector).sum() <= np.square(np.abs(vector).max() / 7 * 0.51) * dimensions + 1e-9


@pytest.mark.parametrize(("dimensions", "sizes"), [(224, [1, 40, 3]), (7, [5, 1, 90, 2]), (16, [300])])
def test_products_in_blocks_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch, dimensions: int, sizes: list[int]) -> None:
    random = np.random.default_rng(1)
    width = -(-dimensions // 2) + 2
    blobs = [to_blob(random.normal(size=(size, dimensions)).astype(np.float32)) for size in sizes]
    unit = np.eye(dimensions, dtype=np.float32)
    read = [
        [max_similarities(unit, [("", blob[at : at + width])], width)[0] for at in range(0, len(blob), width)] for blob in blobs
    ]
    query = random.normal(size=(5, dimensions)).astype(np.float32)
    plain = np.array([(query @ np.array(vectors).T).max(axis=1) for vectors in read])
    for products in (1, 4 * 5 * dimensions, 2**18):
        monkeypatch.setattr("memoryd.stores.tokens.PRODUCTS", products)
        found = max_similarities(query, [("", blob) for blob in blobs], width)
        assert found == pytest.approx(plain, abs=1e-4)


def test_what_older_versions_stored_is_encoded_again(store: TokenStore, tmp_path: Path, encoder: Counting) -> None:
    store.write_many([TokenEntry("a", "1", "alpha")])
    store.close()
    old = Database(tmp_path / "tokens.db")
    old.execute("DELETE FROM _migrations WHERE name = 'm002_four_bits'")
    old.close()
    reopened = TokenStore(tmp_path / "tokens.db", encoder)
    assert reopened.digests() == {}
    reopened.close()


@pytest.mark.parametrize("bad", [np.zeros((1, 4)), np.full((1, 4), np.nan), np.zeros((0, 4))])
def test_what_is_not_a_vector_is_never_stored(bad: Any) -> None:
    with pytest.raises(EmbeddingError):
        to_blob(bad.astype(np.float32))


def test_turns_of_an_index_from_before_are_encoded_again_and_statements_are_not(tmp_path: Path, encoder: Counting) -> None:
    path = tmp_path / "old.db"
    old = TokenStore(path, encoder)
    old.write_many([TokenEntry("a", "1", "alpha"), TokenEntry("b", "1", "beta", "a", "alpha")])
    old.close()
    db = Database(path)
    db.execute("DELETE FROM _migrations WHERE name = 'm003_two_turns_before'")
    db.close()
    new = TokenStore(path, encoder)
    assert new.digests() == {"a": "1"}
    new.close()
