"""A model's help with ingesting: what it is asked, and answers that can't be used."""

from __future__ import annotations

import json
import re
from typing import Any

from memeval.errors import ProviderError
from memeval.protocols import Model
from memoryd.core.types import Message

_JSON = re.compile(r"\[.*\]|\{.*\}", re.S)


def ask(model: Model, instruction: str, text: str, max_tokens: int = 1_000) -> str:
    """The model's answer. An empty one is a ProviderError: it must not look like nothing worth keeping."""
    answer = model.complete([Message("system", instruction), Message("user", text)], max_tokens=max_tokens).text.strip()
    if not answer:
        raise ProviderError(f"{model.name} gave an empty answer.", fix="Try again, or use another model.", transient=True)
    return answer


def ask_list(model: Model, instruction: str, text: str) -> list[str]:
    """A list of texts, asked for as a JSON array. Raises ProviderError for another answer."""
    answer = ask(model, instruction, text)
    found = _JSON.search(answer)
    try:
        value: Any = json.loads(found[0]) if found else None
    except ValueError:
        value = None
    if not isinstance(value, list):
        raise ProviderError(f"{model.name} gave no JSON list: {answer[:200]!r}", fix="Use another model.", transient=True)
    return [item.strip() for item in value if isinstance(item, str) and item.strip()]
