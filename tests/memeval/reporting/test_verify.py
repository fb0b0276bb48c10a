"""Tests of `memeval verify`: the figures of documents follow from stored scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memeval.cli.app import build
from memeval.core.errors import ConfigError, DataError
from memeval.core.types import Phase
from memeval.report import parse_run
from memeval.report.verify import Figures, read_scores, rewrite, scores_of, scores_text, verify
from memeval.run.result import interval_of
from tests.memeval.result_files import Asked, result

ROOT = Path(__file__).parents[3]
FIGURES = """\
pages: [page.md]
tables:
  main:
    rows: {"`good`": good, "`bad`": bad}
    columns: {f1: f1, right: "count:f1", mean: "mean:f1", of singles: "f1{single}", tokens: tokens}
  pairs:
    rows: {good: good, bad: bad}
    pairs: [[good, bad]]
    metrics: {f1: F1}
"""
PAGE = """\
# Page

<!-- figures: main -->
<!-- end -->

<!-- figures: pairs -->
<!-- end -->

It is better by 25.0 points: 75 % against 50 %, in version 3.11.7, see [x](a-9.9.md) and `1.25`.

## Elsewhere

<!-- measured once: make bench -->
It took 12.5 s.
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    for name, right in (("good", 30), ("bad", 20)):
        asked = [
            Asked(f"q{n}", {"f1": float(n < right)}, case=f"c{n}", category="single" if n % 2 else "multi") for n in range(40)
        ]
        scores = scores_of(parse_run(result(name, asked)))
        (tmp_path / "results" / f"{name}.json").write_text(scores_text(scores))
    (tmp_path / "figures.yaml").write_text(FIGURES)
    (tmp_path / "page.md").write_text(PAGE)
    rewrite(tmp_path)
    return tmp_path


def run(docs: Path, *words: str) -> Result:
    return CliRunner().invoke(build(), ["verify", "--docs", str(docs), *words])


def test_the_figures_of_this_projects_documents_follow_from_the_stored_scores() -> None:
    done = run(ROOT / "docs")
    assert done.exit_code == 0, done.output


def test_scores_keep_the_numbers_of_a_run_and_none_of_its_texts() -> None:
    asked = [Asked(f"q{n}", {"f1": n / 7}, case=f"c{n % 3}") for n in range(7)]
    asked += [Asked("unclear", {"f1": None}), Asked("lost", error=(Phase.ANSWER, "timeout"))]
    run = parse_run(result("r", asked))
    text = scores_text(scores_of(run))
    for question in run.questions:
        assert question.text not in text and str(question.hypothesis) not in text and '"q' not in text
    data = json.loads(text)
    assert data["values"]["f1"][-2:] == ["unscored", "failed"]
    counted = [(str(cluster), value if isinstance(value, int | float) else 0.0)
               for cluster, value in zip(data["clusters"], data["values"]["f1"], strict=True)]  # fmt: skip
    assert sum(value for _, value in counted) / 9 == pytest.approx(run["f1"])
    found = interval_of(counted, data["seed"])
    assert found is not None and (found["low"], found["high"]) == pytest.approx((run.metrics["f1"].low, run.metrics["f1"].high))


def test_tables_are_computed_from_scores(docs: Path) -> None:
    assert "| `good` | 75.0 [59.8, 85.8] | 30 of 40 | 0.750 | 75.0 [53.1, 88.8] | 8 |" in (docs / "page.md").read_text()
    assert "| good – bad | F1 | 40 | +25.0 |" in (docs / "page.md").read_text()
    assert verify(docs) == []


def test_a_figure_changed_by_hand_is_found_and_written_back(docs: Path) -> None:
    page = docs / "page.md"
    good = page.read_text()
    page.write_text(good.replace("75.0 [59.8", "78.0 [59.8"))
    done = run(docs)
    assert done.exit_code == 1 and "page.md:6: table main should have: | `good` | 75.0 [59.8" in done.output
    assert run(docs, "--write").exit_code == 0 and page.read_text() == good


def test_changed_scores_change_the_tables(docs: Path) -> None:
    path = docs / "results" / "bad.json"
    data = json.loads(path.read_text())
    data["values"]["f1"][0] = 0
    path.write_text(json.dumps(data))
    lines = {one.line for one in verify(docs)}
    assert len(lines) >= 2, "both tables are stale"


def test_a_figure_that_is_neither_in_a_table_nor_marked_is_named(docs: Path) -> None:
    page = docs / "page.md"
    page.write_text(page.read_text().replace("by 25.0 points", "by 26.1 points").replace("50 %", "51 %"))
    assert [one.text.split()[0] for one in verify(docs)] == ["26.1", "51"]
    page.write_text(page.read_text().replace("<!-- measured once: make bench -->", ""))
    assert [one.text.split()[0] for one in verify(docs)] == ["26.1", "51", "12.5"]
    page.write_text(page.read_text().replace("# Page\n", "# Page\n<!-- measured once: make -->\n"))
    assert verify(docs) == []


def test_a_table_that_no_page_shows_is_named(docs: Path) -> None:
    page = docs / "page.md"
    page.write_text(page.read_text().replace("<!-- figures: pairs -->", "<!-- figures: lost -->"))
    texts = [one.text for one in verify(docs)]
    assert "figures.yaml has no table lost" in texts and "no page shows the table pairs" in texts


def test_damaged_files_are_named(docs: Path) -> None:
    path = docs / "results" / "good.json"
    for damage in ("", "[]", '{"kind": "x"}', path.read_text().replace('"f1": [1,', '"f1": ["one",'),
                   path.read_text().replace('"f1": [1,', '"f1": [')):  # fmt: skip
        path.write_text(damage)
        with pytest.raises(DataError, match=r"good\.json is not a file of scores"):
            read_scores(path)
    assert "memeval export RUN --format scores" in run(docs).output
    (docs / "figures.yaml").write_text("pages: [page.md]\n")
    with pytest.raises(ConfigError, match="no pages or tables"):
        Figures(docs)
    assert run(docs / "results").exit_code == 2


def test_scores_name_no_folder_of_the_machine_that_made_them() -> None:
    made = result("r", [Asked("q", {"f1": 1.0})])
    made["settings"] = {**made.get("settings", {}), "benchmark_options": {"conversations": "/home/ada/data/ten.json"}, "k": 3}
    assert scores_of(parse_run(made))["settings"]["benchmark_options"] == {"conversations": "ten.json"}
