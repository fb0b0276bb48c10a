"""All filters use the index for browsing, which is added to an older index file when it is opened."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoryd.core.db import Database
from memoryd.core.types import Kind, Query, Scope, Source, Status
from memoryd.stores.fulltext import FullTextIndex

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUERIES = [
    Query(statuses=()),
    Query(now=NOW),
    Query(project="shop", scopes=(Scope.PROJECT,), kinds=(Kind.RULE,), session="s", tags=("a", "b")),
    Query(sources=(Source.USER, Source.TOOL), statuses=tuple(Status)),
    Query(as_of=NOW, valid_at=NOW, created_after=NOW, created_before=NOW),
]


@pytest.mark.parametrize("query", QUERIES)
def test_no_filter_reads_the_rows(tmp_path: Path, query: Query) -> None:
    from memoryd.stores import rows

    index = FullTextIndex(tmp_path / "literal.db")
    condition, parameters = rows.where(query)
    plan = index.db.execute(
        f"EXPLAIN QUERY PLAN SELECT count(*) FROM memory INDEXED BY memory_browse WHERE {condition}", parameters
    )
    assert "USING COVERING INDEX memory_browse" in plan[0][3]
    index.close()


def test_an_index_file_of_before_gets_it_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "literal.db"
    FullTextIndex(path).close()
    with_out = Database(path, durable=False)
    with_out.execute("DROP INDEX memory_browse")
    with_out.close()
    index = FullTextIndex(path)
    assert index.count(Query()) == 0
    index.close()
