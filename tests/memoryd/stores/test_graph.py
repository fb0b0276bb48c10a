from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd.core.errors import IndexDamagedError, NotFoundError
from memoryd.core.types import Kind, Link, LinkType, MemoryItem, Query, Scope, Status
from memoryd.stores.graph import FAN_OUT, MAX_NODES, GraphStore, aliases

START = datetime(2026, 1, 1, tzinfo=UTC)


def make(number: int, content: str = "something", **values: object) -> MemoryItem:
    created = START + timedelta(minutes=number)
    return MemoryItem(content=content, id=f"mem_{number:012x}", project="p", created_at=created, **values)  # type: ignore[arg-type]


def ids(hits: list) -> list[int]:  # type: ignore[type-arg]
    return [int(hit.item.id[4:], 16) for hit in hits]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    graph = GraphStore(tmp_path / "graph.db")
    yield graph
    graph.close()


def test_an_item_comes_back_equal_and_gets_an_id_when_it_has_none(store: GraphStore) -> None:
    item = make(1, "uses main.py", tags=("a",), links=(Link(LinkType.RELATES_TO, "mem_00000000000f"),))
    assert store.write(item) == item.id
    assert store.get(item.id) == item
    fresh = store.write(MemoryItem(content="new"))
    assert fresh.startswith("mem_") and store.get(fresh) is not None
    assert store.get("mem_ffffffffffff") is None


def test_search_finds_the_memories_that_mention_a_name(store: GraphStore) -> None:
    store.write_many([make(1, "The bug was in src/auth/token.py."), make(2, "Use Homebrew."), make(3, "token.py is generated.")])
    assert ids(store.search(Query("what is connected with src/auth/token.py?"))) == [1, 3]
    assert ids(store.search(Query("TOKEN.PY"))) == [3, 1]
    assert ids(store.search(Query("nothing of the kind"))) == []


def test_a_memory_that_mentions_two_of_the_names_comes_first(store: GraphStore) -> None:
    store.write_many([make(1, "main.py"), make(2, "REDIS_URL"), make(3, "In main.py, REDIS_URL is read.")])
    assert ids(store.search(Query("main.py REDIS_URL")))[0] == 3


def test_words_lead_into_the_graph_too(store: GraphStore) -> None:
    store.write_many(
        [
            make(1, "The token cache keeps expired keys.", links=(Link(LinkType.RELATES_TO, make(2).id),)),
            make(2, "Login fails on Mondays."),
            make(3, "Nothing here."),
        ]
    )
    assert ids(store.search(Query("what is connected with the token caches?"))) == [1, 2]


def test_a_name_counts_more_than_the_same_word(store: GraphStore) -> None:
    store.write_many([make(1, "mentions redis", entities=("redis",)), make(2, "mentions redis", entities=("other",))])
    assert ids(store.search(Query("redis"))) == [1, 2]


def test_given_entities_take_the_place_of_those_found_in_the_text(store: GraphStore) -> None:
    store.write(make(1, "about main.py", entities=("Kafka",)))
    assert ids(store.search(Query("kafka"))) == [1]
    assert store.entities() == [("Kafka", 1)]


def test_a_memory_named_by_id_comes_with_what_it_is_linked_to(store: GraphStore) -> None:
    store.write_many([make(1, links=(Link(LinkType.RELATES_TO, make(2).id),)), make(2), make(3)])
    assert ids(store.search(Query(f"what has {make(1).id} to do with?"))) == [1, 2]


def test_related_follows_links_in_both_directions_and_tells_the_way(store: GraphStore) -> None:
    first, second, third = make(1), make(2, supersedes=make(1).id), make(3, links=(Link(LinkType.CONTRADICTS, make(2).id),))
    store.write_many([first, second, third])
    found = store.related(first.id, query=Query(statuses=()))
    assert [(r.item.id, r.via, r.path) for r in found] == [
        (second.id, LinkType.SUPERSEDES, (first.id, second.id)),
        (third.id, LinkType.CONTRADICTS, (first.id, second.id, third.id)),
    ]
    assert 0 < found[1].score < found[0].score <= 1
    assert ids(store.related(first.id, depth=1)) == [2]
    assert ids(store.related(second.id, types=(LinkType.CONTRADICTS,))) == [3]
    assert store.related(first.id, k=0) == []


