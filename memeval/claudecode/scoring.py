"""The scores of one question or task: the family's own, then what memory found, by rank, relevancy, recency and efficiency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import Any, cast

from memeval import registry
from memeval.claudecode import memories
from memeval.claudecode.contract import Step
from memeval.claudecode.sessions import Outcome
from memeval.embedding import RememberingEmbedder
from memeval.metrics import efficiency, relevancy
from memeval.protocols import RetrievalMetric
from memeval.results.codec import score_to_json
from memeval.run import phases
from memeval.run.plan import make_embedder
from memeval.types import Retrieved, Score

CUT_OFFS = (1, 5, 10)
METRICS = ("recall_any", "recall_all", "mrr")
_embedding = Lock()


AGAIN = "again_"
"""Beginning of the metrics of a task that is asked once more: it counts for forgetting, and not a second time for accuracy."""


def family_scores(scores: Sequence[Score], *, again: bool = False) -> list[dict[str, Any]]:
    """As the result keeps them. Without a value a score is unscored, unless its reason says that it was skipped."""
    out = []
    for score in scores:
        data = score_to_json(replace(score, metric=AGAIN + score.metric) if again else score)
        data["status"] = "scored" if score.value is not None else "skipped" if score.reason.startswith("skipped") else "unscored"
        if not score.usage.calls and not score.usage.cached_calls:
            del data["usage"]
        out.append(data)
    return out


def memory_scores(step: Step, outcome: Outcome, found: Sequence[Retrieved], embedder: str) -> list[dict[str, Any]]:
    """Scores of what memory gave; without memory there is nothing to rank, and only efficiency has a value (0)."""
    usage = outcome.result.usage
    share = efficiency(memories.tokens(outcome.given), usage.input_tokens + usage.output_tokens)
    out = [_entry("efficiency", share, "the client tells no tokens")]
    if found and embedder:
        out.append(_entry("relevancy", _relevancy(step, found, embedder), "nothing was retrieved"))
    if found and step.payload.get("targets"):
        gold = phases.gold_from_json(step.payload)
        chosen = [cast(RetrievalMetric, registry.metric.get(name)) for name in METRICS]
        out += phases.ranking_scores(found, gold, chosen, CUT_OFFS)
    return out


def _relevancy(step: Step, found: Sequence[Retrieved], embedder: str) -> float | None:
    text = step.question.text if step.question else step.prompt
    texts = [piece.text for piece in found if piece.text]
    with _embedding:
        model = _embedder(embedder)
        return relevancy(model.embed_query(text), model.embed(texts)) if texts else None


def check_embedder(name: str) -> None:
    """Raises ConfigError or another MemevalError when it can't be used, before a session is paid whose answer it measures."""
    if name:
        with _embedding:
            _embedder(name).embed_query("ready")


@cache
def _embedder(name: str) -> RememberingEmbedder:
    return make_embedder(name)


def _entry(name: str, value: float | None, reason: str) -> dict[str, Any]:
    status = "scored" if value is not None else "skipped"
    return {"metric": name, "value": value, "status": status, "reason": "" if value is not None else reason}


def headline(scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The main metric with its value: the first one, if it has a value and is no metric of what was found."""
    first = next(iter(scores), None)
    return {} if first is None or not is_main(first["metric"]) or first["value"] is None else {first["metric"]: first["value"]}


def is_main(metric: str) -> bool:
    """Whether a metric says how good answers are, rather than what memory gave or what was kept of it."""
    return "." not in metric and metric not in ("efficiency", "relevancy") and not metric.startswith(AGAIN)
