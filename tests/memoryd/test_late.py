from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from memoryd.core.config import Settings, load_settings
from memoryd.core.db import remove_database
from memoryd.core.errors import IndexDamagedError, StoreError
from memoryd.core.protocols import FloatArray
from memoryd.core.types import Backend, Evidence, Kind, MemoryItem, Query, Source
from memoryd.service import Orchestrator
from memoryd.stores.indexing import LateIndex, place_in_session
from memoryd.testing import FakeClock, HashEmbedder, HashTokenEncoder

AT = datetime(2025, 3, 1, tzinfo=UTC)


def turn(number: int, text: str, session: str = "s1") -> MemoryItem:
    id = f"mem_{crc32(f'{session} {number}'.encode()):012x}"
    lines = Evidence(lines=(f"{session}:{number}",))
    return MemoryItem(text, id, Kind.NOTE, session=session, source=Source.IMPORT, created_at=AT, evidence=lines)


def settings(tmp_path: Path, rank: str = "maxsim") -> Settings:
    return load_settings({}, home=str(tmp_path), embedder="hash", rank=rank)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Orchestrator]:
    service = Orchestrator(settings(tmp_path), FakeClock(), HashEmbedder(1024), encoder=HashTokenEncoder())
    yield service
    service.close()


def late(service: Orchestrator) -> LateIndex:
    assert service.settle(60)
    assert service._late is not None
    return service._late


def test_turns_know_what_was_said_before_and_after_whatever_the_order_of_writing(service: Orchestrator) -> None:
    items = {number: turn(number, f"Maya: word{number}") for number in (2, 10, 1)}
    for item in items.values():
        service.write(item)
        assert service.settle(60)
    near = late(service).neighbours([item.id for item in items.values()])
    assert near[items[1].id] == ("", items[2].id)
    assert near[items[2].id] == (items[1].id, items[10].id)
    assert near[items[10].id] == (items[2].id, "")


