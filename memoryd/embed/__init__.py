"""Embedders by name. Models are loaded when the first text is embedded."""

from __future__ import annotations

from memoryd.core.config import Settings
from memoryd.core.errors import ConfigError
from memoryd.core.protocols import Embedder, TokenEncoder
from memoryd.embed.endpoint import EndpointEmbedder
from memoryd.embed.hashed import HashEmbedder, HashTokenEncoder
from memoryd.embed.hub import HubEmbedder
from memoryd.embed.late import LateEncoder
from memoryd.embed.onnx import OnnxEmbedder

CHOICES = "bge-small, hash, hub:<model>, openai:<model>"


def make_embedder(settings: Settings) -> Embedder:
    """Create the embedder named by `settings.embedder`.

    Raises:
        ConfigError: The name is unknown.
    """
    kind, _, model = settings.embedder.partition(":")
    if settings.embedder == "bge-small":
        return OnnxEmbedder()
    if settings.embedder == "hash":
        return HashEmbedder()
    if kind == "hub" and model:
        return HubEmbedder(model, settings.home / "models")
    if kind == "openai" and model:
        base_url, key = settings.embedding_base_url, settings.embedding_api_key
        return EndpointEmbedder(model, base_url, key, settings.openai_timeout_seconds)
    raise ConfigError(f"There is no embedder '{settings.embedder}'.", fix=f"Set embedder to one of: {CHOICES}.")


def make_encoder(settings: Settings) -> TokenEncoder | None:
    """Create the token encoder for `rank = maxsim`, or None for other rankings. The `hash` embedder gets a hashing encoder.

    Raises:
        EmbeddingError: The model can't be loaded.
    """
    if settings.rank != "maxsim":
        return None
    return HashTokenEncoder() if settings.embedder == "hash" else LateEncoder()


def warm(embedder: Embedder) -> None:
    """Load the model eagerly, for example in a background thread.

    Raises:
        EmbeddingError: The model can't be loaded.
        DependencyError: An optional library is missing.
    """
    embedder.embed_queries(["warm"])
