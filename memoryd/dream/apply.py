"""Apply changes as journal entries, undo entries, and recover after a kill.

The snapshot is durable before the first file changes. After a kill, every single file is intact, with either its old
or its new content. The next start makes all files of the entry consistently old or new. The daemon's other writers
wait while an entry is applied. Readers don't wait: files are replaced one by one, and searches see their old state
until the index is updated, a thousand at a time.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memoryd.core.codec import item_digest
from memoryd.core.errors import BrokenFileError, InputError, MemorydError, StoreError
from memoryd.core.protocols import Clock
from memoryd.core.types import MemoryItem
from memoryd.dream.journal import SEE_JOURNAL, EntryKind, EntryStep, EntrySummary, FileVersion, Journal, JournalRecord
from memoryd.dream.plan import Change
from memoryd.lineage import as_before_merged
from memoryd.service import Orchestrator
from memoryd.stores import memory_file
from memoryd.stores.layout import canonical_path

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of applying changes.

    `entry` is empty if none were applied. `stale` lists changes to memories that were edited in the meantime.
    """

    entry: str = ""
    changes: tuple[Change, ...] = ()
    stale: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class UndoRefusal:
    """A file that an undo left unchanged, and the reason."""

    id: str
    path: str
    reason: str


@dataclass(slots=True)
class Undone:
    """Result of an undo: its own entry (empty if nothing was done), the restored memories, and the refusals."""

    entry: str = ""
    of: str = ""
    ids: list[str] = field(default_factory=list)
    refused: list[UndoRefusal] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _CurrentFile:
    """Current path and content of a memory's file. Without a file, the path is empty and the content is None."""

    path: str
    data: bytes | None
    mtime_ns: int = 0

    @property
    def sha(self) -> str:
        return _sha(self.data)


