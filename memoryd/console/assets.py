"""Style sheets and scripts, read once. Their address holds a digest of all of them, so a browser may keep them for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memoryd.core.text import digest

FOLDER = Path(__file__).parent / "static"
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
KEEP = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    body: bytes
    media_type: str


class Assets:
    """All static files by name ("app.js"); those of other packages as "NAME/file.js". No path is ever built from a request."""

    def __init__(self, folders: Mapping[str, Path] | None = None) -> None:
        self._files = _read(FOLDER, "")
        for name, folder in (folders or {}).items():
            self._files |= _read(folder, f"{name}/")
        text = "".join(f"{name}:{digest(asset.body.decode())}" for name, asset in sorted(self._files.items()))
        self.version = digest(text)[:12]

    def url(self, name: str) -> str:
        """Where a file is served. Raises KeyError for one that does not exist: a fault of the template."""
        if name not in self._files:
            raise KeyError(name)
        return f"/static/{self.version}/{name}"

    def get(self, name: str) -> Asset | None:
        """The file of this name."""
        return self._files.get(name)


def _read(folder: Path, prefix: str) -> dict[str, Asset]:
    found = (path for path in folder.rglob("*") if path.suffix in TYPES and path.is_file())
    return {f"{prefix}{path.relative_to(folder).as_posix()}": Asset(path.read_bytes(), TYPES[path.suffix]) for path in found}
