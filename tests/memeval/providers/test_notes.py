from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memeval.core.errors import DependencyError, ProviderError
from memeval.core.types import SearchRequest
from memeval.providers.local import Notes, postgres_notes, sqlite_notes
from tests.memeval.providers.material import EMBEDDING, garden, make


class Postgres:
    """A connection that accepts psycopg's placeholders, on SQLite."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path)

    def __enter__(self) -> Postgres:
        return self

    def __exit__(self, *args: object) -> None:
        self.db.close()

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        assert "?" not in statement
        return self.db.execute(statement.replace("%s", "?"), values)

    def commit(self) -> None:
        self.db.commit()


@pytest.fixture
def dsn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    fake = SimpleNamespace(connect=lambda dsn: Postgres(tmp_path / "pg.db"), Error=sqlite3.Error)
    monkeypatch.setitem(sys.modules, "psycopg", fake)
    yield "postgresql://localhost/memeval"


@pytest.fixture(params=["sqlite", "postgres"])
def notes(request: pytest.FixtureRequest, tmp_path: Path, dsn: str) -> Notes:
    return sqlite_notes(lambda scope: tmp_path / scope) if request.param == "sqlite" else postgres_notes(dsn)


def test_notes_are_kept_by_scope_and_key(notes: Notes) -> None:
    notes.put("one", {"a": ["x"], "b": {"c": 1}})
    notes.put("one", {"a": ["y"]})
    notes.put("two", {"a": "other"})
    assert notes.get("one") == {"a": ["y"], "b": {"c": 1}}
    notes.clear("one")
    assert notes.get("one") == {}
    assert notes.get("two") == {"a": "other"}


def test_a_database_that_cannot_be_used_is_a_provider_error(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "notes.db").write_bytes(b"no database at all, but long enough to be looked at" * 100)
    with pytest.raises(ProviderError, match="Notes"):
        sqlite_notes(lambda scope: tmp_path / scope).get("one")


def test_postgres_without_psycopg_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DependencyError, match=r"memoryd\[postgres\]"):
        postgres_notes("postgresql://localhost/x")


def test_anticipated_questions_go_to_postgres_when_it_is_given(tmp_path: Path, dsn: str) -> None:
    provider = make("aqrag", {**EMBEDDING, "dsn": dsn})
    provider.open(tmp_path / "work")
    provider.ingest("one", garden())
    provider.await_indexed("one", 60)
    found = provider.search("one", SearchRequest("tomatoes garden", 3))
    with closing(sqlite3.connect(tmp_path / "pg.db")) as db:
        assert db.execute("SELECT count(*) FROM memeval_note WHERE scope = 'one'").fetchone() == (10,)
    assert found[0].sessions == ("s1",)
    provider.clear("one")
    assert postgres_notes(dsn).get("one") == {}
