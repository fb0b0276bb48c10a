from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd.core.db import Database, Row
from memoryd.core.types import MemoryItem, Query, Status
from memoryd.stores import fulltext
from memoryd.stores.markdown import MarkdownStore
from tests.memoryd.stores.markdown_samples import NOW, an_id, an_item, ids, open_store

CONTENTS = (
    "Use pnpm instead of npm in this repository.",
    "The class ParseConfigLoader lives in src/loader_util.py.",
    "数据库连接池的大小是二十。",
    "テスト用のデータベースは毎回作り直す。",
    "Deployments run on Fridays; the café server reboots.",
    "빌드 서버는 월요일에 재시작한다.",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> MarkdownStore:
    store = open_store(tmp_path_factory.mktemp("home"))
    store.write_many([an_item(number, content) for number, content in enumerate(CONTENTS, 1)])
    return store


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("repositories", 1),
        ("deployment running", 5),
        ("CAFE", 5),
        ("parse", 2),
        ("parseconfigloader", 2),
        ("loaderUtil", 2),
        ("src/loader_util.py", 2),
        ("数据库", 3),
        ("连接", 3),
        ("十", 3),
        ("二十有什么", 3),
        ("データベース", 4),
        ("월요일", 6),
        ("figloa", 2),
        ("pository", 1),
    ],
)
def test_words_stems_identifiers_scripts_and_parts_of_words_are_found(store: MarkdownStore, text: str, number: int) -> None:
    assert ids(store, text) == [an_id(number)]


@pytest.mark.parametrize("text", ["zebra quantum cheesecake", "!!!", "🙂", "河", "xx", "pan"])
def test_what_is_not_there_is_not_found(store: MarkdownStore, text: str) -> None:
    assert ids(store, text) == []


def test_stop_words_count_only_when_there_is_nothing_else(store: MarkdownStore) -> None:
    assert ids(store, "the zebra in the") == []
    assert set(ids(store, "in the")) == {an_id(1), an_id(2), an_id(5)}


@given(st.text(max_size=80) | st.text(st.sampled_from('"*^:(){}+-,.\\ANDORTENEAR 数据\x00'), max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_ever_raises_and_scores_are_positive(store: MarkdownStore, text: str) -> None:
    for hit in store.search(Query(text=text), 3):
        assert hit.score > 0 if text.strip() else hit.score == 0
        if hit.parts:
            assert 0 <= hit.parts["coverage"] <= 1
            assert hit.parts["bm25"] == hit.score


def coverage(store: MarkdownStore, text: str, number: int) -> float:
    (found,) = [hit.parts["coverage"] for hit in store.search(Query(text=text), 50) if hit.item.id == an_id(number)]
    return found


def test_coverage_is_the_share_of_the_query_that_the_item_holds(store: MarkdownStore) -> None:
    assert coverage(store, "pnpm repositories", 1) == 1
    assert coverage(store, "the pnpm pnpm", 1) == 1
    assert 0 < coverage(store, "pnpm zebra", 1) < 0.5
    assert coverage(store, "数据库大小", 3) > 0.5
    assert coverage(store, "figloa", 2) == 0.5
    assert coverage(store, "十", 3) == 1


def test_a_rare_word_weighs_more_in_coverage_than_a_common_one(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(number, "common words here") for number in range(1, 20)])
    store.write(an_item(20, "a rare thing"))
    assert coverage(store, "common rare", 20) > 0.7 > 0.3 > coverage(store, "common rare", 1)


def test_tags_and_entities_are_searched_too(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1, "Text", tags=("deployment",), entities=("PostgresPool",)))
    assert ids(store, "deploy") == ids(store, "postgrespool") == ids(store, "pool") == [an_id(1)]


def test_equal_scores_are_ordered_by_id_even_at_the_cut(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(number, "same words") for number in range(150, 0, -1)])
    assert ids(store, "words", k=5) == [an_id(number) for number in range(1, 6)]


def test_a_word_in_every_item_still_gives_a_positive_score(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(number, "redis") for number in range(1, 4)])
    assert all(hit.score > 0 for hit in store.search(Query(text="redis")))


def test_common_words_beyond_the_budget_rank_only_when_they_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext, "POSTINGS", 10)
    store = open_store(tmp_path)
    store.write_many([an_item(number, "common text") for number in range(1, 30)])
    store.write_many([an_item(number, "rare text") for number in range(30, 34)])
    assert set(ids(store, "common rare", k=4)) == {an_id(number) for number in range(30, 34)}
    assert len(ids(store, "common rare", k=40)) == 33
    assert coverage(store, "common rare", 1) < 0.5


def test_count_looks_at_the_filters_alone(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(1), an_item(2, status=Status.SUPERSEDED), an_item(3, project="b")])
    assert store.count(Query(text="whatever")) == 2
    assert store.count(Query(project="b", statuses=tuple(Status))) == 1


def test_a_rebuilt_index_gives_the_same_answers(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(number, CONTENTS[number % 6] + f" extra{number}") for number in range(1, 60)])
    for number in range(1, 60, 3):
        store.write(an_item(number, f"Rewritten number {number}, redis"))
    for number in range(2, 60, 5):
        store.delete(an_id(number))
    queries = [Query(text=text) for text in ("redis", "pnpm repository", "数据库", "extra4", "rewritten number", "figloa", "")]
    before = [store.search(query, 20) for query in queries]
    every = list(store.all())
    store.rebuild()
    assert list(store.all()) == every
    after = [store.search(query, 20) for query in queries]
    assert [[hit.item for hit in hits] for hits in after] == [[hit.item for hit in hits] for hits in before]
    for old, new in zip(before, after, strict=True):
        assert [hit.score for hit in new] == pytest.approx([hit.score for hit in old])
        assert [hit.parts.get("coverage") for hit in new] == pytest.approx([hit.parts.get("coverage") for hit in old])


def test_a_very_long_query_is_answered(store: MarkdownStore) -> None:
    text = " ".join(f"word{number}" for number in range(5_000))
    assert ids(store, f"pnpm {text}") == [an_id(1)]
    assert ids(store, "x" * 100_000) == []


def test_a_changed_item_is_found_by_its_new_words_only(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    item: MemoryItem = an_item(1, "first wording")
    store.write(item)
    store.write(replace(item, content="second phrase"))
    assert ids(store, "first wording") == []
    assert ids(store, "second") == [an_id(1)]


def test_looking_up_ids_does_not_walk_through_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(number) for number in range(1, 30)])
    plans: list[str] = []
    real = Database.execute

    def explained(db: Database, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        if sql.startswith("SELECT") and "json_each" in sql:
            plans.extend(row[3] for row in real(db, f"EXPLAIN QUERY PLAN {sql}", parameters))
        return real(db, sql, parameters)

    monkeypatch.setattr(Database, "execute", explained)
    query = Query(text="redis cache", project="app", now=NOW)
    assert len(store.fetch([an_id(1), an_id(2)], query)) == 2
    assert len(store.search(query, 5)) == 5
    assert any("id=?" in plan for plan in plans)
    assert not [plan for plan in plans if "memory_status" in plan or "memory_project" in plan or plan.startswith("SCAN m")]
