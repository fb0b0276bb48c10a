from __future__ import annotations

from memoryd.core.types import KINDS, Kind


def test_every_kind_says_how_its_memories_rank_and_age() -> None:
    assert set(KINDS) == set(Kind)
    for traits in KINDS.values():
        assert 0 < traits.weight <= 1
        assert traits.half_life_days > 0
        assert traits.max_age_days is None or traits.max_age_days > traits.half_life_days
