"""Answers of explicit searches: hits, uncertain hits (marked), candidates (marked), lists."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from memoryd.api.dispatch import Api
from memoryd.core.errors import InputError
from memoryd.core.types import Kind, MemoryItem, Project, Status
from memoryd.daydream import readers
from memoryd.recall.injection import SessionEvent
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, ScriptedLLM

KEYS = ("which engine drives the slides?", "make a talk", "presentation tool")


def learn(store: Orchestrator, clock: FakeClock, content: str, **fields: Any) -> str:
    id = store.write(MemoryItem(content, **{"project": "shop", "created_at": clock.now(), **fields}))
    store.settle()
    return id


def ask(api: Api, query: str, **params: Any) -> dict[str, Any]:
    return api.call("recall", {"query": query, "project": "all", **params})


def test_a_question_in_the_words_of_a_key_finds_the_memory(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    plain = learn(store, clock, "We use reveal.")
    assert not [hit for hit in ask(api, KEYS[0])["hits"] if not hit.get("unsure")]
    store.update(plain, asked_as=KEYS)
    store.settle()
    found = ask(api, KEYS[0])
    assert found["answer"] == "found" and found["hits"][0]["id"] == plain
    assert api.call("get_memory", {"id": plain})["memory"]["asked_as"] == list(KEYS)


@pytest.mark.parametrize("query", ["turbopack", "svgr loader", "does turbopack support the svgr loader?"])
def test_keys_in_other_words_do_not_hide_a_memory_from_its_own_words(
    api: Api, store: Orchestrator, clock: FakeClock, query: str
) -> None:
    keys = ("which bundler has the dev server?", "speed up hot reload", "warum kein neuer Bundler?", "make a page load faster")
    learn(store, clock, "Turbopack does not support the svgr loader, so webpack stays.", asked_as=keys)
    for other in ("Invoices are numbered per year.", "Backups go to the bucket of Ana.", "The proxy caches for a day."):
        learn(store, clock, other)
    found = ask(api, query)
    assert found["answer"] == "found" and "Turbopack" in found["hits"][0]["content"]
    assert ask(api, "which port does turbopack use?")["answer"] != "found"


def test_keys_are_shown_neither_in_hits_nor_in_what_a_session_is_given(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    learn(store, clock, "We use reveal.", asked_as=KEYS, kind=Kind.RULE)
    assert "asked_as" not in ask(api, KEYS[0])["hits"][0]
    shop = Project("shop", "shop", "/shop")
    injector = api._parts.injector
    for text in (
        injector.session_start(SessionEvent("s1", shop, source="startup")),
        injector.prompt(SessionEvent("s2", shop, prompt="which engine drives the slides of the talk?")),
    ):
        assert "reveal" in text and "drives" not in text and "presentation" not in text


def test_what_may_bear_on_a_question_comes_marked_when_nothing_is_sure(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    learn(store, clock, "The coffee machine stands on floor three of the house.")
    found = ask(api, "where can I get an espresso in this house of ours or nearby, if anywhere?")
    assert found["answer"] == "nothing certain; these may be relevant"
    assert [hit["unsure"] for hit in found["hits"]] == [True]
    assert found["below_floor"] == 1


def test_at_most_three_unsure_hits_come_and_none_of_nonsense(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    for number in range(8):
        learn(store, clock, f"The coffee machine stands on floor {number} of the house.")
    assert len(ask(api, "where can I get an espresso in this house of ours or nearby, if anywhere?")["hits"]) == 3
    nonsense = ask(api, "zebra quantum cheesecake")
    assert nonsense["answer"] == "nothing relevant" and nonsense["hits"] == []


def test_a_prompt_stays_silent_where_a_question_is_given_what_is_unsure(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    learn(store, clock, "The coffee machine stands on floor three of the house.")
    prompt = "where can I get an espresso in this house of ours or nearby, if anywhere?"
    event = SessionEvent("s1", Project("shop", "shop", "/shop"), prompt=prompt)
    assert "coffee" not in api._parts.injector._relevant(event)


def test_a_candidate_is_found_by_who_asks_and_marked_behind_what_is_confirmed(
    api: Api, store: Orchestrator, clock: FakeClock
) -> None:
    candidate = learn(store, clock, "The queue runs on rabbit.", status=Status.CANDIDATE)
    known = learn(store, clock, "The queue runs on rabbit since May.")
    found = ask(api, "what does the queue run on, rabbit?")
    assert [hit["id"] for hit in found["hits"]] == [known, candidate]
    assert found["hits"][1]["status"] == "candidate" and found["hits"][1]["parts"]["candidate"] < 0
    event = SessionEvent("s1", Project("shop", "shop", "/shop"), prompt="what does the queue run on, rabbit?")
    text = api._parts.injector._relevant(event)
    assert known in text and candidate not in text


def test_what_has_ended_is_not_found_beside_candidates(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    ended = learn(store, clock, "The queue runs on rabbit.", valid_to=clock.now())
    clock.advance(minutes=1)
    assert ended not in [hit["id"] for hit in ask(api, "what does the queue run on, rabbit?")["hits"]]


def test_a_question_for_all_of_a_kind_lists_it_newest_first(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    first = learn(store, clock, "The retry test is flaky.", kind=Kind.TODO)
    learn(store, clock, "Prices are cents.", kind=Kind.FACT)
    clock.advance(days=30)
    second = learn(store, clock, "Docs lack a page on hooks.", kind=Kind.TODO)
    found = ask(api, "what is still open?")
    assert [hit["id"] for hit in found["hits"]] == [second, first]
    assert found["answer"] == "found" and found["route"]["rule"] == "listing"
    event = SessionEvent("s1", Project("shop", "shop", "/shop"), prompt="What is still open?")
    assert "flaky" in api._parts.injector._relevant(event)


def test_a_question_for_a_day_lists_what_was_learnt_on_it(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    old = learn(store, clock, "The retry test is flaky.")
    clock.advance(days=1)
    learn(store, clock, "Docs lack a page on hooks.")
    assert [hit["id"] for hit in ask(api, "what did we do yesterday?")["hits"]] == [old]


def test_the_wording_of_a_relation_does_not_pass_the_floor_by_itself(api: Api, store: Orchestrator, clock: FakeClock) -> None:
    linked = learn(store, clock, "Vite builds the frontend.", entities=("vite",))
    far = learn(store, clock, "Deploys happen on Thursdays.", entities=("vite",))
    found = ask(api, "what is related to vite?")
    sure = [hit["id"] for hit in found["hits"] if not hit.get("unsure")]
    assert linked in sure and far not in sure
    by_name = ask(api, "vite", backend="graph")
    assert {linked, far} <= {hit["id"] for hit in by_name["hits"]}


def test_keys_are_written_by_the_readers_model_in_batches_with_a_place_to_go_on_from(
    api: Api, store: Orchestrator, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = sorted(learn(store, clock, f"Statement number {number}.") for number in range(14))
    with pytest.raises(InputError, match="No model is available to write keys"):
        api.call("write_keys", {})
    entries = [{"n": n + 1, "asked_as": ["slides?"]} for n in range(12)]
    answers = [orjson.dumps({"keys": part}).decode() for part in (entries, [])]
    llm = ScriptedLLM(*answers)
    monkeypatch.setattr(readers, "make_llm", lambda settings, name, logins: llm)
    monkeypatch.setattr(readers, "models_of", lambda settings: ("endpoint",))
    first = api.call("write_keys", {})
    assert (first["written"], first["left"], first["next"]) == (12, 2, ids[11])
    second = api.call("write_keys", {"after": first["next"]})
    assert (second["written"], second["left"], second["stopped"]) == (0, 0, "")  # The model saw no use in these.
    assert store.require(ids[0]).asked_as == ("slides?",)
