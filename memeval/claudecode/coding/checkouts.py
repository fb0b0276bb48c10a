"""Create working folders for tasks, from files or from real repositories at a commit, and run programs in them.

The history of a folder is a single commit, without later commits, remotes or tags. Real repositories come from local clones
or from a git server, through a cache of single commits. When a subprocess times out, its whole process group is killed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import IO

from memeval.core.errors import DataError, DependencyError
from memoryd.core.processes import kill_group

KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
"""Environment variables visible to tests, without keys or user configuration."""
OUTPUT_BYTES = 4_000_000
"""Maximum size of the captured end of a program's output."""


@dataclass(frozen=True, slots=True)
class FinishedCheck:
    """The result of a process.

    `output` contains standard output and standard error, interleaved and limited to the last `OUTPUT_BYTES` bytes.
    """

    code: int
    output: str
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        """Return whether the process exited by itself with code 0."""
        return self.code == 0 and not self.timed_out

    @property
    def last_line(self) -> str:
        """Return the last non-blank line of the output, truncated to 200 characters."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""


def plain_environment(**more: str) -> dict[str, str]:
    """Return the environment variables of this process that don't affect results, together with `more`."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | more


def run(
    command: Sequence[str], cwd: Path, *, timeout: float, environment: Mapping[str, str] | None = None, stdin: str = ""
) -> FinishedCheck:
    """Run a program until it ends or `timeout` seconds have passed. Raises DependencyError if it is not installed.

    Processes that the program left running in its group are also killed.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as given:
        given.write(stdin.encode("utf-8", "surrogateescape"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                list(command),
                cwd=cwd,
                env=dict(environment if environment is not None else plain_environment()),
                stdin=given,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise DependencyError(f"The program {command[0]} can't be started.", fix=f"Install {command[0]}.") from None
        timed_out = _wait(process, timeout)
        return FinishedCheck(process.returncode, _tail(output), timed_out)


def _wait(process: subprocess.Popen[bytes], timeout: float) -> bool:
    """Wait for the process, then kill its group, even if the wait is interrupted. Return whether the process timed out."""
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        return True
    finally:
        kill_group(process)
        process.wait()
    return False


def _tail(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - OUTPUT_BYTES))
    return output.read().decode("utf-8", "replace")


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
_HUNK = re.compile(r"^@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")


def git(arguments: Sequence[str], cwd: Path, *, stdin: str = "", timeout: float = _TIMEOUT) -> FinishedCheck:
    """Run git without the user's configuration or prompts. Raises DependencyError if git is not installed."""
    environment = plain_environment(
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_NOSYSTEM="1",
        GIT_TERMINAL_PROMPT="0",
        HOME=str(cwd),
        GIT_CEILING_DIRECTORIES=str(cwd),
    )
    return run(["git", *_WHO, *arguments], cwd, timeout=timeout, environment=environment, stdin=stdin)


def must(done: FinishedCheck, what: str, fix: str) -> str:
    """Return the output of a git command. Raises DataError if the command fails."""
    if not done.ok:
        why = "it took too long" if done.timed_out else done.last_line or f"code {done.code}"
        raise DataError(f"{what}: {why}.", fix=fix)
    return done.output


def empty(folder: Path) -> None:
    """Create the folder, or empty it if it exists.

    A link is replaced by a folder. The target of the link is not changed.
    """
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        make_writable(folder)
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


