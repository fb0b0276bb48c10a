"""One tree of errors. Each says what happened and, in `fix`, what to do.

MemorydError
├── ConfigError            a setting is wrong
├── InputError             an argument is wrong (exit code 2)
├── NotFoundError          no such memory, project, session
├── ConflictError          what was to be changed has changed meanwhile
├── StoreError             the memories could not be read or written
│   ├── BrokenFileError    one memory file can't be parsed (path and line named)
│   └── IndexDamagedError  a derived index is unusable; it will be rebuilt
├── EmbeddingError         the embedder can't be loaded or failed
├── ModelError             a language model failed; `transient` says whether to retry
├── TranscriptError        a session log can't be read
├── TooSlowError           something took longer than it may, and was given up
├── DaemonError            the daemon misbehaved
│   └── DaemonUnavailable  no daemon answers
└── DependencyError        an optional library is missing
"""

from __future__ import annotations


class MemorydError(Exception):
    """Root of all foreseeable faults. `code` is stable and goes over MCP and JSON."""

    code = "error"

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} Fix: {self.fix}" if self.fix else self.message


class ConfigError(MemorydError):
    """A setting has a wrong name, type or value."""

    code = "config"


class InputError(MemorydError):
    """An argument is missing, too large or not of its kind."""

    code = "input"


class NotFoundError(MemorydError):
    """What was named does not exist."""

    code = "not_found"


class ConflictError(MemorydError):
    """What was to be changed has changed since it was looked at; nothing was written."""

    code = "conflict"


class StoreError(MemorydError):
    """The memories could not be read or written."""

    code = "store"


def _on_one_line(path: str) -> str:
    return path.replace("\n", "\\n").replace("\r", "\\r")


class BrokenFileError(StoreError):
    """One file can't be parsed. It is skipped, never rewritten."""

    code = "broken_file"

    def __init__(self, path: str, line: int, problem: str, fix: str = "") -> None:
        super().__init__(
            f"{_on_one_line(path)}:{line}: {problem}",
            fix=fix or "Correct the front matter in an editor; the file is picked up again when it is saved.",
        )
        self.path = path
        self.line = line
        self.problem = problem


class IndexDamagedError(StoreError):
    """A derived index file is unusable; it can be deleted and rebuilt."""

    code = "index_damaged"


class EmbeddingError(MemorydError):
    """The embedder could not be loaded or failed."""

    code = "embedding"


class ModelError(MemorydError):
    """A language model call failed. `transient` means: worth another try, after `retry_after` seconds if the server said so."""

    code = "model"

    def __init__(self, message: str, *, fix: str = "", transient: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message, fix=fix)
        self.transient = transient
        self.retry_after = retry_after


class TooSlowError(MemorydError):
    """Work was given up because it took too long."""

    code = "too_slow"


class TranscriptError(MemorydError):
    """A session log can't be read."""

    code = "transcript"


class DaemonError(MemorydError):
    """The daemon answered wrongly or refused."""

    code = "daemon"


class DaemonUnavailable(DaemonError):
    """No daemon answers and none could be started."""

    code = "daemon_unavailable"


class DependencyError(MemorydError):
    """An optional library is not installed."""

    code = "dependency"
