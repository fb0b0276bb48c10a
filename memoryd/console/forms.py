"""Generate forms from the requests of operations, and read the values that the user entered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoryd.api.parameters import (
    ALL,
    Choice,
    Count,
    Flag,
    ListOf,
    Objects,
    OneOf,
    Parameter,
    Share,
    Statuses,
    Text,
    Values,
    parameters,
)
from memoryd.console.fields import Fields
from memoryd.core.types import Status

LONG_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class FormField:
    """A form field. `kind` is text, area, number, select, many, lines or box. `value` is the entered value or the default."""

    name: str
    label: str
    kind: str
    hint: str
    value: Any
    options: Sequence[str] = ()
    required: bool = False


def fields_of(request_type: type, entered: Fields) -> list[FormField]:
    """Return the fields of a request that a form can offer."""
    known = parameters(request_type)
    return [_field(name, parameter, entered) for name, parameter in known.items() if not isinstance(parameter, Objects | Values)]


def values_of(request_type: type, entered: Fields) -> dict[str, Any]:
    """Return the entered values in the operation's format."""
    found = {name: _entered(name, parameter, entered) for name, parameter in parameters(request_type).items()}
    return {name: value for name, value in found.items() if value is not None}


def _entered(name: str, parameter: Parameter, entered: Fields) -> Any:
    value = entered.plain(name, parameter)
    if value and isinstance(parameter, ListOf) and not options_of(parameter.item):
        return [line.strip() for text in value for line in text.splitlines() if line.strip()]
    if isinstance(parameter, Flag) and value is None and parameter.default:
        return False  # Browsers don't send unchecked boxes.
    return value


def _field(name: str, parameter: Parameter, entered: Fields) -> FormField:
    value = entered.plain(name, parameter)
    if value is None:
        value = parameter.default
    label = name.replace("_", " ").capitalize()
    return FormField(name, label, _kind(parameter), parameter.about, _shown(value), options_of(parameter), parameter.required)


def _kind(parameter: Parameter) -> str:
    if isinstance(parameter, ListOf):
        return "many" if options_of(parameter.item) else "lines"
    if isinstance(parameter, Flag):
        return "box"
    if isinstance(parameter, Count | Share):
        return "number"
    if options_of(parameter):
        return "select"
    return "area" if isinstance(parameter, Text) and parameter.words and parameter.model_limit > LONG_TEXT else "text"


def options_of(parameter: Parameter) -> list[str]:
    """Return the allowed values, or an empty result for free input."""
    if isinstance(parameter, ListOf):
        return options_of(parameter.item)
    if isinstance(parameter, Choice):
        return [member.value for member in parameter.enum]
    if isinstance(parameter, Statuses):
        return [*(status.value for status in Status), ALL]
    return list(parameter.options) if isinstance(parameter, OneOf) else []


def _shown(value: Any) -> Any:
    if value is None:
        return ""
    return [str(entry) for entry in value] if isinstance(value, list | tuple) else value


def rows_of(answer: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Convert a result to names and values, omitting empty values."""
    return [(name.replace("_", " "), value) for name, value in answer.items() if value not in (None, "", [], {})]
