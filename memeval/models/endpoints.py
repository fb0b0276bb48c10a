"""Known OpenAI-compatible services, and arbitrary ones by address.

Anthropic is called through its OpenAI-compatible endpoint. Answers and judgements are plain text, which the endpoint fully
supports, so a second client library isn't needed. The endpoint ignores response_format, so schemas are described in the
prompt.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core.errors import ConfigError
from memeval.models.openai_compatible import ModelServer, OpenAICompatible
from memeval.models.options import check_options
from memeval.models.prices import Price, load_prices

OPTIONS: dict[str, type | tuple[type, ...]] = {
    "base_url": str,
    "api_key_env": str,
    "timeout": (int, float),
    "temperature": (int, float, type(None)),
    "max_tokens": int,
    "prices": str,
    "input_price": (int, float),
    "output_price": (int, float),
}
"""Options shared by these models. Prices are in US dollars per million tokens."""


@registry.model("openai")
def openai_model(name: str, options: Mapping[str, Any]) -> OpenAICompatible:
    """Create the model `openai/<model>`."""
    return _hosted(name, options, "https://api.openai.com/v1", "OPENAI_API_KEY", limit_name="max_completion_tokens")


@registry.model("openrouter")
def openrouter_model(name: str, options: Mapping[str, Any]) -> OpenAICompatible:
    """Create the model `openrouter/<vendor>/<model>`. OpenRouter reports the cost of each call on request."""
    return _hosted(name, options, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", body={"usage": {"include": True}})


@registry.model("anthropic")
def anthropic_model(name: str, options: Mapping[str, Any]) -> OpenAICompatible:
    """Create the model `anthropic/<model>`."""
    return _hosted(name, options, "https://api.anthropic.com/v1/", "ANTHROPIC_API_KEY", structured=False)


@registry.model("compatible")
def compatible_model(name: str, options: Mapping[str, Any]) -> OpenAICompatible:
    """Create the model `compatible/<model>`. The address is taken from the option base_url or the variable MEMEVAL_BASE_URL."""
    url = options.get("base_url") or os.environ.get("MEMEVAL_BASE_URL", "")
    if not url:
        raise ConfigError(f"Model {name} has no address.", fix="Set option base_url, or the variable MEMEVAL_BASE_URL.")
    return _make(name, _after_slash(name), ModelServer(url, _key(options, "MEMEVAL_API_KEY")), options)


@registry.model("http:")
@registry.model("https:")
def address_model(name: str, options: Mapping[str, Any]) -> OpenAICompatible:
    """Create the model `http://host:port/v1#<model>`."""
    url, _, model = name.partition("#")
    if not model:
        raise ConfigError(f"Model {name} lacks the model's name.", fix="Add it after a #: http://localhost:11434/v1#qwen3.")
    return _make(name, model, ModelServer(url, _key(options, "MEMEVAL_API_KEY")), options)


def _hosted(name: str, options: Mapping[str, Any], url: str, variable: str, **differences: Any) -> OpenAICompatible:
    key = _key(options, variable)
    if not key and not options.get("base_url"):
        raise ConfigError(
            f"Model {name} has no API key.",
            fix=f"Set the variable {options.get('api_key_env') or variable}, or use another model.",
        )
    return _make(name, _after_slash(name), ModelServer(options.get("base_url") or url, key, **differences), options)


def _make(name: str, model: str, endpoint: ModelServer, options: Mapping[str, Any]) -> OpenAICompatible:
    check_options(name, options, OPTIONS)
    kept = {key: options[key] for key in ("timeout", "temperature", "max_tokens") if key in options}
    return OpenAICompatible(name, model, endpoint, price=_price(name, options), **kept)


def _price(name: str, options: Mapping[str, Any]) -> Price | None:
    if "input_price" in options and "output_price" in options:
        return Price(float(options["input_price"]), float(options["output_price"]))
    return load_prices(Path(options["prices"]) if options.get("prices") else None).of(name)


def _key(options: Mapping[str, Any], variable: str) -> str:
    return os.environ.get(str(options.get("api_key_env") or variable), "")


def _after_slash(name: str) -> str:
    model = name.partition("/")[2]
    if not model:
        raise ConfigError(f"Model {name!r} lacks the model's name.", fix=f"Write {name}/<model>.")
    return model
