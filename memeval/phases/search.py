"""Phase 2: the provider is asked for what bears on a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memeval.protocols import Provider
from memeval.results.codec import retrieved_from_json, retrieved_to_json
from memeval.types import EMPTY, Question, Retrieved, SearchRequest


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """`depth` pieces are asked for; the texts of the first `kept` are recorded, of the others where they come from."""

    depth: int
    kept: int
    granularity: str
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def search(provider: Provider, scope: str, question: Question, plan: SearchPlan) -> dict[str, Any]:
    """What was found, as the record's payload. Raises ProviderError."""
    request = SearchRequest(question.text, plan.depth, question.at, plan.granularity, plan.options)
    pieces = provider.search(scope, request)[: plan.depth]
    return {"kept": plan.kept, "retrieved": [_kept(piece, rank < plan.kept) for rank, piece in enumerate(pieces)]}


def _kept(piece: Retrieved, with_text: bool) -> dict[str, Any]:
    data = retrieved_to_json(piece)
    if not with_text:
        data["text"], data["metadata"] = "", {}
    return data


def found(payload: Mapping[str, Any]) -> list[Retrieved]:
    """The pieces of a record, best first."""
    return [retrieved_from_json(item) for item in payload["retrieved"]]
