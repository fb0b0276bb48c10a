from __future__ import annotations

import json
from pathlib import Path

import pytest

from memeval.core.errors import RunError
from memeval.core.types import Phase
from memeval.report import load_run, load_runs, parse_run, read_run
from memeval.results.files import ResultsDir
from tests.memeval.result_files import Asked, result, rewritten, write

GOLDEN = Path(__file__).parents[2] / "golden" / "results_v1.json"
ASKED = [Asked("a", {"f1": 1.0}), Asked("b", {"f1": None}), Asked("c", error=(Phase.ANSWER, "timeout"))]


def test_a_result_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = read_run(write(tmp_path, result("r1", ASKED)))
    assert (run.run_id, run.benchmark, run.provider, run.data_hash) == ("r1", "sample", "bm25", "d" * 64)
    assert (run.answering_model, run.judge_model, run.setting("variant")) == ("scripted/one", "", "evidence")
    cell = run.metrics["f1"]
    assert (cell.total, cell.scored, cell.failed, cell.unscored) == (3, 1, 1, 1)
    assert cell.value == pytest.approx(1 / 3) and cell.value_scored == 1.0
    first, last = run.questions[0], run.questions[-1]
    assert first.key == "c1/a" and first.hypothesis == "under the pot" and first.retrieved[0].turns == ("s1:2",)
    assert (last.status, last.error_phase, last.error, last.hypothesis) == ("failed", "answer", "timeout", None)


def test_a_failed_question_counts_as_zero_and_an_unscored_one_not_at_all(tmp_path: Path) -> None:
    run = read_run(write(tmp_path, result("r1", ASKED)))
    assert run.values("f1") == {"c1/a": 1.0, "c1/b": None, "c1/c": 0.0}


def test_a_failed_answer_takes_nothing_from_the_ranking(tmp_path: Path) -> None:
    name = "session.recall_all@5"
    asked = [Asked("a", {name: 1.0}), Asked("b", error=(Phase.SEARCH, "x")), Asked("c", error=(Phase.ANSWER, "x"))]
    run = parse_run(result("r1", asked))
    assert run.values(name) == {"c1/a": 1.0, "c1/b": 0.0, "c1/c": None}
    assert run.metrics[name].failed == 1


def test_a_ratio_of_tokens_is_not_zero_where_a_question_failed() -> None:
    asked = [Asked("a", {"efficiency": 0.2}), Asked("b", error=(Phase.SEARCH, "x"))]
    assert parse_run(result("r1", asked)).values("efficiency") == {"c1/a": 0.2, "c1/b": None}


def test_the_values_of_questions_add_up_to_those_of_the_report() -> None:
    """The report that writes cells and the reader of its questions agree on how a failed question counts."""
    run = read_run(GOLDEN)
    for name, cell in run.metrics.items():
        entries = [question.entry(name) for question in run.questions]
        statuses = [entry.status for entry in entries]
        assert [statuses.count(word) for word in ("scored", "failed", "unscored", "skipped")] == [
            cell.scored, cell.failed, cell.unscored, cell.skipped,
        ], name  # fmt: skip
        counted = [entry.value or 0.0 for entry in entries if entry.status != "skipped"]
        assert cell.value == (pytest.approx(sum(counted) / len(counted)) if counted else None), name


def test_metrics_are_in_a_natural_order() -> None:
    scores = dict.fromkeys(["turn.ndcg@10", "turn.ndcg@5", "session.recency", "f1", "turn.ndcg@1"], 1.0)
    assert parse_run(result("r", [Asked("a", scores)])).metric_names == (
        "f1", "session.recency", "turn.ndcg@1", "turn.ndcg@5", "turn.ndcg@10",
    )  # fmt: skip


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = rewritten(write(tmp_path, result("r1", ASKED)), schema_version=2)
    with pytest.raises(RunError, match=r"schema version 2, but only 1 is supported.*Update memeval"):
        read_run(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema_version": "1"}', '{"schema_version": 1'])
def test_what_is_not_a_result_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(RunError, match=r"x\.json"):
        read_run(path)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d.pop("metrics"), "metrics is missing"),
        (lambda d: d.pop("run_id"), "run_id is missing"),
        (lambda d: d["benchmark"].pop("name"), "benchmark.name is missing"),
        (lambda d: d["questions"][1].pop("type"), r"questions\[1\].type is missing"),
        (lambda d: d["questions"][1].update(text=5, question=5), r"questions\[1\].question is not of type text"),
        (lambda d: d["questions"][0].update(scores={}), r"questions\[0\].scores is not of type list"),
        (lambda d: d["questions"][0]["scores"].append("f1"), r"questions\[0\].scores\[1\] is not of type object"),
        (lambda d: d["metrics"]["f1"].update(total="many"), "metrics.f1.total is not of type number"),
    ],
)
def test_a_broken_result_is_reported_by_its_key(change: object, place: str) -> None:
    data = json.loads(json.dumps(result("r1", ASKED)))
    change(data)  # type: ignore[operator]
    with pytest.raises(RunError, match=f"the result is broken: {place}"):
        parse_run(data)


def test_what_is_not_a_finite_number_is_unscored(tmp_path: Path) -> None:
    path = write(tmp_path, result("r1", [Asked("a", {"f1": 1.0})]))
    path.write_text(path.read_text().replace('"value": 1.0', '"value": NaN'))
    run = read_run(path)
    assert run.metrics["f1"].value is None
    assert (run.questions[0].scores["f1"].value, run.questions[0].scores["f1"].status) == (None, "unscored")
    assert run.values("f1") == {"c1/a": None}


def test_a_run_is_found_by_the_ledger_when_its_store_is_gone(tmp_path: Path) -> None:
    write(tmp_path, result("r1", ASKED))
    assert load_run(ResultsDir(tmp_path), "r1").run_id == "r1"
    with pytest.raises(RunError, match="no run 'r2'"):
        load_run(ResultsDir(tmp_path), "r2")


def test_a_command_means_all_its_runs_and_a_file_only_itself(tmp_path: Path) -> None:
    for name in ("g.sample.bm25", "g.sample.dense", "gg.sample.none"):
        path = write(tmp_path, result(name, ASKED))
    found = load_runs(ResultsDir(tmp_path), ["g", str(path), "g.sample.dense"])
    assert [run.run_id for run in found] == ["g.sample.bm25", "g.sample.dense", "gg.sample.none", "g.sample.dense"]
    with pytest.raises(RunError, match="no run 'h'"):
        load_runs(ResultsDir(tmp_path), ["h"])


def test_of_a_run_that_was_judged_again_the_newer_result_is_taken(tmp_path: Path) -> None:
    write(tmp_path, result("r1", ASKED))
    write(tmp_path, result("r1", [Asked("a", {"exact": 1.0})], times={"finished_at": "2024-07-01T00:00:00Z"}), name="again")
    assert load_run(ResultsDir(tmp_path), "r1").metric_names == ("exact",)
