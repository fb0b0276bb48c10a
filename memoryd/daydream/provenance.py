"""The commit that a working folder stood at, read from git's own files without a process."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

from memoryd.project import find_git

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# HEAD is read when the log is read; for an older statement it would name a later commit.
FRESH = timedelta(hours=1)


def head_commit(cwd: str) -> str:
    """The commit of HEAD in the folder's repository or worktree, or empty."""
    git = find_git(Path(cwd)) if cwd else None
    if git is None:
        return ""
    head = _read(_git_dir(git.root) / "HEAD")
    if not head.startswith("ref:"):
        return head if _HASH.fullmatch(head) else ""
    name = head.removeprefix("ref:").strip()
    if ".." in name or name.startswith("/"):
        return ""
    loose = _read(git.common_dir / name)
    return loose if _HASH.fullmatch(loose) else _packed(git.common_dir, name)


def commit_for(cwd: str, said_at: datetime | None, now: datetime) -> str:
    """The commit to record with something said at that time; empty when it can't be told."""
    return head_commit(cwd) if said_at is not None and abs(now - said_at) <= FRESH else ""


def _git_dir(root: Path) -> Path:
    dot_git = root / ".git"
    pointer = "" if dot_git.is_dir() else _read(dot_git)
    return (root / pointer.removeprefix("gitdir:").strip()).resolve() if pointer.startswith("gitdir:") else dot_git


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _packed(common_dir: Path, name: str) -> str:
    for line in _read(common_dir / "packed-refs").splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name and _HASH.fullmatch(commit):
            return commit
    return ""
