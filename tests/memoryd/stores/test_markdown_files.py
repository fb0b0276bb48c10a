from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core import codec
from memoryd.core.errors import BrokenFileError, InputError, StoreError
from memoryd.core.types import Kind, MemoryItem, Scope, Source, Status, Trust
from memoryd.stores import layout
from tests.memoryd.stores.markdown_samples import a_file, an_id, an_item, files, ids, open_store, put_file


@pytest.mark.parametrize(
    ("values", "folder"),
    [
        ({}, "project-app/manual"),
        ({"scope": Scope.USER}, "user/manual"),
        ({"scope": Scope.TEAM, "session": "s-1"}, "team-app/s-1"),
        ({"project": "", "session": ""}, "project-none/none"),
    ],
)
def test_a_file_is_in_the_folder_of_its_scope_and_session(tmp_path: Path, values: dict[str, Any], folder: str) -> None:
    store = open_store(tmp_path)
    store.write(replace(an_item(1), **values))
    assert files(tmp_path / "memories") == [f"{folder}/the-cache-lives-in-redis-{an_id(1)}.md"]
    assert store.path_of(an_id(1)) == tmp_path / "memories" / folder / f"the-cache-lives-in-redis-{an_id(1)}.md"
    assert store.path_of(an_id(2)) is None


@given(
    st.text(max_size=300)
    | st.sampled_from(["..", "../../x", "con", "NUL.txt", "a\x00b", "/", "C:\\x", " ", "LPT1", ".hidden", "x."])
)
def test_no_name_leaves_its_folder_or_is_one_that_a_system_refuses(text: str) -> None:
    name = layout.safe_name(text)
    assert name
    assert name == name.strip(". ")
    assert not set(name) & set('/\\\0:*?"<>|\n')
    assert len(name) <= layout.MAX_NAME
    assert len(name.encode()) <= 210
    assert name.split(".")[0].lower() not in {"con", "nul", "prn", "aux", "com1", "lpt1"}
    assert Path("/a", name).parent == Path("/a")


@given(st.sets(st.text(max_size=100), min_size=2, max_size=5))
def test_different_texts_get_different_names(texts: set[str]) -> None:
    assert len({layout.safe_name(text) for text in texts}) == len(texts)


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_files_and_folders_are_the_users_alone(tmp_path: Path) -> None:
    store = open_store(tmp_path / "home")
    store.write(an_item(1))
    store.flush()
    for path in (tmp_path / "home").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_a_memory_whose_session_changes_moves_and_leaves_no_folder_behind(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1))
    store.write(an_item(1, scope=Scope.USER, session="s2"))
    assert files(tmp_path / "memories") == [f"user/s2/the-cache-lives-in-redis-{an_id(1)}.md"]
    assert not (tmp_path / "memories" / "project-app").exists()
    assert store.sync().changed == ()


def test_a_file_that_somebody_filed_elsewhere_stays_there(tmp_path: Path) -> None:
    put_file(tmp_path, "mine/kept here.md", a_file(1))
    store = open_store(tmp_path)
    item = store.get(an_id(1))
    assert item is not None
    store.write(replace(item, scope=Scope.PROJECT, project="app"))
    assert files(tmp_path / "memories") == ["mine/kept here.md"]
    assert store.get(an_id(1)) == replace(item, scope=Scope.PROJECT, project="app")


@pytest.mark.parametrize("id", ["x", "mem_", "../../mem_0123456789ab", "mem_0123456789AB", "mem_0123456789ab\n"])
def test_an_id_of_another_form_is_refused(tmp_path: Path, id: str) -> None:
    with pytest.raises(InputError, match="not a memory id"):
        open_store(tmp_path).write(MemoryItem("x", id))


def test_a_taken_id_is_never_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1, session="another session"))
    offered = iter([an_id(1), an_id(1), an_id(2)])
    monkeypatch.setattr(codec, "new_id", lambda: next(offered))
    assert store.write(an_item()) == an_id(2)
    assert len(list(store.all())) == 2