def test_two_memories_that_mention_the_same_name_are_related_through_it(store: GraphStore) -> None:
    store.write_many([make(1, "src/Main.py is slow"), make(2, "fixed src/main.py")])
    (found,) = store.related(make(1).id)
    assert found.path == (make(1).id, "src/Main.py", make(2).id)
    assert found.via is LinkType.MENTIONS


def test_a_name_that_everything_mentions_counts_less_than_a_rare_one(store: GraphStore) -> None:
    store.write_many([make(i, "in Docker", entities=("Docker",)) for i in range(10, 30)])
    store.write_many([make(1, entities=("Docker", "cache.py")), make(2, entities=("cache.py",))])
    found = store.related(make(1).id, k=50)
    assert found[0].item.id == make(2).id
    assert found[0].score > 2 * found[1].score


@pytest.mark.slow
def test_a_name_with_ten_thousand_mentions_does_not_explode(store: GraphStore) -> None:
    store.write_many([make(i, "hub", entities=("Hub",)) for i in range(10_000)])
    found = store.related(make(5).id, depth=4, k=100_000)
    assert FAN_OUT - 1 <= len(found) <= MAX_NODES
    assert make(9_999).id in {r.item.id for r in found}, "the newest are kept"
    assert len(store.search(Query("hub"), 100_000)) <= MAX_NODES


def test_rewriting_an_item_replaces_its_edges(store: GraphStore) -> None:
    store.write_many([make(1, "about main.py", links=(Link(LinkType.RELATES_TO, make(2).id),)), make(2)])
    store.write(make(1, "about other.py"))
    assert store.search(Query("main.py")) == []
    assert store.related(make(2).id) == []
    assert ids(store.search(Query("other.py"))) == [1]
    assert store.entities() == [("other.py", 1)]


def test_a_deleted_memory_is_gone_and_links_to_it_dangle_until_it_returns(store: GraphStore) -> None:
    store.write_many([make(1, links=(Link(LinkType.RELATES_TO, make(2).id),)), make(2, "has main.py")])
    store.delete(make(2).id)
    store.delete(make(2).id)
    assert store.get(make(2).id) is None
    assert store.related(make(1).id) == []
    assert store.entities() == []
    store.write(make(2, "back"))
    assert ids(store.related(make(1).id)) == [2]


def test_a_link_to_a_memory_that_comes_later_counts_when_it_comes(store: GraphStore) -> None:
    store.write(make(1, links=(Link(LinkType.RELATES_TO, make(2).id),)))
    assert store.related(make(1).id) == []
    store.write(make(2))
    assert ids(store.related(make(1).id)) == [2]


def test_links_in_a_circle_and_to_itself_end(store: GraphStore) -> None:
    ring = [
        make(i, links=(Link(LinkType.RELATES_TO, make((i + 1) % 3).id), Link(LinkType.RELATES_TO, make(i).id))) for i in range(3)
    ]
    store.write_many(ring)
    assert sorted(ids(store.related(make(0).id, depth=4))) == [1, 2]


def test_every_filter_of_the_query_holds(store: GraphStore) -> None:
    store.write_many(
        [
            make(1, "main.py"),
            make(2, "main.py", kind=Kind.RULE, tags=("x",), session="s2"),
            make(3, "main.py", status=Status.SUPERSEDED, expired_at=START + timedelta(days=2)),
            MemoryItem("main.py", id="mem_000000000004", project="other", created_at=START),
            MemoryItem("main.py", id="mem_000000000005", project="other", scope=Scope.USER, created_at=START),
        ]
    )
    assert sorted(ids(store.search(Query("main.py")))) == [1, 2, 4, 5]
    assert sorted(ids(store.search(Query("main.py", project="p")))) == [1, 2, 5]
    assert ids(store.search(Query("main.py", kinds=(Kind.RULE,)))) == [2]
    assert ids(store.search(Query("main.py", tags=("x",), session="s2"))) == [2]
    assert 3 in ids(store.search(Query("main.py", as_of=START + timedelta(days=1))))
    assert ids(store.search(Query("main.py", created_before=START + timedelta(seconds=1)))) == [4, 5]
    assert sorted(ids(store.related(make(1).id, query=Query(project="p")))) == [2, 5]