class Applier:
    """Changes memory files through the journal. `on_undone` is called with the records of a completed undo.

    The caller must hold the dream lock.
    """

    def __init__(
        self, service: Orchestrator, journal: Journal, clock: Clock, on_undone: Callable[[Sequence[JournalRecord], bool], None]
    ) -> None:
        self._service = service
        self._journal = journal
        self._clock = clock
        self._on_undone = on_undone

    # Forward

    def apply(self, changes: Sequence[Change], kind: EntryKind, trigger: str) -> Applied:
        """Apply changes as one entry. Skips groups with a memory that has changed since it was read.

        Raises:
            StoreError: A file can't be written. All changes were rolled back.
            InputError: A memory can't be stored. All changes were rolled back.
        """
        with self._service.writing():
            self._take_over_edits(changes)
            good, stale = self._still_fitting(changes)
            if not good:
                return Applied(stale=stale)
            found = {change.id: self._now(change.id) for change in good if change.before is not None}
            records = [_planned(change, found.get(change.id, _CurrentFile("", None))) for change in good]
            name = self._create(kind, records, found.values(), trigger)
            self._run(name, lambda: self._service.write_many([change.after for change in good]))
        return Applied(name, good, stale)

    def _take_over_edits(self, changes: Iterable[Change]) -> None:
        """Index pending manual edits, so that they count as changes made after the plan."""
        paths = (self._service.path_of(change.id) for change in changes)
        self._service.sync([path for path in paths if path is not None])

    def _still_fitting(self, changes: Sequence[Change]) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
        bad = {_group(change) for change in changes if not self._fits(change)}
        good = tuple(change for change in changes if _group(change) not in bad)
        return good, tuple(change for change in changes if _group(change) in bad)

    def _fits(self, change: Change) -> bool:
        now = self._service.get(change.id)
        if now is None or change.before is None:
            return now is change.before
        return item_digest(now) == item_digest(change.before)

    def _create(
        self,
        kind: EntryKind,
        records: Sequence[JournalRecord],
        found: Iterable[_CurrentFile],
        trigger: str,
        of: str = "",
        target: Mapping[str, bytes] | None = None,
    ) -> str:
        before = {now.path: now.data for now in found if now.data is not None}
        at = self._clock.now()
        return self._journal.create(kind, records, before, at=at, trigger=trigger, of=of, target=target)

    def _run(self, name: str, work: Callable[[], object]) -> None:
        self._journal.set_step(name, EntryStep.APPLYING)
        try:
            work()
        except MemorydError as error:
            self._roll_back(name, f"failed: {error.message}")
            raise
        ids = [record.id for record in self._journal.records(name)]
        states = {id: self._now(id) for id in ids}
        self._journal.set_applied(name, {id: FileVersion(now.path, now.sha) for id, now in states.items()})
        self._finish(name)

    def _finish(self, name: str) -> None:
        head = self._journal.head(name)
        if head.kind is EntryKind.UNDO:
            self._journal.note_undone(name)
            self._on_undone(self._journal.records(name), self._journal.head(head.of).kind is EntryKind.UNDO)
        self._journal.set_step(name, EntryStep.DONE)

    def _now(self, id: str) -> _CurrentFile:
        file = self._service.file_of(id)
        return _CurrentFile(file.path, file.data, file.mtime_ns) if file else _CurrentFile("", None)

    # Back

    def undo(self, name: str, only: Collection[str] | None = None) -> Undone:
        """Restore the previous content of an entry's files, or of those in `only` together with their groups.

        Files that have changed since the entry are left unchanged, together with their groups.

        Raises:
            InputError: The entry was not applied.
        """
        head = self._journal.head(name)
        if head.step is not EntryStep.DONE:
            raise InputError(f"{name} was not applied ({head.step}).", fix=SEE_JOURNAL)
        with self._service.writing():
            return self._undo(head, self._chosen(name, only))

    def _chosen(self, name: str, only: Collection[str] | None) -> list[JournalRecord]:
        records = self._journal.records(name)
        if only is None:
            return records
        groups = {_record_group(record) for record in records if record.id in only}
        return [record for record in records if _record_group(record) in groups]

    def _undo(self, head: EntrySummary, records: Sequence[JournalRecord]) -> Undone:
        places, before = self._journal.places(head.name), self._journal.before(head.name)
        out = Undone(of=head.name)
        found = {record.id: self._now(record.id) for record in records}
        todo = [record for record in records if not _is_back(record, found[record.id], before)]
        problems = {r.id: why for r in todo if (why := self._problem(r, found[r.id], places[r.id]))}
        bad = {_record_group(record) for record in todo if record.id in problems}
        for record in todo:
            if _record_group(record) in bad:
                where = found[record.id].path or record.before_path or record.after_path
                reason = problems.get(record.id, "it is grouped with a file that has been edited since")
                out.refused.append(UndoRefusal(record.id, str(self._service.folder / where), reason))
        todo = [record for record in todo if _record_group(record) not in bad]
        if todo:
            self._take_back(head, todo, found, before, out)
        return out

    def _take_back(
        self,
        head: EntrySummary,
        todo: Sequence[JournalRecord],
        found: Mapping[str, _CurrentFile],
        before: Mapping[str, bytes],
        out: Undone,
    ) -> None:
        records = [_reversed(record, found[record.id]) for record in todo]
        target = {record.before_path: before[record.before_path] for record in todo if record.before_path}
        now = [found[record.id] for record in todo]
        out.entry = self._create(EntryKind.UNDO, records, now, "by hand", of=head.name, target=target)
        out.ids = [record.id for record in todo]
        self._run(out.entry, lambda: self._put(_targets(records, target), records))

    def _problem(self, record: JournalRecord, now: _CurrentFile, place: FileVersion) -> str:
        if now.sha != place.sha and (now.data is None or _sha(as_before_merged(now.data)) != place.sha):
            return "it has been edited since" if now.path else "it has been deleted since"
        other = record.before_path
        if other and other != now.path and self._bytes(other) is not None:
            return f"another file exists at {self._service.folder / other}"
        return ""

    def _put(self, files: Mapping[str, bytes | None], records: Iterable[JournalRecord]) -> None:
        """Write these contents, then index the files. None deletes the file."""
        times = {record.after_path: record.target_mtime_ns for record in records if record.target_mtime_ns}
        self._service.put_files(files, {path: time for path, time in times.items() if files.get(path) is not None})

    # After a kill

    def recover(self) -> list[str]:
        """Complete or roll back every entry interrupted by a kill. Return the names of these entries."""
        self._journal.remove_unfinished()
        interrupted = [head.name for head in self._journal.heads() if head.step in (EntryStep.READY, EntryStep.APPLYING)]
        for name in interrupted:
            log.warning("journal entry %s was interrupted; recovering", name)
            if self._journal.is_applied(name):
                self._finish(name)
            else:
                self._roll_back(name, "interrupted")
        return interrupted

    def _roll_back(self, name: str, note: str) -> None:
        records, before = self._journal.records(name), self._journal.before(name)
        target = self._journal.target(name)
        files: dict[str, bytes | None] = {}
        left = []
        with self._service.writing():
            for record in records:
                found = {path: self._bytes(path) for path in {record.before_path, record.after_path} - {""}}
                there = {path: data for path, data in found.items() if data is not None}
                if all(self._is_ours(record, path, data, before, target) for path, data in there.items()):
                    files |= dict.fromkeys(there)
                    files |= {record.before_path: before[record.before_path]} if record.before_path else {}
                else:
                    left.append(record.id)
            restored = [_reversed(record, _CurrentFile(record.after_path, None)) for record in records]
            self._put({path: data for path, data in files.items() if data != self._bytes(path)}, restored)
        self._journal.set_step(name, EntryStep.ROLLED_BACK, f"{note}; edited since and left: {', '.join(left)}" if left else note)

    def _bytes(self, path: str) -> bytes | None:
        return self._service.read_file(path)

    def _is_ours(
        self, record: JournalRecord, path: str, data: bytes, before: Mapping[str, bytes], target: Mapping[str, bytes]
    ) -> bool:
        if data in (before.get(record.before_path), target.get(record.after_path)):
            return True
        return record.after is not None and _item(data, path) == memory_file.storable(record.after)