def make_writable(folder: Path) -> None:
    """Make everything in the folder writable. Git's objects are read-only, and an agent may have removed permissions."""
    for place, _, _ in os.walk(folder):
        Path(place).chmod(0o700)


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files to the folder by their relative paths. Raises DataError for a path outside the folder."""
    for name, text in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise DataError(f"The file name {name!r} points outside the checkout.", fix="Correct the task's data.")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def commit_all(folder: Path) -> None:
    """Turn the folder into a repository with one commit.

    Without git, it remains a plain folder, which is sufficient for the tasks.
    """
    try:
        must(git(["init", "-q", "-b", "main"], folder), "git init failed", "Install git 2.28 or newer.")
        must(git(["add", "-A"], folder), "git add failed", "Check the folder's permissions.")
        must(git(["commit", "-q", "--no-verify", "-m", "Start"], folder), "git commit failed", "Check the folder's permissions.")
    except DependencyError:
        return


def apply(folder: Path, patch: str) -> FinishedCheck:
    """Apply a unified diff to the files of a folder, either completely or not at all."""
    return git(["apply", "--whitespace=nowarn", "-"], folder, stdin=patch if patch.endswith("\n") else patch + "\n")


def apply_roughly(folder: Path, patch: str) -> FinishedCheck:
    """Apply a diff like SWE-bench: with git, otherwise with some fuzz.

    A rejected diff may remain partially applied.
    """
    done = apply(folder, patch)
    if done.ok or shutil.which("patch") is None:
        return done
    return run(["patch", "--batch", "--fuzz=5", "-p1"], folder, timeout=_TIMEOUT, stdin=patch)


def touched(patch: str) -> list[str]:
    """Return the paths that a unified diff changes, creates, removes or renames, in order and without duplicates."""
    found = (path for old, new in _files(patch) for path in (old, new))
    return list(dict.fromkeys(path for path in found if path))


def written(patch: str) -> list[str]:
    """Return the paths that exist after applying a unified diff, under their new names."""
    return list(dict.fromkeys(new for _, new in _files(patch) if new))


def _files(patch: str) -> Iterator[tuple[str, str]]:
    """Yield the old and new path of each file in a diff. The missing side of a created or removed file is an empty path.

    The lines of hunks are counted, because a removed line that starts with "-- " looks like a file header.
    """
    old, left, right = "", 0, 0
    for line in patch.splitlines():
        if left > 0 or right > 0:
            left -= line[:1] in (" ", "-", "")
            right -= line[:1] in (" ", "+", "")
        elif hunk := _HUNK.match(line):
            left, right = int(hunk[1] or 1), int(hunk[2] or 1)
        elif line.startswith("--- "):
            old = _path(line[4:], "a/")
        elif line.startswith("+++ "):
            yield old, _path(line[4:], "b/")
        elif line.startswith("rename from "):
            old = line.removeprefix("rename from ").strip()
        elif line.startswith("rename to "):
            yield old, line.removeprefix("rename to ").strip()


def _path(name: str, prefix: str) -> str:
    path = name.split("\t")[0].strip().strip('"')
    return "" if path == "/dev/null" else path.removeprefix(prefix)


def change(agent: Path, clean: Path, leave_out: Sequence[str] = ()) -> str:
    """Return an agent's changes as the diff between its folder and a clean checkout of the same commit.

    The diff uses the git data of the clean checkout, so the agent's commits, branches or removal of `.git` make no
    difference. Paths in `leave_out`, such as the tests used for grading, are ignored.
    """
    there = [f"--git-dir={clean / '.git'}", f"--work-tree={agent}"]
    must(git([*there, "add", "-A"], agent), "The change can't be read", "Check the folder of the task.")
    excluded = [f":(exclude,literal){path}" for path in leave_out]
    done = git([*there, "diff", "--cached", "--binary", "HEAD", "--", ".", *excluded], agent)
    patch = must(done, "The change can't be read", "Check the folder of the task.")
    must(git(["reset", "-q", "--hard"], clean), "The clean checkout can't be restored", "Remove it.")
    return patch


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive with a single top-level folder, as provided by releases and git servers. Raises DataError."""
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="unpack-") as scratch, tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
            inner = list(Path(scratch).iterdir())
            top = inner[0] if len(inner) == 1 and inner[0].is_dir() else Path(scratch)
            for path in list(top.iterdir()):
                shutil.move(path, folder / path.name)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise DataError(f"{archive} can't be unpacked: {error}.", fix="Fetch it again.") from None


_ANY_COMMIT = "git -c uploadpack.allowAnySHA1InWant=true -c uploadpack.allowFilter=true upload-pack"
_FETCH_SECONDS = 900.0


