from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoryd.cli.app import app
from tests.memoryd.cli.conftest import Terminal


@pytest.fixture(scope="module")
def port(terminal: Terminal) -> str:
    id: str = terminal.json("remember", "The staging database listens on port 5544.", "--kind", "environment", "--tag", "db")[
        "id"
    ]
    return id


def test_what_is_remembered_is_found_and_explained(terminal: Terminal, port: str) -> None:
    result = terminal.json("search", "port of the staging database", "--explain")
    assert [hit["id"] for hit in result["hits"]][0] == port
    assert "5544" in terminal.run("search", "port of the staging database", "--explain").output
    assert "route:" in terminal.run("search", "port of the staging database", "--explain").output


def test_a_question_without_an_answer_says_so(terminal: Terminal, port: str) -> None:
    assert terminal.json("search", "zebra quantum cheesecake")["hits"] == []
    assert "Nothing relevant" in terminal.run("search", "zebra quantum cheesecake").output


@pytest.mark.parametrize(
    ("said", "kind", "polarity"),
    [
        ("Never push to main.", "rule", "dont"),
        ("I prefer short answers.", "preference", "do"),
        ("Bob likes tea.", "note", "know"),
    ],
)
def test_what_the_user_remembers_is_of_the_kind_that_its_words_say(
    terminal: Terminal, said: str, kind: str, polarity: str
) -> None:
    memory = terminal.json("show", terminal.json("remember", said)["id"])["memory"]
    assert (memory["kind"], memory["polarity"]) == (kind, polarity)


def test_the_console_can_be_opened(terminal: Terminal) -> None:
    assert terminal.run("console", "--no-browser").output.startswith("http://127.0.0.1:")


def test_remembering_the_same_again_changes_nothing(terminal: Terminal, port: str) -> None:
    again = terminal.json("remember", "The staging database listens on port 5544.", "--kind", "environment")
    assert (again["status"], again["id"]) == ("known", port)


def test_a_newer_value_replaces_the_older_and_the_old_one_stays_on_record(terminal: Terminal) -> None:
    old = terminal.json("remember", "The cache server listens on port 6379.", "--kind", "environment")["id"]
    new = terminal.json("remember", "The cache server listens on port 6380.", "--kind", "environment")
    assert (new["status"], new["superseded"]) == ("superseded", old)
    assert [hit["id"] for hit in terminal.json("search", "port of the cache server")["hits"]][0] == new["id"]
    listed = terminal.json("list", "--status", "superseded")["memories"]
    assert old in [memory["id"] for memory in listed]
    assert {event["id"] for event in terminal.json("timeline", "cache", "server")["events"]} >= {old, new["id"]}


def test_a_memory_is_shown_edited_forgotten_and_restored(terminal: Terminal) -> None:
    id = terminal.json("remember", "The linter is called flake.", "--kind", "note")["id"]
    assert "flake" in terminal.run("show", id).output
    edited = terminal.json("edit", id, "--tag", "tools", "--pin")["memory"]
    assert (edited["tags"], edited["pinned"]) == (["tools"], True)
    newer = terminal.json("edit", id, "--content", "The linter is called ruff.")["memory"]
    assert newer["supersedes"] == id
    terminal.json("forget", newer["id"])
    assert newer["id"] not in json.dumps(terminal.json("list", "--limit", "100"))
    assert terminal.json("restore", newer["id"])["memory"]["status"] == "active"
    terminal.json("forget", newer["id"], "--purge")
    terminal.json("show", newer["id"], code=3)


def test_governance_shows_what_the_next_session_gets(terminal: Terminal) -> None:
    terminal.json("remember", "Never push to main.", "--kind", "rule", "--polarity", "dont")
    result = terminal.json("governance")
    assert "Never push to main." in result["text"]
    assert result["tokens"] <= 600


def test_related_follows_shared_names(terminal: Terminal) -> None:
    one = terminal.json("remember", "`make db` starts PostgreSQL, see `docker/db.yml`.")["id"]
    two = terminal.json("remember", "The image in `docker/db.yml` is pinned to 16.3.")["id"]
    assert two in [entry["memory"]["id"] for entry in terminal.json("related", one)["related"]]
    assert {entry["memory"]["id"] for entry in terminal.json("related", "docker/db.yml")["related"]} >= {one, two}


def test_a_project_is_switched_off_and_on(terminal: Terminal) -> None:
    assert terminal.json("off")["memory"] == "off"
    assert any(project["off"] for project in terminal.json("projects")["projects"])
    assert terminal.json("on")["memory"] == "on"


@pytest.mark.parametrize("name", ["all.jsonl", "all.tar.gz"])
def test_an_export_is_read_back(terminal: Terminal, tmp_path: Path, name: str, port: str) -> None:
    written = terminal.json("export", str(tmp_path / name))
    assert written["memories"] > 0
    id = terminal.json("remember", f"Only in this home, {name}.")["id"]
    terminal.json("export", str(tmp_path / ("with-" + name)))
    terminal.json("forget", id, "--purge")
    counts = terminal.json("import", str(tmp_path / ("with-" + name)))
    assert counts["new"] == 1 and counts["different"] == counts["broken"] == 0
    assert terminal.json("show", id)["memory"]["content"] == f"Only in this home, {name}."


