"""Dreams in the API behind all interfaces: permissions, schedule and journal."""

from __future__ import annotations

import zipfile
from pathlib import Path

import orjson
import pytest

from memoryd.api.dispatch import Api
from memoryd.core.config import Settings
from memoryd.core.errors import InputError, NotFoundError
from memoryd.core.files import try_lock
from memoryd.daemon.contract import Slot
from memoryd.dream.journal import EntryKind, EntryStep, FileVersion, Journal, JournalRecord
from memoryd.dream.plan import Action
from memoryd.testing import FakeClock
from tests.memoryd.api.conftest import Desk

RULES = ("Run the linter before each commit.", "Before each commit, run the linter.")


def said_twice(desk: Desk, settings: Settings) -> list[Path]:
    """Write a rule to the files of two sessions."""
    project = desk.user("governance")["project"]
    paths = []
    for number, text in enumerate(RULES):
        path = settings.paths.memories / f"project-{project}" / f"s{number}" / f"mem_00000000000{number}.md"
        path.parent.mkdir(parents=True)
        path.write_text(
            f"---\nid: mem_00000000000{number}\nkind: rule\npolarity: do\nscope: project\nproject: {project}\n"
            f"session: s{number}\nsource: user\nconfidence: 0.8\n"
            f"created_at: 2025-12-0{number + 1}T00:00:00Z\nstatus: active\n---\n{text}\n"
        )
        paths.append(path)
    desk.user("sync")
    return paths


def slots(api: Api) -> dict[str, Slot]:
    return {slot.name: slot for slot in api.slots()}


def test_a_model_gets_a_dry_run_unless_it_says_otherwise_and_may_decide_nothing(desk: Desk, settings: Settings) -> None:
    said_twice(desk, settings)
    assert desk.model("dream")["status"] == "planned"
    assert len(desk.model("dream")["changes"]) == 3
    assert desk.user("journal")["entries"] == []
    for method in ("undo", "decide", "journal", "proposals", "why"):
        with pytest.raises(InputError):
            desk.model(method)
    done = desk.model("dream", dry_run=False)
    assert desk.user("journal")["entries"][0]["trigger"] == "asked for by the model"
    assert desk.user("undo", id=done["entry"])["refused"] == []


def test_decide_needs_something_to_decide_on(desk: Desk) -> None:
    with pytest.raises(InputError):
        desk.user("decide")


def test_the_nightly_dream_runs_in_its_slot_and_is_not_missed_by_a_new_installation(desk: Desk, settings: Settings) -> None:
    said_twice(desk, settings)
    slot = slots(desk.api)["dream"]
    assert slot.daily_at == settings.dream_time
    assert slot.last_run is not None
    slot.run()
    assert desk.user("memory_status")["dreams"]["last_run"]
    assert desk.user("journal")["entries"][0]["trigger"] == "nightly"
    assert slots(desk.api)["dream"].last_run >= slot.last_run


def test_the_idle_slot_waits_for_quiet_and_enough_that_is_new(desk: Desk, settings: Settings, clock: FakeClock) -> None:
    said_twice(desk, settings)
    slots(desk.api)["dream when idle"].run()
    assert desk.user("journal")["entries"] == []
    for number in range(settings.dream_min_new):
        desk.user("remember", content=f"The module number {number} is owned by team {number}.")
    clock.advance(minutes=settings.dream_idle_minutes + 1)
    slots(desk.api)["dream when idle"].run()
    assert [entry["trigger"] for entry in desk.user("journal")["entries"]] == ["idle"]


def test_a_slot_that_finds_another_dream_at_work_leaves_it_at_that(desk: Desk, settings: Settings) -> None:
    said_twice(desk, settings)
    lock = try_lock(settings.paths.dream_lock)
    assert lock is not None
    with lock:
        slots(desk.api)["dream"].run()
    assert desk.user("journal")["entries"] == []


def test_the_answer_for_hooks_without_a_daemon_follows_a_dream_and_its_undo(desk: Desk, settings: Settings) -> None:
    said_twice(desk, settings)

    def cached() -> str:
        return "".join(path.read_text() for path in settings.paths.governance_cache.glob("*.json"))

    desk.hook("SessionStart")
    assert cached().count("linter") == 2
    desk.user("dream", dry_run=False)
    assert cached().count("linter") == 1
    desk.user("undo")
    assert cached().count("linter") == 2


def test_what_recall_returned_to_a_model_is_on_record_with_its_session(desk: Desk) -> None:
    id = desk.user("remember", content="The staging database listens on port 5544.")["id"]
    desk.hook("UserPromptSubmit", prompt="hi")
    assert desk.user("recall", query="port of the staging database")["hits"]
    assert "returned" not in desk.user("why", id=id)["used"]
    assert desk.model("recall", query="port of the staging database")["hits"]
    assert ("s1", "returned") in [(use["session"], use["how"]) for use in desk.user("why", id=id)["uses"]]


def test_what_a_kill_left_half_done_is_repaired_before_anyone_sees_it(desk: Desk, settings: Settings, clock: FakeClock) -> None:
    path = said_twice(desk, settings)[0]
    desk.api.close()
    before = path.read_bytes()
    relative = path.relative_to(settings.paths.memories).as_posix()
    journal = Journal(settings.paths.journal)
    api = Api(settings, clock)
    item = api._service.require("mem_000000000000")
    api.close()
    record = JournalRecord(item.id, "prune", Action.DECAY, "old", "", item, item, relative, relative, path.stat().st_mtime_ns)
    name = journal.create(EntryKind.DREAM, [record], {relative: b"older bytes"}, at=clock.now(), trigger="test")
    journal.set_step(name, EntryStep.APPLYING)
    again = Api(settings, clock)
    assert path.read_bytes() == b"older bytes"
    assert journal.head(name).step is EntryStep.ROLLED_BACK
    again.close()

    path.write_bytes(before)
    name = journal.create(EntryKind.DREAM, [record], {relative: b"older bytes"}, at=clock.now(), trigger="test")
    journal.set_step(name, EntryStep.APPLYING)
    journal.set_applied(name, {item.id: FileVersion(relative, "x")})
    Api(settings, clock).close()
    assert path.read_bytes() == before
    assert journal.head(name).step is EntryStep.DONE
    assert orjson.loads((settings.paths.journal / name / "head.json").read_bytes())["step"] == "done"


def test_a_purged_memory_stays_in_no_snapshot_and_no_record(desk: Desk, settings: Settings) -> None:
    said_twice(desk, settings)
    other = desk.user("remember", content="The Zebulon archive is read-only.", kind="fact")["id"]
    done = desk.user("dream", dry_run=False)
    (merged,) = (change["id"] for change in done["changes"] if change["new"])
    assert sorted(desk.user("forget", id=merged, purge=True)["earlier_wordings"]) == ["mem_000000000000", "mem_000000000001"]
    path = Path(desk.user("get_memory", id=other)["path"])
    path.unlink()
    desk.user("sync")
    assert desk.user("remember", content="The Zebulon archive is read-only.", kind="fact")["status"] == "new"
    desk.model("remember", content="Zebulon is the archive.", kind="fact")
    desk.user("forget", id=other, purge=True)
    everything = [file for file in settings.paths.journal.rglob("*") if file.is_file()]
    assert not [file for file in everything if b"linter" in file.read_bytes()]
    for archive in settings.paths.journal.rglob("*.zip"):
        with zipfile.ZipFile(archive) as opened:
            assert not [name for name in opened.namelist() if "mem_00000000000" in name]
    with pytest.raises(NotFoundError):
        desk.user("forget", id=other, purge=True)
