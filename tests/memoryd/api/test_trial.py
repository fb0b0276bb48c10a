"""The trial: sessions without memory are chosen at random, receive nothing, are read as usual, and are compared fairly."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.api.dispatch import Api
from memoryd.core.config import Settings
from memoryd.core.errors import InputError
from memoryd.core.student import sessions_needed, welch
from memoryd.core.trial import Arm
from memoryd.testing import FakeClock
from tests.memoryd.daydream.log_lines import Log, write

RULE = "Run the linter before each commit."


class Desk:
    def __init__(self, api: Api, folder: Path) -> None:
        self.api = api
        self.shop = folder / "shop"
        self.shop.mkdir()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.shop), **params})

    def hook(self, event: str, session: str, **fields: str) -> str:
        payload = {"session_id": session, "cwd": str(self.shop), "source": "startup", **fields}
        answer = self.api.hook(event, payload, {})
        found = orjson.loads(answer) if answer else {}
        return str(found.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def sessions(self, arm: Arm) -> list[str]:
        return [session.session for session in self.api._state.trial.sessions() if session.arm is arm]


@pytest.fixture
def desk(settings: Settings, clock: FakeClock, tmp_path: Path) -> Iterator[Desk]:
    api = Api(replace(settings, rank="bm25"), clock)
    api.warm()
    made = Desk(api, tmp_path)
    made.call("remember", content=RULE, kind="rule")
    yield made
    api.close()


def test_without_a_trial_every_session_gets_memory_and_is_in_no_arm(desk: Desk) -> None:
    assert all(RULE in desk.hook("SessionStart", f"s{number}") for number in range(8))
    assert desk.call("trial") == {"running": False, "control_share": 0.0, "sessions": {"memory": 0, "control": 0}}


def test_a_control_session_gets_nothing_at_its_start_and_with_its_prompts_and_stays_in_its_arm(desk: Desk) -> None:
    desk.call("start_trial")
    first = {f"s{number}": desk.hook("SessionStart", f"s{number}") for number in range(40)}
    control = desk.sessions(Arm.CONTROL)
    assert 5 < len(control) < 35
    assert {session for session, text in first.items() if not text} == set(control)
    for session, text in first.items():
        again = desk.hook("SessionStart", session, source="resume") + desk.hook(
            "UserPromptSubmit", session, prompt="What must I run before a commit of the linter rules?"
        )
        assert bool(text) or not again


def test_the_share_of_sessions_without_memory_is_the_one_that_was_asked_for(desk: Desk) -> None:
    desk.call("start_trial", control_share=0.1)
    for number in range(300):
        desk.api._state.trial.enter(f"s{number}", "shop")
    assert 8 <= len(desk.sessions(Arm.CONTROL)) <= 60  # 30 expected. Values outside have a chance below 1e-6.


def test_a_share_that_leaves_an_arm_empty_is_refused(desk: Desk) -> None:
    for share in (0, 1):
        with pytest.raises(InputError) as refused:
            desk.call("start_trial", control_share=share)
        assert refused.value.fix


def test_a_hook_without_a_daemon_gives_no_cached_memory_during_a_trial(desk: Desk, settings: Settings) -> None:
    desk.hook("SessionStart", "before")
    cached = list(settings.paths.governance_cache.glob("*.json"))
    assert any(RULE.encode() in path.read_bytes() for path in cached)
    desk.call("start_trial")
    assert not any(RULE.encode() in path.read_bytes() for path in cached)
    desk.call("stop_trial")
    assert any(RULE.encode() in path.read_bytes() for path in cached)


def test_after_the_end_of_the_trial_every_session_gets_memory_again(desk: Desk) -> None:
    desk.call("start_trial", control_share=0.99)
    desk.hook("SessionStart", "s1")
    desk.call("stop_trial")
    assert RULE in desk.hook("SessionStart", "s1")
    assert RULE in desk.hook("SessionStart", "s2")


def _session(desk: Desk, name: str, arm: Arm, prompts: int, clock: FakeClock) -> None:
    log = Log()
    lines = [log.user(f"Please change part {number} of the parser.", sessionId=name) for number in range(prompts)]
    path = write(desk.shop.parent / f"{name}.jsonl", *lines)
    desk.api._state.touch_session(name, desk.api._registry.resolve(desk.shop).id, str(desk.shop), str(path))
    trial = desk.api._state.trial
    trial._db.execute("INSERT INTO trial (session, project, arm, at) VALUES (?, 'p', ?, '2026-03-01')", (name, arm.value))
    clock.advance(minutes=1)


def test_the_report_shows_a_difference_that_there_is_and_says_so_when_there_is_too_little(desk: Desk, clock: FakeClock) -> None:
    desk.call("start_trial")
    for number in range(4):
        _session(desk, f"m{number}", Arm.MEMORY, 2 + number % 2, clock)
        _session(desk, f"c{number}", Arm.CONTROL, 6 + number % 2, clock)
    (row,) = (row for row in desk.call("trial_report")["rows"] if row["measure"] == "prompts")
    assert row["verdict"].startswith("not enough data") or row["verdict"].startswith("no difference")
    for number in range(4, 12):
        _session(desk, f"m{number}", Arm.MEMORY, 2 + number % 2, clock)
        _session(desk, f"c{number}", Arm.CONTROL, 6 + number % 2, clock)
    report = desk.call("trial_report")
    (row,) = (row for row in report["rows"] if row["measure"] == "prompts")
    assert (row["memory"], row["control"], row["verdict"]) == (2.5, 6.5, "better with memory")
    assert row["low"] < -4 < row["high"] < 0
    assert report["measured"] == {"memory": 12, "control": 12}


def test_what_was_measured_stays_when_the_client_deletes_the_log(desk: Desk, clock: FakeClock) -> None:
    _session(desk, "m1", Arm.MEMORY, 3, clock)
    assert desk.call("trial_report")["measured"]["memory"] == 1
    (desk.shop.parent / "m1.jsonl").unlink()
    assert desk.call("trial_report")["measured"]["memory"] == 1


def test_a_log_that_must_not_be_opened_is_not_measured(desk: Desk, clock: FakeClock) -> None:
    _session(desk, "m1", Arm.MEMORY, 3, clock)
    desk.call("off", session="m1")
    report = desk.call("trial_report")
    assert (report["measured"]["memory"], report["not_measured"]) == (0, 1)


def test_two_equal_arms_are_distinguished_as_rarely_as_the_interval_promises() -> None:
    chance = random.Random(7)
    found = 0
    for _ in range(400):
        first, second = [chance.lognormvariate(0, 0.7) for _ in range(15)], [chance.lognormvariate(0, 0.7) for _ in range(15)]
        found += welch(first, second).shown
    assert found / 400 <= 0.07


def test_the_number_of_sessions_named_is_the_one_that_shows_the_difference() -> None:
    chance = random.Random(11)

    def sample(mean: float, size: int) -> list[float]:
        return [chance.gauss(mean, 3) for _ in range(size)]

    needed = sessions_needed(sample(8, 2_000), sample(10, 2_000), 0.2)
    assert needed is not None
    shown = sum(welch(sample(8, needed), sample(10, needed)).shown for _ in range(300))
    assert 0.7 <= shown / 300 <= 0.9
