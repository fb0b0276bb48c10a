"""How far a download is, in lines: when the file is whole, and now and then until it is."""

from __future__ import annotations

import time
from collections.abc import Callable

EVERY_SECONDS = 5.0


class DownloadLines:
    """A `Progress` of `Downloader` that says it. Sizes are in MB of a million bytes."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._told: dict[str, float] = {}

    def __call__(self, name: str, done: int, total: int | None) -> None:
        """Say it if it is time."""
        now = self._clock()
        last = self._told.setdefault(name, now)
        if done != total and now - last < EVERY_SECONDS:
            return
        self._told[name] = now
        of = f" of {_size(total)}, {100 * done // total} %" if total else ""
        self._say(f"{name}: {_size(done)}{of}")


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
