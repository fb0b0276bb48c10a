"""Changing config.toml keeps everything else unchanged."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.config import load_settings
from memoryd.core.config_file import change_file, changed
from memoryd.core.errors import ConfigError, InputError

FILE = """# my settings
floor = 0.6   # found by trying
# session_budget = 600

exclude = [
  "/a",  # secret
  "/b",
]
# the end"""
HERE = Path("config.toml")


def test_a_changed_setting_keeps_its_comment_and_place() -> None:
    assert changed(FILE, "floor", 0.4, HERE) == FILE.replace("0.6   #", "0.4  #")


def test_a_new_setting_goes_below_its_example_else_to_the_end() -> None:
    assert "# session_budget = 600\nsession_budget = 300\n\n" in changed(FILE, "session_budget", 300, HERE)
    assert changed(FILE, "dream_time", "04:00", HERE) == FILE + '\ndream_time = "04:00"\n'


def test_a_list_over_several_lines_is_replaced_whole_and_one_taken_out_leaves_its_comment() -> None:
    assert tomllib.loads(changed(FILE, "exclude", ("/c",), HERE)) == {"floor": 0.6, "exclude": ["/c"]}
    assert changed(FILE, "floor", None, HERE).startswith("# my settings\n# found by trying\n# session")


def test_what_only_looks_like_the_setting_is_never_changed() -> None:
    text = 'openai_model = """\nfloor = 1\n"""\nfloor = 0.5\n'
    with pytest.raises(ConfigError, match="safely"):
        changed(text, "floor", 0.4, HERE)


@given(st.text(), st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_whatever_the_file_holds_a_change_is_exact_or_refused(text: str, value: str) -> None:
    try:
        new = changed(text, "openai_model", value, HERE)
    except ConfigError:
        return
    assert tomllib.loads(new) == {**tomllib.loads(text), "openai_model": value}


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"floor": "7", "session_budget": "5"}, ConfigError),
        ({"flor": "0.5"}, ConfigError),
        ({"home": "/tmp/x"}, InputError),
        ({"extractor": "gpt"}, ConfigError),
    ],
)
def test_one_wrong_value_leaves_the_file_as_it_was(tmp_path: Path, values: dict[str, Any], fault: type[Exception]) -> None:
    path = tmp_path / "config.toml"
    path.write_text(FILE, "utf-8")
    with pytest.raises(fault):
        change_file(path, values)
    assert path.read_text("utf-8") == FILE


def test_a_file_that_is_not_toml_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("floor = = 1", "utf-8")
    with pytest.raises(ConfigError, match="can't be read"):
        change_file(path, {"floor": "0.5"})
    assert path.read_text("utf-8") == "floor = = 1"


def test_a_wrong_value_in_the_file_can_be_repaired(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("floor = 7\n", "utf-8")
    change_file(tmp_path / "config.toml", {"floor": "0.7"})
    assert load_settings({}, home=str(tmp_path)).floor == 0.7
