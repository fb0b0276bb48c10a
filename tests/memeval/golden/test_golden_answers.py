"""Scores of answers equal those of the official scripts, on stored inputs."""

from __future__ import annotations

from typing import Any

import pytest

from memeval.core import overlap
from memeval.core.overlap import event_order, locomo_f1, substring
from memeval.judges.base import labelled, right_or_wrong
from memeval.judges.llm import means
from memeval.judges.memoryagentbench import summary_f1
from memeval.metrics.context import context_values, line_sets
from tests.memeval.golden.conftest import table

LOCOMO = table("locomo")


@pytest.mark.parametrize("row", LOCOMO["answers"], ids=lambda row: f"{row['category']}-{row['prediction'][:20]}")
def test_locomo_f1_equals_the_script(row: Any) -> None:
    gold = "" if row["answer"] is None else str(row["answer"])
    assert locomo_f1(row["prediction"], gold, row["category"]) == pytest.approx(row["score"], abs=1e-12)


NOLIMA = table("nolima")


@pytest.mark.parametrize("row", NOLIMA["rows"], ids=lambda row: row["response"][:20] or "empty")
def test_nolima_contains_equals_the_script(row: Any) -> None:
    """The official configurations choose the metric `contains`."""
    assert substring(row["response"], [row["gold"]]) == row["scores"]["contains"]


AGENT = table("memoryagentbench")


@pytest.mark.parametrize("row", AGENT["rows"], ids=lambda row: f"{row['sub_dataset']}-{row['output'][:15]}")
def test_memoryagentbench_equals_the_script_by_sub_dataset(row: Any) -> None:
    titles = {str(number): overlap.title_of(name) for name, number in AGENT["entities"].items()}
    found = overlap.scores(row["sub_dataset"], row["output"], row["answers"], titles)
    assert found == pytest.approx(row["scores"])


BEAM = table("beam")


@pytest.mark.parametrize("row", BEAM["orders"], ids=lambda row: row["answer"][:20])
def test_beam_event_order_equals_the_script(row: Any) -> None:
    matched = matched_lines(row["rubric"], row["answer"].split("\n"), {tuple(pair) for pair in row["same"]})
    found = event_order(row["rubric"], matched)
    expected = row["scores"]
    assert (found.precision, found.recall, found.f1) == pytest.approx((expected["precision"], expected["recall"], expected["f1"]))
    if expected["tau_norm"] is None:  # The script has NaN there.
        assert found.tau_norm is found.score is None
    else:
        assert (found.tau_norm, found.score) == pytest.approx((expected["tau_norm"], expected["final_score"]))


def matched_lines(rubric: list[str], lines: list[str], same: set[tuple[str, str]]) -> list[str]:
    """Return each line as the first free point that it is equal to. The judge asks a model for that."""
    used: set[int] = set()
    out = []
    for line in lines:
        place = next((n for n, point in enumerate(rubric) if n not in used and (point, line.strip()) in same), None)
        out.append(line if place is None else rubric[place])
        used |= set() if place is None else {place}
    return out


@pytest.mark.parametrize("row", BEAM["nuggets"], ids=lambda row: str(len(row["replies"])))
def test_beam_grades_equal_the_script_with_halves_cut_and_kept(row: Any) -> None:
    """The script rounds the grades down to integers, so that a half is 0, in all categories except event ordering."""
    assert means(row["replies"]) == pytest.approx((row["kept"], row["cut"]))


@pytest.mark.parametrize(
    ("reply", "label"),
    [("RIGHT", True), ("Wrong.", False), ("right, not wrong", False), ("It is alright", True), ("yes", None), ("", None)],
)
def test_convomem_reads_a_verdict_as_its_code_does(reply: str, label: bool | None) -> None:
    """By hand from the rule of evaluation/EvaluationUtils.scala, because that code is Scala and was not run."""
    assert right_or_wrong(reply) is label


CONTEXT = table("contextbench")


@pytest.mark.parametrize("row", CONTEXT["rows"], ids=lambda row: ",".join(row["seen"]) or "nothing")
def test_contextbench_files_and_lines_equal_the_script(row: Any) -> None:
    """The script calls recall coverage. Its definitions of a syntax tree (`symbol`) are not measured here."""
    seen = {file: set() for file in row["seen"]} | line_sets(  # type: ignore[var-annotated]
        (file, *span) for file, spans in row["seen"].items() for span in spans
    )
    found = context_values(seen, [(file, *span) for file, spans in row["gold"].items() for span in spans])
    for level in ("file", "line"):
        expected = row["scores"][level]
        assert found[f"context_{level}_recall"] == pytest.approx(expected["coverage"])
        assert found[f"context_{level}_precision"] == pytest.approx(expected["precision"])


JUDGES = table("judges")


@pytest.mark.parametrize("row", JUDGES["locomo_plus"], ids=lambda row: row["reply"][:20] or "empty")
def test_locomo_plus_reads_a_label_as_the_script_does(row: Any) -> None:
    """An empty reply is no verdict here, but 0 there."""
    assert (labelled(row["reply"]) or 0.0) == row["score"]


@pytest.mark.parametrize("row", JUDGES["memoryagentbench"], ids=lambda row: str(row["score"]))
def test_memoryagentbench_scores_a_summary_as_the_script_does(row: Any) -> None:
    assert summary_f1(row["replies"], row["points"]) == pytest.approx(row["score"])
