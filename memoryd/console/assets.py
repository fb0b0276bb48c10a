"""Style sheets and scripts, loaded once. Their URLs contain a digest of all files, so browsers can cache them forever."""

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
    """A static file with its media type."""

    body: bytes
    media_type: str


class Assets:
    """All static files by name ("app.js", or "NAME/file.js" for other packages). Requests are never mapped to file paths."""

    def __init__(self, folders: Mapping[str, Path] | None = None) -> None:
        self._files = _read(FOLDER, "")
        for name, folder in (folders or {}).items():
            self._files |= _read(folder, f"{name}/")
        text = "".join(f"{name}:{digest(asset.body.decode())}" for name, asset in sorted(self._files.items()))
        self.version = digest(text)[:12]

    def url(self, name: str) -> str:
        """Return the URL of a file. Raises KeyError if the file is unknown, which is a bug in the template."""
        if name not in self._files:
            raise KeyError(name)
        return f"/static/{self.version}/{name}"

    def get(self, name: str) -> Asset | None:
        """Return the file with this name, if any."""
        return self._files.get(name)


def _read(folder: Path, prefix: str) -> dict[str, Asset]:
    found = (path for path in folder.rglob("*") if path.suffix in TYPES and path.is_file())
    return {f"{prefix}{path.relative_to(folder).as_posix()}": Asset(path.read_bytes(), TYPES[path.suffix]) for path in found}
