"""Times in a log that can't be right: the order of its lines decides what was said later."""

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


class Desk:
    def __init__(self, api: Api, folder: Path) -> None:
        self.api, self.folder = api, folder
        folder.mkdir()

    def read(self, times: Sequence[str | None], texts: Sequence[str] = SAID, pieces: bool = False) -> list[str]:
        """Let a log be read whose lines say these times; what is active then."""
        path = self.folder.parent / "s1.jsonl"
        path.unlink(missing_ok=True)
        for number, (at, text) in enumerate(zip(times, texts, strict=True)):
            entry = {"type": "user", "uuid": f"u{number}", "sessionId": "s1", "cwd": str(self.folder)}
            entry |= {"message": {"role": "user", "content": text}} | ({"timestamp": at} if at is not None else {})
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
