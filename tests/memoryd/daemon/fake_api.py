"""A fake API that records its calls, and a daemon around it that can run as a process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memoryd.core.clock import SystemClock
from memoryd.core.config import load_settings
from memoryd.core.errors import NotFoundError, StoreError
from memoryd.daemon.process import run_daemon

LATE_SECONDS = 60.0  # Not from tests.waiting: as a script, this file can't import other tests.


def memory(number: int, content: str = "Use uv, not pip.") -> dict[str, Any]:
    return {
        "id": f"mem_{number:012x}",
        "content": content,
        "kind": "rule",
        "polarity": "do",
        "created_at": "2026-01-01T00:00:00Z",
        "relevancy": 0.9,
        "score": 0.8,
        "parts": {"relevancy": 0.7, "recency": 0.1},
        "backend": "hybrid",
    }


class FakeApi:
    """If a file is given, `noted` appends one line per event, so that other processes can read the events."""

    def __init__(self, noted: Path | None = None) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.hooks: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.drained: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self.closed = False
        self.slow = threading.Event()
        self.late = threading.Event()
        self.taken_back: list[dict[str, Any]] = []
        self.warmed = threading.Event()
        self.ticks = 0
        self._noted = noted
        self.info = None

    def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.calls.append((method, dict(params)))
        if method == "boom":
            raise RuntimeError("a secret detail")
        if method == "missing" or (method == "get_memory" and params["id"] == "mem_000000000000"):
            raise NotFoundError("There is no such memory.", fix="List them.")
        if method == "wait":
            assert self.slow.wait(60)
        if method in self.answers:
            return self.answers[method]
        if method == "memory_status" and self.info is not None:
            return {"ok": True, "daemon": self.info()}
        return {  # type: ignore[return-value]
            "recall": {"hits": [memory(1)], "answer": "found", "route": {}, "left_out": 0},
            "remember": {"id": "mem_00000000000a", "status": "new", "superseded": None, "path": "/m.md"},
            "settle": {"results": [{"id": "a1b2", "status": "dropped"}], "kept": 0, "dropped": 1},
            "get_memory": {"memory": memory(1), "path": "/m.md"},
            "update_memory": {"memory": memory(1)},
            "forget": {"id": "mem_000000000001", "status": "blacklisted"},
            "related": {"related": []},
            "timeline": {"events": []},
            "list_memories": {"memories": [memory(1)], "total": 1, "left_out": 0},
            "dream": {"status": "planned", "changes": []},
            "handoff": {"project": "p", "handoffs": [{"session": "s1", "at": "2026-01-01T00:00:00Z", "text": "Asked: x"}]},
            "governance": {"text": "- do", "ids": {"know": [], "do": [], "dont": []}, "tokens": 2},
        }.get(method, {"ok": True})

    def hook(self, event: str, payload: dict[str, Any], options: dict[str, Any]) -> bytes | None:
        self.hooks.append((event, payload, options))
        if payload.get("boom"):
            raise RuntimeError("boom")
        if payload.get("slow"):
            self.late.wait(LATE_SECONDS)
        return f"answer to {event} {payload.get('n', '')}".encode()

    def undelivered(self, payload: dict[str, Any]) -> None:
        self.taken_back.append(payload)

    def warm(self) -> None:
        self.warmed.set()

    def drain_spool_record(self, event: str, payload: dict[str, Any], options: dict[str, Any]) -> None:
        if payload.get("full"):
            raise StoreError("The disk is full.")
        self.drained.append((event, payload))
        if self._noted is not None:
            with self._noted.open("a") as stream:
                stream.write(f"{event} {payload.get('n', '')}\n")

    def tick(self) -> None:
        self.ticks += 1

    def slots(self) -> tuple[Any, ...]:
        return ()

    def close(self) -> None:
        self.closed = True
        if self._noted is not None:
            with self._noted.open("a") as stream:
                stream.write("closed\n")

    def busy(self) -> bool:
        return False


if __name__ == "__main__":
    settings = load_settings()
    sys.exit(run_daemon(settings, lambda settings, info: FakeApi(settings.home / "noted"), SystemClock()))
