"""The contract of all MemoryStores, see memoryd.core.protocols.MemoryStore."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.codec import is_id
from memoryd.core.protocols import MemoryStore
from memoryd.core.types import Evidence, Kind, Link, LinkType, MemoryItem, Polarity, Query, Scope, Source, Status
from tests.contract.factories import Factory

DAY_0 = datetime(2026, 3, 1, 12, tzinfo=UTC)


def day(number: float) -> datetime:
    return DAY_0 + timedelta(days=number)


def an_id(number: int) -> str:
    return f"mem_{number:012x}"


def an_item(number: int, content: str = "The cache lives in redis.", **values: Any) -> MemoryItem:
    return MemoryItem(content=content, id=an_id(number), **{"project": "app", "created_at": day(number), **values})


FULL = MemoryItem(
    content="# Übersicht\n\nUse `pnpm` — never npm. 数据库 🙂\n\n    indented\n- a: b",
    id=an_id(0xABC),
    kind=Kind.RULE,
    polarity=Polarity.DO,
    scope=Scope.TEAM,
    project="app-1f2e",
    session="0b7e2f6c-aaaa-4bbb-8ccc-123456789abc",
    source=Source.AGENT_STEP,
    confidence=0.8125,
    relevancy=0.5,
    tags=("build", "on", "x: y", "标签"),
    entities=("pnpm", "src/app.py"),
    status=Status.SUPERSEDED,
    supersedes=an_id(7),
    links=(Link(LinkType.RELATES_TO, an_id(8)), Link(LinkType.MENTIONS, "pnpm")),
    created_at=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    expired_at=datetime(2026, 2, 2, tzinfo=UTC),
    valid_from=datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC),
    valid_to=datetime(2026, 2, 1, tzinfo=UTC),
    evidence=Evidence("/t/a.jsonl", ("u1", "u2"), "abc123", ("src/app.py",)),
    pinned=True,
)


def found(store: MemoryStore, k: int = 50, **query: Any) -> set[int]:
    return {int(hit.item.id[4:], 16) for hit in store.search(Query(**query), k)}


def same(left: MemoryItem | None, right: MemoryItem) -> bool:
    return left is not None and replace(left, backends=()) == replace(right, backends=())


# write, get


def test_it_is_a_memory_store(store: MemoryStore) -> None:
    assert isinstance(store, MemoryStore)


@pytest.mark.parametrize(
    "item",
    [
        FULL,
        MemoryItem(content="Short.", id=an_id(1)),
        MemoryItem(content="", id=an_id(2)),
        MemoryItem(content="  leading and trailing \n\n", id=an_id(3)),
        MemoryItem(content="---\nkind: rule\n---\nnot front matter", id=an_id(4)),
        MemoryItem(
            content="a\r\nb\rc\tq\x00\x85\u2028\ufeffé e\u0301", id=an_id(5), tags=("a\nb", " ", "null", "1.0", "#x", "'")
        ),
        MemoryItem(content="x", id=an_id(6), scope=Scope.USER, project="", session=""),
        MemoryItem(content="x", id=an_id(7), project="../../etc", session="con", entities=("a/b",)),
        MemoryItem(content="x", id=an_id(8), created_at=datetime(2026, 1, 1, 1, tzinfo=UTC).astimezone()),
    ],
    ids=lambda item: item.id,
)
def test_get_gives_back_an_equal_item(store: MemoryStore, item: MemoryItem) -> None:
    assert store.write(item) == item.id
    assert same(store.get(item.id), item)


def test_an_item_outlives_the_store_object(factory: Factory, tmp_path: Path) -> None:
    first = factory(tmp_path)
    first.write(FULL)
    getattr(first, "close", lambda: None)()
    second = factory(tmp_path)
    assert same(second.get(FULL.id), FULL)
    getattr(second, "close", lambda: None)()


def test_an_item_without_an_id_gets_a_new_one_each_time(store: MemoryStore) -> None:
    ids = [store.write(MemoryItem(content="The same words.", project="app", created_at=DAY_0)) for _ in range(5)]
    assert len(set(ids)) == 5
    assert all(is_id(id) for id in ids)
    assert same(store.get(ids[2]), MemoryItem(content="The same words.", id=ids[2], project="app", created_at=DAY_0))


def test_a_write_replaces_what_was_under_the_id(store: MemoryStore) -> None:
    store.write(an_item(1, "Deploys happen on Monday."))
    changed = an_item(1, "Releases happen on Friday.", kind=Kind.RULE, scope=Scope.USER, session="other", status=Status.ACTIVE)
    store.write(changed)
    assert same(store.get(an_id(1)), changed)
    assert [item.id for item in store.all()] == [an_id(1)]
    assert found(store, text="friday") == {1}
    assert 1 not in found(store, text="monday")


def test_writing_twice_changes_nothing(store: MemoryStore) -> None:
    store.write(FULL)
    before = list(store.all()), store.search(Query(text="pnpm", statuses=tuple(Status)))
    store.write(FULL)
    store.write(FULL)
    assert (list(store.all()), store.search(Query(text="pnpm", statuses=tuple(Status)))) == before


def test_get_of_an_unknown_id_is_none(store: MemoryStore) -> None:
    store.write(an_item(1))
    assert store.get(an_id(2)) is None
    assert store.get("") is None
    assert store.get("../../x") is None


# delete, all


def test_delete_removes_the_item_everywhere(store: MemoryStore) -> None:
    store.write(an_item(1))
    store.write(an_item(2))
    store.delete(an_id(1))
    assert store.get(an_id(1)) is None
    assert [item.id for item in store.all()] == [an_id(2)]
    assert found(store, text="redis cache") == {2}
    assert found(store) == {2}


def test_delete_of_an_absent_id_is_not_an_error(store: MemoryStore) -> None:
    store.delete(an_id(1))
    store.write(an_item(1))
    store.delete(an_id(1))
    store.delete(an_id(1))
    store.delete("nonsense")
    assert list(store.all()) == []


def test_a_deleted_item_can_be_written_again(store: MemoryStore) -> None:
    store.write(an_item(1))
    store.delete(an_id(1))
    store.write(an_item(1))
    assert same(store.get(an_id(1)), an_item(1))
    assert found(store, text="redis") == {1}


def test_all_yields_every_item_once_in_the_order_of_ids_whatever_its_status(store: MemoryStore) -> None:
    states = list(Status)
    for number in (5, 1, 4, 2, 3):
        store.write(an_item(number, status=states[number % 3]))
    assert [item.id for item in store.all()] == [an_id(number) for number in range(1, 6)]


def test_all_of_an_empty_store_is_empty(store: MemoryStore) -> None:
    assert list(store.all()) == []
    assert store.search(Query(text="anything")) == []
    assert store.search(Query()) == []


# Search: order and size.


def test_hits_come_in_a_total_order_and_the_same_each_time(store: MemoryStore) -> None:
    for number in range(12):
        store.write(an_item(number, f"The cache number {number % 3} lives in redis."))
    hits = store.search(Query(text="redis cache"), 20)
    assert hits
    keys = [(-hit.score, hit.item.id) for hit in hits]
    assert keys == sorted(keys)
    assert len({hit.item.id for hit in hits}) == len(hits)
    assert store.search(Query(text="redis cache"), 20) == hits


def test_fewer_hits_are_the_first_of_more(store: MemoryStore) -> None:
    for number in range(12):
        store.write(an_item(number, f"The cache number {number % 3} lives in redis."))
    every = store.search(Query(text="redis cache"), 12)
    for k in (1, 2, 5):
        assert [hit.item.id for hit in store.search(Query(text="redis cache"), k)] == [hit.item.id for hit in every[:k]]


@pytest.mark.parametrize("text", ["redis", ""])
def test_no_hits_for_a_k_of_zero_or_less(store: MemoryStore, text: str) -> None:
    store.write(an_item(1))
    assert store.search(Query(text=text), 0) == []
    assert store.search(Query(text=text), -3) == []


def test_at_most_k_hits(store: MemoryStore) -> None:
    for number in range(10):
        store.write(an_item(number))
    assert len(store.search(Query(text="redis"), 3)) == 3
    assert len(store.search(Query(), 3)) == 3


@pytest.mark.parametrize("text", ["", "   \n"])
def test_without_text_the_newest_items_come_with_score_0(store: MemoryStore, text: str) -> None:
    for number in (3, 1, 2, 5, 4):
        store.write(an_item(number))
    store.write(an_item(9, status=Status.SUPERSEDED))
    hits = store.search(Query(text=text), 3)
    assert [hit.item.id for hit in hits] == [an_id(5), an_id(4), an_id(3)]
    assert {hit.score for hit in hits} == {0}


def test_a_hit_holds_the_item_as_get_gives_it(store: MemoryStore) -> None:
    store.write(replace(FULL, status=Status.ACTIVE))
    hits = store.search(Query(text="pnpm"))
    assert [hit.item for hit in hits] == [store.get(FULL.id)]


# search: texts


@pytest.mark.parametrize(
    "text",
    [
        '"',
        "'",
        "a AND",
        "NEAR(a b",
        "content:x",
        "*",
        "a* OR",
        "-x",
        "(",
        "x^2",
        "\x00",
        "🙂",
        "% _",
        "NOT",
        "{}",
        "a\\",
        "--",
        "\ud800",
    ],
)
def test_no_query_text_is_an_error(store: MemoryStore, text: str) -> None:
    store.write(an_item(1))
    assert isinstance(store.search(Query(text=text)), list)


@pytest.mark.parametrize("text", ["数据库", "接池", "pnpm", "übersicht"])
def test_words_of_any_script_are_found(store: MemoryStore, text: str) -> None:
    store.write(an_item(1, "Übersicht: pnpm 负责数据库连接池 🙂"))
    store.write(an_item(2, "Nothing of the kind."))
    hits = store.search(Query(text=text))
    assert hits
    assert hits[0].item.id == an_id(1)


# search: filters


def test_a_project_sees_its_own_and_the_users_memories(store: MemoryStore) -> None:
    store.write(an_item(1, project="app"))
    store.write(an_item(2, project="other"))
    store.write(an_item(3, project="", scope=Scope.USER))
    store.write(an_item(4, project="other", scope=Scope.USER))
    store.write(an_item(5, project="app", scope=Scope.TEAM))
    store.write(an_item(6, project="other", scope=Scope.TEAM))
    store.write(an_item(7, project=""))
    for text in ("redis", ""):
        assert found(store, text=text, project="app") == {1, 3, 4, 5}
        assert found(store, text=text) == {1, 2, 3, 4, 5, 6, 7}
        assert found(store, text=text, project="nobody") == {3, 4}
        assert found(store, text=text, project="") == {3, 4, 7}


def test_scopes_kinds_and_session_are_filters(store: MemoryStore) -> None:
    store.write(an_item(1, scope=Scope.USER, kind=Kind.RULE, session="s1"))
    store.write(an_item(2, scope=Scope.PROJECT, kind=Kind.RULE, session="s2"))
    store.write(an_item(3, scope=Scope.TEAM, kind=Kind.FIX, session="s1"))
    for text in ("redis", ""):
        assert found(store, text=text, scopes=(Scope.USER, Scope.TEAM)) == {1, 3}
        assert found(store, text=text, kinds=(Kind.RULE,)) == {1, 2}
        assert found(store, text=text, kinds=(Kind.RULE, Kind.FIX)) == {1, 2, 3}
        assert found(store, text=text, session="s1") == {1, 3}
        assert found(store, text=text, session="s1", kinds=(Kind.RULE,), scopes=(Scope.USER,)) == {1}
        assert found(store, text=text, session="s3") == set()


def test_every_tag_of_the_query_must_be_there(store: MemoryStore) -> None:
    store.write(an_item(1, tags=("a", "b")))
    store.write(an_item(2, tags=("b",)))
    store.write(an_item(3, tags=("ab",)))
    for text in ("redis", ""):
        assert found(store, text=text, tags=("b",)) == {1, 2}
        assert found(store, text=text, tags=("a", "b")) == {1}
        assert found(store, text=text, tags=("c",)) == set()
        assert found(store, text=text, tags=("' OR 1",)) == set()


def test_only_active_items_unless_other_states_are_asked_for(store: MemoryStore) -> None:
    store.write(an_item(1))
    store.write(an_item(2, status=Status.SUPERSEDED))
    store.write(an_item(3, status=Status.BLACKLISTED))
    for text in ("redis", ""):
        assert found(store, text=text) == {1}
        assert found(store, text=text, statuses=(Status.SUPERSEDED,)) == {2}
        assert found(store, text=text, statuses=tuple(Status)) == {1, 2, 3}


def test_created_after_and_before_bound_the_time_of_recording(store: MemoryStore) -> None:
    for number in range(1, 5):
        store.write(an_item(number))
    for text in ("redis", ""):
        assert found(store, text=text, created_after=day(2)) == {2, 3, 4}
        assert found(store, text=text, created_before=day(3)) == {1, 2}
        assert found(store, text=text, created_after=day(2), created_before=day(3)) == {2}


def a_corrected_fact(store: MemoryStore) -> None:
    """Write a fact recorded on day 1 (port 5432, true from day 0) and its correction on day 5 (port 6432, true from day 4)."""
    old = an_item(1, "The redis cache listens on port 5432.", status=Status.SUPERSEDED)
    store.write(replace(old, expired_at=day(5), valid_from=day(0), valid_to=day(4)))
    store.write(an_item(2, "The redis cache listens on port 6432.", created_at=day(5), valid_from=day(4), supersedes=an_id(1)))


def test_as_of_answers_with_what_was_believed_then(store: MemoryStore) -> None:
    a_corrected_fact(store)
    for text in ("redis port", ""):
        assert found(store, text=text) == {2}
        assert found(store, text=text, as_of=day(0)) == set()
        assert found(store, text=text, as_of=day(3)) == {1}
        assert found(store, text=text, as_of=day(4.5)) == {1}
        assert found(store, text=text, as_of=day(5)) == {2}


def test_as_of_leaves_out_what_is_blacklisted_unless_asked_for(store: MemoryStore) -> None:
    store.write(an_item(1, status=Status.BLACKLISTED))
    store.write(an_item(2))
    assert found(store, text="redis", as_of=day(9)) == {2}
    assert found(store, text="redis", as_of=day(9), statuses=(Status.ACTIVE, Status.BLACKLISTED)) == {1, 2}


def test_valid_at_answers_with_what_was_true_then_superseded_or_not(store: MemoryStore) -> None:
    a_corrected_fact(store)
    store.write(an_item(3, status=Status.BLACKLISTED))
    for text in ("redis", ""):
        assert found(store, text=text, valid_at=day(2)) == {1}
        assert found(store, text=text, valid_at=day(4)) == {2}
        assert found(store, text=text, valid_at=day(100)) == {2}
        assert found(store, text=text, valid_at=day(-1)) == set()


def test_as_of_and_valid_at_together_ask_what_was_then_thought_true(store: MemoryStore) -> None:
    a_corrected_fact(store)
    assert found(store, text="redis", as_of=day(3), valid_at=day(2)) == {1}
    assert found(store, text="redis", as_of=day(4.5), valid_at=day(4.2)) == set()
    assert found(store, text="redis", as_of=day(6), valid_at=day(4.2)) == {2}


def test_now_hides_what_has_expired(store: MemoryStore) -> None:
    store.write(an_item(1, valid_to=day(3)))
    store.write(an_item(2, expired_at=day(3)))
    store.write(an_item(3))
    for text in ("redis", ""):
        assert found(store, text=text, now=day(2.5)) == {1, 2, 3}
        assert found(store, text=text, now=day(3)) == {3}
        assert found(store, text=text) == {1, 2, 3}


def test_filters_do_not_cost_hits(store: MemoryStore) -> None:
    """Matching items are found even if many better ones don't match the filter."""
    for number in range(1, 120):
        store.write(an_item(number, "redis redis cache", project="other"))
    store.write(an_item(500, "The cache of the build server, which has a longer text, is redis too."))
    assert found(store, text="redis cache", project="app", k=3) == {500}
