"""`scripted`: fixed replies for tests and dry runs. The same messages always get the same reply, so runs are reproducible.

A file contains `{"rules": [{"contains": "text" or ["all", "of", "these"], "reply": "..."}], "default": "..."}`. The
first rule whose texts are all in the messages determines the reply. If no rule matches and there is no default,
ModelError is raised.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core.errors import ConfigError, ModelError
from memeval.core.protocols import Model
from memeval.core.text import estimate_tokens
from memoryd.core.types import Completion, Message, Usage


@dataclass(frozen=True, slots=True)
class Rule:
    """A reply to messages that contain all of the given texts."""

    contains: tuple[str, ...]
    reply: str


class ScriptedModel(Model):
    """A model that replies according to rules. Tokens are estimated, and the cost is 0."""

    def __init__(self, rules: Sequence[Rule] = (), default: str | None = None, name: str = "scripted") -> None:
        self._rules = tuple(rules)
        self._default = default
        self._name = name

    @property
    def name(self) -> str:
        """The requested name."""
        return self._name

    @property
    def cache_salt(self) -> str:
        """The script itself, because a changed script acts as a different model."""
        return repr((self._rules, self._default))

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the reply of the first matching rule."""
        asked = "\n".join(message.content for message in messages)
        fitting = (rule.reply for rule in self._rules if all(text in asked for text in rule.contains))
        reply = next(fitting, self._default)
        if reply is None:
            raise ModelError("No rule of the script matches the messages.", fix="Add a rule or a default.")
        usage = Usage(calls=1, input_tokens=estimate_tokens(asked), output_tokens=estimate_tokens(reply))
        return Completion(reply, self._name, usage)


@registry.model("scripted")
def scripted_model(name: str, options: Mapping[str, Any]) -> ScriptedModel:
    """Create `scripted/<file>`, or `scripted` with the contents of such a file as options. Raises ConfigError."""
    path = name.partition("/")[2]
    data: Any = options
    if path:
        try:
            data = json.loads(Path(path).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"The script {path} can't be read: {error}", fix="Give a JSON file with rules and default."
            ) from error
    if not isinstance(data, Mapping) or not {"rules", "default"} >= data.keys():
        raise ConfigError(f"The script of {name} is not an object with rules and default.", fix="See memeval.models.scripted.")
    return ScriptedModel([_rule(name, rule) for rule in data.get("rules", ())], data.get("default"), name)


def _rule(name: str, data: Any) -> Rule:
    match data:
        case {"contains": str() as text, "reply": str() as reply}:
            return Rule((text,), reply)
        case {"contains": [*texts], "reply": str() as reply} if all(isinstance(text, str) for text in texts):
            return Rule(tuple(texts), reply)
    raise ConfigError(f"The script of {name} has an invalid rule: {str(data)[:100]}", fix="Give contains and reply as text.")
