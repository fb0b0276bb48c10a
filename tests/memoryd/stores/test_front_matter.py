from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.errors import BrokenFileError, InputError, StoreError
from memoryd.core.types import Evidence, Kind, Link, LinkType, MemoryItem, Polarity, Scope, Source, Status
from memoryd.stores import front_matter, memory_file
from memoryd.stores.memory_file import EmptyNoteError

ID = "mem_0123456789ab"
PLACE = f"user/manual/{ID}.md"
YEAR_2001 = 10**18
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
texts = st.lists(text, max_size=3).map(tuple)
share = st.integers(0, 10_000).map(lambda number: number / 10_000)
moment = st.datetimes(timezones=st.just(UTC))
maybe_moment = st.none() | moment
items = st.builds(
    MemoryItem,
    content=text.filter(bool),
    id=st.just(ID),
    kind=st.sampled_from(Kind),
    polarity=st.sampled_from(Polarity),
    scope=st.sampled_from(Scope),
    project=text,
    session=text,
    source=st.sampled_from(Source),
    confidence=share,
    relevancy=share,
    tags=texts.map(lambda tags: tags if tags != ("",) else ()),
    entities=texts.map(lambda tags: tags if tags != ("",) else ()),
    status=st.sampled_from(Status),
    supersedes=st.none() | st.just("mem_ffffffffffff"),
    links=st.lists(st.builds(Link, st.sampled_from(LinkType), text.filter(bool)), max_size=2).map(tuple),
    created_at=moment,
    expired_at=maybe_moment,
    valid_from=maybe_moment,
    valid_to=maybe_moment,
    evidence=st.builds(Evidence, text, texts, text, texts),
    pinned=st.booleans(),
    asked_as=texts.map(lambda keys: keys if keys != ("",) else ()),
)


def read(data: bytes, relative: str = PLACE) -> memory_file.MemoryFile:
    return memory_file.read(data, f"/m/{relative}", relative, YEAR_2001)


def place(item: MemoryItem) -> str:
    return f"{item.scope}-none/x/{ID}.md" if item.scope is not Scope.USER else PLACE


@given(items)
def test_a_new_file_reads_as_the_item(item: MemoryItem) -> None:
    assert read(memory_file.render(item), place(item)).item == item


@given(items, items)
def test_an_edited_file_reads_as_the_new_item_and_keeps_what_is_not_ours(old: MemoryItem, new: MemoryItem) -> None:
    data = memory_file.render(old).replace(b"---\n", b"---\n# a comment\naliases: [x,   y] # mine\n", 1)
    file = read(data, place(old))
    after = memory_file.update(file, new, "/m/x", place(new))
    assert read(after, place(new)).item == new
    assert after.startswith(b"---\n# a comment\naliases: [x,   y] # mine\n")


@given(st.binary(max_size=300) | text.map(lambda body: f"---\n{body}\n---\n".encode()))
def test_any_bytes_are_read_or_reported_with_a_line(data: bytes) -> None:
    try:
        read(data)
    except BrokenFileError as error:
        assert 1 <= error.line <= data.count(b"\n") + 2


@given(st.binary(max_size=200))
def test_parsing_loses_no_byte(data: bytes) -> None:
    try:
        document = front_matter.parse(data, "x")
    except BrokenFileError:
        return
    assert document.to_bytes() == data


def test_a_new_file_is_pleasant_to_read() -> None:
    item = MemoryItem(
        "Use pnpm.", ID, Kind.RULE, Polarity.DO, project="app", tags=("build", "js"), created_at=datetime(2026, 1, 2, tzinfo=UTC)
    )
    assert memory_file.render(item).decode() == (
        '---\nid: mem_0123456789ab\ntitle: "Use pnpm."\n'
        "kind: rule\npolarity: do\nscope: project\nproject: app\nsession: manual\nsource: user\n"
        "trust: instruction\nconfidence: 0.7\ncreated_at: 2026-01-02T00:00:00Z\n"
        "status: active\ntags: [build, js]\n---\n\nUse pnpm.\n"
    )


