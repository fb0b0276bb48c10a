"""Downloads that survive: resumed after a break, checked against a checksum, moved into place when whole.

While it runs, bytes lie in `<file>.part` and the server's ETag in `<file>.part.etag`. A later call asks for the
rest (Range with If-Range, so that a file that changed meanwhile starts anew). A file appears under its own name
only when size and checksum are right. Two processes take turns by a lock file.
"""

from __future__ import annotations

import fcntl
import http.client
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from memeval.benchmarks.reading import file_sha256
from memeval.core.errors import DataError

CHUNK = 1 << 18
Progress = Callable[[str, int, int | None], None]
"""Called with file name, bytes so far and bytes in all (None if unknown)."""


def no_progress(name: str, done: int, total: int | None) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Download:
    """One file to fetch. `sha256` and `size` are checked when given."""

    url: str
    target: Path
    sha256: str = ""
    size: int | None = None


class _BrokenOff(Exception):
    """The connection ended early; what came is kept."""


@dataclass(frozen=True, slots=True)
class Downloader:
    """Fetches files over HTTP(S). `token` goes to the first host only, never to where it redirects."""

    progress: Progress = no_progress
    attempts: int = 4
    backoff_seconds: float = 1.0
    timeout_seconds: float = 30.0
    token: str = ""
    sleep: Callable[[float], None] = field(default=time.sleep)

    def fetch(self, download: Download) -> Path:
        """Return the file, downloaded unless it is there. Raises DataError that says what to put where."""
        target = download.target
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock(target.with_name(target.name + ".lock")):
            if not target.exists():
                self._fetch_with_retries(download)
        return target

    def pages(self, url: str) -> Iterator[bytes]:
        """A document that may come in pages, each named by the `Link: <...>; rel="next"` of the one before. DataError."""
        following: str | None = url
        while following:
            body, following = self._page(following)
            yield body

    def _page(self, url: str) -> tuple[bytes, str | None]:
        for attempt in range(self.attempts):
            try:
                with urllib.request.urlopen(self._request(url), timeout=self.timeout_seconds) as response:
                    return bytes(response.read()), _next_page(response.headers.get("Link", ""))
            except (OSError, http.client.HTTPException) as error:
                problem = error
                if not _is_transient(error):
                    break
            self._wait(attempt)
        raise DataError(f"{url} can't be fetched: {_reason(problem)}.", fix="Check the connection, or use local data (--data).")

    def _fetch_with_retries(self, download: Download) -> None:
        for attempt in range(self.attempts):
            try:
                self._fetch_once(download)
            except (OSError, http.client.HTTPException, _BrokenOff) as error:
                problem: Exception = error
                if not _is_transient(error):
                    break
            else:
                _accept(download)
                return
            self._wait(attempt)
        raise DataError(
            f"{download.url} can't be fetched: {_reason(problem)}.",
            fix=f"Try again (what came so far is kept), or download it by other means and put it at {download.target}.",
        ) from problem

    def _wait(self, attempt: int) -> None:
        if attempt + 1 < self.attempts:
            self.sleep(self.backoff_seconds * 2**attempt)

    def _fetch_once(self, download: Download) -> None:
        part = _part(download.target)
        have = part.stat().st_size if part.exists() else 0
        etag = _etag_file(part)
        request = self._request(download.url)
        if have and etag.exists():
            request.add_header("Range", f"bytes={have}-")
            request.add_header("If-Range", etag.read_text())
        try:
            response = urllib.request.urlopen(request, timeout=self.timeout_seconds)
        except urllib.error.HTTPError as error:
            if error.code == 416:  # the part is no beginning of this file
                part.unlink(missing_ok=True)
                raise _BrokenOff("the part that was kept doesn't fit") from error
            raise
        with response:
            resumed = response.status == 206 and _starts_at(response.headers.get("Content-Range", ""), have)
            _keep_etag(etag, response.headers.get("ETag", ""))
            with part.open("ab" if resumed else "wb") as file:
                self._copy(response, file, download, have if resumed else 0)

    def _copy(self, response: http.client.HTTPResponse, file: IO[bytes], download: Download, done: int) -> None:
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdecimal() else download.size
        while chunk := response.read(CHUNK):
            file.write(chunk)
            done += len(chunk)
            self.progress(download.target.name, done, total)
        file.flush()
        os.fsync(file.fileno())
        if total is not None and done < total:
            raise _BrokenOff(f"the connection ended after {done} of {total} bytes")

    def _request(self, url: str) -> urllib.request.Request:
        if not url.startswith(("https://", "http://")):
            raise DataError(f"{url!r} is no http(s) address.", fix="Correct the benchmark's source.")
        request = urllib.request.Request(url, headers={"User-Agent": "memeval", "Accept-Encoding": "identity"})
        if self.token:
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        return request


def _accept(download: Download) -> None:
    """Check the part and give it its name."""
    part = _part(download.target)
    size = part.stat().st_size
    found = file_sha256(part) if download.sha256 else ""
    if found != download.sha256.lower() or (download.size is not None and size != download.size):
        part.unlink()
        wanted = f"SHA-256 {download.sha256}" if download.sha256 else f"{download.size} bytes"
        raise DataError(
            f"{download.url} is not what was expected: {wanted} wanted, got {size} bytes"
            + (f" with SHA-256 {found}." if found else "."),
            fix=f"Try again; if it stays so, the data set changed: pin its revision, or put the right file at {download.target}.",
        )
    part.replace(download.target)
    _etag_file(part).unlink(missing_ok=True)


def _part(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _etag_file(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


def _keep_etag(file: Path, etag: str) -> None:
    """Only a strong ETag may be used to resume (RFC 9110, 13.1.5)."""
    if etag and not etag.startswith("W/"):
        file.write_text(etag)
    else:
        file.unlink(missing_ok=True)


def _starts_at(content_range: str, start: int) -> bool:
    return content_range.startswith(f"bytes {start}-")


def _next_page(link: str) -> str | None:
    """The address of RFC 8288's `next` relation."""
    found = re.search(r'<([^>]+)>\s*;\s*rel="?next"?', link)
    return found.group(1) if found else None


def _is_transient(error: Exception) -> bool:
    if isinstance(error, urllib.error.HTTPError):
        return error.code in (408, 429) or error.code >= 500
    return True


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    return str(getattr(error, "reason", "") or error or type(error).__name__)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
