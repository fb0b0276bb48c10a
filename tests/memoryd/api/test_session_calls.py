"""Records of a session, for the CLI and the console."""

from __future__ import annotations

import stat
import sys

import orjson
import pytest

from memoryd.core.config import Settings
from memoryd.core.errors import InputError, NotFoundError
from memoryd.core.ledger import UseKind
from memoryd.core.text import token_count
from tests.memoryd.api.conftest import Desk

SAID = (
    "Always run make check before a commit.",
    "Can you look at the tests of the parser first?",
    "The deploy token is ghp_0123456789abcdefABCDEF0123456789abcd for now, it is somewhere in the settings I guess.",
)


def dreamt(desk: Desk, *texts: str) -> None:
    """Run a day dream of a session in which the user said these texts."""
    lines = [
        {
            "type": "user",
            "uuid": f"u{number}",
            "sessionId": "s1",
            "cwd": str(desk.folder),
            "timestamp": f"2026-01-01T00:0{number}:00Z",
            "message": {"role": "user", "content": text},
        }
        for number, text in enumerate(texts)
    ]
    (desk.folder / "s1.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    desk.hook("SessionStart", source="startup")
    desk.user("daydream")
    desk.api.tick()


def test_a_report_tells_what_was_kept_and_what_not_and_why(desk: Desk) -> None:
    dreamt(desk, *SAID)
    report = desk.user("session_report", session="s1")
    (kept,) = report["kept_statements"]
    assert (kept["text"], kept["kind"], kept["source"], kept["line"]) == (SAID[0], "rule", "user", 1)
    assert kept["reason"].startswith("stated as a rule")
    assert desk.user("get_memory", id=kept["memory"])["memory"]["content"] == SAID[0]
    refused = {entry["text"]: entry["reason"] for entry in report["refused_statements"]}
    assert any("parser" in text for text in refused)
    assert all(refused.values())
    assert (report["kept"], report["turns"], report["extractor"], report["tokens"]) == (1, 3, "session", 0)
    assert sum(report["skipped"].values()) >= len(refused)


def test_no_secret_is_in_a_report_or_its_file(desk: Desk, settings: Settings) -> None:
    dreamt(desk, *SAID)
    result = orjson.dumps(desk.user("session_report", session="s1"))
    assert b"ghp_0123456789" not in result
    for path in settings.paths.state_db.parent.glob("state.db*"):
        assert b"ghp_0123456789" not in path.read_bytes()
        if sys.platform != "win32":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_report_tells_what_was_injected_and_used(desk: Desk) -> None:
    dreamt(desk, "hello")
    id = desk.user("remember", content="The staging database is on port 5544.", kind="fact")["id"]
    desk.hook("UserPromptSubmit", prompt="On which port is the staging database?")
    desk.model("recall", query="staging database port")
    report = desk.user("session_report", session="s1")
    assert [(entry["id"], entry["event"]) for entry in report["injected"]] == [(id, "UserPromptSubmit")]
    assert [(entry["id"], entry["how"]) for entry in report["used"]] == [(id, "returned")]
    assert report["injected"][0]["content"] == "The staging database is on port 5544."


def test_what_hooks_gave_to_a_session_is_counted_in_tokens_against_what_it_cited(desk: Desk) -> None:
    id = desk.user("remember", content="The staging database is on port 5544.", kind="fact")["id"]
    desk.user("remember", content="Never run terraform here.", kind="rule")
    given = desk.hook("SessionStart", source="startup")["hookSpecificOutput"]["additionalContext"]
    payload = {"session_id": "s1", "cwd": str(desk.folder), "tool_name": "Bash", "tool_input": {"command": "terraform apply"}}
    noted = orjson.loads(desk.api.hook("PreToolUse", payload, {}))["hookSpecificOutput"]["additionalContext"]
    desk.api._state.ledger.record_use([id], "s1", UseKind.CITED)
    report = desk.user("session_report", session="s1")
    tokens = {"SessionStart": token_count(given), "PreToolUse": token_count(noted)}
    assert report["given_by_event"] == tokens
    whole = {"tokens": sum(tokens.values()), "memories": 2, "cited": 1}
    assert report["given"] == desk.user("sessions")["sessions"][0]["given"] == whole
    assert desk.user("memory_status")["context"] == {"sessions": 1, **whole}


def test_sessions_are_listed_also_those_not_yet_read(desk: Desk) -> None:
    dreamt(desk, *SAID)
    payload = {"session_id": "s2", "cwd": str(desk.folder), "transcript_path": str(desk.folder / "s2.jsonl"), "source": "startup"}
    desk.api.hook("SessionStart", payload, {})
    listed = desk.user("sessions")
    assert {row["session"]: row["kept"] for row in listed["sessions"]} == {"s1": 1, "s2": 0}
    assert {row["project_name"] for row in listed["sessions"]} == {"shop"}
    assert desk.user("sessions", limit=1)["left_out"] == 1
    assert desk.user("sessions", project="no-such")["sessions"] == []
    assert len(desk.user("sessions", project="all")["sessions"]) == len(desk.user("sessions", project="shop")["sessions"]) == 2


def test_a_session_is_found_by_the_beginning_of_its_id_if_that_is_enough(desk: Desk) -> None:
    for name in ("abcd-1", "abcd-2", "efgh-1"):
        payload = {"session_id": name, "cwd": str(desk.folder), "transcript_path": str(desk.folder / "x.jsonl")}
        desk.api.hook("SessionStart", payload | {"source": "startup"}, {})
    assert desk.user("session_report", session="efgh")["session"] == "efgh-1"
    for wrong in ("abcd", "zzzz", "e"):
        with pytest.raises(NotFoundError):
            desk.user("session_report", session=wrong)


def test_a_model_cannot_read_reports(desk: Desk) -> None:
    for method in ("sessions", "session_report"):
        with pytest.raises(InputError):
            desk.model(method, session="s1")
