"""Invalid calls and broken homes: a clear error, never a traceback, and no unintended change."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memoryd.cli import processes
from memoryd.cli.app import app
from memoryd.core.text import visible
from tests.memoryd.cli.conftest import Terminal


def run(home: Path | str, *arguments: str, data: bytes = b"") -> Result:
    """Run a command that needs no daemon."""
    return CliRunner().invoke(app(), list(arguments), env={"MEMORYD_HOME": str(home)}, input=data)


@pytest.fixture
def broken_home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text("floor = [broken", "utf-8")
    return home


def test_with_a_broken_config_a_daemon_can_still_be_stopped(broken_home: Path) -> None:
    assert run(broken_home, "daemon", "--stop").exit_code == 0
    assert run(broken_home, "daemon", "--start").exit_code == 2


def test_with_a_broken_config_doctor_says_so_among_its_checks(broken_home: Path) -> None:
    result = run(broken_home, "doctor", "--json")
    assert result.exit_code == 1
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert not checks["config"]["ok"]
    assert "config.toml" in checks["config"]["detail"]
    assert checks["python"]["ok"]


def test_with_a_broken_config_a_hook_ends_with_0_and_the_fault_is_logged(broken_home: Path) -> None:
    result = run(broken_home, "hook", "Stop", data=b"{}")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "config.toml" in (broken_home / "logs" / "hooks.log").read_text("utf-8")


def test_a_hook_with_too_much_on_its_input_is_dropped_and_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MAX_RECORD_BYTES", 10)
    result = run(tmp_path, "hook", "Stop", data=b"x" * 100_000)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "more than 10 bytes" in (tmp_path / "logs" / "hooks.log").read_text("utf-8")


@pytest.mark.parametrize("arguments", [("list", "--limit", "0", "--json"), ("--json", "nosuch"), ("--json", "list", "--nosuch")])
def test_a_wrong_call_is_one_json_value_too(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = run(tmp_path / "home", *arguments)
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == "usage"


def test_an_empty_home_is_not_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(tmp_path / "home", "--home", "", "status").exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("home", ["~nosuchuser/x", "/tmp/\udcff/x"])
def test_a_home_that_cannot_be_is_a_wrong_setting(tmp_path: Path, home: str) -> None:
    result = run(tmp_path / "home", "--home", home, "status", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == "config"


@pytest.mark.skipif(sys.platform == "win32", reason="no /dev/null")
def test_a_home_that_cannot_be_made_is_reported_without_a_traceback() -> None:
    result = run("/dev/null/home", "search", "x")
    assert result.exit_code in (2, 4)
    assert "error" in result.stderr
    assert "Traceback" not in result.output + repr(result.exception)


def test_a_home_that_cannot_be_written_is_reported_without_a_traceback(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "logs").write_text("in the way", "utf-8")
    result = run(home, "search", "x", "--json")
    assert result.exit_code == 4
    assert "logs" in json.loads(result.stdout)["error"]["message"]


def test_text_that_is_not_unicode_is_named_as_the_fault(terminal: Terminal) -> None:
    assert "Unicode" in terminal.run("search", "\udcff", code=2).stderr


def test_a_folder_with_a_name_of_no_encoding_has_memory_too(terminal: Terminal, tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    try:
        Path(folder).mkdir()
    except OSError:
        pytest.skip("the file system takes valid names only")
    elsewhere = Terminal(terminal.home, Path(folder))
    elsewhere.run("remember", "Espresso is made with 18 grams.")
    assert elsewhere.json("search", "grams of espresso")["hits"]


def test_an_empty_session_name_is_refused(terminal: Terminal) -> None:
    terminal.run("off", "--session", "", code=2)
    assert all(not project["off"] for project in terminal.json("projects")["projects"])


def test_what_moves_a_cursor_or_turns_text_is_not_printed_as_such(terminal: Terminal) -> None:
    assert visible("a\x1b[31m\x07b\u202ec\x9bd\r\n\te") == "a\ufffd[31m\ufffdb\ufffdc\ufffdd\ufffd\n\te"
    id = terminal.json("remember", "Plain \x1b]0;pwned\x07 words about the weather.")["id"]
    for command in (("show", id), ("search", "words about weather"), ("list",)):
        assert "\x1b" not in terminal.run(*command).stdout
