"""The shared folder: one Markdown file per memory, one per machine. It holds nothing else of ours, and no index.

    machines/desk-3f2a9c1b7e55.md         a machine's public key, and the projects that it knows
    user/prefers-tabs-mem_0123456789ab.md a memory about the user
    shop-5d11b4aa/….md                    a memory of a project

A file is a memory as in the vault, with a key `sync` that says which machine made this version, from which changes it follows,
and the signature. What is not signed by an introduced machine is reported and left alone. Files are found by the id in their
names, so they can be renamed as long as the id stays; copies that a file service makes of a conflict are further versions.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from memoryd.core.codec import ID_PATTERN, is_id, item_to_dict
from memoryd.core.errors import BrokenFileError, StoreError
from memoryd.core.files import TEMPORARY_PREFIX, read_regular, write_atomic
from memoryd.core.types import MemoryItem, Scope, Status
from memoryd.stores import front_matter, memory_file
from memoryd.stores.layout import safe_name, slug
from memoryd.sync.signing import Key, introduction, is_introduced, is_signed, machine_id
from memoryd.sync.versions import Gone, Order, Version, order

log = logging.getLogger(__name__)
MACHINES = "machines"
MAX_FILES = 1_000_000
MAX_MACHINES = 100
MAX_COUNT = 1_000_000_000
SETTLED_NS = 2_000_000_000
_MACHINE = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine of the user, as it introduces itself.

    Attributes:
        projects: Sets of ids that mean the same project.
    """

    id: str
    name: str
    public: str
    projects: tuple[tuple[str, ...], ...] = ()


@dataclass(slots=True)
class Contents:
    """What the shared folder holds: the newest versions of each memory, the files that hold each, and what was left alone."""

    versions: dict[str, list[Version]] = field(default_factory=dict)
    files: dict[str, list[Path]] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)
    verified: dict[str, tuple[str, Version]] = field(default_factory=dict)
    vanished: set[str] = field(default_factory=set)


# Writing


def signed_bytes(version: Version) -> bytes:
    """Return the bytes that a version's signature covers."""
    values = {
        "id": version.id,
        "item": item_to_dict(version.item) if version.item is not None else None,
        "seen": dict(version.seen),
        "at": version.at,
        "by": version.by,
        "gone": version.gone.value,
    }
    return b"memoryd version\0" + orjson.dumps(values, option=orjson.OPT_SORT_KEYS)


def render(version: Version, key: Key) -> bytes:
    """Return the file of a version, signed by this machine."""
    sync: dict[str, Any] = {"by": version.by, "at": version.at, "seen": dict(version.seen)}
    sync |= {"gone": version.gone.value} if version.gone else {}
    sync["signature"] = key.sign(signed_bytes(version))
    if version.item is None:
        return front_matter.render({"id": version.id, "status": "gone", "sync": sync}, "")
    path = f"{version.id}.md"
    document = front_matter.parse(memory_file.render(version.item), path)
    return front_matter.edit(document, {"sync": sync}).to_bytes()


def render_machine(machine: Machine, key: Key, code: str) -> bytes:
    """Return the file with which a machine introduces itself."""
    projects = [list(ids) for ids in machine.projects]
    values = {
        "machine": machine.id,
        "name": machine.name,
        "key": machine.public,
        "proof": introduction(code, machine.public, machine.name),
        "projects": projects,
        "signature": key.sign(_machine_bytes(machine.public, projects)),
    }
    return front_matter.render(values, "A machine that shares these memories.")


def _machine_bytes(public: str, projects: Any) -> bytes:
    return b"memoryd machine\0" + orjson.dumps([public, projects])


def place_of(version: Version) -> str:
    """Return the path of a version's file below the shared folder."""
    item = version.item
    if item is None:
        return f"gone/{version.id}.md"
    folder = "user" if item.scope is Scope.USER else safe_name(item.project) if item.project else "none"
    folder = "forgotten" if item.status is Status.BLACKLISTED else f"team-{folder}" if item.scope is Scope.TEAM else folder
    return f"{folder}/{slug(item.content)}-{item.id}.md"


# Reading


def read(root: Path, code: str, revoked: Iterable[str] = (), known: Mapping[str, tuple[str, Version]] | None = None) -> Contents:
    """Read the shared folder. Links are not followed, and no file can make this fail.

    Args:
        root: The folder.
        code: The code that introduces machines.
        revoked: Machines that were shut out.
        known: Versions that were verified before, by path, each with the stamp of its file. They are not read again.
    """
    before = known or {}
    out = Contents()
    out.machines, out.problems = read_machines(root, code, revoked)
    there: set[str] = set()
    for path in _memory_files(root):
        relative = path.relative_to(root).as_posix()
        there.add(relative)
        stamp = _stamp(path)
        held = before.get(relative)
        version: Version | str
        if held is not None and held[0] == stamp and held[1].by in out.machines:
            version = held[1]
        else:
            version = _read_version(path, out.machines)
            if isinstance(version, Version) and stamp:
                out.verified[relative] = (stamp, version)
        if isinstance(version, str):
            out.problems.append((relative, version))
        else:
            out.files.setdefault(version.id, []).append(path)
            _add(out.versions.setdefault(version.id, []), version)
    out.vanished = before.keys() - there
    return out


def _stamp(path: Path) -> str:
    """Return what changes with a file's content, or an empty string while the file may change within the same tick."""
    try:
        found = path.stat()
    except OSError:
        return ""
    settled = time.time_ns() - found.st_mtime_ns > SETTLED_NS
    return f"{found.st_mtime_ns}:{found.st_size}:{found.st_ino}:{found.st_ctime_ns}" if settled else ""


