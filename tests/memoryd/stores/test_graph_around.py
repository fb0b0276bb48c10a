"""The neighbourhood of a node: limited, nearest first, fair to all branches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.errors import NotFoundError
from memoryd.core.types import Link, LinkType, MemoryItem, Query, Status
from memoryd.stores.graph import GraphStore, Subgraph

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    graph = GraphStore(tmp_path / "graph.db")
    yield graph
    graph.close()


def make(number: int, content: str = "something", **values: Any) -> MemoryItem:
    created = START + timedelta(minutes=number)
    return MemoryItem(content=content, id=f"mem_{number:012x}", project="p", created_at=created, **values)


def related(*numbers: int) -> Any:
    return tuple(Link(LinkType.RELATES_TO, make(number).id) for number in numbers)


def keys(found: Subgraph) -> list[str]:
    return [spot.key for spot in found.nodes]


def test_a_picture_never_holds_more_than_it_may_and_every_branch_gets_a_share(store: GraphStore) -> None:
    store.write_many([make(1, links=related(2, 3))])
    store.write_many([make(2, links=related(*range(100, 150))), make(3, links=related(*range(200, 203)))])
    store.write_many([make(number) for number in (*range(100, 150), *range(200, 203))])
    found = store.subgraph(make(1).id, depth=2, most=12)
    assert len(found.nodes) == 12 and keys(found)[0] == make(1).id
    assert {make(number).id for number in (200, 201, 202)} <= set(keys(found))
    assert {tie.source for tie in found.edges} | {tie.target for tie in found.edges} == set(keys(found))
    assert next(spot.links for spot in found.nodes if spot.key == make(2).id) == 51


def test_the_first_level_leaves_room_for_the_second(store: GraphStore) -> None:
    store.write_many([make(number, "uses redis.py", links=related(500 + number)) for number in range(1, 41)])
    store.write_many([make(500 + number) for number in range(1, 41)])
    distances = [spot.distance for spot in store.subgraph("redis.py", depth=2, most=20).nodes]
    assert distances.count(2) >= 5 and len(distances) == 20


def test_types_and_filters_leave_out_edges_and_nodes(store: GraphStore) -> None:
    store.write_many([make(1, "main.py", links=related(2, 3)), make(2), make(3, status=Status.BLACKLISTED)])
    assert set(keys(store.subgraph(make(1).id))) == {make(1).id, make(2).id, "main.py"}
    assert keys(store.subgraph(make(1).id, types=[LinkType.MENTIONS])) == [make(1).id, "main.py"]
    assert keys(store.subgraph("MAIN.py", Query(project="other"))) == ["main.py"]


def test_an_unknown_centre_is_refused_with_near_names(store: GraphStore) -> None:
    store.write(make(1, "main.py"))
    with pytest.raises(NotFoundError) as caught:
        store.subgraph("main")
    assert "main.py" in caught.value.fix
    with pytest.raises(NotFoundError):
        store.subgraph("mem_ffffffffffff")
