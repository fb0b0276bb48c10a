"""The store behind a browser test: a home folder with a running daemon."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from memoryd.client import Client, ensure_daemon
from memoryd.config import Settings, load_settings

sys.path.insert(0, str(Path(__file__).parents[1]))

import realistic  # noqa: E402

WIDTHS = (390, 1440)
THEMES = ("light", "dark")


class Store:
    """A home folder with a running daemon."""

    def __init__(self, folder: Path, count: int) -> None:
        self.settings: Settings = load_settings({}, home=str(folder / "home"), embedder="hash")
        self.projects = folder / "projects"
        self.settings.home.mkdir(parents=True)
        self.settings.paths.config.write_text('embedder = "hash"\n', "utf-8")
        self.items = realistic.fill(self.settings, self.projects, count) if count else []
        ensure_daemon(self.settings)
        self.client = Client(self.settings.paths)

    def link(self, cwd: str = "") -> str:
        """A fresh one-time link."""
        return str(self.client.call("console_open", {"cwd": cwd})["url"])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """An API method."""
        return self.client.call(method, params)
