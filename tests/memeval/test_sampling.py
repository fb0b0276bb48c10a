from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.core.errors import ConfigError
from memeval.core.types import QuestionType
from memeval.run.settings import Ref, Selection, Shard, select

TYPES = (QuestionType.FACT_RECALL, QuestionType.TEMPORAL, QuestionType.ABSTENTION)


def refs(count: int = 60, cases: int = 6) -> list[Ref]:
    return [Ref(f"c{n % cases}", f"q{n}", TYPES[n % 3], str(n % 3)) for n in range(count)]


def test_without_flags_all_questions_are_asked_in_order() -> None:
    assert select(refs(), Selection()) == list(range(60))


def test_start_and_end_count_from_1_and_are_both_included() -> None:
    assert select(refs(), Selection(start=2, end=4)) == [1, 2, 3]
    assert select(refs(), Selection(start=59)) == [58, 59]
    assert select(refs(), Selection(end=2, limit=1)) == [0]


def test_types_may_be_unified_or_the_benchmark_s_own_and_ids_come_on_top() -> None:
    assert select(refs(), Selection(types=("temporal",))) == select(refs(), Selection(types=("1",)))
    assert select(refs(), Selection(types=("temporal",), questions=("q1", "q2", "q4"))) == [1, 4]


def test_a_dev_slice_takes_its_share_of_each_type_and_depends_on_the_seed_only() -> None:
    chosen = select(refs(), Selection(dev_slice=0.25, seed=3))
    assert Counter(refs()[p].type for p in chosen) == dict.fromkeys(TYPES, 5)
    assert chosen == select(refs(), Selection(dev_slice=0.25, seed=3))
    assert chosen != select(refs(), Selection(dev_slice=0.25, seed=4))
    backwards = list(reversed(refs()))
    again = select(backwards, Selection(dev_slice=0.25, seed=3))
    assert {backwards[p].question_id for p in again} == {refs()[p].question_id for p in chosen}
    assert len(select(refs(), Selection(dev_slice=0.001))) == 3


@given(st.integers(1, 80), st.integers(1, 9), st.integers(1, 12), st.integers(1, 80))
def test_shards_are_disjoint_and_together_the_selection(count: int, cases: int, shards: int, limit: int) -> None:
    everything = refs(count, cases)
    whole = select(everything, Selection(limit=limit))
    parts = [select(everything, Selection(limit=limit, shard=Shard(i, shards))) for i in range(1, shards + 1)]
    assert sorted(p for part in parts for p in part) == whole
    if len({everything[p].case_id for p in whole}) >= shards:
        homes = [{everything[p].case_id for p in part} for part in parts]
        assert sum(map(len, homes)) == len(set().union(*homes))  # No case is ingested twice.


@pytest.mark.parametrize(
    "wanted",
    [{"types": ("x",)}, {"questions": ("x",)}, {"start": 0}, {"start": 3, "end": 2}, {"end": 0}, {"limit": 0}, {"limit": -3},
     {"dev_slice": 0.0}, {"dev_slice": 1.1}, {"dev_slice": float("nan")}, {"start": 61}],
)  # fmt: skip
def test_an_invalid_selection_is_a_config_error(wanted: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        select(refs(), Selection(**wanted))


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "a/b", "1/2/3", "-1/2"])
def test_a_shard_that_is_none_is_a_config_error(text: str) -> None:
    with pytest.raises(ConfigError):
        Shard.parse(text)
