"""One run of sync: read the shared folder, take over what follows our versions, merge what was made apart, write ours.

What this machine knows about versions is in `state/sync.db`: for each memory the counts, and the value at the last sync, which is
the base of a merge. It is derived: without it, all memories are compared by their text once more. The vault itself is the truth;
a memory that differs from its last synced value was changed here.
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from memoryd.core.clock import from_iso, to_iso
from memoryd.core.codec import item_from_own_json, item_to_json
from memoryd.core.db import Database, Migrations
from memoryd.core.errors import ConflictError, InputError, StoreError
from memoryd.core.files import make_private_dir, try_lock, write_atomic
from memoryd.core.paths import Paths
from memoryd.core.project import ProjectRegistry
from memoryd.core.protocols import Clock
from memoryd.core.state import PURGED_NOTE, State
from memoryd.core.text import normalise, one_line, shorten
from memoryd.core.types import Link, LinkType, MemoryItem, Scope, Source, Status
from memoryd.daydream.redact import storable_text
from memoryd.dream.plan import Action, Change
from memoryd.dream.proposals import SYNC_STAGE, Proposal, id_of
from memoryd.dream.sweep import Sweep
from memoryd.lineage import merged_ids
from memoryd.service import Orchestrator
from memoryd.sync import shared
from memoryd.sync.shared import Contents, Machine
from memoryd.sync.signing import Key, machine_id, new_code, read_code
from memoryd.sync.transport import is_repository, target_of, transport_of, without_password
from memoryd.sync.versions import Gone, MergedVersion, Order, Version, joined, merge, order

log = logging.getLogger(__name__)
TRIES = 5
# More deletions at once than this, and than half of all memories, are taken for a vault that was emptied by mistake.
MANY_GONE = 20
PAST_KEPT = 6
MAX_PROBLEMS = 50
MANY = 2
EDITED_TWICE = "you changed it on two machines"
SAID_TWICE = "you reworded the same memory on two machines"

_SCHEMA = Migrations("sync")


@_SCHEMA.step
def m001_versions(db: Database) -> None:
    """Create the tables of the versions at the last sync, and of earlier ones, which can be the base of a merge."""
    db.execute("CREATE TABLE version (id TEXT PRIMARY KEY, seen TEXT, at TEXT, gone TEXT, item TEXT)")
    db.execute("CREATE TABLE file (path TEXT PRIMARY KEY, stamp TEXT, version TEXT)")
    db.execute("CREATE TABLE past (number INTEGER PRIMARY KEY, id TEXT, seen TEXT, item TEXT, UNIQUE (id, seen))")


# Configuration


@dataclass(frozen=True, slots=True)
class SyncSettings:
    """What `sync init` writes: where to, the keys of this machine, and machines that were shut out."""

    target: str
    name: str
    secret: str
    code: str
    revoked: tuple[str, ...] = ()
    last: str = ""
    problem: str = ""
    left_alone: tuple[tuple[str, str], ...] = ()


def load_settings(paths: Paths) -> SyncSettings | None:
    """Return the settings of sync, or None before `sync init`."""
    try:
        values = orjson.loads(paths.sync_settings.read_bytes())
        lists = {"revoked": tuple(values.get("revoked", ())), "left_alone": tuple(map(tuple, values.get("left_alone", ())))}
        return SyncSettings(**{**values, **lists})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{paths.sync_settings} can't be read: {error}", fix="Run 'memoryd sync init' again.") from error


def save_settings(paths: Paths, settings: SyncSettings) -> None:
    """Write the settings, readable by the user alone."""
    make_private_dir(paths.sync_settings.parent)
    write_atomic(paths.sync_settings, orjson.dumps(asdict(settings), option=orjson.OPT_INDENT_2))


def initialise(paths: Paths, target: str, folder: Path, code: str = "", name: str = "") -> SyncSettings:
    """Set up this machine. Without a code it is the first one, and a new code is made.

    Raises:
        InputError: The target or the code is invalid, or machines are there already and no code was given.
    """
    known = load_settings(paths)
    where = target_of(target, folder)
    transport = transport_of(where, paths.sync_clone)
    if Path(where).resolve() == paths.memories.resolve() or paths.home.resolve() in Path(where).resolve().parents:
        raise InputError(f"{where} is inside memoryd's own folder.", fix="Use a folder of its own.")
    transport.pull()
    own = known.code if known and known.target == where else ""
    used = read_code(code) if code else own
    others = list((transport.root / shared.MACHINES).glob("*.md")) if (transport.root / shared.MACHINES).is_dir() else []
    if others and not used:
        fix = "Run 'memoryd sync status' on a machine that is set up; it shows the code."
        raise InputError("Other machines already sync there, and no code was given.", fix=fix)
    if others and not shared.read(transport.root, used).machines:
        raise InputError("None of the machines there knows this code.", fix="Copy the code from 'memoryd sync status' there.")
    key = known.secret if known else Key.new().secret
    settings = SyncSettings(where, name or (known.name if known else _own_name()), key, used or new_code())
    save_settings(paths, settings)
    return settings


def _own_name() -> str:
    return shorten(one_line(platform.node().partition(".")[0]) or "machine", 40)


# One run


@dataclass(slots=True)
class SyncOutcome:
    """What one run did."""

    received: int = 0
    sent: int = 0
    merged: int = 0
    deleted: int = 0
    proposals: int = 0
    held_back: list[dict[str, str]] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)
    machines: list[dict[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Decisions:
    """What a run will change here and in the shared folder, by id."""

    apply: dict[str, Version] = field(default_factory=dict)
    send: dict[str, Version] = field(default_factory=dict)
    keep: dict[str, Version] = field(default_factory=dict)
    kept: list[MemoryItem] = field(default_factory=list)
    undecided: list[tuple[str, str]] = field(default_factory=list)
    forgotten_apart: set[str] = field(default_factory=set)


class Syncing:
    """Runs sync for one home.

    Args:
        paths: The home folder.
        service: The memories.
        state: Records about memories, for deletions by hand.
        sweep: Proposals, and the journal from which purged memories are erased.
        registry: Known projects.
        clock: The current time.
        is_off: Returns whether memory is off for a project.
    """

    def __init__(
        self,
        paths: Paths,
        service: Orchestrator,
        state: State,
        sweep: Sweep,
        registry: ProjectRegistry,
        clock: Clock,
        is_off: Callable[[str], bool] = lambda project: False,
    ) -> None:
        self._paths = paths
        self._service = service
        self._state = state
        self._sweep = sweep
        self._registry = registry
        self._clock = clock
        self._is_off = is_off

    def run(self, *, force: bool = False) -> SyncOutcome:
        """Sync once.

        Raises:
            InputError: Sync is not set up.
            ConflictError: Another sync is running, or other machines kept pushing at the same time.
            StoreError: The shared folder can't be reached, or half of the memories have vanished here.
        """
        settings = load_settings(self._paths)
        if settings is None:
            raise InputError("Sync is not set up.", fix="Run 'memoryd sync init ADDRESS-OR-FOLDER'.")
        make_private_dir(self._paths.sync_settings.parent)
        lock = try_lock(self._paths.sync_settings.with_suffix(".lock"))
        if lock is None:
            raise ConflictError("A sync is in progress.", fix="Wait until it is done.")
        with lock:
            db = _SCHEMA.open(self._paths.sync_settings.with_name("versions.db"))
            try:
                return _Run(self, settings, db, force).run()
            finally:
                db.close()


class _Run:
    """The state of one run."""

    def __init__(self, owner: Syncing, settings: SyncSettings, db: Database, force: bool) -> None:
        self._paths, self._service, self._state = owner._paths, owner._service, owner._state
        self._sweep, self._registry, self._is_off = owner._sweep, owner._registry, owner._is_off
        self._settings, self._db, self._force = settings, db, force
        self._now = to_iso(owner._clock.now())
        self._key = Key(settings.secret)
        self._me = machine_id(self._key.public())
        self._transport = transport_of(settings.target, owner._paths.sync_clone)
        self._shared_project: dict[str, str] = {}
        self._away: set[str] = set()
        self._purged: set[str] = set()
        self._scrub_due = False
        self.report = SyncOutcome()

    def run(self) -> SyncOutcome:
        self._service.sync()  # takes over edits by hand that are not indexed yet
        for _ in range(TRIES):
            self._transport.pull()
            contents = shared.read(self._transport.root, self._settings.code, self._settings.revoked, self._files())
            self._join_projects(contents)
            sent = self._once(contents)
            self._introduce()
            if self._transport.push(f"{self._settings.name}: {sent} changed"):
                self._save_files(contents)
                if self._scrub_due:
                    self._db.scrub()
                return self._finished(contents)
        raise ConflictError("Other machines kept writing at the same time.", fix="Run 'memoryd sync now' again.")

    def _finished(self, contents: Contents) -> SyncOutcome:
        report = self.report
        report.problems = [{"path": path, "reason": reason} for path, reason in contents.problems]
        report.machines = [{"id": one.id, "name": one.name} for one in contents.machines.values()]
        left_alone = tuple(contents.problems[:MAX_PROBLEMS])
        settings = load_settings(self._paths) or self._settings  # a machine may have been shut out meanwhile
        save_settings(self._paths, replace(settings, last=self._now, problem="", left_alone=left_alone))
        self._state.set_note(PURGED_NOTE, " ".join(id for id in self._state.note(PURGED_NOTE).split() if id not in self._purged))
        return report

    # Projects

    def _join_projects(self, contents: Contents) -> None:
        """Learn which ids of other machines mean our projects, and move memories that came under such an id before."""
        groups = [group for machine in contents.machines.values() if machine.id != self._me for group in machine.projects]
        for other, ours in self._registry.learn_aliases(groups):
            log.info("project %s of another machine is %s here", other, ours)
            self._state.move_project(other, ours)
        self.__dict__.pop("_local", None)
        known = {item.project for item in self._service.all() if item.project and item.scope is not Scope.USER}
        moved = {project: self._local_project(project) for project in known}
        stale = {project: to for project, to in moved.items() if to != project}
        if stale:
            items = [item for item in self._service.all() if item.project in stale and item.scope is not Scope.USER]
            self._service.write_many([replace(item, project=stale[item.project]) for item in items])

    @cached_property
    def _local(self) -> Mapping[str, str]:
        out: dict[str, str] = {}
        for project in sorted(self._registry.known()):
            for shared_id in self._registry.shared_ids(project):
                out.setdefault(shared_id, project)
        return out | {project: project for project in self._registry.known()}

    def _local_project(self, shared_id: str) -> str:
        return self._local.get(shared_id, shared_id)

    def _introduce(self) -> None:
        """Write this machine's own file, with the ids of its projects that have several."""
        groups = []
        for project in sorted(self._registry.known()):
            ids = self._registry.shared_ids(project)
            if len(ids) > 1:
                groups.append(ids)
        machine = Machine(self._me, self._settings.name, self._key.public(), tuple(groups))
        shared.write_machine(self._transport.root, machine, self._key, self._settings.code)

    def _outward(self, item: MemoryItem) -> MemoryItem:
        """Return a memory as it is shared: without what concerns only this machine, and with the shared id of its project."""
        project = item.project
        if project and item.scope is not Scope.USER:
            known = self._shared_project.get(item.id)
            ids = self._registry_ids(project)
            project = known if known in ids else ids[0]
        return replace(item, backends=(), project=project)

    def _registry_ids(self, project: str) -> tuple[str, ...]:
        if project not in self._ids:
            self._ids[project] = self._registry.shared_ids(project)
        return self._ids[project]

    @cached_property
    def _ids(self) -> dict[str, tuple[str, ...]]:
        return {}

    def _inward(self, item: MemoryItem) -> MemoryItem:
        project = self._local_project(item.project) if item.project and item.scope is not Scope.USER else item.project
        return replace(item, project=project)

    # Versions of this machine

    def _known(self) -> dict[str, Version]:
        """Return the versions at the last sync."""
        out = {}
        for id, seen, at, gone, item in self._db.execute("SELECT id, seen, at, gone, item FROM version"):
            value = item_from_own_json(item) if item else None
            out[id] = Version(id, value, orjson.loads(seen), at, "", Gone(gone))
            if value is not None:
                self._shared_project[id] = value.project
        return out

    def _save(self, versions: Iterable[Version], known: Mapping[str, Version]) -> None:
        """Store versions that differ from what is stored."""
        rows = [
            (v.id, orjson.dumps(dict(v.seen)).decode(), v.at, v.gone.value, item_to_json(v.item).decode() if v.item else "")
            for v in versions
            if v.id not in known
            or (dict(v.seen), v.gone) != (dict(known[v.id].seen), known[v.id].gone)
            or v.item != known[v.id].item
        ]
        with self._db.transaction():
            self._db.executemany("INSERT OR REPLACE INTO version (id, seen, at, gone, item) VALUES (?, ?, ?, ?, ?)", rows)
            past = [(id, seen, item) for id, seen, _, gone, item in rows if not gone]
            self._db.executemany("INSERT OR IGNORE INTO past (id, seen, item) VALUES (?, ?, ?)", past)
            newest = "SELECT number FROM past WHERE id = ? ORDER BY number DESC LIMIT ?"
            self._db.executemany(
                f"DELETE FROM past WHERE id = ? AND number NOT IN ({newest})",  # noqa: S608 - a constant
                [(id, id, PAST_KEPT) for id, *_ in rows],
            )
            self._db.executemany("DELETE FROM past WHERE id = ?", [(id,) for id, _, _, gone, _ in rows if gone])
        self._scrub_due = self._scrub_due or any(gone for _, _, _, gone, _ in rows)

    def _files(self) -> dict[str, tuple[str, Version]]:
        """Return the shared files that were verified before, by path, with the stamps that they had."""
        out = {}
        for path, stamp, text in self._db.execute("SELECT path, stamp, version FROM file"):
            values = orjson.loads(text)
            item = item_from_own_json(values["item"]) if values["item"] else None
            version = Version(values["id"], item, values["seen"], values["at"], values["by"], Gone(values["gone"]))
            out[path] = (stamp, version)
        return out

    def _save_files(self, contents: Contents) -> None:
        new = [(path, stamp, _stored(version)) for path, (stamp, version) in contents.verified.items()]
        with self._db.transaction():
            self._db.executemany("INSERT OR REPLACE INTO file (path, stamp, version) VALUES (?, ?, ?)", new)
            self._db.executemany("DELETE FROM file WHERE path = ?", [(path,) for path in contents.vanished])

    def _ours(self, known: Mapping[str, Version]) -> dict[str, Version]:
        """Return the present version of each memory here. Changes since the last sync are counted."""
        self.report.held_back = []
        out: dict[str, Version] = {}
        self._away = set()
        for item in self._service.all():
            version = self._present(self._outward(item), known.get(item.id))
            changed = item.id not in known or version.seen != known[item.id].seen
            if self._stays_here(item) or (changed and self._has_secret(item)):
                self._away.add(item.id)
            else:
                out[item.id] = version
        missing = [version for id, version in known.items() if not version.gone and id not in out and id not in self._away]
        self._refuse_mass_deletion(len(missing), len(known))
        purged = self._purged = set(self._state.note(PURGED_NOTE).split())
        for version in missing:
            gone = Gone.PURGED if version.id in purged else Gone.DELETED
            out[version.id] = Version(version.id, None, self._counted(version.seen), self._now, self._me, gone)
        for id, version in known.items():
            if version.gone and id not in out:
                gone = Gone.PURGED if id in purged else version.gone
                out[id] = version if gone is version.gone else replace(version, gone=gone, seen=self._counted(version.seen))
        return out

    def _present(self, item: MemoryItem, known: Version | None) -> Version:
        if known is None:
            return Version(item.id, item, {self._me: 1}, self._now, self._me)
        if known.item == item:
            return replace(known, by=self._me)
        return Version(item.id, item, self._counted(known.seen), self._now, self._me)

    def _counted(self, seen: Mapping[str, int]) -> dict[str, int]:
        return {**seen, self._me: seen.get(self._me, 0) + 1}

    def _stays_here(self, item: MemoryItem) -> bool:
        """Return whether a memory is not shared at all: it is unconfirmed, the team's, or memory is off for its project.

        What the team reviewed is read from its repository on each machine.
        """
        is_projects = bool(item.project) and item.scope is not Scope.USER
        if item.source is Source.TEAM:
            return True
        return item.status is Status.CANDIDATE or (is_projects and self._is_off(item.project))

    def _has_secret(self, item: MemoryItem) -> bool:
        """Return whether a changed memory holds a secret, and then report it."""
        texts = (item.content, *item.tags, *item.entities, *item.asked_as, item.evidence.transcript, *item.evidence.paths)
        found = {kind for text in texts if text for kind in storable_text(text).found}
        if found:
            reason = f"it holds what must not be shared ({', '.join(sorted(found))})"
            self.report.held_back.append({"id": item.id, "reason": reason})
        return bool(found)

    def _refuse_mass_deletion(self, missing: int, known: int) -> None:
        if self._service.health().missing_vault:
            raise StoreError(f"The folder of memories {self._service.folder} is missing.", fix="Restore the folder first.")
        if not self._force and missing > MANY_GONE and missing * 2 > known:
            what = f"{missing} of {known} memories have vanished here since the last sync."
            raise StoreError(what, fix="Restore them, or delete them on your other machines too with 'memoryd sync now --force'.")

    # Decisions

    def _once(self, contents: Contents) -> int:
        """Compare, apply and write. Return the number of files written."""
        with self._service.writing():
            known = self._known()
            ours = self._ours(known)
            decisions = self._decide(ours, contents)
            self._apply(decisions, ours)
            self._resolve_forks(decisions)
            self._save({**decisions.keep, **decisions.apply, **decisions.send}.values(), known)
        shared.write(self._transport.root, list(decisions.send.values()), contents, self._key)
        self.report.sent += len(decisions.send)
        self._propose(decisions)
        return len(decisions.send)

    def _decide(self, ours: Mapping[str, Version], contents: Contents) -> _Decisions:
        out = _Decisions()
        for id in sorted({*ours, *contents.versions} - self._away):
            mine = ours.get(id)
            there = contents.versions.get(id, [])
            for theirs in there if len(there) < MANY else sorted(there, key=lambda version: (version.at, version.digest())):
                mine = theirs if mine is None else self._combined(mine, theirs, out)
            assert mine is not None
            if id in ours or mine.item is None or not self._stays_here(self._inward(mine.item)):
                self._note(mine, ours.get(id), contents, out)
        for kept in out.kept:
            if kept.id not in ours and kept.id not in contents.versions:
                out.apply[kept.id] = out.send[kept.id] = Version(kept.id, kept, {self._me: 1}, self._now, self._me)
        return out

    def _note(self, final: Version, mine: Version | None, contents: Contents, out: _Decisions) -> None:
        """Note what to do so that this machine and the shared folder both have the final version."""
        there = contents.versions.get(final.id, [])
        is_there = len(there) == 1 and dict(there[0].seen) == dict(final.seen) and there[0].says_same(final)
        if not is_there or len(contents.files.get(final.id, ())) > 1:
            out.send[final.id] = replace(final, by=self._me)
        if mine is None or not mine.says_same(final):
            out.apply[final.id] = final
        else:
            out.keep[final.id] = final

    def _combined(self, mine: Version, theirs: Version, out: _Decisions) -> Version:
        relation = order(theirs.seen, mine.seen)
        if relation is Order.AFTER:
            return theirs
        if relation is Order.BEFORE or (relation is Order.SAME and theirs.says_same(mine)):
            return mine
        seen, at = joined(mine.seen, theirs.seen), max(mine.at, theirs.at)
        if theirs.says_same(mine):
            return replace(mine, seen=seen, at=at)
        merged = merge(self._base(mine, theirs), mine, theirs)
        self.report.merged += 1
        self._note_merged(merged, mine, theirs, out)
        made = Version(mine.id, merged.item, seen, at, self._me, merged.gone)
        return made if made.says_same(theirs) else replace(made, seen=self._counted(seen))

    def _base(self, mine: Version, theirs: Version) -> MemoryItem | None:
        """Return the last version that both follow, as far as this machine remembers."""
        for seen, item in self._db.execute("SELECT seen, item FROM past WHERE id = ? ORDER BY number DESC", (mine.id,)):
            counts = orjson.loads(seen)
            if all(order(counts, version.seen) in (Order.BEFORE, Order.SAME) for version in (mine, theirs)):
                return item_from_own_json(item)
        return None

    def _note_merged(self, merged: MergedVersion, mine: Version, theirs: Version, out: _Decisions) -> None:
        out.kept += merged.kept
        out.undecided += [(mine.id, kept.id) for kept in merged.kept if merged.is_undecided]
        statuses = {version.item.status for version in (mine, theirs) if version.item is not None}
        if merged.item is not None and merged.item.status is Status.BLACKLISTED and Status.SUPERSEDED in statuses:
            out.forgotten_apart.add(mine.id)

    # Changes here

    def _apply(self, decisions: _Decisions, ours: Mapping[str, Version]) -> None:
        writes = []
        for version in decisions.apply.values():
            if version.item is not None:
                writes.append(self._inward(version.item))
            elif version.id in ours and ours[version.id].item is not None:
                self._remove(version)
        if writes:
            self._service.write_many(writes)
            self._state.ledger.unmark_deleted([item.id for item in writes])
        self.report.received += len(writes)
        self._forget_merged(decisions)

    def _remove(self, version: Version) -> None:
        """Delete a memory that was deleted on another machine. Its text stays refused; purged ones leave no trace."""
        self.report.deleted += 1
        if version.gone is Gone.PURGED:
            self._sweep.erase(version.id)
            self._service.purge(version.id)
            return
        item = self._service.get(version.id)
        self._service.delete(version.id)
        if item is not None:
            self._state.ledger.mark_deleted([item])

    def _forget_merged(self, decisions: _Decisions) -> None:
        """Forget memories into which a forgotten one was merged by a machine that did not know that it was forgotten."""
        if not decisions.forgotten_apart:
            return
        for item in list(self._service.all()):
            sources = decisions.forgotten_apart & set(merged_ids(item))
            if sources and item.status is Status.ACTIVE:
                ends = [old.expired_at for id in sources if (old := self._service.get(id)) is not None and old.expired_at]
                ended = max(ends, default=from_iso(self._now))
                self._changed(replace(item, status=Status.BLACKLISTED, expired_at=ended, pinned=False), decisions)

    def _changed(self, item: MemoryItem, decisions: _Decisions) -> None:
        """Write a further change by this run, as a new version of this machine."""
        self._service.write(item)
        before = decisions.apply.get(item.id) or decisions.send.get(item.id) or decisions.keep.get(item.id)
        seen = self._counted(before.seen if before is not None else {})
        decisions.send[item.id] = Version(item.id, self._outward(item), seen, self._now, self._me)
        decisions.apply.pop(item.id, None)
        decisions.keep.pop(item.id, None)

    def _resolve_forks(self, decisions: _Decisions) -> None:
        """Decide between two memories that replaced the same one on two machines.

        The newer one holds and the other is kept as superseded. If both are the user's, both stay until the user decides.
        """
        received = {id for id, version in decisions.apply.items() if version.item is not None and version.item.supersedes}
        if not received:
            return
        replaced: dict[str, list[MemoryItem]] = {}
        for item in self._service.all():
            if item.status is Status.ACTIVE and item.supersedes:
                replaced.setdefault(item.supersedes, []).append(item)
        for rivals in replaced.values():
            if len(rivals) > 1 and received & {item.id for item in rivals}:
                self._resolve(rivals, decisions)

    def _resolve(self, rivals: Sequence[MemoryItem], decisions: _Decisions) -> None:
        *older, newest = sorted(rivals, key=lambda item: (item.valid_from or item.created_at, item.created_at, item.id))
        for item in older:
            if normalise(item.content) == normalise(newest.content):
                continue  # the next dream merges them
            if item.source is newest.source is Source.USER:
                decisions.undecided.append((newest.id, item.id))
                continue
            self._changed(_ended(item, newest), decisions)
            link = Link(LinkType.SUPERSEDES, item.id)
            newest = replace(newest, links=newest.links if link in newest.links else (*newest.links, link))
            self._changed(newest, decisions)

    # Proposals

    def _propose(self, decisions: _Decisions) -> None:
        """Ask the user about texts that both machines changed, and drop questions that were answered elsewhere."""
        found = []
        for newer_id, older_id in decisions.undecided:
            newer, older = self._service.get(newer_id), self._service.get(older_id)
            if newer is not None and older is not None:
                group = _choice(newer, older)
                found.append(Proposal(id_of(group), group, group[0].reason, self._now))
        self.report.proposals += len(found)
        self._sweep.proposals.add(found)
        self._sweep.proposals.drop_answered(SYNC_STAGE, self._service.get)


