"""Models behind the runner's cache, budget and retries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memeval.core.calls import Budget, RetryPolicy, Stop
from memeval.core.errors import BudgetError, ModelError
from memeval.models import open_model
from memeval.models.guarded import GuardedModel, ModelCache
from memoryd.core.types import Message, Usage
from tests.memeval.model_server import ModelServer, Reply

ASK = [Message("user", "What is it?")]
PRICED = {"input_price": 1.0, "output_price": 1.0}


def guarded(server: ModelServer, folder: Path | None = None, budget: Budget | None = None) -> GuardedModel:
    model = open_model(f"{server.url}#m", PRICED)
    return GuardedModel(model, ModelCache(folder), budget or Budget(), Stop(), RetryPolicy(retries=3, backoff=0.001))


def test_transient_faults_are_tried_again_and_only_the_answer_is_paid(server: ModelServer) -> None:
    server.script(
        Reply("slow down", status=429, headers={"retry-after": "0"}), Reply("oops", status=503), Reply(raw=b"{"), Reply("Oslo")
    )
    budget = Budget(1.0)
    answer = guarded(server, budget=budget).complete(ASK)
    assert (answer.text, answer.usage) == ("Oslo", Usage(1, 7, 3, pytest.approx(10e-6)))  # type: ignore[arg-type]
    assert len(server.seen) == 4
    assert budget.spent == pytest.approx(10e-6)


def test_a_refused_key_is_not_tried_again(server: ModelServer) -> None:
    server.script(Reply("no", status=401))
    with pytest.raises(ModelError, match="401"):
        guarded(server).complete(ASK)
    assert len(server.seen) == 1


def test_a_call_over_the_budget_is_not_made(server: ModelServer) -> None:
    with pytest.raises(BudgetError):
        guarded(server, budget=Budget(1e-6)).complete(ASK, max_tokens=1000)
    assert not server.seen


def test_a_model_that_costs_more_than_it_was_thought_to_is_stopped_before_the_budget_all_the_same(server: ModelServer) -> None:
    server.script(Reply("Oslo", usage={"prompt_tokens": 3000, "completion_tokens": 7000, "total_tokens": 10_000}))
    budget = Budget(0.035)  # A call costs 0.01, but the estimate was a tenth of it.
    model = guarded(server, budget=budget)
    for number in range(3):
        model.complete([Message("user", f"What is number {number}?")])
    with pytest.raises(BudgetError):
        model.complete(ASK)
    assert (len(server.seen), budget.spent) == (3, pytest.approx(0.03))


def test_an_answer_from_the_cache_costs_nothing_and_another_temperature_misses_it(server: ModelServer, tmp_path: Path) -> None:
    guarded(server, tmp_path).complete(ASK)
    again = guarded(server, tmp_path).complete(ASK)
    assert (again.text, len(server.seen)) == ("yes", 1)
    warm = open_model(f"{server.url}#m", {**PRICED, "temperature": 1.0})
    GuardedModel(warm, ModelCache(tmp_path), Budget(), Stop()).complete(ASK)
    assert len(server.seen) == 2


@pytest.mark.slow
def test_a_model_is_safe_for_threads(server: ModelServer) -> None:
    server.script(Reply("temperature is not supported", status=400), Reply("fine"))
    model = open_model(f"{server.url}#m")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: model.complete(ASK).text, range(16)))
    assert answers == ["fine"] * 16
