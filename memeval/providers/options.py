"""Options of a provider, read with types; what is unknown or wrong is a ConfigError that names key and file."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from memeval.errors import ConfigError
from memeval.specs import ProviderSpec


class Options:
    """The spec's `options` under those of the run. Each reader notes its key; `finish` complains about the others."""

    def __init__(self, spec: ProviderSpec, given: Mapping[str, Any]) -> None:
        self._spec = spec
        self._values = {**spec.options, **given}
        self._known: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """The value as it is."""
        self._known.add(key)
        value = self._values.get(key)
        return default if value is None else value

    def text(self, key: str, default: str, choices: Sequence[str] = ()) -> str:
        """A text, one of the choices if there are any."""
        value = self.get(key, default)
        if not isinstance(value, str) or (choices and value not in choices):
            raise self.wrong(key, value, f"one of {', '.join(choices)}" if choices else "a text")
        return value

    def count(self, key: str, default: int, least: int = 0) -> int:
        """A whole number of at least `least`."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.wrong(key, value, f"a whole number from {least}")
        return value

    def number(self, key: str, default: float, least: float = 0.0) -> float:
        """A number of at least `least`."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < float("inf"):
            raise self.wrong(key, value, f"a number from {least:g}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def part(self, key: str) -> dict[str, Any]:
        """A mapping, empty when it is not there."""
        value = self.get(key, {})
        if not isinstance(value, Mapping):
            raise self.wrong(key, value, "a mapping")
        return dict(value)

    def wrong(self, key: str, value: Any, wanted: str) -> ConfigError:
        """The error for a value that is not what it should be."""
        where = self._spec.origin.where(f"options.{key}")
        return ConfigError(f"{where} is {value!r}.", fix=f"Give {wanted}.")

    def finish(self) -> None:
        """Raise ConfigError for the first key that nobody asked for."""
        for key in self._values:
            if key not in self._known:
                near = difflib.get_close_matches(key, self._known, n=1, cutoff=0.5)
                hint = f"Did you mean {near[0]}? " if near else ""
                raise ConfigError(
                    f"{self._spec.origin.where(f'options.{key}')} is not an option of provider {self._spec.name}.",
                    fix=f"{hint}Known: {', '.join(sorted(self._known)) or 'none'}.",
                )