def test_write_many_gives_the_ids_in_order_and_the_last_of_one_id_wins(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    found = store.write_many([an_item(3, "a"), an_item(0, "b"), an_item(3, "c", session="s2"), an_item(1, "d")])
    assert [found[0], found[2], found[3]] == [an_id(3), an_id(3), an_id(1)]
    assert {id: item.content for id, item in store.fetch([an_id(3), found[1], "gone"]).items()} == {an_id(3): "c", found[1]: "b"}
    assert {item.content for item in store.all()} == {"b", "c", "d"}
    assert store.sync().changed == ()
    assert store.write_many([]) == []


def test_a_bad_item_in_a_batch_stops_it_before_anything_is_written(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with pytest.raises(InputError):
        store.write_many([an_item(1), an_item(2, "\ud800")])
    assert list(store.all()) == []


def test_what_was_written_before_a_failing_item_is_kept_and_found(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(2))
    path = store.path_of(an_id(2))
    assert path is not None
    path.write_bytes(b"---\nid: [\n---\n")
    with pytest.raises(BrokenFileError):
        store.write_many([an_item(1, "first"), an_item(2, "second"), an_item(3, "third")])
    assert ids(store, "first second third") == [an_id(1)]


def test_digests_follow_the_items_and_leave_out_backends(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1))
    before = store.digests()
    assert before == {an_id(1): codec.item_digest(an_item(1))}
    store.write(an_item(1, backends=("markdown",)))
    assert store.digests() == before
    store.write(an_item(1, pinned=True))
    assert store.digests() != before


# Files of other hands


def test_a_note_from_elsewhere_is_a_note_and_is_not_rewritten(tmp_path: Path) -> None:
    path = put_file(tmp_path, "Obsidian/Ideas/pnpm.md", "# pnpm\n\nfaster than npm")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    store = open_store(tmp_path)
    (item,) = store.sync().changed
    assert (item.kind, item.source, item.scope, item.project) == (Kind.NOTE, Source.NOTE, Scope.USER, "")
    assert item.content == "# pnpm\n\nfaster than npm"
    assert item.created_at.timestamp() == 1_700_000_000
    assert codec.is_id(item.id)
    assert item.id == layout.derived_id("Obsidian/Ideas/pnpm.md")
    store.write(item)
    assert path.read_text() == "# pnpm\n\nfaster than npm"
    assert ids(store, "faster") == [item.id]


def test_an_operation_that_must_change_a_foreign_note_pins_its_id_and_time(tmp_path: Path) -> None:
    path = put_file(tmp_path, "a.md", "Text")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    store = open_store(tmp_path)
    (item,) = store.all()
    store.write(replace(item, pinned=True))
    path.rename(path.with_name("b.md"))
    store.sync()
    assert list(store.all()) == [replace(item, pinned=True)]


@pytest.mark.parametrize(
    ("relative", "scope", "project", "session"),
    [
        ("project-app-1/s1/x.md", Scope.PROJECT, "app-1", "s1"),
        ("team-app/x.md", Scope.TEAM, "app", "manual"),
        ("project-none/s/deep/x.md", Scope.PROJECT, "", "s"),
        ("user/s1/x.md", Scope.USER, "", "s1"),
        ("project-/x.md", Scope.USER, "", "manual"),
        ("x.md", Scope.USER, "", "manual"),
    ],
)
def test_a_note_belongs_to_the_folder_it_is_in(tmp_path: Path, relative: str, scope: Scope, project: str, session: str) -> None:
    put_file(tmp_path, relative, "Text")
    (item,) = open_store(tmp_path).all()
    assert (item.scope, item.project, item.session) == (scope, project, session)


def test_what_is_not_a_memory_is_left_out(tmp_path: Path) -> None:
    for name in ("README.md", "user/readme.md", ".obsidian/a.md", ".a.md", ".trash/x.md", "user/.tmp-1.md", "a.txt", "image.png"):
        put_file(tmp_path, name, "Text")
    put_file(tmp_path, "yes.MD", "Text")
    assert [item.id for item in open_store(tmp_path).all()] == [layout.derived_id("yes.MD")]


def test_broken_files_are_reported_and_skipped_and_never_rewritten(tmp_path: Path) -> None:
    bad = put_file(tmp_path, "user/s/bad.md", a_file(1, more="kind: banana\n"))
    put_file(tmp_path, "user/s/good.md", a_file(2))
    put_file(tmp_path, "user/s/huge.md", "x" * 1_000_001)
    before = bad.read_bytes()
    store = open_store(tmp_path)
    report = store.sync()
    assert [item.id for item in report.changed] == [an_id(2)]
    assert [(Path(error.path).name, error.line) for error in report.broken] == [("bad.md", 4), ("huge.md", 1)]
    assert str(bad) in str(store.broken()[0])
    assert [str(error) for error in store.broken()] == [str(error) for error in report.broken]
    assert bad.read_bytes() == before


def test_a_memory_whose_file_breaks_is_gone_until_it_is_repaired(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1))
    path = store.path_of(an_id(1))
    assert path is not None
    good = path.read_bytes()
    path.write_bytes(good.replace(b"kind: note", b"kind: [note"))
    report = store.sync([path])
    assert report.removed == (an_id(1),)
    assert [error.line for error in report.broken] == [5]
    path.write_bytes(good)
    report = store.sync([path])
    assert [item.id for item in report.changed] == [an_id(1)]
    assert store.broken() == []


