from __future__ import annotations

from pathlib import Path

import pytest

from memeval.core.errors import ConfigError, RunError
from memeval.report import baselines, load_baseline, parse_run, regress, set_baseline
from memeval.results.files import ResultsDir
from tests.memeval.result_files import Asked, many, result, write


def graded(name: str, right: int, total: int = 40) -> object:
    return parse_run(result(name, [Asked(f"q{n}", {"f1": float(n < right)}) for n in range(total)]))


@pytest.mark.parametrize(
    ("now", "before", "code"),
    [(20, 30, 1), (30, 30, 0), (30, 20, 0), (29, 30, 0), (25, 30, 0), (24, 30, 1)],  # 5 of 5 lost: p = 0.0625; 6 of 6: 0.031
)
def test_only_a_significant_drop_gives_exit_code_1(now: int, before: int, code: int) -> None:
    assert regress(graded("now", now), graded("main", before)).exit_code == code  # type: ignore[arg-type]


def test_a_tolerated_drop_passes() -> None:
    assert regress(graded("now", 20), graded("main", 30), tolerance=0.3).exit_code == 0  # type: ignore[arg-type]
    assert regress(graded("now", 20), graded("main", 30), tolerance=0.2).exit_code == 1  # type: ignore[arg-type]


def test_several_metrics_are_corrected_together() -> None:
    now = parse_run(result("now", [Asked(f"q{n}", {"f1": float(n < 24), "exact": 1.0}) for n in range(40)]))
    before = parse_run(result("main", [Asked(f"q{n}", {"f1": float(n < 30), "exact": 1.0}) for n in range(40)]))
    assert regress(now, before, ["f1"]).exit_code == 1
    assert regress(now, before, ["f1", "exact"]).exit_code == 0


def test_a_check_that_sees_nothing_does_not_pass() -> None:
    unscored = parse_run(result("now", [Asked("q0", {"f1": None}), Asked("x", {"f1": 1.0})]))
    with pytest.raises(RunError, match="No question has a value of f1 in both now and main"):
        regress(unscored, parse_run(result("main", [Asked("q0", {"f1": 1.0})])))


@pytest.mark.parametrize(("alpha", "tolerance"), [(0.0, 0.0), (1.0, 0.0), (0.05, -0.1), (0.05, 1.0)])
def test_invalid_limits_are_refused(alpha: float, tolerance: float) -> None:
    with pytest.raises(ConfigError, match="--alpha"):
        regress(graded("a", 1), graded("b", 1), alpha=alpha, tolerance=tolerance)  # type: ignore[arg-type]


def test_a_baseline_is_named_and_found_again(tmp_path: Path) -> None:
    results = ResultsDir(tmp_path)
    write(tmp_path, result("r1", many(5, 3)))
    path = write(tmp_path, result("r2", many(5, 4)))
    assert set_baseline(results, "main", "r1") == "v0.1/r1.json"
    assert load_baseline(results, "main").run_id == "r1"
    set_baseline(results, "main", str(path))
    assert load_baseline(results, "main").run_id == "r2"
    assert load_baseline(results, "r1").run_id == "r1"
    assert baselines(results) == {"main": "v0.1/r2.json"}


def test_an_unknown_baseline_names_the_known_ones(tmp_path: Path) -> None:
    results = ResultsDir(tmp_path)
    write(tmp_path, result("r1", many(5, 3)))
    set_baseline(results, "main", "r1")
    with pytest.raises(RunError, match=r"no baseline 'mian'.*Named baselines: main"):
        load_baseline(results, "mian")
    with pytest.raises(RunError, match="no run 'r9'"):
        set_baseline(results, "main", "r9")
    with pytest.raises(RunError, match="not a valid baseline name"):
        set_baseline(results, " ", "r1")


@pytest.mark.parametrize("text", ["{", "[]", '{"main": 1}'])
def test_a_broken_file_of_baselines_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "baselines.json").write_text(text)
    with pytest.raises(RunError, match=r"baselines\.json"):
        load_baseline(ResultsDir(tmp_path), "main")


def test_the_check_never_changes_to_a_metric_that_the_baseline_is_not_judged_by() -> None:
    before = parse_run(result("before", [Asked("a", {"llm_accuracy": 1.0, "session.recall_all@5": 1.0})]))
    here = parse_run(result("here", [Asked("a", {"session.recall_all@5": 1.0}, answer=None)]))
    with pytest.raises(RunError, match="llm_accuracy"):
        regress(here, before)
