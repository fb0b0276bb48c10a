"""Detect manual edits by collecting and debouncing file events in a folder."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.core.errors import MemorydError
from memoryd.core.files import TEMPORARY_PREFIX

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

log = logging.getLogger(__name__)
MAX_PATHS = 10_000
REPORT_SECONDS = 30.0  # Between reports of a folder that can't be watched.
_LONGEST_WAIT = 10.0
_RESCAN_SECONDS = 1.0
_QUIET_EVENTS = frozenset({"opened", "closed_no_write"})


class MemoryWatcher:
    """Calls `on_change` in its own thread with the changed paths below a folder.

    Events are collected until none has arrived for `settle_seconds`, but for at most 10 s. More than 10,000 changed paths
    are reported as the folder itself. A folder that is created later, or deleted and recreated, is picked up within a second.
    If `on_change` fails, the error is logged and the watcher keeps running. If the folder can't be watched, or watching ends
    because of an error, that is logged and the folder itself is reported every 30 s.
    """

    def __init__(self, folder: Path, on_change: Callable[[set[Path]], None], settle_seconds: float = 0.3) -> None:
        self._folder = folder
        self._on_change = on_change
        self._settle = settle_seconds
        self._paths: set[Path] = set()
        self._arrived = threading.Condition()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._observer: BaseObserver | None = None
        self._watched = (0, 0)
        self._lost = threading.Event()
        self._readers: list[threading.Thread] = []
        self._is_usable = True
        self._reported_at = 0.0

    def start(self) -> None:
        """Start watching. Safe to call twice. If the folder exists, events are being received when this returns."""
        if self._thread is not None:
            return
        self._stopping.clear()
        self._watch()
        self._thread = threading.Thread(target=self._run, name="memoryd-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching and drop pending events. Safe to call twice."""
        self._stopping.set()
        with self._arrived:
            self._arrived.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None
        self._unwatch()

    def _watch(self) -> bool:
        """Renew the watch if necessary. Return whether events may be missing: the folder appeared, vanished or is unwatched."""
        found = identity(self._folder)
        if found == self._watched and not self._lost.is_set():
            if not all(thread.is_alive() for thread in self._readers):
                self._is_usable = False
                self._warn_unwatched("the thread that reads the events ended")
                self._unwatch()
                self._watched = found
            return found != (0, 0) and self._observer is None and self._is_report_due()
        was_watched = self._watched != (0, 0)
        self._unwatch()
        if found == (0, 0):
            return was_watched  # The deletion event may not have arrived yet. It is lost when the watch is removed.
        if not self._is_usable:
            self._watched = found
            return True
        return self._observe(found, was_watched)

    def _observe(self, found: tuple[int, int], was_watched: bool) -> bool:
        from watchdog.events import FileSystemEventHandler
        from watchdog.observers import Observer

        handler = FileSystemEventHandler()
        handler.on_any_event = self._collect  # type: ignore[method-assign]
        observer = Observer()
        try:
            observer.schedule(handler, str(self._folder), recursive=True, event_filter=_wanted_events())
            observer.start()
        except (OSError, RecursionError) as error:  # For example, the limit of inotify watches, or too deeply nested folders.
            self._warn_unwatched(getattr(error, "strerror", None) or error)
            self._watched = found  # One warning is enough.
            return was_watched
        self._observer, self._watched = observer, found
        self._readers = [thread for thread in threading.enumerate() if _is_reader(thread)]
        return True

    def _warn_unwatched(self, reason: object) -> None:
        log.warning("Can't watch %s: %s. Edits are found within %d seconds.", self._folder, reason, REPORT_SECONDS)

    def _is_report_due(self) -> bool:
        now = time.monotonic()
        if now - self._reported_at < REPORT_SECONDS:
            return False
        self._reported_at = now
        return True

    def _unwatch(self) -> None:
        observer, self._observer, self._watched = self._observer, None, (0, 0)
        self._lost.clear()
        self._readers = []
        if observer is not None:
            observer.stop()
            observer.join()

    def _collect(self, event: FileSystemEvent) -> None:
        if event.event_type in _QUIET_EVENTS:
            return
        paths = [Path(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path]
        if event.event_type in ("deleted", "moved") and paths[0] == self._folder:
            self._lost.set()  # A new folder may have the same inode but would produce no events.
        wanted = [path for path in paths if not path.name.startswith(TEMPORARY_PREFIX)]
        # Ignore modified folders, because each changed file has its own event.
        if event.is_directory and event.event_type == "modified" or not wanted:
            return
        self._add(*wanted)

    def _add(self, *paths: Path) -> None:
        with self._arrived:
            self._paths.update(paths)
            if len(self._paths) > MAX_PATHS:
                self._paths = {self._folder}
            self._arrived.notify_all()

    def _run(self) -> None:
        while not self._stopping.is_set():
            if self._watch():
                self._add(self._folder)
            if paths := self._settled():
                self._hand_over(paths)

    def _settled(self) -> set[Path]:
        """Return the collected paths once no more arrive. Return none after a second without events, or when stopping."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._paths or self._stopping.is_set(), _RESCAN_SECONDS)
            if not self._paths:
                return set()
            rounds = int(_LONGEST_WAIT / self._settle) if self._settle > 0 else 0
            for _ in range(rounds):
                if self._stopping.is_set() or not self._arrived.wait(self._settle):
                    break
            paths, self._paths = self._paths, set()
        return set() if self._stopping.is_set() else paths

    def _hand_over(self, paths: set[Path]) -> None:
        try:
            self._on_change(paths)
        except (MemorydError, OSError, ValueError, LookupError, RuntimeError):
            log.exception("Changes in %s could not be processed; the next sync retries.", self._folder)


def _is_reader(thread: threading.Thread) -> bool:
    """Return whether the thread reads events for the observers. It ends at an error, and no other one takes its place.

    Those of observers and emitters are no readers. They end when their folder is deleted.
    """
    from watchdog.observers.api import BaseObserver, EventEmitter

    return type(thread).__module__.startswith("watchdog.") and not isinstance(thread, BaseObserver | EventEmitter)


def _wanted_events() -> list[type[FileSystemEvent]]:
    """Return all event types except opening and reading. A scan of 10,000 folders would overflow the queue with those."""
    from watchdog import events

    files = [events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent]
    return [*files, events.FileClosedEvent, events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent]


def identity(path: Path) -> tuple[int, int]:
    """Return the device and inode of a file or folder, or zeros if it is gone."""
    try:
        stat = path.stat()
    except OSError:
        return (0, 0)
    return (stat.st_dev, stat.st_ino)