def test_a_write_over_a_file_that_just_broke_is_refused_and_keeps_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1))
    path = store.path_of(an_id(1))
    assert path is not None
    path.write_bytes(b"---\nid: [\n---\nhalf an edit")
    with pytest.raises(BrokenFileError):
        store.write(an_item(1, pinned=True))
    assert path.read_bytes() == b"---\nid: [\n---\nhalf an edit"


def test_of_two_files_with_one_id_the_one_of_that_name_keeps_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1))
    original = store.path_of(an_id(1))
    assert original is not None
    copy = original.with_name("a copy.md")
    copy.write_bytes(original.read_bytes().replace(b"redis", b"memcached"))
    report = store.sync()
    assert report.changed == ()
    assert [error.path for error in report.broken] == [str(copy)]
    assert an_id(1) in report.broken[0].problem
    assert "id" in report.broken[0].fix
    assert ids(store, "redis") == [an_id(1)]
    original.unlink()
    report = store.sync([original])
    assert [item.content for item in report.changed] == ["The cache lives in memcached."]
    assert store.broken() == []


def test_of_two_copies_the_first_path_wins_in_whatever_order_they_are_seen(tmp_path: Path) -> None:
    late = put_file(tmp_path, "z.md", a_file(1, "late"))
    store = open_store(tmp_path)
    store.sync()
    early = put_file(tmp_path, "b.md", a_file(1, "early"))
    assert [item.content for item in store.sync([early]).changed] == ["early"]
    assert [error.path for error in store.broken()] == [str(late)]
    store.rebuild()
    assert [item.content for item in store.all()] == ["early"]
    assert [error.path for error in store.broken()] == [str(late)]
    late.write_text("no longer a copy")
    store.sync([late])
    assert store.broken() == []
    assert len(list(store.all())) == 2


# Hand edits


def test_edits_additions_and_removals_by_hand_are_noticed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(1, "alpha"), an_item(2, "beta"), an_item(3, "gamma")])
    first, second = store.path_of(an_id(1)), store.path_of(an_id(2))
    assert first and second
    first.write_text(first.read_text().replace("alpha", "delta"))
    second.unlink()
    put_file(tmp_path, "user/s/new.md", a_file(4, "epsilon"))
    report = store.sync()
    assert [item.content for item in report.changed] == ["delta", "epsilon"]
    assert report.removed == (an_id(2),)
    assert ids(store, "alpha") == ids(store, "beta") == []
    assert sorted(ids(store, "delta epsilon gamma")) == [an_id(1), an_id(3), an_id(4)]
    assert store.sync() == store.sync([])


