"""Reviewing new memories, and confirming them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from memoryd.api.dispatch import Api
from memoryd.core.config import Settings
from memoryd.core.errors import InputError
from memoryd.core.types import CONFIRMED_TAG, Kind, MemoryItem, Polarity, Source, Status
from memoryd.testing import FakeClock
from tests.memoryd.api.conftest import Desk


@pytest.fixture
def desk(settings: Settings, clock: FakeClock, tmp_path: Path) -> Iterator[Desk]:
    api = Api(settings, clock)
    api.warm()
    folder = tmp_path / "shop"
    folder.mkdir()
    made = Desk(api, folder)
    made.hook("SessionStart", source="startup")  # The very first one also specifies the current reader.
    yield made
    api.close()


def learn(desk: Desk, clock: FakeClock, content: str, **fields: object) -> str:
    clock.advance(minutes=1)
    project = desk.user("project_names")["current"]
    values = {"project": project, "session": "s1", "source": Source.AGENT_STEP, "created_at": clock.now(), **fields}
    return desk.api._service.write(MemoryItem(content, **values))


def shown(desk: Desk, **params: object) -> list[str]:
    return [memory["content"] for memory in desk.user("review", **params)["memories"]]


def test_a_review_shows_what_was_learnt_newest_first_until_it_was_seen(desk: Desk, clock: FakeClock) -> None:
    learn(desk, clock, "The queue runs on Redis.")
    learn(desk, clock, "Tests need a database.", status=Status.CANDIDATE)
    assert shown(desk) == ["Tests need a database.", "The queue runs on Redis."]
    desk.user("reviewed", until=desk.user("review")["until"])
    learn(desk, clock, "The cache lives in Valkey.")
    assert shown(desk) == ["The cache lives in Valkey."]
    assert len(shown(desk, everything=True)) == 3


def test_what_came_while_the_person_was_reading_is_shown_the_next_time(desk: Desk, clock: FakeClock) -> None:
    learn(desk, clock, "The queue runs on Redis.")
    until = desk.user("review")["until"]
    learn(desk, clock, "The cache lives in Valkey.")
    desk.user("reviewed", until=until)
    assert shown(desk) == ["The cache lives in Valkey."]


def test_what_the_person_wrote_pinned_or_confirmed_needs_no_review(desk: Desk, clock: FakeClock) -> None:
    desk.user("remember", content="Lint before each commit.")
    learn(desk, clock, "The host is alpha.", pinned=True)
    learn(desk, clock, "The host was beta.", tags=(CONFIRMED_TAG,))
    found = desk.model("remember", content="The worker is started by systemd.")
    assert [memory["id"] for memory in desk.user("review")["memories"]] == [found["id"]]


def test_confirming_makes_a_candidate_active_without_making_it_the_users_word(desk: Desk, clock: FakeClock) -> None:
    id = learn(desk, clock, "Always run the linter.", status=Status.CANDIDATE, kind=Kind.RULE, polarity=Polarity.DO)
    desk.user("confirm", ids=[id])
    memory = desk.user("get_memory", id=id)["memory"]
    assert (memory["status"], memory["source"], memory["confidence"]) == ("active", "agent_step", 0.95)
    given = desk.user("governance")["memories"]
    assert [entry["id"] for entry in given["know"]] == [id] and not given["do"]


def test_a_forgotten_memory_is_not_confirmed_by_mistake(desk: Desk, clock: FakeClock) -> None:
    id = learn(desk, clock, "The queue runs on Redis.")
    desk.user("forget", id=id)
    with pytest.raises(InputError, match="blacklisted") as caught:
        desk.user("confirm", ids=[id])
    assert f"memoryd restore {id}" in caught.value.fix


def test_a_model_can_neither_confirm_nor_mark_as_seen(desk: Desk, clock: FakeClock) -> None:
    id = learn(desk, clock, "The queue runs on Redis.", status=Status.CANDIDATE)
    for method, params in (("confirm", {"ids": [id]}), ("reviewed", {}), ("review", {})):
        with pytest.raises(InputError, match="no method"):
            desk.model(method, **params)


def test_a_session_is_named_by_its_first_prompt_and_never_where_memory_is_off(desk: Desk, clock: FakeClock) -> None:
    log = desk.folder / "s1.jsonl"
    line = {"type": "user", "uuid": "u1", "sessionId": "s1", "cwd": str(desk.folder), "timestamp": "2026-01-01T00:00:00Z"}
    log.write_bytes(orjson.dumps(line | {"message": {"role": "user", "content": "Why does\nthe export fail?"}}) + b"\n")
    payload = {"session_id": "s1", "cwd": str(desk.folder), "transcript_path": str(log), "source": "startup"}
    desk.api.drain_spool_record("SessionStart", payload, {})
    learn(desk, clock, "The export needs a locale.")
    assert desk.user("review")["memories"][0]["session_title"] == "Why does the export fail?"
    assert desk.user("sessions")["sessions"][0]["title"] == "Why does the export fail?"
    desk.user("off")
    assert desk.user("sessions")["sessions"][0]["title"] == ""


def test_the_log_of_a_folder_that_was_excluded_since_is_not_opened_for_a_title(
    settings: Settings, clock: FakeClock, tmp_path: Path
) -> None:
    folder = tmp_path / "clients" / "one"
    folder.mkdir(parents=True)
    log = tmp_path / "s1.jsonl"
    line = {"type": "user", "uuid": "u1", "sessionId": "s1", "cwd": str(folder), "timestamp": "2026-01-01T00:00:00Z"}
    log.write_bytes(orjson.dumps(line | {"message": {"role": "user", "content": "Why does the export fail?"}}) + b"\n")
    payload = {"session_id": "s1", "cwd": str(folder), "transcript_path": str(log), "source": "startup"}
    before = Desk(Api(settings, clock), folder)
    before.api.drain_spool_record("SessionStart", payload, {})
    learn(before, clock, "The export needs a locale.")
    assert before.user("review")["memories"][0]["session_title"] == "Why does the export fail?"
    before.api.close()
    after = Desk(Api(replace(settings, exclude=(str(tmp_path / "clients"),)), clock), folder)
    assert after.user("review", project="all")["memories"][0]["session_title"] == ""
    assert after.user("sessions")["sessions"][0]["title"] == ""
    assert after.user("session_report", session="s1")["title"] == ""
    after.api.close()


def test_the_start_of_a_session_names_what_waits_for_a_look_once(settings: Settings, clock: FakeClock, tmp_path: Path) -> None:
    desk = Desk(Api(replace(settings, reader="offline"), clock), tmp_path)
    learn(desk, clock, "The queue runs on Redis.")
    learn(desk, clock, "Tests need a database.", status=Status.CANDIDATE)
    payload = {"session_id": "next", "cwd": str(desk.folder), "source": "startup"}
    assert b'memoryd: 1 new memory, 1 to confirm (memoryd review)"' in desk.api.hook("SessionStart", payload, {})
    clock.advance(minutes=1)
    assert b"to confirm" not in desk.api.hook("SessionStart", payload | {"session_id": "third"}, {})
    desk.api.close()


def test_the_start_of_a_session_asks_for_no_confirmation_before_the_sessions_model_was_asked(
    desk: Desk, clock: FakeClock
) -> None:
    learn(desk, clock, "Tests need the database of the staging cluster.", status=Status.CANDIDATE, session="old")
    answer = desk.api.hook("SessionStart", {"session_id": "s2", "cwd": str(desk.folder), "source": "startup"}, {})
    assert b"to settle" in answer and b"to confirm" not in answer


def test_the_line_at_the_start_can_be_always_there_or_never(desk: Desk, clock: FakeClock) -> None:
    learn(desk, clock, "The queue runs on Redis.")
    off = {"CLAUDE_PLUGIN_OPTION_START_NOTICE": "off"}
    payload = {"session_id": "s2", "cwd": str(desk.folder), "source": "startup"}
    assert b"systemMessage" not in desk.api.hook("SessionStart", payload, off)
    desk.user("reviewed")
    on = {"CLAUDE_PLUGIN_OPTION_START_NOTICE": "always"}
    assert b"memoryd: memory is on" in desk.api.hook("SessionStart", payload | {"session_id": "s3"}, on)


def test_an_imported_session_is_named_and_dated_by_its_log_unless_memory_is_off(desk: Desk, tmp_path: Path) -> None:
    log = tmp_path / "old" / "s9.jsonl"
    log.parent.mkdir()
    line = {"type": "user", "uuid": "u1", "sessionId": "s9", "cwd": str(desk.folder), "timestamp": "2025-03-01T00:00:00Z"}
    log.write_bytes(orjson.dumps(line | {"message": {"role": "user", "content": "Remember: the export needs a locale."}}) + b"\n")
    os.utime(log, (1_740_787_200, 1_740_787_200))
    assert desk.user("import_transcripts", folder=str(log))["logs"] == [str(log)]
    while desk.api.tick() is not None:
        pass
    (session,) = (row for row in desk.user("sessions")["sessions"] if row["session"] == "s9")
    assert (session["title"], session["last"]) == ("Remember: the export needs a locale.", "2025-03-01T00:00:00Z")
    assert session["kept"] == 1
    desk.user("off")
    assert {row["title"] for row in desk.user("sessions")["sessions"]} == {""}
    (memory,) = desk.user("list_memories")["memories"]
    assert "switched off" in desk.user("evidence", id=memory["id"])["reason"]
