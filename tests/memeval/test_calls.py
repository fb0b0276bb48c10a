from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from memeval.core.calls import Budget, RetryPolicy, Stop, with_retries
from memeval.core.errors import BudgetError, ModelError, ProviderError, StoppedError
from memeval.core.protocols import Model
from memeval.models.guarded import GuardedModel, ModelCache, call_key, paid_by
from memeval.run.engine import for_each
from memoryd.core.types import Completion, Message, Usage

ASK = (Message("user", "hello"),)


class RecordedStop(Stop):
    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.check()


class Flaky:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


class CountingModel(Model):
    name = "counting"

    def __init__(self, cost: float | None = 0.25, *errors: Exception) -> None:
        self.cost = cost
        self.flaky = Flaky(*errors)

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        return Completion(self.flaky(), self.name, Usage(1, 10, 2, self.cost), 0.5)


def guarded(model: CountingModel, folder: Path | None, budget: Budget | None = None) -> GuardedModel:
    return GuardedModel(model, ModelCache(folder), budget or Budget(), RecordedStop())


def test_transient_errors_are_tried_again_with_growing_waits() -> None:
    stop, call = RecordedStop(), Flaky(*[ProviderError("busy", transient=True)] * 3)
    assert with_retries(call, RetryPolicy(backoff=1), stop, lambda: 0.5) == "done"
    assert stop.waits == [0.5, 1.0, 2.0]


def test_what_a_server_asks_for_is_waited_in_full() -> None:
    stop, call = RecordedStop(), Flaky(ModelError("busy", transient=True, retry_after=30))
    with_retries(call, RetryPolicy(), stop, lambda: 0.0)
    assert stop.waits == [30]


def test_other_errors_and_the_last_transient_one_are_raised() -> None:
    lasting = Flaky(ProviderError("no"))
    with pytest.raises(ProviderError):
        with_retries(lasting, RetryPolicy(), RecordedStop())
    assert lasting.calls == 1
    busy = Flaky(*[ProviderError("busy", transient=True)] * 9)
    with pytest.raises(ProviderError, match="busy"):
        with_retries(busy, RetryPolicy(retries=2), RecordedStop())
    assert busy.calls == 3


def test_the_stop_flag_ends_a_wait() -> None:
    stop = Stop()
    threading.Timer(0.05, stop.set).start()
    with pytest.raises(StoppedError):
        stop.sleep(5)


def test_a_budget_refuses_the_call_that_would_pass_it() -> None:
    budget = Budget(1.0)
    with budget.reserve(0.6) as settle, pytest.raises(BudgetError), budget.reserve(0.6):
        settle(0.0)  # Never reached: both calls at once could cost more than the budget.
    with budget.reserve(0.6) as settle:
        settle(0.5)
    # The most expensive call so far is the estimate of an unknown one: 0.5 + 0.5 is the whole budget.
    with pytest.raises(BudgetError), budget.reserve(None), budget.reserve(0.2):
        pytest.fail("more than the budget is promised")
    assert budget.spent == 0.5


def test_a_failed_call_gives_its_room_back() -> None:
    budget = Budget(1.0)
    for _ in range(5):
        with pytest.raises(ModelError), budget.reserve(0.9):
            raise ModelError("away")
    assert budget.spent == 0


def test_the_same_call_is_paid_once(tmp_path: Path) -> None:
    model = CountingModel()
    for payer in ("run1/answer/c/q", "run2/answer/c/q"):
        with paid_by(payer) as account:
            made = guarded(model, tmp_path).complete(ASK)
    assert model.flaky.calls == 1
    assert (made.usage.calls, made.usage.cached_calls, made.usage.cost_usd) == (0, 1, 0.0)
    assert account.usage == made.usage


def test_the_payer_gets_its_own_call_again_as_if_it_were_new(tmp_path: Path) -> None:
    """A run that is killed between the call and its record pays once and counts the cost once."""
    model = CountingModel()
    with paid_by("run1/answer/c/q"):
        first = guarded(model, tmp_path).complete(ASK)
    with paid_by("run1/answer/c/q"):
        assert guarded(model, tmp_path).complete(ASK) == first
    assert model.flaky.calls == 1


def test_a_broken_cache_file_is_asked_again(tmp_path: Path) -> None:
    model = CountingModel()
    guarded(model, tmp_path).complete(ASK)
    (file,) = tmp_path.rglob("*.json")
    file.write_text("{")
    guarded(model, tmp_path).complete(ASK)
    assert model.flaky.calls == 2


def test_the_key_of_a_call_depends_on_all_that_decides_its_answer() -> None:
    keys = {
        call_key("m", ASK, None, None),
        call_key("n", ASK, None, None),
        call_key("m", (Message("system", "hello"),), None, None),
        call_key("m", ASK, {"type": "object"}, None),
        call_key("m", ASK, None, 5),
        call_key("m", ASK, None, None, "http://x"),
    }
    assert len(keys) == 6


def test_a_model_is_tried_again_and_counted_against_the_budget() -> None:
    budget = Budget(0.6)
    model = guarded(CountingModel(0.25, ModelError("busy", transient=True)), None, budget)
    model.complete(ASK)
    model.complete(ASK)
    with pytest.raises(BudgetError):
        model.complete(ASK)
    assert budget.spent == 0.5


def test_work_in_threads_takes_little_ahead_and_stops_at_the_first_error() -> None:
    taken: list[int] = []

    def items() -> Any:
        for number in range(100):
            taken.append(number)
            yield number

    def work(number: int) -> None:
        if number == 3:
            raise ProviderError("no")

    with pytest.raises(ProviderError):
        for_each(items(), work, 2, Stop())
    assert len(taken) < 12


def test_work_ends_when_the_flag_is_set() -> None:
    stop, done = Stop(), []

    def work(number: int) -> None:
        done.append(number)
        if number == 2:
            stop.set()

    with pytest.raises(StoppedError):
        for_each(range(10), work, 1, stop)
    assert done == [0, 1, 2]
