"""basic-memory: a project for each scope, a note for each turn, written and searched in process by its MCP tools."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from peer_protocol import Found, Peer, once, serve


class BasicMemory(Peer):
    """Settings: `search` (text, vector or hybrid).

    Its state is stored in the folder, so its packages are imported after `open`.
    """

    packages = ("basic-memory", "fastembed", "sqlite-vec")

    def open(self, folder: Path, settings: dict[str, Any]) -> None:
        super().open(folder, settings)
        _with_extensions()
        os.environ["BASIC_MEMORY_CONFIG_DIR"] = str(folder / "state")
        os.environ["BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED"] = str(settings["search"] != "text").lower()
        from basic_memory.index.local_schedulers import drain_background_tasks
        from basic_memory.index.note_content_materialization import drain_pending_materializations
        from basic_memory.mcp import tools

        self._tools = tools
        self._drains = (drain_pending_materializations, drain_background_tasks)
        self._loop = asyncio.new_event_loop()
        self._ids: dict[str, dict[str, str]] = {}

    def add(self, scope: str, items: Sequence[dict[str, str]]) -> dict[str, Any]:
        if not self.of(scope).exists():
            self._run(
                self._tools.create_memory_project(project_name=scope, project_path=str(self.of(scope)), output_format="json")
            )
        ids = self._titles(scope)
        for item in items:
            title = f"turn {len(ids) + 1}"
            ids[title] = item["id"]
            writing = self._tools.write_note(
                title=title, content=item["text"], directory=item["session"], project=scope, output_format="json"
            )
            self._run(writing)
        (self.folder / f"{scope}.json").write_text(json.dumps(ids), "utf-8")
        self.settle(scope)
        return {}

    def settle(self, scope: str) -> None:
        for drain in self._drains:
            self._run(drain())

    def search(self, scope: str, query: str, k: int, at: str) -> Found:
        found = self._run(
            self._tools.search_notes(
                query=query, project=scope, page_size=k, search_type=self.settings["search"], output_format="json"
            )
        )
        if isinstance(found, str):
            raise RuntimeError(found[:500])
        ids = self._titles(scope)
        return once([(ids[hit["title"]], float(hit.get("score") or 0.0)) for hit in found["results"] if hit["title"] in ids], k)

    def clear(self, scope: str) -> None:
        if self.of(scope).exists():
            self._run(self._tools.delete_project(project_name=scope))
        self._ids.pop(scope, None)
        (self.folder / f"{scope}.json").unlink(missing_ok=True)
        super().clear(scope)

    def kept(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.is_dir()]

    def _titles(self, scope: str) -> dict[str, str]:
        """Return a mapping of note titles to turn ids."""
        path = self.folder / f"{scope}.json"
        if scope not in self._ids:
            self._ids[scope] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return self._ids[scope]

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


def _with_extensions() -> None:
    """Replace an sqlite3 that can't load extensions by pysqlite3.

    The peer's vectors need extensions, which many Pythons can't load.
    """
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        import pysqlite3

        sys.modules["sqlite3"], sys.modules["sqlite3.dbapi2"] = pysqlite3, pysqlite3.dbapi2


if __name__ == "__main__":
    serve(BasicMemory())
