from __future__ import annotations

import threading

from memoryd.core.errors import StoreError
from memoryd.daemon.threads import BackgroundWorker
from tests.waiting import HANGS_SECONDS


class Reports:
    def __init__(self) -> None:
        self.seen: list[tuple[str, type[BaseException]]] = []
        self.came = threading.Event()

    def __call__(self, where: str, error: BaseException) -> None:
        self.seen.append((where, type(error)))
        self.came.set()


def test_work_runs_one_after_the_other_and_ticks_when_due() -> None:
    names, enough = [], threading.Event()

    def tick() -> float | None:
        names.append("tick")
        if names.count("tick") == 3:
            enough.set()
        return 0.01 if names.count("tick") < 3 else None

    worker = BackgroundWorker(tick, Reports())
    worker.submit("dream", lambda: names.append("dream"))
    worker.start()
    assert enough.wait(HANGS_SECONDS)
    assert names == ["dream", "tick", "tick", "tick"]
    assert worker.stop(HANGS_SECONDS) and not worker.busy() and worker.next_due() is None


def test_a_failing_tick_is_reported_and_tried_again_later_others_go_on() -> None:
    reports, ran = Reports(), threading.Event()

    def tick() -> None:
        raise StoreError("full")

    worker = BackgroundWorker(tick, reports)
    worker.start()
    assert reports.came.wait(HANGS_SECONDS)
    worker.submit("other", ran.set)
    assert ran.wait(HANGS_SECONDS)
    assert reports.seen == [("tick", StoreError)] and worker.next_due() == 60.0
    assert worker.stop(HANGS_SECONDS)


def test_a_wake_makes_it_look_again() -> None:
    ticks = threading.Semaphore(0)
    worker = BackgroundWorker(lambda: ticks.release(), Reports())
    worker.start()
    assert ticks.acquire(timeout=HANGS_SECONDS)
    worker.wake()
    assert ticks.acquire(timeout=HANGS_SECONDS)
    assert worker.stop(HANGS_SECONDS)


def test_work_that_hangs_does_not_hold_up_the_stop() -> None:
    begun, go = threading.Event(), threading.Event()
    worker = BackgroundWorker(lambda: None, Reports())
    worker.submit("hangs", lambda: (begun.set(), go.wait(HANGS_SECONDS)))
    worker.start()
    assert begun.wait(HANGS_SECONDS) and worker.busy()
    assert worker.stop(0.05) is False
    go.set()
    assert worker.stop(HANGS_SECONDS)