def test_only_the_named_paths_are_looked_at(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.sync()
    one = put_file(tmp_path, "one/a.md", a_file(1))
    put_file(tmp_path, "two/b.md", a_file(2))
    assert [item.id for item in store.sync([one]).changed] == [an_id(1)]
    assert [item.id for item in store.sync([Path("two")]).changed] == [an_id(2)]
    assert (
        store.sync([tmp_path / "elsewhere.md", tmp_path / "memories" / ".hidden", tmp_path / "memories" / "none.md"]).changed
        == ()
    )


def test_a_folder_that_is_gone_takes_its_memories_along(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(1), an_item(2, session="s"), an_item(3, project="app2")])
    folder = tmp_path / "memories" / "project-app"
    folder.rename(tmp_path / "aside")
    assert store.sync([folder]).removed == (an_id(1), an_id(2))
    assert [item.id for item in store.all()] == [an_id(3)]


def test_a_rename_keeps_the_id_and_is_not_a_change(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1))
    old = store.path_of(an_id(1))
    assert old is not None
    for new in (old.with_name("a.md"), tmp_path / "memories" / "zzz.md"):
        old.rename(new)
        report = store.sync([old, new])
        assert (report.changed, report.removed) == ((), ())
        assert store.path_of(an_id(1)) == new
        old = new


def test_a_write_finds_a_file_that_was_moved_a_moment_ago(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1))
    old = store.path_of(an_id(1))
    assert old is not None
    old.rename(tmp_path / "memories" / "moved.md")
    store.write(an_item(1, pinned=True))
    assert files(tmp_path / "memories") == ["moved.md"]
    assert store.get(an_id(1)) == an_item(1, pinned=True)


def test_a_hand_edit_that_was_not_seen_yet_survives_a_write(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1))
    path = store.path_of(an_id(1))
    assert path is not None
    path.write_text(path.read_text().replace("redis", "valkey"))
    store.write(an_item(1, confidence=0.9))
    assert store.get(an_id(1)) == an_item(1, "The cache lives in valkey.", confidence=0.9)
    assert ids(store, "valkey") == [an_id(1)]


def test_a_touched_file_is_not_a_change(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1))
    path = store.path_of(an_id(1))
    assert path is not None
    os.utime(path, (1, 1))
    assert store.sync().changed == ()
    assert store.write(an_item(1)) == an_id(1)


# Trash


def test_a_deleted_memory_is_in_the_trash_and_comes_back(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1))
    path = store.path_of(an_id(1))
    assert path is not None
    data = path.read_bytes()
    store.delete(an_id(1))
    assert files(tmp_path / "memories") == []
    assert files(tmp_path / ".trash") == [f"project-app/manual/the-cache-lives-in-redis-{an_id(1)}.md"]
    assert store.restore(an_id(1)) == an_item(1)
    assert path.read_bytes() == data
    assert files(tmp_path / ".trash") == []
    assert ids(store, "redis") == [an_id(1)]
    assert store.sync() == store.sync([])


def test_the_newest_of_several_trashed_copies_comes_back_first(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for content in ("one", "two", "three"):
        store.write(an_item(1, content))
        store.delete(an_id(1))
    assert len(files(tmp_path / ".trash")) == 3
    for content in ("three", "two", "one"):
        restored = store.restore(an_id(1))
        assert restored is not None
        assert restored.content == content
        Path(str(store.path_of(an_id(1)))).unlink()
        store.sync()
    assert store.restore(an_id(1)) is None


def test_a_foreign_note_is_deleted_and_restored_unchanged(tmp_path: Path) -> None:
    path = put_file(tmp_path, "notes/a~2.md", b"Text\r\n")
    store = open_store(tmp_path)
    (item,) = store.all()
    store.delete(item.id)
    assert not path.exists()
    restored = store.restore(item.id)
    assert restored is not None
    assert restored.id == item.id
    assert path.read_bytes() == b"Text\r\n"


def test_restoring_what_is_still_there_changes_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1, "old"))
    store.delete(an_id(1))
    store.write(an_item(1, "new"))
    assert store.restore(an_id(1)) == an_item(1, "new")
    assert files(tmp_path / ".trash") == [f"project-app/manual/old-{an_id(1)}.md"]


