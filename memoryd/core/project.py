"""Identity of projects.

A project is identified by its git common directory and remote. All worktrees and clones of a repository share memory,
while two folders with the same name do not. Without git, the real path is used. Git's files are read directly: no
process is started, and git need not be installed. A registry keeps known identities, so that a project keeps its
memory when a remote is added, renamed or removed.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from memoryd.core.errors import StoreError
from memoryd.core.files import locked, open_regular, read_regular, write_atomic
from memoryd.core.paths import is_there
from memoryd.core.text import digest
from memoryd.core.types import Project

log = logging.getLogger(__name__)
MAX_CONFIG_BYTES = 1_000_000  # In git's config.
MAX_POINTER_BYTES = 16_384
_DAMAGED = ".damaged"
_SECTION = re.compile(r'^\s*\[\s*remote\s+"(?P<name>[^"]+)"\s*\]', re.IGNORECASE)
_ANY_SECTION = re.compile(r"^\s*\[")
_URL = re.compile(r"^\s*url\s*=\s*(?P<url>\S+)", re.IGNORECASE)
_SCP = re.compile(r"^(?:[^@/]+@)?(?P<host>[^:/]+):(?!//)(?P<path>.+)$")
_USER = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/]*@", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")  # a path of Windows, not a host of one letter
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://(?P<host>[^/:]+)(?::\d+)?/(?P<path>.+)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GitFolder:
    """A git working tree: its root and the common directory that all its worktrees share."""

    root: Path
    common_dir: Path


def find_git(cwd: Path) -> GitFolder | None:
    """Return the working tree that contains `cwd`, or None."""
    for folder in (cwd, *cwd.parents):
        if found := _git_folder(folder):
            return found
    return None


def _git_folder(folder: Path) -> GitFolder | None:
    dot_git = folder / ".git"
    try:
        if dot_git.is_dir():
            return GitFolder(folder, dot_git.resolve())
        if dot_git.is_file() and (common := _linked_common_dir(dot_git)):
            return GitFolder(folder, common)
    except OSError:  # Access is denied, or the path is too long.
        return None
    return None


def _linked_common_dir(dot_git: Path) -> Path | None:
    try:
        text = _pointer(dot_git)
        if not text.startswith("gitdir:"):
            return None
        git_dir = (dot_git.parent / text.removeprefix("gitdir:").strip()).resolve()
        pointer = git_dir / "commondir"
        return (git_dir / _pointer(pointer)).resolve() if pointer.is_file() else git_dir
    except (OSError, ValueError, RuntimeError):  # Also covers a NUL in the path and loops of symbolic links.
        return None


def _pointer(path: Path) -> str:
    """Return the content of a file that names a folder. Raises OSError."""
    return read_regular(path, MAX_POINTER_BYTES).decode("utf-8", "replace").strip()


def normalise_remote(url: str) -> str:
    """Normalise a remote URL to `host/owner/repo` without credentials. Local paths are returned unchanged."""
    url = _USER.sub(r"\1", url)
    match = _SCHEME.match(url) or _SCP.match(url)
    if not match or url.startswith("file://") or _DRIVE.match(url):
        return url.removeprefix("file://").rstrip("/").removesuffix(".git")
    path = match["path"].strip("/").removesuffix(".git")
    return f"{match['host']}/{path}".lower()


def read_remote(common_dir: Path) -> str:
    """Return the normalised URL of `origin`, or else of the first remote. Return an empty string if there is no remote."""
    try:
        lines = read_regular(common_dir / "config", MAX_CONFIG_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    urls: dict[str, str] = {}
    current = ""
    for line in lines:
        if section := _SECTION.match(line):
            current = section["name"]
        elif _ANY_SECTION.match(line):
            current = ""
        elif current and (url := _URL.match(line)):
            urls.setdefault(current, normalise_remote(url["url"].strip('"')))
    return urls.get("origin") or next(iter(urls.values()), "")


@dataclass(slots=True)
class _Entry:
    name: str
    remotes: list[str] = field(default_factory=list)
    dirs: dict[str, int] = field(default_factory=dict)
    births: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)


_ID_HASH = re.compile(r"-[0-9a-f]{8,64}$")


def name_of(id: str) -> str:
    """Derive a project's name from its id, for projects known only from their memories."""
    return _ID_HASH.sub("", id) or id


