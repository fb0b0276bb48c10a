from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.errors import StoreError
from memoryd.daemon.hook_events import MAX_RECORD_BYTES, HookRecord
from memoryd.daemon.spool import MAX_ATTEMPTS, Spool


class Taker:
    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.received: list[Any] = []
        self.fault = None

    def handle(self, event: str, record: HookRecord) -> None:
        if self.fault:
            raise self.fault
        self.taken.append((event, record.payload))

    def report(self, where: str, what: str) -> None:
        self.received.append(what)


@pytest.fixture
def taker() -> Taker:
    return Taker()


@pytest.fixture
def spool(tmp_path: Path, taker: Taker) -> Spool:
    folder = tmp_path / "spool"
    folder.mkdir()
    return Spool(folder, taker.handle, taker.report, pause=0.0)


def put(spool: Spool, number: int, data: bytes = b"\n{}", event: str = "Stop") -> Path:
    path = spool.folder / f"{number:020}-1.{event}"
    path.write_bytes(data)
    return path


def test_records_are_taken_oldest_first_and_deleted(spool: Spool, taker: Taker) -> None:
    for number in (2, 1):
        put(spool, number, b'\n{"n": %d}' % number)
    assert spool.drain() == 2
    assert taker.taken == [("Stop", {"n": 1}), ("Stop", {"n": 2})]
    assert spool.waiting() == [] and not spool.changed()


def test_what_was_not_handled_is_not_deleted_and_others_go_on(spool: Spool, taker: Taker) -> None:
    taker.fault = StoreError("full")  # type: ignore[assignment]
    path = put(spool, 1)
    assert spool.drain() == 0 and path.exists() and spool.changed()
    taker.fault = None
    assert spool.drain() == 1 and not path.exists()


def test_a_retry_waits_for_its_pause(spool: Spool, taker: Taker) -> None:
    spool.pause = 60.0
    taker.fault = StoreError("full")  # type: ignore[assignment]
    put(spool, 1)
    spool.drain()
    spool.drain()
    assert len(taker.received) == 1 and not spool.changed()


def test_a_record_that_fails_too_often_is_put_aside(spool: Spool, taker: Taker) -> None:
    taker.fault = StoreError("full")  # type: ignore[assignment]
    path = put(spool, 1)
    for _ in range(MAX_ATTEMPTS):
        spool.drain()
    assert not path.exists() and (spool.folder / "bad" / path.name).exists()
    assert spool.bad == spool.bad_count() == 1


@pytest.mark.parametrize("data", [b"", b"no end", b"bad line\n\n{}", b"\n[1]", b"\n{"])
def test_a_broken_record_is_put_aside_without_what_it_held(spool: Spool, taker: Taker, data: bytes) -> None:
    path = put(spool, 1, data)
    spool.drain()
    assert (spool.folder / "bad" / path.name).read_bytes() == b"%d bytes that are not an event record\n" % len(data)
    assert taker.taken == []


def test_a_record_that_is_put_aside_holds_no_words_of_the_session(spool: Spool, taker: Taker) -> None:
    taker.fault = StoreError("full")  # type: ignore[assignment]
    path = put(
        spool, 1, b'\n{"session_id": "s1", "cwd": "/w", "last_assistant_message": "zirkonglobe", "custom_instructions": "tell"}'
    )
    for _ in range(MAX_ATTEMPTS):
        spool.drain()
    assert (spool.folder / "bad" / path.name).read_bytes() == b'\n{"session_id":"s1","cwd":"/w"}'


def test_a_record_over_the_limit_is_put_aside_unread(spool: Spool) -> None:
    path = put(spool, 1)
    os.truncate(path, MAX_RECORD_BYTES + 1)
    spool.drain()
    assert spool.bad == 1


def test_half_written_and_foreign_files_are_left_alone_and_old_halves_swept(spool: Spool, taker: Taker) -> None:
    half, note = spool.folder / ".00000000000000000001-1.Stop", spool.folder / "README"
    half.write_bytes(b"x")
    note.write_bytes(b"x")
    spool.drain()
    spool.sweep(half.stat().st_mtime + 10)
    assert half.exists()
    spool.sweep(half.stat().st_mtime + 3601)
    assert not half.exists() and note.exists() and taker.taken == []


def test_a_missing_folder_is_an_empty_spool(tmp_path: Path, taker: Taker) -> None:
    spool = Spool(tmp_path / "none", taker.handle, taker.report)
    assert spool.drain() == 0 and spool.bad_count() == 0
    spool.sweep()


@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "folder"])
def test_a_record_that_is_not_a_file_is_put_aside_and_the_next_is_taken(spool: Spool, taker: Taker, kind: str) -> None:
    path = spool.folder / f"{1:020}-1.Stop"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"device": os.devnull, "loop": path}[kind])  # type: ignore[arg-type]
    put(spool, 2, b'\n{"n": 2}')
    assert spool.drain() == 1
    assert taker.taken == [("Stop", {"n": 2})]
    assert spool.waiting() == []
    assert spool.bad_count() == 1


def leave(spool: Spool, number: int, data: bytes, age: float = 10.0, pid: int = 2**22 + 1) -> Path:
    """Write a record like a hook that was killed before it could publish it."""
    path = spool.folder / f".{number:020}-{pid}.Stop"
    path.write_bytes(data)
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))
    return path


def test_a_whole_record_of_a_killed_hook_is_taken_in(spool: Spool, taker: Taker) -> None:
    leave(spool, 1, b'\n{"n": 1}')
    put(spool, 2, b'\n{"n": 2}')
    assert spool.drain() == 2
    assert taker.taken == [("Stop", {"n": 1}), ("Stop", {"n": 2})]
    assert list(spool.folder.iterdir()) == []


def test_a_record_that_a_hook_may_still_be_writing_is_looked_at_again(
    spool: Spool, taker: Taker, monkeypatch: pytest.MonkeyPatch
) -> None:
    young = leave(spool, 1, b'\n{"n": 1}', age=0.0)
    running = leave(spool, 2, b'\n{"n": 2}', pid=os.getpid())
    monkeypatch.setattr("memoryd.daemon.spool.LEFT_SECONDS", 0.0)
    monkeypatch.setattr("memoryd.daemon.spool._is_running", lambda path: path in (young, running))
    assert spool.drain() == 0 and young.exists() and running.exists()
    assert spool.changed()
    monkeypatch.setattr("memoryd.daemon.spool._is_running", lambda path: False)
    assert spool.drain() == 2 and not spool.changed()


def test_a_record_that_is_not_whole_is_removed_after_an_hour(spool: Spool, taker: Taker) -> None:
    leave(spool, 1, b'\n{"n": ')
    old = leave(spool, 2, b'KEY=1\n\n{"n": ', age=4000.0)
    assert spool.drain() == 0
    assert [path.name for path in spool.folder.iterdir()] == [f".{1:020}-{2**22 + 1}.Stop"] and not old.exists()
    assert taker.received == []