HAND_MADE = (
    "\ufeff---\r\n"
    "# My vault\r\n"
    "aliases: [one, two] # keep\r\n"
    f"id:   {ID}\r\n"
    "tags:\r\n"
    "  - first # inner\r\n"
    "  - second\r\n"
    "# about the status\r\n"
    "status: active   # still\r\n"
    "created_at: 2026-01-02\r\n"
    "mine: |\r\n"
    "  # not a comment\r\n"
    "\r\n"
    "  text\r\n"
    "---\r\n"
    "\r\n\r\n"
    "# Title\r\n"
    "\r\n"
    "Body.  \r\n"
    "\r\n"
).encode()


def test_a_changed_key_changes_only_its_value() -> None:
    file = read(HAND_MADE)
    after = memory_file.update(file, replace(file.item, status=Status.SUPERSEDED), "/m/x", PLACE)
    assert after == HAND_MADE.replace(b"status: active   # still", b"status: superseded   # still")


def test_a_changed_block_list_keeps_the_comment_behind_it() -> None:
    file = read(HAND_MADE)
    after = memory_file.update(file, replace(file.item, tags=("third",)), "/m/x", PLACE)
    assert after == HAND_MADE.replace(b"tags:\r\n  - first # inner\r\n  - second\r\n", b"tags: [third]\r\n")


def test_a_new_key_is_added_at_the_end_with_the_files_line_ends() -> None:
    file = read(HAND_MADE)
    after = memory_file.update(file, replace(file.item, pinned=True), "/m/x", PLACE)
    assert after == HAND_MADE.replace(b"  text\r\n---", b"  text\r\npinned: true\r\n---")


def test_a_changed_content_replaces_the_body_between_its_blank_lines() -> None:
    file = read(HAND_MADE)
    assert file.item.content == "# Title\n\nBody."
    after = memory_file.update(file, replace(file.item, content="New\ntext"), "/m/x", PLACE)
    assert after == HAND_MADE.replace(b"# Title\r\n\r\nBody.", b"New\r\ntext")


def test_an_unchanged_item_leaves_the_bytes_alone() -> None:
    file = read(HAND_MADE)
    assert memory_file.update(file, file.item, "/m/x", PLACE) == HAND_MADE


def test_a_note_without_front_matter_gets_one_and_keeps_its_body() -> None:
    note = b"# Title\r\n\r\nBody\r\n"
    file = read(note, "notes/a.md")
    after = memory_file.update(file, replace(file.item, status=Status.SUPERSEDED), "/m/x", "notes/a.md")
    assert after.endswith(b"\r\n---\r\n\r\n" + note)
    assert read(after, "elsewhere.md").item == replace(file.item, status=Status.SUPERSEDED)


def test_a_content_key_is_read_when_the_body_is_empty_and_written_back() -> None:
    file = read(f"---\nid: {ID}\ncontent: Said here.\n---\n".encode())
    assert file.item.content == "Said here."
    after = memory_file.update(file, replace(file.item, content="Said again."), "/m/x", PLACE)
    assert b"content: Said again.\n" in after
    assert read(after).item.content == "Said again."


def test_a_body_wins_over_a_content_key() -> None:
    assert read(f"---\nid: {ID}\ncontent: Key.\n---\nBody.\n".encode()).item.content == "Body."


def test_a_front_matter_in_one_line_of_braces_can_be_edited() -> None:
    file = read(f"---\n{{id: {ID}, other: [1]}}\n---\nText\n".encode())
    after = memory_file.update(file, replace(file.item, pinned=True), "/m/x", PLACE)
    assert b"other: [1], " in after
    assert read(after).item.pinned


def test_a_form_that_cannot_be_edited_safely_is_refused_not_damaged() -> None:
    file = read(f"---\nid: {ID}\ntags: &t [a]\nother: *t\n---\nText\n".encode())
    with pytest.raises(StoreError, match="can't be changed"):
        memory_file.update(file, replace(file.item, tags=("b",)), "/m/x", PLACE)


