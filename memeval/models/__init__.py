"""Answering and judging models by name. The part before the first slash selects the kind.

    openai/gpt-4o-2024-08-06            OpenAI's API (OPENAI_API_KEY)
    openrouter/meta-llama/llama-3.3-70b OpenRouter (OPENROUTER_API_KEY)
    anthropic/claude-haiku-4-5          Anthropic's OpenAI-compatible endpoint (ANTHROPIC_API_KEY)
    http://localhost:11434/v1#qwen3     any OpenAI-compatible address (MEMEVAL_API_KEY, if it requires one)
    compatible/qwen3                    the same, with the address from option base_url or MEMEVAL_BASE_URL
    claude-cli/haiku                    the user's own Claude Code client and subscription, without tools
    extractive                          no model: the best sentences of the retrieved passages
    scripted/replies.json               fixed replies, for tests

A model makes one attempt and raises ModelError on failure. Retries, caching and budgets are up to the caller.
"""

from collections.abc import Mapping
from typing import Any

from memeval import registry
from memeval.core.errors import ConfigError
from memeval.core.protocols import Model
from memeval.core.types import EMPTY


def open_model(name: str, options: Mapping[str, Any] = EMPTY) -> Model:
    """Create a model by name. Raises ConfigError for an unknown kind, a missing key or an invalid option."""
    model = registry.model.get(name.split("/", 1)[0])(name, options)
    if not isinstance(model, Model):
        raise ConfigError(
            f"{type(model).__name__} is not a model: a member of memeval.core.protocols.Model is missing.",
            fix="Inherit from that class.",
        )
    return model


__all__ = ["open_model"]
