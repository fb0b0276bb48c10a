"""Which extractor runs. See docs/design/extractors.md for when text leaves the machine."""

from __future__ import annotations

from collections.abc import Mapping

from memoryd.config import Settings
from memoryd.protocols import Extractor


def choose(settings: Settings) -> str:
    """heuristic, openai or claude. `auto` sends text out only for a key that was given to memoryd itself."""
    if settings.extractor != "auto":
        return settings.extractor
    return "openai" if settings.openai_api_key else "heuristic"


def make_extractor(settings: Settings, environ: Mapping[str, str] | None = None) -> Extractor:
    """The chosen extractor; its libraries are loaded here and not before. Raises ConfigError when a key is missing."""
    name = choose(settings)
    if name == "heuristic":
        from memoryd.daydream.heuristic import HeuristicExtractor

        return HeuristicExtractor()
    from memoryd.daydream.model_extract import ModelExtractor
    from memoryd.llm import ClaudeLLM, OpenAILLM

    llm = OpenAILLM(settings, environ) if name == "openai" else ClaudeLLM(settings, environ)
    return ModelExtractor(llm, settings, name)
