"""Expected values are computed by hand. The steps are shown next to them."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval import registry
from memeval.core.protocols import RetrievalMetric
from memeval.core.types import Retrieved
from memeval.metrics import CUT_OFFS, rank_by

NAMES = ["f1", "mrr", "ndcg", "ndcg_official", "precision", "recall_all", "recall_any", "recall_fraction"]
RANKED = [["a"], ["x"], ["b"], ["y"], ["a"]]
RELEVANT = ["a", "b", "c"]


def metric(name: str) -> RetrievalMetric:
    found: RetrievalMetric = registry.metric.get(name)
    return found


def test_all_ranking_metrics_are_registered_under_their_own_name() -> None:
    assert set(NAMES) <= set(registry.metric.names())
    assert [metric(name).name for name in NAMES] == NAMES


@pytest.mark.parametrize(
    ("name", "k", "expected"),
    [
        ("recall_any", 1, 1.0),
        ("recall_all", 1, 0.0),
        ("recall_all", 5, 0.0),  # c was never found.
        ("recall_fraction", 1, 1 / 3),
        ("recall_fraction", 3, 2 / 3),
        ("recall_fraction", 5, 2 / 3),  # A second a adds nothing.
        ("precision", 1, 1.0),
        ("precision", 3, 2 / 3),
        ("precision", 5, 3 / 5),
        ("precision", 50, 3 / 5),  # Of what was returned.
        ("f1", 3, 2 * 2 / (3 + 3)),  # Found a, x, b; 2 in common.
        ("mrr", 5, 1.0),
        # gains 1, 0, 1: 1/log2(2) + 1/log2(4) = 1.5; ideal 1 + 1/log2(3) + 1/2
        ("ndcg", 3, 1.5 / (1 + 1 / log2(3) + 0.5)),
        # gains 1, 0, 1: 1 + 1/log2(3); ideal 1 + 1/log2(2) + 1/log2(3)
        ("ndcg_official", 3, (1 + 1 / log2(3)) / (2 + 1 / log2(3))),
        ("ndcg", 5, 1.5 / (1 + 1 / log2(3) + 0.5)),  # The second a gains nothing.
    ],
)
def test_values_of_a_ranking_of_five(name: str, k: int, expected: float) -> None:
    assert metric(name)(RANKED, RELEVANT, k) == pytest.approx(expected, abs=1e-12)


def test_the_two_ndcgs_differ_where_a_miss_comes_first() -> None:
    late = [["x"], ["a"]]
    assert metric("ndcg")(late, ["a"], 2) == pytest.approx(1 / log2(3))
    assert metric("ndcg_official")(late, ["a"], 2) == 1.0, "ranks 1 and 2 weigh the same there"


def test_recall_all_wants_every_id() -> None:
    assert metric("recall_all")([["b"], ["a"]], ["a", "b"], 2) == 1.0
    assert metric("recall_all")([["b"], ["a"]], ["a", "b"], 1) == 0.0


def test_a_piece_may_cover_several_ids() -> None:
    assert metric("recall_all")([["a", "b"]], ["a", "b"], 1) == 1.0
    assert metric("f1")([["a", "b", "x"]], ["a"], 1) == pytest.approx(2 / 4)


def test_reciprocal_rank_looks_no_further_than_k() -> None:
    ranked = [["x"], ["y"], ["a"]]
    assert metric("mrr")(ranked, ["a"], 3) == pytest.approx(1 / 3)
    assert metric("mrr")(ranked, ["a"], 2) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_nothing_retrieved_is_zero_but_nothing_known_is_unscored(name: str) -> None:
    assert metric(name)([], ["a"], 5) == 0.0
    assert metric(name)([["a"]], [], 5) is None, "no gold"
    assert metric(name)([[], []], ["a"], 5) is None, "the provider does not report sources"
    assert metric(name)([["a"]], ["a"], 0) is None
    assert metric(name)([[], ["a"]], ["a"], 1) == 0.0, "a piece without a source is a miss among others"


ids = st.sampled_from("abcdefgh")
rankings = st.lists(st.lists(ids, max_size=3), max_size=12).filter(lambda ranked: not ranked or any(ranked))
golds = st.lists(ids, min_size=1, max_size=5, unique=True)


@pytest.mark.parametrize("name", NAMES)
@given(ranked=rankings, relevant=golds, k=st.integers(1, 60))
def test_every_value_lies_between_zero_and_one(name: str, ranked: list[list[str]], relevant: list[str], k: int) -> None:
    value = metric(name)(ranked, relevant, k)
    assert value is not None
    assert 0 <= value <= 1 + 1e-12


@pytest.mark.parametrize("name", ["recall_any", "recall_all", "recall_fraction", "mrr"])
@given(ranked=rankings, relevant=golds, k=st.integers(1, 20))
def test_looking_further_never_finds_less(name: str, ranked: list[list[str]], relevant: list[str], k: int) -> None:
    assert metric(name)(ranked, relevant, k) <= metric(name)(ranked, relevant, k + 1)


@given(ranked=rankings, relevant=golds, k=st.integers(1, 20))
def test_recalls_are_ordered(ranked: list[list[str]], relevant: list[str], k: int) -> None:
    whole, part, one = (metric(name)(ranked, relevant, k) for name in ("recall_all", "recall_fraction", "recall_any"))
    assert whole <= part <= one


@pytest.mark.parametrize("name", ["recall_any", "recall_all", "recall_fraction", "precision", "f1"])
@given(ranked=rankings, relevant=golds, data=st.data())
def test_set_metrics_ignore_the_order_within_k(
    name: str, ranked: list[list[str]], relevant: list[str], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(ranked))
    k = max(1, len(ranked))
    assert metric(name)(ranked, relevant, k) == metric(name)(shuffled, relevant, k)


@pytest.mark.parametrize("name", ["ndcg", "ndcg_official", "mrr"])
@given(relevant=golds, misses=st.integers(0, 5), k=st.integers(1, 12))
def test_a_perfect_ranking_gets_one(name: str, relevant: list[str], misses: int, k: int) -> None:
    ranked = [[item] for item in relevant] + [["z"]] * misses
    assert metric(name)(ranked, relevant, k) == pytest.approx(1.0)


def test_the_ranking_of_sessions_counts_each_session_once() -> None:
    pieces = [Retrieved("1", sessions=("s1",), turns=("t1", "t2")), Retrieved("2", sessions=("s1",), turns=("t3",)),
              Retrieved("3", sessions=("s2", "s1"), turns=()), Retrieved("4")]  # fmt: skip
    assert rank_by(pieces, "session") == [("s1",), ("s2",), ()]
    assert rank_by(pieces, "turn") == [("t1", "t2"), ("t3",), (), ()]
    with pytest.raises(ValueError, match="round"):
        rank_by(pieces, "round")


def test_cut_offs_are_those_of_longmemeval() -> None:
    assert CUT_OFFS == (1, 3, 5, 10, 30, 50)
