from __future__ import annotations

import pytest

from memeval.core.errors import RunError
from memeval.core.types import Phase
from memeval.report import RunResult, compare, comparison_table, parse_run
from tests.memeval.result_files import Asked, many, result


def run(run_id: str, values: str, **about: object) -> RunResult:
    """Create a run: 1 right, 0 wrong, u unscored, f failed."""
    asked = [
        Asked(f"q{n}", error=(Phase.ANSWER, "x"))
        if value == "f"
        else Asked(f"q{n}", {"f1": None if value == "u" else float(value)})
        for n, value in enumerate(values)
    ]
    return parse_run(result(run_id, asked, **about))


def test_wins_losses_and_ties_are_counted_over_pairs() -> None:
    found = compare([run("a", "1110u10f"), run("b", "100010u1")])
    pair = found.rows[0].pair
    assert pair is not None
    assert (pair.questions, pair.left_out) == (6, 2)
    assert (pair.wins, pair.losses, pair.ties) == (3, 1, 2)
    assert pair.difference == pytest.approx(4 / 6 - 2 / 6)
    assert found.rows[0].p == pytest.approx(2 * (1 + 4) / 16)  # McNemar, 3 against 1


def test_a_failed_question_is_a_loss() -> None:
    pair = compare([run("a", "f1"), run("b", "11")]).rows[0].pair
    assert pair is not None and (pair.losses, pair.ties) == (1, 1)


def test_p_values_are_corrected_over_all_pairs() -> None:
    found = compare([run("a", "1" * 12), run("b", "0" * 12), run("c", "0" * 11 + "1")])
    assert [(row.first, row.second) for row in found.rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [row.p for row in found.rows] == pytest.approx([2 / 2**12, 2 / 2**11, 1.0])
    assert [row.p_holm for row in found.rows] == pytest.approx([6 / 2**12, 4 / 2**11, 1.0])


def test_values_between_zero_and_one_are_compared_by_permutation() -> None:
    first, second = (
        parse_run(result(name, [Asked(f"q{n}", {"f1": value}) for n in range(5)])) for name, value in (("a", 0.5), ("b", 0.2))
    )
    row = compare([first, second]).rows[0]
    assert row.pair is not None and row.pair.p_mcnemar is None
    assert row.p == pytest.approx(2 / 32)


def test_the_table_says_it_in_per_cent() -> None:
    text = comparison_table(compare([run("a", "1110"), run("b", "1000")])).markdown()
    assert text == (
        "| first | second | metric | questions | left out | first % | second % | difference | 95 % interval | wins | losses "
        "| ties | p | p (Holm) |\n"
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| a | b | f1 | 4 | 0 | 75.0 | 25.0 | +50.0 | -34.7 to 93.2 | 2 | 0 | 2 | 0.500 | 0.500 |\n"
    )


def test_runs_without_a_common_scored_question_have_an_empty_row() -> None:
    found = compare([run("a", "1u"), run("b", "u1")])
    assert found.rows[0].pair is None and found.rows[0].p_holm is None
    assert "| 0 | – |" in comparison_table(found).markdown()


def test_what_makes_runs_hard_to_compare_is_said() -> None:
    other = {"settings": {"variant": "official"}, "benchmark": {"name": "sample", "data_hash": "e"}, "models": {"answering": "x"}}
    warnings = "\n".join(compare([run("a", "11"), run("b", "110", **other)]).warnings)
    for word in (
        "data",
        "target variant (a: evidence, b: official)",
        "answering model (a: scripted/one, b: x)",
        "different questions",
    ):
        assert word in warnings
    (alone,) = compare([run("a", "11"), run("b", "11")]).warnings
    assert "one conversation" in alone


def test_questions_of_one_case_are_drawn_together() -> None:
    first, second = (parse_run(result(name, many(30, right))) for name, right in (("a", 20), ("b", 11)))
    row = compare([first, second], ["llm_accuracy"]).rows[0]
    assert row.pair is not None and row.pair.interval.method == "cluster t"
    assert row.pair.p_mcnemar is None, "it would take the questions for independent"
    (warning,) = compare([first, second], ["llm_accuracy"]).warnings
    assert f"{row.pair.clusters} conversations" in warning


@pytest.mark.parametrize(
    ("others", "metrics", "message"),
    [
        ([], [], "two runs"),
        ([("b", {"benchmark": {"name": "locomo"}})], [], "different benchmarks"),
        ([("b", {})], ["mrr"], "no metric 'mrr'. Fix: It has: f1"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    others: list[tuple[str, dict[str, object]]], metrics: list[str], message: str
) -> None:
    with pytest.raises(RunError, match=message):
        compare([run("a", "11"), *(run(name, "11", **about) for name, about in others)], metrics)
