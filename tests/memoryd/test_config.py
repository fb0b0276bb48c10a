from __future__ import annotations

import os
import sys
from pathlib import Path

import orjson
import pytest

from memoryd.core.config import KEYS, load_settings, openai_key, setting_names
from memoryd.core.errors import ConfigError


def write_config(home: Path, text: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(text)


def test_every_setting_is_described_exactly_once() -> None:
    assert list(KEYS) == setting_names()
    assert all(key.help.endswith(".") for key in KEYS.values())


def test_later_sources_win(tmp_path: Path) -> None:
    write_config(tmp_path, "session_budget = 100\nprompt_budget = 100\ntool_budget = 100\nlease_minutes = 1\n")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "plugin-options.json").write_bytes(
        orjson.dumps({"CLAUDE_PLUGIN_OPTION_PROMPT_BUDGET": "200", "CLAUDE_PLUGIN_OPTION_TOOL_BUDGET": "200"})
    )
    env = {"MEMORYD_HOME": str(tmp_path), "MEMORYD_TOOL_BUDGET": "300"}
    settings = load_settings(env, lease_minutes=4)
    assert (settings.session_budget, settings.prompt_budget, settings.tool_budget) == (100, 200, 300)
    assert settings.lease_minutes == 4
    assert settings.home == tmp_path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sesion_budget = 1", "session_budget"),
        ("session_budget = -1", "session_budget"),
        ("daily_token_budget = " + "9" * 30, "daily_token_budget"),
        ('exclude = ["/home/ada\\u0000"]', "exclude"),
        ('openai_model = "a\\nb"', "openai_model"),
        ("floor = 1.5", "floor"),
        ("extractor = 'gpt'", "endpoint"),
        ("dream_time = '25:00'", "dream_time"),
        ("inject_prompt = 'perhaps'", "inject_prompt"),
        ("exclude = 3", "exclude"),
        ("not toml", "config.toml"),
    ],
)
def test_a_wrong_setting_names_the_key_and_the_fix(tmp_path: Path, text: str, says: str) -> None:
    write_config(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_settings({"MEMORYD_HOME": str(tmp_path)})
    assert says in str(caught.value)
    assert caught.value.fix


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="MEMORYD_FLOOR"):
        load_settings({"MEMORYD_HOME": str(tmp_path), "MEMORYD_FLOOR": "high"})


def test_the_vendors_key_is_used_for_the_vendor_only(tmp_path: Path) -> None:
    env = {"OPENROUTER_API_KEY": "router", "OPENAI_API_KEY": "openai"}
    home = {"MEMORYD_HOME": str(tmp_path)}
    assert openai_key(load_settings(home), env) == "router"
    assert openai_key(load_settings({**home, "MEMORYD_OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}), env) == "openai"
    assert openai_key(load_settings({**home, "MEMORYD_OPENAI_API_KEY": "own"}), env) == "own"


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "tool_budget = " + "9" * 5_000, "a = " + "{b=" * 50_000])
def test_a_config_file_that_toml_s_own_reader_fails_on_is_refused_like_any_other(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"config\.toml"):
        load_settings({"MEMORYD_HOME": str(tmp_path)})


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_in_place_of_the_config_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    with pytest.raises(ConfigError, match="not a regular file"):
        load_settings({"MEMORYD_HOME": str(tmp_path)})
