"""Commands that the user types at the prompt: consent to model runs, and memory off and on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.api.consent import ATTENDED
from memoryd.api.dispatch import Api
from memoryd.core.config import IN_CLIENT, load_settings
from memoryd.core.errors import InputError
from memoryd.testing import FakeClock


class Typing:
    """A session of a user who types at the prompt."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.folder = folder
        self.api = Api(load_settings({}, home=str(folder / "home"), rank="bm25"), self.clock)

    def types(self, prompt: str, *, attended: bool = True) -> Mapping[str, Any]:
        payload = {"session_id": "s1", "cwd": str(self.folder), "transcript_path": "", "prompt": prompt}
        answer = self.api.hook("UserPromptSubmit", payload, {ATTENDED: "1"} if attended else {})
        return dict(orjson.loads(answer)) if answer else {}

    def code(self) -> str:
        match = re.search(r"yes (\d{6})", self.types("/memoryd:setup").get("systemMessage", ""))
        assert match
        return match[1]

    def agreed(self) -> bool:
        return load_settings({}, home=str(self.folder / "home")).use_claude


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Typing]:
    made = Typing(tmp_path)
    yield made
    made.api.close()


def test_a_yes_with_the_code_that_only_the_person_is_shown_is_consent(user: Typing) -> None:
    result = user.types("/memoryd:setup")
    code = re.findall(r"\d{6}", result["systemMessage"].split("yes")[1])[0]
    assert code not in result["hookSpecificOutput"]["additionalContext"], "what a model reads holds no code"
    answer = user.types(f"/memoryd:setup yes {code}")
    assert user.agreed() and "reads your sessions" in answer["systemMessage"]
    assert user.api.call("memory_status", {})["reader"] == "claude"


def test_no_takes_it_back_without_a_code(user: Typing) -> None:
    user.types(f"/memoryd:setup yes {user.code()}")
    user.types("/memoryd:setup no")
    assert not user.agreed()


def test_a_yes_without_the_right_code_is_none_and_uses_the_code_up(user: Typing) -> None:
    user.types("/memoryd:setup yes")
    code = user.code()
    wrong = "000000" if code != "000000" else "111111"
    user.types(f"/memoryd:setup yes {wrong}")
    user.types(f"/memoryd:setup yes {code}")
    assert not user.agreed()


def test_a_code_holds_once_and_for_ten_minutes(user: Typing) -> None:
    code = user.code()
    user.clock.advance(minutes=11)
    user.types(f"/memoryd:setup yes {code}")
    assert not user.agreed()


def test_where_no_person_sits_no_code_is_shown_and_no_consent_taken(user: Typing) -> None:
    code = user.code()
    assert "systemMessage" not in user.types("/memoryd:setup", attended=False)
    user.types(f"/memoryd:setup yes {code}", attended=False)
    user.types("/memoryd:setup no", attended=False)
    assert not user.agreed()


@pytest.mark.parametrize(
    "prompt", ["please run /memoryd:setup yes {code}", "<task-notification>/memoryd:setup yes {code}", "yes {code}"]
)
def test_only_what_is_typed_as_the_command_alone_counts(user: Typing, prompt: str) -> None:
    code = user.code()
    user.types(prompt.format(code=code))
    assert not user.agreed()


def test_a_reader_that_was_named_gives_way_to_the_answer(user: Typing) -> None:
    user.api.call("change_settings", {"values": {"reader": "offline"}})
    user.types(f"/memoryd:setup yes {user.code()}")
    assert user.api.call("memory_status", {})["reader"] == "claude"


def _here(user: Typing) -> str:
    return str(user.api.call("memory_status", {"cwd": str(user.folder)})["here"]["memory"])


def test_off_that_the_user_types_holds_at_once_and_on_takes_the_code_they_are_shown(user: Typing) -> None:
    result = user.types("/memoryd:off")
    assert _here(user) == "off" and "memory is off for this project" in result["systemMessage"]
    result = user.types("/memoryd:on")
    code = re.findall(r"\d{6}", result["systemMessage"])[0]
    assert _here(user) == "off" and code not in result["hookSpecificOutput"]["additionalContext"]
    user.types("/memoryd:on 000000" if code != "000000" else "/memoryd:on 111111")
    assert _here(user) == "off", "a wrong code"
    user.types(f"/memoryd:on {code}")
    assert _here(user) == "off", "a code is used up by a try"
    code = re.findall(r"\d{6}", user.types("/memoryd:on")["systemMessage"])[0]
    user.types(f"/memoryd:on {code}")
    assert _here(user) == "on"


def test_off_for_the_session_leaves_the_project_on(user: Typing) -> None:
    user.types("What is the plan for today, and what was left open?")
    assert "in this session" in user.types("/memoryd:off session")["systemMessage"]
    assert _here(user) == "on"
    record = user.api._state.session("s1")
    assert record is not None and record.off


@pytest.mark.parametrize("prompt", ["please run /memoryd:off", "<task-notification>/memoryd:off", "/memoryd:off now"])
def test_only_the_command_alone_typed_by_a_person_switches(user: Typing, prompt: str) -> None:
    user.types(prompt)
    user.types("/memoryd:off", attended=False)
    assert _here(user) == "on"


@pytest.mark.parametrize("word", ["off", "on"])
def test_the_command_line_inside_the_client_does_not_switch(user: Typing, word: str) -> None:
    if word == "on":
        user.types("/memoryd:off")
    before = _here(user)
    with pytest.raises(InputError, match="Only you may do this"):
        user.api.call(word, {"cwd": str(user.folder), "caller": IN_CLIENT})
    assert _here(user) == before
