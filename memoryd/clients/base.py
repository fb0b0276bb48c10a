"""Interface of a client: its hook events, session logs and installation.

Internally, memoryd uses Claude Code's format. Events have its names and fields, and logs are read as lines in its
format, so that the rules for speakers, quotations and secrets exist only once. An adapter translates its client's
formats:

- hook events: `read_event` and `tool_calls`, from the input of the client's hook
- context: `write_answer` and `write_reply`, the output of that hook
- logs: `owns_log`, `open_log`, `log_status`, `log_folder` and `past_logs`
- installation: `find`, `warning`, and `changes`, which register the hooks, the MCP server and the rules

A log is identified by a path, which need not exist as a file. For a database of sessions, it is the database path
followed by the session id.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, ClassVar

import orjson

from memoryd.core.files import regular_handle
from memoryd.core.tool_calls import ToolReply, tool_output

# `sh` would exit with 2 if memoryd was deleted, with which a hook blocks the prompt.
_IF_THERE = '[ ! -r "$0" ] || . "$0"'
CLIENT_KEY = "MEMORYD_CLIENT"
"""Name of the client, as an environment variable of hooks and as a header of event records."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event of a session.

    Attributes:
        name: Claude Code's name for the event: SessionStart, UserPromptSubmit, Stop, PreCompact or SessionEnd.
        transcript: The path of the session's log.
        source: Source of a SessionStart: startup, resume, clear or compact.
        subagent: Whether the event comes from a subagent.
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
    """Size of a log in bytes, and the time of its last change in seconds since the epoch."""

    size: int
    changed_at: float


def oldest_first(logs: Iterable[Path]) -> list[Path]:
    """Sort logs by the time of their last change. What is gone, or is not a regular file, is left out."""
    found: list[tuple[float, str, Path]] = []
    for path in logs:
        with suppress(OSError):
            status = path.stat()
            if S_ISREG(status.st_mode):
                found.append((status.st_mtime, path.name, path))
    return [path for *_, path in sorted(found)]


@dataclass(frozen=True, slots=True)
class System:
    """The parts of the user's system needed to find clients.

    Attributes:
        user_home: The user's home folder.
        env: The environment variables.
        which: Returns the path of a program, like `shutil.which`.
        windows: Whether it is Windows, where clients run commands with PowerShell.
    """

    user_home: Path
    env: Mapping[str, str]
    which: Callable[[str], str | None]
    windows: bool = sys.platform == "win32"

    def folder(self, variable: str, default: str) -> Path:
        """Return the folder named by the variable, or `default` below the user's home folder."""
        return Path(self.env[variable]) if self.env.get(variable) else self.user_home / default


def this_system() -> System:
    """Return the user's own system."""
    return System(Path.home(), os.environ, shutil.which)


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed client. The program is empty if only its settings were found."""

    program: str
    config: Path


def powershell_quoted(text: str) -> str:
    """Return a text as one literal of PowerShell, which also takes curly quotation marks for quotes."""
    return "'" + "".join(character * 2 if character in "'\u2018\u2019\u201a\u201b" else character for character in text) + "'"


@dataclass(frozen=True, slots=True)
class Product:
    """The installation of memoryd that a client is connected to.

    Attributes:
        root: The folder with memoryd's `hooks/` and `plugin/`.
        home: memoryd's home folder, or None for the default one.
        python: An interpreter, for Windows, which runs no shell scripts.
    """

    root: Path
    home: Path | None = None
    python: str = sys.executable

    @property
    def hook(self) -> Path:
        """Script that passes one event to the daemon.

        It takes the event's name as an argument, and the event as JSON on standard input.
        """
        return self.root / "hooks" / "hook.sh"

    def server(self, system: System) -> tuple[str, list[str]]:
        """Return the program and the arguments of the MCP server on standard input and output."""
        if system.windows:
            return self.python, ["-I", "-S", str(self.root / "plugin" / "stdio_proxy.py")]
        return str(self.root / "plugin" / "bin" / "memoryd"), ["mcp"]

    def hook_program(self, system: System) -> list[str]:
        """Return the program that passes an event to the daemon, and its arguments before the event's name."""
        if system.windows:
            return [self.python, "-I", "-S", str(self.hook.with_name("hook.py"))]
        return ["sh", str(self.hook)]

    def hook_command(self, system: System, client: str, event: str) -> str:
        """Return the shell command of a client's hook. It passes an event, with Claude Code's name of it, to the daemon."""
        env = {CLIENT_KEY: client, **self.env}
        if not system.windows:
            names = [f"{name}={value}" for name, value in env.items()]
            return shlex.join(["env", *names, "sh", "-c", _IF_THERE, str(self.hook), event])
        script = powershell_quoted(str(self.hook.with_name("hook.py")))
        sets = "".join(f"$env:{name}={powershell_quoted(value)}; " for name, value in env.items())
        call = f"& {powershell_quoted(self.python)} -I -S {script} {event}"
        return f"{sets}if (Test-Path -LiteralPath {script}) {{ {call} }}; exit 0"

    @property
    def env(self) -> dict[str, str]:
        """Environment variables required by hooks and the MCP server."""
        return {"MEMORYD_HOME": str(self.home)} if self.home else {}


