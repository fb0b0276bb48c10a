"""Which reader decides what is kept. See docs/design/extractors.md for when text leaves the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from memoryd.config import Settings
from memoryd.daydream.transcript import ReadLimits
from memoryd.embed.onnx import OnnxEmbedder
from memoryd.errors import InputError
from memoryd.llm.logins import Logins
from memoryd.protocols import LLM, Embedder, Extractor
from memoryd.types import Extraction, Passage

ENDPOINT, CLAUDE, SESSION, OFFLINE = "endpoint", "claude", "session", "offline"
# These ask a model of their own about each piece; the others read by rules, at no cost.
ASKS_A_MODEL = frozenset({ENDPOINT, CLAUDE})
READS_BY_RULES = frozenset({SESSION, OFFLINE})
WHOLE_LOG_TOKENS = 500_000


def choose(settings: Settings) -> str:
    """endpoint, claude, session or offline.

    `auto` sends text out only to an endpoint that memoryd itself was given, or to Claude once the user agreed.
    """
    if settings.reader != "auto":
        return settings.reader
    if settings.openai_base_url or settings.openai_api_key:
        return ENDPOINT
    return CLAUDE if settings.use_claude else SESSION


def models_of(settings: Settings) -> tuple[str, ...]:
    """The models that may be asked, in order: `auto` asks Claude, if the user agreed, when the endpoint can't answer."""
    chosen = choose(settings)
    if chosen not in ASKS_A_MODEL:
        return ()
    return (chosen, CLAUDE) if settings.reader == "auto" and chosen == ENDPOINT and settings.use_claude else (chosen,)


def limits_for(settings: Settings, reader: str) -> ReadLimits:
    """How much of a log a reader of that name gets at once.

    A model's pieces are bounded by what a call may cost. Rules cost nothing, and judge better by more of a session:
    measured on whole logs against pieces of 6,000 tokens, see docs/quality.md.
    """
    return ReadLimits(tokens=WHOLE_LOG_TOKENS if reader in READS_BY_RULES else max(1, settings.chunk_tokens))


def make_llm(settings: Settings, name: str, environ: Mapping[str, str] | None = None, logins: Logins | None = None) -> LLM:
    """The model behind the endpoint or claude reader. Raises ConfigError when a key is missing, InputError for other readers."""
    if name not in ASKS_A_MODEL:
        raise InputError(f"The {name} reader asks no model.", fix="Use an endpoint or claude as reader: memoryd setup.")
    from memoryd.llm import ClaudeLLM, OpenAILLM

    return OpenAILLM(settings, environ) if name == ENDPOINT else ClaudeLLM(settings, environ, logins=logins)


class OfflineReader:
    """Reads by rules, under the name by which it is recorded: `offline`, or `session` when a session's model settles the rest."""

    def __init__(self, name: str = OFFLINE, embedder: Embedder | None = None) -> None:
        from memoryd.daydream.heuristic import HeuristicExtractor, Judge

        # The judge's weights hold for the bundled model's vectors only.
        self._rules = HeuristicExtractor(judge=Judge(embedder) if isinstance(embedder, OnnxEmbedder) else None)
        self._name = name

    @property
    def name(self) -> str:
        """Offline or session."""
        return self._name

    def extract(self, passage: Passage) -> Extraction:
        """Candidates in the order of their evidence."""
        return replace(self._rules.extract(passage), extractor=self._name)


def make_extractor(
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    record: Path | None = None,
    replay: Path | None = None,
    name: str = "",
    logins: Logins | None = None,
    embedder: Embedder | None = None,
) -> Extractor:
    """The chosen reader, or the one of that name; its libraries are loaded here. Raises ConfigError when a key is missing.

    `record` is a folder for a model's answers, `replay` one from which they come instead of from the model; for
    these a reader that asks no model raises InputError. Rules read more strictly with the bundled `embedder`.
    """
    name = name or choose(settings)
    if name not in ASKS_A_MODEL:
        if record or replay:
            raise InputError(f"The {name} reader asks no model.", fix="Add --reader endpoint or --reader claude.")
        return OfflineReader(name, embedder)
    from memoryd.daydream.model_extract import ModelExtractor
    from memoryd.llm import RecordingLLM, ReplayLLM

    if replay:
        return ModelExtractor(ReplayLLM(replay), settings, name)
    llm = make_llm(settings, name, environ, logins)
    return ModelExtractor(RecordingLLM(llm, record) if record else llm, settings, name)
