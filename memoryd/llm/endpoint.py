"""Chat completions from an OpenAI-compatible endpoint, or from OpenRouter if no URL is configured."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from memoryd.core import openai_api
from memoryd.core.config import Settings, openai_key
from memoryd.core.errors import ConfigError
from memoryd.core.types import Completion, Message


class OpenAILLM:
    """A chat model. The client and its library are loaded on the first call."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] | None = None) -> None:
        self._model = settings.openai_model
        self._url = settings.openai_base_url or openai_api.OPENROUTER_URL
        self._key = openai_key(settings, environ)
        self._timeout = settings.openai_timeout_seconds
        self._guard = threading.Lock()
        self._client: Any = None
        if not self._key and not settings.openai_base_url:
            # A local server needs no key; OpenRouter does.
            raise ConfigError(
                "The endpoint reader has no key.",
                fix="Set openai_api_key or OPENROUTER_API_KEY, openai_base_url for a local server, or reader = offline.",
            )

    @property
    def name(self) -> str:
        """The endpoint's name for the model."""
        return self._model

    @property
    def base_url(self) -> str:
        """Base URL for requests."""
        return self._url

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """Return one answer.

        Raises:
            ModelError: The call failed.
        """
        return openai_api.chat(self._connect(), self._model, messages, schema, schema_name="candidates")

    def _connect(self) -> Any:
        with self._guard:
            if self._client is None:
                self._client = openai_api.make_client(self._url, self._key, self._timeout)
            return self._client
