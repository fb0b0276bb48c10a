"""What commands print for people: the plain text, without --json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.memoryd.cli.conftest import Terminal


@pytest.fixture(scope="module", autouse=True)
def rule(terminal: Terminal) -> str:
    id: str = terminal.json("remember", "Never push to the branch main.", "--kind", "rule", "--polarity", "dont")["id"]
    terminal.json("remember", "The billing service lives in `src/billing.py`.", "--kind", "environment")
    return id


def cells(text: str) -> dict[str, str]:
    """Return the first two cells of each row of a table."""
    rows = [line.split("\t") for line in text.splitlines() if "\t" in line]
    return {row[0]: row[1] for row in rows}


def test_status_says_where_memory_is_how_much_there_is_and_whether_it_is_on(terminal: Terminal) -> None:
    shown = cells(terminal.run("status").output)
    assert shown["home"] == str(terminal.home)
    assert shown["memories"].startswith("2 active")
    assert shown["here"].startswith("memory is on")
    terminal.run("off")
    assert cells(terminal.run("status").output)["here"].startswith("memory is off")
    terminal.run("on")


def test_the_doctor_prints_one_line_for_each_check_and_a_fix_below_each_problem(terminal: Terminal) -> None:
    lines = terminal.run("doctor").output.splitlines()
    checks = {line.split()[1].rstrip(":"): line for line in lines}
    assert {"python", "home", "permissions", "daemon", "embedder"} <= checks.keys()
    assert all(line.startswith("ok ") for line in lines)
    terminal.home.chmod(0o755)
    lines = terminal.run("doctor", code=1).output.splitlines()
    terminal.home.chmod(0o700)
    (place,) = [number for number, line in enumerate(lines) if line.startswith("FAIL permissions")]
    assert lines[place + 1].strip() == f"fix: chmod -R go-rwx {terminal.home}"


def test_what_a_session_gets_is_shown_with_its_cost(terminal: Terminal) -> None:
    lines = terminal.run("governance").output.splitlines()
    assert any("Never push to the branch main." in line for line in lines)
    assert "tokens" in lines[-1]


def test_a_list_ends_with_how_many_there_are(terminal: Terminal) -> None:
    assert terminal.run("list", "--kind", "rule").output.splitlines()[-1] == "1 of 1"
    assert terminal.run("list", "--kind", "fix").output == "0 of 0\n"


def test_the_overview_counts_by_kind_and_status(terminal: Terminal) -> None:
    rows = [line.split("\t") for line in terminal.run("overview").output.splitlines()]
    assert [row[-1] for row in rows if row[0] == "rule"] == ["1"]
    assert [row[-1] for row in rows if row[0] == "all"] == ["2"]


def test_what_is_linked_and_what_happened_is_shown_or_said_to_be_nothing(terminal: Terminal, rule: str) -> None:
    assert "The billing service" in terminal.run("related", "src/billing.py").output
    assert terminal.run("related", "no/such/file.py").output == "Nothing is linked to it.\n"
    assert rule in terminal.run("timeline").output
    assert terminal.run("handoff").output == "No session of this project has ended yet.\n"


def test_projects_are_a_table_with_their_number_of_memories(terminal: Terminal) -> None:
    ((id, name, memories, state),) = [line.split("\t") for line in terminal.run("projects").output.splitlines()]
    assert (name, memories, state) == (terminal.folder.name, "2", "on")
    assert id.startswith(name)


def session_log(folder: Path, *texts: str) -> Path:
    path = folder / "s1.jsonl"
    common = {"type": "user", "sessionId": "s1", "cwd": str(folder), "timestamp": "2026-01-02T10:00:00Z"}
    lines = [{**common, "uuid": f"u{number}", "message": {"role": "user", "content": text}} for number, text in enumerate(texts)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_dry_run_shows_what_would_be_kept_and_keeps_nothing(terminal: Terminal, tmp_path: Path) -> None:
    log = str(session_log(tmp_path, "From now on always run `make fmt` before a commit."))
    lines = terminal.run("daydream", "--dry-run", "--reader", "offline", "--transcript", log).output.splitlines()
    assert lines[0].endswith("From now on always run `make fmt` before a commit.")
    assert lines[-1].startswith("1 candidates")
    assert terminal.json("list")["total"] == 2


def test_the_prompt_of_a_model_is_printed_word_for_word(terminal: Terminal, tmp_path: Path) -> None:
    log = str(session_log(tmp_path, "From now on always run `make fmt` before a commit."))
    text = terminal.run("daydream", "--print-prompt", "--transcript", log).output
    assert text.startswith("=== request 1 of 1 ===")
    assert "always run `make fmt`" in text
    (tmp_path / "s1.jsonl").write_text("")
    assert terminal.run("daydream", "--print-prompt", "--transcript", log).output == "Nothing would be sent.\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--record", "a", "--replay", "b"), "--record requires a plain dry run"),
        (("--reader", "offline"), "--reader requires a dry run"),
        (("--dry-run",), "--transcript FILE is required"),
    ],
)
def test_options_that_do_not_fit_together_are_refused_with_the_way_out(
    terminal: Terminal, options: tuple[str, ...], said: str
) -> None:
    result = terminal.run("daydream", *options, code=2)
    assert said in result.stderr
    assert "\nfix " in result.stderr


def test_a_whole_project_is_forgotten_only_if_its_name_is_typed_and_comes_back_with_undo(terminal: Terminal) -> None:
    name = terminal.folder.name
    refused = terminal.run("forget", "--project", name, code=2)
    assert "nothing was forgotten" in refused.stderr
    assert terminal.json("list")["total"] == 2
    said = terminal.run("forget", "--project", name, "--yes").output.splitlines()
    assert said[0] == f"2 memories of {name} are forgotten"
    assert terminal.json("list")["total"] == 0
    terminal.run("undo", said[1].removeprefix("undo: memoryd undo "))
    assert terminal.json("list")["total"] == 2


def test_a_forgotten_memory_names_the_command_that_brings_it_back(terminal: Terminal, rule: str) -> None:
    said: Any = terminal.run("forget", rule).output
    assert said.endswith(f"(undo: memoryd restore {rule})\n")
    terminal.run("restore", rule)