class ProjectRegistry:
    """Resolves folders to projects, and stores each assigned identity."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def resolve(self, cwd: str | Path) -> Project:
        """Return the project of a folder. The folder need not exist or be accessible."""
        folder = _real(cwd)
        git = find_git(folder)
        if git is None:
            return self._remember(folder, folder, "")
        return self._remember(git.root, git.common_dir, read_remote(git.common_dir))

    def known_project(self, cwd: str | Path) -> str:
        """Return the id of a folder's project without registering the folder, or an empty string if the project is unknown."""
        folder = _real(cwd)
        git = find_git(folder)
        anchor, remote = (git.common_dir, read_remote(git.common_dir)) if git else (folder, "")
        return _match(self._load(), str(anchor), _inode(anchor), remote, repository_digests(anchor) if git else []) or ""

    def merge(self, old: str, new: str) -> None:
        """Reassign the folders and remotes of one project to another. The old id becomes another name of the new project."""
        with locked(self._path.with_suffix(".lock")):
            entries = self._load()
            gone = entries.pop(old, None) or _Entry("")
            kept = entries.setdefault(new, _Entry(name_of(new)))
            kept.aliases += [id for id in (old, *gone.aliases) if id not in (*kept.aliases, new)]
            kept.dirs |= gone.dirs
            kept.remotes += [remote for remote in gone.remotes if remote not in kept.remotes]
            kept.births += [birth for birth in gone.births if birth not in kept.births]
            self._save(entries)

    # Ids on several machines

    def shared_ids(self, project: str) -> tuple[str, ...]:
        """Return all ids that mean this project on the user's machines. The first is the one to use for new memories.

        Two machines with clones of one remote agree on the id that is made from it. Without a remote, the id of the machine that
        knew the project first is kept once the projects are linked.
        """
        entry = self._load().get(project)
        if entry is None:
            return (project,)
        from_remotes = [remote_id(remote) for remote in reversed(entry.remotes)]
        return tuple(dict.fromkeys((*from_remotes, *entry.aliases, project)))

    def local_id(self, shared: str) -> str:
        """Return this machine's id of a project that another machine names. An unknown id is returned unchanged."""
        entries = self._load()
        if shared in entries:
            return shared
        return next((id for id in sorted(entries) if shared in self.shared_ids(id)), shared)

    def learn_aliases(self, groups: Iterable[Iterable[str]]) -> list[tuple[str, str]]:
        """Learn from other machines which ids mean the same project. Return (other id, local id) of each new one."""
        new: list[tuple[str, str]] = []
        wanted = [set(group) for group in groups]
        for project in sorted(self._load()) if wanted else ():
            ours = set(self.shared_ids(project))
            for group in wanted:
                if ours & group:
                    new += [(id, project) for id in sorted(group - ours)]
        for other, project in new:
            self.merge(other, project)
        return new

    def known(self) -> dict[str, str]:
        """Return the names of known projects by id."""
        return {id: entry.name for id, entry in self._load().items()}

    def anchors(self, project: str) -> list[str]:
        """Return the project's git common directories, or its folders if it does not use git."""
        entry = self._load().get(project)
        return sorted(entry.dirs) if entry else []

    def folders(self, project: str) -> list[str]:
        """Return the project's folders. For a repository, this is the folder that contains `.git`."""
        return [anchor.removesuffix("/.git") or "/" for anchor in self.anchors(project)]

    def find(self, text: str) -> str | None:
        """Return the id of a project, given its id or an unambiguous name."""
        entries = self._load()
        if text in entries:
            return text
        named = [id for id, entry in entries.items() if entry.name == text]
        return named[0] if len(named) == 1 else None

    def _remember(self, root: Path, anchor: Path, remote: str) -> Project:
        inode = _inode(anchor)
        entries = self._load()
        births = repository_digests(anchor) if anchor != root else []
        id = _match(entries, str(anchor), inode, remote, births)
        name = remote.rsplit("/", 1)[-1] or _folder_name(anchor)
        common = str(anchor) if anchor != root else ""
        if id is None or not _complete(entries[id], str(anchor), inode, remote, births):
            id = self._update(name, str(anchor), inode, remote, births)
            name = self._load()[id].name
        else:
            name = entries[id].name
        return Project(id=id, name=name, root=str(root), common_dir=common, remote=remote)

    def _update(self, name: str, anchor: str, inode: int, remote: str, births: Sequence[str]) -> str:
        with locked(self._path.with_suffix(".lock")):
            entries = self._load()
            id = _match(entries, anchor, inode, remote, births) or _new_id(name, remote or anchor, entries.__contains__)
            entry = entries.setdefault(id, _Entry(name))
            for other in entries.values():
                if other is not entry:
                    other.dirs.pop(anchor, None)
            entry.dirs[anchor] = inode
            if remote and remote not in entry.remotes:
                entry.remotes.append(remote)
            entry.births += [birth for birth in births if birth not in entry.births]
            self._save(entries)
        return id

    def _load(self) -> dict[str, _Entry]:
        try:
            return _entries(orjson.loads(self._path.read_bytes()))
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return self._quarantine(error)

    def _quarantine(self, error: Exception) -> dict[str, _Entry]:
        """Set a damaged registry aside. Ids are derived again from remotes and paths, so only renames are lost."""
        aside = self._path.with_name(self._path.name + _DAMAGED)
        log.error("%s is damaged (%s); starting a new one and keeping the old file as %s", self._path, error, aside.name)
        try:
            self._path.replace(aside)
        except OSError as problem:
            raise StoreError(f"{self._path} is damaged and can't be moved.", fix="Move it away.") from problem
        return {}

    def _save(self, entries: dict[str, _Entry]) -> None:
        plain = {
            id: {"name": e.name, "remotes": e.remotes, "dirs": e.dirs, "births": e.births, "aliases": e.aliases}
            for id, e in sorted(entries.items())
        }
        write_atomic(self._path, orjson.dumps(plain, option=orjson.OPT_INDENT_2))