def read_machines(root: Path, code: str, revoked: Iterable[str] = ()) -> tuple[dict[str, Machine], list[tuple[str, str]]]:
    """Return the introduced machines by id, and what is wrong with others."""
    shut, machines, problems = set(revoked), {}, []
    for path in sorted((root / MACHINES).glob("*.md"))[:MAX_MACHINES] if (root / MACHINES).is_dir() else ():
        machine = _read_machine(path, code)
        if isinstance(machine, Machine) and machine.id not in shut:
            machines[machine.id] = machine
        else:
            reason = machine if isinstance(machine, str) else "you have shut this machine out"
            problems.append((path.relative_to(root).as_posix(), reason))
    return machines, problems


def _add(versions: list[Version], new: Version) -> None:
    """Add a version unless another one follows it, and remove those that it follows."""
    orders = [order(new.seen, version.seen) for version in versions]
    if any(found is Order.BEFORE for found in orders):
        return
    if any(found is Order.SAME and version.digest() == new.digest() for found, version in zip(orders, versions, strict=True)):
        return
    versions[:] = [version for version, found in zip(versions, orders, strict=True) if found is not Order.AFTER]
    versions.append(new)


def _memory_files(root: Path) -> Iterator[Path]:
    waiting, count = [root], 0
    while waiting:
        try:
            entries = sorted(waiting.pop().iterdir())
        except OSError as error:
            raise StoreError(f"The shared folder can't be read: {error}", fix="Check that it is there and mounted.") from error
        for entry in entries:
            if entry.name.startswith((".", TEMPORARY_PREFIX)) or entry.is_symlink():
                continue
            if entry.is_dir():
                waiting += [entry] if entry.name != MACHINES or entry.parent != root else []
            elif entry.suffix == ".md" and ID_PATTERN.search(entry.name):
                count += 1
                if count > MAX_FILES:
                    return
                yield entry


def _document(path: Path) -> front_matter.Document | str:
    try:
        data = read_regular(path, memory_file.MAX_BYTES + 1)
        if len(data) > memory_file.MAX_BYTES:
            return "it is too large"
        return front_matter.parse(data, str(path))
    except BrokenFileError as error:
        return error.problem
    except (OSError, ValueError, RecursionError, ArithmeticError) as error:
        return f"it can't be read ({type(error).__name__})"


def _read_machine(path: Path, code: str) -> Machine | str:
    document = _document(path)
    if isinstance(document, str):
        return document
    values = document.values
    public, name, projects = str(values.get("key") or ""), str(values.get("name") or ""), values.get("projects") or []
    if not is_introduced(code, public, name, str(values.get("proof") or "").strip()):
        return "this machine does not know your code"
    if not is_signed(public, _machine_bytes(public, projects), str(values.get("signature") or "")):
        return "its signature is wrong"
    groups = (tuple(map(str, ids)) for ids in projects if isinstance(ids, list))
    return Machine(machine_id(public), name[:80], public, tuple(groups))


def _read_version(path: Path, machines: Mapping[str, Machine]) -> Version | str:
    document = _document(path)
    if isinstance(document, str):
        return document
    sync = document.values.get("sync")
    if not isinstance(sync, Mapping):
        return "no machine has signed it"
    machine = machines.get(str(sync.get("by")))
    if machine is None:
        return "it is signed by a machine that was not introduced"
    id = str(document.values.get("id") or "")
    version = _version(id, document, sync, path)
    if version is None:
        return "it is not a memory"
    if not is_signed(machine.public, signed_bytes(version), str(sync.get("signature") or "")):
        return "it was changed after it was signed"
    return version


def _version(id: str, document: front_matter.Document, sync: Mapping[str, Any], path: Path) -> Version | None:
    seen = sync.get("seen")
    if not is_id(id) or not isinstance(seen, Mapping) or not _are_counts(seen):
        return None
    try:
        gone = Gone(str(sync.get("gone") or ""))
        item: MemoryItem | None = None
        if gone is Gone.NO:
            item = memory_file.read(document.to_bytes(), str(path), f"user/x/{id}.md", 0).item
    except (BrokenFileError, memory_file.EmptyNoteError, ValueError):
        return None
    counts = {str(machine): int(count) for machine, count in sorted(seen.items())}
    return Version(id, item, counts, str(sync.get("at") or ""), str(sync.get("by")), gone)


def _are_counts(seen: Mapping[Any, Any]) -> bool:
    return all(
        _MACHINE.fullmatch(str(machine)) and isinstance(count, int) and 0 < count < MAX_COUNT for machine, count in seen.items()
    )


# Changing


def write(root: Path, versions: Sequence[Version], contents: Contents, key: Key) -> None:
    """Write versions to the shared folder, each in place of all files of its memory."""
    for version in versions:
        target = root / place_of(version)
        write_atomic(target, render(version, key))
        for old in contents.files.get(version.id, ()):
            if old != target:
                old.unlink(missing_ok=True)
        contents.files[version.id] = [target]


def write_machine(root: Path, machine: Machine, key: Key, code: str) -> None:
    """Write the file of this machine if it says something new."""
    target = root / MACHINES / f"{safe_name(machine.name)}-{machine.id}.md"
    known = _read_machine(target, code) if target.exists() else ""
    if known != machine:
        write_atomic(target, render_machine(machine, key, code))
