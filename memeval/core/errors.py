"""The error hierarchy. Each message describes the problem and its location, and `fix` the remedy.

MemevalError
├── ConfigError       a YAML file, flag or variable is wrong (names the file, line and key)
├── DataError         a benchmark's data is missing or broken (names the file, record and field)
├── ProviderError     a memory system failed; `transient` means that a retry may help
├── ModelError        a model failed; `transient` has the same meaning
├── BudgetError       the next call would exceed the budget
├── RunError          a run can't start or resume; UnknownRunError: no run has that name
├── StoppedError      the user asked to stop; finished work is kept
└── DependencyError   a library or program is missing
"""

from __future__ import annotations

import errno
import sqlite3


class MemevalError(Exception):
    """Base class of all expected errors."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} Fix: {self.fix}" if self.fix else self.message


class ConfigError(MemevalError):
    """Raised when a configuration file, flag or variable is wrong."""


class DataError(MemevalError):
    """Raised when a benchmark's data is missing or broken."""


class _Transient(MemevalError):
    def __init__(self, message: str, *, fix: str = "", transient: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message, fix=fix)
        self.transient = transient
        self.retry_after = retry_after


class ProviderError(_Transient):
    """Raised when a memory system failed. `retry_after` is the delay in seconds requested by the server, if any."""


class ModelError(_Transient):
    """Raised when a model failed. `retry_after` is the delay in seconds requested by the server, if any."""


class BudgetError(MemevalError):
    """Raised when the next call would exceed the budget."""


class RunError(MemevalError):
    """Raised when a run can't start, resume or be found."""


class UnknownRunError(RunError):
    """Raised when there is no run with that name."""


class StoppedError(MemevalError):
    """Raised when the user asked to stop. Finished work is kept, and the run can be resumed."""


class DependencyError(MemevalError):
    """Raised when a library or program is missing."""


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether the error or any error in its cause chain reports a full disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
            return True
        error = error.__cause__ or error.__context__
    return False
