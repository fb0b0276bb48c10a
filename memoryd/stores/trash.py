"""Deleted memory files: moved aside under their own path, so that they can come back."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from memoryd.errors import BrokenFileError, StoreError
from memoryd.files import make_private_dir, sync_dir
from memoryd.stores import memory_file
from memoryd.stores.locations import SUFFIX

_NUMBER = re.compile(r"\.~(\d+)~\.md\Z", re.IGNORECASE)


class Trash:
    """Files under `folder`, each at the path that it had under `root`; `.~2~`, `.~3~` … before the suffix when that is taken."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder

    def put(self, relative: str) -> Path:
        """Move a memory file here; returns where it lies."""
        target = self._folder / relative
        number = 1
        while target.exists():
            number += 1
            target = (self._folder / relative).with_name(f"{Path(relative).stem}.~{number}~{SUFFIX}")
        source = self._root / relative
        move(source, target)
        remove_empty_parents(source, self._root)
        return target

    def newest(self, id: str) -> tuple[Path, str] | None:
        """The copy of this memory that was put here last, and the relative path that it had."""
        copies = [copy for copy in self._copies(f"*{id}*{SUFFIX}") if self._id(*copy) == id]
        # Files of other tools are named freely: then every copy has to be read.
        copies = copies or [copy for copy in self._copies(f"*{SUFFIX}") if self._id(*copy) == id]
        return max(copies, key=lambda copy: (copy[0].stat().st_ctime_ns, _number(copy[0])), default=None)

    def take(self, copy: Path, relative: str) -> None:
        """Move a copy back to its place."""
        move(copy, self._root / relative)
        remove_empty_parents(copy, self._folder)

    def erase(self, id: str) -> bool:
        """Delete every copy of this memory; whether there was one."""
        found = [path for path, relative in self._copies(f"*{SUFFIX}") if id in path.name or self._id(path, relative) == id]
        for path in found:
            path.unlink(missing_ok=True)
            remove_empty_parents(path, self._folder)
        return bool(found)

    def _copies(self, pattern: str) -> Iterator[tuple[Path, str]]:
        for path in sorted(self._folder.rglob(pattern)):
            if path.is_file():
                yield path, _NUMBER.sub(SUFFIX, path.relative_to(self._folder).as_posix())

    def _id(self, path: Path, relative: str) -> str:
        try:
            return memory_file.read(path.read_bytes(), str(path), relative, 0).item.id
        except BrokenFileError:
            return ""  # an older copy that someone edited; it stays, and is nobody's newest


def _number(path: Path) -> int:
    match = _NUMBER.search(path.name)
    return int(match[1]) if match else 1


def move(source: Path, target: Path) -> None:
    """Rename durably within one file system. Raises StoreError when the disk refuses."""
    try:
        make_private_dir(target.parent)
        source.rename(target)
        sync_dir(target.parent)
        sync_dir(source.parent)
    except OSError as error:
        raise StoreError(f"Can't move {source} to {target}: {error.strerror}.", fix="Check the permissions.") from error


def remove_empty_parents(path: Path, root: Path) -> None:
    """Remove the folders that a move left empty, up to the root."""
    for folder in path.parents:
        if folder == root or not folder.is_relative_to(root):
            return
        with contextlib.suppress(OSError):  # not empty, or just used by somebody
            folder.rmdir()
            continue
        return
