"""PrecisionMemBench's rows and heads equal those of its harness, which ran on this project's own beliefs and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import precisionmembench as published
from memeval.benchmarks.opening import open_benchmark
from memeval.core.precisionmembench import demands_from_json, precision_scores, recomputed, summary
from memeval.core.types import Case, Question, Retrieved
from memeval.registry import BUILT_IN
from memeval.specs import load_benchmark_spec
from tests.memeval.golden.conftest import table

TABLE = table("precisionmembench")
NAMES = {"single": "precisionmembench", "session": "precisionmembench-session"}


def cases(part: str, folder: Path) -> list[Case]:
    path = folder / "all.json"
    path.write_text(json.dumps({key: TABLE[key] for key in ("beliefs", "cases", "session_cases")}), "utf-8")
    return list(open_benchmark(load_benchmark_spec(BUILT_IN / "benchmarks" / f"{NAMES[part]}.yaml", {}), path).cases())


def pieces(question: Question) -> list[Retrieved]:
    """Return what the fake system found, under the ids that a system under test sees."""
    names = question.metadata["precisionmembench"]["frame"].get("names", {})
    turns = {belief: turn for turn, belief in names.items()}
    return [Retrieved("", turns=(turns.get(belief, "s999:1"),)) for belief in TABLE["found"].get(question.text, ())]


@pytest.mark.parametrize("part", NAMES)
def test_every_row_equals_the_harness(part: str, tmp_path: Path) -> None:
    rows = {f"{r['caseId']}:{r['turnIndex']}" if part == "session" else r["caseId"]: r for r in TABLE[part]["cases"]}
    questions = [question for case in cases(part, tmp_path) for question in case.questions]
    assert {question.id for question in questions} == set(rows)
    for question in questions:
        row = rows[question.id]
        found = {
            score["metric"].removeprefix("precisionmembench_"): score for score in precision_scores(question, pieces(question))
        }
        assert found["pass"]["value"] == row["passed"], question.id
        assert found["precision"]["value"] == row["retrievalPrecision"], question.id
        assert found["recall"]["value"] == row["retrievalRecall"], question.id
        assert len([part for part in found["pass"]["reason"].split("; ") if part]) == row["failures"], question.id
        if part == "session":
            assert found["drift"]["value"] == row["driftScore"], question.id


@pytest.mark.parametrize("part", NAMES)
def test_the_head_of_a_report_equals_the_harness(part: str, tmp_path: Path) -> None:
    demands = {
        question.id: demands_from_json(question.metadata["precisionmembench"]["demands"])
        for case in cases(part, tmp_path)
        for question in case.questions
    }
    session = part == "session"
    rows = TABLE[part]["cases"]
    found = summary([recomputed(row, demands[published.name_of(row, session)], session=session) for row in rows])
    assert found == {key: TABLE[part]["retrieval"][key] for key in found}


def clone(folder: Path, **changed: Any) -> Path:
    """Create a folder in the form of the repository, with the reports of the fake system."""
    for key, name in published.FILES.items():  # type: ignore[attr-defined]
        path = folder / "fixtures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(TABLE[key]), "utf-8")
    reports = folder / "test-results" / "baseline"
    reports.mkdir(parents=True)
    for part, name in (("single", "retrieval-report-fake"), ("session", "session-retrieval-report-fake")):
        report = json.loads(json.dumps(TABLE[part]))
        for row in report["cases"]:
            row["failures"] = ["x"] * row["failures"]
        report["retrieval"].update(changed)
        (reports / f"{name}.json").write_text(json.dumps(report), "utf-8")
    return folder


def test_published_reports_are_recomputed_to_equality(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert published.main([str(clone(tmp_path))]) == 0
    assert capsys.readouterr().out.count("equal") == 2


def test_a_published_number_that_its_rows_do_not_give_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert published.main([str(clone(tmp_path, meanPrecision=0.9))]) == 1
    assert "meanPrecision: 0.9 published" in capsys.readouterr().out


def test_a_scope_of_a_session_turn_holds_what_earlier_turns_added(tmp_path: Path) -> None:
    by_id = {case.id: [session.source_id for session in case.sessions] for case in cases("session", tmp_path)}
    assert "g-mulch" not in by_id["drift:0"]
    assert by_id["drift:1"].count("g-mulch") == 1
    assert by_id["drift:2"].count("g-pump") == 2  # The update is a second text of the same belief.
    assert by_id["later:0"] == by_id["drift:3"]


def test_each_user_has_a_scope_of_their_own(tmp_path: Path) -> None:
    by_user = {case.id: case for case in cases("single", tmp_path)}
    assert [*by_user] == ["test-user", "nobody"]
    assert by_user["nobody"].sessions == ()
    assert all(session.source_id != "x-secret" for session in by_user["test-user"].sessions)
    first = by_user["test-user"].sessions[1].turns[0]
    assert first.text == "watering irrigation Waters before seven in the morning. It shapes replies."


def test_a_system_without_sources_is_not_scored(tmp_path: Path) -> None:
    question = cases("single", tmp_path)[0].questions[0]
    (only,) = precision_scores(question, [Retrieved("watering")])
    assert (only["value"], only["status"]) == (None, "skipped")