def _sha(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()


def _item(data: bytes, path: str) -> MemoryItem | None:
    try:
        return memory_file.read(data, path, path, 0).item
    except BrokenFileError:
        return None


def _group(change: Change) -> str:
    return change.group or change.id


def _record_group(record: JournalRecord) -> str:
    return record.group or record.id


def _planned(change: Change, now: _CurrentFile) -> JournalRecord:
    if change.before is not None and now.data is None:
        raise StoreError(f"The file of {change.id} can't be found.", fix="Run 'memoryd reindex'.")
    return JournalRecord(
        change.id,
        change.stage,
        change.action,
        change.reason,
        change.group,
        change.before,
        change.after,
        before_path=now.path,
        after_path=canonical_path(change.after),
        before_mtime_ns=now.mtime_ns,
    )


def _reversed(record: JournalRecord, now: _CurrentFile) -> JournalRecord:
    """Return a record that reverts the given one, starting from the current file."""
    return JournalRecord(
        record.id,
        record.stage,
        record.action,
        record.reason,
        record.group,
        record.after,
        record.before,
        before_path=now.path,
        after_path=record.before_path,
        before_mtime_ns=now.mtime_ns,
        target_mtime_ns=record.before_mtime_ns,
    )


def _is_back(record: JournalRecord, now: _CurrentFile, before: Mapping[str, bytes]) -> bool:
    return now.path == record.before_path and now.data == before.get(record.before_path)


def _targets(records: Iterable[JournalRecord], target: Mapping[str, bytes]) -> dict[str, bytes | None]:
    files: dict[str, bytes | None] = {}
    for record in records:
        files |= {record.before_path: None} if record.before_path else {}
    return files | {path: data for path, data in target.items()}