@dataclass
class Repositories:
    """Check out real repositories.

    `clones` is a folder with the user's clones, named `<owner>__<name>` or `<owner>/<name>`, bare or not. It can also contain
    archives of single commits, named `<owner>__<name>@<commit>.tar.gz`. `base` is a git server.
    A source that has failed is not retried, so the remaining tasks of that repository fail at once.
    """

    cache: Path
    clones: Path | None = None
    base: str = "https://github.com"
    offline: bool = False
    _failed: dict[str, DataError] = field(default_factory=dict)
    _locks: dict[str, Lock] = field(default_factory=lambda: defaultdict(Lock))
    _lock: Lock = field(default_factory=Lock)

    def checkout(self, repo: str, commit: str, folder: Path) -> None:
        """Empty the folder and check out the commit there, without history, remotes or tags. Raises DataError."""
        if (archive := self._archive(repo, commit)) is not None:
            empty(folder)
            _unpack(archive, folder)
            commit_all(folder)
            return
        store = self._stored(repo, commit)
        empty(folder)
        what = f"{repo} at {commit[:12]} can't be checked out"
        must(git(["init", "-q", "-b", "main"], folder), what, "Check the folder's permissions.")
        fetched = git(["fetch", "-q", "--depth", "1", "--upload-pack", _ANY_COMMIT, str(store), commit], folder)
        must(fetched, what, f"Remove {store} and try again.")
        must(git(["checkout", "-q", "-B", "main", "FETCH_HEAD"], folder), what, "Check the folder's permissions and free space.")
        (folder / ".git" / "FETCH_HEAD").unlink(missing_ok=True)

    def _archive(self, repo: str, commit: str) -> Path | None:
        """Return the archive with the commit's files, if the user has placed one next to the clones."""
        if self.clones is None:
            return None
        stem = f"{repo.replace('/', '__')}@{commit}"
        places = (self.clones / f"{stem}{ending}" for ending in (".tar.gz", ".tgz", ".tar"))
        return next((place for place in places if place.is_file()), None)

    def _stored(self, repo: str, commit: str) -> Path:
        """Return the path of the bare repository that contains the commit."""
        store = self.cache / f"{repo.replace('/', '__')}.git"
        with self._lock:
            lock = self._locks[repo]
        with lock:
            if repo in self._failed:
                raise self._failed[repo]
            if not store.exists():
                store.mkdir(parents=True)
                must(
                    git(["init", "-q", "--bare", "-b", "main"], store),
                    f"{store} can't be created",
                    "Check the folder's permissions.",
                )
            if not git(["cat-file", "-e", f"{commit}^{{commit}}"], store).ok:
                self._fetch(repo, commit, store)
        return store

    def _fetch(self, repo: str, commit: str, store: Path) -> None:
        source = self._source(repo)
        flags = ["--upload-pack", _ANY_COMMIT] if Path(source).exists() else []
        command = ["fetch", "-q", "--no-tags", "--depth", "1", *flags, source, f"{commit}:refs/tasks/{commit}"]
        done = git(command, store, timeout=_FETCH_SECONDS)
        if not done.ok:
            why = "it took too long" if done.timed_out else done.last_line
            error = DataError(
                f"{repo} at {commit[:12]} can't be fetched from {source}: {why}.",
                fix=f"Clone it to a folder as {repo.replace('/', '__')} and give that folder with option checkouts.",
            )
            if flags == [] or "not our ref" not in done.output:
                self._failed[repo] = error
            raise error

    def _source(self, repo: str) -> str:
        if self.clones is not None:
            owner_name = repo.replace("/", "__")
            for name in (owner_name, f"{owner_name}.git", repo, f"{repo}.git"):
                if (self.clones / name).is_dir():
                    return str((self.clones / name).resolve())
        if self.offline:
            raise DataError(
                f"There is no clone of {repo} and offline mode is on.",
                fix=f"Clone it to a folder as {repo.replace('/', '__')} and give that folder with option checkouts.",
            )
        return f"{self.base}/{repo}.git"
