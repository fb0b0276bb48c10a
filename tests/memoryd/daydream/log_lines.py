"""Small, realistic lines of a session log, built by hand."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

SESSION = "0f3c2d1e-aaaa-4bbb-8ccc-123456789abc"
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the"
    " new_string was NOT written to the file). "
)


class Log:
    """Builds lines with increasing uuids and times."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def line(self, kind: str, **values: Any) -> dict[str, Any]:
        number = next(self._numbers)
        entry = {
            "parentUuid": None,
            "isSidechain": False,
            "cwd": "/home/ann/shop",
            "sessionId": SESSION,
            "version": "2.1.300",
            "type": kind,
            "uuid": f"00000000-0000-4000-8000-{number:012d}",
            "timestamp": f"2026-03-01T10:{number // 60:02d}:{number % 60:02d}.000Z",
        }
        return {**entry, **values}

    def user(self, content: Any, **values: Any) -> dict[str, Any]:
        return self.line("user", message={"role": "user", "content": content}, **values)

    def assistant(self, content: Any, **values: Any) -> dict[str, Any]:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return self.line("assistant", message={"role": "assistant", "model": "some-model", "content": blocks}, **values)

    def tool_use(self, use: str, name: str, **arguments: Any) -> dict[str, Any]:
        return self.assistant([{"type": "tool_use", "id": use, "name": name, "input": arguments}])

    def result(self, use: str, content: Any, error: bool = False, **values: Any) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": use, "content": content, "is_error": error}
        return self.user([block], **values)

    def queue(self, operation: str, **values: Any) -> dict[str, Any]:
        return {"type": "queue-operation", "operation": operation, "timestamp": "2026-03-01T10:00:00Z", **values}


def encode(*entries: Any) -> bytes:
    """Encode lines like the client. Bytes are written unchanged."""
    return b"".join(
        (e if isinstance(e, bytes) else json.dumps(e, ensure_ascii=False, separators=(",", ":")).encode()) + b"\n"
        for e in entries
    )


def write(path: Path, *entries: Any) -> Path:
    path.write_bytes(encode(*entries))
    return path


def conversation(turns: int = 4, size: int = 300) -> list[dict[str, Any]]:
    """Return a session with prompts, answers, commands with results, and irrelevant lines."""
    log, entries = Log(), []
    for number in range(turns):
        entries += [
            {"type": "file-history-snapshot", "messageId": f"m{number}", "snapshot": {"files": "f" * size}},
            log.user(f"Please change part {number}. " + "word " * (size // 10)),
            log.tool_use(f"toolu_{number}", "Bash", command=f"make test{number}", description="Run the tests"),
            log.result(f"toolu_{number}", "ok " * (size // 10), error=number % 2 == 1),
            log.assistant(f"Part {number} is done."),
            log.line("system", subtype="turn_duration", durationMs=5),
        ]
    return entries
