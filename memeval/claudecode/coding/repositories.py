"""Checkouts of real repositories at a commit, from local clones or from a git server, through a cache of single commits."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from memeval.claudecode.coding.checkout import empty, git, must
from memeval.errors import DataError

_ANY_COMMIT = "git -c uploadpack.allowAnySHA1InWant=true -c uploadpack.allowFilter=true upload-pack"
_FETCH_SECONDS = 900.0


@dataclass
class Repositories:
    """`clones` holds the user's own clones, as `<owner>__<name>` or `<owner>/<name>`, bare or not; `base` is a git server.

    A source that failed is not asked again by the same object: the tasks of a repository fail at once, not one by one.
    """

    cache: Path
    clones: Path | None = None
    base: str = "https://github.com"
    offline: bool = False
    _failed: dict[str, DataError] = field(default_factory=dict)
    _locks: dict[str, Lock] = field(default_factory=lambda: defaultdict(Lock))
    _lock: Lock = field(default_factory=Lock)

    def checkout(self, repo: str, commit: str, folder: Path) -> None:
        """Empty the folder and put the commit there, without history, remote or tags. Raises DataError."""
        store = self._stored(repo, commit)
        empty(folder)
        what = f"{repo} at {commit[:12]} can't be checked out"
        must(git(["init", "-q", "-b", "main"], folder), what, "Look at the folder's rights.")
        fetched = git(["fetch", "-q", "--depth", "1", "--upload-pack", _ANY_COMMIT, str(store), commit], folder)
        must(fetched, what, f"Remove {store} and try again.")
        must(git(["checkout", "-q", "-B", "main", "FETCH_HEAD"], folder), what, "Look at the folder's rights and at free space.")
        (folder / ".git" / "FETCH_HEAD").unlink(missing_ok=True)

    def _stored(self, repo: str, commit: str) -> Path:
        """The bare repository that holds the commit."""
        store = self.cache / f"{repo.replace('/', '__')}.git"
        with self._lock:
            lock = self._locks[repo]
        with lock:
            if repo in self._failed:
                raise self._failed[repo]
            if not store.exists():
                store.mkdir(parents=True)
                must(git(["init", "-q", "--bare", "-b", "main"], store), f"{store} can't be made", "Look at the folder's rights.")
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
                fix=f"Clone it to a folder as {repo.replace('/', '__')} and name that folder with option checkouts.",
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
                fix=f"Clone it to a folder as {repo.replace('/', '__')} and name that folder with option checkouts.",
            )
        return f"{self.base}/{repo}.git"
