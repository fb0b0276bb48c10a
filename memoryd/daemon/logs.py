"""The daemon's log: a private rotating file.

Memory content is logged at debug level only, and anything that looks like a secret is masked at every level.
"""

from __future__ import annotations

import logging
import logging.handlers
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from memoryd.core.files import make_private_dir

LIMIT_BYTES = 1_000_000
KEPT_FILES = 3
# Maximum number of similar lines per interval. Further ones are only counted, so that they don't crowd out the rest.
FLOOD_LINES = 20
FLOOD_SECONDS = 60.0
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
MASK = "[masked]"
LIBRARIES = ("mcp", "apscheduler", "asyncio", "watchdog", "openai", "httpx", "httpcore", "uvicorn")

_SECRET = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|xox[abpr]|AKIA|hf)[-_]?[A-Za-z0-9_-]{12,}"
    r"|(?<=bearer )\S+"
    r"|(?:(?<=token )|(?<=token=)|(?<=key=)|(?<=password=))[^\s,;&\"']{6,}",
    re.IGNORECASE,
)
# The words of a memory in the name of its file
_NAMED_AFTER = re.compile(r"(?<![\w-])[\w-]{1,240}-(?=mem_[0-9a-f]{12})")


class PrivateFormatter(logging.Formatter):
    """Masks what looks like a secret and shortens names of memory files to ids, including in tracebacks. Times are in UTC."""

    converter: Callable[..., time.struct_time] = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        """Format a record, including its traceback."""
        return _NAMED_AFTER.sub("", _SECRET.sub(MASK, super().format(record)))


class PrivateRotatingHandler(logging.handlers.RotatingFileHandler):
    """A rotating file that only its owner can read."""

    def _open(self) -> IO[Any]:  # type: ignore[override]
        def opener(path: str, flags: int) -> int:
            return os.open(path, flags, 0o600)

        return open(self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=opener)  # noqa: PTH123


class LogRateLimiter(logging.Filter):
    """Limits lines with the same logger and message template to FLOOD_LINES per FLOOD_SECONDS.

    The number of skipped lines is reported afterwards.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write the record."""
        kind = (record.name, str(record.msg)[:200])
        since, count = self._kinds.get(kind, (record.created, 0))
        if not 0 <= record.created - since < FLOOD_SECONDS:
            if count > FLOOD_LINES:
                record.msg = f"{record.msg} [{count - FLOOD_LINES} similar lines skipped]"
            since, count = record.created, 0
        if len(self._kinds) > 1_000:
            self._kinds.clear()
        self._kinds[kind] = (since, count + 1)
        return count < FLOOD_LINES


def start_log(path: Path, level: str) -> logging.Handler:
    """Log this process to `path`. Pass the returned handler to `stop_log`."""
    make_private_dir(path.parent)
    handler = PrivateRotatingHandler(path, maxBytes=LIMIT_BYTES, backupCount=KEPT_FILES, encoding="utf-8", errors="replace")
    handler.addFilter(LogRateLimiter())
    handler.setFormatter(PrivateFormatter(FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("memoryd").setLevel(level.upper())
    for library in LIBRARIES:
        logging.getLogger(library).setLevel(logging.WARNING)
    return handler


def stop_log(handler: logging.Handler) -> None:
    """Remove the handler and close its file."""
    logging.getLogger().removeHandler(handler)
    handler.close()
