"""Layout of the home folder. memoryd never writes below a user's repository."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths below one home folder (default ~/.memoryd)."""

    home: Path

    @property
    def config(self) -> Path:
        """User settings, TOML."""
        return self.home / "config.toml"

    @property
    def plugin_options(self) -> Path:
        """Plugin options as last seen by a hook, JSON."""
        return self.home / "state" / "plugin-options.json"

    @property
    def memories(self) -> Path:
        """Markdown files, the source of truth."""
        return self.home / "memories"

    @property
    def trash(self) -> Path:
        """Files of superseded and forgotten memories, kept for undo."""
        return self.home / ".trash"

    @property
    def index(self) -> Path:
        """Derived databases, safe to delete."""
        return self.home / "index"

    @property
    def state_db(self) -> Path:
        """State that can't be derived: cursors, jobs, injections, switches."""
        return self.home / "state" / "state.db"

    @property
    def journal(self) -> Path:
        """Changes made by each dream, one folder per dream, for undo."""
        return self.home / "state" / "journal"

    @property
    def proposals(self) -> Path:
        """Pending and rejected dream proposals, JSON."""
        return self.home / "state" / "proposals.json"

    @property
    def dream_lock(self) -> Path:
        """Lock held while a dream runs."""
        return self.home / "state" / "dream.lock"

    @property
    def projects(self) -> Path:
        """Known project identities, JSON."""
        return self.home / "state" / "projects.json"

    @property
    def router(self) -> Path:
        """Trained router with its scores, JSON."""
        return self.home / "state" / "router.json"

    @property
    def spool(self) -> Path:
        """Hook events waiting for the daemon, one file each."""
        return self.home / "spool"

    @property
    def run(self) -> Path:
        """Socket, lock, endpoint and cached governance of the running daemon."""
        return self.home / "run"

    @property
    def login_wanted(self) -> Path:
        """Marker for hooks: the user agreed to model runs with the session's login."""
        return self.run / "login-wanted"

    @property
    def endpoint(self) -> Path:
        """Address of the daemon: 'unix PATH' or 'tcp PORT TOKEN'."""
        return self.run / "endpoint"

    @property
    def daemon_lock(self) -> Path:
        """Lock held by the running daemon."""
        return self.run / "daemon.lock"

    @property
    def start_problem(self) -> Path:
        """Why the last daemon failed to start, shown at the next session's start; absent if it started."""
        return self.run / "start-problem"

    @property
    def governance_cache(self) -> Path:
        """Prepared SessionStart responses, used by the hook when no daemon answers in time."""
        return self.run / "governance"

    @property
    def logs(self) -> Path:
        """Log files: daemon.log, hooks.log, launcher.log."""
        return self.home / "logs"


def spellings(folder: str) -> set[Path]:
    """Return the path as written and with its links resolved, if possible."""
    path = Path(folder).absolute()
    try:
        path = Path(folder).expanduser().absolute()
        return {path, path.resolve()}
    except (OSError, ValueError, RuntimeError):  # a NUL, a name too long, a loop of links
        return {path}
