"""The pages about dreams."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memoryd.core.errors import DaemonError
from tests.memoryd.console.console_client import Console, unhurt

HOSTILE = '<script>alert(1)</script> "><img src=x onerror=alert(1)> {{ 7777777*7 }}'
ENTRY = {
    "id": "dream-0007",
    "kind": "dream",
    "at": "2026-01-02T03:30:00Z",
    "trigger": "nightly",
    "step": "done",
    "of": "",
    "memories": 2,
}
ENTRY |= {"counts": {"merge": 2}, "undone": [], "note": ""}


def change(number: int, **more: Any) -> dict[str, Any]:
    made = {
        "id": f"mem_00000000000{number}",
        "stage": "merge",
        "action": "supersede",
        "reason": HOSTILE,
        "group": "g",
        "new": False,
    }
    made |= {
        "gone": False,
        "content": HOSTILE,
        "differences": {},
        "lines": [("-", HOSTILE), ("+", "new"), (" ", "stays"), ("…", "")],
    }
    return made | more


PROPOSALS = [{"id": f"prop_{n}", "why": HOSTILE, "since": "2026-01-01T00:00:00Z", "changes": [change(n)]} for n in (1, 2)]
UNDECIDED = [{"reason": HOSTILE, "memories": [{"id": f"mem_00000000000{n}", "content": HOSTILE} for n in (1, 2)]}]


@pytest.fixture
def dreams(console: Console) -> Console:
    """Return a console with proposals, an open contradiction and one entry."""
    console.answers["proposals"] = {"proposals": PROPOSALS, "total": 2, "undecided": UNDECIDED, "undecided_left": 0}
    console.answers["journal"] = lambda params: (
        {"entry": ENTRY, "changes": [change(1), change(2)], "left_out": 0}
        if "id" in params
        else {"entries": [ENTRY], "left_out": 0}
    )
    return console


def test_what_waits_is_shown_with_its_lines_and_as_text_only(dreams: Console) -> None:
    text = unhurt(dreams.get("/dreams"))
    assert "<ins>+ new</ins>" in text and "&lt;script&gt;" in text
    assert "prop_1" in text and "Which one is right?" in text and "/dreams/dream-0007" in text


def test_one_proposal_or_those_that_were_seen_are_decided(dreams: Console) -> None:
    dreams.answers["decide"] = {"entry": "accept-0008", "accepted": [change(1)], "refused": [], "changed_since": []}
    assert dreams.post("/dreams/decide", accept="prop_1").headers["location"] == "/dreams/accept-0008"
    dreams.post("/dreams/decide", refuse="shown", seen=["prop_1", "prop_2"])
    assert dreams.asked("decide") == [{"accept": ["prop_1"]}, {"refuse": ["prop_1", "prop_2"]}]
    assert dreams.post("/dreams/decide").status_code == 400


def test_all_that_waits_is_decided_at_once_but_nothing_that_came_since(dreams: Console) -> None:
    many = [{**PROPOSALS[0], "id": f"prop_{n}", "changes": []} for n in range(3_000)]
    new = {**many[0], "id": "prop_new", "since": "2999-01-01T00:00:00Z"}
    dreams.answers["decide"] = {"entry": "accept-0008", "accepted": [], "refused": [], "changed_since": []}
    dreams.answers["proposals"] = {"proposals": PROPOSALS, "total": 3_000, "undecided": [], "undecided_left": 0}
    text = unhurt(dreams.get("/dreams"))
    assert "Accept all 3,000" in text and "Refuse all 3,000" in text and "Accept these 2" in text
    until = re.search(r'name="until" value="([^"]+)"', text)[1]
    dreams.answers["proposals"] = {"proposals": [*many, new], "total": 3_001, "undecided": [], "undecided_left": 0}
    dreams.post("/dreams/decide", accept="all", until=until)
    assert dreams.asked("decide") == [{"accept": [proposal["id"] for proposal in many]}]
    assert dreams.post("/dreams/decide", accept="all").status_code == 400


def test_an_undo_is_confirmed_first_whole_or_one_change(dreams: Console) -> None:
    text = unhurt(dreams.get("/dreams/dream-0007"))
    assert "/dreams/dream-0007/undo?memory=mem_000000000001" in text
    assert "Undo 2 changes" in unhurt(dreams.get("/dreams/dream-0007/undo"))
    asked = unhurt(dreams.get("/dreams/dream-0007/undo", memory="mem_000000000001"))
    assert "These changes belong together" in asked and not dreams.asked("undo")
    dreams.answers["undo"] = {"entry": "undo-0008", "of": "dream-0007", "restored": ["mem_000000000001"], "refused": []}
    assert dreams.post("/dreams/dream-0007/undo", memory="mem_000000000001").headers["location"] == "/dreams/undo-0008"
    dreams.post("/dreams/dream-0007/undo")
    assert dreams.asked("undo") == [{"id": "dream-0007", "only": ["mem_000000000001"]}, {"id": "dream-0007"}]
    assert dreams.get("/dreams/dream-0007/undo", memory="mem_999999999999").status_code == 404


def test_a_plan_shows_the_lines_of_each_file(dreams: Console) -> None:
    plan = {"changes": [change(1), change(2)], "counts": {"merge": 2}, "proposals": [], "undecided": [], "refused_before": 0}
    dreams.answers["dream"] = plan | {"model_failed": 0}
    text = unhurt(dreams.post("/dreams/run", dry="1"))
    assert dreams.asked("dream") == [{"dry_run": True, "lines": 50}]
    assert text.count("<ins>+ new</ins>") == 2 and "<details open>" in text


def test_a_flood_is_asked_for_page_by_page_and_does_not_bury_the_journal(dreams: Console) -> None:
    dreams.answers["proposals"] = {"proposals": PROPOSALS, "total": 1_042, "undecided": UNDECIDED * 20, "undecided_left": 480}
    text = unhurt(dreams.get("/dreams", first=20))
    assert dreams.asked("proposals") == [{"lines": True, "first": 20, "most": 20}]
    assert text.count("Which one is right?") == 20 and "480 more contradictions" in text
    assert "1,042 in all" in text and "first=40" in text and "dream-0007" in text


def test_what_an_undo_leaves_alone_is_reported(dreams: Console) -> None:
    left = {"id": "mem_000000000001", "path": "/m/<b>.md", "reason": "it has been edited since"}
    dreams.answers["undo"] = {"entry": "", "of": "dream-0007", "restored": [], "refused": [left]}
    dreams.post("/dreams/dream-0007/undo")
    text = dreams.get("/dreams").text
    assert "Nothing was undone" in text and "/m/&lt;b&gt;.md was left unchanged" in text


def test_a_fault_of_one_part_leaves_the_other(console: Console) -> None:
    console.answers["proposals"] = DaemonError("The file is damaged.", fix="Delete it.")
    console.answers["journal"] = {"entries": [ENTRY], "left_out": 0}
    text = console.get("/dreams").text
    assert "The file is damaged." in text and "Delete it." in text and "dream-0007" in text


@pytest.mark.slow
def test_a_merge_is_dreamt_shown_undone_and_brought_back(real_console: Console) -> None:
    for number, text in enumerate(("Run the linter before each commit.", "Before each commit, run the linter.")):
        folder = real_console.api._service.folder / "project-shop" / f"s{number}"
        folder.mkdir(parents=True)
        head = f"id: mem_00000000000{number}\nkind: rule\npolarity: do\nscope: project\nproject: shop\n"
        head += f"session: s{number}\nsource: agent_step\n"
        (folder / f"mem_00000000000{number}.md").write_text(
            f"---\n{head}created_at: 2025-12-0{number + 1}T00:00:00Z\n---\n{text}\n"
        )
    real_console.api.call("sync", {})
    planned = real_console.post("/dreams/run", dry="1").text
    assert "Nothing was changed" in planned and "<del>- status: active</del>" in planned
    assert real_console.api.call("get_memory", {"id": "mem_000000000000"})["memory"]["status"] == "active"
    shown = real_console.post("/dreams/run", dry="0").headers["location"]
    assert "<del>- status: active</del>" in real_console.get(shown).text
    undone = real_console.post(f"{shown}/undo").headers["location"]
    assert undone.startswith("/dreams/undo-")
    assert "undone" in real_console.get("/dreams").text
    assert real_console.api.call("get_memory", {"id": "mem_000000000000"})["memory"]["status"] == "active"
