"""Layout of the home folder. memoryd writes inside a user's repository only when asked to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths below one home folder (default ~/.memoryd)."""

    home: Path

    @property
    def config(self) -> Path:
        """The user's settings, as TOML."""
        return self.home / "config.toml"

    @property
    def plugin_options(self) -> Path:
        """The plugin options last seen by a hook, as JSON."""
        return self.home / "state" / "plugin-options.json"

    @property
    def memories(self) -> Path:
        """Folder of the Markdown files, the source of truth."""
        return self.home / "memories"

    @property
    def trash(self) -> Path:
        """Folder with the files of superseded and forgotten memories, kept for undo."""
        return self.home / ".trash"

    @property
    def index(self) -> Path:
        """Folder of the derived databases, which can be deleted safely."""
        return self.home / "index"

    @property
    def state_db(self) -> Path:
        """Database of state that can't be derived: cursors, jobs, injections and switches."""
        return self.home / "state" / "state.db"

    @property
    def journal(self) -> Path:
        """Folder of the changes made by each dream, one subfolder per dream, for undo."""
        return self.home / "state" / "journal"

    @property
    def proposals(self) -> Path:
        """Pending and rejected proposals of dreams, as JSON."""
        return self.home / "state" / "proposals.json"

    @property
    def dream_lock(self) -> Path:
        """Lock file held while a dream runs."""
        return self.home / "state" / "dream.lock"

    @property
    def sync_settings(self) -> Path:
        """Settings and keys of sync between the user's machines, as JSON. Beside it are its database and its lock."""
        return self.home / "state" / "sync" / "sync.json"

    @property
    def sync_clone(self) -> Path:
        """Clone of the git repository through which machines sync."""
        return self.home / "state" / "sync" / "repository"

    @property
    def team(self) -> Path:
        """The repositories whose teams the user has joined, by project, as JSON."""
        return self.home / "state" / "team.json"

    @property
    def projects(self) -> Path:
        """Known project identities, as JSON."""
        return self.home / "state" / "projects.json"

    @property
    def router(self) -> Path:
        """The trained router with its scores, as JSON."""
        return self.home / "state" / "router.json"

    @property
    def spool(self) -> Path:
        """Folder of hook events waiting for the daemon, one file each."""
        return self.home / "spool"

    @property
    def run(self) -> Path:
        """Folder with the running daemon's socket, lock, endpoint and cached governance."""
        return self.home / "run"

    @property
    def login_wanted(self) -> Path:
        """Marker file that tells hooks that the user has agreed to model runs with the session's login."""
        return self.run / "login-wanted"

    @property
    def endpoint(self) -> Path:
        """File with the daemon's address: 'unix PATH' or 'tcp PORT TOKEN'."""
        return self.run / "endpoint"

    @property
    def daemon_lock(self) -> Path:
        """Lock file held by the running daemon."""
        return self.run / "daemon.lock"

    @property
    def start_problem(self) -> Path:
        """File containing the reason for the last failed daemon start, which is shown when the next session starts.

        It is absent after a successful start.
        """
        return self.run / "start-problem"

    @property
    def governance_cache(self) -> Path:
        """Folder of prepared SessionStart responses, used by the hook when no daemon responds in time."""
        return self.run / "governance"

    @property
    def logs(self) -> Path:
        """Folder of the log files daemon.log, hooks.log and launcher.log."""
        return self.home / "logs"


def spellings(folder: str) -> set[Path]:
    """Return the path as written and, if possible, with symbolic links resolved."""
    path = Path(folder).absolute()
    try:
        path = Path(folder).expanduser().absolute()
        return {path, path.resolve()}
    except (OSError, ValueError, RuntimeError):  # The path contains a NUL, is too long, or its links form a loop.
        return {path}


def is_there(folder: str) -> bool:
    """Return whether the folder exists. One that can't be looked up, such as a name with NUL, does not."""
    try:
        return Path(folder).exists()
    except (OSError, ValueError):
        return False
