from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import RunError
from memeval.core.types import Phase
from memeval.report import leaderboard, ledger_table, metrics_table, parse_run, primary_metric, types_table, widest_metric
from memeval.report.boards import boards
from memeval.report.export import export
from memeval.report.runs import RunResult
from memeval.report.table import dollars, interval, p_value, percent, points, seconds
from memeval.report.tables import phases_table, rankings_table, whole_table
from memeval.results.files import ResultsDir
from tests.memeval.result_files import Asked, many, result, write


def test_the_leaderboard_has_the_best_run_first_and_runs_without_the_metric_last() -> None:
    runs = [
        parse_run(result("low", [Asked("a", {"f1": 0.0, "session.recall_all@5": 1.0})])),
        parse_run(result("none", [Asked("a", {"exact": 1.0}, cost=None)])),
        parse_run(result("high", [Asked("a", {"f1": 1.0}), Asked("b", error=(Phase.ANSWER, "x"))])),
    ]
    assert leaderboard(runs, "f1").markdown() == (
        "| run | provider | answering model | questions | failed | f1 % | 95 % interval | all@5 % | "
        "search p50 | tokens | cost |\n"
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| high | bm25 | scripted/one | 2 | 1 | 50.0 | 9.5–90.5 | – | 10 ms | 8 | $0.001 |\n"
        "| low | bm25 | scripted/one | 1 | 0 | 0.0 | 0.0–79.3 | 100.0 | 10 ms | 8 | $0.001 |\n"
        "| none | bm25 | scripted/one | 1 | 0 | – | – | – | 10 ms | 8 | – |\n"
    )


def test_the_main_metric_is_the_protocols_accuracy_before_others() -> None:
    scores = {"turn.ndcg@5": 1.0, "session.recall_all@5": 1.0, "f1": 1.0, "longmemeval_accuracy": 1.0,
              "longmemeval_accuracy_official": 1.0}  # fmt: skip
    found = []
    while scores:
        found.append(primary_metric([parse_run(result("r", [Asked("a", dict(scores))]))]))
        del scores[found[-1]]
    assert found == ["longmemeval_accuracy", "f1", "longmemeval_accuracy_official", "session.recall_all@5", "turn.ndcg@5"]


def test_a_metric_without_a_scored_question_does_not_stand_for_a_run() -> None:
    runs = [parse_run(result("a", [Asked("q", {"f1": None, "exact": 1.0})])), parse_run(result("b", [Asked("q", {"f1": 1.0})]))]
    assert primary_metric(runs[:1]) == "exact"
    assert widest_metric(runs) == "f1"
    with pytest.raises(RunError, match="share no metric"):
        primary_metric(runs)
    assert widest_metric([parse_run(result("c", [Asked("q", {"f1": None})]))]) is None


def test_a_run_in_which_all_failed_has_tables_too() -> None:
    run = parse_run(result("r", [Asked("a", error=(Phase.INGEST, "down"))]))
    assert [row[:2] for row in types_table(run).rows] == [("fact_recall", "0.0"), ("all", "0.0")]
    assert [row[:2] for row in metrics_table(run).rows] == [("accuracy", "0.0")]


def test_what_is_said_of_a_whole_run_has_its_counts() -> None:
    asked = [
        Asked("a", {"f1": 1.0}, category="one"),
        Asked("b", {"f1": 0.0}, category="two", answer="I don't know."),
        Asked("c", {"f1": 0.0}, category="two"),
        Asked("d", {"f1": 1.0}, type="abstention", category="two", answer="No information available"),
    ]
    run = parse_run(result("r", asked))
    assert [row[:2] for row in whole_table(run).rows] == [
        ("f1, task-averaged", "66.7"), ("abstention precision by pattern", "50.0"), ("abstention recall by pattern", "100.0"),
    ]  # fmt: skip
    assert [row[2] for row in whole_table(run).rows][1:] == ["1 of 2 abstentions were right", "1 of 1 without an answer"]
    phases = {row[0]: row[1:] for row in phases_table(run).rows}
    assert phases["answer"] == ("20 ms", "20 ms", "20 ms", "4", "0", "400", "40", "$0.004")
    assert phases["total"][3:] == ("4", "0", "400", "40", "$0.004")
    assert "abstention recall by pattern" in export(run, "md")


