from __future__ import annotations

import threading

import pytest

from memoryd.core.errors import EmbeddingError
from memoryd.stores.prefetch import KEPT, PrefetchCache, WorkerThread


def test_what_was_begun_is_waited_for_and_made_once() -> None:
    made: list[str] = []
    go = threading.Event()

    def make(text: str) -> str:
        assert go.wait(60)
        made.append(text)
        return text.upper()

    ahead = PrefetchCache(make, "test")
    ahead.prepare("a")
    ahead.prepare("a")
    go.set()
    assert [ahead.get("a"), ahead.get("a"), ahead.get("b")] == ["A", "A", "B"]
    assert made == ["a", "b"]
    ahead.close()


def test_a_failure_is_reported_to_the_one_who_asks_and_tried_again() -> None:
    answers = [EmbeddingError("no", fix="wait"), "yes"]

    def make(text: str) -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    ahead = PrefetchCache(make, "test")
    ahead.prepare("a")
    with pytest.raises(EmbeddingError):
        ahead.get("a")
    assert ahead.get("a") == "yes"
    ahead.close()


def test_only_the_last_texts_are_kept_also_when_nobody_asks_for_them() -> None:
    made: list[str] = []
    ahead = PrefetchCache(lambda text: made.append(text), "test")
    for number in range(KEPT + 1):
        ahead.prepare(str(number))
    ahead.get(str(KEPT))  # Behind all others.
    ahead.get("1")
    assert len(made) == KEPT + 1
    ahead.get("0")
    assert made[-1] == "0"
    ahead.close()


def test_after_closing_nothing_begins_but_who_asks_is_answered() -> None:
    ahead = PrefetchCache(str.upper, "test")
    ahead.close()
    ahead.close()
    ahead.prepare("a")
    assert ahead.get("a") == "A"


def test_two_works_are_done_at_once_and_a_failure_is_reported_to_the_one_who_waits() -> None:
    beside, here, there = WorkerThread("test"), threading.Event(), threading.Event()

    def work() -> bool:
        there.set()
        return here.wait(60)

    result = beside.begin(work)
    assert there.wait(60)
    here.set()
    assert result()
    failing = beside.begin(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        failing()
    beside.close()


def test_after_the_end_the_one_who_asks_does_the_work() -> None:
    beside = WorkerThread("test")
    beside.close()
    beside.close()
    assert beside.begin(threading.get_ident)() == threading.get_ident()
