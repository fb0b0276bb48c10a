"""Overviews, the evidence of one memory, and the merge of two."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memoryd.api.dispatch import Api
from memoryd.core.errors import ConflictError, InputError
from memoryd.core.types import Evidence, Kind, MemoryItem, Source, Status
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock


def remember(store: Orchestrator, clock: FakeClock, content: str, **fields: Any) -> str:
    clock.advance(minutes=1)
    return store.write(MemoryItem(content, **{"project": "shop", "created_at": clock.now(), **fields}))


def listed(api: Api, **params: Any) -> dict[str, Any] | None:
    return api.call("list_memories", {"project": "all", **params})


def test_the_overview_counts_by_kind_and_status(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    remember(store, clock, "The shop runs on port 8080.", kind=Kind.FACT)
    remember(store, clock, "The shop ran on port 80.", kind=Kind.FACT, status=Status.SUPERSEDED)
    remember(store, clock, "Never edit the lock file.", kind=Kind.RULE, project="other")
    found = api.call("overview", {"project": "all"})
    assert found["kinds"] == [
        {"kind": "fact", "active": 1, "superseded": 1, "all": 2},
        {"kind": "rule", "active": 1, "all": 1},
    ]
    assert (found["all"], found["statuses"]) == (3, {"active": 2, "superseded": 1})
    assert found["first"] < found["last"]
    assert api.call("overview", {"project": "shop"})["all"] == 2


def test_the_overview_of_an_empty_store_is_zero(api: Api) -> None:
    assert api.call("overview", {"project": "all"}) == {
        "project": "", "kinds": [], "statuses": {}, "all": 0, "first": "", "last": ""
    }  # fmt: skip


def test_pages_by_cursor_hold_every_memory_once_in_order(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    moment = clock.now()
    ids = {remember(store, clock, f"Fact {n} of the shop.", created_at=moment) for n in range(7)}
    ids |= {remember(store, clock, f"Later fact {n}.") for n in range(4)}
    whole = [memory["id"] for memory in listed(api)["memories"]]
    seen, cursor = [], ""
    while True:
        page = listed(api, limit=3, cursor=cursor)
        seen += [memory["id"] for memory in page["memories"]]
        cursor = page["next"]
        if not cursor:
            break
    assert seen == whole
    assert set(seen) == ids


@pytest.mark.parametrize("cursor", ["x", "2026-01-01T00:00:00Z", "nonsense/mem_0123456789ab"])
def test_an_invalid_cursor_is_refused(api: Api, cursor: str) -> None:
    with pytest.raises(InputError):
        listed(api, cursor=cursor)


def test_memories_are_filtered_by_source_in_lists_and_searches(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    mine = remember(store, clock, "The checkout uses Stripe.", source=Source.USER)
    remember(store, clock, "The checkout page says Stripe.", source=Source.TOOL)
    assert [memory["id"] for memory in listed(api, sources=["user"])["memories"]] == [mine]
    found = api.call("recall", {"query": "checkout Stripe", "project": "all", "sources": ["user"]})
    assert [hit["id"] for hit in found["hits"]] == [mine]


def test_a_search_shows_what_is_below_the_floor_only_when_asked(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    remember(store, clock, "The checkout uses Stripe.")
    question = {"query": "zebra quantum checkout cheesecake", "project": "all"}
    assert "weak" not in api.call("recall", question)
    found = api.call("recall", {**question, "weak": True})
    assert not found["hits"]
    assert found["below_floor"] == len(found["weak"]) == 1


# Changing what has changed


def test_a_change_of_a_file_that_was_edited_by_hand_meanwhile_is_refused_and_the_edit_is_taken_over(
    api: Api, store: Orchestrator, clock: FakeClock
) -> None:
    id = remember(store, clock, "Deploy with make ship.")
    seen = api.call("get_memory", {"id": id})
    path = store.path_of(id)
    path.write_text(path.read_text().replace("make ship", "make deploy"))
    with pytest.raises(ConflictError):
        api.call("update_memory", {"id": id, "content": "Deploy with just ship.", "expect": seen["digest"]})
    now = api.call("get_memory", {"id": id})
    assert now["memory"]["content"] == "Deploy with make deploy."
    assert "make deploy" in path.read_text()
    changed = api.call("update_memory", {"id": id, "pinned": True, "expect": now["digest"]})
    assert changed["memory"]["pinned"]


# Evidence


def log_of(tmp_path: Path, texts: list[str]) -> Path:
    path = tmp_path / "log.jsonl"
    lines = [
        {
            "type": "user",
            "uuid": f"u{n}",
            "sessionId": "s1",
            "timestamp": "2026-01-01T00:00:00Z",
            "message": {"role": "user", "content": t},
        }
        for n, t in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_evidence_shows_the_turn_with_those_around_it(api: Api, store: Orchestrator, clock: FakeClock, tmp_path: Path) -> None:
    path = log_of(tmp_path, [f"Statement number {n} about the shop." for n in range(9)])
    api._state.touch_session("s1", "shop", "", str(path))
    id = remember(store, clock, "Statement four.", session="s1", evidence=Evidence(str(path), ("u4",)))
    found = api.call("evidence", {"id": id, "around": 1})
    assert [(turn["text"][17:18], turn["meant"]) for turn in found["turns"]] == [("3", False), ("4", True), ("5", False)]
    assert found["reason"] == ""


def test_a_path_that_memory_never_read_is_not_opened(api: Api, store: Orchestrator, clock: FakeClock, tmp_path: Path) -> None:
    path = log_of(tmp_path, ["The secret of another person."])
    id = remember(store, clock, "A hostile file.", session="s1", evidence=Evidence(str(path), ("u0",)))
    found = api.call("evidence", {"id": id})
    assert found["turns"] == []
    assert "not opened" in found["reason"]


def test_a_log_that_is_gone_is_reported(api: Api, store: Orchestrator, clock: FakeClock, tmp_path: Path) -> None:
    path = tmp_path / "gone.jsonl"
    api._state.touch_session("s1", "shop", "", str(path))
    id = remember(store, clock, "Something.", session="s1", evidence=Evidence(str(path), ("u0",)))
    assert "Can't read" in api.call("evidence", {"id": id})["reason"]


# Merging


def test_a_merge_takes_the_place_of_both_and_forgetting_it_reaches_them(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    first = remember(store, clock, "Deploy with make ship.", tags=("deploy",), pinned=True)
    second = remember(store, clock, "To deploy, run make ship.", tags=("make",))
    merged = api.call("merge", {"id": first, "other": second, "content": "Deploy by make ship."})["memory"]
    assert (merged["content"], set(merged["tags"]), merged["pinned"]) == ("Deploy by make ship.", {"deploy", "make"}, True)
    assert [memory["id"] for memory in listed(api)["memories"]] == [merged["id"]]
    assert {store.require(id).status for id in (first, second)} == {Status.SUPERSEDED}
    api.call("forget", {"id": merged["id"]})
    assert {store.require(id).status for id in (first, second)} == {Status.BLACKLISTED}


def test_a_merge_with_itself_or_with_what_is_not_active_is_refused(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    first = remember(store, clock, "Deploy with make ship.")
    old = remember(store, clock, "Deploy with make push.", status=Status.SUPERSEDED)
    for other in (first, old):
        with pytest.raises(InputError):
            api.call("merge", {"id": first, "other": other})
    assert store.require(first) == replace(store.require(first), status=Status.ACTIVE)


def test_memories_of_two_projects_are_not_merged(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    first = remember(store, clock, "Deploy with make ship.")
    second = remember(store, clock, "To deploy, run make ship.", project="other-12345678")
    with pytest.raises(InputError, match="different projects"):
        api.call("merge", {"id": first, "other": second})
    assert {store.require(id).status for id in (first, second)} == {Status.ACTIVE}


def test_a_model_may_not_merge_nor_read_logs(api: Api) -> None:
    for method in ("merge", "evidence", "overview"):
        with pytest.raises(InputError):
            api.call(method, {"id": "mem_0123456789ab", "caller": "model"})
