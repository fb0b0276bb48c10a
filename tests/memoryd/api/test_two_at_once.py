"""Calls that arrive at the same time."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.memoryd.api.conftest import Desk

CALLERS = 8


def test_a_statement_that_arrives_several_times_at_once_is_one_memory(desk: Desk) -> None:
    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [pool.submit(desk.user, "remember", content="The lock of the shed is numbered 4711.") for _ in range(CALLERS)]
        found = Counter(call.result()["status"] for call in calls)
    assert found == {"new": 1, "known": CALLERS - 1}
    assert desk.user("list_memories")["total"] == 1


def test_of_two_values_that_arrive_at_once_one_is_active(desk: Desk) -> None:
    texts = [f"The staging database listens on port {port}." for port in (5432, 5433, 5434, 5435)]
    with ThreadPoolExecutor(CALLERS) as pool:
        for call in [pool.submit(desk.user, "remember", content=text) for text in texts]:
            call.result()
    assert desk.user("list_memories")["total"] == 1
