"""The vault is readable by people and other programs: names of files, titles and links."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import Link, LinkType, Scope
from memoryd.stores import memory_file
from memoryd.stores.front_matter import parse
from memoryd.stores.layout import canonical_path, id_in_name, is_at_home, slug
from tests.memoryd.stores.markdown_samples import a_file, an_id, an_item, files, open_store, put_file

HOME = "project-app/manual"


@given(st.text(max_size=200))
def test_every_statement_has_a_name_that_any_file_system_takes(content: str) -> None:
    item = an_item(1, content)
    path = canonical_path(item)
    name = path.rpartition("/")[2]
    assert id_in_name(path) == an_id(1) and is_at_home(path, item)
    assert len(name.encode()) <= 160 and not set(name) & set('/\\:*?"<>|\0\n') and not name.startswith((".", "-"))


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("Never push to `main`!", "never-push-to-main"),
        ("…", "memory"),
        ("Größe in Zoll", "größe-in-zoll"),
        ("提交前运行测试", "提交前运行测试"),
        ("../../etc/passwd", "etc-passwd"),
        ("a" * 100, "a" * 30),
    ],
)
def test_a_name_is_the_first_words(content: str, name: str) -> None:
    assert slug(content) == name


def test_linked_memories_are_linked_for_other_programs_and_the_links_stay_right(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write(an_item(1, "Prices are floats."))
    links = (Link(LinkType.SUPERSEDES, an_id(1)), Link(LinkType.MENTIONS, "checkout"))
    store.write(an_item(2, "Prices are cents.", links=links, supersedes=an_id(1)))
    path = store.path_of(an_id(2))
    assert path is not None and path.name == f"prices-are-cents-{an_id(2)}.md"
    values = parse(path.read_bytes(), "").values
    assert (values["title"], values["related"]) == ("Prices are cents.", [f"[[prices-are-floats-{an_id(1)}]]"])
    store.write(replace(an_item(2, "Prices are integer cents.", links=links, supersedes=an_id(1)), scope=Scope.USER))
    store.write(an_item(1, "Prices are floating-point euros."))
    moved = f"user/manual/prices-are-integer-cents-{an_id(2)}.md"
    assert files(tmp_path / "memories") == [f"{HOME}/prices-are-floating-point-euros-{an_id(1)}.md", moved]
    store.tidy_names()
    values = parse((tmp_path / "memories" / moved).read_bytes(), "").values
    assert values["title"] == "Prices are integer cents."
    assert values["related"] == [f"[[prices-are-floating-point-euros-{an_id(1)}]]"]
    assert store.sync().changed == ()
    store.close()


def test_a_file_edited_by_hand_gets_a_fitting_name_once_it_is_settled(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.write_many(
        [an_item(1, "Tea is at four."), an_item(2, "Cake is at four.", links=(Link(LinkType.RELATES_TO, an_id(1)),))]
    )
    path, other = store.path_of(an_id(1)), store.path_of(an_id(2))
    assert path is not None and other is not None
    text = path.read_text()
    path.write_text(text.replace("Tea is at four.", "Tea is at five."))
    store.sync([path])
    store.tidy_names(settled_seconds=60)
    assert path.exists(), "it may still be open in an editor"
    store.tidy_names()
    renamed = path.with_name(f"tea-is-at-five-{an_id(1)}.md")
    assert renamed.exists() and not path.exists() and f"[[{renamed.stem}]]" in other.read_text()
    path.write_text(text.replace("Tea is at four.", "Tea is at six."))  # the editor saves it under the name that it opened
    os.utime(path, ns=(renamed.stat().st_mtime_ns + 10**9,) * 2)
    report = store.sync()
    item = store.get(an_id(1))
    assert item is not None and item.content == "Tea is at six." and len(report.broken) == 1
    store.close()


def test_titles_and_links_of_other_tools_are_left_alone(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    mine = put_file(tmp_path, f"{HOME}/mine.md", a_file(1, "Text.", "title: My own\nrelated: ['[[Somewhere]]']\n"))
    edited = put_file(tmp_path, f"{HOME}/edited.md", a_file(2, "Short.", "title: Short. # mine\nrelated: [x]\n"))
    store.sync()
    for number in (1, 2):
        item = store.get(an_id(number))
        assert item is not None
        store.write(replace(item, content="Longer text.", links=(Link(LinkType.RELATES_TO, an_id(2)),)))
    assert "title: My own\nrelated: ['[[Somewhere]]']\n" in mine.read_text()
    assert 'title: "Longer text." # mine\nrelated: [x]\n' in edited.read_text()
    store.close()


@given(st.text("abc \"'\\\\:#[]{}&*!|>%@-,?`", min_size=1, max_size=30), st.booleans())
def test_replacing_words_in_a_file_never_breaks_its_title_or_links(text: str, plain: bool) -> None:
    """As an editor does it in all files. The next change writes both correctly."""
    link = f"[[use-pnpm-{an_id(2)}]]"
    item = an_item(1, "Builds use pnpm, here and there.")
    before = memory_file.render(item, [link]).decode()
    if plain:
        before = before.replace('title: "Builds use pnpm, here and there."', "title: Builds use pnpm, here and there.")
    replaced = before.replace("pnpm", text)
    file = memory_file.read(replaced.encode(), "p.md", f"{HOME}/p.md", 0)
    assert file.item == replace(item, content=item.content.replace("pnpm", text))
    changed = memory_file.update(file, replace(file.item, pinned=True), "p.md", f"{HOME}/p.md", [link])
    assert parse(changed, "p.md").values["pinned"] is True
    assert memory_file.read(changed, "p.md", f"{HOME}/p.md", 0).item == replace(file.item, pinned=True)


def test_a_title_that_is_not_yaml_keeps_its_words_and_other_broken_keys_are_reported(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    title = put_file(tmp_path, f"{HOME}/a.md", a_file(1, "Text.", 'title: "My "own": title"\nmine: 1 # kept\n'))
    obsidian = f'related:\n  - "[[a "b" {an_id(3)}]]"\n  - "[[c]]"\n'
    put_file(tmp_path, f"{HOME}/b.md", a_file(2, "Listed.", obsidian))
    put_file(tmp_path, f"{HOME}/c.md", a_file(3, "Broken tags.", "title: a: b\ntags: [x\n"))
    both = 'title: |\n  Two\n  lines\nrelated: "words "and" [[c]]"\n'
    words = put_file(tmp_path, f"{HOME}/d.md", a_file(4, "Words.", both))
    assert {Path(problem.path).name for problem in store.sync().broken} == {"c.md"}
    item, listed = store.get(an_id(1)), store.get(an_id(2))
    assert item is not None and item.content == "Text." and listed is not None and listed.content == "Listed."
    store.write(replace(item, pinned=True))
    other = store.get(an_id(4))
    assert other is not None
    store.write(replace(other, pinned=True))
    assert "title: |\n  Two\n  lines\n" in words.read_text() and '\\"and\\" [[c]]' in words.read_text()
    text = title.read_text()
    assert "mine: 1 # kept\n" in text and parse(text.encode(), "").values["title"] == 'My "own": title'
    store.close()


def test_a_file_with_a_title_of_an_old_version_is_written_as_a_new_one() -> None:
    item = an_item(1, "Tea is at four.")
    old = memory_file.render(item).replace(b'"Tea is at four."', b"Tea is at four.")
    file = memory_file.read(old, "p.md", f"{HOME}/p.md", 0)
    changed = replace(item, pinned=True)
    assert memory_file.update(file, changed, "p.md", f"{HOME}/p.md") == memory_file.render(changed)


def test_old_names_are_migrated_and_what_a_person_placed_stays(tmp_path: Path) -> None:
    put_file(tmp_path, f"{HOME}/{an_id(1)}.md", a_file(1, "Tea is at four."))
    put_file(tmp_path, f"elsewhere/{an_id(2)}.md", a_file(2, "Moved by hand."))
    put_file(tmp_path, f"{HOME}/note.md", "A note of mine.\n")
    put_file(tmp_path, "inverted_index.json", "{}")
    store = open_store(tmp_path)
    store.sync()
    before = dict(store.digests())
    assert store.rename_old() == 1 and store.rename_old() == 0
    assert files(tmp_path / "memories") == [
        f"elsewhere/{an_id(2)}.md",
        f"{HOME}/note.md",
        f"{HOME}/tea-is-at-four-{an_id(1)}.md",
    ]
    assert store.digests() == before and store.sync().changed == () and store.sync().removed == ()
    assert not (tmp_path / "memories" / "inverted_index.json").exists()
    store.close()


def test_a_file_of_an_old_version_gets_its_name_when_it_is_written(tmp_path: Path) -> None:
    put_file(tmp_path, f"{HOME}/{an_id(1)}.md", a_file(1, "Tea is at four."))
    store = open_store(tmp_path)
    store.sync()
    item = store.get(an_id(1))
    assert item is not None
    store.write(replace(item, pinned=True))
    assert files(tmp_path / "memories") == [f"{HOME}/tea-is-at-four-{an_id(1)}.md"]
    store.close()
