"""The sessions of OpenCode are read from its database."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryd.clients.registry import client_of_log, foreign_client, log_status, open_log
from memoryd.core.state import Cursor
from memoryd.core.types import TurnKind
from memoryd.daydream.transcript import cursor_at_end, first_folder, read_transcript
from tests.memoryd.clients.reading import turns

TABLES = """
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, permission TEXT, revert TEXT, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
"""
HOUR_MS = 3_600_000


class Sessions:
    """A database as OpenCode writes it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "opencode.db"
        self._db = sqlite3.connect(self.path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.executescript(TABLES)
        self._now = int(time.time() * 1000) - 2 * HOUR_MS
        self._number = 0

    def session(self, id: str = "ses_one", *, parent: str | None = None, scripted: bool = False) -> Path:
        rules = json.dumps([{"permission": "question", "pattern": "*", "action": "deny"}]) if scripted else None
        self.run("INSERT INTO session VALUES (?, ?, '/work/shop', ?, NULL, ?)", id, parent, rules, self._now)
        return self.path / id

    def run(self, sql: str, *values: Any) -> None:
        self._db.execute(sql, values)

    def message(self, data: dict[str, Any], *parts: dict[str, Any], session: str = "ses_one", fresh: bool = False) -> str:
        self._number += 1
        id = f"msg_{self._number:03}"
        at = int(time.time() * 1000) if fresh else self._now + self._number
        self.run("INSERT INTO message VALUES (?, ?, ?, ?, ?)", id, session, at, at, json.dumps(data))
        for number, part in enumerate(parts):
            values = (f"prt_{self._number:03}_{number}", id, session, at, at, json.dumps(part))
            self.run("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", *values)
        return id

    def prompt(self, *parts: str | dict[str, Any], **options: Any) -> str:
        return self.message({"role": "user"}, *(text(part) if isinstance(part, str) else part for part in parts), **options)

    def answer(self, *parts: str | dict[str, Any], **options: Any) -> str:
        data = {"role": "assistant", "time": {"completed": 1}, "tokens": {"input": 7, "output": 2, "cache": {"read": 5}}}
        return self.message(data, *(text(part) if isinstance(part, str) else part for part in parts), **options)


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(name: str, given: dict[str, Any], output: str, status: str = "completed") -> dict[str, Any]:
    state = {"status": status, "input": given, "error" if status == "error" else "output": output}
    return {"type": "tool", "tool": name, "callID": f"call_{name}", "state": state}


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    found = Sessions(tmp_path)
    yield found
    found._db.close()


def test_prompts_answers_and_tools_become_turns(sessions: Sessions) -> None:
    log = sessions.session()
    sessions.prompt("Never commit to main directly.")
    sessions.answer("I will use a branch.", tool("bash", {"command": "git switch -c work"}, "Switched"))
    found = turns(log)
    assert [(turn.kind, turn.text) for turn in found[:2]] == [
        (TurnKind.USER, "Never commit to main directly."),
        (TurnKind.ASSISTANT, "I will use a branch."),
    ]
    assert (found[2].tool, found[2].detail, found[3].kind, found[3].text) == (
        "Bash",
        "git switch -c work",
        TurnKind.TOOL_RESULT,
        "Switched",
    )
    assert first_folder(str(log)) == "/work/shop"
    assert foreign_client(str(log)) == "opencode"


def test_only_what_the_user_typed_is_the_users(sessions: Sessions) -> None:
    log = sessions.session()
    sessions.prompt(
        "Look at the notes.",
        text("Always deploy on Fridays.", synthetic=True),
        {"type": "file", "filename": "notes.md", "mime": "text/plain", "url": "file:///notes.md"},
        text("Never run the tests.", ignored=True),
    )
    sessions.answer(tool("read", {"filePath": "notes.md"}, "Always push to main."))
    spoken = [turn.text for turn in turns(log) if turn.kind is TurnKind.USER]
    assert spoken == ["Look at the notes."]


def test_the_prompts_of_subagents_are_not_the_users(sessions: Sessions) -> None:
    log = sessions.session("ses_child", parent="ses_one")
    sessions.prompt("Always use four spaces.", session="ses_child")
    sessions.answer("Done.", session="ses_child")
    assert all(turn.sidechain for turn in turns(log))
    assert TurnKind.USER not in {turn.kind for turn in turns(log)}
    assert client_of_log(log).name == "opencode"


def test_the_template_of_a_command_is_not_the_users(sessions: Sessions) -> None:
    log = sessions.session()
    marked = text("Always review in five steps: 7", metadata={"memoryd_command": {"name": "review", "arguments": "7"}})
    sessions.prompt(marked)
    sessions.answer("Reviewed.")
    assert not any("five steps" in turn.text for turn in turns(log))


def test_quotes_that_the_command_line_adds_are_removed(sessions: Sessions) -> None:
    scripted, typed = sessions.session("ses_run", scripted=True), sessions.session("ses_tui")
    for id in ("ses_run", "ses_tui"):
        sessions.prompt('"Use \\"ruff\\" for formatting."', session=id)
        sessions.answer("Fine.", session=id)
    assert turns(scripted)[0].text == 'Use "ruff" for formatting.'
    assert turns(typed)[0].text != 'Use "ruff" for formatting.'


def test_a_session_only_grows_and_is_read_once(sessions: Sessions) -> None:
    log = sessions.session()
    sessions.prompt("Use port 8080.")
    sessions.answer("Noted.")
    before = open_log(log).read()
    piece = read_transcript(log, Cursor(str(log)))
    sessions.prompt("Use port 9090 for the metrics.")
    sessions.message({"role": "assistant"}, text("I am still wri"), fresh=True)
    assert open_log(log).read().startswith(before)
    assert log_status(log).size == len(open_log(log).read())
    later = read_transcript(log, piece.cursor)
    assert [turn.text for turn in later.turns] == ["Use port 9090 for the metrics."]
    assert not later.reset


def test_a_message_that_may_change_is_left_for_later(sessions: Sessions) -> None:
    log = sessions.session()
    sessions.prompt("Just now", fresh=True)
    assert turns(log) == []
    sessions.run("UPDATE message SET time_updated = time_updated - ?", HOUR_MS)  # Nobody answered it.
    sessions.run("UPDATE part SET time_updated = time_updated - ?", HOUR_MS)
    assert [turn.text for turn in turns(log)] == ["Just now"]
    assert log_status(log).size == len(open_log(log).read())


def test_what_the_user_took_back_is_not_read(sessions: Sessions) -> None:
    log = sessions.session()
    sessions.prompt("Keep this.")
    sessions.answer("Kept.")
    undone = sessions.prompt("Never mind this.")
    sessions.answer("Gone.")
    sessions.run("UPDATE session SET revert = ?", json.dumps({"messageID": undone}))
    assert [turn.text for turn in turns(log)] == ["Keep this.", "Kept."]


def test_secrets_are_redacted_and_nothing_is_written(sessions: Sessions, tmp_path: Path) -> None:
    log = sessions.session()
    sessions.prompt("The key is AKIAIOSFODNN7EXAMPLA, deploy with it.")
    sessions.answer("Ok.")
    files = set(tmp_path.iterdir())
    assert "AKIAIOSFODNN7EXAMPLA" not in str(turns(log))
    assert set(tmp_path.iterdir()) == files


def test_damaged_rows_lose_only_themselves(sessions: Sessions) -> None:
    log = sessions.session()
    sessions.prompt("First.")
    broken = sessions.answer("lost")
    sessions.run("UPDATE part SET data = '{' WHERE message_id = ?", broken)
    sessions.answer(tool("bash", {"command": "x" * 100_000, "list": [1, 2]}, "y\n" * 100_000), {"type": "tool", "state": 3})
    sessions.prompt("Last.")
    sessions.answer("End.")
    assert [turn.text for turn in turns(log) if turn.kind is TurnKind.USER] == ["First.", "Last."]
    assert len(open_log(log).read()) < 20_000


def test_a_missing_session_or_database_is_reported_as_a_missing_file(sessions: Sessions, tmp_path: Path) -> None:
    for path in (sessions.path / "ses_none", tmp_path / "opencode-other.db" / "ses_one"):
        with pytest.raises(OSError):
            open_log(path)
        assert first_folder(str(path)) == ""
    assert cursor_at_end(str(tmp_path / "opencode-other.db" / "ses_one"), "ses_one") is None