def test_claudes_own_memory_is_taken_over(terminal: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-some-where"
    (folder / "memory").mkdir(parents=True)
    (folder / "s.jsonl").write_text(json.dumps({"cwd": str(terminal.folder), "type": "user"}) + "\n")
    (folder / "memory" / "MEMORY.md").write_text("- [Deploys](deploys.md) how\n- The owner prefers tabs.\n")
    (folder / "memory" / "deploys.md").write_text("---\nname: deploys\ntype: project\n---\nDeploys happen on Tuesdays at noon.\n")
    counts = terminal.json("import", "--claude-memory", str(tmp_path / "projects"))
    assert counts["new"] == 2
    assert terminal.json("import", "--claude-memory", str(tmp_path / "projects"))["known"] == 2
    taken = terminal.json("list", "--session", "claude-memory")["memories"]
    assert {(memory["content"], memory["trust"]) for memory in taken} == {
        ("Deploys happen on Tuesdays at noon.", "statement"),
        ("The owner prefers tabs.", "statement"),
    }


def test_past_transcripts_are_imported_once(terminal: Terminal, tmp_path: Path) -> None:
    log = tmp_path / "projects" / "-x" / "old.jsonl"
    log.parent.mkdir(parents=True)
    line = {
        "type": "user", "uuid": "u1", "sessionId": "old", "cwd": str(terminal.folder), "timestamp": "2026-01-02T10:00:00Z",
        "message": {"role": "user", "content": "From now on always tag a release before you deploy to production."},
    }  # fmt: skip
    log.write_text(json.dumps(line) + "\n")
    assert terminal.json("import", "--transcripts", str(tmp_path / "projects"))["queued"] == 1
    found = [memory for memory in terminal.json("list", "--session", "old")["memories"]]
    assert len(found) == 1
    terminal.json("import", "--transcripts", str(tmp_path / "projects"))
    assert len(terminal.json("list", "--session", "old")["memories"]) == 1
    assert any(run["session"] == "old" and run["kept"] == 1 for run in terminal.json("log")["runs"])


def test_a_dry_run_writes_nothing_and_prints_the_candidates(terminal: Terminal, tmp_path: Path) -> None:
    log = tmp_path / "new.jsonl"
    line = {
        "type": "user", "uuid": "u1", "sessionId": "new", "cwd": "/c", "timestamp": "2026-01-02T10:00:00Z",
        "message": {"role": "user", "content": "From now on never edit the generated files in src/gen by hand."},
    }  # fmt: skip
    log.write_text(json.dumps(line) + "\n")
    before = terminal.json("status")["memories"]
    result = terminal.json("daydream", "--transcript", str(log), "--dry-run")
    (candidate,) = result["candidates"]
    assert "src/gen" in candidate["content"]
    assert candidate["polarity"] == "dont"
    assert candidate["evidence"]["lines"] == [1]
    assert "skipped" in result
    assert terminal.json("status")["memories"] == before


def test_reindex_and_doctor_find_everything_in_order(terminal: Terminal, port: str) -> None:
    assert terminal.json("reindex")["waiting"] == 0
    report = terminal.json("doctor")
    assert report["healthy"], report


def test_the_doctor_names_a_broken_file(terminal: Terminal) -> None:
    broken = terminal.paths.memories / "user" / "broken.md"
    for folder in (terminal.home, terminal.paths.memories, broken.parent):
        folder.mkdir(mode=0o700, exist_ok=True)  # The doctor reports folders that others can read.
    broken.write_text("---\nid: mem_00000000000b\nkind: [\n---\nx\n")
    try:
        terminal.run("reindex")
        report = terminal.json("doctor", code=1)
        assert any("broken.md" in check["detail"] and check["fix"] for check in report["checks"] if not check["ok"])
        assert broken.read_text() == "---\nid: mem_00000000000b\nkind: [\n---\nx\n"
    finally:
        broken.unlink()
        terminal.run("reindex")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["show", "mem_000000000000"], 3, "no memory"),
        (["show", "nonsense"], 2, "not a memory id"),
        (["search", "x", "--as-of", "yesterday-ish"], 2, "2026-11-27"),
        (["search", "x", "--project", "nowhere"], 3, "nowhere"),
        (["export", "memories.zip"], 2, "format"),
        (["import", "missing.jsonl"], 2, "missing.jsonl"),
        (["import"], 2, "--transcripts"),
        (["daydream", "--dry-run"], 2, "--transcript"),
        (["daydream", "--transcript", "missing.jsonl"], 2, "missing.jsonl"),
        (["daydream", "--transcript", "missing.jsonl", "--dry-run"], 1, "missing.jsonl"),
    ],
)
def test_a_wrong_call_says_what_to_do_and_shows_no_traceback(
    terminal: Terminal, arguments: list[str], code: int, says: str
) -> None:
    result = terminal.run(*arguments, code=code)
    assert says in result.output
    assert "fix" in result.output
    assert "Traceback" not in result.output


def test_a_wrong_setting_is_named(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("readr = 'heuristic'\n")
    result = terminal.run("--home", str(tmp_path), "status", code=2)
    assert "Did you mean 'reader'?" in result.output


def test_every_command_has_json_and_help() -> None:
    without_json = {"mcp", "hook", "completion"}
    for name, command in app().commands.items():
        assert command.help, name
        flags = {flag for parameter in command.params for flag in parameter.opts}
        assert "--json" in flags or name in without_json, name


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_each_shell(terminal: Terminal, shell: str) -> None:
    assert "_MEMORYD_COMPLETE" in terminal.run("completion", shell).output
