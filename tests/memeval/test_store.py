from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from memeval.cli.app import build
from memeval.core.errors import RunError
from memeval.core.types import Phase, Question, QuestionType, Retrieved
from memeval.results import codec
from memeval.results.files import ResultsDir
from memeval.results.store import STEPS, Key, QuestionRow, Record, RunStore, Status, migrate


def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "run.db", create=True)


def test_a_record_is_there_after_opening_again(tmp_path: Path) -> None:
    record = Record(Key(Phase.SEARCH, "c", "q"), Status.DONE, {"a": [1, None, "é"]}, "", 0.5, "2024-01-01T00:00:00Z")
    with store(tmp_path) as db:
        db.put(record)
    with RunStore(tmp_path / "run.db") as db:
        assert db.get(record.key) == record
        assert list(db.records(Phase.SEARCH)) == [record]
        assert db.counts() == {"search": {"done": 1}}


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with store(tmp_path) as db:
        with pytest.raises(RuntimeError), db.transaction():
            db.set_meta("a", 1)
            db.put(Record(Key(Phase.INGEST, "c"), Status.DONE))
            raise RuntimeError
        assert db.meta("a") is None
        assert db.counts() == {}


def test_batches_are_not_counted_as_cases(tmp_path: Path) -> None:
    with store(tmp_path) as db:
        db.put(Record(Key(Phase.INGEST, "c", part="000001"), Status.DONE))
        assert db.counts() == {}
        db.delete_one(Key(Phase.INGEST, "c"))
        assert db.keys(Phase.INGEST) == []


def test_questions_keep_their_order_and_are_unique(tmp_path: Path) -> None:
    with store(tmp_path) as db:
        db.add_questions([QuestionRow(7, "b", "q", {"x": 1}), QuestionRow(3, "a", "q", {})])
        assert [row.position for row in db.questions()] == [3, 7]
        with pytest.raises(sqlite3.IntegrityError):
            db.add_questions([QuestionRow(9, "a", "q", {})])


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    store(tmp_path).close()
    db = sqlite3.connect(tmp_path / "run.db")
    db.execute("INSERT INTO _migrations (name) VALUES ('m999_future')")
    db.commit()
    db.close()
    with pytest.raises(RunError, match="m999_future"):
        RunStore(tmp_path / "run.db")


def test_a_step_that_fails_is_rolled_back_and_tried_again(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "x.db", isolation_level=None)

    def m002_broken(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE half (x)")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        migrate(db, "x", (*STEPS, m002_broken))
    assert not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'half'").fetchall()
    assert migrate(db, "x", STEPS) == []


def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.db").write_text("no database at all, but some text that is long enough to be looked at" * 20)
    with pytest.raises(RunError, match="not the database of a run"):
        RunStore(tmp_path / "run.db")
    with pytest.raises(RunError, match="There is no run"):
        RunStore(tmp_path / "none" / "run.db")


@given(st.text(max_size=20), st.lists(st.text(max_size=5), max_size=3), st.sampled_from(list(QuestionType)))
def test_questions_and_pieces_survive_json(text: str, names: list[str], kind: QuestionType) -> None:
    at = datetime(2024, 2, 29, 12, tzinfo=UTC)
    question = Question("q", text, kind, tuple(names), at, tuple(names), (), text, {"a": names})
    assert codec.question_from_json(codec.question_to_json(question)) == question
    piece = Retrieved(text, 0.25, tuple(names), (), at, {"b": 1})
    assert codec.retrieved_from_json(codec.retrieved_to_json(piece)) == piece


def older(folder: Path) -> Path:
    """Create a run.db as created by an older memeval, before rows had checksums."""
    folder.mkdir(parents=True)
    db = sqlite3.connect(folder / "run.db", isolation_level=None)
    migrate(db, "run.db", STEPS[:1])
    db.execute("INSERT INTO meta VALUES ('provenance', '{\"memeval_version\": \"0.0.1\"}'), ('settings', '{}')")
    db.execute("INSERT INTO questions VALUES (1, 'c1', 'q1', '{}')")
    db.execute("INSERT INTO records VALUES ('search', 'c1', 'q1', '', 'done', '{}', '', 0.5, '2024-01-01T00:00:00Z')")
    db.close()
    return folder / "run.db"


def test_a_run_of_an_older_version_is_read_without_migrating_it(tmp_path: Path) -> None:
    path = older(tmp_path / "runs" / "old")
    before = path.read_bytes()
    with ResultsDir(tmp_path).open("old") as store:
        assert store.outdated == "m002_sums"
        assert store.counts() == {"search": {"done": 1}} and store.newest(5) == [Key(Phase.SEARCH, "c1", "q1")]
    said = CliRunner().invoke(build(), ["--results-dir", str(tmp_path), "status"])
    assert said.exit_code == 0 and "old" in said.stdout
    assert "older memeval (0.0.1)" in said.stderr and "eval --resume old" in said.stderr
    assert path.read_bytes() == before


def test_a_run_of_a_newer_version_is_refused_for_reading_with_what_to_do(tmp_path: Path) -> None:
    path = older(tmp_path / "runs" / "new")
    db = sqlite3.connect(path)
    db.execute("INSERT INTO _migrations (name) VALUES ('m999_later')")
    db.commit()
    db.close()
    with pytest.raises(RunError, match="newer version of memeval") as error:
        ResultsDir(tmp_path).open("new")
    assert error.value.fix == "Update memeval."
    said = CliRunner().invoke(build(), ["--results-dir", str(tmp_path), "status"])
    assert "newer version of memeval" in said.stderr and "Update memeval." in said.stderr


def test_a_killed_runner_leaves_a_run_that_can_be_read_without_writing(tmp_path: Path) -> None:
    made = RunStore(tmp_path / "runs" / "killed" / "run.db", create=True)
    made.set_meta("settings", {"benchmark": "sample"})
    copy = tmp_path / "copy" / "runs" / "killed"
    copy.mkdir(parents=True)
    for name in ("run.db", "run.db-wal"):  # As after kill -9: rows are only in the WAL.
        (copy / name).write_bytes((made.path.parent / name).read_bytes())
    made.close()
    before = (copy / "run.db").read_bytes()
    with ResultsDir(tmp_path / "copy").open("killed") as store:
        assert store.meta("settings") == {"benchmark": "sample"}
    assert (copy / "run.db").read_bytes() == before
