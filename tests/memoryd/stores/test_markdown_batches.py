"""Batches of items: their files are staged and synced together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memoryd.core import files as durable
from memoryd.core.errors import StoreError
from memoryd.core.files import TEMPORARY_PREFIX, staged
from memoryd.stores import markdown
from tests.memoryd.stores.markdown_samples import an_id, an_item, files, ids, open_store, put_file


def temporaries(folder: Path) -> list[Path]:
    return list(folder.rglob(f"{TEMPORARY_PREFIX}*"))


def test_a_batch_of_new_and_changed_items_is_written_in_order(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(n) for n in range(1, 4)])
    batch = [an_item(2, "changed"), an_item(0, "new"), an_item(3, "moved", session="s2"), an_item(2, "changed again")]
    written = store.write_many(batch)
    assert [written[0], written[2], written[3]] == [an_id(2), an_id(3), an_id(2)]
    assert [store.get(id).content for id in (an_id(2), written[1], an_id(3))] == ["changed again", "new", "moved"]
    assert open_store(tmp_path).sync().changed == ()
    assert temporaries(tmp_path) == []


def test_more_items_than_are_staged_together_all_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.stores.markdown.STAGED", 3)
    store = open_store(tmp_path)
    written = store.write_many([an_item(0, f"number {n}") for n in range(8)])
    assert len(set(written)) == 8
    assert {item.content for item in store.all()} == {f"number {n}" for n in range(8)}


def test_an_edit_made_while_a_batch_is_staged_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(n) for n in (1, 2)])
    path = store.path_of(an_id(1))
    assert path is not None
    real = markdown.staged  # type: ignore[attr-defined]

    def staged_while_edited(wanted: Any) -> Any:
        path.write_bytes(path.read_bytes().replace(b"redis", b"memory"))
        return real(wanted)

    monkeypatch.setattr(markdown, "staged", staged_while_edited)
    store.write_many([replace(an_item(n), confidence=0.4) for n in (1, 2)])
    found = store.get(an_id(1))
    assert found is not None
    assert (found.content, found.confidence) == ("The cache lives in memory.", 0.4)


def test_a_full_disk_stops_at_the_item_that_did_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    real = durable._write_temporary

    def full(target: Path, data: bytes) -> Path:
        if b"third" in data:
            raise OSError(28, "No space left on device")
        return real(target, data)

    monkeypatch.setattr(durable, "_write_temporary", full)
    with pytest.raises(StoreError, match="No space left"):
        store.write_many([an_item(n, text) for n, text in enumerate(("first", "second", "third", "fourth"), 1)])
    assert ids(store, "first") + ids(store, "second") == [an_id(1), an_id(2)]
    assert len(files(tmp_path / "memories")) == 2
    assert temporaries(tmp_path) == []


def test_a_broken_file_stops_a_batch_but_loses_nothing_before_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(n) for n in (1, 2, 3)])
    path = store.path_of(an_id(2))
    assert path is not None
    path.write_bytes(b"---\nid: [\n")
    with pytest.raises(StoreError):
        store.write_many([an_item(n, f"changed {n}") for n in (1, 2, 3)])
    assert store.get(an_id(1)) == an_item(1, "changed 1")
    assert store.get(an_id(3)) == an_item(3)


def test_a_name_that_is_taken_while_staged_is_not_overwritten(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(9, "so that the folder is there"))
    theirs = put_file(tmp_path, f"project-app/manual/the-cache-lives-in-redis-{an_id(1)}.md", "not ours\n")
    store.write_many([an_item(2)])
    with pytest.raises(StoreError):
        store.write_many([an_item(1), an_item(3)])
    assert theirs.read_text() == "not ours\n"


def test_staged_files_that_nobody_takes_are_removed(tmp_path: Path) -> None:
    with staged([(tmp_path / "a", b"1"), (tmp_path / "b", b"2")]) as ready:
        assert [path.read_bytes() for path in ready if path] == [b"1", b"2"]
        durable.write_atomic(tmp_path / "a", b"1", ready=ready[0])
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