def test_a_query_without_text_gives_the_newest(store: GraphStore) -> None:
    store.write_many([make(i) for i in range(5)])
    hits = store.search(Query(), 2)
    assert ids(hits) == [4, 3] and [hit.score for hit in hits] == [0.0, 0.0]
    assert store.search(Query(), 0) == store.search(Query("main.py"), -1) == []


def test_parts_add_up_to_the_score(store: GraphStore) -> None:
    store.write(make(1, "main.py"))
    (hit,) = store.search(Query("main.py"))
    assert hit.parts == {"graph": hit.score} and 0 < hit.score <= 1


def test_related_to_an_unknown_memory_is_an_error_with_a_fix(store: GraphStore) -> None:
    with pytest.raises(NotFoundError, match="mem_000000000001"):
        store.related("mem_000000000001")


def test_entities_are_listed_by_prefix_of_the_name_or_a_part(store: GraphStore) -> None:
    store.write_many(
        [make(1, entities=("src/auth.py", "Docker")), make(2, entities=("docker",)), make(3, entities=("AUTH_URL",))]
    )
    assert store.entities("dock") == [("Docker", 2)]
    assert store.entities("auth") == [("AUTH_URL", 1), ("src/auth.py", 1)]
    assert store.entities("", 1) == [("Docker", 2)]


@pytest.mark.parametrize("spellings", [("authToken", "AUTHTOKEN"), ("AUTHTOKEN", "authToken")])
def test_spellings_are_one_name_however_they_came(store: GraphStore, spellings: tuple[str, str]) -> None:
    store.write_many([make(1, entities=(spellings[0],)), make(2, entities=(spellings[1],))])
    assert store.entities("auth") == [("AUTHTOKEN", 2)]
    assert sorted(ids(store.search(Query("the token")))) == [1, 2]


def test_aliases_hold_the_name_its_file_and_its_words() -> None:
    assert aliases("src/authToken.py") == {
        "src/authtoken.py": 1.0, "authtoken.py": 0.8, "authtoken": 0.8, "src": 0.4, "auth": 0.4, "token": 0.4,
    }  # fmt: skip


def test_all_and_digests_cover_every_item_whatever_its_status(store: GraphStore) -> None:
    items = [make(i, status=Status.BLACKLISTED if i % 2 else Status.ACTIVE) for i in (3, 1, 2)]
    store.write_many(items)
    assert [item.id for item in store.all()] == [make(i).id for i in (1, 2, 3)]
    before = store.digests()
    store.write(make(1, "changed"))
    assert {id for id, digest in store.digests().items() if before[id] != digest} == {make(1).id}
    assert store.count() == 3


def test_it_is_all_there_after_reopening(tmp_path: Path) -> None:
    first = GraphStore(tmp_path / "graph.db")
    first.write_many([make(1, "main.py"), make(2, "main.py")])
    first.close()
    again = GraphStore(tmp_path / "graph.db")
    assert ids(again.related(make(1).id)) == [2]
    again.close()
    again.close()


def test_a_damaged_file_is_named_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    path.write_bytes(b"this is no database" * 500)
    with pytest.raises(IndexDamagedError, match=r"graph\.db"):
        GraphStore(path)


_names = st.sampled_from(["main.py", "Docker", "FOO_BAR", "src/x.ts"])
_item = st.builds(
    lambda number, names, target: make(number, entities=tuple(names), links=(Link(LinkType.RELATES_TO, make(target).id),)),
    st.integers(0, 5), st.lists(_names, min_size=1, max_size=3), st.integers(0, 7),
)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=st.lists(_item, max_size=8), removed=st.lists(st.integers(0, 5), max_size=3))
def test_the_order_of_writes_does_not_change_the_answers(
    tmp_path_factory: pytest.TempPathFactory, items: list[Any], removed: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("graph")
    last = {item.id: item for item in items if int(item.id[4:], 16) not in removed}
    one, two = GraphStore(folder / "a.db"), GraphStore(folder / "b.db")
    one.write_many(items)
    for number in removed:
        one.delete(make(number).id)
    two.write_many(sorted(last.values(), key=lambda item: item.id, reverse=True))
    for text in ("main.py", "docker foo_bar", make(1).id):
        assert one.search(Query(text), 20) == two.search(Query(text), 20)
    assert sorted(name for name, _ in one.entities("docker")) == sorted(name for name, _ in two.entities("docker"))
    assert one.digests() == two.digests()
    one.close()
    two.close()
