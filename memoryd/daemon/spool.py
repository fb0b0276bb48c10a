"""The spool: events written to disk by hooks for the daemon.

A record's file is deleted only after the event has been recorded durably. Records that can't be parsed or fail too
often are moved to `spool/bad/`, so that they neither block others nor get lost. Only the event and its session are
kept there. Prompts and answers are removed.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from memoryd.core.errors import InputError, MemorydError
from memoryd.core.files import make_private_dir
from memoryd.daemon.hook_events import MAX_RECORD_BYTES, HookRecord, parse_record

BAD = "bad"
_HARMLESS = frozenset({"session_id", "transcript_path", "cwd", "hook_event_name", "source", "reason", "trigger"})
MAX_ATTEMPTS = 10
RETRY_SECONDS = 30.0
STALE_SECONDS = 3600.0
# Hooks write their records within milliseconds. A hook still running after this long may be waiting for the disk.
LEFT_SECONDS = 5.0
HANGING_SECONDS = 60.0
_NAME = re.compile(r"\d{20}-\d{1,10}\.[A-Za-z]{1,40}")  # The time in ns, the process id and the event.
_logger = logging.getLogger(__name__)

Handle = Callable[[str, HookRecord], None]
Report = Callable[[str, str], None]


@dataclass(slots=True)
class Spool:
    """The folder of pending records.

    `handle` records one event durably. If it can't do so now, it raises MemorydError and is retried after `pause`
    seconds. `report(where, what)` is called with errors.
    """

    folder: Path
    handle: Handle
    report: Report
    done: int = 0
    bad: int = 0
    pause: float = RETRY_SECONDS
    _attempts: dict[str, tuple[int, float]] = field(default_factory=dict)
    _seen: int = -1
    _look_again: float = math.inf
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def waiting(self) -> list[Path]:
        """Return the pending records, oldest first. Other files are ignored."""
        try:
            return sorted(path for path in self.folder.iterdir() if _NAME.fullmatch(path.name))
        except FileNotFoundError:
            return []

    def bad_count(self) -> int:
        """Return the number of records ever moved to `bad/`."""
        try:
            return sum(1 for _ in (self.folder / BAD).iterdir())
        except FileNotFoundError:
            return 0

    def changed(self) -> bool:
        """Return whether a retry is due or the last drain may have missed records. This costs one `stat`."""
        now = time.monotonic()
        return self._stamp() != self._seen or now >= self._look_again or any(due <= now for _, due in self._attempts.values())

    def _stamp(self) -> int:
        try:
            return self.folder.stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def drain(self) -> int:
        """Handle all pending records, oldest first, and return how many succeeded. Concurrent calls are serialised."""
        with self._lock:
            self._rescue()
            done, total = 1, 0
            while done:  # Another pass handles the records that arrived during this one.
                stamp = self._stamp()
                done = sum(self._take(path) for path in self.waiting())
                total += done
            self._seen = stamp
            return total

    def _rescue(self) -> None:
        """Adopt complete records left unpublished by killed hooks. Incomplete records are deleted later."""
        now = time.time()
        young = 0
        for path in self._unpublished():
            try:
                age = now - path.lstat().st_mtime
                if age < LEFT_SECONDS or (age < HANGING_SECONDS and _is_running(path)):
                    young += 1
                elif _read(path) is not None:
                    path.rename(path.with_name(path.name[1:]))
                    _logger.info("adopted the record %s from a killed hook", path.name)
            except InputError:  # The record is incomplete.
                if age > STALE_SECONDS:
                    path.unlink(missing_ok=True)
                    _logger.info("removed the incomplete record %s", path.name)
            except OSError as error:
                _logger.info("can't read the record %s: %s", path.name, error)
        self._look_again = time.monotonic() + LEFT_SECONDS if young else math.inf

    def _unpublished(self) -> list[Path]:
        try:
            return [path for path in self.folder.iterdir() if path.name.startswith(".") and _NAME.fullmatch(path.name[1:])]
        except FileNotFoundError:
            return []

    def _take(self, path: Path) -> bool:
        if self._attempts.get(path.name, (0, 0.0))[1] > time.monotonic():
            return False
        try:
            record = _read(path)
            if record is None:
                return False
            self.handle(path.suffix.removeprefix("."), record)
            path.unlink(missing_ok=True)
        except InputError as error:
            self._quarantine(path, error.message)
            return False
        except (MemorydError, OSError) as error:
            self._failed(path, str(error))
            return False
        self._attempts.pop(path.name, None)
        self.done += 1
        return True

    def _failed(self, path: Path, problem: str) -> None:
        count = self._attempts.get(path.name, (0, 0.0))[0] + 1
        self._attempts[path.name] = (count, time.monotonic() + self.pause)
        self.report("spool", f"{path.name}, attempt {count}: {problem}")
        if count >= MAX_ATTEMPTS:
            self._quarantine(path, problem)

    def _quarantine(self, path: Path, problem: str) -> None:
        self.report("spool", f"{path.name} was moved to {BAD}/: {problem}")
        self._attempts.pop(path.name, None)
        self.bad += 1
        with contextlib.suppress(FileNotFoundError):  # The user has deleted it.
            if stat.S_ISREG(path.lstat().st_mode):
                path.write_bytes(_without_words(path))
            path.replace(make_private_dir(self.folder / BAD) / path.name)

    def sweep(self, now: float | None = None) -> None:
        """Delete incomplete records left by killed hooks more than an hour ago."""
        limit = (time.time() if now is None else now) - STALE_SECONDS
        with contextlib.suppress(FileNotFoundError):  # No hook has written a record yet.
            for path in self.folder.iterdir():
                with contextlib.suppress(OSError):  # The hook has finished the record, or its file can't be deleted yet.
                    if path.name.startswith(".") and path.is_file() and path.stat().st_mtime < limit:
                        path.unlink()
                        _logger.info("removed the incomplete record %s", path.name)


def _is_running(path: Path) -> bool:
    """Return whether the process writing the record is still running. The file name contains its id."""
    if sys.platform == "win32":  # On Windows, os.kill would terminate the process.
        return True
    try:
        os.kill(int(path.name.rpartition("-")[2].partition(".")[0]), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _without_words(path: Path) -> bytes:
    """Return the part of a bad record that may be kept: the origin of the event, or only the length if it is unreadable."""
    try:
        record = _read(path)
    except (InputError, OSError):
        record = None
    if record is None:
        return f"{path.stat().st_size} bytes that are not an event record\n".encode()
    return b"\n" + orjson.dumps({name: value for name, value in record.payload.items() if name in _HARMLESS})


def _read(path: Path) -> HookRecord | None:
    """Return the record, or None if its file is gone. Raises InputError and OSError."""
    try:
        seen = path.lstat()
        if not stat.S_ISREG(seen.st_mode):  # Reading from a pipe would block, and a device might never end.
            raise InputError("not a regular file")
        if seen.st_size > MAX_RECORD_BYTES:
            raise InputError(f"the record exceeds {MAX_RECORD_BYTES} bytes")
        return parse_record(path.read_bytes())
    except FileNotFoundError:
        return None
