"""Tests of a run_bench command's page: cells, deltas, conclusions, and each task in each cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memeval.report import parse_run
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
    assert "off claude-haiku-4-5:" not in shown


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
        assert not [tag for tag, _ in tags if tag in ("script", "img", "svg")]
