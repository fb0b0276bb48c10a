from __future__ import annotations

import pytest

from memeval.core.errors import RunError
from memeval.core.types import Phase
from memeval.report import failures, failures_table, parse_run
from tests.memeval.result_files import Asked, result

ASKED = [
    Asked("right", {"f1": 1.0}),
    Asked("half", {"f1": 0.5}),
    Asked("bad", {"f1": 0.3}, pieces=()),
    Asked("worse", {"f1": 0.0}, answer="in | the\nhall", pieces=("other", "the key is under the pot")),
    Asked("unsure", {"f1": None}, reason="the judge said maybe"),
    Asked("broken", error=(Phase.SEARCH, "ProviderError: 500")),
]


def test_failed_questions_come_first_then_unscored_then_the_worst() -> None:
    found = failures(parse_run(result("r", ASKED)))
    assert [(one.question.id, one.kind, one.value) for one in found] == [
        ("broken", "failed", 0.0),
        ("unsure", "unscored", None),
        ("worse", "wrong", 0.0),
        ("bad", "wrong", 0.3),
    ]
    assert found[0].reason == "ProviderError: 500"


def test_it_says_whether_the_evidence_was_found() -> None:
    retrieval = {one.question.id: one.retrieval for one in failures(parse_run(result("r", ASKED)))}
    assert retrieval == {"broken": "none", "unsure": "all", "worse": "all", "bad": "none"}


def test_the_threshold_can_be_raised() -> None:
    found = failures(parse_run(result("r", ASKED)), "f1", threshold=1.0)
    assert "half" in [one.question.id for one in found]


def test_skipped_questions_are_no_failures() -> None:
    run = parse_run(result("r", [Asked("a", {"f1": 0.0}), Asked("b", {"exact": 1.0})]))
    assert [one.question.id for one in failures(run, "f1")] == ["a"]


def test_the_table_stays_a_table_whatever_is_in_it() -> None:
    text = failures_table(failures(parse_run(result("r", ASKED)))).markdown()
    assert len(text.splitlines()) == 2 + 4
    assert r"in \| the hall" in text and "the judge said maybe" in text


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(RunError, match="no metric 'mrr'"):
        failures(parse_run(result("r", ASKED)), "mrr")
