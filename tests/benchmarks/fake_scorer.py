"""Stands in for the scoring script of a corpus: equal words match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from benchmarks.extraction import Session


def session(name: str, facts: Sequence[str]) -> Session:
    """A session without turns whose facts are these texts, each of importance 2."""
    return Session(name, [], {"session": name, "facts": [{"text": text, "importance": 2} for text in facts]})


def _score(predictions: Mapping[str, list[str]], gold: Sequence[Mapping[str, Any]]) -> tuple[dict[str, float], list[Any]]:
    made = sum(len(predictions[entry["session"]]) for entry in gold)
    facts = [(entry["session"], fact["text"]) for entry in gold for fact in entry["facts"]]
    matched = sum(text in predictions[name] for name, text in facts)
    return {"predictions": made, "matched": matched, "junk": 0, "obsolete": 0, "recall_weighted": matched / len(facts)}, []


scorer = ModuleType("scorer")
scorer.score = _score  # type: ignore[attr-defined]
