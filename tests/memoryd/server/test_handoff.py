"""Where did we leave off? Kept at a session's end, given once to the next, gone with what is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.config import Settings
from memoryd.daydream.handoff import Gathered
from memoryd.server.api import Api
from memoryd.testing import FakeClock
from memoryd.types import Turn, TurnKind

TOKEN = "ghp_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3d"


class Desk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shop"
        self.folder.mkdir()
        self.api = Api(Settings(home=folder / "home", rank="bm25", reader="offline"), FakeClock())
        self.api.warm()

    def user(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folder), **params})

    def start(self, session: str) -> str:
        answer = self.api.hook("SessionStart", {"session_id": session, "cwd": str(self.folder), "source": "startup"}, {})
        return str(orjson.loads(answer or b"{}").get("hookSpecificOutput", {}).get("additionalContext", ""))

    def session(self, name: str, asked: str) -> None:
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
            }
            for n, (role, c) in enumerate(messages)
        ]
        log.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
        payload = {"session_id": name, "cwd": str(self.folder), "transcript_path": str(log)}
        self.api.drain_spool_record("SessionEnd", payload, {})
        self.api.tick()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.api.close()


def test_the_next_session_is_given_once_where_the_last_one_left_off(desk: Desk) -> None:
    desk.session("s1", f"Please make the cart round to cents, the token is {TOKEN}.")
    (told,) = desk.user("handoff")["handoffs"]
    assert "cart round to cents" in told["text"] and "cart.py" in told["text"] and "pytest -q: failed" in told["text"]
    assert TOKEN not in told["text"]
    given = desk.start("s2")
    assert given.startswith("<memoryd-recall") and "cart round to cents" in given
    assert "cart round to cents" not in desk.start("s3"), "shown once"
    assert desk.user("handoff")["handoffs"], "asking still answers"


def test_a_session_that_goes_on_is_not_told_its_own_end(desk: Desk) -> None:
    desk.session("s1", "Please make the cart round to cents.")
    assert "cart round" not in desk.start("s1")


def test_what_is_off_or_forgotten_is_not_told(desk: Desk) -> None:
    id = desk.user("remember", content="Carts round to cents.")["id"]
    desk.session("s1", "Please make the cart round to cents.")
    desk.user("off")
    assert desk.user("handoff")["handoffs"] == []
    desk.user("on")
    desk.user("forget", id=id, purge=True)
    assert desk.user("handoff")["handoffs"] == [] and "cart round" not in desk.start("s2")


def test_a_log_in_which_nothing_was_asked_or_changed_gives_none() -> None:
    gathered = Gathered()
    gathered.add([Turn(TurnKind.USER, "ok"), Turn(TurnKind.ASSISTANT, "Hello.")])
    assert gathered.text([], []) == ""


def test_a_lasting_wish_is_no_task_that_was_left_off() -> None:
    gathered = Gathered()
    edit = Turn(TurnKind.TOOL_USE, "", tool="Edit", detail="cart.py")
    wish = Turn(TurnKind.USER, "From now on end every mail with our slogan.")
    task = Turn(TurnKind.USER, "Round the totals in the cart. Never touch the fixtures.")
    gathered.add([wish, task, edit])
    assert gathered.text([], []) == "Asked: Round the totals in the cart. Changed: cart.py"
