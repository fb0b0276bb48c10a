from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from memeval.core.text import stem

WORDS = [
    "".join(parts)
    for parts in product(("gener", "hop", "rel", "fl", "operat"), ("", "at", "is", "iz"), ("ional", "ing", "ed", "s"))
]


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_threads_do_not_mix_up_their_words() -> None:
    alone = [stem.__wrapped__(word) for word in WORDS]
    with ThreadPoolExecutor(4) as pool:
        rounds = list(pool.map(lambda _: [stem.__wrapped__(word) for word in WORDS], range(16)))
    assert all(stems == alone for stems in rounds)