@pytest.mark.parametrize(
    ("data", "line", "problem"),
    [
        (f"---\nid: {ID}\nkind: rule\ntags: [a\nb: c\n---\nx", 5, "not YAML"),
        (f"---\nid: {ID}\nkind: banana\n---\nx", 3, "banana"),
        (f"---\nid: {ID}\n\nconfidence: high\n---\nx", 4, "confidence"),
        (f"---\nid: {ID}\nlinks:\n  - {{type: LIKES, target: x}}\n---\nx", 3, "LIKES"),
        (f"---\nid: {ID}\ncreated_at: 2026-13-45\n---\nx", 3, "created_at|impossible"),
        ("---\n- a\n- b\n---\nx", 2, "list"),
        (f"---\nid: {ID}\nno end", 1, "no closing"),
        ("---\nkind: banana\n---\nno id, but meant as a memory", 2, "banana"),
        ("---\na: &a [x]\nb: [" + "*a, " * 99 + "]\n---\n", 1, "aliases"),
        ("---\na: " + "[" * 5_000 + "\n---\n", 2, "not YAML|impossible"),
        (b"---\nid: x\n---\nok\n\xff\xfe bad", 5, "UTF-8"),
        (b"x" * 1_000_001, 1, "larger"),
    ],
)
def test_a_broken_file_is_named_with_its_line(data: str | bytes, line: int, problem: str) -> None:
    with pytest.raises(BrokenFileError, match=problem) as caught:
        read(data.encode() if isinstance(data, str) else data)
    assert caught.value.line == line
    assert caught.value.path == f"/m/{PLACE}"
    assert caught.value.fix


@pytest.mark.parametrize("data", ["---\n", "---\nA rule above, no keys below", "text\n---\nmore", "", "--- \n\n---\n", "-"])
def test_lines_of_dashes_in_plain_notes_are_text(data: str) -> None:
    try:
        assert read(data.encode(), "notes/a.md").item.content
    except EmptyNoteError:
        assert not data.replace("-", "").strip()


def test_another_tools_keys_are_neither_mistakes_nor_ours() -> None:
    note = b"---\nstatus: draft\nsource: https://example.org\nlinks: none\ntags: [a]\nid: 202601\n---\nText\n"
    file = read(note, "notes/a.md")
    assert (file.item.status, file.item.source, file.item.tags) == (Status.ACTIVE, Source.NOTE, ("a",))
    assert not file.carries_id
    after = memory_file.update(file, replace(file.item, tags=("a", "b")), "/m/notes/a.md", "notes/a.md")
    assert b"status: draft\nsource: https://example.org\nlinks: none\ntags: [a, b]\nid: 202601\n" in after


def test_numbers_and_dates_where_texts_belong_are_read_as_texts() -> None:
    item = read(f"---\nid: {ID}\nproject: 12\nsession: 2026-01-02\ntags: ['7', 8]\n---\nx".encode()).item
    assert (item.project, item.session, item.tags) == ("12", "2026-01-02", ("7", "8"))


def test_what_no_file_can_hold_is_refused() -> None:
    with pytest.raises(InputError, match="Unicode"):
        memory_file.storable(MemoryItem("\ud800"))
    with pytest.raises(InputError, match="too long"):
        memory_file.storable(MemoryItem("x" * 600_000))


def test_a_storable_item_is_rounded_as_the_file_rounds_it() -> None:
    zone = timezone(timedelta(hours=2))
    item = MemoryItem("x", ID, scope=Scope.USER, confidence=0.123456, created_at=datetime(2026, 1, 1, 2, tzinfo=zone))
    stored = memory_file.storable(item)
    assert stored.confidence == 0.1235
    assert stored.created_at.tzinfo is UTC
    assert read(memory_file.render(item)).item == stored
