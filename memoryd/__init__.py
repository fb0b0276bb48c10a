"""Long-term memory for Claude Code: Markdown files are the truth, everything else is an index.

The public names of the package, imported on first use. They remain stable between releases.
"""

TYPE_CHECKING = False  # Type checkers treat it as true. Importing `typing` would slow down the start of every command.
if TYPE_CHECKING:
    from memoryd.core.config import Settings, load_settings
    from memoryd.core.errors import (
        ConfigError,
        ConflictError,
        DaemonError,
        DaemonUnavailable,
        DependencyError,
        EmbeddingError,
        InputError,
        MemorydError,
        ModelError,
        NotFoundError,
        StoreError,
    )
    from memoryd.core.protocols import Embedder, Extractor, MemoryStore, TokenEncoder
    from memoryd.core.types import Hit, Kind, Link, LinkType, MemoryItem, Polarity, Query, Scope, Source, Status
    from memoryd.service import Orchestrator

__version__ = "0.1.0"

_MODULES = {
    "memoryd.core.config": "Settings load_settings",
    "memoryd.core.errors": (
        "ConfigError ConflictError DaemonError DaemonUnavailable DependencyError EmbeddingError InputError MemorydError "
        "ModelError NotFoundError StoreError"
    ),
    "memoryd.core.protocols": "Embedder Extractor MemoryStore TokenEncoder",
    "memoryd.core.types": "Hit Kind Link LinkType MemoryItem Polarity Query Scope Source Status",
    "memoryd.service": "Orchestrator",
}

__all__ = [
    "ConfigError",
    "ConflictError",
    "DaemonError",
    "DaemonUnavailable",
    "DependencyError",
    "Embedder",
    "EmbeddingError",
    "Extractor",
    "Hit",
    "InputError",
    "Kind",
    "Link",
    "LinkType",
    "MemoryItem",
    "MemoryStore",
    "MemorydError",
    "ModelError",
    "NotFoundError",
    "Orchestrator",
    "Polarity",
    "Query",
    "Scope",
    "Settings",
    "Source",
    "Status",
    "StoreError",
    "TokenEncoder",
    "load_settings",
]


def __getattr__(name: str) -> object:
    """Import a public name from its module."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names.split():
            found: object = getattr(import_module(module), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