def test_rankings_are_a_row_for_each_metric_and_a_column_for_each_cut_off() -> None:
    scores = {"f1": 1.0, "turn.mrr@1": 0.5, "turn.mrr@10": 1.0, "turn.mrr@5": 1.0, "turn.recency": 0.0}
    assert rankings_table(parse_run(result("r", [Asked("a", scores)]))).markdown() == (
        "| retrieval | first | @1 | @5 | @10 |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| turn.mrr |  | 50.0 | 100.0 | 100.0 |\n"
        "| turn.recency | 0.0 |  |  |  |\n"
    )


def test_types_are_listed_with_all_at_the_end() -> None:
    table = types_table(parse_run(result("r", many(14, 7))), "llm_accuracy")
    assert [row[0] for row in table.rows] == [
        "abstention", "fact_recall", "inference", "knowledge_update", "multi_hop", "preference", "temporal", "all",
    ]  # fmt: skip


def test_the_ledger_is_shown_line_by_line(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path, result(f"r{number}", [Asked("a", {"f1": 1.0, "turn.ndcg@5": 0.0})]))
    with ResultsDir(tmp_path).ledger.open("a") as stream:
        stream.write('{"run_id": "odd", "metrics": [], "questions": "x"}\n{"torn')
    table = ledger_table(ResultsDir(tmp_path), last=2)
    assert table.rows == (
        ("2024-06-01T08:10:00Z", "sample", "bm25", "1", "f1", "100.0", "$0.001", "0123456789ab", "r2"),
        ("–", "–", "–", "–", "–", "–", "–", "–", "odd"),
    )


def test_numbers_are_shown_plainly_and_unknown_ones_as_a_dash() -> None:
    assert [percent(0.9661), points(-0.1), interval(0.1, 0.25), p_value(0.0004), p_value(0.05)] == [
        "96.6", "-10.0", "10.0–25.0", "<0.001", "0.050",
    ]  # fmt: skip
    assert [seconds(0.0123), seconds(1.5), seconds(1234.0)] == ["12.3 ms", "1.5 s", "1,234 s"]
    assert [dollars(0.0), dollars(0.0123), dollars(1234.5)] == ["$0", "$0.0123", "$1,234.50"]
    assert {show(None) for show in (percent, points, p_value, seconds, dollars)} == {"–"} and interval(None, 0.1) == "–"


def test_runs_stand_on_one_board_only_if_data_questions_targets_judge_and_cut_offs_are_the_same() -> None:
    def run(name: str, *, settings: dict[str, Any] | None = None, data: str = "d" * 64) -> RunResult:
        shown = {"variant": "evidence", "granularity": "turn", "judge": "f1", "top_k": 10, "search_k": 200, **(settings or {})}
        about = {"benchmark": {"name": "sample", "data_hash": data}, "settings": shown}
        return parse_run(result(name, [Asked("a", {"f1": 1.0})], **about))

    same = [run("a"), run("b")]
    (board,) = boards(same)
    assert (board.title, len(board.runs)) == ("sample", 2)
    for other in (
        run("c", data="e" * 64), run("c", settings={"variant": "official"}), run("c", settings={"granularity": "session"}),
        run("c", settings={"judge": "exact"}), run("c", settings={"top_k": 5}), run("c", settings={"selection": {"limit": 1}}),
    ):  # fmt: skip
        first, second = boards([*same, other])
        assert [len(first.runs), len(second.runs)] == [2, 1]
        assert first.title != second.title and first.title.startswith("sample, ")
