"""The contract of all providers, local or hosted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memeval.core.protocols import Provider
from memeval.core.types import Case, Question, QuestionType, SearchRequest, Session
from memeval.providers.http import HttpProvider
from memeval.registry import BUILT_IN
from memeval.specs import load_provider_spec
from tests.memeval.providers.fake_api import FakeApi, serving
from tests.memeval.providers.material import LOCAL_OPTIONS, attic, garden, make
from tests.memeval.providers.vendors import KEY, VENDORS

Maker = Callable[[], Provider]
GARDEN = SearchRequest("Which tomatoes did I plant in my garden?", 4)
SILENT = {"none"}
PAGES = {"full-context", "working-memory"}
QUESTION = Question("q", GARDEN.text, QuestionType.FACT_RECALL, evidence_sessions=("s1",), evidence_turns=("s1-0", "s1-2"))


@pytest.fixture(params=[*LOCAL_OPTIONS, *VENDORS])
def maker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Maker]:
    """Makes providers of one kind that share their remote side."""
    name = request.param
    if name in LOCAL_OPTIONS:
        yield lambda: make(name)
        return
    behaviour, prefix, key = VENDORS[name]
    if key:
        monkeypatch.setenv(key, KEY)
    with serving(FakeApi(behaviour())) as api:
        spec = load_provider_spec(BUILT_IN / "providers" / f"{name}.yaml", {f"{prefix}_BASE_URL": api.url})
        quick = replace(spec.rate_limit, add_delay=0, search_delay=0, poll_delay=0, backoff=0)
        options = {"embedder": "hash"} if name == "chroma" else {}
        yield lambda: HttpProvider(replace(spec, rate_limit=quick), options)


def ready(provider: Provider, workdir: Path) -> Provider:
    provider.open(workdir)
    return provider


def remember(provider: Provider, scope: str, sessions: list[Session]) -> None:
    provider.ingest(scope, sessions)
    provider.await_indexed(scope, 60)
    if provider.capabilities.gold:
        provider.use_gold(scope, Case(scope, tuple(sessions), (QUESTION,)))


def test_scopes_never_see_each_other(maker: Maker, tmp_path: Path) -> None:
    provider = ready(maker(), tmp_path)
    remember(provider, "one", garden())
    remember(provider, "two", attic())
    for scope, sessions in (("one", garden()), ("two", attic())):
        known = {session.id for session in sessions}
        texts = " ".join(turn.text for session in sessions for turn in session.turns)
        for piece in provider.search(scope, SearchRequest("garden bicycle tomatoes roses", 50)):
            assert set(piece.sessions) <= known
            assert ("tomatoes" in piece.text.lower()) <= ("tomatoes" in texts)
            assert ("roses" in piece.text.lower()) <= ("roses" in texts)
    provider.close()


def test_what_was_said_is_found_with_its_source(maker: Maker, tmp_path: Path) -> None:
    provider = ready(maker(), tmp_path)
    remember(provider, "one", garden())
    pieces = provider.search("one", GARDEN)
    if provider.name in SILENT:
        assert pieces == []
        return
    assert any("s1" in piece.sessions for piece in pieces) or provider.name == "last-k"
    turns = {turn.id for session in garden() for turn in session.turns}
    for piece in pieces:
        assert piece.text.strip()
        assert set(piece.turns) <= turns
        assert {turn.rpartition("-")[0] for turn in piece.turns} <= set(piece.sessions)
    provider.close()


def test_ingesting_again_changes_nothing(maker: Maker, tmp_path: Path) -> None:
    provider = ready(maker(), tmp_path)
    remember(provider, "one", garden())
    before = provider.search("one", GARDEN)
    remember(provider, "one", garden())
    assert provider.search("one", GARDEN) == before
    provider.close()


def test_sessions_may_come_in_batches(maker: Maker, tmp_path: Path) -> None:
    provider = ready(maker(), tmp_path)
    remember(provider, "one", garden())
    for session in garden():
        remember(provider, "two", [session])
    if provider.capabilities.gold:
        provider.use_gold("two", Case("two", tuple(garden()), (QUESTION,)))
    whole, parts = provider.search("one", GARDEN), provider.search("two", GARDEN)
    assert [piece.text for piece in whole] == [piece.text for piece in parts]
    provider.close()


def test_at_most_k_pieces_come_best_first(maker: Maker, tmp_path: Path) -> None:
    provider = ready(maker(), tmp_path)
    remember(provider, "one", garden())
    for k in (0, 1, 2, 50):
        pieces = provider.search("one", replace(GARDEN, k=k))
        assert len(pieces) <= k
        scores = [piece.score for piece in pieces]
        assert scores == sorted(scores, reverse=True)
    assert len(provider.search("one", replace(GARDEN, k=1))) == (0 if provider.name in SILENT else 1)
    provider.close()


def test_a_cleared_scope_is_empty_and_others_stay(maker: Maker, tmp_path: Path) -> None:
    provider = ready(maker(), tmp_path)
    remember(provider, "one", garden())
    remember(provider, "two", garden())
    before = [piece.text for piece in provider.search("two", GARDEN)]
    provider.clear("one")
    provider.clear("never seen")
    assert provider.search("one", GARDEN) == []
    assert [piece.text for piece in provider.search("two", GARDEN)] == before
    remember(provider, "one", garden())
    assert [piece.text for piece in provider.search("one", GARDEN)] == before
    provider.close()


def test_another_process_continues_with_the_state(maker: Maker, tmp_path: Path) -> None:
    provider = ready(maker(), tmp_path)
    remember(provider, "one", garden())
    before = provider.search("one", GARDEN)
    provider.close()
    again = ready(maker(), tmp_path)
    if again.capabilities.gold:
        again.use_gold("one", Case("one", tuple(garden()), (QUESTION,)))
    again.await_indexed("one", 60)
    assert again.search("one", GARDEN) == before
    again.close()


def test_an_unknown_scope_and_an_empty_one_give_nothing(maker: Maker, tmp_path: Path) -> None:
    provider = ready(maker(), tmp_path)
    assert provider.search("never seen", GARDEN) == []
    provider.await_indexed("never seen", 1)
    remember(provider, "empty", [])
    remember(provider, "blank", [Session("b", ())])
    assert [piece for piece in provider.search("empty", GARDEN) if piece.turns] == []
    assert [piece for piece in provider.search("blank", GARDEN) if piece.turns] == []
    provider.close()


@pytest.mark.parametrize("granularity", ["session", "round", "turn"])
def test_every_granularity_is_answered(maker: Maker, tmp_path: Path, granularity: str) -> None:
    provider = ready(maker(), tmp_path)
    remember(provider, "one", garden())
    pieces = provider.search("one", replace(GARDEN, granularity=granularity))
    assert bool(pieces) != (provider.name in SILENT)
    provider.close()
