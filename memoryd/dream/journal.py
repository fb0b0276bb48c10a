"""The journal on disk. Each dream, acceptance, undo, import and forgotten project has a folder with everything needed to undo it.

    dream-0007/
      plan.json    changed memories, before and after, with the reason, one per line
      before.zip   previous content of the files
      target.zip   for an undo: the content to be written
      after.json   written once all files are changed: their paths and hashes
      head.json    summary for `memoryd journal` and the entry's step; replaced atomically

A folder is renamed to its final name once the plan and the snapshot are durable. Steps are ready → applying → done.
On startup, an entry that is not done is completed if `after.json` exists, and rolled back otherwise (see `apply`).
Only the process that holds the dream lock writes here.
"""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from difflib import SequenceMatcher
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from memoryd.core.clock import to_iso
from memoryd.core.codec import item_from_dict, item_to_dict
from memoryd.core.errors import NotFoundError, StoreError
from memoryd.core.files import make_private_dir, sync_dir, write_atomic
from memoryd.core.types import MemoryItem
from memoryd.dream.plan import Action
from memoryd.stores import memory_file

# Diff of a memory file: the removed and added lines with a little context

AROUND = 2
MAX_LINES = 400
MAX_CHARACTERS = 2_000
GAP = "…"
Line = tuple[str, str]


def file_lines(before: MemoryItem | None, after: MemoryItem | None) -> list[Line]:
    """Return a diff of the memory's file as (sign, text): "-" removed, "+" added, " " unchanged, "…" omitted.

    Both sides are rendered as memoryd writes them, without bookkeeping fields. Lines are truncated at MAX_CHARACTERS,
    the diff at MAX_LINES.
    """
    old, new = _lines(before), _lines(after)
    out: list[Line] = []
    for line in _compared(old, new):
        if len(out) == MAX_LINES:
            out.append((GAP, ""))
            break
        out.append((line[0], line[1][:MAX_CHARACTERS]))
    return out


def _lines(item: MemoryItem | None) -> list[str]:
    if item is None:
        return []
    return memory_file.render(replace(item, backends=()), titled=False).decode("utf-8", "replace").splitlines()


def _compared(old: list[str], new: list[str]) -> Iterator[Line]:
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for number, (tag, low, high, start, stop) in enumerate(codes):
        if tag == "equal":
            yield from _staying(old[low:high], first=number == 0, last=number == len(codes) - 1)
        else:
            yield from (("-", line) for line in old[low:high])
            yield from (("+", line) for line in new[start:stop])


def _staying(lines: list[str], *, first: bool, last: bool) -> Iterator[Line]:
    """Yield the unchanged lines next to a change. A gap replaces the rest of a longer unchanged section."""
    head = [] if first else lines[:AROUND]
    tail = [] if last else lines[max(len(head), len(lines) - AROUND) :]
    if len(head) + len(tail) + 1 >= len(lines):
        head, tail = lines, []
    yield from ((" ", line) for line in head)
    if len(head) + len(tail) < len(lines):
        yield GAP, ""
    yield from ((" ", line) for line in tail)


_NAME = re.compile(r"(dream|accept|undo|forget|import)-(\d{4,})")
_UNFINISHED = ".tmp-"
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
MIN_PLAN_LINES = 3  # Opening line, zero or one record, closing line.
SEE_JOURNAL = "See 'memoryd journal'."


class EntryKind(StrEnum):
    """The action that created an entry."""

    DREAM = "dream"
    ACCEPT = "accept"
    UNDO = "undo"
    FORGET = "forget"
    IMPORT = "import"


class EntryStep(StrEnum):
    """The progress of an entry."""

    READY = "ready"
    APPLYING = "applying"
    DONE = "done"
    ROLLED_BACK = "rolled back"


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One memory in an entry. If there is no file before or after, that side is None and its path is empty.

    Paths are relative to the memories folder. Until the entry is applied, `after_path` is the expected location of
    the file. `before_mtime_ns` is stored because a file without front matter is dated by its mtime.
    """

    id: str
    stage: str
    action: Action
    reason: str
    group: str
    before: MemoryItem | None
    after: MemoryItem | None
    before_path: str = ""
    after_path: str = ""
    before_mtime_ns: int = 0
    target_mtime_ns: int = 0


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The path of a file after an entry, and the SHA-256 of its content. Both are empty if there is no file."""

    path: str = ""
    sha: str = ""


