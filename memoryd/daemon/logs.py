"""The daemon's log: one rotating private file.

No memory content is logged above debug level, and what looks like a secret is masked at every level.
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
# Of one kind of line so many a minute, then only their number: what repeats must not push everything else out.
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


class PrivateFormatter(logging.Formatter):
    """Masks what looks like a secret, tracebacks included. Times in UTC."""

    converter: Callable[..., time.struct_time] = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        """The line, or the lines of a traceback."""
        return _SECRET.sub(MASK, super().format(record))


class PrivateRotatingHandler(logging.handlers.RotatingFileHandler):
    """A rotating file that only its owner may read."""

    def _open(self) -> IO[Any]:  # type: ignore[override]
        def opener(path: str, flags: int) -> int:
            return os.open(path, flags, 0o600)

        return open(self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=opener)  # noqa: PTH123


class FloodGate(logging.Filter):
    """Lets FLOOD_LINES lines of a kind (logger and message before its values) pass in FLOOD_SECONDS; tells how many it held."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        kind = (record.name, str(record.msg)[:200])
        since, count = self._kinds.get(kind, (record.created, 0))
        if not 0 <= record.created - since < FLOOD_SECONDS:
            if count > FLOOD_LINES:
                record.msg = f"{record.msg} [{count - FLOOD_LINES} more like this were left out]"
            since, count = record.created, 0
        if len(self._kinds) > 1_000:
            self._kinds.clear()
        self._kinds[kind] = (since, count + 1)
        return count < FLOOD_LINES


def start_log(path: Path, level: str) -> logging.Handler:
    """Send the log of this process to `path`; give the handler to `stop_log` at the end. `level` as in the settings."""
    make_private_dir(path.parent)
    handler = PrivateRotatingHandler(path, maxBytes=LIMIT_BYTES, backupCount=KEPT_FILES, encoding="utf-8", errors="replace")
    handler.addFilter(FloodGate())
    handler.setFormatter(PrivateFormatter(FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("memoryd").setLevel(level.upper())
    for library in LIBRARIES:
        logging.getLogger(library).setLevel(logging.WARNING)
    return handler


def stop_log(handler: logging.Handler) -> None:
    """Take the handler away and close its file."""
    logging.getLogger().removeHandler(handler)
    handler.close()