@pytest.mark.slow
def test_statements_are_ordered_the_same_whether_neighbours_are_asked_for_or_not(
    service: Orchestrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "redis pnpm docker cache port staging login worker nginx kafka".split()
    service.write_many(
        [
            MemoryItem(f"Use {a} with {b} and {c}{n}", f"mem_{n:012x}", created_at=AT, project="ab"[n % 2])
            for n, (a, b, c) in enumerate((a, b, c) for a in words[:6] for b in words[:3] for c in words[5:7])
        ]
    )
    index = late(service)
    assert not index.linked()
    queries = [
        Query(f"how do we use {a} and {b}", project=project) for a in words[:5] for b in words[5:7] for project in (None, "a")
    ]
    quick = [service.search(query, 12) for query in queries]
    monkeypatch.setattr(index, "linked", lambda: True)
    assert [service.search(query, 12) for query in queries] == quick
    assert all(quick)


class Recording(HashTokenEncoder):
    """Records the preceding text of each text."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[tuple[str, str]] = []

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> list[FloatArray]:
        self.read += zip(texts, contexts, strict=True)
        return super().encode(texts, contexts)


def test_a_turn_is_read_after_the_two_before_it_and_again_when_these_change(tmp_path: Path) -> None:
    encoder = Recording()
    service = Orchestrator(settings(tmp_path), FakeClock(), HashEmbedder(64), encoder=encoder)
    turns = {number: turn(number, f"word{number}") for number in (1, 2, 3, 4, 5)}
    service.write_many([turns[number] for number in (1, 3, 4, 5)])
    assert service.settle(60)
    assert encoder.read == [("word1", ""), ("word3", "word1"), ("word4", "word1 word3"), ("word5", "word3 word4")]
    encoder.read.clear()
    service.write(turns[2])
    assert service.settle(60)
    assert sorted(encoder.read) == [("word2", "word1"), ("word3", "word1 word2"), ("word4", "word2 word3")]
    encoder.read.clear()
    service.write(replace(turns[2], content="other"))
    assert service.settle(60)
    assert sorted(encoder.read) == [("other", "word1"), ("word3", "word1 other"), ("word4", "other word3")]
    service.close()


def test_places_count_numbers_as_numbers() -> None:
    assert place_in_session(turn(9, "x")) < place_in_session(turn(10, "x"))


def test_the_turn_after_the_one_that_shares_the_words_comes_along(service: Orchestrator) -> None:
    asked, answer = turn(1, "Maya: which port does the gateway use?"), turn(2, "Jo: eight four four three")
    service.write_many([asked, answer, *(turn(n, f"Jo: chatter {n}", "other") for n in range(5))])
    late(service)
    hits = service.search(Query("What is the port of the gateway?", backend=Backend.HYBRID), 3)
    assert [hit.item.id for hit in hits[:2]] in ([asked.id, answer.id], [answer.id, asked.id])


def test_statements_have_no_neighbours(service: Orchestrator) -> None:
    ids = service.write_many([MemoryItem("alpha", session="s1"), MemoryItem("beta", session="s1")])
    assert late(service).neighbours(ids) == {id: ("", "") for id in ids}


def test_a_neighbour_that_the_filter_refuses_is_not_a_hit(service: Orchestrator) -> None:
    service.write_many([turn(1, "Maya: the gateway port"), turn(2, "Jo: fine")])
    late(service)
    assert service.search(Query("Where is the gateway?", session="none"), 5) == []


def test_forgotten_and_deleted_memories_leave_no_vectors(service: Orchestrator) -> None:
    id = service.write(MemoryItem("the port is 8443"))
    assert late(service).matches("port", [id], lambda word: 1.0)
    service.delete(id)
    assert late(service).matches("port", [id], lambda word: 1.0) == {}


@pytest.mark.parametrize("harm", ["delete", "damage", "model"])
def test_a_lost_damaged_or_foreign_index_is_filled_again(tmp_path: Path, harm: str) -> None:
    first = Orchestrator(settings(tmp_path), FakeClock(), HashEmbedder(64), encoder=HashTokenEncoder())
    id = first.write(MemoryItem("the port is 8443"))
    late(first)
    first.close()
    path = tmp_path / "index" / "tokens.db"
    if harm != "model":
        remove_database(path)
    if harm == "damage":
        path.write_bytes(b"damaged" * 1000)
    encoder = HashTokenEncoder(32) if harm == "model" else HashTokenEncoder()
    second = Orchestrator(settings(tmp_path), FakeClock(), HashEmbedder(64), encoder=encoder)
    second.catch_up()
    assert late(second).matches("port", [id], lambda word: 1.0)[id].sum() > 0.5
    assert second.health().rebuilt == (("tokens",) if harm == "damage" else ())
    second.close()


def test_reindex_encodes_everything_again(service: Orchestrator) -> None:
    id = service.write(MemoryItem("the port is 8443"))
    late(service)
    service.reindex()
    assert late(service).matches("port", [id], lambda word: 1.0)


class Slow(HashTokenEncoder):
    """Encodes nothing until `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> list[FloatArray]:
        assert self.go.wait(60)
        return super().encode(texts, contexts)


def test_until_the_vectors_are_there_recall_orders_as_hybrid_does(tmp_path: Path) -> None:
    texts = [f"the {word} port is {n}" for n, word in enumerate(("gateway", "staging", "mail", "login"))]
    plain = Orchestrator(settings(tmp_path / "a", "hybrid"), FakeClock(), HashEmbedder(64))
    encoder = Slow()
    late = Orchestrator(settings(tmp_path / "b"), FakeClock(), HashEmbedder(64), encoder=encoder)
    for service in (plain, late):
        service.write_many([MemoryItem(text, f"mem_{n:012x}") for n, text in enumerate(texts)])
    assert plain.settle(60)
    query = Query("Which port has the mail server?")
    assert late.search(query, 3)[0].item.content == texts[2]
    encoder.go.set()
    assert late.settle(60)
    assert late.search(query, 3)[0].item.content == texts[2]
    plain.close()
    late.close()


def test_a_memory_that_was_written_a_moment_ago_is_found_before_it_is_encoded(tmp_path: Path) -> None:
    encoder = Slow()
    encoder.go.set()
    service = Orchestrator(settings(tmp_path), FakeClock(), HashEmbedder(64), encoder=encoder)
    service.write_many([MemoryItem(f"the worker {n} sends mail") for n in range(12)])
    assert service.settle(60)
    encoder.go.clear()
    id = service.write(MemoryItem("the invoice gateway listens on port 8443"))
    assert service.search(Query("Which port does the invoice gateway have?"), 3)[0].item.id == id
    encoder.go.set()
    service.close()


def test_other_rankings_make_no_token_index(tmp_path: Path) -> None:
    service = Orchestrator(settings(tmp_path, "hybrid"), FakeClock(), HashEmbedder(64), encoder=HashTokenEncoder())
    service.write(MemoryItem("alpha"))
    assert service.settle(60)
    service.close()
    assert not (tmp_path / "index" / "tokens.db").exists()


def test_damage_that_two_threads_meet_is_repaired_once(service: Orchestrator, monkeypatch: pytest.MonkeyPatch) -> None:
    service.write(MemoryItem("the port is 8443", created_at=AT))
    index, both = late(service), threading.Barrier(2, timeout=60)
    closed = index._store.close

    def fail(*_: Any) -> None:
        both.wait()
        if threading.current_thread() is threading.main_thread():
            raise IndexDamagedError("damaged", fix="none")
        assert gone.wait(60)
        raise StoreError("closed", fix="none")

    gone = threading.Event()
    monkeypatch.setattr(index._store, "matches", fail)
    monkeypatch.setattr(index._store, "close", lambda: (closed(), gone.set()))
    other = ThreadPoolExecutor(1).submit(index.matches, "port", ["a"], len)
    assert index.matches("port", ["a"], len) == {}
    assert other.result(60) == {}
    assert service.health().rebuilt == ("tokens",)
    assert service.settle(60)
