"""The learned router: its fit, its comparison with the rules, and unusable files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.config import Settings
from memoryd.core.errors import InputError
from memoryd.core.protocols import FloatArray
from memoryd.core.types import Backend, Kind, MemoryItem, Query
from memoryd.retrieval import LearnedRouter, RouterModel, load_router, route, router_to_json
from memoryd.retrieval.routing import FEATURES, features
from memoryd.retrieval.training import LabelledQuery, compare, fit, folds_of, mcnemar, read_labels, train, wilson
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder

EMBEDDER = HashEmbedder()
SCORES = {"n": 40, "folds": 10, "p": 0.01, "learned": {"accuracy": 0.9}, "rules": {"accuracy": 0.5}}


def always(backend: Backend, *, used: bool = True) -> RouterModel:
    """Return a model that prefers one backend by its bias alone."""
    weights = np.zeros((2, EMBEDDER.dimensions + len(FEATURES) + 1), dtype=np.float32)
    weights[0, -1] = 5.0
    other = Backend.GRAPH if backend is not Backend.GRAPH else Backend.HYBRID
    return RouterModel(EMBEDDER.name, (backend, other), weights, used, SCORES)


def embed(text: str) -> Any:
    return EMBEDDER.embed_queries([text])[0]


def test_the_fit_reaches_the_minimum_of_its_loss() -> None:
    random = np.random.default_rng(3)
    rows = np.hstack([random.normal(size=(60, 4)), np.ones((60, 1))]).astype(np.float32)
    labels = random.integers(0, 3, 60)
    weights = fit(rows, labels, 3, penalty=0.1, steps=2_000).astype(float)
    chances = np.exp(rows @ weights.T)
    chances /= chances.sum(axis=1, keepdims=True)
    gradient = (chances - np.eye(3)[labels]).T @ rows / 60 + 0.1 * weights * np.array([1, 1, 1, 1, 0])
    assert np.abs(gradient).max() < 1e-4


def test_what_is_clearly_distinguished_by_words_beats_the_rules_and_is_used() -> None:
    graph = [LabelledQuery(f"please show number {n} neighbourhood", Backend.GRAPH) for n in range(20)]
    words = [LabelledQuery(f"kindly fetch item {n} verbatim", Backend.MARKDOWN) for n in range(20)]
    model = train(graph + words, EMBEDDER.embed_queries, EMBEDDER.name)
    assert model.used and model.scores["learned"]["accuracy"] == 1.0 and model.scores["p"] < 0.001
    router = LearnedRouter(model, embed)
    assert router(Query("please show the neighbourhood")).backend is Backend.GRAPH
    assert train(graph + words, EMBEDDER.embed_queries, EMBEDDER.name).weights.tolist() == model.weights.tolist()


def test_labels_without_any_sense_do_not_beat_the_rules() -> None:
    rows = [LabelledQuery(f"what is the reason for {n}?", Backend.HYBRID if n % 2 else Backend.MARKDOWN) for n in range(40)]
    assert not train(rows, EMBEDDER.embed_queries, EMBEDDER.name).used


def test_a_row_that_counts_twice_is_as_good_as_the_row_twice() -> None:
    random = np.random.default_rng(5)
    rows = np.hstack([random.normal(size=(30, 3)), np.ones((30, 1))]).astype(np.float32)
    labels = random.integers(0, 2, 30)
    twice = fit(np.vstack([rows, rows[:5]]), np.concatenate([labels, labels[:5]]), 2, penalty=0.1, steps=3_000)
    counted = fit(rows, labels, 2, np.array([2.0] * 5 + [1.0] * 25), penalty=0.1, steps=3_000)
    assert np.allclose(twice, counted, atol=1e-4)


@pytest.mark.slow
def test_feedback_is_learned_from_and_never_tested_on() -> None:
    labelled = [LabelledQuery(f"what is the reason for {n}?", Backend.HYBRID if n % 2 else Backend.MARKDOWN) for n in range(40)]
    sure = [LabelledQuery(f"please show number {n} neighbourhood", Backend.MARKDOWN) for n in range(200)]
    model = train(labelled, EMBEDDER.embed_queries, EMBEDDER.name, sure)
    assert model.scores["n"] == 40 and not model.used
    assert model.scores["feedback"]["rows"] == 200 and model.scores["feedback"]["weight"] * 200 == pytest.approx(10.0)
    without = train(labelled, EMBEDDER.embed_queries, EMBEDDER.name)
    assert model.scores["feedback"]["without"] == without.scores["learned"] and model.scores["rules"] == without.scores["rules"]
    assert model.choose(features(sure[0].text, embed(sure[0].text)))[0] is Backend.MARKDOWN
    assert not np.allclose(model.weights, without.weights)


def test_feedback_that_repeats_a_labelled_query_or_names_another_backend_is_left_out() -> None:
    labelled = [LabelledQuery(f"what is the reason for {n}?", Backend.HYBRID if n % 2 else Backend.MARKDOWN) for n in range(40)]
    useless = [labelled[0], LabelledQuery("what else?", Backend.VECTOR)]
    model = train(labelled, EMBEDDER.embed_queries, EMBEDDER.name, useless)
    assert "feedback" not in model.scores
    assert model.weights.tolist() == train(labelled, EMBEDDER.embed_queries, EMBEDDER.name).weights.tolist()


def test_the_labels_that_are_shipped_are_many_distinct_and_of_all_kinds() -> None:
    labelled = read_labels()
    assert len(labelled) >= 200 and len({row.text for row in labelled}) == len(labelled)
    assert {row.backend for row in labelled} == {Backend.MARKDOWN, Backend.GRAPH, Backend.HYBRID}
    assert len({route(Query(row.text)).rule for row in labelled}) >= 8


@pytest.mark.parametrize(
    "query",
    [
        Query(""),
        Query("mem_0123456789ab"),
        Query("x", relationship=True),
        Query("x", needs_semantic=True),
        Query("x", backend=Backend.VECTOR),
    ],
)
def test_what_the_caller_said_is_never_overruled(query: Query) -> None:
    assert LearnedRouter(always(Backend.HYBRID), embed)(query) == route(query)


def test_a_written_router_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "router.json"
    path.write_bytes(router_to_json(always(Backend.GRAPH)))
    choice = load_router(path, EMBEDDER.name)
    assert choice.model is not None and LearnedRouter(choice.model, embed)(Query("anything")).backend is Backend.GRAPH
    assert "90.0%" in choice.reason and not choice.problem


def test_one_that_did_not_beat_the_rules_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "router.json"
    path.write_bytes(router_to_json(always(Backend.GRAPH, used=False)))
    choice = load_router(path, EMBEDDER.name)
    assert choice.model is None and not choice.problem and "did not beat" in choice.reason


@pytest.mark.parametrize(
    "change",
    [
        {"format": 9},
        {"features": []},
        {"weights": [[1.0]]},
        {"weights": "x"},
        {"backends": ["nowhere"]},
        {"scores": {}},
        {"scores": {**SCORES, "p": "small"}},
        {"embedder": "other"},
    ],
)
def test_a_file_of_another_version_or_embedder_or_a_broken_one_is_ignored_with_its_reason(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "router.json"
    path.write_bytes(orjson.dumps({**orjson.loads(router_to_json(always(Backend.GRAPH))), **change}))
    choice = load_router(path, EMBEDDER.name)
    assert choice.model is None and choice.problem and str(path) in choice.reason


@given(
    st.binary(max_size=200)
    | st.from_type(type(None)).map(orjson.dumps)
    | st.lists(st.integers(0, 9)).map(lambda v: orjson.dumps(v[:3]))
)
def test_no_content_of_the_file_is_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "router.json"
    path.write_bytes(content)
    assert load_router(path, EMBEDDER.name).problem


@given(st.text(max_size=80))
def test_features_are_finite_and_within_bounds(text: str) -> None:
    row = features(text, embed(text))
    own = row[EMBEDDER.dimensions :]
    assert len(own) == len(FEATURES) + 1 and own.min() >= 0.0 and own.max() <= 1.0


def test_folds_spread_every_class_evenly() -> None:
    labels = np.array([0] * 30 + [1] * 20)
    fold = folds_of(labels)
    assert all((fold[labels == 0] == n).sum() == 3 and (fold[labels == 1] == n).sum() == 2 for n in range(10))


def test_the_comparison_counts_what_only_one_had_right() -> None:
    scores = compare(np.array([True] * 9 + [False]), np.array([True] * 2 + [False] * 7 + [True]))
    assert (scores["only_learned"], scores["only_rules"], scores["n"]) == (7, 1, 10)
    assert scores["p"] == pytest.approx(2 * 9 / 2**8)
    assert mcnemar(0, 0) == 1.0
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-3)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"format": 2}', b'{"format": 1, "nowhere": ["a"]}', b'{"format": 1, "graph": ["a"]}']
)
def test_labels_that_cannot_be_used_are_refused_with_the_form_to_write(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "labels.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_labels(path)
    assert "format" in error.value.fix


class Counting(HashEmbedder):
    """Counts the embedded queries."""

    queries = 0

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        self.queries += len(texts)
        return super().embed_queries(texts)


@pytest.fixture
def counted(settings: Settings, clock: FakeClock) -> Iterator[tuple[Orchestrator, Counting]]:
    embedder = Counting()
    service = Orchestrator(replace(settings, rank="hybrid"), clock, embedder)
    service.catch_up()
    service.write(MemoryItem(content="The retry policy is three tries.", kind=Kind.NOTE))
    assert service.settle()
    service.warm()
    yield service, embedder
    service.close()


def test_recall_goes_by_the_learned_router_and_embeds_the_query_once_as_before(
    counted: tuple[Orchestrator, Counting], settings: Settings
) -> None:
    service, embedder = counted
    embedder.queries = 0
    assert service.explain(Query("retry policy"))[0].rule == "few_words"
    assert embedder.queries == 1
    settings.paths.router.parent.mkdir(parents=True, exist_ok=True)
    settings.paths.router.write_bytes(router_to_json(always(Backend.HYBRID)))
    service.ranker.reload_router()
    chosen, hits = service.explain(Query("retry policies"))
    assert chosen.rule == "learned" and chosen.backend is Backend.HYBRID and hits
    assert embedder.queries == 2


def test_recall_works_by_the_rules_when_the_file_is_broken(counted: tuple[Orchestrator, Counting], settings: Settings) -> None:
    service, _ = counted
    settings.paths.router.parent.mkdir(parents=True, exist_ok=True)
    settings.paths.router.write_text("{")
    service.ranker.reload_router()
    assert service.explain(Query("retry policy"))[0].rule == "few_words"
    assert service.ranker.router.problem
