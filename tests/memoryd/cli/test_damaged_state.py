"""With a damaged state database, memories are still found, and the message explains what to do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memoryd.daemon.client import Client
from tests.memoryd.cli.conftest import Terminal


def test_memories_are_found_while_state_db_is_damaged_and_nothing_is_written(terminal: Terminal, tmp_path: Path) -> None:
    mine = replace(terminal, home=tmp_path / "home")
    id = mine.json("remember", "The zebra grazes at the gate.")["id"]
    Client(mine.paths).stop(60)
    damaged = mine.paths.state_db.read_bytes()[:5_000]
    for name in ("state.db-wal", "state.db-shm"):
        mine.paths.state_db.with_name(name).unlink(missing_ok=True)
    mine.paths.state_db.write_bytes(damaged)
    result = mine.run("search", "zebra at the gate", "--json")
    assert json.loads(result.stdout)["hits"][0]["id"] == id
    assert "state.db is damaged" in result.stderr and "Move state.db" in result.stderr
    assert mine.json("show", id)["memory"]["id"] == id
    assert "Move state.db" in mine.run("remember", "The mill grinds barley.", code=1).output
    assert mine.paths.state_db.read_bytes() == damaged
    mine.paths.state_db.unlink()
    assert mine.json("search", "zebra at the gate")["hits"][0]["id"] == id
    Client(mine.paths).stop(60)


@pytest.mark.slow
def test_a_model_is_answered_nothing_while_it_is_not_known_what_is_off(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = replace(terminal, home=tmp_path / "home")
    mine.run("remember", "The zebra grazes at the gate.")
    Client(mine.paths).stop(60)
    mine.paths.state_db.write_bytes(b"no database at all, as far as anybody can tell")
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "zebra grazes" not in mine.run("search", "zebra at the gate", code=1).output
