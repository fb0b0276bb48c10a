"""Collect the memories given to a session of a series, based on the memories of earlier sessions.

    python -m benchmarks.series MEMORIES.json LOG1 LOG2 … LOGn [--out given.json]

MEMORIES is a JSON list of {"session", "content", "kind", "polarity", "source", "asked_as"} as printed by the readers' tools.
Those of LOG1 … LOGn-1 (by file name) are written to a scratch home at the times of their sessions. Then the last session is
started and each of its user's prompts is submitted, as the hooks do. The memories given are printed as rows for
benchmarks/judging with the rubric `given`: the session, the memory, and the moment.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from memoryd.api.dispatch import Api
from memoryd.core.config import Settings
from memoryd.core.types import Kind, MemoryItem, Polarity, Source, Turn, TurnKind
from memoryd.daydream.transcript import read_all
from memoryd.testing import FakeClock

LINE = re.compile(r"- \[(mem_[0-9a-f]{12})\] \([^)]*\) (.*)")
MAX_PROMPTS = 12


def prompts_of(log: Path) -> list[Turn]:
    """Return the user's prompts in a session, in order."""
    turns = [turn for piece in read_all(log) for turn in piece.turns]
    return [turn for turn in turns if turn.kind is TurnKind.USER and turn.via == "prompt" and not turn.sidechain]


def items_of(memories: Sequence[dict[str, Any]], log: Path, project: str) -> Iterator[MemoryItem]:
    """Yield the memories of one session."""
    said = [turn.at for turn in prompts_of(log) if turn.at]
    at = max(said, default=datetime(2026, 1, 1, tzinfo=UTC))
    for entry in memories:
        if entry["session"] == log.stem:
            yield MemoryItem(
                entry["content"],
                kind=Kind(entry["kind"]),
                polarity=Polarity(entry.get("polarity", "know")),
                source=Source(entry.get("source", "agent_step")),
                project=project,
                session=log.stem,
                confidence=0.8,
                created_at=at,
                valid_from=at,
                asked_as=tuple(entry.get("asked_as", ())),
            )


def given_in(memories: Sequence[dict[str, Any]], logs: Sequence[Path]) -> list[dict[str, str]]:
    """Return rows with the memories given to the last session."""
    *earlier, last = logs
    prompts = prompts_of(last)[:MAX_PROMPTS]
    begun = prompts[0].at if prompts and prompts[0].at else datetime(2026, 12, 1, tzinfo=UTC)
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder) / "home", Path(folder) / "project"
        cwd.mkdir()
        settings = replace(Settings(home), reader="offline")  # No offers, because only memories are judged.
        api = Api(settings, FakeClock(begun))
        try:
            project = api.call("project_names", {"cwd": str(cwd)})["current"]
            service = api._service  # noqa: SLF001 - written like a reader's memories, at past times
            service.write_many([item for log in earlier for item in items_of(memories, log, project)])
            api.warm()
            service.settle(300)
            event = {"session_id": last.stem, "cwd": str(cwd), "transcript_path": ""}
            rows = _rows(last.stem, "at the start", api.hook("SessionStart", {**event, "source": "startup"}, {}))
            for number, turn in enumerate(prompts, 1):
                answer = api.hook("UserPromptSubmit", {**event, "prompt": turn.text}, {})
                rows += _rows(last.stem, f"with prompt {number}: {' '.join(turn.text.split())[:120]}", answer)
        finally:
            api.close()
    return rows


def _rows(session: str, moment: str, answer: bytes) -> list[dict[str, str]]:
    if not answer:
        return []
    text = orjson.loads(answer).get("hookSpecificOutput", {}).get("additionalContext", "")
    found = (LINE.match(line) for line in text.splitlines())
    return [{"session": session, "content": match[2], "context": moment} for match in found if match]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print or write the rows of one series."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("memories", type=Path)
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    if len(options.logs) < 2:
        parser.error("a series needs at least two sessions")
    rows = given_in(json.loads(options.memories.read_text("utf-8")), options.logs)
    text = json.dumps(rows, ensure_ascii=False, indent=1)
    if options.out:
        options.out.write_text(text, "utf-8")
    print(f"{len(rows)} memories given to {options.logs[-1].stem}" if options.out else text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
