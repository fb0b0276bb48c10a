"""Memories that the user removed after an import: the raw bytes of the home, with the daemon as another process."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memoryd.daemon.client import Client
from memoryd.transfer.importing import slug_of
from tests.memoryd.api.test_forgotten import holding
from tests.memoryd.cli.conftest import Terminal

SAID = (
    "Always polish the zirkonglobe before the quarterly show.",
    "From now on never deploy the moorhuhn on Fridays.",
    "Why does the lampenfisch glow in the harbour?",
    "Remember that the ledger host is called quellenstern. <private>And mine is nachtfalter.</private>",
)


def _write_log(folder: Path, cwd: Path) -> None:
    file = folder / slug_of(cwd) / "s1.jsonl"
    file.parent.mkdir(parents=True)
    lines = []
    for number, text in enumerate(SAID):
        entry = {"type": "user", "uuid": f"u{number}", "sessionId": "s1", "cwd": str(cwd)}
        entry |= {"timestamp": f"2026-01-02T10:0{number}:00Z"}
        lines.append(json.dumps({**entry, "message": {"role": "user", "content": text}}))
    file.write_text("\n".join(lines) + "\n")


@pytest.mark.slow
def test_what_was_purged_of_an_imported_log_is_in_no_byte_of_the_home(terminal: Terminal, tmp_path: Path) -> None:
    mine = replace(terminal, home=tmp_path / "home")
    _write_log(tmp_path / "projects", mine.folder)
    mine.run("import", "--transcripts", str(tmp_path / "projects"))
    ids = {memory["content"]: memory["id"] for memory in mine.json("list", "--status", "all")["memories"]}
    purged = next(id for content, id in ids.items() if "zirkonglobe" in content)
    forgotten = next(id for content, id in ids.items() if "moorhuhn" in content)
    assert len(holding(mine.home, "zirkonglobe")) > 1, "the file and the indexes"
    mine.run("governance")
    mine.run("forget", "--purge", purged)
    mine.run("forget", forgotten)
    for _ in range(2):  # With the daemon running, and after it.
        assert holding(mine.home, "zirkonglobe") == []
        assert holding(mine.home, "lampenfisch") == [], "a question is in no table"
        assert holding(mine.home, "nachtfalter") == [], "what is private is nowhere"
        assert any(path.endswith(f"{forgotten}.md") for path in holding(mine.home, "moorhuhn")), "its file stays as a tombstone"
        assert holding(mine.home / "run", "moorhuhn") == []
        Client(mine.paths).stop(60)
    mine.run("import", "--transcripts", str(tmp_path / "projects"))
    contents = [memory["content"] for memory in mine.json("list")["memories"]]
    assert not any("zirkonglobe" in content or "moorhuhn" in content for content in contents), "the log is not read once more"
    Client(mine.paths).stop(60)
    assert holding(mine.home, "zirkonglobe") == []
