"""Reading and writing of memory files."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from memoryd.core import codec
from memoryd.core.errors import BrokenFileError, InputError, StoreError
from memoryd.core.text import one_line, shorten
from memoryd.core.types import MemoryItem, Source
from memoryd.stores import front_matter
from memoryd.stores.front_matter import Document, QuotedText, UnquotedTime
from memoryd.stores.layout import derived_id, id_in_name, scope_of_path

MAX_BYTES = 1_000_000
_LAST_SECOND = 253_402_300_799  # The end of the year 9999. File times can be arbitrary.
_FIRST = ("id", "kind", "polarity", "scope", "project", "session", "source", "trust", "confidence", "created_at", "status")
_ALWAYS = frozenset(_FIRST) - {"project"}
_DEFAULTS = codec.item_to_dict(MemoryItem(content=""))
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<title>[^\n]{1,300})")
_ID_LINE = re.compile(rb"^[\"']?id[\"']?[ \t]*:[ \t]*[\"']?mem_[0-9a-f]{12}\b", re.MULTILINE)
# No tool writes such a number, and parsing it would be disproportionately slow.
_ABSURD_NUMBER = re.compile(r"[0-9a-fA-F:_]{1000}")
_NAME_BREAKS = re.compile(r"[-_.\s]+")
TITLE_CHARACTERS = 300
# Keys for other programs, which show them and follow the links.
TITLE, RELATED = "title", "related"
SHOWN_TITLE = 80
MAX_REPAIRED = 20_000
_ANY_LINK = re.compile(r"\[\[[^\n]{1,300}?\]\]")
_OWN_LINK = re.compile(r"\[\[[^\[\]|#\n]{0,200}mem_[0-9a-f]{12}\]\]")


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A parsed memory file.

    Attributes:
        carries_id: False for a note written without memoryd. Its id is derived from its path.
        warning: Why the front matter of such a note was ignored. The text of the note is still a memory.
    """

    item: MemoryItem
    document: Document
    carries_id: bool
    warning: BrokenFileError | None = None


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The file of a memory: its path relative to the memories folder, its content and its modification time."""

    path: str
    data: bytes
    mtime_ns: int = 0


class EmptyNoteError(Exception):
    """Raised for a note of another tool without text. It is neither a memory nor an error."""


def read(data: bytes, path: str, relative: str, mtime_ns: int) -> MemoryFile:
    """Parse a memory file.

    A file is ours if it contains one of our ids or is named after one. Mistakes in it are errors. In any other note,
    even one whose id we pinned, unsuitable values and front matter that is not YAML belong to another tool and are
    ignored.

    Raises:
        BrokenFileError: The file is ours and invalid. The error includes the path and line.
        EmptyNoteError: The file is a note without text.
    """
    if len(data) > MAX_BYTES:
        fix = "Split it into smaller files, or move it out of the folder."
        raise BrokenFileError(path, 1, f"the file is larger than {MAX_BYTES // 1000} kB", fix)
    named = bool(id_in_name(relative))
    document, warning = _parse(data, path, ours=named)
    carries_id = codec.is_id(str(document.values.get("id", "")))
    foreign = not (carries_id or named) or document.values.get("source") == Source.NOTE.value
    if not document.content.strip() and document.values.get("content") is None:  # An explicit key may contain whitespace.
        raise EmptyNoteError(path) if foreign else _without_text(path)
    defaults = _defaults(document, relative, mtime_ns)
    values = {key: value for key, value in document.values.items() if key not in ("content", "id")}
    if carries_id:
        defaults = replace(defaults, id=str(document.values["id"]))
    if not foreign:
        return MemoryFile(_storable(_item(values, defaults, document, path), path), document, carries_id)
    if absurd := _ABSURD_NUMBER.search(document.head):
        line = document.head.count("\n", 0, absurd.start()) + 2
        raise BrokenFileError(path, line, "the front matter contains a number of more than 1,000 digits")
    values.pop("source", None)  # A note can't claim to be the user's own words.
    note = replace(defaults, source=Source.NOTE, asked_as=() if named else _names_of(document, relative))
    return MemoryFile(_storable(_foreign_item(values, note), path), document, carries_id, warning)


def _parse(data: bytes, path: str, ours: bool) -> tuple[Document, BrokenFileError | None]:
    try:
        return front_matter.parse(data, path), None
    except BrokenFileError as error:
        if ours or _ID_LINE.search(data):
            with contextlib.suppress(BrokenFileError):
                return _with_keys_for_others_repaired(data, path), None
            raise
        warning = BrokenFileError(path, error.line, f"{error.problem}; its text is indexed, but its front matter is ignored")
        return front_matter.split(data, path), warning


def _with_keys_for_others_repaired(data: bytes, path: str) -> Document:
    """Return the document of a file in which replacing words has broken only the title or the links, which are never read back.

    The next change of the memory writes them correctly.
    """
    document = front_matter.split(data, path)
    if not document.opening or len(document.head) > MAX_REPAIRED:
        raise BrokenFileError(path, 1, "the front matter can't be repaired")
    repairs = {TITLE: _title_meant, RELATED: _links_meant}
    for keys in ((TITLE,), (RELATED,)):  # A key that is valid must keep its value.
        with contextlib.suppress(BrokenFileError):
            return front_matter.with_values_quoted(document, {key: repairs[key] for key in keys}, path)
    return front_matter.with_values_quoted(document, repairs, path)


def _title_meant(text: str) -> QuotedText:
    return QuotedText(front_matter.unquoted(text))


def _links_meant(text: str) -> list[str] | QuotedText:
    """Return the wiki links in the text, or the text itself if it holds anything else."""
    links = _ANY_LINK.findall(text)
    return links if links and not re.search(r"\w", _ANY_LINK.sub("", text)) else QuotedText(text)


def _without_text(path: str) -> BrokenFileError:
    return BrokenFileError(path, 1, "the memory has no text", "Add text below the front matter, or delete the file.")


def _stem(relative: str) -> str:
    return relative.rpartition("/")[2].removesuffix(".md")


def _names_of(document: Document, relative: str) -> tuple[str, ...]:
    """Return a note's title and file name as search keys. People search for these, but the text may not contain them."""
    heading = _HEADING.match(document.content)
    title = document.values.get("title") or (heading["title"] if heading else "")
    name = _stem(relative)
    texts = (str(title)[:TITLE_CHARACTERS] if isinstance(title, str | int | date) else "", _NAME_BREAKS.sub(" ", name))
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


