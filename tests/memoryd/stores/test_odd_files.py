"""An invalid memory file affects only itself: it is reported, and the other files are read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.core.types import Query
from memoryd.stores.markdown import MarkdownStore
from memoryd.stores.sync import remove_stale_temporaries
from tests.deep_folders import deep_folders
from tests.memoryd.stores.markdown_samples import open_store


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.with_suffix(".md").write_text(content, "utf-8")  # type: ignore[return-value]


def pipe(path: Path) -> None:
    os.mkfifo(path.with_suffix(".md"))


def device(path: Path) -> None:
    path.with_suffix(".md").symlink_to("/dev/zero")


def link_out(path: Path) -> None:
    outside = path.parents[2] / "outside.md"
    outside.write_text("A secret of another place.")
    path.with_suffix(".md").symlink_to(outside)


def linked_folder(path: Path) -> None:
    outside = path.parents[2] / "elsewhere"
    outside.mkdir()
    (outside / "note.md").write_text("A secret of another place.")
    path.symlink_to(outside)


def no_utf8_name(path: Path) -> None:
    (path.parent / os.fsdecode(b"odd-\xff.md")).write_text("Its name is no text.")


def huge(path: Path) -> None:
    with path.with_suffix(".md").open("wb") as stream:
        stream.truncate(600_000_000)


MANY = 50_000
ODD = {
    "a number of 50,000 digits": text(f"---\nconfidence: 0x{'f' * MANY}\n---\nbody\n"),
    "a decimal number of 50,000 digits": text(f"---\nconfidence: {'9' * MANY}\n---\nbody\n"),
    "a number of base 60": text(f"---\nconfidence: 1{':59' * MANY}\n---\nbody\n"),
    "a number as a kind": text(f"---\nid: mem_00000000000a\nkind: 0x{'f' * 900}\n---\nbody\n"),
    "nested lists": text(f"---\nid: mem_00000000000a\ntags: {'[' * MANY}\n---\nbody\n"),
    "an alias bomb": text(
        "---\nid: mem_00000000000a\na: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a, *a, *a]\n" for n in range(9)) + "---\nbody\n"
    ),
    "no text": lambda path: path.with_suffix(".md").write_bytes(b"\xff\xfe\x00"),
    "a year that is none": text("---\nid: mem_00000000000a\ncreated_at: 99999-01-01\n---\nbody\n"),
    "a pipe": pipe,
    "a device": device,
    "a link out of the vault": link_out,
    "a linked folder": linked_folder,
    "a name that is no text": no_utf8_name,
    "600 MB": huge,
}


def contents(store: MarkdownStore) -> list[str]:
    return sorted(hit.item.content for hit in store.search(Query(), 50))


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_file_is_named_and_the_note_beside_it_is_taken_in(tmp_path: Path, odd: str) -> None:
    store = open_store(tmp_path)
    store.sync()
    folder = tmp_path / "memories" / "user"
    folder.mkdir(parents=True, exist_ok=True)
    ODD[odd](folder / "odd")
    (folder / "good.md").write_text("A good note by hand.")
    report = store.sync()
    assert contents(store) == ["A good note by hand."]
    (broken,) = report.broken
    assert "odd" in broken.message
    assert "\n" not in broken.message
    assert [error.message for error in store.broken()] == [broken.message]
    assert store.sync().changed == ()
    for path in folder.iterdir():
        if "odd" in path.name:
            path.unlink()
    assert store.sync().broken == ()
    store.close()


@pytest.mark.parametrize("odd", ["a pipe", "a link out of the vault", "a linked folder", "a number of 50,000 digits"])
def test_the_watcher_is_notified_of_the_odd_file_itself(tmp_path: Path, odd: str) -> None:
    store = open_store(tmp_path)
    store.sync()
    folder = tmp_path / "memories" / "user"
    folder.mkdir(parents=True, exist_ok=True)
    ODD[odd](folder / "odd")
    changed = [*folder.iterdir(), *(folder / "odd" / name for name in ["note.md"] if (folder / "odd").is_dir())]
    store.sync(changed)
    assert contents(store) == []
    assert len(store.broken()) == 1
    store.close()


def test_a_note_beside_any_number_of_folders_in_folders_is_taken_in(tmp_path: Path) -> None:
    folder = tmp_path / "memories"
    folder.mkdir()
    store = open_store(tmp_path)
    with deep_folders(folder):
        (folder / "good.md").write_text("A good note by hand.")
        store.sync()
        assert contents(store) == ["A good note by hand."]
        store.close()
        assert remove_stale_temporaries(folder, time.time()) == 0
        reopened = open_store(tmp_path)
        assert reopened.sync().changed == ()
        reopened.close()


def test_a_note_with_a_line_break_in_its_name_is_a_note(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    folder = tmp_path / "memories" / "user"
    folder.mkdir(parents=True)
    (folder / "two\nlines.md").write_text("A note of two lines.")
    (folder / "bad\nlines.md").write_bytes(b"\xff")
    (broken,) = store.sync().broken
    assert contents(store) == ["A note of two lines."]
    assert "bad\\nlines.md" in broken.message
    store.close()


def test_a_link_within_the_vault_is_followed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    folder = tmp_path / "memories" / "user"
    folder.mkdir(parents=True)
    (folder / "note.txt").write_text("Linked from its neighbour.")
    (folder / "link.md").symlink_to(folder / "note.txt")
    assert store.sync().broken == ()
    assert contents(store) == ["Linked from its neighbour."]
    store.close()


def test_a_note_with_a_number_that_cannot_be_shown_is_left_alone_by_edits(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    folder = tmp_path / "memories" / "user"
    folder.mkdir(parents=True)
    (folder / "note.md").write_text(f"---\nforeign: 0x{'f' * 900}\n---\nA note.\n")
    store.sync()
    (hit,) = store.search(Query(), 5)
    assert hit.item.content == "A note."
    store.close()


def test_a_foreign_note_whose_front_matter_is_not_yaml_is_found_and_named(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    folder = tmp_path / "memories" / "user"
    folder.mkdir(parents=True)
    note = folder / "note.md"
    note.write_text("---\ntitle: a: b\n---\nA note of another tool.\n")
    (warning,) = store.sync().broken
    assert contents(store) == ["A note of another tool."]
    assert "note.md:2: the front matter is not YAML" in warning.message and "its text is indexed" in warning.message
    assert [error.message for error in store.sync().broken] == [warning.message]
    note.write_text("---\ntitle: b\n---\nA note of another tool.\n")
    assert store.sync().broken == ()
    assert contents(store) == ["A note of another tool."]
    store.close()


@pytest.mark.parametrize(
    ("data", "advice"),
    [(b"\xff\xfeA note", "UTF-8"), (b"x" * 1_000_001, "smaller files"), (b"---\nid: mem_00000000000a\n---\n", "text")],
)
def test_the_advice_for_a_file_that_cannot_be_read_fits_its_fault(tmp_path: Path, data: bytes, advice: str) -> None:
    store = open_store(tmp_path)
    folder = tmp_path / "memories" / "user"
    folder.mkdir(parents=True)
    (folder / "odd.md").write_bytes(data)
    store.sync()
    (broken,) = store.broken()
    assert advice in broken.fix and "front matter in an editor" not in broken.fix
    store.close()
