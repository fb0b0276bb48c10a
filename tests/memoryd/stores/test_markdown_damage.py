"""Damaged indexes are restored from the files, also after a crash or with a second process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.core.db import Database, remove_database
from memoryd.core.errors import IndexDamagedError, MemorydError, StoreError
from memoryd.stores import markdown
from memoryd.stores.fulltext import FullTextIndex
from memoryd.stores.markdown import MarkdownStore
from memoryd.testing import FakeClock
from tests.memoryd.stores.markdown_samples import a_file, an_id, an_item, files, ids, open_store, put_file


def index_of(home: Path) -> Path:
    return home / "index" / "literal.db"


def lose(path: Path) -> None:
    remove_database(path)


def empty(path: Path) -> None:
    remove_database(path)
    path.touch()


def garbage(path: Path) -> None:
    remove_database(path)
    path.write_bytes(b"not a database, " * 1_000)


def overwrite_the_middle(path: Path) -> None:
    path.with_name(path.name + "-wal").unlink(missing_ok=True)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)


def other_version(path: Path) -> None:
    db = Database(path)
    db.execute("PRAGMA user_version=999")
    db.close()


def lost_table(path: Path) -> None:
    db = Database(path)
    db.execute("DROP TABLE words")
    db.close()


def unfinished(path: Path) -> None:
    db = Database(path)
    db.execute("DELETE FROM meta")
    db.execute("DELETE FROM memory WHERE id = ?", (an_id(1),))
    db.close()


HARMS: list[Callable[[Path], None]] = [lose, empty, garbage, overwrite_the_middle, other_version, lost_table, unfinished]


def filled(home: Path) -> MarkdownStore:
    store = open_store(home)
    store.write_many([an_item(number, f"Fact number {number} about redis") for number in range(1, 40)])
    return store


@pytest.mark.parametrize("harm", HARMS)
def test_a_harmed_index_is_rebuilt_when_it_is_opened(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    store = filled(tmp_path)
    before = list(store.all())
    store.close()
    harm(index_of(tmp_path))
    store = open_store(tmp_path)
    assert list(store.all()) == before
    assert ids(store, "redis", k=5) == [an_id(number) for number in range(1, 6)]


@pytest.mark.parametrize("harm", [lose, empty, garbage, lost_table])
def test_an_index_that_is_harmed_while_in_use_is_rebuilt(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    store = filled(tmp_path)
    before = list(store.all())
    harm(index_of(tmp_path))
    assert len(ids(store, "redis", k=50)) == 39
    assert list(store.all()) == before
    store.write(an_item(50, "new redis"))
    assert an_id(50) in ids(store, "new")


def test_damage_found_in_the_middle_of_a_batch_writes_no_memory_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path)
    put = FullTextIndex.put
    failed: list[bool] = []

    def fail_once(self: FullTextIndex, entries: object) -> None:
        if not failed:
            failed.append(True)
            raise IndexDamagedError("damaged")
        put(self, entries)  # type: ignore[arg-type]

    monkeypatch.setattr(FullTextIndex, "put", fail_once)
    found = store.write_many([an_item(0, "one"), an_item(0, "two")])
    assert failed
    assert {item.id for item in store.all()} == {an_id(number) for number in range(1, 40)} | set(found)


def test_an_error_that_is_not_damage_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path)

    def fail(*_: object) -> None:
        raise StoreError("disk full")

    monkeypatch.setattr(FullTextIndex, "search", fail)
    with pytest.raises(StoreError, match="disk full"):
        ids(store, "redis")


def test_a_rebuild_is_reported_by_the_next_sync(tmp_path: Path) -> None:
    store = filled(tmp_path)
    store.sync()
    store.rebuild()
    assert len(store.sync().changed) == 39
    assert store.sync().changed == ()


def test_the_first_sync_of_a_new_home_tells_of_all_files(tmp_path: Path) -> None:
    put_file(tmp_path, "user/s/a.md", a_file(1))
    store = open_store(tmp_path)
    assert store.last_sync() is None
    assert [item.id for item in store.sync().changed] == [an_id(1)]
    assert store.last_sync() is not None


# Crashes: the process ends between two steps


class Killed(BaseException):
    """Simulates the end of the process: nothing catches it."""


def killed(*_: object, **__: object) -> None:
    raise Killed


def test_a_crash_between_file_and_index_is_healed_by_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(FullTextIndex, "put", killed)
        with pytest.raises(Killed):
            store.write(an_item(50, "written but not indexed"))
    again = open_store(tmp_path)
    assert [item.id for item in again.sync().changed] == [an_id(50)]
    assert ids(again, "indexed") == [an_id(50)]


def test_a_crash_in_the_middle_of_a_move_leaves_one_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(markdown, "write_atomic", killed)
        with pytest.raises(Killed):
            store.write(an_item(1, "moved and changed", session="s2"))
    again = open_store(tmp_path)
    report = again.sync()
    assert report.broken == ()
    assert report.removed == ()
    assert again.get(an_id(1)) == an_item(1, "Fact number 1 about redis")
    again.write(an_item(1, "moved and changed", session="s2"))
    assert again.get(an_id(1)) == an_item(1, "moved and changed", session="s2")
    assert len(files(tmp_path / "memories")) == 39


def test_a_crash_after_the_move_to_the_trash_is_healed_by_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(FullTextIndex, "remove", killed)
        with pytest.raises(Killed):
            store.delete(an_id(1))
    again = open_store(tmp_path)
    assert again.sync().removed == (an_id(1),)
    assert again.restore(an_id(1)) == an_item(1, "Fact number 1 about redis")


def test_what_a_killed_writer_left_is_tidied_up_after_an_hour(tmp_path: Path) -> None:
    now = FakeClock().now().timestamp()
    old, new = (put_file(tmp_path, f"user/s/.tmp-{digit * 12}", "half") for digit in "ab")
    os.utime(old, (now - 4_000, now - 4_000))
    os.utime(new, (now - 60, now - 60))
    others = put_file(tmp_path, ".tmp-notes.md", "not ours")
    os.utime(others, (0, 0))
    open_store(tmp_path).sync()
    assert not old.exists()
    assert new.exists()
    assert others.exists()


# Two processes

_WRITER = """
import sys
from pathlib import Path
from memoryd.core.paths import Paths
from memoryd.stores.markdown import MarkdownStore
from memoryd.testing import FakeClock
from memoryd.core.types import MemoryItem
store = MarkdownStore(Paths(Path(sys.argv[1])), FakeClock())
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    store.write(MemoryItem(f"{sys.argv[2]} wrote number {number}"))
    store.write(MemoryItem(f"shared {sys.argv[2]} {number}", id="mem_00000000000a"))
