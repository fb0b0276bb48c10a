"""Locate a benchmark's files on disk, at URLs, or in a Hugging Face data set."""

from __future__ import annotations

import fnmatch
import http.client
import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any

from memeval.benchmarks.reading import file_sha256
from memeval.core.errors import DataError
from memeval.specs import BenchmarkSpec, FileSpec, SourceType
from memoryd.core.files import locked

EVERY_SECONDS = 5.0


class DownloadLines:
    """A `Progress` for `Downloader` that prints lines. Sizes are in megabytes (10^6 bytes)."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._last_printed: dict[str, float] = {}

    def __call__(self, name: str, done: int, total: int | None) -> None:
        """Print a line if enough time has passed since the last one."""
        now = self._clock()
        last = self._last_printed.setdefault(name, now)
        if done != total and now - last < EVERY_SECONDS:
            return
        self._last_printed[name] = now
        of = f" of {_size(total)}, {100 * done // total} %" if total else ""
        self._say(f"{name}: {_size(done)}{of}")


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


CHUNK = 1 << 18
Progress = Callable[[str, int, int | None], None]
"""Called with the file name, the bytes so far and the total bytes (None if unknown)."""


def no_progress(name: str, done: int, total: int | None) -> None:
    """Ignore the progress."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file to fetch. Its `sha256` and `size` are verified if given."""

    url: str
    target: Path
    sha256: str = ""
    size: int | None = None


class _ConnectionLost(Exception):
    """Raised when the connection was closed early. The partial file is kept."""


