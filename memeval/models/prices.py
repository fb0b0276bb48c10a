"""The dated price table, for responses that don't include their cost."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memeval.core.errors import ConfigError

TABLE = Path(__file__).with_name("prices.toml")
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")


@dataclass(frozen=True, slots=True)
class Price:
    """A price in US dollars per million tokens."""

    input: float
    output: float

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Compute the cost in US dollars."""
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """A price table and its date, which is recorded in results."""

    as_of: str
    models: Mapping[str, Price]

    def of(self, model: str) -> Price | None:
        """Return the price of `vendor/model`, or None if it is unknown.

        A dated snapshot has the price of its model, and a model on OpenRouter has the vendor's price.
        """
        name = model.removeprefix("openrouter/")
        return self.models.get(name) or self.models.get(_DATED.sub("", name))


def load_prices(path: Path | None = None) -> Prices:
    """Load the built-in table, or a file in the same format. Raises ConfigError with the file and model."""
    path = path or TABLE
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The price table {path} can't be read: {error}", fix="Use the format of prices.toml.") from error
    models = data.get("models", {})
    if not isinstance(models, dict):
        raise ConfigError(f"{path}: [models] is not a table.", fix='Write lines such as "openai/gpt-4o" = [2.50, 10.00].')
    return Prices(str(data.get("as_of", "")), {name: _price(path, name, pair) for name, pair in models.items()})


def _price(path: Path, name: str, pair: Any) -> Price:
    match pair:
        case [int() | float() as given, int() | float() as taken] if given >= 0 and taken >= 0:
            return Price(float(given), float(taken))
    raise ConfigError(f"{path}: the price of {name!r} is wrong.", fix="Give [input, output] in US dollars per million tokens.")
