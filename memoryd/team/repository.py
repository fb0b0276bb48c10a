"""What a team has reviewed: the content of the default branch, as the last fetch brought it.

Everything is read from git's objects at one commit of the remote's default branch. Neither the working tree nor a local branch
counts, so an unreviewed commit, a fork's branch that was pulled, or a link in the working tree has no effect. Nothing is
fetched.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from memoryd.citations.repository import run_git
from memoryd.core.codec import COMMIT_PATTERN
from memoryd.core.errors import InputError
from memoryd.core.project import GitFolder, find_git, normalise_remote
from memoryd.stores.sync import look

MAX_FILES = 300
MAX_COMMITS = 5_000
USUAL_BRANCHES = ("main", "master", "trunk")
_REGULAR = ("100644", "100755")
_RECORD = re.compile(r"\x01(?=[0-9a-f]{40,64}\x1f)")
_NAME = re.compile(r"[\w][\w./+-]{0,200}")


@dataclass(frozen=True, slots=True)
class Origin:
    """A team's repository on this machine: the working tree, and the remote branch on which reviewed text arrives."""

    root: str
    remote: str
    address: str
    branch: str
    folder: str

    @property
    def ref(self) -> str:
        """The full name of the branch. A local branch can't have this name."""
        return f"refs/remotes/{self.remote}/{self.branch}"


@dataclass(slots=True)
class Tree:
    """The files of a team at a commit, and what was left alone."""

    files: dict[str, bytes] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Contribution:
    """One commit that changed a file of the team. `what` is git's letter: A added, M changed, D deleted."""

    path: str
    what: str
    commit: str
    author: str
    address: str
    at: str
    committer: str


def find_origin(root: Path, folder: str, remote: str = "", branch: str = "") -> Origin:
    """Return the remote branch that holds what a team has reviewed.

    Raises:
        InputError: There is no such remote or branch.
    """
    remotes = _text(run_git(root, ("remote",))).split()
    name = remote or next((one for one in ("origin", *remotes) if one in remotes), "")
    if name not in remotes or not _NAME.fullmatch(name):
        what = f"has no remote '{remote}'" if remote else "has no remote, so nothing shows what was reviewed"
        raise InputError(f"{root} {what}.", fix="Add the team's repository: git remote add origin ADDRESS, then git fetch.")
    found = branch or _default_branch(root, name)
    if not found or not _NAME.fullmatch(found) or ".." in found or not _commit(root, f"refs/remotes/{name}/{found}"):
        raise InputError(
            f"The default branch of '{name}' is unknown here.",
            fix=f"Run: git fetch {name} && git remote set-head {name} --auto, or name it with --branch.",
        )
    return Origin(str(root), name, address_of(root, name), found, folder)


def watched_folder(git: GitFolder) -> Path:
    """Return the working tree to remember for a repository: the main one, since linked ones are often removed."""
    return git.common_dir.parent if git.common_dir.name == ".git" else git.root


def is_another_clone(origin: Origin, cwd: Path) -> bool:
    """Return whether a folder is in a clone of the team's repository other than the one whose fetches count."""
    here, watched = find_git(cwd), find_git(Path(origin.root))
    return here is not None and (watched is None or here.common_dir != watched.common_dir)


def fetch_stamp(origin: Origin) -> tuple[object, ...]:
    """Return a value that changes when git moves the remote branch. It costs no process."""
    git = find_git(Path(origin.root))
    names = (origin.ref, "packed-refs", "reftable/tables.list", "config")
    return tuple(look(git.common_dir / name) for name in names) if git else ()


def _default_branch(root: Path, remote: str) -> str:
    prefix = f"refs/remotes/{remote}/"
    head = _text(run_git(root, ("symbolic-ref", "--quiet", f"{prefix}HEAD"))).strip()
    if head.startswith(prefix):
        return head.removeprefix(prefix)
    return next((name for name in USUAL_BRANCHES if _commit(root, prefix + name)), "")


def address_of(root: Path, remote: str) -> str:
    """Return the normalised address of a remote, without credentials."""
    return normalise_remote(_text(run_git(root, ("config", "--get", f"remote.{remote}.url"))).strip())


