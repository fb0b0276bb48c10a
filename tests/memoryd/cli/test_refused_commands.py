"""Commands refuse to lose or hide data. They print a one-line message under the name that was typed."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoryd.daemon.client import Client
from tests.memoryd.cli.conftest import Terminal


def test_an_empty_folder_switches_nothing_off(terminal: Terminal) -> None:
    assert "off: FOLDER is empty" in terminal.run("off", "", code=2).output
    assert terminal.json("status")["projects_off"] == []


def test_switching_off_a_folder_that_does_not_exist_switches_nothing_off(terminal: Terminal) -> None:
    assert "There is no folder shpo" in terminal.run("off", "shpo", code=2).output
    assert terminal.json("status")["projects_off"] == []


def test_what_is_remembered_for_all_projects_is_the_users_everywhere(terminal: Terminal) -> None:
    id = terminal.json("remember", "--project", "all", "Answer in full sentences, not in keywords.")["id"]
    assert terminal.json("show", id)["memory"]["scope"] == "user"


@pytest.mark.parametrize(("name", "value"), [("session_budget", "99999"), ("prompt_budget", "2401"), ("chunk_tokens", "0")])
def test_a_budget_out_of_bounds_is_refused_with_the_bounds(terminal: Terminal, name: str, value: str) -> None:
    assert "expected a number from" in terminal.run("config", name, value, code=2).output


def test_an_export_neither_overwrites_nor_makes_folders(terminal: Terminal, tmp_path: Path) -> None:
    target = tmp_path / "mine.jsonl"
    target.write_text("mine\n")
    assert "--force" in terminal.run("export", str(target), code=2).output
    assert target.read_text() == "mine\n"
    terminal.run("export", str(target), "--force")
    assert target.read_text() != "mine\n"
    terminal.run("export", str(tmp_path / "no" / "folder" / "x.jsonl"), code=2)
    assert not (tmp_path / "no").exists()


def test_a_file_without_a_memory_in_it_is_refused_with_the_line(terminal: Terminal, tmp_path: Path) -> None:
    junk = tmp_path / "junk.jsonl"
    junk.write_text("\nnot json\nnor this\n")
    assert "first invalid line is 2" in terminal.run("import", str(junk), code=2).output


def test_a_file_that_is_not_a_session_log_is_not_read_as_one(terminal: Terminal, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("milk\nbread\n")
    assert "not a session log" in terminal.run("daydream", "--transcript", str(other), code=2).output


def test_a_message_names_the_command_that_was_typed(terminal: Terminal) -> None:
    output = terminal.run("search", "", code=2).output
    assert "search: QUERY is empty" in output and "recall" not in output
    assert "projects move: OLD is empty" in terminal.run("projects", "move", "", ".", code=2).output
    late = terminal.run("list", "--as-of", "soon", code=2).output
    assert "list: --as-of: 'soon' is not a date or time. Write it as 2026-11-27 or 2026-11-27T09:30:00Z.\n" in late
    assert "'../etc/x' is not a position in the list" in terminal.run("list", "--cursor", "../etc/x", code=2).output


# An unset shell variable. It must neither mean this folder's project nor everything.
EMPTY = (
    ("off", "--project", ""),
    ("off", "--session", ""),
    ("on", "--project", ""),
    ("export", "mine.jsonl", "--project", ""),
    ("export", ""),
    ("forget", "--project", "", "--yes"),
    ("governance", "--project", ""),
    ("search", "tax", "--session", ""),
    ("list", "--after", ""),
    ("sessions", ""),
    ("undo", ""),
    ("graph", ""),
    ("timeline", ""),
    ("projects", "move", "shop", ""),
    ("import", ".", "--from", "obsidian", "--project", ""),
    ("import", "--transcripts", "--client", ""),
    ("daydream", "--transcript", ""),
)


@pytest.mark.parametrize("call", EMPTY, ids=" ".join)
def test_an_empty_value_is_refused_and_means_no_default(terminal: Terminal, call: tuple[str, ...]) -> None:
    assert "empty" in terminal.run(*call, code=2).output
    assert terminal.json("status")["projects_off"] == []
    assert not (terminal.folder / "mine.jsonl").exists()


def test_an_empty_wording_leaves_the_memory_as_it_was(terminal: Terminal) -> None:
    id = terminal.json("remember", "The attic is dry in summer.")["id"]
    assert "edit: --content is empty" in terminal.run("edit", id, "--content", "", code=2).output
    assert "edit: --valid-to is empty" in terminal.run("edit", id, "--valid-to", "", code=2).output
    assert terminal.json("show", id)["memory"]["content"] == "The attic is dry in summer."


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("off", ".", "--project", "shop"), "give either a folder or a project"),
        (("off", ".", "--session", "s1"), "give either a folder or a session"),
        (("import", "notes", "--client", "codex"), "--client requires --transcripts"),
        (("import", "--from", "mem0", "--claude-memory"), "--from can't be combined"),
        (("import", "--claude-memory", "nowhere"), "There is no folder"),
        (("setup", "--endpoint", "localhost:1234"), "expected an address such as https://"),
    ],
)
def test_what_cannot_be_meant_is_refused_instead_of_ignored(terminal: Terminal, call: tuple[str, ...], said: str) -> None:
    assert said in terminal.run(*call, code=2).output
    assert terminal.json("status")["projects_off"] == []


def test_forgetting_several_says_what_was_done_before_a_fault(terminal: Terminal) -> None:
    id = terminal.json("remember", "The ferry leaves at noon.")["id"]
    output = terminal.run("forget", id, "mem_000000000000", code=3).output
    assert "mem_000000000000" in output and f"Already forgotten: {id}" in output


def test_a_fault_does_not_repeat_all_that_was_typed(terminal: Terminal) -> None:
    assert len(terminal.run("governance", "--budget", "x" * 100_000, code=2).output) < 1_000
    assert len(terminal.run("governance", "--budget", "x" * 100_000, "--json", code=2).output) < 1_000


def test_a_name_with_a_line_break_takes_one_line(terminal: Terminal) -> None:
    folder = terminal.folder.parent / "two\nlines"
    folder.mkdir()
    Terminal(terminal.home, folder).run("remember", "The name of this folder has two lines.")
    assert "\ttwo lines\t1\ton\n" in terminal.run("projects").output


def test_an_empty_journal_says_so(terminal: Terminal) -> None:
    assert "journal is empty" in terminal.run("journal").output


def editor(tmp_path: Path, script: str) -> dict[str, str]:
    program = tmp_path / "editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"EDITOR": str(program), "VISUAL": str(program)}


def test_a_slip_in_the_editor_leaves_the_memory_as_it_was(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = terminal.json("remember", "The gate closes at eight.")["id"]
    for name, value in editor(tmp_path, "sed -i 's/^kind:.*/kind:broken/' \"$1\"").items():
        monkeypatch.setenv(name, value)
    assert "The memory is unchanged" in terminal.run("edit", id, code=2).output
    assert terminal.json("show", id)["memory"]["content"] == "The gate closes at eight."


@pytest.mark.parametrize(
    ("script", "code"), [("sed -i '/^id:/d' \"$1\"", 2), ("sed -i 's/^id:.*/id: mem_0123456789ab/' \"$1\"", 2), ('rm "$1"', 2)]
)
def test_an_editor_neither_takes_the_id_of_a_memory_nor_the_memory(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, code: int
) -> None:
    id = terminal.json("remember", "The cellar is locked at nine.")["id"]
    for name, value in editor(tmp_path, script).items():
        monkeypatch.setenv(name, value)
    terminal.run("edit", id, code=code)
    assert terminal.json("show", id)["memory"]["content"] == "The cellar is locked at nine."


def test_an_edit_in_the_editor_is_taken_over(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    id = terminal.json("remember", "The shop opens at seven.")["id"]
    for name, value in editor(tmp_path, "sed -i 's/at seven/at six/' \"$1\"").items():
        monkeypatch.setenv(name, value)
    terminal.run("edit", id)
    assert terminal.json("show", id)["memory"]["content"] == "The shop opens at six."


def test_undo_takes_a_rewording_back(terminal: Terminal) -> None:
    old = terminal.json("remember", "The printer is on floor two.")["id"]
    new = terminal.json("edit", old, "--content", "The printer is on floor three.")["memory"]["id"]
    terminal.run("undo", new)
    assert terminal.json("show", old)["memory"]["status"] == "active"
    assert terminal.json("show", new)["memory"]["status"] != "active"


def test_a_project_is_moved_with_its_memories(terminal: Terminal) -> None:
    other = terminal.folder.parent / "cellar"
    other.mkdir()
    id = Terminal(terminal.home, other).json("remember", "The cellar floods in spring.")["id"]
    old = terminal.json("show", id)["memory"]["project"]
    moved = terminal.json("projects", "move", old, str(terminal.folder))
    assert moved["moved"] == 1
    assert terminal.json("show", id)["memory"]["project"] == moved["project"]
    assert old not in [project["id"] for project in terminal.json("projects")["projects"]]


def command(terminal: Terminal, *arguments: str, cwd: Path, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MEMORYD_HOME": str(terminal.home), "MEMORYD_EMBEDDER": "hash"}
    call = [sys.executable, "-m", "memoryd", *arguments]
    return subprocess.run(
        call, env=environment, cwd=cwd, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_one_line(terminal: Terminal) -> None:
    with Path("/dev/full").open("w") as full:
        result = command(terminal, "list", "--project", "all", cwd=terminal.folder, stdout=full.fileno())
    assert result.returncode == 1
    assert "can't be written" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that can close a stream")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault(terminal: Terminal, closed: str) -> None:
    environment = {**os.environ, "MEMORYD_HOME": str(terminal.home), "MEMORYD_EMBEDDER": "hash"}
    script = f'"$0" -m memoryd list --project all {closed}'
    result = subprocess.run(
        ["sh", "-c", script, sys.executable], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0 and "Traceback" not in result.stderr


DELETED = ("list", "export x.jsonl", "import x.jsonl", "import --from obsidian x", "projects move shop .", "mcp", "off")


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use can't be deleted there")
@pytest.mark.parametrize("typed", DELETED)
def test_a_deleted_working_folder_is_one_line(terminal: Terminal, tmp_path: Path, typed: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = (
        f"import os; os.rmdir({str(gone)!r}); import sys; sys.argv = ['memoryd', *{typed!r}.split()]; "
        "from memoryd.cli import main; main()"
    )
    environment = {**os.environ, "MEMORYD_HOME": str(terminal.home), "PYTHONPATH": str(Path(__file__).parents[3])}
    call = [sys.executable, "-c", script]
    result = subprocess.run(call, env=environment, cwd=gone, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert "no longer exists" in result.stderr and "Traceback" not in result.stderr


def test_the_doctor_counts_the_prompts_that_went_without_memory(terminal: Terminal) -> None:
    log = terminal.home / "logs" / "hooks.log"
    log.parent.mkdir(mode=0o700, exist_ok=True)
    now = datetime.now(UTC).astimezone()
    stamps = [(now - timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%S") for minute in (9, 8, 7)]
    old = (now - timedelta(days=3)).strftime("%Y-%m-%dT%H:%M:%S")
    lines = [f"{old} UserPromptSubmit timed out", *(f"{stamp} UserPromptSubmit timed out" for stamp in stamps)]
    log.write_text("\n".join([*lines, f"{stamps[-1]} UserPromptSubmit no daemon; starting a daemon"]) + "\n")
    try:
        checks = {check["name"]: check for check in terminal.json("doctor", code=1)["checks"]}
        assert not checks["hooks"]["ok"] and checks["hooks"]["detail"].startswith("3 prompts of the last day")
    finally:
        log.unlink()


def test_an_export_into_the_vault_is_refused(terminal: Terminal) -> None:
    target = terminal.home / "memories" / "mine.jsonl"
    assert "inside the memories folder" in terminal.run("export", str(target), "--force", code=2).output
    assert not target.exists()


def test_a_setting_below_zero_is_refused_by_its_bounds_not_as_an_option(terminal: Terminal) -> None:
    assert "expected a number from 0" in terminal.run("config", "daily_token_budget", "-5", code=2).output
    assert "No such option" in terminal.run("config", "--nosuch", code=2).output


@pytest.mark.parametrize(("editor", "expected"), [("rm", "deleted the file"), ("false", "Editing failed")])
def test_an_editor_that_leaves_nothing_is_an_error_and_the_memory_stays(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, editor: str, expected: str
) -> None:
    id = terminal.json("remember", f"The lamp that {editor} lights hangs in the yard.")["id"]
    monkeypatch.setenv("VISUAL", editor)
    assert expected in terminal.run("edit", id, code=2).output
    assert f"The lamp that {editor} lights" in terminal.run("show", id).output


def test_a_memory_and_its_earlier_wording_are_purged_by_one_command(terminal: Terminal) -> None:
    older = terminal.json("remember", "The ledger host is wolfram-11.")["id"]
    newer = terminal.json("edit", older, "--content", "The ledger host is wolfram-12.")["memory"]["id"]
    assert older in terminal.run("forget", "--purge", newer, older).output
    for id in (older, newer):
        terminal.run("show", id, code=3)
        assert f"There is no memory '{id}'" in terminal.run("undo", id, code=3).output


def test_undo_says_which_text_holds_and_of_what_was_forgotten_how_it_comes_back(terminal: Terminal) -> None:
    older = terminal.json("remember", "The gate code is posted at amber-1.")["id"]
    newer = terminal.json("edit", older, "--content", "The gate code is posted at amber-2.")["memory"]["id"]
    assert f"{older} is active again: The gate code is posted at amber-1." in terminal.run("undo", newer).output
    assert f"memoryd restore {newer}" in terminal.run("undo", newer, code=3).output


def test_restoring_what_was_replaced_swaps_the_two_and_says_so(terminal: Terminal) -> None:
    older = terminal.json("remember", "The queue broker is called Hare.")["id"]
    newer = terminal.json("edit", older, "--content", "The queue broker is called Tortoise.")["memory"]["id"]
    assert f"{newer}, which had replaced it, is now superseded" in terminal.run("restore", older).output
    assert terminal.json("show", newer)["memory"]["status"] == "superseded"
    assert f"{older} is already active" in terminal.run("restore", older).output
    assert f"{older}, which had replaced it, is now superseded" in terminal.run("restore", newer).output
    assert terminal.json("show", older)["memory"]["status"] == "superseded"


@pytest.mark.slow
def test_what_is_not_part_of_an_export_is_named_and_the_rest_is_kept(terminal: Terminal, tmp_path: Path) -> None:
    mine = replace(terminal, home=tmp_path / "home")
    mine.run("remember", "The otter sleeps by the river.")
    mine.run("export", str(tmp_path / "good.tar.gz"))
    Client(mine.paths).stop(60)
    with tarfile.open(tmp_path / "good.tar.gz") as good, tarfile.open(tmp_path / "bad.tar.gz", "w:gz") as bad:
        for member in good:
            stream = good.extractfile(member)
            assert stream is not None
            data = stream.read()
            bad.addfile(member, io.BytesIO(data))
            if member.name.startswith("items/"):
                member.name = "items/again.json"
                bad.addfile(member, io.BytesIO(data))
        for name, kind in (("../../evil.md", tarfile.REGTYPE), ("link.md", tarfile.SYMTYPE), ("other.txt", tarfile.REGTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/hostname"
            bad.addfile(entry, io.BytesIO(b""))
    theirs = replace(terminal, home=tmp_path / "theirs")
    output = theirs.run("import", str(tmp_path / "bad.tar.gz"), code=1).output
    assert "kept 1 of 5" in output
    for named in ("../../evil.md", "link.md", "other.txt", "more than once"):
        assert named in output
    assert not list(tmp_path.rglob("evil.md"))
    assert "kept 0 of 1: 1 already known" in theirs.run("import", str(tmp_path / "good.tar.gz")).output
    Client(theirs.paths).stop(60)
