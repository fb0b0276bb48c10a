"""Export to a single file, either a `.tar.gz` with the Markdown tree or a `.jsonl` with one item per line."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import orjson

from memoryd import __version__
from memoryd.core.codec import item_to_json
from memoryd.core.errors import InputError
from memoryd.core.files import write_atomic
from memoryd.core.types import MemoryItem
from memoryd.service import Orchestrator

MANIFEST = "manifest.json"
FORMAT = 1


def export(service: Orchestrator, target: Path, *, project: str | None = None, force: bool = False) -> dict[str, Any]:
    """Write all memories, or those of one project, to `target`. The suffix determines the format.

    Raises:
        InputError: The file exists and `force` is not set, its folder does not exist, or the format is unknown.
    """
    if target.resolve().is_relative_to(service.folder.resolve()):
        raise InputError(f"{target} is inside the memories folder.", fix="Name a file in another folder.")
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}.", fix="Create it first, or name another file.")
    if target.exists() and not force:
        raise InputError(f"{target} already exists.", fix="Name another file, or use --force to overwrite it.")
    items = [item for item in service.all() if project is None or item.project == project]
    if target.name.endswith(".jsonl"):
        data = b"".join(item_to_json(item) + b"\n" for item in items)
    elif target.name.endswith((".tar.gz", ".tgz")):
        data = _archive(service, items)
    else:
        raise InputError(f"{target.name}: unknown format.", fix="Name the file something.tar.gz or something.jsonl.")
    write_atomic(target, data)
    return {"path": str(target), "memories": len(items), "bytes": len(data)}


def _archive(service: Orchestrator, items: list[MemoryItem]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        manifest = {"format": FORMAT, "memoryd": __version__, "memories": len(items)}
        _add(archive, MANIFEST, orjson.dumps(manifest))
        for item in items:
            _add(archive, f"items/{item.id}.json", item_to_json(item))
            if (file := service.file_of(item.id)) is not None:
                _add(archive, f"memories/{file.path}", file.data)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    entry.mode = 0o600
    archive.addfile(entry, io.BytesIO(data))