def reviewed_commit(origin: Origin) -> str:
    """Return the commit that the default branch had at the last fetch.

    Raises:
        InputError: The repository is away, leads elsewhere now, or puts something else in the place of the branch.
    """
    root = Path(origin.root)
    if not root.is_dir():
        raise InputError(f"{root} is missing.", fix="Run 'memoryd team init' in the repository's current folder.")
    if address_of(root, origin.remote) != origin.address:
        what = f"The remote '{origin.remote}' no longer leads to {origin.address or 'where it did'}."
        raise InputError(what, fix="If the team has moved, run 'memoryd team init' again.")
    for spec in _text(run_git(root, ("config", "--get-all", f"remote.{origin.remote}.fetch"))).split():
        source = _source_of(spec.lstrip("+"), origin.ref)
        if source not in ("", f"refs/heads/{origin.branch}"):
            what = f"git fetches {source} in place of the branch '{origin.branch}' (remote.{origin.remote}.fetch)."
            raise InputError(what, fix="Correct the repository's git configuration.")
    commit = _commit(root, origin.ref)
    if not commit:
        raise InputError(f"{origin.ref} is missing in {root}.", fix=f"Run: git fetch {origin.remote}")
    return commit


def _source_of(spec: str, ref: str) -> str:
    """Return what a fetch rule puts into a reference, or an empty string if it does not concern it."""
    source, _, target = spec.partition(":")
    before, star, after = target.partition("*")
    if not star:
        return source if target == ref else ""
    if not (ref.startswith(before) and ref.endswith(after) and len(ref) >= len(before) + len(after)):
        return ""
    return source.replace("*", ref[len(before) : len(ref) - len(after)], 1)


def read_tree(origin: Origin, commit: str, most_bytes: int) -> Tree:
    """Return the Markdown files of the team's folder at a commit. Links, submodules and large files are left alone."""
    out = Tree()
    root = Path(origin.root)
    listing = run_git(root, ("ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", f"{origin.folder}/"))
    if listing is None:
        out.problems.append((origin.folder, "git can't list it"))
        return out
    wanted: dict[str, str] = {}
    for entry in filter(None, listing.split(b"\0")):
        head, _, raw = entry.partition(b"\t")
        path = os.fsdecode(raw)
        mode, type_, blob, size = (*head.decode("ascii", "replace").split(), "", "", "", "")[:4]
        if not path.endswith(".md") or _is_readme(path):
            continue
        shown = path.encode("utf-8", "replace").decode("utf-8")
        if mode not in _REGULAR or type_ != "blob" or shown != path:
            out.problems.append((shown, "it is not a regular file"))
        elif not size.isdigit() or int(size) > most_bytes:
            out.problems.append((shown, f"it is larger than {most_bytes // 1_000} kB"))
        elif len(wanted) >= MAX_FILES:
            out.problems.append((origin.folder, f"only its first {MAX_FILES} files are read"))
            break
        else:
            wanted[path] = blob
    out.files = _contents(root, wanted)
    out.problems += [(path, "git can't read it") for path in wanted if path not in out.files]
    return out


def _is_readme(path: str) -> bool:
    return path.rsplit("/", 1)[-1].lower() == "readme.md"


def _contents(root: Path, blobs: dict[str, str]) -> dict[str, bytes]:
    if not blobs:
        return {}
    output = run_git(root, ("cat-file", "--batch"), "".join(f"{blob}\n" for blob in blobs.values()).encode()) or b""
    out, at = {}, 0
    for path, blob in blobs.items():
        end = output.find(b"\n", at)
        head = output[at:end].decode("ascii", "replace").split() if end >= 0 else []
        if len(head) != 3 or head[0] != blob:  # git says that the object is missing
            at = end + 1 if end >= 0 else len(output)
            continue
        size = int(head[2])
        out[path] = output[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
    return out


def contributions(origin: Origin, commit: str) -> list[Contribution]:
    """Return who changed which file of the team, the latest first, as the commits of the default branch say."""
    form = "%x01%H%x1f%cI%x1f%an%x1f%ae%x1f%cn"
    arguments = ("log", "--no-renames", "--no-show-signature", f"--max-count={MAX_COMMITS}", f"--format={form}")
    output = run_git(Path(origin.root), (*arguments, "--name-status", "-z", commit, "--", f"{origin.folder}/"))
    out = []
    for record in _RECORD.split((output or b"").decode("utf-8", "replace"))[1:]:
        head, *rest = record.split("\0")
        hash, at, *who = head.strip().split("\x1f")
        words = [word.lstrip("\n") for word in rest]
        author, address, committer = who if len(who) == 3 else (" ".join(who), "", "")
        out += [
            Contribution(path, what[:1], hash, author, address, at, committer)
            for what, path in zip(words[::2], words[1::2], strict=False)
            if what and path and not _is_readme(path)
        ]
    return out


def _commit(root: Path, ref: str) -> str:
    found = _text(run_git(root, ("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"))).strip()
    return found if COMMIT_PATTERN.fullmatch(found) else ""


def _text(output: bytes | None) -> str:
    return (output or b"").decode("utf-8", "replace")
