"""Queries to git about a working tree.

HEAD and blob ids are computed from files, without a process. Everything else runs `git` without the repository's
hooks, filters or helpers, without network access, and with a timeout of a few seconds.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import subprocess
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from memoryd.core.codec import COMMIT_PATTERN
from memoryd.core.files import read_regular
from memoryd.core.project import find_git

log = logging.getLogger(__name__)
GIT_SECONDS = 5.0
MAX_GIT_FILE_BYTES = 10_000_000  # The packed-refs file of a large repository.
MAX_FILE_BYTES = 1_000_000
MAX_OUTPUT_BYTES = 20_000_000
MAX_COMMITS = 5_000
MAX_TIPS = 20
MAX_GREPPED = 20
KEPT_ANSWERS = 2_000
SIMILAR = "-M40%"  # Low enough to recognise a file that was moved and edited in one commit.
_FULL_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# A repository's own configuration must not make git run anything.
_QUIET = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "protocol.allow=never", "--no-pager")
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",  # A replacement could give a commit another content than was reviewed.
    "LC_ALL": "C",
}


def head_commit(cwd: str) -> str:
    """Return the HEAD commit of the folder's repository or worktree, or an empty text."""
    git = find_git(Path(cwd)) if cwd else None
    if git is None:
        return ""
    head = _read(_git_dir(git.root) / "HEAD")
    if not head.startswith("ref:"):
        return head if _FULL_HASH.fullmatch(head) else ""
    name = head.removeprefix("ref:").strip()
    if ".." in name or name.startswith("/"):
        return ""
    loose = _read(git.common_dir / name)
    return loose if _FULL_HASH.fullmatch(loose) else _packed(git.common_dir, name)


def _git_dir(root: Path) -> Path:
    dot_git = root / ".git"
    pointer = "" if dot_git.is_dir() else _read(dot_git)
    return (root / pointer.removeprefix("gitdir:").strip()).resolve() if pointer.startswith("gitdir:") else dot_git


def _read(path: Path) -> str:
    try:
        return read_regular(path, MAX_GIT_FILE_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _packed(common_dir: Path, name: str) -> str:
    for line in _read(common_dir / "packed-refs").splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name and _FULL_HASH.fullmatch(commit):
            return commit
    return ""


def blob_id(data: bytes) -> str:
    """Return git's blob id for a file with this content, in a SHA-1 repository."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def read_file(path: Path) -> bytes | None:
    """Return the content of a regular file of up to 1 MB, or None."""
    try:
        data = read_regular(path, MAX_FILE_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= MAX_FILE_BYTES else None


class Repository:
    """Queries git about one working tree.

    Answers about commits are cached, because they don't change while HEAD stays the same.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._answers: OrderedDict[tuple[str, ...], bytes | None] = OrderedDict()

    def head(self) -> str:
        """Return the HEAD commit, or an empty text."""
        return head_commit(str(self.root))

    def holds(self, commit: str, head: str) -> bool | None:
        """Return whether a commit is in HEAD's history, or None if the repository does not have the commit."""
        if not COMMIT_PATTERN.fullmatch(commit) or self._known(head, "cat-file", "-e", f"{commit}^{{commit}}") is None:
            return None
        return self._known(head, "merge-base", "--is-ancestor", commit, head) is not None

    def renamed(self, path: str, commit: str, head: str) -> str:
        """Follow a path from a commit to the working tree. Return an empty text if it was deleted."""
        current = path
        if self.holds(commit, head):
            for old, new in self._moves(head, f"{commit}..{head}"):
                current = new if old == current else current
        for old, new in self._pairs(self._run("diff", SIMILAR, "--name-status", "-z", "--diff-filter=RD", "HEAD")):
            current = new if old == current else current
        return current

    def _moves(self, head: str, span: str) -> list[tuple[str, str]]:
        arguments = (
            "log",
            "--reverse",
            "--topo-order",
            f"--max-count={MAX_COMMITS}",
            SIMILAR,
            "--name-status",
            "-z",
            "--format=",
        )
        return self._pairs(self._known(head, *arguments, "--diff-filter=RD", span))

    @staticmethod
    def _pairs(output: bytes | None) -> list[tuple[str, str]]:
        """Parse `--name-status -z` into pairs of old and new paths. The new path is empty for a deletion."""
        words = [os.fsdecode(word).lstrip("\n") for word in (output or b"").split(b"\0")]
        out, at = [], 0
        while at < len(words):
            kind = words[at][:1]
            if kind == "R" and at + 2 < len(words):
                out.append((words[at + 1], words[at + 2]))
                at += 3
            elif kind == "D" and at + 1 < len(words):
                out.append((words[at + 1], ""))
                at += 2
            else:
                at += 1
        return out

    def untracked(self) -> list[str]:
        """Return files that git neither tracks nor ignores, such as the target of an uncommitted move."""
        found = self._run("ls-files", "--others", "--exclude-standard", "-z")
        return [os.fsdecode(path) for path in (found or b"").split(b"\0") if path]

    def files_with(self, word: str) -> list[str]:
        """Return the first files that contain a word, including uncommitted ones."""
        found = self._run("grep", "--untracked", "-l", "-w", "-z", "-F", "-I", "-e", word)
        return [os.fsdecode(path) for path in (found or b"").split(b"\0") if path][:MAX_GREPPED]

    def content(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file at a commit."""
        return self._known("", "cat-file", "blob", f"{commit}:{path}") if COMMIT_PATTERN.fullmatch(commit) else None

    def tips_with(self, commit: str, head: str) -> list[str]:
        """Return the tips of other branches, local and remote, that contain a commit."""
        found = self._run(
            "for-each-ref", f"--count={MAX_TIPS}", "--format=%(objectname)", "--contains", commit, "refs/heads", "refs/remotes"
        )
        tips = (found or b"").decode("ascii", "replace").split()
        return [tip for tip in dict.fromkeys(tips) if tip != head]

    def _known(self, head: str, *arguments: str) -> bytes | None:
        key = (head, *arguments)
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key]
        answer = self._answers[key] = self._run(*arguments)
        while len(self._answers) > KEPT_ANSWERS:
            self._answers.popitem(last=False)
        return answer

    def _run(self, *arguments: str) -> bytes | None:
        """Return git's output, or None if it failed, timed out or is not installed."""
        return run_git(self.root, arguments)


def run_git(root: Path, arguments: Sequence[str], given: bytes = b"") -> bytes | None:
    """Run git in a working tree, with `given` as its input. Return its output, or None if it failed, timed out or is missing."""
    command = ["git", *_QUIET, "-C", str(root), *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_DIR")} | _ENVIRONMENT
    try:
        done = subprocess.run(  # noqa: S603 - fixed commands; paths and commits are passed as single arguments
            command, input=given, capture_output=True, timeout=GIT_SECONDS, env=environment, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        log.info("git can't determine how cited code changed: %s", type(error).__name__)
        return None
    return done.stdout if done.returncode == 0 and len(done.stdout) <= MAX_OUTPUT_BYTES else None