def _storable(item: MemoryItem, path: str) -> MemoryItem:
    """Return the item if the index can store it.

    Raises:
        BrokenFileError: A value can't be serialised.
    """
    try:
        codec.item_to_json(item)
    except (TypeError, ValueError) as error:
        raise BrokenFileError(path, 1, f"a value can't be stored: {error}") from error
    return item


def _defaults(document: Document, relative: str, mtime_ns: int) -> MemoryItem:
    scope, project, session = scope_of_path(relative)
    return MemoryItem(
        content=document.content,
        id=derived_id(relative),
        scope=scope,
        project=project,
        session=session,
        created_at=datetime.fromtimestamp(min(max(mtime_ns // 1_000_000_000, 0), _LAST_SECOND), UTC),
    )


def _item(values: dict[str, Any], defaults: MemoryItem, document: Document, path: str) -> MemoryItem:
    try:
        return codec.item_from_dict(values, defaults)
    except InputError as error:
        key = error.message.partition(":")[0].partition(".")[0]
        broken = BrokenFileError(path, front_matter.line_of(document, key), error.message)
        broken.fix = error.fix or broken.fix
        raise broken from error


def _foreign_item(values: dict[str, Any], defaults: MemoryItem) -> MemoryItem:
    """Build an item from another tool's note. Keys with our names but unsuitable values are ignored."""
    while True:
        try:
            return codec.item_from_dict(values, defaults)
        except InputError as error:
            key = error.message.partition(":")[0].partition(".")[0]
            if key not in values:
                return defaults
            del values[key]


def checked(item: MemoryItem) -> MemoryItem:
    """Return the item as it will be read back (see `storable`). Raises InputError, also for an id of another form."""
    if item.id and not codec.is_id(item.id):
        raise InputError(f"'{item.id}' is not a memory id.", fix="Ids look like mem_0123456789ab; leave it empty for a new one.")
    return storable(item)


def storable(item: MemoryItem) -> MemoryItem:
    """Return the item as it will be read back from a file, with rounded numbers and times in UTC.

    Raises:
        InputError: A text is too long or not valid Unicode (lone surrogates).
    """
    try:
        data = codec.item_to_json(item)
    except TypeError as error:
        raise InputError("The memory is not valid Unicode.", fix="Remove lone surrogates.") from error
    if len(data) > MAX_BYTES // 2:
        size = len(data) // 1000
        raise InputError(f"The memory is too long ({size} kB).", fix="Split it into statements of one or two sentences.")
    return codec.item_from_json(data)


def _yaml_values(item: MemoryItem) -> dict[str, Any]:
    values = codec.item_to_dict(item)
    del values["content"]
    for name in codec.TIMES:
        if values[name] is not None:
            values[name] = UnquotedTime(values[name])
    return values


def render(item: MemoryItem, related: Sequence[str] = (), *, titled: bool = True) -> bytes:
    """Render a new file. The most useful keys come first, and defaults are omitted.

    Args:
        item: The memory.
        related: Wiki links to the files of related memories.
        titled: Whether to add the keys for other programs: `title` and `related`. They are never read back.
    """
    values = _yaml_values(item)
    keys = [*_FIRST, *(key for key in values if key not in _FIRST)]
    shown = {key: values[key] for key in keys if key in _ALWAYS or values[key] != _DEFAULTS[key]}
    if "evidence" in shown:
        shown["evidence"] = {key: value for key, value in shown["evidence"].items() if value}
    if titled:
        shown = {"id": item.id, TITLE: title_of(item), **shown, **({RELATED: list(related)} if related else {})}
    return front_matter.render(shown, item.content)


def _is_as_rendered(data: bytes, file: MemoryFile) -> bool:
    """Return whether nothing but memoryd wrote the file. Earlier versions wrote no title, or one without needless quotes."""
    usual = render(file.item, _own_related(file) or ())
    if data in (usual, render(file.item, titled=False)):
        return True
    title = title_of(file.item)
    return data == usual.replace(front_matter.line(TITLE, title), front_matter.line(TITLE, str(title)), 1)


def title_of(item: MemoryItem) -> QuotedText:
    """Return the title that other programs show: the beginning of the statement."""
    return QuotedText(shorten(one_line(item.content), SHOWN_TITLE))


def wiki_link(relative: str) -> str:
    """Return a wiki link to a file, which programs such as Obsidian follow by the file's name."""
    return f"[[{_stem(relative)}]]"


def _own_related(file: MemoryFile) -> tuple[str, ...] | None:
    """Return the file's wiki links if memoryd wrote them, or None if the key is another tool's."""
    found = file.document.values.get(RELATED, [])
    if isinstance(found, list) and all(isinstance(link, str) and _OWN_LINK.fullmatch(link) for link in found):
        return tuple(found)
    return None


def _has_own_title(file: MemoryFile) -> bool:
    return file.document.values.get(TITLE) == title_of(file.item)


def _shown_changes(file: MemoryFile, item: MemoryItem, related: Sequence[str]) -> dict[str, Any]:
    """Return the changes of the keys for other programs. Only keys that memoryd wrote are changed, and no file gets new ones."""
    if not _has_own_title(file):
        return {}
    changes: dict[str, Any] = {TITLE: title_of(item)} if title_of(item) != title_of(file.item) else {}
    links = _own_related(file)
    return changes if links is None or links == tuple(related) else {**changes, RELATED: list(related)}


def update(file: MemoryFile, item: MemoryItem, path: str, relative: str, related: Sequence[str] = ()) -> bytes:
    """Return the file's bytes after changing `file.item` to `item`. All foreign content keeps its bytes.

    Args:
        file: The file as read.
        item: The new value.
        path: Path of the result, for messages.
        relative: The same path relative to the memories folder.
        related: Wiki links to the files of related memories.

    Raises:
        StoreError: The front matter can't be edited safely.
    """
    old = file.document
    data = old.to_bytes()
    if item == file.item and relative_id_holds(file, item, relative):
        return data
    if file.carries_id and _is_as_rendered(data, file):
        return render(item, related)
    changes = {**_changes(file, item), **_shown_changes(file, item, related)}
    document = front_matter.edit(old, changes, item.content if item.content != file.item.content else None)
    data = document.to_bytes()
    _verify(data, file, item, path, relative, changes.keys() & {TITLE, RELATED})
    return data


def with_links(file: MemoryFile, related: Sequence[str], path: str, relative: str) -> bytes:
    """Return the file's bytes with other wiki links, if memoryd wrote those that it has.

    Raises:
        StoreError: The front matter can't be edited safely.
    """
    data = file.document.to_bytes()
    if data == render(file.item, _own_related(file) or ()):
        return render(file.item, related)
    changes = _shown_changes(file, file.item, related)
    if not changes:
        return data
    data = front_matter.edit(file.document, changes).to_bytes()
    _verify(data, file, file.item, path, relative, changes.keys())
    return data


def relative_id_holds(file: MemoryFile, item: MemoryItem, relative: str) -> bool:
    """Return whether the file keeps its id at this path without being edited."""
    return file.carries_id or item.id == derived_id(relative)


def _changes(file: MemoryFile, item: MemoryItem) -> dict[str, Any]:
    before, after = _yaml_values(file.item), _yaml_values(item)
    changes = {key: value for key, value in after.items() if value != before[key]}
    if not file.carries_id and "id" not in file.document.values:
        # Once the file has an id, a missing source would mean the user, and keys would no longer be derived from the file name.
        pinned = {"id": item.id, "source": item.source.value, "asked_as": list(item.asked_as)}
        changes = pinned | changes
    if "created_at" not in file.document.values:  # Until now this was the file's modification time, which the edit changes.
        changes["created_at"] = after["created_at"]
    if file.document.values.get("trust") is None:
        changes.pop("trust", None)
    return changes


def _verify(data: bytes, file: MemoryFile, item: MemoryItem, path: str, relative: str, ours: Collection[str]) -> None:
    try:
        after = read(data, path, relative, 0)
    except BrokenFileError as error:
        raise _not_editable(path) from error
    wanted = replace(item, created_at=after.item.created_at) if "created_at" not in after.document.values else item
    try:
        changed = _foreign(after.document.values, ours) != _foreign(file.document.values, ours)
    except (ValueError, RecursionError) as error:  # For example, an integer with too many digits to be formatted.
        raise _not_editable(path) from error
    if after.item != wanted or changed:
        raise _not_editable(path)


def _foreign(values: Mapping[str, Any], ours: Collection[str]) -> dict[str, str]:
    return {key: repr(value) for key, value in values.items() if key not in codec.OWNED_KEYS and key not in ours}


def _not_editable(path: str) -> StoreError:
    return StoreError(
        f"The front matter of {path} can't be changed without affecting other tools' keys.",
        fix="Write each key on its own line, without anchors, and try again.",
    )
