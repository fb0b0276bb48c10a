"""What memoryd needs to know of a client: its hook events, its session logs, and how it is connected.

The inner form is Claude Code's. Events have its names and fields, and logs are read as lines of its form, so that the rules on
who speaks, what is quoted and what is secret exist once. An adapter translates what its client does differently:

- hook events in: `read_event`, from the input of the client's hook
- context out: `write_answer`, the output of that hook
- logs: `owns_log`, `open_log`, `log_status`, `log_folder` and `past_logs`
- installation: `find`, and `changes`, which register the hooks, the MCP server and the rules

A log is named by a path. It need not exist as a file: a database of sessions is opened by the path of the database, followed by
the session's id.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import orjson

CLIENT_KEY = "MEMORYD_CLIENT"
"""Variable of a hook's environment, and line in the head of an event's record, that names the client."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event of a session.

    Attributes:
        name: The name that Claude Code uses: SessionStart, UserPromptSubmit, Stop, PreCompact or SessionEnd.
        transcript: The path of the session's log.
        source: Of a SessionStart: startup, resume, clear or compact.
        subagent: Whether the event is one of a subagent.
    """

    name: str
    session: str
    cwd: str
    transcript: str = ""
    source: str = ""
    prompt: str = ""
    subagent: bool = False


@dataclass(frozen=True, slots=True)
class LogStatus:
    """The size of a log in bytes, and when it was last written, in seconds since the epoch."""

    size: int
    changed_at: float


@dataclass(frozen=True, slots=True)
class System:
    """What the search for clients depends on.

    Attributes:
        user_home: The user's home folder.
        env: The environment's variables.
        which: Returns the path of a program, as `shutil.which`.
    """

    user_home: Path
    env: Mapping[str, str]
    which: Callable[[str], str | None]

    def folder(self, variable: str, default: str) -> Path:
        """Return the folder that the variable names, or `default` below the user's home folder."""
        return Path(self.env[variable]) if self.env.get(variable) else self.user_home / default


def this_system() -> System:
    """Return the user's own system."""
    return System(Path.home(), os.environ, shutil.which)


@dataclass(frozen=True, slots=True)
class Installed:
    """A client that was found. Its program may be missing, when only its settings are there."""

    program: str
    config: Path


@dataclass(frozen=True, slots=True)
class Product:
    """What a client is connected to.

    Attributes:
        root: The folder with memoryd's `hooks/` and `plugin/`.
        home: memoryd's home folder, or None for the default one.
    """

    root: Path
    home: Path | None = None

    @property
    def hook(self) -> Path:
        """The script that passes one event to the daemon. Its argument is the event's name, its input the event as JSON."""
        return self.root / "hooks" / "hook.sh"

    @property
    def program(self) -> Path:
        """The program. `memoryd mcp` is the MCP server on standard input and output."""
        return self.root / "plugin" / "bin" / "memoryd"

    @property
    def env(self) -> dict[str, str]:
        """Variables that hooks and the MCP server need."""
        return {"MEMORYD_HOME": str(self.home)} if self.home else {}


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a client's settings as it should be.

    Attributes:
        path: The file.
        what: What the change does, for the user.
        edit: Returns the new content for the present one, which is None if there is no file. A result of None deletes the file.
            Applied to its own result, it changes nothing. Raises ConfigError if it can't change the file safely.
        revert: Returns the content without what `edit` added.
    """

    path: Path
    what: str
    edit: Callable[[bytes | None], bytes | None]
    revert: Callable[[bytes | None], bytes | None]


class Client:
    """An adapter. The methods here are those of a client like Claude Code that keeps one JSONL file per session."""

    name: ClassVar[str]
    title: ClassVar[str]
    limits: ClassVar[str] = ""
    """What does not work with this client, in a sentence for the user."""

    # Hook events in, context out

    def read_event(self, name: str, payload: Mapping[str, Any]) -> HookEvent | None:
        """Return the event of a hook's input. Return None if the session or the folder is missing or contains a NUL."""
        texts = {key: value for key, value in payload.items() if isinstance(value, str)}
        if any("\0" in texts.get(key, "") for key in ("session_id", "cwd", "transcript_path")):
            return None
        if not texts.get("session_id") or not texts.get("cwd"):
            return None
        return HookEvent(
            name,
            texts["session_id"],
            texts["cwd"],
            texts.get("transcript_path", ""),
            texts.get("source", ""),
            texts.get("prompt", ""),
            bool(payload.get("agent_id")),
        )

    def write_answer(self, event: str, context: str, message: str = "") -> bytes:
        """Return a hook's output. It is empty if there is nothing to say.

        Args:
            event: The event's name.
            context: What the model reads.
            message: A line for the user.
        """
        out: dict[str, object] = {}
        if context:
            out["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
        if message:
            out["systemMessage"] = message
        return orjson.dumps(out) if out else b""

    # Logs

    def owns_log(self, path: Path) -> bool:
        """Return whether the log is one of this client, by its path. Nothing is opened."""
        return False

    def open_log(self, path: Path) -> BinaryIO:
        """Open a session's log as lines of Claude Code's form. Raises OSError.

        A log only grows: what an earlier call returned is the beginning of what a later one returns, unless the user took
        something back. No copy is written to disk.
        """
        if not stat.S_ISREG(path.stat().st_mode):  # reading from a pipe would block, and a device has no end
            raise OSError("not a regular file")
        return path.open("rb", buffering=0)

    def log_status(self, path: Path) -> LogStatus:
        """Return the size of what `open_log` returns. Raises OSError."""
        status = path.stat()
        return LogStatus(status.st_size, max(status.st_mtime, status.st_ctime))

    def log_folder(self, path: Path) -> str:
        """Return the folder in which the session was started if that is known without reading the log, or an empty text."""
        return ""

    def session_of(self, path: Path) -> str:
        """Return the id of a log's session, by its path."""
        return path.stem

    def past_logs(self, system: System) -> Iterable[Path]:
        """Return the logs of the user's sessions, oldest first. Logs of subagents are excluded."""
        return ()

    # Installation

    def find(self, system: System) -> Installed | None:
        """Return the client if it is installed, or if it has settings of this user."""
        return None

    def changes(self, system: System, product: Product) -> Sequence[FileChange]:
        """Return the files that connect the client: hooks, MCP server and rules."""
        return ()
