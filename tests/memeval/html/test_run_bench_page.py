"""Tests of a run_bench command's page: cells, deltas, conclusions, and each task in each cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memeval.report import parse_run
from memeval.report.boards import boards
from memeval.report.html import write_site
from memeval.report.html.run_bench_page import cell_view
from memeval.results.files import ResultsDir
from tests.memeval.html.test_pages import ATTACKS, Page
from tests.memeval.result_files import many, result, write

HAIKU = "claude-haiku-4-5"


def cell(arm: str, right: int, group: str = "g", **client: Any) -> dict[str, Any]:
    data = result(f"{group}.sample.{len(arm)}", many(4, right))
    sessions = {"total": 4, "by_status": {"done": 4}, "starts": 2, "cached": 2}
    four = {"accuracy": {"metric": "accuracy"}, "efficiency": {"value": 0.03, "target": 0.1, "met": True}}
    data["claudecode"] = {
        "group": group,
        "arm": arm,
        "model": HAIKU,
        "repeat": 1,
        "sessions": sessions,
        "four_metrics": four,
        **client,
    }
    return data


def site(folder: Path, *cells: dict[str, Any], summary: dict[str, Any] | None = None) -> Path:
    for one in cells:
        write(folder, one)
    if summary is not None:
        (folder / "runs" / "g").mkdir(parents=True)
        (folder / "runs" / "g" / "summary.json").write_text(json.dumps(summary))
    return write_site(ResultsDir(folder)).parent


def verdict(**changes: Any) -> dict[str, Any]:
    one = {
        "kind": "memory", "benchmark": cell("off", 0)["benchmark"]["name"], "first": {"arm": "plugin", "model": HAIKU},
        "second": {"arm": "off", "model": HAIKU}, "interval": {"low": 0.1, "high": 0.9}, "questions": 4, "difference": 0.5,
        "p_holm": 0.25, "test": "mcnemar", "verdict": "not enough data to say",
    }  # fmt: skip
    return {
        "comparisons": [{**one, **changes}],
        "variance": [{"cell": "x", "repeats": [0, 1], "mean": 0.5, "standard_deviation": 0.7}],
    }


def test_accuracy_is_that_of_the_command_with_its_own_interval(tmp_path: Path) -> None:
    counted = {"metric": "accuracy", "value": 0.61, "interval": {"low": 0.33, "high": 0.88}}
    folder = site(tmp_path, cell("plugin", 3, four_metrics={"accuracy": counted}), cell("off", 1))
    shown = Page((folder / "run_bench-g.html").read_text("utf-8")).text
    assert "61.0" in shown and "33.0–88.0" in shown
    assert "+36.0" in shown  # against 1 of 4


def test_failed_day_dreams_unscored_questions_and_the_cost_of_memory_are_shown(tmp_path: Path) -> None:
    costs = {name: {"cost_usd": cost} for name, cost in (("replays", 0.25), ("answers", 1.0), ("memory", 0.5), ("judge", 0.0))}
    faults: dict[str, Any] = {
        "daydreams": {"failed": 2, "problem": "The day dream failed: <not logged in>"},
        "unscored": {"blocked": 3},
    }
    folder = site(tmp_path, cell("plugin", 3, costs=costs, **faults), cell("off", 1))
    shown = Page((folder / "run_bench-g.html").read_text("utf-8")).text
    assert "plugin claude-haiku-4-5: 2 day dreams failed, so its memory is incomplete." in shown
    assert "<not logged in>" in shown
    assert "3 questions are unscored because of faults (3 blocked)" in shown
    assert "0.75" in shown
    assert (shown.count("day dreams failed"), shown.count("are unscored")) == (1, 1), "none of the arm without memory"


def test_the_index_leads_to_the_command_and_that_to_each_cell_and_task(tmp_path: Path) -> None:
    folder = site(tmp_path, cell("plugin", 3), cell("off", 1), summary=verdict())
    assert 'href="run_bench-g.html"' in (folder / "index.html").read_text("utf-8")
    text = (folder / "run_bench-g.html").read_text("utf-8")
    shown = Page(text).text
    for part in (
        "+50.0",
        "75.0",
        "3.0 % (target 10.0 %, met)",
        "4 done; 2 from the cache",
        "not enough data to say",
        "0.250",
        "70.0",
    ):
        assert part in shown, part
    links = [attributes["href"] for tag, attributes in Page(text).tags if tag == "a"]
    to_tasks = [link for link in links if link and "#" in link]
    assert len(to_tasks) == 8
    for link in to_tasks:
        name, _, fragment = link.partition("#")
        assert f'id="{fragment}"' in (folder / name).read_text("utf-8")


def test_the_question_of_the_grid_is_asked_in_words(tmp_path: Path) -> None:
    folder = site(
        tmp_path, cell("plugin", 3), summary=verdict(kind="grid", question="Does Haiku with memory reach the Opus baseline?")
    )
    assert "Does Haiku with memory reach the Opus baseline?" in (folder / "run_bench-g.html").read_text("utf-8")


def test_a_command_without_a_summary_still_has_its_cells(tmp_path: Path) -> None:
    assert "75.0" in (site(tmp_path, cell("plugin", 3)) / "run_bench-g.html").read_text("utf-8")


def test_other_runs_are_no_cells_and_hostile_names_stay_text(tmp_path: Path) -> None:
    assert cell_view(parse_run(result("r", many(2, 1)), None, "x")) is None
    for number, attack in enumerate(ATTACKS):
        folder = site(tmp_path / str(number), cell(attack, 1, model=attack))
        tags = Page((folder / "run_bench-g.html").read_text("utf-8")).tags
        assert not [tag for tag, given in tags if tag in ("script", "img") or any(name.startswith("on") for name in given)]


def primary(**changes: Any) -> dict[str, Any]:
    limits = {"power": 0.8, "clusters": 3, "smallest_detectable": 0.4, "questions_needed": 90}
    return verdict(
        **{"role": "primary", "p": 0.004, "p_holm": 0.004, "verdict": "pays", "power": limits, "enough": "", **changes}
    )


def test_the_page_leads_with_the_answer_its_cost_and_how_sure_it_is(tmp_path: Path) -> None:
    folder = site(tmp_path, cell("plugin", 3), cell("off", 1), summary=primary())
    text = (folder / "run_bench-g.html").read_text("utf-8")
    shown = Page(text).text
    for part in (
        "Does memory pay?",
        "Yes",
        "+50.0 points, plugin instead of off",
        "+10.0 to +90.0",
        "per task instead of",
        "p 0.004 (mcnemar), on 4 tasks in 3 groups",
    ):
        assert part in shown, part
    assert text.index("Yes") < text.index("Score against cost") < text.index("Every task")
    other = site(tmp_path / "b", cell("plugin", 0), cell("off", 3), summary=primary(verdict="harms"))
    assert "No, it harms" in Page((other / "run_bench-g.html").read_text("utf-8")).text


def test_without_a_verdict_the_page_says_what_would_give_one(tmp_path: Path) -> None:
    wanted = "this one needs about 90 questions."
    summary = primary(verdict="not enough data to say", enough=wanted)
    folder = site(tmp_path / "a", cell("plugin", 3), cell("off", 1), summary=summary)
    assert wanted in Page((folder / "run_bench-g.html").read_text("utf-8")).text
    bare = site(tmp_path / "b", cell("plugin", 3))
    assert "No conclusion yet" in Page((bare / "run_bench-g.html").read_text("utf-8")).text


def test_an_exploratory_comparison_gives_no_answer(tmp_path: Path) -> None:
    folder = site(tmp_path, cell("plugin", 3), summary=primary(role="exploratory", p_holm=None))
    shown = Page((folder / "run_bench-g.html").read_text("utf-8")).text
    assert "exploratory: pays" in shown and "No conclusion yet" in shown
    assert "0.004" in shown


def test_faults_are_reported_before_the_figures_that_they_spoil(tmp_path: Path) -> None:
    failed = {"failed": 2, "problem": "The endpoint refused the key."}
    folder = site(tmp_path, cell("plugin", 3, daydreams=failed), cell("off", 1, daydreams={"failed": 0, "problem": ""}))
    text = (folder / "run_bench-g.html").read_text("utf-8")
    assert "The endpoint refused the key." in Page(text).text
    assert text.index("Faults") < text.index("accuracy %") < text.index("Every task")


def test_every_task_is_shown_with_what_it_asks_in_every_arm(tmp_path: Path) -> None:
    folder = site(tmp_path, cell("plugin", 3), cell("off", 1))
    assert "Question 2?" in Page((folder / "run_bench-g.html").read_text("utf-8")).text


def test_a_command_of_two_tasks_never_stands_above_one_of_many(tmp_path: Path) -> None:
    few, large = cell("plugin", 2, group="zz"), cell("plugin", 1, group="a")
    few["questions"] = few["questions"][:2]
    folder = site(tmp_path, few, large)
    text = (folder / "index.html").read_text("utf-8")
    assert text.index("run_bench-a.html") < text.index("run_bench-zz.html")
    assert f"plugin · {HAIKU} · " in Page(text).text, "arms, model and day instead of a bare id"
    found = boards([parse_run(one) for one in (few, large)])
    assert [len(board.runs[0].questions) for board in found] == [4, 2]


def session(step: str, injected: str, patch: str, output: str, **changes: Any) -> dict[str, Any]:
    """Return the line of a coding session in a trajectory file."""
    return {
        "sequence": "c0",
        "step": step,
        "kind": "task",
        "prompt": "Make the total right.",
        "status": "done",
        "answer": "The total is right now.",
        "turns": 3,
        "usage": {"input_tokens": 900, "output_tokens": 100, "cost_usd": 0.02},
        "calls": [{"name": "Edit", "arguments": {"file_path": "shop.py"}, "result": "edited", "is_error": False}],
        "injected": {"tokens": 7, "items": [{"via": "recall", "id": "mem_1", "text": injected, "tokens": 7}] if injected else []},
        "retrieved": {"tokens": 0, "items": []},
        "used": [{"id": "mem_1", "how": "content"}] if injected else [],
        "written": {"memoryd": {"new": {"rule.md": "a new rule"}, "changed": {}, "removed": []}},
        "graded": {"verdict": output.lower(), "patch": patch, "test output": output},
        **changes,
    }


def with_sessions(folder: Path, arm: str, right: int, *sessions: dict[str, Any] | str) -> dict[str, Any]:
    data = cell(arm, right, trajectories=f"{arm}.trajectories.jsonl")
    (folder / "v0.1").mkdir(parents=True, exist_ok=True)
    lines = [one if isinstance(one, str) else json.dumps(one) for one in sessions]
    (folder / "v0.1" / f"{arm}.trajectories.jsonl").write_text("\n".join(lines) + "\n")
    return data


def test_a_coding_task_has_a_page_with_what_each_arm_was_given_did_and_changed(tmp_path: Path) -> None:
    evil = ATTACKS[0]
    plugin = with_sessions(tmp_path, "plugin", 4, session("q0", "Use settle().", "+settle(total)", "4 passed"), "{broken")
    off = with_sessions(tmp_path, "off", 0, session("q0", "", evil, "1 FAILED", prompt=evil), {"kind": "question", "step": "q5"})
    folder = site(tmp_path, plugin, off)
    (file,) = folder.glob("task-*.html")
    text = file.read_text("utf-8")
    page = Page(text)
    for part in ("Use settle().", "+settle(total)", "4 passed", "1 FAILED", "mem_1 (content)", "a new rule", "shop.py", evil):
        assert part in page.text
    assert evil not in text
    assert page.text.index("plugin claude-haiku-4-5 right") < page.text.index("off claude-haiku-4-5 wrong")
    command = (folder / "run_bench-g.html").read_text("utf-8")
    assert command.count(f'href="{file.name}"') == 1
    assert 'href="run_bench-g.html"' in text


def test_tasks_that_cannot_be_graded_are_named_on_the_page(tmp_path: Path) -> None:
    ungraded = {"ungraded": {"acme__calc-1": "its tests are flaky"}}
    shown = Page((site(tmp_path, cell("off", 1, summary=ungraded)) / "run_bench-g.html").read_text("utf-8")).text
    assert "not scored because they can't be graded on this machine: acme__calc-1. acme__calc-1: its tests are flaky" in shown
