from __future__ import annotations

import re

from tests.memoryd.cli.conftest import Terminal


def test_checks_of_rules_are_listed_changed_and_reported(terminal: Terminal) -> None:
    said = terminal.run("remember", "Never use npm here, always pnpm.", "--kind", "rule").output
    found = re.search(r"mem_\w+", said)
    assert found
    id = found[0]
    assert id in terminal.run("guard").output
    assert "block" in terminal.run("guard", "mode", id, "block").output
    assert "block" in terminal.run("guard", "list").output
    assert terminal.run("guard", "report").output
    assert terminal.run("guard", "compile").output
    assert "off" in terminal.run("guard", "off").output
    assert "on" in terminal.run("guard", "on").output


def test_what_sessions_were_read_is_listed_before_there_are_any(terminal: Terminal) -> None:
    assert "session" in terminal.run("sessions").output.casefold()