@dataclass(frozen=True, slots=True)
class EntrySummary:
    """Summary of an entry. `undone` lists the memories restored by later undos."""

    name: str
    kind: EntryKind
    at: str
    trigger: str
    step: EntryStep
    of: str = ""
    memories: int = 0
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    undone: tuple[str, ...] = ()
    note: str = ""

    @property
    def number(self) -> int:
        """The sequence number, which orders entries independently of the clock."""
        return int(self.name.rpartition("-")[2])


class Journal:
    """Reads and writes journal entries."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    # Listing

    def names(self) -> list[str]:
        """Return the names of all entries, oldest first."""
        found = (_NAME.fullmatch(path.name) for path in self._folder.iterdir()) if self._folder.is_dir() else ()
        return [match[0] for match in sorted((m for m in found if m), key=lambda match: int(match[2]))]

    def heads(self) -> list[EntrySummary]:
        """Return the summaries of all entries, newest first."""
        return [self.head(name) for name in reversed(self.names())]

    def head(self, name: str) -> EntrySummary:
        """Return the summary of an entry.

        Raises:
            NotFoundError: There is no such entry.
        """
        if not _NAME.fullmatch(name) or not (self._folder / name).is_dir():
            raise NotFoundError(f"There is no journal entry '{name}'.", fix=SEE_JOURNAL)
        values = self._json(name, "head.json")
        values |= {"kind": EntryKind(values["kind"]), "step": EntryStep(values["step"]), "undone": tuple(values["undone"])}
        return EntrySummary(**values)

    def records(self, name: str, first: int = 0, most: int | None = None) -> list[JournalRecord]:
        """Return up to `most` records of an entry, starting at `first`, in the order of the plan."""
        found = self._json(name, "plan.json")["records"]
        return [_record(values) for values in found[first : None if most is None else first + most]]

    def history(self, memory: str) -> Iterator[tuple[EntrySummary, JournalRecord]]:
        """Yield all journalled changes to one memory, oldest first."""
        for name in self.names():
            found = [_record(values) for values in self._plan_lines(name, memory) if values["id"] == memory]
            if found:
                head = self.head(name)
                yield from ((head, record) for record in found)

    def _plan_lines(self, name: str, memory: str) -> list[dict[str, Any]]:
        """Return the records of an entry whose text contains the id.

        An entry can have thousands of records. Each is on its own line, so only matching lines are decoded.
        """
        path, needle = self._folder / name / "plan.json", memory.encode()
        with _readable(path):
            data = path.read_bytes()
        if needle not in data:
            return []
        lines = data.split(b"\n")
        if len(lines) < MIN_PLAN_LINES:  # Written before November 2026.
            return list(self._json(name, "plan.json")["records"])
        with _readable(path):
            return [orjson.loads(line.rstrip(b",")) for line in lines[1:-1] if needle in line]

    def places(self, name: str) -> dict[str, FileVersion]:
        """Return the paths and digests of an entry's files when it was done."""
        return {id: FileVersion(**place) for id, place in self._json(name, "after.json").items()}

    def is_applied(self, name: str) -> bool:
        """Return whether all files were changed."""
        return (self._folder / name / "after.json").is_file()

    def before(self, name: str) -> dict[str, bytes]:
        """Return the previous content of the files, by path."""
        return _unzipped(self._folder / name / "before.zip")

    def target(self, name: str) -> dict[str, bytes]:
        """Return the content written by an undo, by path. Return nothing for other entries."""
        path = self._folder / name / "target.zip"
        return _unzipped(path) if path.exists() else {}

    def _json(self, name: str, file: str) -> dict[str, Any]:
        path = self._folder / name / file
        with _readable(path):
            values: dict[str, Any] = orjson.loads(path.read_bytes())
        return values

    # Writing

    def create(
        self,
        kind: EntryKind,
        records: Sequence[JournalRecord],
        before: Mapping[str, bytes],
        *,
        at: datetime,
        trigger: str,
        of: str = "",
        target: Mapping[str, bytes] | None = None,
    ) -> str:
        """Write the plan and the snapshot durably. Return the name of the new entry, which is then ready to be applied."""
        number = max((int(name.rpartition("-")[2]) for name in self.names()), default=0) + 1
        head = EntrySummary(
            f"{kind.value}-{number:04d}", kind, to_iso(at), trigger, EntryStep.READY, of, len(records), _counts(records)
        )
        draft = make_private_dir(self._folder / f"{_UNFINISHED}{head.name}")
        write_atomic(draft / "plan.json", _plan_bytes(records))
        write_atomic(draft / "before.zip", _zipped(before))
        if target is not None:
            write_atomic(draft / "target.zip", _zipped(target))
        write_atomic(draft / "head.json", _head_bytes(head))
        draft.rename(self._folder / head.name)
        sync_dir(self._folder)
        return head.name

    def set_step(self, name: str, step: EntryStep, note: str = "") -> None:
        """Set the step of an entry durably."""
        self._write_head(replace(self.head(name), step=step, note=note))

    def set_applied(self, name: str, places: Mapping[str, FileVersion]) -> None:
        """Record that all files have been changed. From then on, the entry can only be completed."""
        write_atomic(self._folder / name / "after.json", orjson.dumps({id: asdict(place) for id, place in places.items()}))

    def note_undone(self, name: str) -> None:
        """Record an applied undo in the entries that it reverted or restored. Idempotent."""
        undo = self.head(name)
        ids = {record.id for record in self.records(name)}
        of = self.head(undo.of)
        self._write_head(replace(of, undone=tuple(sorted({*of.undone, *ids}))))
        if of.kind is EntryKind.UNDO:
            first = self.head(of.of)
            self._write_head(replace(first, undone=tuple(sorted(set(first.undone) - ids))))

    def _write_head(self, head: EntrySummary) -> None:
        write_atomic(self._folder / head.name / "head.json", _head_bytes(head))

    def erase(self, memory: str) -> None:
        """Delete a memory and its groups from all entries. These changes can no longer be undone."""
        for name in {head.name for head, _ in self.history(memory)}:
            records = self.records(name)
            groups = {record.group or record.id for record in records if record.id == memory}
            gone = [record for record in records if (record.group or record.id) in groups]
            paths = {path for record in gone for path in (record.before_path, record.after_path)}
            self._rewrite(name, [record for record in records if record not in gone], paths)

    def _rewrite(self, name: str, records: Sequence[JournalRecord], without: Collection[str]) -> None:
        folder = self._folder / name
        for file in ("before.zip", "target.zip"):
            if (folder / file).exists():
                kept = {path: data for path, data in _unzipped(folder / file).items() if path not in without}
                write_atomic(folder / file, _zipped(kept))
        write_atomic(folder / "plan.json", _plan_bytes(records))
        ids = {record.id for record in records}
        if self.is_applied(name):  # the names of files begin with their statements
            self.set_applied(name, {id: place for id, place in self.places(name).items() if id in ids})
        head = self.head(name)
        undone = tuple(id for id in head.undone if id in ids)
        self._write_head(replace(head, memories=len(records), counts=_counts(records), undone=undone))

    def remove_unfinished(self) -> None:
        """Delete unfinished entries left by killed processes."""
        for path in self._folder.glob(f"{_UNFINISHED}*") if self._folder.is_dir() else ():
            shutil.rmtree(path, ignore_errors=True)

    def prune(self, keep: int) -> None:
        """Delete all but the newest `keep` entries. Deleted entries can no longer be undone."""
        for name in self.names()[: -keep or None]:
            shutil.rmtree(self._folder / name, ignore_errors=True)


