"""Handoffs: stored at the end of a session, given once to the next, and deleted along with forgotten memories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.api.dispatch import Api
from memoryd.core.clock import to_iso
from memoryd.core.config import Settings
from memoryd.core.types import Turn, TurnKind
from memoryd.daydream.handoff import SessionOutline, holds
from memoryd.testing import FakeClock

TOKEN = "ghp_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3d"


class Desk:
    def __init__(self, folder: Path, clock: FakeClock) -> None:
        self.folder = folder / "shop"
        self.folder.mkdir()
        self.api = Api(Settings(home=folder / "home", rank="bm25", reader="offline"), clock)
        self.api.warm()

    def user(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folder), **params})

    def start(self, session: str, source: str = "startup") -> str:
        answer = self.api.hook("SessionStart", {"session_id": session, "cwd": str(self.folder), "source": source}, {})
        return str(orjson.loads(answer or b"{}").get("hookSpecificOutput", {}).get("additionalContext", ""))

    def prompt(self, session: str, text: str) -> str:
        answer = self.api.hook("UserPromptSubmit", {"session_id": session, "cwd": str(self.folder), "prompt": text}, {})
        return str(orjson.loads(answer or b"{}").get("hookSpecificOutput", {}).get("additionalContext", ""))

    def session(self, name: str, asked: str, event: str = "SessionEnd", ended: str = "") -> None:
        log = self.folder / f"{name}.jsonl"
        step = {"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": str(self.folder / "cart.py")}}
        run = {"type": "tool_use", "id": "r", "name": "Bash", "input": {"command": "pytest -q"}}
        bad = {"type": "tool_result", "tool_use_id": "r", "content": "1 failed", "is_error": True}
        messages = [
            ("user", asked),
            ("assistant", [step]),
            ("user", [{"type": "tool_result", "tool_use_id": "t", "content": "done"}]),
            ("assistant", [run]),
            ("user", [bad]),
        ]
        lines = [
            {
                "type": role,
                "uuid": f"{name}{n}",
                "sessionId": name,
                "cwd": str(self.folder),
                "message": {"role": role, "content": c},
                **({"timestamp": ended} if ended else {}),
            }
            for n, (role, c) in enumerate(messages)
        ]
        log.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
        payload = {"session_id": name, "cwd": str(self.folder), "transcript_path": str(log)}
        self.api.drain_spool_record(event, payload, {})
        self.api.tick()


@pytest.fixture
def desk(tmp_path: Path, clock: FakeClock) -> Iterator[Desk]:
    desk = Desk(tmp_path, clock)
    yield desk
    desk.api.close()


def test_after_a_compaction_a_session_is_given_where_it_was_and_the_rules_again(desk: Desk) -> None:
    desk.user("remember", content="Never round prices in the cart.", kind="rule")
    assert "Never round prices" in desk.start("s1")
    desk.session("s1", "Add a discount of ten percent to the cart.", event="PreCompact")
    given = desk.start("s1", "compact")
    assert "where this session was before its conversation was compacted" in given
    assert "discount of ten percent" in given
    assert "Never round prices" in given


def test_the_next_session_is_given_once_where_the_last_one_left_off(desk: Desk) -> None:
    desk.session("s1", f"Please make the cart round to cents, the token is {TOKEN}.")
    (result,) = desk.user("handoff")["handoffs"]
    assert "cart round to cents" in result["text"] and "cart.py" in result["text"] and "pytest -q: failed" in result["text"]
    assert TOKEN not in result["text"]
    given = desk.start("s2")
    assert given.startswith("<memoryd-recall") and "cart round to cents" in given
    assert "cart round to cents" not in desk.start("s3"), "shown once"
    assert desk.user("handoff")["handoffs"], "asking still answers"


def test_a_handoff_that_did_not_arrive_in_time_is_given_to_the_next_session(desk: Desk) -> None:
    desk.session("s1", "Please make the cart round to cents.")
    assert "cart round to cents" in desk.start("s2")
    desk.api.undelivered({"session_id": "s2"})
    assert "cart round to cents" in desk.start("s3")
    assert "cart round to cents" not in desk.start("s4")


def test_a_session_whose_log_is_read_days_later_left_off_when_it_ended(desk: Desk, clock: FakeClock) -> None:
    desk.session("late", "Please translate the invoices.", ended="2025-12-31T21:00:00Z")
    desk.session("clockwise", "Why is the cart slow?", ended="2099-01-01T00:00:00Z")
    later, earlier = desk.user("handoff")["handoffs"]
    assert earlier["at"].startswith("2025-12-31T21:00") and "Asked: Please translate the invoices. Changed" in earlier["text"]
    assert later["at"] == to_iso(clock.now()) and "Asked: Why is the cart slow? Changed" in later["text"]


def test_a_session_that_continues_does_not_get_its_own_handoff(desk: Desk) -> None:
    desk.session("s1", "Please make the cart round to cents.")
    assert "cart round" not in desk.start("s1")


@pytest.mark.parametrize("question", ["where did we leave off?", "Wo waren wir?", "what is still open?", "上次做到哪里了？"])
def test_who_asks_where_work_stopped_is_answered_by_search_tool_and_prompt(desk: Desk, question: str) -> None:
    desk.session("s1", "Please make the cart round to cents.")
    desk.start("s2")
    for caller in ("", "model"):
        found = desk.user("recall", query=question, caller=caller)
        assert found["answer"] == "found" and "cart round to cents" in found["handoffs"][0]["text"]
        assert not any(hit.get("unsure") for hit in found["hits"])
    given = desk.prompt("s2", question)
    assert given.startswith("<memoryd-recall") and "cart round to cents" in given
    assert "cart round to cents" not in desk.prompt("s1", question), "its own end is before its eyes"
    assert "cart round" not in desk.prompt("s2", "Please rename the helpers of the basket.")
    assert "handoffs" not in desk.user("recall", query="how does the cart round?")


def test_open_work_is_listed_beside_where_it_stopped(desk: Desk) -> None:
    desk.user("remember", content="Write the migration for old carts.", kind="todo")
    desk.session("s1", "Please make the cart round to cents.")
    found = desk.user("recall", query="where did we leave off?")
    assert found["handoffs"] and [hit["content"] for hit in found["hits"]] == ["Write the migration for old carts."]
    given = desk.prompt("s2", "where did we leave off?")
    assert "cart round to cents" in given and "Write the migration" in given


def test_what_was_done_yesterday_is_not_a_session_of_today(desk: Desk, clock: FakeClock) -> None:
    desk.session("s1", "Please make the cart round to cents.")
    clock.advance(days=1)
    desk.session("s2", "Please draw the basket icon in green.")
    (only,) = desk.user("recall", query="what did we do yesterday?")["handoffs"]
    assert only["session"] == "s1"
    given = desk.prompt("s3", "what did we do yesterday?")
    assert "cart round" in given and "basket icon" not in given


def test_where_another_project_stopped_is_not_answered(desk: Desk) -> None:
    desk.session("s1", "Please make the cart round to cents.")
    assert "handoffs" not in desk.user("recall", query="where did we leave off?", project="all")


def test_only_what_holds_a_forgotten_memory_is_dropped(desk: Desk) -> None:
    desk.session("s1", "Please make the cart round to cents.")
    desk.session("s2", "Please draw the basket icon in green.")
    desk.session("s3", "Why does the nightly export to the tax office time out?")
    id = desk.user("remember", content="The basket icon is drawn in green.")["id"]
    kept = desk.user("remember", content="Invoices are sent by post.")["id"]
    desk.user("forget", id=kept)
    assert len(desk.user("handoff")["handoffs"]) == 3
    desk.user("forget", id=id, purge=True)
    assert {one["session"] for one in desk.user("handoff")["handoffs"]} == {"s1", "s3"}
    files = [path for path in (desk.folder.parent / "home").rglob("*") if path.is_file()]
    assert not [path for path in files if b"basket icon" in path.read_bytes()]


def test_the_end_of_the_session_that_taught_a_memory_goes_with_it(desk: Desk) -> None:
    desk.session("s1", "Please make the cart round to cents.")
    id = desk.user("remember", content="Invoices are sent by post.", session="s1")["id"]
    desk.user("forget", id=id)
    assert desk.user("handoff")["handoffs"] == []


@pytest.mark.parametrize(
    ("handoff", "memory"),
    [
        ("Asked: round the totals. Open: the exporter drops umlauts since it reads Latin-1", "The exporter drops umlauts."),
        (
            "Last decision: pages are cached for an hour because",
            "Pages are cached for an hour because the upstream bills per call and its " * 5,
        ),
        ("Asked: reach the box zx81-north", "The test environment runs on zx81-north and is rebuilt on Mondays by Mara."),
        ("Asked: write to mara@shop.example", "Mara, who signs releases, reads mara@shop.example only."),
        ("要求：修复登录页面的超时", "登录页面的超时是三十秒"),
    ],
)
def test_a_handoff_that_may_hold_a_memory_is_seen(handoff: str, memory: str) -> None:
    assert holds(handoff, memory)


@pytest.mark.parametrize(
    ("handoff", "memory"),
    [
        ("Asked: round the totals. Changed: cart.py. Last test run: pytest -q: failed", "Invoices are sent by post."),
        (
            "Asked: fix the login page. Changed: login.py",
            "The exporter needs a login for the archive, whose owner is the tax office.",
        ),
        ("", "Invoices are sent by post."),
        ("Asked: round the totals", ""),
    ],
)
def test_a_handoff_of_something_else_is_kept(handoff: str, memory: str) -> None:
    assert not holds(handoff, memory)


def test_what_is_off_or_forgotten_is_not_reported(desk: Desk) -> None:
    id = desk.user("remember", content="Carts round to cents.")["id"]
    desk.session("s1", "Please make the cart round to cents.")
    desk.user("off")
    assert desk.user("handoff")["handoffs"] == []
    desk.user("on")
    desk.user("forget", id=id, purge=True)
    assert desk.user("handoff")["handoffs"] == [] and "cart round" not in desk.start("s2")


def test_a_log_in_which_nothing_was_asked_or_changed_gives_none() -> None:
    gathered = SessionOutline()
    gathered.add([Turn(TurnKind.USER, "ok"), Turn(TurnKind.ASSISTANT, "Hello.")])
    assert gathered.text([], []) == ""


def test_a_lasting_wish_is_not_a_task_that_was_left_off() -> None:
    gathered = SessionOutline()
    edit = Turn(TurnKind.TOOL_USE, "", tool="Edit", detail="cart.py")
    wish = Turn(TurnKind.USER, "From now on end every mail with our slogan.")
    task = Turn(TurnKind.USER, "Round the totals in the cart. Never touch the fixtures.")
    gathered.add([wish, task, edit])
    assert gathered.text([], []) == "Asked: Round the totals in the cart. Changed: cart.py."