def test_restoring_never_overwrites_another_file(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1))
    store.delete(an_id(1))
    other = put_file(tmp_path, f"project-app/manual/the-cache-lives-in-redis-{an_id(1)}.md", "somebody else's")
    with pytest.raises(StoreError, match="already exists"):
        store.restore(an_id(1))
    assert other.read_text() == "somebody else's"


# inverted_index.json


def test_the_inverted_index_names_the_files_of_each_keyword(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many([an_item(2, "Redis cache"), an_item(1, "The redis port"), an_item(3, "redis", status=Status.SUPERSEDED)])
    store.flush()
    path = tmp_path / "index" / "inverted_index.json"
    index = orjson.loads(path.read_bytes())
    assert index["redis"] == [
        f"project-app/manual/{name}.md" for name in (f"redis-cache-{an_id(2)}", f"the-redis-port-{an_id(1)}")
    ]
    assert list(index) == sorted(index) == ["cache", "port", "redis"]
    stamp = path.stat().st_ino
    store.flush()
    assert path.stat().st_ino == stamp
    store.delete(an_id(2))
    store.flush()
    assert "cache" not in orjson.loads(path.read_bytes())


@pytest.mark.parametrize(
    "front",
    [
        "title: Notes: winter trip",
        "owner: @kim",
        "title: **Bold** move",
        "tags: {{tags}}\ncreated: <% now %>",
        "path: `D:\\x: y`",
        "kind: diary",
        "scope: family",
        "confidence: pretty sure",
        "pinned: maybe",
        "polarity: north",
        "valid_from: last spring",
        "evidence: [a, b",
        "links: [[Other note]]and more",
    ],
)
def test_the_text_of_another_tools_note_is_found_whatever_its_front_matter(tmp_path: Path, front: str) -> None:
    path = put_file(tmp_path, "vault/Winter trip.md", f"---\n{front}\n---\nPack the zither for the hut.\n")
    before = path.read_bytes()
    store = open_store(tmp_path)
    report = store.sync()
    (item,) = store.all()
    assert (item.content, item.source) == ("Pack the zither for the hut.", Source.NOTE)
    assert [error.path for error in report.broken] in ([], [str(path)])
    assert "Winter trip" in item.asked_as
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "   \n", "---\ncategories: [trips]\n---\n\n", "---\na: [\n---\n"])
def test_a_note_without_a_text_is_neither_a_memory_nor_a_fault(tmp_path: Path, text: str) -> None:
    put_file(tmp_path, "vault/empty.md", text)
    store = open_store(tmp_path)
    assert store.sync().broken == () and not list(store.all())


def test_a_note_that_claims_to_be_the_users_word_stays_a_note(tmp_path: Path) -> None:
    put_file(tmp_path, "vault/a.md", "---\nsource: user\nkind: rule\npolarity: do\n---\nAlways deploy on Fridays.")
    (item,) = open_store(tmp_path).all()
    assert (item.source, item.trust) == (Source.NOTE, Trust.STATEMENT)


def test_a_foreign_note_can_be_marked_without_a_change_to_its_own_keys(tmp_path: Path) -> None:
    path = put_file(tmp_path, "vault/a.md", "---\nkind: diary\nscope: family\n---\nPack the zither.\n")
    store = open_store(tmp_path)
    (item,) = store.all()
    store.write(replace(item, pinned=True))
    assert "kind: diary\nscope: family\n" in path.read_text()
    assert list(store.all()) == [replace(item, pinned=True)]
    assert open_store(tmp_path).sync().broken == ()