def _stored(version: Version) -> bytes:
    item = item_to_json(version.item).decode() if version.item is not None else ""
    return orjson.dumps({**asdict(replace(version, item=None)), "item": item})


def _ended(item: MemoryItem, by: MemoryItem) -> MemoryItem:
    until = max(by.valid_from or by.created_at, item.valid_from or item.created_at)
    return replace(item, status=Status.SUPERSEDED, expired_at=item.expired_at or by.created_at, valid_to=item.valid_to or until)


def _choice(newer: MemoryItem, older: MemoryItem) -> tuple[Change, ...]:
    """Return the changes that let the older text hold instead (same memory), or that end it (two memories)."""
    if older.status is Status.ACTIVE:
        after = _ended(older, newer)
        return (Change(SYNC_STAGE, Action.SUPERSEDE, older, after, f"{SAID_TWICE}: {newer.id} is newer"),)
    group = f"sync:{newer.id}"
    reason = f"{EDITED_TWICE}; the newer text holds, accept this to let the other one hold"
    return (
        Change(SYNC_STAGE, Action.REWORD, newer, replace(newer, content=older.content, check=None), reason, group),
        Change(SYNC_STAGE, Action.REWORD, older, replace(older, content=newer.content), reason, group),
    )


def shut_out(paths: Paths, machine: str) -> None:
    """Take over nothing more from a machine, given by its id or name.

    Raises:
        InputError: No machine, or this one, has that id or name, or several have the name.
    """
    settings = load_settings(paths)
    others = _others(paths, settings) if settings is not None else []
    found = [one.id for one in others if machine in (one.id, one.name)]
    if settings is None or len(found) != 1:
        raise InputError(
            f"No other machine, or more than one, is called '{machine}'.", fix="See 'memoryd sync status' for the ids."
        )
    save_settings(paths, replace(settings, revoked=tuple(dict.fromkeys((*settings.revoked, *found)))))


