"""The full-text tables are grouped by project: moves between projects, and older indexes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from memoryd.core.db import Database
from memoryd.core.text import words
from memoryd.core.types import MemoryItem, Query, Scope
from memoryd.stores.fulltext import CREATE_FULL_TEXT, ROW, TABLES, VERSIONS_WITHOUT_SHELVES, FullTextIndex, index_text, searchable
from memoryd.stores.markdown import MarkdownStore
from memoryd.stores.rows import from_payload
from tests.memoryd.stores.markdown_samples import an_id, an_item, ids, open_store

WORDS = "redis pnpm docker cache port staging login worker nginx kafka deploy friday".split()


def rows_of(store: MarkdownStore) -> list[int]:
    db = Database(store._paths.index / "literal.db")
    found = db.execute("SELECT id FROM words_docsize ORDER BY id")
    db.close()
    return [row for (row,) in found]


def a_mixture(count: int, seed: int) -> list[MemoryItem]:
    chance = random.Random(seed)
    return [
        an_item(
            number,
            " ".join(chance.choices(WORDS, k=6)) + f" frobnicator{number % 3}",
            project=f"p{chance.randint(0, 4)}",
            scope=Scope.USER if chance.random() < 0.1 else Scope.PROJECT,
        )
        for number in range(1, count + 1)
    ]


def test_the_texts_of_a_project_stand_side_by_side(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(number, project=f"p{number % 3}") for number in range(1, 31)])
    store.write_many([an_item(number, project=f"p{number % 3}") for number in range(31, 61)])
    places = rows_of(store)
    assert len(places) == 60 and len({place >> 32 for place in places}) == 3
    assert sorted(place & ROW for place in places) == list(range(1, 61))


@pytest.mark.parametrize("changes", [{"project": "other"}, {"scope": Scope.USER}, {"scope": Scope.TEAM, "project": "other"}])
def test_a_memory_that_changes_its_project_is_found_in_the_new_one_alone(tmp_path: Path, changes: dict[str, str]) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(1), an_item(2)])
    store.write(an_item(1, **changes))
    assert ids(store, "redis", project="other") == ids(store, "edi redi", project="other") == [an_id(1)]
    assert ids(store, "redis", project="app") == ([an_id(1), an_id(2)] if changes.get("scope") is Scope.USER else [an_id(2)])
    assert len(rows_of(store)) == 2


def test_one_batch_may_move_a_memory_twice(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(1, project="a"), an_item(2, project="a"), an_item(1, project="b"), an_item(1, project="c")])
    assert [ids(store, "redis", project=name) for name in "abc"] == [[an_id(2)], [], [an_id(1)]]
    assert len(rows_of(store)) == 2


def test_what_is_deleted_leaves_no_text_behind(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(1), an_item(2, scope=Scope.USER)])
    store.delete(an_id(1))
    store.delete(an_id(2))
    assert rows_of(store) == []
    assert ids(store, "edi redi") == []


def runs_in(store: MarkdownStore) -> set[str]:
    db = Database(store._paths.index / "literal.db")
    found = db.execute("SELECT run FROM runs")
    assert len(db.execute("SELECT id FROM grams_docsize")) == len(found)
    db.close()
    return {run for (run,) in found}


@pytest.mark.parametrize("by", ["deletion", "edit", "move"])
def test_a_word_goes_with_the_last_text_that_has_it(tmp_path: Path, by: str) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(1, "The token is xyzzy12345 here"), an_item(2, "Nobody token knows")])
    assert runs_in(store) == {"token", "xyzzy12345", "nobody", "knows"}
    if by == "deletion":
        store.delete(an_id(1))
    else:
        store.write(an_item(1, "Nobody else", project="app" if by == "edit" else "other"))
    assert runs_in(store) == {"token", "nobody", "knows"}
    assert ids(store, "oken") == [an_id(2)] and ids(store, "xyzzy1") == []


def test_a_shelf_whose_transaction_failed_is_made_again(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1, project="a"))
    index = store._open()
    with pytest.raises(ZeroDivisionError), index.db.transaction():
        index.put([])
        index.db.execute("INSERT INTO shelves (project) VALUES ('b')")
        raise ZeroDivisionError
    store.write_many([an_item(2, project="c"), an_item(3, project="b")])
    assert [ids(store, "redis", project=name) for name in "abc"] == [[an_id(1)], [an_id(3)], [an_id(2)]]


def unshelve(path: Path) -> None:
    """Convert the index to the older format, with texts in the order of the memories."""
    db = Database(path)
    items = db.execute("SELECT rowid, payload FROM memory")
    for table in sorted(TABLES, reverse=True):
        db.execute(f"DROP TABLE {table}")
    for statement in CREATE_FULL_TEXT:
        if "shelves" not in statement and "runs" not in statement and "grams" not in statement:
            db.execute(statement)
    db.execute("CREATE VIRTUAL TABLE grams USING fts5(body, content='', contentless_delete=1, tokenize='trigram', detail=none)")
    for row, payload in items:
        text = searchable(from_payload(payload))
        db.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (row, index_text(text)))
        db.execute("INSERT INTO grams (rowid, body) VALUES (?, ?)", (row, text.casefold()))
    db.execute(f"PRAGMA user_version={VERSIONS_WITHOUT_SHELVES[0]}")
    db.close()


def test_an_index_of_before_is_taken_over_with_the_same_answers(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many(a_mixture(120, 1))
    queries = [Query(text, project=project) for text in ("redis cache", "robnicator2 login") for project in (None, "p1", "p9")]
    before = [store.scores(query, 200) for query in queries]
    places = rows_of(store)
    store.close()
    unshelve(tmp_path / "index" / "literal.db")
    for path in (tmp_path / "memories").rglob("*.md"):
        path.unlink()  # The files are not queried.
    opened = FullTextIndex(tmp_path / "index" / "literal.db")
    assert [opened.scores(query, 200) for query in queries] == before
    assert all(before[:2]) and opened.size() == 120
    opened.close()
    assert len(rows_of(store)) == len(places)


def test_what_has_a_word_inside_is_what_a_look_at_every_text_finds(tmp_path: Path) -> None:
    chance, store = random.Random(8), open_store(tmp_path)
    texts = ["".join(chance.choices("abcde\u65e5-_. \u00e9AB1", k=chance.randint(5, 40))) for _ in range(150)]
    store.write_many([an_item(number, f"x {text}", project=f"p{number % 2}") for number, text in enumerate(texts, 1)])
    held = {item.id: (item.project, searchable(item).casefold()) for item in store.all()}
    found = 0
    for _ in range(300):
        word = "".join(chance.choices("abcde\u00e91", k=4))
        if store.document_frequency(word) == 0 and words(word) == [word]:
            for project in (None, "p0", "p1"):
                holding = [id for id, (of, text) in held.items() if project in (None, of) and word in text]
                assert sorted(ids(store, word, project=project)) == holding
                found += len(holding)
    assert found > 30