"""


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(99, "here before"))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path), name, "15"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in ("anna", "bert")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.communicate("go\n", timeout=120)
    assert [writer.returncode for writer in writers] == [0, 0]
    contents = {item.content for item in store.all()}
    assert {f"{name} wrote number {number}" for name in ("anna", "bert") for number in range(15)} <= contents
    assert len(contents) == 32
    assert len(ids(store, "wrote")) == 30
    report = store.sync()
    assert (report.changed, report.removed, report.broken) == ((), (), ())


def test_a_store_continues_after_another_one_rebuilt_the_index(tmp_path: Path) -> None:
    one, two = filled(tmp_path), open_store(tmp_path)
    assert len(list(two.all())) == 39
    one.rebuild()
    two.write(an_item(50, "by the second"))
    one.write(an_item(51, "by the first"))
    assert ids(one, "second first") == ids(two, "second first")
    assert len(list(one.all())) == len(list(two.all())) == 41


def test_threads_share_a_store(tmp_path: Path) -> None:
    store = filled(tmp_path)
    problems: list[Exception] = []

    def work(name: str) -> None:
        try:
            for number in range(10):
                id = store.write(an_item(0, f"thread {name} {number}"))
                assert id in ids(store, f"thread {name} {number}")
                if number == 5:
                    store.rebuild()
        except (MemorydError, AssertionError) as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert problems == []
    assert len(list(store.all())) == 79
