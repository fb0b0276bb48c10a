"""Compares cells of the report with counts made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from memeval.core.types import Phase
from memeval.results.files import result_text
from memeval.results.store import Key, QuestionRow, Record, Status
from memeval.run.result import RunFacts, build_result

USAGE = {"calls": 1, "cached_calls": 0, "input_tokens": 10, "output_tokens": 2, "cost_usd": 0.5}


def row(number: int, kind: str = "temporal", category: str = "a") -> QuestionRow:
    question = {"id": f"q{number}", "text": "When?", "type": kind, "answers": ["May"], "at": None, "category": category}
    ids = [] if kind == "abstention" else ["s1"]
    return QuestionRow(number, "c", f"q{number}", {"question": question, "targets": [{"level": "session", "ids": ids}]})


def score(metric: str, value: float | None, status: str = "scored") -> dict[str, Any]:
    return {"metric": metric, "value": value, "status": status, "reason": "", "judge": "j"}


class Records:
    """Records of a run that is created by hand."""

    def __init__(self) -> None:
        self.rows: list[QuestionRow] = []
        self.records: dict[tuple[Phase, str], Record] = {}

    def add(self, scores: list[dict[str, Any]] | None = None, failed: Phase | None = None, **about: Any) -> None:
        one = row(len(self.rows), **about)
        self.rows.append(one)
        for phase in (Phase.SEARCH, Phase.ANSWER, Phase.EVALUATE):
            key = Key(phase, "c", one.question_id)
            if failed is not None and list(Phase).index(phase) >= list(Phase).index(failed):
                text = "ModelError: away" if phase is failed else f"[{failed}] ModelError: away"
                if phase is Phase.EVALUATE and failed is not Phase.EVALUATE:
                    self.records[phase, one.question_id] = Record(key, Status.DONE, {"scores": scores or []})
                    continue
                self.records[phase, one.question_id] = Record(key, Status.FAILED, {}, text)
            else:
                self.records[phase, one.question_id] = Record(key, Status.DONE, self.payload(phase, scores or []), "", 2.0)

    @staticmethod
    def payload(phase: Phase, scores: list[dict[str, Any]]) -> dict[str, Any]:
        if phase is Phase.SEARCH:
            return {"kept": 1, "retrieved": []}
        if phase is Phase.ANSWER:
            return {"text": "May", "model": "m", "prompt_hash": "h", "usage": USAGE}
        return {"scores": scores}

    def result(self) -> dict[str, Any]:
        facts = RunFacts("r", 0, answered=True, ranked=["session.recall_any@1"])
        return build_result(facts, self.rows, lambda phase, one: self.records.get((phase, one.question_id)))


def test_each_kind_of_outcome_has_its_place_in_the_denominators() -> None:
    made = Records()
    made.add([score("acc", 1.0)])
    made.add([score("acc", 0.0)], kind="multi_hop", category="b")
    made.add([score("acc", None, "unscored")])
    made.add([score("acc", None, "skipped")])
    made.add(failed=Phase.ANSWER)
    cell = made.result()["metrics"]["acc"]
    counts = {name: cell[name] for name in ("total", "scored", "failed", "unscored", "skipped")}
    assert counts == {"total": 5, "scored": 2, "failed": 1, "unscored": 1, "skipped": 1}
    assert cell["value"] == pytest.approx(1 / 4)
    assert cell["value_scored"] == pytest.approx(1 / 2)
    assert cell["task_averaged"] == pytest.approx((1 / 3 + 0) / 2)
    assert cell["by_type"]["temporal"]["total"] == 4
    assert cell["interval"]["method"] == "wilson"
    assert cell["interval"]["low"] < 1 / 4 < cell["interval"]["high"]


def test_task_averaged_is_over_the_benchmarks_own_types_with_abstention_questions_in_theirs() -> None:
    made = Records()
    made.add([score("acc", 1.0)], kind="fact_recall", category="single-session-user")
    made.add([score("acc", 0.0)], kind="abstention", category="single-session-user")
    made.add([score("acc", 1.0)], kind="fact_recall", category="single-session-assistant")
    made.add([score("acc", 0.0)], kind="multi_hop", category="multi-session")
    cell = made.result()["metrics"]["acc"]
    assert cell["task_averaged"] == pytest.approx((0.5 + 1.0 + 0.0) / 3)
    assert cell["by_type"]["abstention"]["value"] == 0.0


def test_a_failed_answer_does_not_touch_the_ranking_but_a_failed_search_does() -> None:
    made = Records()
    made.add([score("session.recall_any@1", 1.0), score("acc", 1.0)])
    made.add([score("session.recall_any@1", 1.0)], failed=Phase.ANSWER)
    made.add(failed=Phase.SEARCH)
    metrics = made.result()["metrics"]
    assert (metrics["session.recall_any@1"]["scored"], metrics["session.recall_any@1"]["failed"]) == (2, 1)
    assert (metrics["acc"]["scored"], metrics["acc"]["failed"]) == (1, 2)
    assert [q["error"] and q["error"]["phase"] for q in made.result()["questions"]] == [None, "answer", "search"]


def test_when_every_answer_failed_accuracy_is_0_and_not_absent() -> None:
    made = Records()
    for _ in range(3):
        made.add(failed=Phase.ANSWER)
    cell = made.result()["metrics"]["accuracy"]
    assert (cell["value"], cell["value_scored"], cell["failed"]) == (0.0, None, 3)


def test_when_every_search_failed_the_rankings_are_0_and_not_absent_but_for_questions_without_evidence() -> None:
    made = Records()
    made.add(failed=Phase.SEARCH)
    made.add(failed=Phase.SEARCH, kind="abstention")
    result = made.result()
    cell = result["metrics"]["session.recall_any@1"]
    assert (cell["value"], cell["total"], cell["failed"], cell["skipped"]) == (0.0, 2, 1, 1)
    assert (result["metrics"]["accuracy"]["failed"], result["metrics"]["accuracy"]["skipped"]) == (2, 0)


def test_a_failed_question_of_a_type_that_the_protocol_leaves_out_is_left_out() -> None:
    made = Records()
    made.add([score("acc", 1.0)])
    made.add([score("acc", None, "skipped")], kind="abstention")
    made.add(failed=Phase.ANSWER, kind="abstention")
    cell = made.result()["metrics"]["acc"]
    assert (cell["value"], cell["failed"], cell["skipped"]) == (1.0, 0, 2)


def test_efficiency_is_not_a_success_that_a_failure_could_lower() -> None:
    made = Records()
    made.add([score("efficiency", 0.5)])
    made.add(failed=Phase.ANSWER)
    cell = made.result()["metrics"]["efficiency"]
    assert (cell["value"], cell["skipped"]) == (0.5, 1)


def test_usage_and_latency_are_summed_by_phase_and_an_unknown_cost_stays_unknown() -> None:
    made = Records()
    made.add([score("acc", 1.0)])
    made.add([score("acc", 1.0)])
    result = made.result()
    assert result["usage"]["total"] == {**USAGE, "calls": 2, "input_tokens": 20, "output_tokens": 4, "cost_usd": 1.0}
    assert result["times"]["latency"]["answer"]["p50"] == 2.0
    record = made.records[Phase.ANSWER, "q0"]
    made.records[Phase.ANSWER, "q0"] = Record(
        record.key, record.status, {**record.payload, "usage": {**USAGE, "cost_usd": None, "cached_calls": 1}}, "", 9.0
    )
    result = made.result()
    assert result["usage"]["total"]["cost_usd"] is None
    assert result["times"]["latency"]["answer"]["count"] == 1  # Cached answers were not measured.


def test_a_result_without_questions_is_written_all_the_same() -> None:
    import json

    result = Records().result()
    assert json.loads(result_text(result)) == result


def test_abstention_comes_from_the_judges_label_where_a_model_judged() -> None:
    made = Records()
    made.add([{**score("llm_accuracy", 1.0), "judge": "llm(m) m-1 hash"}], kind="abstention")
    made.add([{**score("llm_accuracy", 0.0), "judge": "llm(m) m-1 hash"}], kind="abstention")
    made.add([{**score("llm_accuracy", 1.0), "judge": "llm(m) m-1 hash"}])
    found = made.result()["abstention"]
    assert found["judged"] == {"metric": "llm_accuracy", "questions": 2, "accuracy": 0.5}
    assert found["abstained"] == 0, "by the pattern no answer abstains"
    plain = Records()
    plain.add([{**score("f1", 1.0), "judge": "f1"}], kind="abstention")
    assert plain.result()["abstention"]["judged"] is None
