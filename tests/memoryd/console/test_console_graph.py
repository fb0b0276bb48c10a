"""The page with the neighbourhood of a memory or a name."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from memoryd.console import assets
from memoryd.core.errors import NotFoundError
from memoryd.core.types import Link, LinkType, MemoryItem, Status
from memoryd.testing import FakeClock
from tests.memoryd.console.console_client import Console

HOSTILE = '</script><script>alert(1)</script> "><img src=x onerror=alert(1)> {{ 7777777*7 }}'
VENDOR = Path(assets.FOLDER) / "vendor"


def memory(id: str, content: str = HOSTILE, **more: str) -> dict[str, Any]:
    made = {"id": id, "content": content, "kind": "fact", "status": "active", "created_at": "2026-01-01T00:00:00Z"}
    return made | {"source": "user", "tags": [HOSTILE], "valid_from": None} | more


def node(key: str, distance: int, **more: Any) -> dict[str, Any]:
    return {"key": key, "name": key, "memory": None, "distance": distance, "links": 1} | more


SEEN = {
    "nodes": [
        node("mem_000000000001", 0, memory=memory("mem_000000000001"), links=9),
        node("mem_000000000002", 1, memory=memory("mem_000000000002", status="superseded")),
        node("<b>.py", 1, name="<b>.py", links=2),
        node("mem_000000000003", 2, memory=memory("mem_000000000003", "Far away.")),
    ],
    "edges": [
        {"source": "mem_000000000001", "type": "SUPERSEDES", "target": "mem_000000000002"},
        {"source": "mem_000000000001", "type": "MENTIONS", "target": "<b>.py"},
        {"source": "mem_000000000003", "type": "MENTIONS", "target": "<b>.py"},
    ],
}


def test_the_list_says_what_the_picture_shows_and_nothing_becomes_markup(console: Console) -> None:
    console.answers["graph"] = SEEN
    text = console.get("/graph", about="mem_000000000001", depth=2).text
    assert "<script>alert" not in text and "<img" not in text and "54444439" not in text and "<b>.py" not in text
    plain = re.sub(r"\s+", " ", text)
    assert "replaced by this" in plain and "mentioned by this" in plain and "mentions “&lt;b&gt;.py”" in plain
    assert "7 more edges are not shown" in plain
    assert "about=%3Cb%3E.py" in text and "depth=2" in text
    assert console.asked("graph")[0] == {"about": "mem_000000000001", "depth": 2, "most": 60, "types": [], "project": "all"}


def test_only_the_chosen_types_of_edges_are_asked_for(console: Console) -> None:
    console.answers["graph"] = SEEN
    assert console.client.get("/graph?about=x&type=MENTIONS&type=SUPERSEDES").status_code == 200
    assert console.asked("graph")[0]["types"] == ["MENTIONS", "SUPERSEDES"]
    assert console.get("/graph", about="x", type="HATES").status_code == 400
    assert console.get("/graph", about="x", depth=3).status_code == 400
    assert console.get("/graph", about="x" * 301).status_code == 400


def test_without_a_question_the_names_that_are_mentioned_most_are_offered(console: Console) -> None:
    console.answers["names"] = {"names": [{"name": "<i>", "mentions": 1234}]}
    text = console.get("/graph").text
    assert "/graph?about=%3Ci%3E" in text and "1,234" in text and "<i>" not in text
    console.answers["names"] = {"names": []}
    assert "No memory mentions anything yet." in console.get("/graph").text


def test_an_unknown_name_is_answered_with_near_ones(console: Console) -> None:
    console.answers["graph"] = NotFoundError("Nothing in memory mentions 'dock'.", fix="Did you mean: docker?")
    answer = console.get("/graph", about="dock")
    assert answer.status_code == 404 and "Did you mean: docker?" in answer.text


@pytest.fixture
def shop(real_console: Console, clock: FakeClock) -> tuple[Console, str, str, str]:
    """Create three memories: the second one replaces the first one, and the third one shares a name with the second one."""
    store = real_console.api._service
    made: dict[str, Any] = {"project": "shop", "created_at": clock.now()}
    old = store.write(MemoryItem("The queue runs in redis.", status=Status.SUPERSEDED, **made))
    new = store.write(MemoryItem("The queue runs in `src/queue.py`.", links=(Link(LinkType.SUPERSEDES, old),), **made))
    other = store.write(MemoryItem("`src/queue.py` is made by hand.", **made))
    return real_console, old, new, other


def test_the_picture_of_a_real_store_holds_what_is_near_and_no_more(shop: tuple[Console, str, str, str]) -> None:
    console, old, new, other = shop
    near = console.client.get(f"/graph?about={old}", headers={"accept": "application/json"}).json()
    assert [one["key"] for one in near["nodes"]] == [old, new]
    assert near["edges"] == [{"source": new, "type": "SUPERSEDES", "target": old}]
    far = console.client.get(f"/graph?about={new}&depth=2", headers={"accept": "application/json"}).json()
    assert [one["distance"] for one in far["nodes"]] == [0, 1, 1, 2]
    assert {one["key"] for one in far["nodes"]} == {old, new, other, "src/queue.py"}
    assert console.get("/graph", about="SRC/queue.py").status_code == 200
    assert "Did you mean: src/queue.py?" in console.get("/graph", about="queue").text
    assert "src/queue.py" in console.get("/graph").text


def test_the_vendored_files_are_the_ones_that_are_named_with_their_licence() -> None:
    named = dict(re.findall(r"\| (\S+\.js) \| \S+ \| ([0-9a-f]{64}) \|", (VENDOR / "README.md").read_text("utf-8")))
    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.glob("*.js")}
    assert named == there and len(there) == 4
    assert "Permission to use, copy, modify" in (VENDOR / "LICENSE.md").read_text("utf-8")
