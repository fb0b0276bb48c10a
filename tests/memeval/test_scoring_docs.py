"""docs/scoring.md lists all metrics, judges, models and variants, and all options and placeholders."""

from __future__ import annotations

from pathlib import Path

import pytest

from memeval import registry
from memeval.metrics import VARIANTS
from memeval.models.endpoints import OPTIONS
from memeval.prompts.files import KNOWN
from memeval.registry import Registry

PAGE = (Path(__file__).parents[2] / "docs" / "scoring.md").read_text("utf-8")


def own(parts: Registry) -> list[str]:
    """Return the names of the built-in parts. Other tests may register more."""
    return [name for name in parts.names() if parts.get(name).__module__.startswith("memeval.")]


@pytest.mark.parametrize(
    "name", [*own(registry.metric), *own(registry.question_metric), *own(registry.judge), *VARIANTS, *OPTIONS]
)
def test_every_name_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("name", own(registry.model))
def test_every_kind_of_model_is_on_the_page(name: str) -> None:
    assert f"`{name}" in PAGE


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_every_placeholder_is_on_the_page(name: str) -> None:
    assert f"`{{{name}}}`" in PAGE
