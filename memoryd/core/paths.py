"""Where things lie under the home folder. Nothing is ever written under a user's repository."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Paths:
    """The layout of one home folder (default ~/.memoryd)."""

    home: Path

    @property
    def config(self) -> Path:
        """The user's settings, TOML."""
        return self.home / "config.toml"

    @property
    def plugin_options(self) -> Path:
        """Options of the Claude Code plugin as last seen by a hook, JSON."""
        return self.home / "state" / "plugin-options.json"

    @property
    def memories(self) -> Path:
        """The Markdown files: the truth."""
        return self.home / "memories"

    @property
    def trash(self) -> Path:
        """Files of superseded and forgotten memories, kept for undo."""
        return self.home / ".trash"

    @property
    def index(self) -> Path:
        """Derived databases; may be deleted at any time."""
        return self.home / "index"

    @property
    def state_db(self) -> Path:
        """Cursors, jobs, injections, switches: not derivable."""
        return self.home / "state" / "state.db"

    @property
    def journal(self) -> Path:
        """What each dream did, with what is needed to take it back: a folder for each."""
        return self.home / "state" / "journal"

    @property
    def proposals(self) -> Path:
        """What dreams would do if the user agreed, and what the user refused, JSON."""
        return self.home / "state" / "proposals.json"

    @property
    def dream_lock(self) -> Path:
        """Held while a dream runs."""
        return self.home / "state" / "dream.lock"

    @property
    def projects(self) -> Path:
        """Known project identities, JSON."""
        return self.home / "state" / "projects.json"

    @property
    def router(self) -> Path:
        """The learned router with its scores, JSON."""
        return self.home / "state" / "router.json"

    @property
    def spool(self) -> Path:
        """Hook events that wait for the daemon, one file each."""
        return self.home / "spool"

    @property
    def run(self) -> Path:
        """Socket, lock, endpoint and cached governance of the running daemon."""
        return self.home / "run"

    @property
    def login_wanted(self) -> Path:
        """A mark for hooks: the user agreed to model runs with the session's own login."""
        return self.run / "login-wanted"

    @property
    def endpoint(self) -> Path:
        """How to reach the daemon: 'unix PATH' or 'tcp PORT TOKEN'."""
        return self.run / "endpoint"

    @property
    def daemon_lock(self) -> Path:
        """Held by the one daemon."""
        return self.run / "daemon.lock"

    @property
    def start_problem(self) -> Path:
        """Why the last daemon could not start, for the next session's start; absent when it could."""
        return self.run / "start-problem"

    @property
    def governance_cache(self) -> Path:
        """Ready SessionStart answers, read by the hook when no daemon answers in time."""
        return self.run / "governance"

    @property
    def logs(self) -> Path:
        """daemon.log, hooks.log, launcher.log."""
        return self.home / "logs"


def spellings(folder: str) -> set[Path]:
    """The path as it is written and with its links followed, where that can be told."""
    path = Path(folder).absolute()
    try:
        path = Path(folder).expanduser().absolute()
        return {path, path.resolve()}
    except (OSError, ValueError, RuntimeError):  # a NUL, a name too long, a loop of links
        return {path}
