"""Phase 4: retrieval metrics of what was found, judgements of what was answered.

A score is named `<level>.<metric>@<k>` for rankings (`session.recall_all@5`), else as the judge or metric calls it.
Each has a status: `scored`; `unscored` (it should have a value, but the judge could not tell); `skipped` (the protocol
asks for none); `failed` (the work before it failed).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memeval.embedding import RememberingEmbedder
from memeval.metrics import Targets, efficiency, recency, relevancy
from memeval.metrics.context import context_scores, line_sets
from memeval.metrics.official import ranking, scorer
from memeval.protocols import Judge, RetrievalMetric
from memeval.results.codec import score_to_json, usage_to_json
from memeval.text import estimate_tokens
from memeval.types import EMPTY, Answer, Question, Retrieved, Score
from memoryd.types import Usage


@dataclass(frozen=True, slots=True)
class Gold:
    """What a ranking is measured against: targets by level, and when each evidence id was said."""

    targets: tuple[Targets, ...]
    dates: Mapping[str, datetime] = field(default_factory=lambda: EMPTY)


def ranking_scores(
    pieces: Sequence[Retrieved],
    gold: Gold,
    metrics: Sequence[RetrievalMetric],
    cut_offs: Sequence[int],
    granularity: str = "turn",
) -> Iterator[dict[str, Any]]:
    """Scores of all metrics at all levels and cut-offs, then recency."""
    for target in gold.targets:
        score = scorer(pieces, target, granularity)
        for metric in metrics:
            if target.variant == "locomo_official" and metric.name != "recall_fraction":
                continue  # that script has no other
            for k in cut_offs:
                name = f"{target.level}.{metric.name}@{k}"
                value = None if target.skipped else score(metric, k)
                yield _entry(name, value, target.skipped or _why_unscored(value))
        yield _recency(pieces, target, gold, granularity)


def _recency(pieces: Sequence[Retrieved], target: Targets, gold: Gold, granularity: str) -> dict[str, Any]:
    name = f"{target.level}.recency"
    if skipped := target.skipped or ("" if target.ids else "no evidence that can be resolved"):
        return _entry(name, None, skipped)
    fresh = recency(ranking(pieces, target, granularity), target.ids, gold.dates)
    return _entry(name, fresh, "" if fresh is not None else "dates not known")


def _why_unscored(value: float | None) -> str:
    return "" if value is not None else "the provider does not tell sources"


def _entry(name: str, value: float | None, reason: str) -> dict[str, Any]:
    status = "scored" if value is not None else "skipped"
    return {"metric": name, "value": value, "status": status, "reason": "" if value is not None else reason}


def code_scores(question: Question, pieces: Sequence[Retrieved], cut_offs: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Scores by file, line and block of a task whose needed code is known (ContextBench), at each cut-off."""
    gold = [(str(file), int(start), int(end)) for file, start, end in question.metadata.get("gold_blocks", ())]
    code = question.metadata.get("code") or {}
    if not gold or not code or (pieces and not any(piece.turns for piece in pieces)):
        return
    for k in cut_offs:
        for score in context_scores(_lines(question, pieces[:k], code), gold, f"@{k}"):
            yield _entry(score.metric, score.value, "")


def _lines(question: Question, pieces: Sequence[Retrieved], code: Mapping[str, Sequence[Any]]) -> dict[str, set[int]]:
    """Lines by file of the blocks that were found; block n of a file has the lines after those of the blocks before it."""
    size = int(question.metadata["block_lines"])
    blocks = []
    for turn in (turn for piece in pieces for turn in piece.turns):
        session, _, number = turn.rpartition(":")
        if session in code and number.isdecimal():
            file, last = code[session]
            blocks.append((str(file), (int(number) - 1) * size + 1, min(int(number) * size, int(last))))
    return line_sets(blocks)


def answer_scores(question: Question, answer: Answer, judges: Sequence[Judge]) -> Iterator[dict[str, Any]]:
    """Scores of all judges. Raises ModelError when a judge's model fails and the judge does not handle it."""
    for judge in judges:
        for score in judge.score(question, answer):
            data = score_to_json(score)
            data["status"] = score_status(score)
            if not score.usage.calls and not score.usage.cached_calls:
                del data["usage"]
            yield data


def score_status(score: Score) -> str:
    """Scored, or why not: `skipped` when the protocol asks for none, which the reason says, else the judge said nothing clear."""
    if score.value is not None:
        return "scored"
    return "skipped" if score.reason.startswith("skipped") else "unscored"


def efficiency_score(answer: Answer, memories: str) -> dict[str, Any]:
    """Share of the answering model's tokens that what was found takes."""
    value = efficiency(estimate_tokens(memories), answer.usage.input_tokens + answer.usage.output_tokens)
    return _entry("efficiency", value, "the model does not tell tokens")


def relevancy_score(embedder: RememberingEmbedder, question: Question, pieces: Sequence[Retrieved]) -> dict[str, Any]:
    """How near the pieces with a text are to the question."""
    texts = [piece.text for piece in pieces if piece.text]
    value = relevancy(embedder.embed_query(question.text), embedder.embed(texts)) if texts else None
    return _entry("relevancy", value, "nothing was retrieved")


def total_usage(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What judging cost."""
    total = Usage()
    for score in scores:
        if "usage" in score:
            total += Usage(**score["usage"])
    return usage_to_json(total)


def gold_from_json(payload: Mapping[str, Any]) -> Gold:
    """The gold that was kept with a question."""
    aims = tuple(map(Targets.from_json, payload["targets"]))
    return Gold(aims, {name: datetime.fromisoformat(at) for name, at in payload["dates"].items()})
