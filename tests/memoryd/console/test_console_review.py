"""The inbox: many memories are confirmed, forgotten or sorted at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoryd.core.types import CONFIRMED_TAG, MemoryItem, Source, Status
from tests.memoryd.console.console_client import Console


@pytest.fixture
def remember(real_console: Console, clock: Any) -> Callable[..., str]:
    def write(content: str, **fields: Any) -> str:
        clock.advance(minutes=1)
        values = {"project": "shop", "created_at": clock.now(), **fields}
        return str(real_console.api._service.write(MemoryItem(content, **values)))

    return write


def test_ticked_memories_are_kept_forgotten_or_sorted(real_console: Console, remember: Callable[..., str]) -> None:
    ids = [remember(f"Finding number {n}.", session="s1", source=Source.AGENT_STEP, status=Status.CANDIDATE) for n in range(4)]
    text = real_console.get("/review", project="all").text
    assert all(f'value="{id}"' in text for id in ids)
    real_console.post("/review", act="keep", id=ids[:2])
    real_console.post("/review", act="forget", id=ids[2])
    real_console.post("/review", act="kind", kind="todo", id=ids[3])
    memories = [real_console.api.call("get_memory", {"id": id})["memory"] for id in ids]
    assert [memory["status"] for memory in memories] == ["active", "active", "blacklisted", "candidate"]
    assert memories[0]["tags"] == [CONFIRMED_TAG] and memories[3]["kind"] == "todo"


def test_an_empty_choice_is_refused_with_the_way_out(real_console: Console, remember: Callable[..., str]) -> None:
    remember("A finding.", session="s1", source=Source.AGENT_STEP)
    answer = real_console.post("/review", act="keep")
    assert answer.status_code == 400 and "Select at least one" in answer.text


def test_what_was_seen_leaves_the_inbox_and_can_be_shown_again(real_console: Console, remember: Callable[..., str]) -> None:
    remember("A finding.", session="s1", source=Source.AGENT_STEP)
    until = real_console.api.call("review", {"project": "all"})["until"]
    real_console.post("/review", act="seen", until=until, project="all")
    assert "A finding." not in real_console.get("/review", project="all").text
    assert "A finding." in real_console.get("/review", project="all", everything="1").text
