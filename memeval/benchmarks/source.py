"""Where a benchmark's files are: on disk, at URLs, or in a Hugging Face data set."""

from __future__ import annotations

import fnmatch
import json
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from memeval.benchmarks.download import Download, Downloader
from memeval.core.errors import DataError
from memeval.specs import BenchmarkSpec, FileSpec, SourceType

HUB = "https://huggingface.co"
CACHE = Path("~/.cache/memeval/datasets")


@dataclass(frozen=True, slots=True)
class Sources:
    """Finds or fetches the files of a benchmark. `cache` holds downloads; offline, only what is there is used."""

    cache: Path = CACHE
    downloader: Downloader = field(default_factory=Downloader)
    offline: bool = False
    hub: str = HUB

    def resolve(self, spec: BenchmarkSpec, data: Path | None = None) -> Path:
        """The file or folder with the data; `data` is the user's own copy. Raises DataError that says what to put where."""
        if data is not None:
            return _existing(data.expanduser(), spec)
        if spec.source.type is SourceType.LOCAL:
            return self._local(spec)
        return self._downloaded(spec)

    def folder(self, spec: BenchmarkSpec) -> Path:
        """Where downloads of this benchmark lie, and where files fetched by other means can be put."""
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
        """The files, with patterns such as `data/*.json` replaced by what the hub lists, and what it says of the others."""
        for file in spec.source.files or (FileSpec(path="*"),):
            if any(sign in file.path for sign in "*?["):
                yield from self._matching(spec, file.path)
            elif spec.source.type is SourceType.HUGGINGFACE and not file.sha256 and not self.offline:
                yield self._told(spec, file)
            else:
                yield file

    def _told(self, spec: BenchmarkSpec, file: FileSpec) -> FileSpec:
        """The file with its size, and its SHA-256 if it is a large one, as the hub lists them, where it does."""
        if _there(self.folder(spec) / file.path):
            return file
        try:
            asked = replace(self, downloader=replace(self.downloader, attempts=1))
            return next((FileSpec(**one) for one in asked._tree(spec, file.path) if one["path"] == file.path), file)
        except (DataError, ValueError):
            return file  # the download tells what is wrong, and where to put the file

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
                raise DataError(f"{spec.source.dataset} holds no file {pattern!r}.", fix="Correct source.files of the benchmark.")
            folder.mkdir(parents=True, exist_ok=True)
            listing.write_text(json.dumps(files))
        return [FileSpec(**file) for file in json.loads(listing.read_text())]

    def _tree(self, spec: BenchmarkSpec, pattern: str) -> Iterator[dict[str, Any]]:
        """Files of the data set, as the hub's API lists them; large ones come with their SHA-256."""
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
            raise DataError(f"{spec.name}: the file name {file.path!r} leaves the cache.", fix="Correct source.files.")
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
    """The file or its packed form, whichever is in the cache."""
    return next((path for path in (target, target.with_name(target.name + ".gz")) if path.exists()), None)


def _by_hand(spec: BenchmarkSpec, target: Path) -> str:
    told = spec.source.instructions or f"Download {HUB}/datasets/{spec.source.dataset}."
    return f"Check the connection. Or: {told} Put it at {target}, or name your copy with --data."


def _existing(path: Path, spec: BenchmarkSpec) -> Path:
    if path.exists():
        return path
    raise DataError(f"{spec.name}: there is no {path}.", fix=spec.source.instructions or "Correct the path of the data.")


def _missing(spec: BenchmarkSpec, target: Path, url: str) -> DataError:
    return DataError(
        f"{spec.name}: {target.name} is not in the cache, and nothing is fetched now.",
        fix=f"Download {url} and put it at {target}, or name your copy with --data.",
    )


def _already_there(spec: BenchmarkSpec, folder: Path, pattern: str) -> list[FileSpec]:
    present = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file())
    found = [FileSpec(path=name) for name in present if _matches(name, pattern)]
    if not found:
        raise _missing(spec, folder / pattern, f"{HUB}/datasets/{spec.source.dataset}")
    return found


def _matches(name: str, pattern: str) -> bool:
    """Like a shell: `*` stays within one folder; a pattern without a slash is for names in all folders."""
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