@dataclass(frozen=True, slots=True)
class Downloader:
    """Fetches files over HTTP(S). The `token` is sent only to the original host, never to the target of a redirect."""

    progress: Progress = no_progress
    attempts: int = 4
    backoff_seconds: float = 1.0
    timeout_seconds: float = 30.0
    token: str = ""
    sleep: Callable[[float], None] = field(default=time.sleep)

    def fetch(self, download: Download) -> Path:
        """Return the file, downloading it if it is missing. Raises DataError with instructions for a manual download."""
        target = download.target
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.with_name(target.name + ".lock")):
            if not target.exists():
                self._fetch_with_retries(download)
        return target

    def pages(self, url: str) -> Iterator[bytes]:
        """Yield the pages of a document that may be paginated.

        Each page refers to the next one in the header `Link: <...>; rel="next"`. Raises DataError.
        """
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
            except (OSError, http.client.HTTPException, _ConnectionLost) as error:
                problem: Exception = error
                if not _is_transient(error):
                    break
            else:
                _accept(download)
                return
            self._wait(attempt)
        raise DataError(
            f"{download.url} can't be fetched: {_reason(problem)}.",
            fix=f"Try again (the partial file is kept), or download it by other means and put it at {download.target}.",
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
            if error.code == 416:  # The partial file isn't a prefix of this file.
                part.unlink(missing_ok=True)
                raise _ConnectionLost("the partial file doesn't match") from error
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
            raise _ConnectionLost(f"the connection ended after {done} of {total} bytes")

    def _request(self, url: str) -> urllib.request.Request:
        if not url.startswith(("https://", "http://")):
            raise DataError(f"{url!r} is not an http(s) address.", fix="Correct the benchmark's source.")
        request = urllib.request.Request(url, headers={"User-Agent": "memeval", "Accept-Encoding": "identity"})
        if self.token:
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        return request


def _accept(download: Download) -> None:
    """Verify the partial file and give it its final name."""
    part = _part(download.target)
    size = part.stat().st_size
    found = file_sha256(part) if download.sha256 else ""
    if found != download.sha256.lower() or (download.size is not None and size != download.size):
        part.unlink()
        wanted = f"SHA-256 {download.sha256}" if download.sha256 else f"{download.size} bytes"
        raise DataError(
            f"{download.url} does not match: expected {wanted}, got {size} bytes" + (f" with SHA-256 {found}." if found else "."),
            fix="Try again. If the problem persists, the data set has changed: pin its revision, or put the right "
            f"file at {download.target}.",
        )
    part.replace(download.target)
    _etag_file(part).unlink(missing_ok=True)


def _part(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _etag_file(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


def _keep_etag(file: Path, etag: str) -> None:
    """Store the ETag if it is strong. Only a strong ETag may be used to resume a download (RFC 9110, 13.1.5)."""
    if etag and not etag.startswith("W/"):
        file.write_text(etag, encoding="utf-8")
    else:
        file.unlink(missing_ok=True)


def _starts_at(content_range: str, start: int) -> bool:
    return content_range.startswith(f"bytes {start}-")


def _next_page(link: str) -> str | None:
    """Return the URL of the `next` relation according to RFC 8288."""
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


HUB = "https://huggingface.co"
CACHE = Path("~/.cache/memeval/datasets")


@dataclass(frozen=True, slots=True)
class Sources:
    """Finds or fetches the files of a benchmark.

    `cache` is the folder for downloads. If `offline` is set, only cached files are used.
    """

    cache: Path = CACHE
    downloader: Downloader = field(default_factory=Downloader)
    offline: bool = False
    hub: str = HUB

    def resolve(self, spec: BenchmarkSpec, data: Path | None = None) -> Path:
        """Return the file or folder with the data.

        `data` is the path of a local copy. Raises DataError with instructions for a manual download.
        """
        if data is not None:
            return _existing(data.expanduser(), spec)
        if spec.source.type is SourceType.LOCAL:
            return self._local(spec)
        return self._downloaded(spec)

    def folder(self, spec: BenchmarkSpec) -> Path:
        """Return the folder for this benchmark's downloads, which may also contain files fetched by other means."""
        source = spec.source
        named = f"{source.dataset.replace('/', '--')}/{source.revision}" if source.dataset else spec.name
        return self.cache.expanduser() / named

    def _local(self, spec: BenchmarkSpec) -> Path:
        base = spec.origin.path.parent
        if spec.source.path:
            return _existing(base / Path(spec.source.path).expanduser(), spec)
        found = [_existing(base / file.path, spec) for file in spec.source.files]
        return found[0] if len(found) == 1 else found[0].parent

    def _downloaded(self, spec: BenchmarkSpec) -> Path:
        folder = self.folder(spec)
        found = [self._file(spec, file, folder) for file in self._files(spec)]
        return found[0] if len(found) == 1 else folder

    def _files(self, spec: BenchmarkSpec) -> Iterator[FileSpec]:
        """Yield the files with the metadata listed by the hub. Patterns such as `data/*.json` are expanded."""
        for file in spec.source.files or (FileSpec(path="*"),):
            if any(sign in file.path for sign in "*?["):
                yield from self._matching(spec, file.path)
            elif spec.source.type is SourceType.HUGGINGFACE and not file.sha256 and not self.offline:
                yield self._with_listed_size(spec, file)
            else:
                yield file

    def _with_listed_size(self, spec: BenchmarkSpec, file: FileSpec) -> FileSpec:
        """Add the size of the file and, for large files, the SHA-256, if the hub lists them."""
        if _there(self.folder(spec) / file.path):
            return file
        try:
            asked = replace(self, downloader=replace(self.downloader, attempts=1))
            return next((FileSpec(**one) for one in asked._tree(spec, file.path) if one["path"] == file.path), file)
        except (DataError, ValueError):
            return file  # The download will report the problem with instructions.

    def _matching(self, spec: BenchmarkSpec, pattern: str) -> list[FileSpec]:
        folder = self.folder(spec)
        listing = folder / f".listing-{_safe_name(pattern)}.json"
        if not listing.exists():
            if self.offline:
                return _already_there(spec, folder, pattern)
            try:
                files = [file for file in self._tree(spec, pattern) if _matches(file["path"], pattern)]
            except DataError as error:
                raise DataError(error.message, fix=_by_hand(spec, folder / pattern)) from error
            if not files:
                raise DataError(
                    f"{spec.source.dataset} contains no file {pattern!r}.", fix="Correct source.files in the benchmark."
                )
            folder.mkdir(parents=True, exist_ok=True)
            listing.write_text(json.dumps(files))
        return [FileSpec(**file) for file in json.loads(listing.read_text())]

    def _tree(self, spec: BenchmarkSpec, pattern: str) -> Iterator[dict[str, Any]]:
        """List the data set's files from the hub's API. The entries of large files include their SHA-256."""
        source = spec.source
        prefix = "/".join(_fixed_parts(pattern))
        url = f"{self.hub}/api/datasets/{source.dataset}/tree/{source.revision}/{urllib.parse.quote(prefix)}?recursive=true"
        for page in self.downloader.pages(url):
            for entry in json.loads(page):
                if entry.get("type") == "file":
                    yield {"path": entry["path"], "sha256": (entry.get("lfs") or {}).get("oid", ""), "bytes": entry.get("size")}

    def _file(self, spec: BenchmarkSpec, file: FileSpec, folder: Path) -> Path:
        path = PurePosixPath(file.path)
        if path.is_absolute() or ".." in path.parts:
            raise DataError(f"{spec.name}: the file name {file.path!r} points outside the cache.", fix="Correct source.files.")
        target = folder / path
        if (there := _there(target)) is not None:
            return there
        url = file.url or self._hub_url(spec, file.path)
        if self.offline:
            raise _missing(spec, target, url)
        return self.downloader.fetch(Download(url, target, file.sha256, file.bytes))

    def _hub_url(self, spec: BenchmarkSpec, path: str) -> str:
        source = spec.source
        return f"{self.hub}/datasets/{source.dataset}/resolve/{source.revision}/{urllib.parse.quote(path)}"


def _there(target: Path) -> Path | None:
    """Return the file or its compressed form, whichever is in the cache, or None."""
    return next((path for path in (target, target.with_name(target.name + ".gz")) if path.exists()), None)


def _by_hand(spec: BenchmarkSpec, target: Path) -> str:
    advice = spec.source.instructions or f"Download {HUB}/datasets/{spec.source.dataset}."
    return f"Check the connection. Or: {advice} Put it at {target}, or give the path of your copy with --data."


def _existing(path: Path, spec: BenchmarkSpec) -> Path:
    if path.exists():
        return path
    raise DataError(f"{spec.name}: there is no {path}.", fix=spec.source.instructions or "Correct the path of the data.")


def _missing(spec: BenchmarkSpec, target: Path, url: str) -> DataError:
    return DataError(
        f"{spec.name}: {target.name} is not in the cache, and offline mode is on.",
        fix=f"Download {url} and put it at {target}, or give the path of your copy with --data.",
    )


def _already_there(spec: BenchmarkSpec, folder: Path, pattern: str) -> list[FileSpec]:
    present = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file())
    found = [FileSpec(path=name) for name in present if _matches(name, pattern)]
    if not found:
        raise _missing(spec, folder / pattern, f"{HUB}/datasets/{spec.source.dataset}")
    return found


def _matches(name: str, pattern: str) -> bool:
    """Return whether the name matches the pattern, like in a shell.

    The wildcard `*` doesn't match a slash. A pattern without a slash matches names in any folder.
    """
    parts, wanted = name.split("/"), pattern.split("/")
    if len(wanted) == 1:
        return fnmatch.fnmatchcase(parts[-1], pattern)
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def _fixed_parts(pattern: str) -> Iterator[str]:
    for part in pattern.split("/")[:-1]:
        if any(sign in part for sign in "*?["):
            return
        yield part


def _safe_name(pattern: str) -> str:
    return "".join(sign if sign.isalnum() else "_" for sign in pattern)
