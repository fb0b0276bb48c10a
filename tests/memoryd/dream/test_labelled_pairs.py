from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from memoryd.core.protocols import FloatArray
from memoryd.core.types import Kind, MemoryItem, Source
from memoryd.dream.plan import Action
from memoryd.dream.planner import make_plan
from memoryd.embed.onnx import OnnxEmbedder
from tests.memoryd.dream import labelled
from tests.memoryd.dream.labelled import CONTRADICTING, PARAPHRASE, Pair, scores

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PAIRS = labelled.load()
TRAINING = [pair for pair in PAIRS if pair.is_training]
HELD_OUT = [pair for pair in PAIRS if not pair.is_training]


@pytest.fixture(scope="module")
def vectors() -> dict[str, FloatArray]:
    texts = labelled.texts(PAIRS)
    return dict(zip(texts, OnnxEmbedder().embed(texts), strict=True))


def test_the_set_is_large_and_both_halves_hold_every_label() -> None:
    assert len({(pair.a, pair.b) for pair in PAIRS}) == len(PAIRS) >= 300
    for half in (TRAINING, HELD_OUT):
        counts = Counter(pair.label for pair in half)
        assert min(counts.values()) >= 15 and len(counts) == 4


@pytest.mark.slow
def test_merges_on_the_held_out_half_are_right_and_most_are_found(vectors: dict[str, FloatArray]) -> None:
    merges, _ = scores(HELD_OUT, vectors)
    assert merges.precision >= 0.98 and merges.recall >= 0.6, str(merges)  # Strict since pairs of strangers: no detail is lost.


@pytest.mark.slow
def test_contradictions_on_the_held_out_half_are_right_and_most_are_found(vectors: dict[str, FloatArray]) -> None:
    _, conflicts = scores(HELD_OUT, vectors)
    assert conflicts.precision >= 0.95 and conflicts.recall >= 0.6, str(conflicts)


@pytest.mark.parametrize("half", [TRAINING, HELD_OUT], ids=["training", "held out"])
def test_without_vectors_fewer_are_merged_and_still_none_wrongly(half: list[Pair]) -> None:
    merges, conflicts = scores(half, None)
    assert merges.precision >= 0.98 and merges.recall >= 0.5, str(merges)
    assert conflicts.precision >= 0.95 and conflicts.recall >= 0.6, str(conflicts)


@pytest.mark.slow
@pytest.mark.parametrize("half", [TRAINING, HELD_OUT], ids=["training", "held out"])
def test_the_whole_plan_decides_as_the_comparison_does(half: list[Pair], vectors: dict[str, FloatArray]) -> None:
    """Each pair is in its own project, including blocking. Plans find what the scores above measure."""
    merged, closed = set(), set()
    items = [item for number, pair in enumerate(half) for item in _items(number, pair)]
    plan = make_plan(items, now=NOW, vectors={item.id: vectors[item.content] for item in items})
    for change in plan.changes:
        number = int(change.after.project or 0)
        if change.action is Action.CREATE:
            merged.add(number)
        elif change.stage == "resolve_conflicts" and change.action is Action.SUPERSEDE:
            closed.add(number)
    labels = [pair.label for pair in half]
    assert sum(labels[n] == PARAPHRASE for n in merged) >= 0.98 * len(merged)
    assert sum(labels[n] == PARAPHRASE for n in merged) >= 0.6 * labels.count(PARAPHRASE)
    assert sum(labels[n] == CONTRADICTING for n in closed) >= 0.95 * len(closed)
    assert sum(labels[n] == CONTRADICTING for n in closed) >= 0.6 * labels.count(CONTRADICTING)


def _items(number: int, pair: Pair) -> list[MemoryItem]:
    return [
        MemoryItem(
            text,
            id=f"mem_{2 * number + place:012x}",
            kind=Kind.FACT,
            source=Source.USER,
            project=str(number),
            created_at=NOW - timedelta(days=2 - place),
        )
        for place, text in enumerate((pair.a, pair.b))
    ]
