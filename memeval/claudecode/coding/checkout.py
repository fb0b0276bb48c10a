"""Working folders for tasks. Their history is one commit: nothing of the future, no remote, no tags."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from memeval.claudecode.coding.processes import Finished, plain_environment, run
from memeval.errors import DataError, DependencyError

_WHO = (
    "-c",
    "user.name=memeval",
    "-c",
    "user.email=memeval@localhost",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "core.autocrlf=false",
)
_TIMEOUT = 300.0
_TARGET = re.compile(r"^(?:---|\+\+\+) (?:[ab]/)?(?P<path>\S.*?)\s*$", re.MULTILINE)


def git(arguments: Sequence[str], cwd: Path, *, stdin: str = "", timeout: float = _TIMEOUT) -> Finished:
    """Run git without the user's configuration and without questions. DependencyError when there is none."""
    environment = plain_environment(
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_NOSYSTEM="1",
        GIT_TERMINAL_PROMPT="0",
        HOME=str(cwd),
        GIT_CEILING_DIRECTORIES=str(cwd),
    )
    return run(["git", *_WHO, *arguments], cwd, timeout=timeout, environment=environment, stdin=stdin)


def must(done: Finished, what: str, fix: str) -> str:
    """Output of a git call that has to work. Raises DataError."""
    if not done.ok:
        why = "it took too long" if done.timed_out else done.last_line or f"code {done.code}"
        raise DataError(f"{what}: {why}.", fix=fix)
    return done.output


def empty(folder: Path) -> None:
    """Make the folder, or empty it. A link is replaced by a folder, and what it led to stays."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        make_writable(folder)
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


def make_writable(folder: Path) -> None:
    """Give back the rights to remove what is inside, which git's objects and an agent may have taken."""
    for place, _, _ in os.walk(folder):
        Path(place).chmod(0o700)


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files by relative path. DataError for a path that leaves the folder."""
    for name, text in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise DataError(f"The file name {name!r} leaves the checkout.", fix="Correct the task's data.")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def commit_all(folder: Path) -> None:
    """Make the folder a repository of one commit. Without git it stays a plain folder, which will do for the tasks."""
    try:
        must(git(["init", "-q", "-b", "main"], folder), "git init failed", "Install git 2.28 or newer.")
        must(git(["add", "-A"], folder), "git add failed", "Look at the folder's rights.")
        must(git(["commit", "-q", "--no-verify", "-m", "Start"], folder), "git commit failed", "Look at the folder's rights.")
    except DependencyError:
        return


def apply(folder: Path, patch: str) -> Finished:
    """Apply a unified diff to the files of a folder, whole or not at all."""
    return git(["apply", "--whitespace=nowarn", "-"], folder, stdin=patch if patch.endswith("\n") else patch + "\n")


def touched(patch: str) -> list[str]:
    """Paths that a unified diff names, each once, in order."""
    found = (match["path"] for match in _TARGET.finditer(patch))
    return list(dict.fromkeys(path for path in found if path != "/dev/null"))


def change(agent: Path, clean: Path, leave_out: Sequence[str] = ()) -> str:
    """What an agent changed: a diff of its folder against a clean checkout of the same commit.

    The clean checkout's own git data are used, so commits, branches or a removed `.git` make no difference.
    `leave_out` are paths that don't count, such as the tests that decide.
    """
    there = [f"--git-dir={clean / '.git'}", f"--work-tree={agent}"]
    must(git([*there, "add", "-A"], agent), "The change can't be read", "Look at the folder of the task.")
    excluded = [f":(exclude,literal){path}" for path in leave_out]
    done = git([*there, "diff", "--cached", "--binary", "HEAD", "--", ".", *excluded], agent)
    patch = must(done, "The change can't be read", "Look at the folder of the task.")
    must(git(["reset", "-q", "--hard"], clean), "The clean checkout can't be restored", "Remove it.")
    return patch
