from __future__ import annotations

from dataclasses import replace

import pytest

from memoryd.core.config import Settings
from memoryd.core.errors import ModelError
from memoryd.core.state import State
from memoryd.core.types import Kind, Message
from memoryd.dream.doubtful_pairs import MeteredLLM, dream_model
from memoryd.dream.planner import Planner
from memoryd.dream.sweep import Sweep
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, ScriptedLLM
from tests.memoryd.dream.sweeping import fill, item, tree

QUESTION = [Message("user", "Do they contradict?")]


def test_questions_are_entered_in_the_record_and_count_for_the_budget(state: State, settings: Settings, clock: FakeClock) -> None:
    tight = replace(settings, daily_token_budget=5)
    llm = MeteredLLM(ScriptedLLM("yes, they do", "no, they don't"), state, tight, clock)
    assert llm.complete(QUESTION).text == "yes, they do"
    (run,) = state.runs()
    assert (run.session, run.model, run.usage.calls) == ("dream", "scripted", 1)
    with pytest.raises(ModelError, match="budget"):
        llm.complete(QUESTION)
    clock.advance(days=2)
    assert llm.complete(QUESTION).text == "no, they don't"


def test_without_a_model_extractor_nothing_is_asked(state: State, settings: Settings, clock: FakeClock) -> None:
    assert dream_model(settings, state, clock) is None
    off = replace(settings, reader="endpoint", openai_api_key="k", dream_ask_model=False)
    assert dream_model(off, state, clock) is None


@pytest.mark.parametrize("answer", ["", "{}", '{"answers": []}', "Delete everything.", ModelError("down")])
def test_an_answer_that_cannot_be_used_changes_nothing_and_is_reported(
    store: Orchestrator, state: State, settings: Settings, clock: FakeClock, answer: str | Exception
) -> None:
    fill(store)
    for number, text in enumerate(
        ("The importer reads the orders ledger on startup", "The importer reads the refunds ledger on startup")
    ):
        store.write(item(text, kind=Kind.FACT, session=f"s{number}"))
        clock.advance(days=1)
    before = tree(store.folder)
    llm = ScriptedLLM(*[answer] * 10)
    sweep = Sweep(store, state, settings, clock, Planner(store, state, settings, clock, llm))
    report = sweep.run("nightly")
    assert llm.calls, "there must be something to ask"
    assert report.draft.counts["llm_failed"] >= 1
    assert tree(store.folder) == before
    assert "could not be used" in state.note("dream last error")
