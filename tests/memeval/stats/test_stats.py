"""Expected values are computed by hand or taken from the source's own example. The steps are shown next to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memeval.stats import (
    SEED,
    bootstrap_difference,
    bootstrap_mean,
    cluster_mean,
    compare,
    holm,
    mcnemar_exact,
    paired_permutation,
    wilson,
)
from memoryd.core.student import t_quantile, two_sided_p


def test_wilson_of_eight_in_ten() -> None:
    # z = 1.959964: centre (0.8 + 0.192073) / 1.384146 = 0.716740, half 1.959964·√(0.016 + 0.009604) / 1.384146 = 0.226578
    interval = wilson(8, 10)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.490162, 0.943318), abs=1e-6)
    assert (interval.method, interval.confidence, interval.seed) == ("wilson", 0.95, None)


def test_wilson_at_the_ends() -> None:
    none, all_ = wilson(0, 10), wilson(10, 10)
    assert none is not None
    assert all_ is not None
    # z²/(n + z²) = 3.841459 / 13.841459
    assert (none.low, none.high) == pytest.approx((0.0, 0.277533), abs=1e-6)
    assert (all_.low, all_.high) == pytest.approx((0.722467, 1.0), abs=1e-6)
    assert wilson(0, 0) is None


def test_impossible_shares_are_refused() -> None:
    with pytest.raises(ValueError, match="11 successes of 10"):
        wilson(11, 10)
    with pytest.raises(ValueError, match="confidence"):
        wilson(1, 2, confidence=1.0)


@given(st.integers(1, 500), st.data())
def test_wilson_holds_the_share_and_stays_in_range(total: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, total))
    interval, wider = wilson(successes, total), wilson(successes, total, 0.99)
    assert interval is not None
    assert wider is not None
    assert 0 <= wider.low <= interval.low <= successes / total <= interval.high <= wider.high <= 1


def test_the_bootstrap_of_two_values() -> None:
    # means are 0, 1/2, 1 with chances 1/4, 1/2, 1/4: the 2.5 % and 97.5 % quantiles are 0 and 1, the quartile range touches 1/2
    interval = bootstrap_mean([0, 1], seed=1)
    assert interval is not None
    assert (interval.low, interval.high, interval.method, interval.seed) == (0, 1, "bootstrap", 1)
    narrow = bootstrap_mean([0, 1], seed=1, confidence=0.4)
    assert narrow is not None
    assert (narrow.low, narrow.high) == (0.5, 0.5)


def test_the_same_seed_gives_the_same_interval() -> None:
    values = [float(number % 3) for number in range(40)]
    assert bootstrap_mean(values, seed=7) == bootstrap_mean(values, seed=7)
    assert bootstrap_mean(values, seed=7) != bootstrap_mean(values, seed=8)


def test_questions_of_one_conversation_do_not_count_as_independent() -> None:
    values = [0.0] * 50 + [1.0] * 50
    apart = bootstrap_mean(values, seed=SEED)
    together = bootstrap_mean(values, seed=SEED, clusters=["a"] * 50 + ["b"] * 50)
    assert apart is not None
    assert together is not None
    assert 0.35 < apart.low < 0.45 < 0.55 < apart.high < 0.65
    assert (together.low, together.high, together.method) == (0, 1, "cluster bootstrap")
    with pytest.raises(ValueError, match="1 clusters for 2 values"):
        bootstrap_mean([1, 2], seed=1, clusters=["a"])


def test_a_constant_difference_has_no_width() -> None:
    interval = bootstrap_difference([1, 1, 0.5], [0.5, 0.5, 0], seed=3)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.5, 0.5))
    assert bootstrap_mean([], seed=1) is None


def test_exact_permutations() -> None:
    # 1 1 1: of 8 sign patterns +++ and --- reach 3
    assert paired_permutation([1, 1, 1], [0, 0, 0], seed=1) == 2 / 8
    # 3 1 -1: sums 5 3 3 1 and their negatives, seen is 3: 6 of 8
    assert paired_permutation([3, 1, 0], [0, 0, 1], seed=1) == 6 / 8
    assert paired_permutation([1, 0], [1, 0], seed=1) == 1.0
    assert paired_permutation([], [], seed=1) == 1.0


def test_drawn_permutations_are_near_the_exact_value_and_never_zero() -> None:
    # 15 differences of one sign: exactly 2 / 2^15; 20,000 draws hardly see one
    assert 1 / 20_001 <= paired_permutation([1.0] * 15, [0.0] * 15, seed=1) < 0.001
    # 16 of 20 for the first: the sign test's 0.0118
    assert paired_permutation([1] * 16 + [0] * 4, [0] * 16 + [1] * 4, seed=1) == pytest.approx(0.0118, abs=0.003)


def test_mcnemar_exact() -> None:
    # 2 (C(10,0) + C(10,1)) / 2^10 = 22 / 1024
    assert mcnemar_exact(1, 9) == mcnemar_exact(9, 1) == 22 / 1024
    assert mcnemar_exact(5, 5) == 1.0
    assert mcnemar_exact(0, 0) == 1.0
    assert 0 <= mcnemar_exact(0, 2000) < 1e-100, "great numbers do not overflow"
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 3)


def test_holm() -> None:
    # sorted .005·4 = .02, .01·3 = .03, .03·2 = .06, .04·1 lifted to .06
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert list(adjusted) == ["a", "b", "c", "d"]
    assert list(adjusted.values()) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm({}) == {}
    with pytest.raises(ValueError, match="'x'"):
        holm({"x": 1.5})


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_holm_only_raises_and_keeps_the_order(p_values: dict[str, float]) -> None:
    adjusted = holm(p_values)
    assert all(value <= adjusted[name] <= 1 for name, value in p_values.items())
    by_p = sorted(p_values, key=lambda name: p_values[name])
    assert [adjusted[name] for name in by_p] == sorted(adjusted.values())


pairs = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=20)


@settings(max_examples=25)
@given(pairs)
def test_p_values_do_not_depend_on_which_system_comes_first(values: list[tuple[float, float]]) -> None:
    left, right = [a for a, _ in values], [b for _, b in values]
    p = paired_permutation(left, right, seed=5, resamples=500)
    assert 0 < p <= 1
    assert p == paired_permutation(right, left, seed=5, resamples=500)


def test_a_comparison_is_over_common_questions() -> None:
    first = {"1": 1.0, "2": 1.0, "3": 1.0, "4": 0.0, "5": None, "6": 1.0}
    second = {"1": 0.0, "2": 0.0, "3": 1.0, "4": 1.0, "5": 1.0}
    result = compare(first, second, seed=SEED)
    assert result is not None
    assert (result.questions, result.left_out, result.wins, result.losses, result.ties) == (4, 2, 2, 1, 1)
    assert (result.first, result.second, result.difference) == (0.75, 0.5, 0.25)
    assert result.p_mcnemar == 1.0
    assert result.p_permutation == 1.0, "sums of 1 1 -1 are 3 1 1 -1 ...: all reach 1"
    assert result.interval.low <= 0.25 <= result.interval.high
    assert result == compare(dict(reversed(first.items())), second, seed=SEED)
    assert compare({"1": None}, second, seed=1) is None


def test_graded_values_have_no_mcnemar() -> None:
    result = compare({"1": 0.5, "2": 1.0}, {"1": 0.25, "2": 0.0}, seed=1, clusters={"1": "a", "2": "a"})
    assert result is not None
    assert result.p_mcnemar is None
    assert result.interval.method == "t", "of one cluster nothing is known but its own questions"


def test_a_comparison_turns_the_signs_of_whole_clusters() -> None:
    names = [f"{cluster}{number}" for cluster in "abcde" for number in range(20)]
    clusters = {name: name[0] for name in names}
    result = compare(dict.fromkeys(names, 1.0), dict.fromkeys(names, 0.0), seed=1, clusters=clusters)
    assert result is not None
    assert (result.clusters, result.p_permutation, result.p_mcnemar) == (5, 2 / 2**5, None), "100 questions, but 5 clusters"
    apart = compare(dict.fromkeys(names, 1.0), dict.fromkeys(names, 0.0), seed=1)
    assert apart is not None and apart.p_permutation < 0.001
    assert (result.test, apart.test) == ("cluster permutation", "mcnemar"), "equal clusters leave a t-test no error to estimate"
    assert result.interval.low < 0 < result.interval.high
    uneven = {name: float(name != "a0") for name in names}
    result = compare(uneven, dict.fromkeys(names, 0.0), seed=1, clusters=clusters)
    assert result is not None and result.test == "cluster t", "five clusters can't give a small p by turned signs"
    many = {f"{name}{copy}": f"{clusters[name]}{copy}" for name in names for copy in "xy"}
    result = compare(dict.fromkeys(many, 1.0), dict.fromkeys(many, 0.0), seed=1, clusters=many)
    assert result is not None and result.test == "cluster permutation" and result.p == 2 / 2**10


def test_the_t_distribution_has_its_tabled_quantiles() -> None:
    for degrees, expected in ((1, 12.7062), (4, 2.7764), (9, 2.2622), (19, 2.0930), (1e6, 1.96)):
        assert t_quantile(0.95, degrees) == pytest.approx(expected, abs=1e-4)
    assert two_sided_p(2.776445, 4) == pytest.approx(0.05, abs=1e-6)
    assert two_sided_p(0.0, 3) == 1.0
    assert two_sided_p(float("inf"), 3) == 0.0


def test_the_interval_of_two_equal_clusters_by_hand() -> None:
    # means 1/4 and 3/4: without one the mean is the other; SE² = 1/2 · (1/16 + 1/16) = 1/16, t with 1 degree 12.7062
    found = cluster_mean([0.0, 0.5, 0.5, 1.0], ["a", "a", "b", "b"])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.5 - 12.7062 / 4, 0.5 + 12.7062 / 4), abs=1e-4)
    assert (found.method, found.clusters) == ("cluster t", 2)
    assert cluster_mean([0.5, 1.0], ["a", "a"]) is None
    assert cluster_mean([], []) is None


def test_a_share_of_nothing_or_all_has_an_interval_that_is_not_a_point() -> None:
    names = [name for name in "abcde" for _ in range(20)]
    none = cluster_mean([0.0] * 100, names)
    assert none is not None
    assert none.low == 0.0 and 0.03 < none.high < 0.15


@pytest.mark.parametrize("clusters", [5, *(pytest.param(count, marks=pytest.mark.slow) for count in (10, 20))])
@pytest.mark.parametrize("graded", [False, True])
def test_intervals_keep_their_confidence_with_few_clusters(clusters: int, graded: bool) -> None:
    """Coverage over simulated conversations of unequal length with similar questions: at least 93 % of 95 %."""
    random = np.random.default_rng(SEED)
    sizes = [30 + (number * 37) % 50 for number in range(clusters)]
    names = [str(number) for number, size in enumerate(sizes) for _ in range(size)]
    truth, hits, naive, rounds = 0.75, 0, 0, 5000
    for _ in range(rounds):
        rates = np.repeat(random.beta(15, 5, clusters), sizes)
        values = random.beta(3 * rates, 3 * (1 - rates)) if graded else (random.random(len(rates)) < rates) * 1.0
        found = cluster_mean(values.tolist(), names)
        assert found is not None
        hits += found.low <= truth <= found.high
        error = float(values.std()) / len(values) ** 0.5
        naive += abs(float(values.mean()) - truth) <= 1.96 * error
    assert hits / rounds >= 0.93
    assert naive / rounds < 0.90, "an interval that takes the questions for independent is wrong here"
