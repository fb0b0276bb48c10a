from __future__ import annotations

import pytest

from memoryd.daemon.client import Client
from tests.memoryd.cli.conftest import Terminal

PAIRS = (
    "Run the linter before each commit.",
    "Before each commit, run the linter.",
    "run the linter before each commit",
)


@pytest.fixture(scope="module")
def dreamt(terminal: Terminal) -> dict[str, object]:
    """Return a store with a rule that was said in three sessions, after a dream."""
    project = terminal.json("governance")["project"]
    folder = terminal.paths.memories / f"project-{project}"
    for number, text in enumerate(PAIRS):
        path = folder / f"session-{number}" / f"mem_00000000000{number}.md"
        path.parent.mkdir(parents=True)
        path.write_text(
            f"---\nid: mem_00000000000{number}\nkind: rule\npolarity: do\nscope: project\nproject: {project}\n"
            f"session: session-{number}\nsource: user\nconfidence: 0.8\ncreated_at: 2026-01-0{number + 1}T00:00:00Z\n"
            f"status: active\n---\n{text}\n"
        )
    Client(terminal.paths).call("sync", {})
    planned = terminal.json("dream", "--dry-run")
    assert planned["status"] == "planned"
    assert {change["id"] for change in planned["changes"]} >= {"mem_000000000000", "mem_000000000001"}
    assert terminal.json("journal")["entries"] == []
    shown = terminal.run("dream", "--dry-run").output
    assert "merge_duplicates" in shown
    assert "because" in shown
    result: dict[str, object] = terminal.json("dream")
    return result


def test_a_dream_merges_what_was_said_in_several_sessions(terminal: Terminal, dreamt: dict[str, object]) -> None:
    assert dreamt["status"] == "done"
    hits = terminal.json("search", "linter before commit")["hits"]
    assert len([hit for hit in hits if "linter" in hit["content"].lower()]) == 1
    assert terminal.json("dream")["status"] == "nothing to do"
    assert terminal.json("status")["dreams"]["last_run"]
    assert terminal.json("status")["dreams"]["last_error"] == ""


def test_the_journal_and_why_tell_what_happened(terminal: Terminal, dreamt: dict[str, object]) -> None:
    entry = terminal.json("journal")["entries"][-1]
    assert entry["id"] == dreamt["entry"]
    assert dreamt["entry"] in terminal.run("journal").output  # type: ignore[operator]
    assert "mem_000000000000" in terminal.run("journal", entry["id"]).output
    outcome = terminal.json("why", "mem_000000000000")
    assert outcome["changes"][0]["entry"] == entry["id"]
    assert outcome["origin"]["session"] == "session-0"
    assert outcome["replaced_by"] == [change["id"] for change in dreamt["changes"] if change["new"]]  # type: ignore[attr-defined]
    assert entry["id"] in terminal.run("why", "mem_000000000000").output
    terminal.json("why", "mem_ffffffffffff", code=3)


def test_why_shows_the_keys_by_which_a_memory_is_found(terminal: Terminal) -> None:
    id = terminal.json("remember", "Deploy with make ship.", "--asked-as", "how do I release?")["id"]
    assert "how do I release?" in terminal.run("why", id).output


def test_an_undo_brings_all_back_and_can_be_undone(terminal: Terminal, dreamt: dict[str, object]) -> None:
    undone = terminal.json("undo")
    assert undone["of"] == dreamt["entry"]
    assert undone["refused"] == []
    assert terminal.json("show", "mem_000000000000")["memory"]["status"] == "active"
    assert "undone" in terminal.run("journal").output
    assert terminal.json("dream")["status"] == "nothing to do"
    assert "Nothing was changed" in terminal.run("undo", undone["of"]).output
    assert "redo" in terminal.run("undo", undone["entry"]).output
    assert terminal.json("show", "mem_000000000000")["memory"]["status"] == "superseded"
    terminal.json("undo", "dream-9999", code=3)


def test_what_the_user_wrote_by_hand_waits_for_consent(terminal: Terminal) -> None:
    project = terminal.json("governance")["project"]
    for number, text in enumerate(("Deploy on Mondays at 9.", "Deploy on Mondays at 9!")):
        path = terminal.paths.memories / f"project-{project}" / "manual" / f"mem_0000000000a{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"---\nid: mem_0000000000a{number}\nkind: rule\npolarity: do\nscope: project\nproject: {project}\nsession: manual\n"
            f"source: user\nconfidence: 0.8\ncreated_at: 2026-02-0{number + 1}T00:00:00Z\nstatus: active\n---\n{text}\n"
        )
    Client(terminal.paths).call("sync", {})
    terminal.json("dream")
    assert [terminal.json("show", f"mem_0000000000a{number}")["memory"]["status"] for number in (0, 1)] == ["active"] * 2


def test_deciding_on_an_unknown_proposal_says_where_to_look(terminal: Terminal) -> None:
    assert "memoryd proposals" in terminal.run("dream", "--accept", "prop_0000000000", code=3).output
    assert terminal.json("dream", "--accept", "all")["accepted"] == []
    assert "Nothing is waiting" in terminal.run("proposals").output or "undecided" in terminal.run("proposals").output
