"""Tests of exact intervals and of power, each against a simulation."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

from memeval.stats import (
    MAX_EXACT,
    Design,
    compare,
    exact_difference,
    half_width,
    mcnemar_exact,
    power,
    questions_needed,
    score_difference,
    smallest_detectable,
)
from memeval.stats.power import mcnemar_power


@pytest.mark.parametrize(("won", "lost"), [(0.5, 0.0), (0.3, 0.05), (0.1, 0.1), (0.02, 0.6)])
def test_the_exact_interval_covers_the_truth_as_often_as_it_says(won: float, lost: float) -> None:
    pairs, covered = 9, 0.0
    for wins in range(pairs + 1):
        for losses in range(pairs + 1 - wins):
            ties = pairs - wins - losses
            chance = comb(pairs, wins) * comb(pairs - wins, losses) * won**wins * lost**losses * (1 - won - lost) ** ties
            found = exact_difference(wins, losses, pairs)
            covered += chance * (found.low - 1e-6 <= won - lost <= found.high + 1e-6)
    assert covered >= 0.95


@given(integers(1, 12), integers(0, 12), integers(0, 12))
@settings(deadline=None)
def test_the_exact_interval_holds_the_difference_and_turns_with_the_systems(pairs: int, wins: int, losses: int) -> None:
    if wins + losses > pairs:
        return
    found, turned = exact_difference(wins, losses, pairs), exact_difference(losses, wins, pairs)
    assert -1 <= found.low <= (wins - losses) / pairs <= found.high <= 1
    assert (turned.low, turned.high) == (-found.high, -found.low)
    assert found.high - found.low > 0.3, "so few questions can't say more"


def test_impossible_counts_are_refused() -> None:
    for counts in ((-1, 0, 3), (2, 2, 3), (0, 0, 0), (0, 0, MAX_EXACT + 1)):
        with pytest.raises(ValueError, match="impossible"):
            exact_difference(*counts)


def test_the_score_interval_is_close_to_the_exact_one_and_never_without_width() -> None:
    exact, score = exact_difference(20, 5, 50), score_difference(20, 5, 50)
    assert score.low == pytest.approx(exact.low, abs=0.02)
    assert score.high == pytest.approx(exact.high, abs=0.02)
    assert score_difference(0, 0, 100).high == pytest.approx(0.037, abs=0.001)


def test_an_interval_never_excludes_0_where_the_test_finds_nothing() -> None:
    for wins in range(9):
        for losses in range(9 - wins):
            first = {str(n): float(n < wins) for n in range(8)}
            second = {str(n): float(wins <= n < wins + losses) for n in range(8)}
            found = compare(first, second, seed=1)
            assert found is not None
            assert found.p < 0.05 or found.interval.low <= 0 <= found.interval.high


def simulated(won: float, lost: float, questions: int, rounds: int = 4000) -> float:
    random = np.random.default_rng(7)
    wins, losses, _ = random.multinomial(questions, [won, lost, 1 - won - lost], rounds).T
    return float(np.mean([mcnemar_exact(int(a), int(b)) < 0.05 for a, b in zip(wins, losses, strict=True)]))


@pytest.mark.parametrize(("questions", "gain"), [(10, 0.6), (40, 0.25), (150, 0.12), (60, 0.0)])
def test_the_printed_power_is_that_of_a_simulation(questions: int, gain: float) -> None:
    assert power(Design(questions, questions), gain) == pytest.approx(simulated(gain + 0.05, 0.05, questions), abs=0.025)


def test_the_printed_power_is_that_of_a_simulation_with_conversations() -> None:
    random = np.random.default_rng(3)
    clusters, size, gain, spread = 12, 10, 0.2, 0.18
    names = [f"{cluster}-{number}" for cluster in range(clusters) for number in range(size)]
    groups = {name: name.partition("-")[0] for name in names}
    found = 0
    for _ in range(400):
        gains = np.clip(random.normal(gain, spread, clusters), 0, 0.9)
        first = {name: float(random.random() < gains[int(groups[name])] + 0.05) for name in names}
        second = {name: 0.0 if first[name] else float(random.random() < 0.05 / 0.75) for name in names}
        one = compare(first, second, seed=1, clusters=groups)
        found += one is not None and one.p < 0.05
    variance = gain + 0.1 - gain**2
    design = Design(len(names), clusters, correlation=spread**2 / variance)
    assert power(design, gain) == pytest.approx(found / 400, abs=0.08)


def test_the_smallest_detectable_difference_has_the_power_that_was_asked_for() -> None:
    for design in (Design(60, 60), Design(300, 10), Design(2_000, 2_000)):
        found = smallest_detectable(design)
        assert found is not None
        assert power(design, found) >= 0.8 > power(design, found - 0.03)
    assert smallest_detectable(Design(4, 4)) is None
    assert smallest_detectable(Design(50, 1)) is None, "of one conversation nothing can be learnt about others"


def test_more_questions_find_smaller_differences_and_a_second_comparison_takes_more() -> None:
    wide = [smallest_detectable(Design(count, count)) or 1.0 for count in (10, 40, 160, 640)]
    assert wide == sorted(wide, reverse=True)
    assert (smallest_detectable(Design(60, 60, alpha=0.025)) or 0) > (smallest_detectable(Design(60, 60)) or 0)
    assert half_width(Design(400, 400), 0.2) < half_width(Design(100, 100), 0.2) < half_width(Design(100, 4), 0.2)


def test_the_number_of_questions_needed_has_the_power_and_fewer_have_not() -> None:
    needed = questions_needed(Design(20, 20), 0.15)
    assert needed is not None
    assert mcnemar_power(needed, 0.2, 0.05, 0.05) >= 0.8 > mcnemar_power(needed - 3, 0.2, 0.05, 0.05)
    assert questions_needed(Design(20, 20), 0.0) is None
