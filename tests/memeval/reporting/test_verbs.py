"""Tests of the commands that read results, on prepared result files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memeval.cli.app import build
from tests.memeval.result_files import Asked, result, rewritten, write

Call = Callable[..., Result]


@pytest.fixture
def memeval(tmp_path: Path) -> Call:
    for name, right in (("good", 30), ("bad", 20), ("same", 29)):
        write(tmp_path, result(name, [Asked(f"q{n}", {"f1": float(n < right)}) for n in range(40)], provider={"name": name}))
    root = build()
    return lambda *words: CliRunner().invoke(root, ["--results-dir", str(tmp_path), *words])


@pytest.mark.parametrize(("run", "code"), [("bad", 1), ("same", 0), ("good", 0)])
def test_regress_ends_with_1_on_a_significant_drop_against_a_named_baseline(memeval: Call, run: str, code: int) -> None:
    assert memeval("regress", "good", "--set", "main").exit_code == 0
    done = memeval("regress", run, "--baseline", "main")
    assert done.exit_code == code, done.output
    assert ("Significantly worse: f1" in done.output) is bool(code)


def test_regress_ends_with_2_when_it_cannot_tell(memeval: Call) -> None:
    for words in (
        "good --baseline none",
        "none --baseline good",
        "good --baseline bad --metric mrr",
        "good --baseline bad --alpha 2",
        "good",
    ):
        done = memeval("regress", *words.split())
        assert done.exit_code == 2, done.output
        assert "Traceback" not in done.output


def test_compare_shows_wins_losses_ties_and_p(memeval: Call) -> None:
    done = memeval("compare", "good", "bad", "--markdown")
    assert done.exit_code == 0, done.output
    assert "| good | bad | f1 | 40 | 0 | 75.0 | 50.0 | +25.0 |" in done.output
    assert "| 10 | 0 | 30 | 0.002 | 0.002 |" in done.output
    assert "McNemar's exact test" in done.stderr
    assert done.stderr.endswith("Seed 20240229.\n")


@pytest.mark.slow
def test_results_and_comparisons_are_printed_as_latex(memeval: Call) -> None:
    table = memeval("results", "bad", "good", "--latex").stdout
    assert table.startswith("% sample\n\\begin{tabular}") and "good & good & " in table and "bm25" not in table
    assert r"+25.0 & " in memeval("compare", "good", "bad", "--latex").stdout
    assert memeval("export", "good", "--format", "latex").stdout.splitlines()[4].startswith("f1 & 75.0 & ")
    assert memeval("export", "good", "--format", "trec").stdout.splitlines()[0].startswith("c1/q0 Q0 ")


def test_the_latex_of_one_run_can_be_included_in_a_document(memeval: Call) -> None:
    shown = memeval("results", "good", "--latex").stdout
    assert "% # " in shown and r"\begin{tabular}" in shown
    outside = re.sub(r"\\begin\{tabular\}.*?\\end\{tabular\}", "", shown, flags=re.DOTALL)
    assert all(line.startswith("%") or not line.strip() for line in outside.splitlines())


@pytest.mark.parametrize(("arguments", "said"), [
    (("results", "good", "--latex", "--markdown"), "not both"),
    (("results", "good", "--json", "--latex"), "omit --latex"),
    (("results", "good", "--json", "--metric", "f1"), "omit --metric"),
    (("results", "good", "bad", "--questions"), "--questions is only for one run"),
    (("results", "good", "bad", "--metric", "f9"), "has no metric 'f9'"),
    (("compare", "good", "bad", "same", "--questions"), "requires two runs"),
    (("export", "good", "--format", "csv", "--level", "turn"), "--level is only for"),
    (("regress", "good", "--set", "x", "--baseline", "bad"), "omit --baseline"),
])  # fmt: skip
def test_a_flag_that_would_be_ignored_is_refused(memeval: Call, arguments: tuple[str, ...], said: str) -> None:
    done = memeval(*arguments)
    assert done.exit_code != 0
    assert said in " ".join(done.stderr.split())


def test_compare_lists_every_question_wins_first(memeval: Call) -> None:
    lines = memeval("compare", "good", "bad", "--questions", "--markdown").output.splitlines()
    rows = [line for line in lines if " | win | " in line or " | tie | " in line]
    assert len(rows) == 40 and all(" | 1.00 | 0.00 | win | " in row for row in rows[:10]) and " | tie | " in rows[10]


def test_results_of_several_runs_are_a_board_with_the_best_first(memeval: Call) -> None:
    lines = memeval("results", "bad", "good", "same", "--markdown").output.splitlines()
    assert [line.split(" | ")[1] for line in lines if line.startswith("| ")][2:] == ["good", "same", "bad"]


def test_failures_exports_and_the_ledger_read_the_files(memeval: Call, tmp_path: Path) -> None:
    assert "20 wrong" in memeval("failures", "bad").output
    exported = memeval("export", "bad", "--format", "hypotheses").output
    assert json.loads(exported.splitlines()[0]) == {"question_id": "q0", "hypothesis": "under the pot"}
    assert memeval("export", "bad", "-o", str(tmp_path / "x.csv")).exit_code == 0
    assert len((tmp_path / "x.csv").read_text().splitlines()) == 41
    assert memeval("ledger", "--last", "1", "--markdown").output.strip().endswith("| 0123456789ab | same |")


def test_html_writes_pages_that_can_be_opened(memeval: Call, tmp_path: Path) -> None:
    assert memeval("html").output.strip() == str(tmp_path / "html" / "index.html")
    assert memeval("html", "bad", "-o", str(tmp_path / "one")).output.strip() == str(tmp_path / "one" / "bad.html")


def test_a_file_of_a_newer_schema_is_refused_by_all(memeval: Call, tmp_path: Path) -> None:
    path = str(rewritten(tmp_path / "v0.1" / "bad.json", schema_version=2))
    for words in (
        ("results", path),
        ("compare", path, "good"),
        ("failures", path),
        ("export", path),
        ("regress", path, "--baseline", "good"),
    ):
        done = memeval(*words)
        assert done.exit_code != 0 and "schema version 2, but only 1 is supported" in done.output, words
