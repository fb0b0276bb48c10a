"""`memoryd config`, and the other settings of the console on the command line."""

from __future__ import annotations

import pytest

from tests.memoryd.cli.conftest import Terminal

pytestmark = pytest.mark.slow


def test_a_setting_is_shown_changed_and_taken_back(terminal: Terminal) -> None:
    assert "session_budget\t600\tdefault\t600" in terminal.run("config").stdout
    terminal.run("config", "session_budget", "450")
    assert terminal.paths.config.read_text("utf-8") == "session_budget = 450\n"
    assert "cost: Up to this many tokens of each session." in terminal.run("config", "session_budget").stdout
    terminal.run("config", "session_budget", "--default")
    assert terminal.paths.config.read_text("utf-8") == ""
    assert "has no effect: the environment" in terminal.run("config", "floor", "0.2").stdout
    assert "takes effect when the daemon restarts" in terminal.run("config", "rank", "bm25").stdout
    terminal.run("config", "rank", "--default")


def test_a_wrong_name_or_value_changes_nothing(terminal: Terminal) -> None:
    terminal.run("config", "dream_floor", "--default")  # There is a file.
    before = terminal.paths.config.read_text("utf-8")
    assert "Did you mean 'floor'?" in terminal.run("config", "flor", "0.5", code=2).output
    terminal.run("config", "dream_floor", "7", code=2)
    terminal.run("config", "dream_floor", "0.1", "--default", code=2)
    assert terminal.paths.config.read_text("utf-8") == before


def test_a_wrong_value_in_the_file_is_repaired_by_the_command(terminal: Terminal) -> None:
    terminal.run("status")  # There is a home.
    terminal.paths.config.write_text("dream_floor = 7 # oops\n", "utf-8")
    assert "dream_floor = 7" in terminal.run("config", code=2).output
    terminal.run("config", "dream_floor", "0.1")
    assert terminal.paths.config.read_text("utf-8") == "dream_floor = 0.1  # oops\n"


def test_a_project_is_switched_and_forgotten_by_name_and_comes_back(terminal: Terminal) -> None:
    id = terminal.json("remember", "The parser is written by hand.")["id"]
    terminal.run("off", "--project", "shop")
    assert terminal.json("projects")["projects"][0]["off"]
    terminal.run("on", "--project", "shop")
    assert "nothing was forgotten" in terminal.run("forget", "--project", "shop", code=2).output
    entry = terminal.json("forget", "--project", "shop", "--yes")["entry"]
    assert terminal.json("show", id)["memory"]["status"] == "blacklisted"
    assert "+ status: blacklisted" in terminal.run("journal", entry, "--diff").stdout
    terminal.run("undo", entry, "--only", id)
    assert terminal.json("show", id)["memory"]["status"] == "active"
