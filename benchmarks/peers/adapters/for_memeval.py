"""A memeval provider behind the same protocol. memoryd and bm25 run in a separate process, like all peers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from peer_protocol import Found, Peer, serve

from memeval import registry
from memeval.core.types import SearchRequest, Session, Turn
from memeval.specs import ProviderSpec, ProviderType

TIMEOUT = 3600.0


class MemevalProvider(Peer):
    """Settings: `provider` (name), `options`."""

    packages = ("memoryd",)

    def open(self, folder: Path, settings: dict[str, Any]) -> None:
        super().open(folder, settings)
        name = settings["provider"]
        self._provider = registry.provider.get(name)(ProviderSpec(name, ProviderType.LOCAL), settings.get("options", {}))
        self._provider.open(folder)
        self._provider.ingest("warm", [Session("s", (Turn("t", "user", "The first embedding loads the model."),))])
        self._provider.await_indexed("warm", TIMEOUT)
        self._provider.search("warm", SearchRequest("What loads the model?", 1))
        self._provider.clear("warm")

    def add(self, scope: str, items: Sequence[dict[str, str]]) -> dict[str, Any]:
        sessions: dict[str, list[Turn]] = {}
        for item in items:
            sessions.setdefault(item["session"], []).append(_turn(item))
        self._provider.ingest(scope, [Session(id, tuple(turns), turns[0].at) for id, turns in sessions.items()])
        return {}

    def settle(self, scope: str) -> None:
        self._provider.await_indexed(scope, TIMEOUT)

    def search(self, scope: str, query: str, k: int, at: str) -> Found:
        found = self._provider.search(scope, SearchRequest(query, k, datetime.fromisoformat(at) if at else None))
        return [(piece.turns[0], piece.score) for piece in found]

    def clear(self, scope: str) -> None:
        self._provider.clear(scope)

    def kept(self) -> list[Path]:
        """Return the product's homes. memeval's own copies of the sessions are stored beside them."""
        return list(self.folder.glob("*/home"))


def _turn(item: dict[str, str]) -> Turn:
    """Convert an item to a turn. As for all peers, its text already includes the speaker's name."""
    return Turn(item["id"], item["role"], item["text"], at=datetime.fromisoformat(item["at"]) if item["at"] else None)


if __name__ == "__main__":
    serve(MemevalProvider())
