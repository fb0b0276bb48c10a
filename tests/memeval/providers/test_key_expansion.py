"""Pieces that are found by what a model derives from their session: summary, key phrases, facts, events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import ConfigError, ProviderError
from memeval.core.types import SearchRequest
from memeval.models.scripted import Rule, ScriptedModel
from memoryd.core.types import Completion
from tests.memeval.providers.material import EMBEDDING, garden, make

FACTS = json.dumps(
    [{"turn": 3, "text": "Herb lover: keeps peppermint relatives on the balcony"}, {"turn": 9, "text": "horticulture"}]
)
RULES = [
    Rule(("Say in one or two sentences", "tomatoes"), "Cultivation of vegetables."),
    Rule(("Say in one or two sentences",), "Something else."),
    Rule(("facts that the speakers state", "tomatoes"), f"Here they are: {FACTS}"),
    Rule(("List the events", "tomatoes"), json.dumps([{"turn": 1, "text": "sowing on 2023-05-01"}])),
    Rule(("key phrases", "tomatoes"), json.dumps(["allotment"])),
]


class Counting(ScriptedModel):
    """Counts its calls."""

    calls = 0

    def complete(self, *args: Any, **options: Any) -> Completion:
        self.calls += 1
        return super().complete(*args, **options)


def provider(folder: Path, kind: str, expansion: Any, model: ScriptedModel, **options: Any) -> Any:
    made: Any = make(kind, {**({} if kind == "bm25" else EMBEDDING), "keyExpansion": expansion, "model": "scripted", **options})
    made.use_model(model)
    made.open(folder)
    return made


def script(**more: Any) -> Counting:
    return Counting(RULES, "[]", **more)


@pytest.mark.parametrize("kind", ["bm25", "hybrid"])
@pytest.mark.parametrize(
    ("expansion", "query", "turn"),
    [
        ("userfact", "peppermint relatives on the balcony", "s1-2"),
        ("event", "sowing", "s1-0"),
        ("summary", "cultivation of vegetables", "s1"),
        ("keyphrase", "allotment", "s1"),
        ("summary,userfact", "peppermint relatives", "s1-2"),
    ],
)
def test_a_turn_is_found_by_what_the_model_says_of_it(tmp_path: Path, kind: str, expansion: str, query: str, turn: str) -> None:
    made = provider(tmp_path, kind, expansion, script())
    made.ingest("one", garden())
    made.await_indexed("one", 10)
    best = made.search("one", SearchRequest(query, 1))[0]
    assert best.turns[0].startswith(turn)  # A summary or bare phrase is about the whole session.
    assert query not in best.text
    made.close()


def test_the_model_is_asked_once_for_each_session_and_kind_also_after_a_restart(tmp_path: Path) -> None:
    model = script()
    first = provider(tmp_path, "bm25", ["summary", "userfact"], model)
    first.ingest("one", garden())
    first.await_indexed("one", 10)
    first.search("one", SearchRequest("horticulture", 3))
    first.close()
    assert model.calls == 6
    again = provider(tmp_path, "bm25", ["summary", "userfact"], model)
    assert again.search("one", SearchRequest("horticulture", 1))[0].sessions == ("s1",)
    assert model.calls == 6
    again.close()


def test_a_run_without_the_expansion_finds_nothing_by_it(tmp_path: Path) -> None:
    plain = make("bm25", {})
    plain.open(tmp_path)
    plain.ingest("one", garden())
    assert plain.search("one", SearchRequest("horticulture", 1))[0].score == 0
    plain.close()


@pytest.mark.parametrize("reply", ["no list", "[broken", json.dumps({"turn": 1})])
def test_a_reply_of_another_form_is_an_error_that_is_tried_again(tmp_path: Path, reply: str) -> None:
    made = provider(tmp_path, "bm25", "userfact", Counting((), reply))
    made.ingest("one", garden()[:1])
    with pytest.raises(ProviderError, match="no JSON list") as caught:
        made.await_indexed("one", 10)
    assert caught.value.transient
    made.close()


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("bm25", {"keyExpansion": "userfact"}, "the option model"),
        ("bm25", {"keyExpansion": "synonyms", "model": "scripted"}, "summary, keyphrase, userfact, event"),
        ("contextual-retrieval", {"keyExpansion": "summary", "model": "scripted", **EMBEDDING}, "its own keys"),
    ],
)
def test_an_expansion_that_cannot_be_made_is_refused(kind: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make(kind, options)
