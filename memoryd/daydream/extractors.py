"""Which extractor runs. See docs/design/extractors.md for when text leaves the machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memoryd.config import Settings
from memoryd.daydream.transcript import ReadLimits
from memoryd.errors import InputError
from memoryd.protocols import Extractor

HEURISTIC = "heuristic"
WHOLE_LOG_TOKENS = 500_000


def choose(settings: Settings) -> str:
    """heuristic, openai or claude. `auto` sends text out only for a key that was given to memoryd itself."""
    if settings.extractor != "auto":
        return settings.extractor
    return "openai" if settings.openai_api_key else HEURISTIC


def limits_for(settings: Settings, extractor: str) -> ReadLimits:
    """How much of a log an extractor of that name gets at once.

    A model's pieces are bounded by what a call may cost. The heuristic costs nothing, and judges better by more
    of a session: measured on whole logs against pieces of 6,000 tokens, see docs/quality.md.
    """
    return ReadLimits(tokens=WHOLE_LOG_TOKENS if extractor == HEURISTIC else max(1, settings.chunk_tokens))


def make_extractor(
    settings: Settings, environ: Mapping[str, str] | None = None, record: Path | None = None, replay: Path | None = None
) -> Extractor:
    """The chosen extractor; its libraries are loaded here and not before. Raises ConfigError when a key is missing.

    `record` is a folder for a model's answers, `replay` one from which they come instead of from the model; for
    these the heuristic, which asks no model, raises InputError.
    """
    name = choose(settings)
    if name == HEURISTIC and (record or replay):
        raise InputError("The heuristic extractor asks no model.", fix="Add --extractor openai or --extractor claude.")
    if name == HEURISTIC:
        from memoryd.daydream.heuristic import HeuristicExtractor

        return HeuristicExtractor()
    from memoryd.daydream.model_extract import ModelExtractor
    from memoryd.llm import ClaudeLLM, OpenAILLM, RecordingLLM, ReplayLLM

    if replay:
        return ModelExtractor(ReplayLLM(replay), settings, name)
    llm = OpenAILLM(settings, environ) if name == "openai" else ClaudeLLM(settings, environ)
    return ModelExtractor(RecordingLLM(llm, record) if record else llm, settings, name)