def _counts(records: Sequence[JournalRecord]) -> dict[str, int]:
    out: dict[str, int] = {}
    for record in records:
        out[record.stage] = out.get(record.stage, 0) + 1
    return out


def _head_bytes(head: EntrySummary) -> bytes:
    return orjson.dumps(asdict(replace(head, counts=dict(head.counts))), option=orjson.OPT_INDENT_2)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Raise StoreError if the file is missing or damaged."""
    try:
        yield
    except (OSError, orjson.JSONDecodeError) as error:
        raise StoreError(f"{path} can't be read: {error}", fix="Delete that journal entry's folder.") from error


def _plan_bytes(records: Sequence[JournalRecord]) -> bytes:
    """Return a JSON object with one record per line."""
    return b'{"records":[\n' + b",\n".join(orjson.dumps(_record_to_dict(record)) for record in records) + b"\n]}"


def _record_to_dict(record: JournalRecord) -> dict[str, Any]:
    values = {name: getattr(record, name) for name in JournalRecord.__slots__}
    return values | {side: _item_or_none(getattr(record, side)) for side in ("before", "after")}


def _item_or_none(item: MemoryItem | None) -> dict[str, Any] | None:
    return None if item is None else item_to_dict(item)


def _record(values: dict[str, Any]) -> JournalRecord:
    items = {side: item_from_dict(values[side]) if values[side] else None for side in ("before", "after")}
    return JournalRecord(**{**values, **items, "action": Action(values["action"])})


def _zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(path, _ZIP_DATE), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _unzipped(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile) as error:
        raise StoreError(f"{path} can't be read: {error}", fix="The snapshot is damaged; this entry can't be undone.") from error