def _others(paths: Paths, settings: SyncSettings) -> list[Machine]:
    """Return the introduced machines other than this one, as last pulled."""
    root = transport_of(settings.target, paths.sync_clone).root
    me = machine_id(Key(settings.secret).public())
    return [one for one in shared.read_machines(root, settings.code, settings.revoked)[0].values() if one.id != me]


def note_problem(paths: Paths, problem: str) -> None:
    """Record why the last sync failed, for `status`."""
    settings = load_settings(paths)
    if settings is not None:
        save_settings(paths, replace(settings, problem=problem))


def status(paths: Paths) -> dict[str, Any]:
    """Return the settings of sync for display, with the machines and the problems of the last run."""
    settings = load_settings(paths)
    if settings is None:
        none: dict[str, Any] = {"target": "", "name": "", "machine": "", "code": "", "last": "", "by_git": False}
        return none | {"machines": [], "problems": []}
    failed = [{"path": "the last sync", "reason": settings.problem}] if settings.problem else []
    return {
        "target": without_password(settings.target),
        "name": settings.name,
        "machine": machine_id(Key(settings.secret).public()),
        "code": settings.code,
        "last": settings.last,
        "by_git": is_repository(settings.target),
        "machines": [{"id": one.id, "name": one.name} for one in _others(paths, settings)],
        "problems": [*failed, *({"path": path, "reason": reason} for path, reason in settings.left_alone)],
    }
