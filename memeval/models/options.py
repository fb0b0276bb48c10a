"""Check a model's options from YAML files and flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memeval.core.errors import ConfigError


def check_options(model: str, options: Mapping[str, Any], known: Mapping[str, type | tuple[type, ...]]) -> None:
    """Raise ConfigError for an unknown option or one of the wrong type."""
    for name, value in options.items():
        if name not in known:
            raise ConfigError(f"Model {model} has no option {name!r}.", fix=f"Known: {', '.join(sorted(known)) or 'none'}.")
        if isinstance(value, bool) or not isinstance(value, known[name]):
            raise ConfigError(f"Option {name!r} of model {model} can't be {value!r}.", fix="Correct its type.")
