"""Impossible times in a log: the order of its lines decides what was said later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from memoryd.api.dispatch import Api
from memoryd.core.config import Settings
from memoryd.testing import FakeClock

SAID = ("Always use pnpm in this repository, never npm.", "From now on use yarn instead of pnpm in this repository.")

MORE = ("Cats sleep in the server room.", "Our choir sings in Latin.")


class Desk:
    def __init__(self, api: Api, folder: Path) -> None:
        self.api, self.folder = api, folder
        folder.mkdir()

    def read(self, times: Sequence[str | None], texts: Sequence[str] = SAID, pieces: bool = False) -> list[str]:
        """Read a log whose lines have these times, and return what is active then."""
        path = self.folder.parent / "s1.jsonl"
        path.unlink(missing_ok=True)
        for number, (at, text) in enumerate(zip(times, texts, strict=True)):
            entry = {"type": "user", "uuid": f"u{number}", "sessionId": "s1", "cwd": str(self.folder)}
            entry |= {"message": {"role": "user", "content": text}} | ({"timestamp": at} if at is not None else {})  # type: ignore[arg-type]
            with path.open("ab") as stream:
                stream.write(orjson.dumps(entry) + b"\n")
            if pieces or number == len(texts) - 1:
                payload = {"session_id": "s1", "cwd": str(self.folder), "transcript_path": str(path), "reason": "other"}
                self.api.drain_spool_record("SessionEnd", payload, {})
                self.api.tick()
        found = self.api.call("list_memories", {"cwd": str(self.folder)})["memories"]
        return [memory["content"] for memory in found]


@pytest.fixture
def desk(settings: Settings, clock: FakeClock, tmp_path: Path) -> Iterator[Desk]:
    clock.advance(days=2)
    api = Api(replace(settings, rank="bm25", reader="offline"), clock)
    api.warm()
    yield Desk(api, tmp_path / "shop")
    api.close()


@pytest.mark.parametrize("pieces", [False, True])
@pytest.mark.parametrize(
    "times",
    [
        ("2026-01-01T15:00:00Z", "2026-01-01T12:00:00Z"),
        ("2026-01-01T15:00:00Z", None),
        (None, "2026-01-01T12:00:00Z"),
        (None, None),
        ("2026-01-01T15:00:00Z", "2026-13-45"),
        ("2097-01-01T00:00:00Z", "2026-01-01T12:00:00Z"),
    ],
)
def test_the_later_line_wins_whatever_time_it_says(desk: Desk, times: Sequence[str | None], pieces: bool) -> None:
    active = desk.read(times, pieces=pieces)
    assert any("yarn" in content for content in active)
    assert not any("never npm" in content for content in active)


def test_no_statement_is_lost_where_the_clock_falls_by_hours(desk: Desk) -> None:
    times = ("2026-01-01T15:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T12:05:00Z")
    texts = (SAID[0], SAID[1], "From now on use pnpm instead of yarn in this repository again.")
    active = desk.read(times, texts, pieces=True)
    assert any("pnpm instead of yarn" in content for content in active)


def test_what_was_recorded_while_the_clock_was_ahead_is_marked_comes_last_and_can_be_replaced(
    settings: Settings, clock: FakeClock, tmp_path: Path
) -> None:
    api = Api(replace(settings, rank="bm25", reader="offline"), clock)
    api.warm()
    here = {"cwd": str(tmp_path)}
    clock.advance(days=1_825)
    api.call("remember", {**here, "content": "The API listens on port 8080.", "kind": "fact"})
    api.call("remember", {**here, "content": "The mill grinds barley on Mondays.", "kind": "fact"})
    clock.advance(days=-1_825)
    for text in ("Invoices are printed on blue paper.", "The lift to the roof is slow.", "Backups go to the cellar.", *MORE):
        api.call("remember", {**here, "content": text, "kind": "fact"})
    assert api.call("memory_status", here)["memories"]["ahead_of_the_clock"] == 2
    listed, cursor = [], ""
    while True:
        page = api.call("list_memories", {**here, "limit": 2, "cursor": cursor})
        listed += [memory["content"] for memory in page["memories"]]
        if not (cursor := page["next"]):
            break
    assert len(set(listed)) == 7
    assert set(listed[-2:]) == {"The API listens on port 8080.", "The mill grinds barley on Mondays."}
    assert not any("mill" in memory["content"] for memory in api.call("list_memories", {**here, "limit": 5})["memories"])
    newer = api.call("remember", {**here, "content": "The API listens on port 9090.", "kind": "fact"})
    assert newer["status"] == "superseded", newer
    assert [m["content"] for m in api.call("recall", {**here, "query": "API port"})["hits"]][:1] == [
        "The API listens on port 9090."
    ]
    assert not any("8080" in memory["content"] for memory in api.call("list_memories", here)["memories"])
    api.close()
