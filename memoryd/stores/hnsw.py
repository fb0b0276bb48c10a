"""Approximate nearest-neighbour index (HNSW, Malkov & Yashunin 2016), a rebuildable cache next to the vector database.

No other module imports hnswlib (extra `ann`). The library maps any bytes it is given, and a damaged file can crash
the process. A sidecar file therefore contains the size and SHA-256, and nothing is loaded unless both match. File and
sidecar are each replaced atomically. A crash in between leaves a mismatched pair, which is treated as missing.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from memoryd.core.errors import DependencyError, StoreError
from memoryd.core.files import TEMPORARY_PREFIX, sync_dir, write_atomic
from memoryd.core.protocols import FloatArray
from memoryd.core.text import digest

FORMAT = 2
LINKS = 16
BUILD_WIDTH = 200
SEARCH_WIDTH = 96
THREADS = 2
SLACK = 4_096


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity of the indexed vectors: table (a random number), model and dimensions."""

    table: int
    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class _Sidecar:
    format: int
    table: int
    model: str
    dimensions: int
    version: int
    count: int
    size: int
    sha256: str
    check: str = ""

    def seal(self) -> str:
        """Return the digest of all other fields. Without it, a corrupt `version` would silently hide rows."""
        return digest(*(str(getattr(self, field.name)) for field in fields(self) if field.name != "check"))


def hnsw_available() -> bool:
    """Return whether hnswlib is installed, without importing it."""
    return importlib.util.find_spec("hnswlib") is not None


class HnswIndex:
    """Approximate index of unit vectors by rowid. `version` is the last table change included. Not thread-safe."""

    exact = False

    def __init__(self, index: Any, dimensions: int, version: int = 0) -> None:
        self.version = version
        self.dimensions = dimensions
        self._index = index

    def __len__(self) -> int:
        return int(self._index.get_current_count())

    def put(self, rowids: Sequence[int], vectors: FloatArray) -> None:
        """Add or replace rows."""
        room = self._index.get_max_elements() - len(self)
        if room < len(rowids):
            self._index.resize_index(len(self) + len(rowids) + SLACK)
        self._index.add_items(vectors, np.asarray(rowids, dtype=np.int64), num_threads=THREADS)

    def top(self, vector: FloatArray, sizes: Sequence[int]) -> Iterator[tuple[list[int], FloatArray]]:
        """For each of the increasing sizes n, yield the rowids and cosines of about n nearest rows, best first."""
        for size in sizes:
            n = min(size, len(self))
            self._index.set_ef(max(SEARCH_WIDTH, n))
            try:
                labels, distances = self._index.knn_query(vector[None, :], k=n, num_threads=1)
            except RuntimeError as error:
                raise StoreError(f"The HNSW index failed: {error}", fix="Run 'memoryd reindex'.") from error
            yield labels[0].tolist(), np.asarray(1.0 - distances[0], dtype=np.float32)

    def save(self, path: Path) -> None:
        """Write the index in the library's format. `save_hnsw` adds the sidecar."""
        self._index.save_index(str(path))


def new_hnsw(identity: Identity, capacity: int) -> HnswIndex:
    """Create an empty index.

    Raises:
        DependencyError: hnswlib is not installed.
    """
    index = _new_index(identity.dimensions)
    index.init_index(max_elements=capacity + SLACK, ef_construction=BUILD_WIDTH, M=LINKS, random_seed=1)
    return HnswIndex(index, identity.dimensions)


def save_hnsw(index: HnswIndex, path: Path, identity: Identity) -> None:
    """Write the index and its sidecar. Each file is replaced atomically.

    Raises:
        StoreError: The files can't be written.
    """
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{path.name}")
    try:
        index.save(temporary)
        temporary.chmod(0o600)
        with temporary.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        size = temporary.stat().st_size
        temporary.replace(path)
        sync_dir(path.parent)
    except (OSError, RuntimeError) as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(f"Can't write {path}: {error}", fix="Check free space and permissions.") from error
    sidecar = _Sidecar(FORMAT, identity.table, identity.model, identity.dimensions, index.version, len(index), size, sha256)
    write_atomic(_sidecar_path(path), orjson.dumps(asdict(replace(sidecar, check=sidecar.seal()))))


def load_hnsw(path: Path, identity: Identity) -> HnswIndex | None:
    """Load the index of these vectors. Return None if the file is missing, damaged or contains other vectors."""
    sidecar = _read_sidecar(path)
    if sidecar is None or Identity(sidecar.table, sidecar.model, sidecar.dimensions) != identity:
        return None
    try:
        if path.stat().st_size != sidecar.size:
            return None
        with path.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != sidecar.sha256:
                return None
        index = _new_index(identity.dimensions)
        index.load_index(str(path), max_elements=sidecar.count + SLACK)
    except (OSError, RuntimeError):
        return None
    return HnswIndex(index, identity.dimensions, sidecar.version)


def remove_hnsw(path: Path) -> None:
    """Delete the index file and its sidecar if they exist."""
    for file in (path, _sidecar_path(path)):
        file.unlink(missing_ok=True)


def _sidecar_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _read_sidecar(path: Path) -> _Sidecar | None:
    try:
        sidecar = _Sidecar(**orjson.loads(_sidecar_path(path).read_bytes()))
    except (OSError, orjson.JSONDecodeError, TypeError):
        return None
    return sidecar if sidecar.format == FORMAT and sidecar.check == sidecar.seal() else None


def _new_index(dimensions: int) -> Any:
    try:
        import hnswlib
    except ImportError as error:
        raise DependencyError("The HNSW index requires hnswlib.", fix="Run: pip install 'memoryd[ann]'") from error
    # For unit vectors, the inner product is the cosine.
    return hnswlib.Index(space="ip", dim=dimensions)
