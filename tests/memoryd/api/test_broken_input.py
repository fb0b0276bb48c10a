"""Hostile or damaged input in the API behind all interfaces: one invalid item must not affect the rest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.api.dispatch import Api
from memoryd.core.config import Settings
from memoryd.core.errors import InputError, StoreError
from memoryd.core.state import State
from memoryd.daydream.admission import is_excluded
from memoryd.daydream.pipeline import DayDream
from memoryd.testing import FakeClock

KEY = "AKIA" + "IOSFODNN7EXAMPLZ"


class Desk:
    """An API with a project folder."""

    def __init__(self, settings: Settings, clock: FakeClock, folder: Path) -> None:
        self.settings = settings
        self.folder = folder
        self.api = Api(settings, clock)
        self.api.warm()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folder), **params})

    def payload(self, **fields: Any) -> dict[str, Any]:
        return {"session_id": "s1", "cwd": str(self.folder), "transcript_path": str(self.folder / "s1.jsonl"), **fields}

    def text(self) -> str:
        """Return all text in the home folder."""
        files = [path for path in self.settings.home.rglob("*") if path.is_file()]
        return "".join(path.read_bytes().decode("utf-8", "replace") for path in files)


@pytest.fixture
def desk(settings: Settings, clock: FakeClock, tmp_path: Path) -> Iterator[Desk]:
    folder = tmp_path / "shop"
    folder.mkdir()
    made = Desk(settings, clock, folder)
    yield made
    made.api.close()


@pytest.mark.parametrize("field", ["session_id", "cwd", "transcript_path"])
def test_an_event_with_a_nul_is_passed_over_and_the_next_is_not(desk: Desk, field: str) -> None:
    desk.call("remember", content="Deploy staging with make ship.")
    evil = desk.payload(**{field: "/a\0b"})
    assert desk.api.hook("SessionStart", evil, {}) == b""
    desk.api.drain_spool_record("Stop", evil, {})
    desk.api.drain_spool_record("SessionStart", desk.payload(), {})
    assert b"make ship" in desk.api.hook("SessionStart", desk.payload(), {})
    desk.api.tick()


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_a_log_that_is_not_a_file_is_refused_and_the_next_log_is_read(
    desk: Desk, clock: FakeClock, kind: str, tmp_path: Path
) -> None:
    evil = {"folder": tmp_path, "pipe": tmp_path / "pipe", "device": Path("/dev/zero")}[kind]
    if kind == "pipe":
        os.mkfifo(evil)
    said = {
        "type": "user",
        "uuid": "u1",
        "message": {"role": "user", "content": "From now on always run make lint before a commit."},
    }
    (desk.folder / "s1.jsonl").write_bytes(orjson.dumps(said) + b"\n")
    desk.api.drain_spool_record("Stop", desk.payload(session_id="s0", transcript_path=str(evil)), {})
    desk.api.drain_spool_record("SessionEnd", desk.payload(), {})
    desk.api.tick()
    desk.api.tick()
    assert "make lint" in desk.call("governance")["text"]


def test_a_job_that_fails_in_an_unforeseen_way_is_put_off_and_the_next_is_done(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def run_job(_self: DayDream, job: Any) -> list[Any]:
        if "bad" in job.transcript:
            raise KeyError("unforeseen")
        done.append(job.transcript)
        return []

    monkeypatch.setattr(DayDream, "run_job", run_job)
    desk.api.drain_spool_record("Stop", desk.payload(session_id="s0", transcript_path="/bad"), {})
    desk.api.drain_spool_record("Stop", desk.payload(transcript_path="/good"), {})
    with pytest.raises(KeyError):
        desk.api.tick()
    desk.api.tick()
    assert done == ["/good"]
    (failing,) = desk.call("jobs")["failing"]
    assert (failing["transcript"], failing["attempts"]) == ("/bad", 1)
    assert "KeyError" in failing["error"]


def test_a_secret_in_a_tag_or_session_name_is_redacted(desk: Desk) -> None:
    id = desk.call("remember", content="The bucket is called pictures.", tags=[KEY, "aws"], session=f"s {KEY}")["id"]
    desk.call("update_memory", id=id, tags=[f"key {KEY}"])
    assert KEY not in desk.text()


def test_tools_are_refused_in_an_excluded_folder(settings: Settings, clock: FakeClock, tmp_path: Path) -> None:
    folder = tmp_path / "clients" / "acme"
    folder.mkdir(parents=True)
    desk = Desk(replace(settings, exclude=(str(tmp_path / "clients"),)), clock, folder)
    with pytest.raises(InputError, match="excluded"):
        desk.call("recall", query="anything", caller="model")
    with pytest.raises(InputError, match="excluded"):
        desk.call("remember", content="Anything at all.", caller="model")
    assert "acme" not in desk.text()
    desk.api.close()


def test_an_empty_session_name_switches_nothing_off(desk: Desk) -> None:
    with pytest.raises(InputError):
        desk.call("off", session="")
    desk.call("remember", content="Deploy staging with make ship.")
    assert "make ship" in desk.call("governance")["text"]


def test_governance_of_a_project_that_is_off_is_nothing(desk: Desk) -> None:
    desk.call("remember", content="Deploy staging with make ship.")
    desk.call("off")
    assert desk.call("governance")["text"] == ""
    desk.call("on")
    assert "make ship" in desk.call("governance")["text"]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_file_with_an_impossible_time_is_broken_and_the_others_are_read(desk: Desk, moment: str) -> None:
    folder = desk.settings.paths.memories / "user" / "manual"
    folder.mkdir(parents=True)
    (folder / "bad.md").write_text(f"---\nid: mem_0123456789ab\ncreated_at: {moment}\n---\nBad.\n", "utf-8")
    (folder / "good.md").write_text("Espresso is made with 18 grams.\n", "utf-8")
    synced = desk.call("sync")
    assert len(synced["changed"]) == 1
    assert "bad.md:3" in synced["broken"][0]


def test_a_file_from_the_far_future_is_a_memory(desk: Desk) -> None:
    path = desk.settings.paths.memories / "user" / "manual" / "future.md"
    path.parent.mkdir(parents=True)
    path.write_text("Espresso is made with 18 grams.\n", "utf-8")
    try:
        os.utime(path, (2**35, 2**35))
    except OSError:
        pytest.skip("the file system has no such time")
    assert len(desk.call("sync")["changed"]) == 1
    assert desk.call("sync")["changed"] == []


def test_a_damaged_state_database_says_what_to_do_about_it(settings: Settings, clock: FakeClock) -> None:
    settings.paths.state_db.parent.mkdir(parents=True)
    settings.paths.state_db.write_bytes(b"garbage" * 1000)
    with pytest.raises(StoreError, match=r"state\.db") as caught:
        State(settings.paths.state_db, clock)
    assert "reindex" not in str(caught.value)
    assert "Move" in str(caught.value)


def test_a_state_database_that_lost_all_its_bytes_is_not_taken_for_a_new_one(settings: Settings, clock: FakeClock) -> None:
    settings.paths.state_db.parent.mkdir(parents=True)
    settings.paths.state_db.touch()
    Api(settings, clock).close()  # a first start that was interrupted
    for name in ("state.db-wal", "state.db-shm"):
        settings.paths.state_db.with_name(name).unlink(missing_ok=True)
    settings.paths.state_db.write_bytes(b"")
    with pytest.raises(StoreError, match=r"state\.db is damaged") as caught:
        Api(settings, clock)
    assert "memoryd off" in caught.value.fix
    assert settings.paths.state_db.read_bytes() == b""


def test_an_index_folder_that_is_none_is_a_clear_error(settings: Settings, clock: FakeClock) -> None:
    settings.home.mkdir(parents=True)
    settings.paths.state_db.parent.write_text("x", "utf-8")
    with pytest.raises(StoreError, match="state"):
        State(settings.paths.state_db, clock)


@pytest.mark.parametrize("folder", ["/a\0b", "/" + "x" * 5000, "~nosuchuser/x"], ids=["nul", "long", "unknown user"])
def test_a_folder_that_cannot_be_is_excluded_or_not_without_a_fault(settings: Settings, folder: str) -> None:
    assert not is_excluded(replace(settings, exclude=("~/clients",)), folder)
    assert is_excluded(replace(settings, exclude=(folder,)), folder)


@pytest.mark.parametrize("place", ["tags", "asked_as"])
def test_a_secret_in_a_tag_or_key_is_left_out_and_the_answer_says_so(desk: Desk, place: str) -> None:
    answer = desk.call("remember", content="The build needs a token.", **{place: [f"what opens {KEY}"]})
    assert "left out" in answer["left_out_secrets"]
    assert KEY not in desk.text()
