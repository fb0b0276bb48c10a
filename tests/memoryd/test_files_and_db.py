from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.db import Database, Migrations, remove_database
from memoryd.core.errors import IndexDamagedError, StoreError
from memoryd.core.files import (
    append_line,
    create_exclusive,
    locked,
    make_private_dir,
    remove_stale_temporaries,
    try_lock,
    write_atomic,
)
from tests.waiting import until


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a" / "b" / "file", b"x")
    assert mode(tmp_path / "a" / "b" / "file") == 0o600
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700


def test_an_atomic_write_leaves_no_temporary_behind(tmp_path: Path) -> None:
    write_atomic(tmp_path / "file", b"one")
    write_atomic(tmp_path / "file", b"two")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"two"


def test_a_write_that_is_killed_half_way_leaves_the_old_bytes(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomic(target, b"old")
    script = (
        "import os, sys, memoryd.core.files as f\n"
        "from pathlib import Path\n"
        "f.os.fsync = lambda fd: os.kill(os.getpid(), 9)\n"
        "f.write_atomic(Path(sys.argv[1]), b'new')\n"
    )
    result = subprocess.run([sys.executable, "-c", script, str(target)], check=False)
    assert result.returncode == -9
    assert target.read_bytes() == b"old"


def test_what_a_killed_writer_left_is_swept_once_it_is_old(tmp_path: Path) -> None:
    old, young = tmp_path / "a" / ".tmp-old", tmp_path / "a" / ".tmp-young"
    write_atomic(old, b"x")
    write_atomic(young, b"x")
    os.utime(old, (0, 0))
    assert remove_stale_temporaries(tmp_path) == 1
    assert (old.exists(), young.exists()) == (False, True)


def test_only_one_of_many_creators_gets_the_name(tmp_path: Path) -> None:
    won: list[bytes] = []

    def create(number: int) -> None:
        data = str(number).encode()
        if create_exclusive(tmp_path / "name", data):
            won.append(data)

    threads = [threading.Thread(target=create, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert won == [(tmp_path / "name").read_bytes()]


def test_a_full_or_forbidden_place_is_a_store_error_with_a_fix(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError):
        write_atomic(tmp_path / "file" / "below", b"x")


def test_a_log_line_file_is_rotated_at_its_limit(tmp_path: Path) -> None:
    for number in range(50):
        append_line(tmp_path / "log", f"line {number}", limit_bytes=100)
    assert (tmp_path / "log").stat().st_size <= 120
    assert (tmp_path / "log.1").exists()


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    first = try_lock(tmp_path / "lock")
    assert first is not None
    assert try_lock(tmp_path / "lock") is None
    first.close()
    with locked(tmp_path / "lock"):
        assert try_lock(tmp_path / "lock") is None


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    db = Database(tmp_path / "x.db")
    db.execute("CREATE TABLE t (x)")
    with pytest.raises(RuntimeError), db.transaction():
        db.execute("INSERT INTO t VALUES (1)")
        raise RuntimeError
    assert db.value("SELECT count(*) FROM t") == 0
    assert mode(tmp_path / "x.db") == 0o600


def test_a_damaged_database_is_distinguished_from_other_faults(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"this is no database, but a text that is long enough to look like a header" * 20)
    with pytest.raises(StoreError) as durable:
        Database(path)
    assert not isinstance(durable.value, IndexDamagedError)
    assert "reindex" not in durable.value.fix
    with pytest.raises(IndexDamagedError) as caught:
        Database(path, durable=False)
    assert "reindex" in caught.value.fix
    remove_database(path)
    db = Database(path)
    with pytest.raises(StoreError) as other:
        db.execute("SELECT * FROM nowhere")
    assert not isinstance(other.value, IndexDamagedError)


def test_threads_share_a_connection_without_mixing_transactions(tmp_path: Path) -> None:
    db = Database(tmp_path / "x.db")
    db.execute("CREATE TABLE t (x)")

    def add(start: int) -> None:
        for number in range(start, start + 20):
            with db.transaction():
                db.execute("INSERT INTO t VALUES (?)", (number,))

    threads = [threading.Thread(target=add, args=(n * 100,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert db.value("SELECT count(*) FROM t") == 80


def _is_held(lock: Any) -> bool:
    """Return whether another thread holds the lock."""
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True


def test_the_number_of_changes_can_be_asked_for_while_another_thread_reads(tmp_path: Path) -> None:
    db = Database(tmp_path / "x.db")
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT sum(i) FROM n"
    reader = threading.Thread(target=db.value, args=(slow,))
    reader.start()
    until(lambda: _is_held(db._lock))
    try:
        assert db.changes() == 0
        assert db.version()
    finally:
        reader.join()
        db.close()


def test_many_processes_may_make_a_database_at_the_same_moment(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from memoryd.core.db import Database\n"
        "sys.stdin.readline()\n"
        "for n in range(40): Database(Path(sys.argv[1]) / f'{n}.db').execute('CREATE TABLE IF NOT EXISTS t (x)')\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    makers = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.write("\n")
        maker.stdin.flush()
    assert [maker.communicate(timeout=120)[1] for maker in makers] == [""] * 4


def schema(*steps: str) -> Migrations:
    migrations = Migrations("t")
    for step in steps:

        def run(db: Database, step: str = step) -> None:
            db.execute(f"CREATE TABLE {step} (x)")
            if step == "broken":
                db.execute("nonsense")

        run.__name__ = step
        migrations.step(run)
    return migrations


def test_each_migration_runs_once_and_a_failing_one_leaves_nothing(tmp_path: Path) -> None:
    db = Database(tmp_path / "x.db")
    assert schema("one").apply(db) == ["one"]
    assert schema("one", "two").apply(db) == ["two"]
    with pytest.raises(StoreError):
        schema("one", "two", "broken").apply(db)
    assert not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'broken'")
    assert schema("one", "two", "three").apply(db) == ["three"]


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    db = Database(tmp_path / "x.db")
    schema("one", "future").apply(db)
    with pytest.raises(StoreError, match="newer version of memoryd"):
        schema("one").apply(db)


def test_an_index_with_an_unknown_step_is_rebuilt_as_a_page_copied_to_the_wrong_place_looks_like_one(tmp_path: Path) -> None:
    db = Database(tmp_path / "x.db", durable=False)
    schema("one", "mem_2683966703c7").apply(db)
    with pytest.raises(IndexDamagedError, match="unknown step mem_2683966703c7"):
        schema("one").apply(db)


def test_a_private_folder_may_be_made_twice(tmp_path: Path) -> None:
    assert make_private_dir(tmp_path / "a") == make_private_dir(tmp_path / "a")


def test_what_is_written_unsynced_is_there_and_later_writes_are_synced_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryd.core.db.SYNCHRONOUS", {True: "FULL", False: "NORMAL"})  # The other tests don't wait for disks.
    db = Database(tmp_path / "x.db")
    db.execute("CREATE TABLE t (n)")
    with pytest.raises(StoreError), db.unsynced():
        assert db.value("PRAGMA synchronous") == 1
        db.execute("INSERT INTO t VALUES (1)")
        db.execute("no sql")
    assert db.value("PRAGMA synchronous") == 2
    with db.transaction(), db.unsynced():
        db.execute("INSERT INTO t VALUES (2)")
    assert db.execute("SELECT n FROM t") == [(1,), (2,)]
    db.close()
