"""Exception hierarchy. Every error says what happened and, in `fix`, what to do about it.

MemorydError
├── ConfigError            invalid setting
├── InputError             invalid argument (exit code 2)
├── NotFoundError          unknown memory, project or session
├── ConflictError          the target changed in the meantime
├── StoreError             memories could not be read or written
│   ├── BrokenFileError    a memory file can't be parsed (names path and line)
│   ├── IndexDamagedError  a derived index is unusable and will be rebuilt
│   └── DatabaseUnavailable the server of the memories can't be reached
├── EmbeddingError         the embedder could not be loaded or failed
├── ModelError             a language model failed; `transient` says whether to retry
├── TranscriptError        a session log can't be read
├── TooSlowError           work exceeded its time limit and was abandoned
├── DaemonError            the daemon failed or refused a request
│   └── DaemonUnavailable  no daemon answers
└── DependencyError        an optional library is missing
"""

from __future__ import annotations


class MemorydError(Exception):
    """Base class of all expected errors. `code` is stable and part of the MCP and JSON output."""

    code = "error"

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} Fix: {self.fix}" if self.fix else self.message


class ConfigError(MemorydError):
    """Raised when a setting has an unknown name or an invalid value."""

    code = "config"


class InputError(MemorydError):
    """Raised when an argument is missing, too large or of the wrong type."""

    code = "input"


class NotFoundError(MemorydError):
    """Raised when the requested object does not exist."""

    code = "not_found"


class ConflictError(MemorydError):
    """Raised when the target changed after the caller read it. Nothing was written."""

    code = "conflict"


class StoreError(MemorydError):
    """Raised when memories could not be read or written."""

    code = "store"


def _on_one_line(path: str) -> str:
    return path.replace("\n", "\\n").replace("\r", "\\r")


class BrokenFileError(StoreError):
    """Raised when a memory file can't be parsed. Such a file is skipped and never rewritten."""

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
    """Raised when a derived index is unusable and must be deleted and rebuilt."""

    code = "index_damaged"


class DatabaseUnavailable(StoreError):
    """Raised when the server that stores the memories can't be reached. Writes are queued on this machine."""

    code = "database_unavailable"


class EmbeddingError(MemorydError):
    """Raised when the embedder could not be loaded or failed."""

    code = "embedding"


class ModelError(MemorydError):
    """Raised when a language model call fails.

    Attributes:
        transient: Whether a retry may succeed.
        retry_after: Seconds to wait before a retry, if the server specified a delay.
    """

    code = "model"

    def __init__(self, message: str, *, fix: str = "", transient: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message, fix=fix)
        self.transient = transient
        self.retry_after = retry_after


class TooSlowError(MemorydError):
    """Raised when work exceeded its time limit and was abandoned."""

    code = "too_slow"


class TranscriptError(MemorydError):
    """Raised when a session log can't be read."""

    code = "transcript"


class DaemonError(MemorydError):
    """Raised when the daemon returned an invalid response or refused the request."""

    code = "daemon"


class DaemonUnavailable(DaemonError):
    """Raised when no daemon responds and none could be started."""

    code = "daemon_unavailable"


class DependencyError(MemorydError):
    """Raised when an optional library is not installed."""

    code = "dependency"
