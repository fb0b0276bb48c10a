"""Tests of the context of a run's numbers: gain over no memory, targets, published figures, earlier versions."""

from __future__ import annotations

from pathlib import Path

import pytest

import memeval
from memeval.registry import Catalog
from memeval.report.beside import gain_of, runs_without_memory, targets_table, trends
from tests.memeval.current_folder import run

pytestmark = pytest.mark.usefixtures("own_folder")


def evaluated(name: str, provider: str, *more: str) -> memeval.RunResult:
    done = run("eval", "-b", "team", "-p", provider, "-m", "extractive", "--run-id", name, *more)
    assert done.exit_code == 0, done.output
    return memeval.load_run(memeval.ResultsDir(Path("results")), name)


def benchmark(more: str = "") -> None:
    assert run("init", "benchmark", "team").exit_code == 0
    place = Path("memeval.d/benchmarks/team.yaml")
    place.write_text(place.read_text() + more)


def test_the_gain_over_no_memory_is_of_the_same_questions_model_and_judge() -> None:
    benchmark()
    results = memeval.ResultsDir(Path("results"))
    bare, memory = evaluated("bare", "none"), evaluated("memory", "oracle")
    gain = gain_of(memory, runs_without_memory(results, "team"))
    assert gain is not None
    assert gain.gain == pytest.approx((memory["accuracy"] or 0) - (bare["accuracy"] or 0))
    assert gain.questions == 3
    assert gain_of(bare, [bare]) is None
    assert "accuracy gain" in run("results", "memory").output
    assert "gain" in run("results", "memory", "bare").output
    other = evaluated("other", "oracle", "--judge", "f1")
    assert gain_of(other, [bare]) is None
    assert "accuracy gain" not in run("results", "other").output
    part = evaluated("part", "oracle", "--limit", "2")
    assert gain_of(part, [bare]) is None


def test_targets_say_what_is_reached_and_end_a_check() -> None:
    benchmark("targets: {turn.recall_any@5: 0.9, accuracy: 1.0, session.recall_any@50: 0.5}\n")
    result = evaluated("r", "oracle", "--judge", "f1,custom")
    verdicts = {row[0]: row[-1] for row in targets_table(result).rows}
    assert verdicts["turn.recall_any@5"].startswith("reached")
    assert verdicts["session.recall_any@50"] == "not measured"
    assert run("results", "r").exit_code == 0
    checked = run("results", "r", "--check-targets")
    assert checked.exit_code == 1
    assert "session.recall_any@50 of r" in " ".join(checked.output.split())
    assert "verdict" in Path(run("html", "r").output.strip()).read_text()


def test_a_target_must_be_a_share_and_published_figures_have_a_source() -> None:
    benchmark("targets: {accuracy: 85}\n")
    assert "must be from 0 to 1" in run("describe", "team").output
    benchmark_file = Path("memeval.d/benchmarks/team.yaml")
    text = benchmark_file.read_text().replace("targets: {accuracy: 85}", "published: [{system: X, metric: accuracy, value: 3}]")
    benchmark_file.write_text(text)
    assert "source is missing" in " ".join(run("describe", "team").output.split())


def test_published_figures_stand_beside_ours_with_their_source() -> None:
    benchmark("published:\n  - {system: Elephant, metric: accuracy, value: 99.5, source: 'https://example.org/paper'}\n")
    evaluated("a", "bm25")
    evaluated("b", "none")
    shown = run("results", "a", "b").output
    assert "Elephant" in shown
    assert "99.5" in shown
    page = Path(run("html").output.strip()).read_text()
    assert "Elephant" in page
    assert "https://example.org/paper" in page


def test_every_published_figure_of_a_benchmark_here_has_an_address() -> None:
    catalog = Catalog.default(environ={})
    figures = [one for name in catalog.benchmarks() for one in catalog.benchmark(name).published]
    assert len(figures) >= 15
    assert all(one.source.startswith("https://") and 0 <= one.value <= 100 for one in figures)


def test_a_provider_over_versions_is_compared_with_its_run_before() -> None:
    benchmark()
    runs = [evaluated("first", "none"), evaluated("second", "none"), evaluated("part", "none", "--limit", "2")]
    (series,) = trends(runs)
    assert {one.run_id for one in series} == {"first", "second"}
    shown = run("trend", "--benchmark", "team", "--provider", "none")
    assert shown.exit_code == 0, shown.output
    assert "team × none" in shown.output
    assert "+0.0" in shown.output
    assert run("trend", "--provider", "bm25").exit_code == 1
    assert "none over versions" in Path(run("html").output.strip()).read_text()