@dataclass(frozen=True, slots=True)
class FileChange:
    """A required change to one of a client's settings files.

    Attributes:
        path: The file.
        what: Description of the change, for the user.
        edit: Returns the new content, given the current content or None if there is no file. A result of None deletes
            the file. The function is idempotent. Raises ConfigError if it can't change the file safely.
        revert: Returns the content without the additions made by `edit`.
        folder: A folder of memoryd's own that holds the file. It is removed once it is empty.
    """

    path: Path
    what: str
    edit: Callable[[bytes | None], bytes | None]
    revert: Callable[[bytes | None], bytes | None]
    folder: Path | None = None


class ClientAdapter:
    """Base class of adapters. The default methods are for clients that keep one JSONL file per session, as Claude Code does."""

    name: ClassVar[str]
    title: ClassVar[str]
    limits: ClassVar[str] = ""
    """Limitations of this client, as a sentence for the user."""

    # Hook events and context

    def read_event(self, name: str, payload: Mapping[str, Any]) -> HookEvent | None:
        """Parse the input of a client's hook. Return None if the session or folder is missing or contains a NUL."""
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
        """Return the output of a hook, or an empty string if there is nothing to report.

        Args:
            event: The event's name.
            context: Text for the model.
            message: A line for the user.
        """
        out: dict[str, object] = {}
        if context:
            out["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
        if message:
            out["systemMessage"] = message
        return orjson.dumps(out) if out else b""

    def tool_calls(self, payload: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return the calls that the input of a tool hook reports, each with Claude Code's names of tools and arguments."""
        return [payload]

    def write_reply(self, event: str, reply: ToolReply) -> bytes:
        """Return the output of a tool hook. It is empty if there is nothing to report."""
        output = tool_output(event, reply)
        return orjson.dumps(output) if output else b""

    # Logs

    def owns_log(self, path: Path) -> bool:
        """Return whether the log belongs to this client. Only the path is checked; nothing is opened."""
        return False

    def open_log(self, path: Path) -> BinaryIO:
        """Open a session's log as lines in Claude Code's format. Raises OSError.

        A log only grows: the result of an earlier call is a prefix of any later result, unless the user reverted
        something. No copy is written to disk.
        """
        return os.fdopen(regular_handle(path), "rb", buffering=0)

    def log_status(self, path: Path) -> LogStatus:
        """Return the status of a log. Its size is that of the output of `open_log`. Raises OSError."""
        status = path.stat()
        return LogStatus(status.st_size, max(status.st_mtime, status.st_ctime))

    def log_mark(self, path: Path) -> int:
        """Return a number that grows with the log, without opening it if that is possible. Raises OSError.

        It marks how far a log was written while memory was off, when nobody may read it.
        """
        return self.log_status(path).size

    def offset_of_mark(self, path: Path, mark: int) -> int:
        """Return the offset in the output of `open_log` at which the log ended when it had this mark. Raises OSError."""
        return mark

    def log_folder(self, path: Path) -> str:
        """Return the folder in which the session started, or an empty string if finding it requires reading the log."""
        return ""

    def session_of(self, path: Path) -> str:
        """Return the session id in a log's path."""
        return path.stem

    def past_logs(self, system: System) -> Iterable[Path]:
        """Return the logs of the user's sessions, oldest first. Logs of subagents are excluded."""
        return ()

    # Installation

    def find(self, system: System) -> Installed | None:
        """Return the client if it is installed or the user has settings for it."""
        return None

    def changes(self, system: System, product: Product) -> Sequence[FileChange]:
        """Return the file changes that connect the client: hooks, MCP server and rules."""
        return ()

    def warning(self, system: System) -> tuple[str, str] | None:
        """Return what keeps a connected client from using memoryd although all files are in place, and what to do about it."""
        return None
