"""Small conversations and providers for tests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from memeval import registry
from memeval.core.protocols import Provider
from memeval.core.types import Session, Turn
from memeval.specs import ProviderSpec, ProviderType

START = datetime(2023, 5, 1, 9, 0)  # noqa: DTZ001 - data sets tell local times
EMBEDDING = {"embedder": "hash"}
LOCAL_OPTIONS: dict[str, dict[str, Any]] = {
    "memoryd": {"settings": {"embedder": "hash"}},
    "bm25": {},
    "dense": EMBEDDING,
    "hybrid": EMBEDDING,
    "full-context": {},
    "last-k": {},
    "semantic-recall": EMBEDDING,
    "working-memory": {},
    "combined": {
        "parts": [
            {"provider": "working-memory"},
            {"provider": "last-k", "share": 2},
            {"provider": "semantic-recall", "share": 4, "options": EMBEDDING},
        ]
    },
    "aqrag": EMBEDDING,
    "contextual-retrieval": EMBEDDING,
    "oracle": {},
    "none": {},
}


def session(id: str, *texts: str, day: int = 0, speaker: str = "") -> Session:
    """Return a session of alternating turns, user first."""
    at = START + timedelta(days=day)
    turns = tuple(
        Turn(f"{id}-{number}", ("user", "assistant")[number % 2], text, speaker if number % 2 == 0 else "", at)
        for number, text in enumerate(texts, start=0)
    )
    return Session(id, turns, at)


def garden() -> list[Session]:
    """Return three sessions on different topics."""
    return [
        session("s1", "I planted tomatoes in my garden.", "Tomatoes love the sun.", "I like basil beside them.", "Good idea."),
        session("s2", "My sister Anna bought a red bicycle.", "Nice, red is a bright colour.", day=3),
        session(
            "s3", "I work as a nurse in Bergen.", "Night shifts are hard.", "I moved there last year.", "It rains a lot.", day=9
        ),
    ]


def attic() -> list[Session]:
    """Return another case with words in common."""
    return [
        session("x1", "I planted roses in my garden.", "Roses need water."),
        session("x2", "I bought a blue bicycle.", "Enjoy."),
    ]


def make(name: str, options: Mapping[str, Any] | None = None) -> Provider:
    """Return a local provider, created as by the runner."""
    spec = ProviderSpec(name, ProviderType.LOCAL)
    provider: Provider = registry.provider.get(name)(spec, LOCAL_OPTIONS[name] if options is None else options)
    return provider
