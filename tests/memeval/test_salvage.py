"""A damaged run.db: recoverable rows are kept, and the rest is run again."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memeval.core.errors import RunError
from memeval.core.types import Phase
from memeval.results.salvage import damage, read, salvage
from memeval.results.store import STEPS, Key, QuestionRow, Record, RunStore, Status, migrate
from tests.memeval.conftest import Invoke

QUESTIONS = 120
PAGE = 4096


def filled(path: Path) -> tuple[dict[int, QuestionRow], dict[Key, Record]]:
    """Fill a run with small rows and rows of several pages, some of which are deleted again."""
    rows = {n: QuestionRow(n, f"case{n // 10}", f"q{n}", {"text": "word " * (n % 7 * 40), "n": n}) for n in range(QUESTIONS)}
    records = {}
    for n in range(QUESTIONS):
        for phase in (Phase.SEARCH, Phase.ANSWER, Phase.EVALUATE):
            size = 3000 if n % 9 == 0 and phase is Phase.SEARCH else n % 50
            record = Record(
                Key(phase, f"case{n // 10}", f"q{n}"), Status.DONE, {"pieces": ["é" * size, n, None]}, "", n / 7, f"t{n:04}"
            )
            records[record.key] = record
    with RunStore(path, create=True) as store, store.transaction():
        store.set_meta("settings", {"benchmark": "b"})
        store.set_meta("plan", {"data_hash": "h"})
        store.set_meta("chosen", QUESTIONS)
        store.add_questions(rows.values())
        for record in records.values():
            store.put(record)
    with RunStore(path) as store:
        for n in range(0, QUESTIONS, 5):
            gone = Key(Phase.EVALUATE, f"case{n // 10}", f"q{n}")
            store.delete_one(gone)
            del records[gone]
    return rows, records


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[int, QuestionRow], dict[Key, Record]]:
    path = tmp_path_factory.mktemp("run") / "run.db"
    rows, records = filled(path)
    return path.read_bytes(), rows, records


Whole = tuple[bytes, dict[int, QuestionRow], dict[Key, Record]]


def damaged(folder: Path, data: bytes) -> Path:
    path = folder / "run.db"
    path.write_bytes(data)
    return path


def test_a_sound_file_is_left_alone_and_reads_the_same_by_its_pages(tmp_path: Path, whole: Whole) -> None:
    data, rows, records = whole
    path = damaged(tmp_path, data)
    assert damage(path) == ""
    found = read(path)
    assert (found.questions, found.records, found.sure) == (rows, records, True)
    assert found.meta == {"settings": {"benchmark": "b"}, "plan": {"data_hash": "h"}, "chosen": QUESTIONS}


def test_whatever_page_is_overwritten_the_rows_of_the_others_are_read(tmp_path: Path, whole: Whole) -> None:
    data, rows, records = whole
    junk = random.Random(3).randbytes(PAGE)
    for start in range(PAGE, len(data), PAGE):
        path = damaged(tmp_path, data[:start] + junk + data[start + PAGE :])
        found = read(path)
        assert found.questions.items() <= rows.items()
        assert found.records.items() <= records.items()
        assert len(found.questions) + len(found.records) > 0.8 * (len(rows) + len(records))


def test_without_the_first_page_all_but_the_judgements_is_taken_over(tmp_path: Path, whole: Whole) -> None:
    data, rows, records = whole
    path = damaged(tmp_path, bytes(PAGE) + data[PAGE:])
    assert damage(path)
    found = salvage(path)
    assert found.questions == len(rows)
    with RunStore(path) as store:
        assert store.questions() == [rows[n] for n in sorted(rows)]
        for phase in (Phase.SEARCH, Phase.ANSWER):
            assert {record.key: record for record in store.records(phase)} == {
                k: r for k, r in records.items() if k.phase is phase
            }
        assert store.keys(Phase.EVALUATE) == [], "deleted rows are indistinguishable there"
    assert found.kept.read_bytes() == bytes(PAGE) + data[PAGE:]
    assert damage(path) == ""


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 0.95])
def test_a_file_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path, whole: Whole, share: float) -> None:
    data, rows, records = whole
    path = damaged(tmp_path, data[: int(len(data) * share)])
    assert damage(path)
    found = read(path)
    assert found.records.items() <= records.items()
    assert found.questions.items() <= rows.items()
    if share == 0.95:
        assert len(found.records) > 0.7 * len(records)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=40))
def test_flipped_bytes_never_end_in_anything_but_a_run_or_a_named_error(whole: Whole, flips: list[tuple[float, int]]) -> None:
    data = bytearray(whole[0])
    for place, value in flips:
        data[int(place * len(data))] = value
    with tempfile.TemporaryDirectory() as folder:
        path = damaged(Path(folder), bytes(data))
        if not damage(path):
            return
        try:
            salvage(path)
        except RunError as error:
            assert "settings can't be read" in str(error)
            return
        with RunStore(path) as store:
            assert store.meta("settings") is not None
            assert damage(path) == ""


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_a_single_changed_byte_never_gives_a_row_that_was_not_written(whole: Whole, place: float, change: int) -> None:
    data, rows, records = bytearray(whole[0]), whole[1], whole[2]
    data[int(place * len(data))] ^= change
    with tempfile.TemporaryDirectory() as folder:
        path = damaged(Path(folder), bytes(data))
        found = read(path)
        assert found.questions.items() <= rows.items()
        if found.sure:
            assert found.records.items() <= records.items()
        if len(found.records) < len(records):
            assert damage(path)


def test_a_changed_letter_within_a_text_is_noticed(tmp_path: Path, whole: Whole) -> None:
    data = bytearray(whole[0])
    data[data.index(b"word word")] = ord("W")
    path = damaged(tmp_path, bytes(data))
    assert "has changed since it was written" in damage(path)
    assert len(read(path).questions) == QUESTIONS - 1


def test_a_file_of_before_the_checksums_is_read_and_converted(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    db = sqlite3.connect(path, isolation_level=None)
    migrate(db, "old", STEPS[:1])
    db.execute("INSERT INTO meta VALUES ('settings', '{}')")
    db.execute("INSERT INTO records VALUES ('search', 'c', 'q', '', 'done', '{}', '', 1.0, 't')")
    db.close()
    assert damage(path) == ""
    assert read(path).records.keys() == {Key(Phase.SEARCH, "c", "q")}
    with RunStore(path) as store:
        store.put(Record(Key(Phase.SEARCH, "c", "p"), Status.DONE))
        assert store.keys(Phase.SEARCH) == [Key(Phase.SEARCH, "c", "p"), Key(Phase.SEARCH, "c", "q")]
    assert damage(path) == ""


def test_lost_questions_are_chosen_again(tmp_path: Path, whole: Whole) -> None:
    data, rows, _ = whole
    for start in range(PAGE, len(data), PAGE):
        path = damaged(tmp_path, data[:start] + bytes(PAGE) + data[start + PAGE :])
        found = read(path)
        if len(found.questions) < len(rows) and "settings" in found.meta:
            salvage(path)
            with RunStore(path) as store:
                assert store.meta("plan") is None
                assert store.questions() == []
                assert store.meta("planned_for") == "h"
            return
    raise AssertionError("no page held questions")


def test_writes_that_are_still_in_the_log_are_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "live" / "run.db"
    filled(path)
    store = RunStore(path)
    store.put(Record(Key(Phase.INGEST, "case1"), Status.DONE, {"late": True}))
    for file in path.parent.iterdir():
        shutil.copyfile(file, tmp_path / file.name)
    store.close()
    copy = tmp_path / "run.db"
    assert (tmp_path / "run.db-wal").stat().st_size
    assert read(copy).records[Key(Phase.INGEST, "case1")].payload == {"late": True}


@pytest.fixture
def finished(memeval: Invoke, folder: Path) -> Callable[[], dict[str, Any]]:
    """Return a function that finishes a run `r` and returns its result."""

    def result() -> dict[str, Any]:
        import json

        return dict(json.loads(next((folder / "results").rglob("*.json")).read_text("utf-8")))

    done = memeval(
        "eval",
        "--benchmarks",
        "sample",
        "--providers",
        "bm25",
        "--answering-model",
        "extractive",
        "--judge",
        "f1",
        "--run-id",
        "r",
    )
    assert done.exit_code == 0, done.output
    return result


@pytest.mark.slow
def test_a_damaged_run_is_resumed_and_ends_with_the_same_numbers(
    memeval: Invoke, folder: Path, finished: Callable[[], dict[str, Any]]
) -> None:
    before = finished()["metrics"]
    (path,) = folder.rglob("run.db")
    sqlite3.connect(path).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    data = path.read_bytes()
    rows = read(path)
    for start in range(PAGE, len(data), PAGE):
        path.write_bytes(data[:start] + bytes(PAGE) + data[start + PAGE :])
        left = read(path)
        if "settings" in left.meta and len(left.records) < len(rows.records):
            break
    for broken in (path.read_bytes(), bytes(PAGE) + data[PAGE:]):
        path.write_bytes(broken)
        done = memeval("eval", "--resume", path.parent.name)
        assert done.exit_code == 0, done.output
        assert "run.db was damaged" in done.output
        assert finished()["metrics"] == before
