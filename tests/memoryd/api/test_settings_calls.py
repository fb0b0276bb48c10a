"""Settings in the API behind CLI and console."""

from __future__ import annotations

from typing import Any

import pytest

from memoryd.api.settings import COSTS, GROUPS
from memoryd.core.config import KEYS, Settings
from memoryd.core.errors import ConfigError, InputError, NotFoundError
from tests.memoryd.api.conftest import Desk, desk

__all__ = ["desk"]


def result(desk: Desk) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for group in desk.user("settings")["groups"] for entry in group["settings"]}


def test_every_setting_is_in_one_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(KEYS)
    assert COSTS.keys() <= KEYS.keys()


def test_a_change_is_written_takes_effect_at_once_and_is_reported(desk: Desk, settings: Settings) -> None:
    answer = desk.user("change_settings", values={"session_budget": "50", "lease_minutes": "5"})
    assert (answer["changed"], answer["waiting"]) == (["lease_minutes", "session_budget"], ["lease_minutes"])
    assert settings.paths.config.read_text("utf-8") == "session_budget = 50\nlease_minutes = 5.0\n"
    now = result(desk)["session_budget"]
    assert (now["value"], now["default"], now["source"]) == (50, 600, "file")
    desk.user("remember", content="word " * 100, pinned=True, kind="rule", polarity="do")
    assert desk.user("governance")["tokens"] <= 50
    desk.user("change_settings", values={"session_budget": None})
    assert result(desk)["session_budget"]["source"] == "default"


def test_what_the_environment_overrules_is_reported(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYD_FLOOR", "0.9")
    assert desk.user("change_settings", values={"floor": "0.1"})["overruled"] == {"floor": "the environment"}
    assert (result(desk)["floor"]["value"], result(desk)["floor"]["overruled_by"]) == (0.9, "the environment")


def test_a_broken_file_is_reported_and_the_settings_in_force_are_shown(desk: Desk, settings: Settings) -> None:
    settings.paths.config.write_text("floor = 7\n", "utf-8")
    answer = desk.user("settings")
    assert "floor = 7" in answer["problem"]["message"]
    assert result(desk)["floor"]["value"] == 0.5
    with pytest.raises(ConfigError):
        desk.user("change_settings", values={"session_budget": "5"})
    assert settings.paths.config.read_text("utf-8") == "floor = 7\n"


def test_a_key_is_never_shown_and_a_model_sees_no_settings(desk: Desk) -> None:
    desk.user("change_settings", values={"openai_api_key": "sk-hidden"})
    assert "sk-hidden" not in str(desk.user("settings"))
    assert result(desk)["openai_api_key"]["is_set"]
    for method in ("settings", "change_settings", "forget_project"):
        with pytest.raises(InputError, match="no method"):
            desk.model(method)


def test_a_project_can_be_switched_by_its_id(desk: Desk) -> None:
    id = desk.user("governance")["project"]
    assert desk.user("off", project=id)["memory"] == "off"
    assert desk.user("projects")["projects"][0]["off"]
    assert desk.user("on", project="shop")["memory"] == "on"
    with pytest.raises(NotFoundError):
        desk.user("off", project="nowhere")


def test_a_forgotten_project_is_silent_and_comes_back_as_it_was(desk: Desk) -> None:
    kept = desk.user("remember", content="The parser is written by hand.", pinned=True)["id"]
    everywhere = desk.user("remember", content="I write short sentences.", scope="user")["id"]
    before = desk.user("get_memory", id=kept)["memory"]
    assert desk.user("forget_project", project="shop", dry_run=True)["memories"] == 1
    assert desk.user("get_memory", id=kept)["memory"] == before
    entry = desk.user("forget_project", project="shop")["entry"]
    assert desk.user("get_memory", id=kept)["memory"]["status"] == "blacklisted"
    assert desk.user("get_memory", id=everywhere)["memory"]["status"] == "active"
    assert desk.model("remember", content="The parser is written by hand.")["status"] == "refused"
    assert desk.user("forget_project", project="shop")["entry"] == ""
    assert desk.user("undo", id=entry)["restored"] == [kept]
    assert desk.user("get_memory", id=kept)["memory"] == before


def test_one_change_of_an_entry_is_undone_alone_and_shown_as_lines(desk: Desk) -> None:
    ids = [desk.user("remember", content=text)["id"] for text in ("Alpha is a host.", "The parser has no tests at all.")]
    entry = desk.user("forget_project", project="shop")["entry"]
    lines = [tuple(line) for line in desk.user("journal", id=entry, lines=True)["changes"][0]["lines"]]
    assert ("-", "status: active") in lines and ("+", "status: blacklisted") in lines
    assert desk.user("undo", id=entry, only=ids[:1])["restored"] == ids[:1]
    assert desk.user("get_memory", id=ids[1])["memory"]["status"] == "blacklisted"
    with pytest.raises(InputError):
        desk.user("undo", only=ids[:1])