def _real(cwd: str | Path) -> Path:
    # The registry is JSON, which supports only valid Unicode.
    folder = Path(str(cwd).encode("utf-8", "replace").decode("utf-8"))
    try:
        folder = folder.expanduser()
        return folder.resolve() if folder.exists() else folder.absolute()
    except (OSError, ValueError, RuntimeError):
        return folder.absolute()  # The path is too long, inaccessible, starts with ~nobody, contains a NUL, or loops.


def repository_digests(common_dir: Path) -> list[str]:
    """Return digests of a repository's creation time and first commit, which identify it at any location.

    The creation time is the mtime of git's `description` file, which survives a move. The first line of HEAD's log
    contains the first commit with its author and time.
    """
    out = []
    with contextlib.suppress(OSError):  # The repository was created without git's templates.
        out.append(digest(str((common_dir / "description").stat().st_mtime_ns))[:16])
    try:
        with open_regular(common_dir / "logs" / "HEAD") as stream:
            line = stream.readline(4_096)
    except OSError:
        return out
    return [*out, digest(line.decode("utf-8", "replace"))[:16]] if line.strip() else out


def _inode(anchor: Path) -> int:
    try:
        return anchor.stat().st_ino
    except (OSError, ValueError):
        return 0


def _entries(raw: Any) -> dict[str, _Entry]:
    entries = {
        id: _Entry(
            value["name"],
            list(value["remotes"]),
            dict(value["dirs"]),
            list(value.get("births", ())),
            list(value.get("aliases", ())),
        )
        for id, value in raw.items()
    }
    if not all(isinstance(entry.name, str) for entry in entries.values()):
        raise TypeError("a name is not a string")
    return entries


def _folder_name(anchor: Path) -> str:
    return (anchor.parent.name if anchor.name == ".git" else anchor.name.removesuffix(".git")) or "root"


def _match(entries: dict[str, _Entry], anchor: str, inode: int, remote: str, births: Sequence[str]) -> str | None:
    """Return the id of the matching project, if any.

    A known remote takes precedence. Next is the same folder, unless another repository has taken its place. Last is a
    moved repository: one with the same first commit, whose known folders no longer exist. A copy next to the original
    is a new project.
    """
    if remote:
        for id, entry in entries.items():
            if remote in entry.remotes:
                return id
    for id, entry in entries.items():
        if anchor in entry.dirs:
            same_folder = inode in (0, entry.dirs[anchor])
            if not remote and (same_folder or not entry.remotes) or same_folder:
                return id
    same = [id for id, entry in entries.items() if set(births) & set(entry.births)]
    moved = [id for id in same if not any(map(is_there, entries[id].dirs))]
    return moved[0] if len(moved) == 1 else None


def _complete(entry: _Entry, anchor: str, inode: int, remote: str, births: Sequence[str]) -> bool:
    if not set(births) <= set(entry.births):
        return False
    return entry.dirs.get(anchor) == inode and (not remote or remote in entry.remotes)


def remote_id(remote: str) -> str:
    """Return the id that a project gets from its remote, on each machine."""
    return _new_id(remote.rsplit("/", 1)[-1], remote, lambda id: False)


def _new_id(name: str, seed: str, taken: Callable[[str], bool]) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "project"
    for length in range(8, 64):
        if not taken(id := f"{slug}-{digest(seed)[:length]}"):
            return id
    raise AssertionError("a SHA-256 collision")
