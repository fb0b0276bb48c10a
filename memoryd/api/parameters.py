"""Parameters of operations. Each is defined once. Parsing, interfaces and documentation are derived from the definition.

A request is a frozen dataclass whose fields are created by the functions at the end of this module. Each field
defines the value passed to the handler, the JSON schema of a tool, the option of a command, the field of a form and a
row of the reference. It also defines what differs for a model, such as a lower limit or a parameter that is not
offered.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from enum import StrEnum
from typing import Any, TypeVar, dataclass_transform

from memoryd.core.clock import from_iso
from memoryd.core.codec import ID_PATTERN, is_id, shown
from memoryd.core.errors import InputError
from memoryd.core.text import shorten
from memoryd.core.types import Status

Schema = dict[str, Any]
R = TypeVar("R")
T = TypeVar("T")
MAX_TEXT = 20_000
MAX_NAME = 500
MAX_ENTRIES = 1_000
MODEL_ENTRIES = 32
MAX_COUNT = 1_000
ALL = "all"
_ABSENT = dataclasses.MISSING
_KEY = "parameter"
_DATE = re.compile(r"\d{4}-?\d{2}-?\d{2}")
_TRUE = frozenset({"1", "on", "true", "yes"})


class WrongValueError(Exception):
    """Raised when a value is invalid for its parameter.

    The message completes a sentence that starts with the parameter's name.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Base class of all parameter types.

    Args:
        description: The text for models, also shown to people if `help` is empty.
        help: The text for people, in commands and forms.
        flags: The option names of the command, if different from `--name`.
        asked_of_models: Whether the tool's schema marks it as required although it can be omitted.
        argument: Whether the command takes it as a positional argument.
        in_tool: Whether models can use it in the tool.
        person_only: Whether it is refused in the client's shell, where a model may be typing.
    """

    description: str = ""
    help: str = ""
    flags: tuple[str, ...] = ()
    required: bool = False
    asked_of_models: bool = False
    default: Any = None
    in_tool: bool = True
    argument: bool = False
    person_only: bool = False

    @property
    def about(self) -> str:
        """Return the text for a person."""
        return self.help or self.description

    def convert(self, value: Any, *, model: bool = False) -> Any:
        """Validate a value and convert it for the handler.

        Args:
            value: The plain value.
            model: Whether to apply the limits for models.

        Raises:
            WrongValueError: if the value is invalid.
        """
        raise NotImplementedError

    def schema(self) -> Schema:
        """Return the JSON schema for a model, without the description."""
        raise NotImplementedError

    def full_schema(self) -> Schema:
        """Return the JSON schema with the description."""
        return self.schema() | ({"description": self.description} if self.description else {})

    def from_texts(self, texts: Sequence[str]) -> Any:
        """Convert the texts of a form field to a plain value. Return None if the field is empty."""
        return texts[-1].strip() if texts and texts[-1].strip() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Parameter):
    """A text. Surrounding whitespace is ignored."""

    limit: int = MAX_TEXT
    model_limit: int = MAX_NAME
    words: bool = False  # Whether the command joins all remaining words into this text.

    def convert(self, value: Any, *, model: bool = False) -> str:
        """Return the stripped text."""
        if not isinstance(value, str):
            raise WrongValueError("must be of type string")
        most = self.model_limit if model else self.limit
        if len(value) > most:
            raise WrongValueError(f"has {len(value)} characters; the maximum is {most}")
        text = value.strip()
        if self.required and not any(sign.isprintable() and not sign.isspace() for sign in text):  # NULs only
            raise WrongValueError("is missing: it must not be empty")
        return text

    def schema(self) -> Schema:
        """Return the schema of a non-empty string."""
        return {"type": "string", "minLength": 1, "maxLength": self.model_limit}


@dataclass(frozen=True, slots=True, kw_only=True)
class Id(Text):
    """The id of a memory."""

    model_limit: int = 16

    def convert(self, value: Any, *, model: bool = False) -> str:
        """Return the id. It may be empty if the parameter is optional."""
        text = Text.convert(self, value, model=False)
        if text and not is_id(text):
            raise WrongValueError(f"'{shown(text)}' is not a memory id; ids look like mem_0123456789ab")
        return text

    def schema(self) -> Schema:
        """Return the schema of a string with the pattern of ids."""
        return Text.schema(self) | {"pattern": f"^{ID_PATTERN.pattern}$"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePath(Text):
    """A path on this machine. Commands make it absolute because the daemon has a different working directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(Parameter):
    """One of several texts."""

    options: Collection[str]

    def convert(self, value: Any, *, model: bool = False) -> str:
        """Return the text unchanged."""
        if not isinstance(value, str) or value not in self.options:
            raise WrongValueError(f"must be one of {', '.join(self.options)}; '{shown(value)}' is not")
        return value

    def schema(self) -> Schema:
        """Return the schema of an enumerated string."""
        return {"type": "string", "enum": list(self.options)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Parameter):
    """One member of an enum."""

    enum: type[StrEnum]

    def convert(self, value: Any, *, model: bool = False) -> StrEnum:
        """Return the member with this value, ignoring case."""
        names = {member.value.casefold(): member for member in self.enum}
        member = names.get(value.strip().casefold()) if isinstance(value, str) else None
        if member is None:
            raise WrongValueError(f"must be one of {', '.join(self.enum)}; '{shown(value)}' is not")
        return member

    def schema(self) -> Schema:
        """Return the schema of an enumerated string."""
        return {"type": "string", "enum": [member.value for member in self.enum]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statuses(Parameter):
    """One status or all of them, as a tuple. None if omitted."""

    def convert(self, value: Any, *, model: bool = False) -> tuple[Status, ...]:
        """Return the selected statuses."""
        if value == ALL:
            return tuple(Status)
        if value == "":
            return (Status.ACTIVE,)
        try:
            return (Status(value),)
        except ValueError:
            raise WrongValueError(f"must be one of {', '.join([*Status, ALL])}; '{shown(value)}' is not") from None

    def schema(self) -> Schema:
        """Return the schema of an enumerated string."""
        return {"type": "string", "enum": [*(status.value for status in Status), ALL]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Parameter):
    """An integer within limits. `model_bounds` are the limits for models, and `model_default` is the default in the schema."""

    low: int = 0
    high: int = MAX_COUNT
    model_bounds: tuple[int, int] | None = None
    model_default: int | None = None

    def convert(self, value: Any, *, model: bool = False) -> int:
        """Return the integer. Floats such as 8.0 are accepted, because models write them for 8."""
        low, high = self._bounds(model)
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise WrongValueError(f"must be of type integer, from {low} to {high}; '{shown(value)}' is not")
        return number

    def _bounds(self, model: bool) -> tuple[int, int]:
        return self.model_bounds if model and self.model_bounds else (self.low, self.high)

    def schema(self) -> Schema:
        """Return the schema of an integer, with the limits for models."""
        low, high = self._bounds(True)
        default = self.default if self.model_default is None else self.model_default
        return {"type": "integer", "minimum": low, "maximum": high} | ({} if default is None else {"default": default})

    def from_texts(self, texts: Sequence[str]) -> Any:
        """Convert the text to a number if possible. Otherwise return the text, which `convert` will reject."""
        text = Parameter.from_texts(self, texts)
        return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 20 else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Parameter):
    """A number from 0 to 1."""

    def convert(self, value: Any, *, model: bool = False) -> float:
        """Return the number."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise WrongValueError(f"must be of type number, from 0 to 1; '{shown(value)}' is not")
        return float(value)

    def schema(self) -> Schema:
        """Return the schema of a number from 0 to 1."""
        return {"type": "number", "minimum": 0, "maximum": 1}

    def from_texts(self, texts: Sequence[str]) -> Any:
        """Convert the text to a number if possible. Otherwise return the text, which `convert` will reject."""
        text = Parameter.from_texts(self, texts)
        try:
            return None if text is None else float(text)
        except ValueError:
            return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Parameter):
    """A boolean."""

    def convert(self, value: Any, *, model: bool = False) -> bool:
        """Return the value unchanged."""
        if not isinstance(value, bool):
            raise WrongValueError(f"must be of type boolean (true or false); '{shown(value)}' is not")
        return value

    def schema(self) -> Schema:
        """Return the schema of a boolean. It includes the default, unless omitting the value has its own meaning."""
        return {"type": "boolean"} | ({} if self.default is None else {"default": self.default})

    def from_texts(self, texts: Sequence[str]) -> Any:
        """Return whether the box is checked, or None if the field is absent."""
        return texts[-1].strip() in _TRUE if texts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf(Parameter):
    """A tuple of values of one type. A single text becomes a list with one element."""

    item: Parameter
    most: int = MAX_ENTRIES
    model_most: int = MODEL_ENTRIES

    def convert(self, value: Any, *, model: bool = False) -> tuple[Any, ...]:
        """Convert all values. The item type decides whether empty texts are valid."""
        entries = [value] if isinstance(value, str) else value
        most = self.model_most if model else self.most
        if not isinstance(entries, list | tuple):
            raise WrongValueError("must be of type array")
        if len(entries) > most:
            raise WrongValueError(f"has {len(entries)} entries; the maximum is {most}")
        return tuple(self._entry(number, entry, model) for number, entry in enumerate(entries, 1))

    def _entry(self, number: int, entry: Any, model: bool) -> Any:
        try:
            return self.item.convert(entry, model=model)
        except WrongValueError as error:
            raise WrongValueError(f"(entry {number}) {error}") from error

    def schema(self) -> Schema:
        """Return the schema of an array."""
        return {"type": "array", "items": self.item.full_schema(), "maxItems": self.model_most}

    def from_texts(self, texts: Sequence[str]) -> Any:
        """Return the non-empty texts."""
        return [text for text in texts if text.strip()] or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment(Text):
    """A time as a datetime. None if omitted."""

    model_limit: int = 40

    def convert(self, value: Any, *, model: bool = False) -> Any:
        """Return the time."""
        text = Text.convert(self, value, model=model)
        return self._moment(text) if text else None

    def _moment(self, text: str) -> Any:
        try:
            return from_iso(text)
        except InputError as error:
            raise WrongValueError(f"{error.message} {error.fix}".rstrip(".")) from error


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A moment, or the first and the last moment of a day."""

    start: datetime
    end: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOrMoment(Moment):
    """A time or a date, as a Span."""

    def _moment(self, text: str) -> TimeSpan:
        moment: datetime = Moment._moment(self, text)
        alone = _DATE.fullmatch(text) is not None
        return TimeSpan(moment, datetime.combine(moment, time.max, UTC) if alone else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects(Parameter):
    """A list of objects. The handler parses each one, so that an invalid object does not fail the others."""

    entry: type
    most: int
    model_most: int = MODEL_ENTRIES

    def convert(self, value: Any, *, model: bool = False) -> tuple[Mapping[str, Any], ...]:
        """Return the objects unchanged."""
        if not isinstance(value, list | tuple) or not all(isinstance(entry, dict) for entry in value):
            raise WrongValueError("must be of type array, with entries of type object")
        most = self.model_most if model else self.most
        if len(value) > most:
            raise WrongValueError(f"has {len(value)} entries; the maximum is {most}")
        return tuple(value)

    def schema(self) -> Schema:
        """Return the schema of an array of the entry's dataclass."""
        return {"type": "array", "items": input_schema(self.entry), "maxItems": self.model_most}


@dataclass(frozen=True, slots=True, kw_only=True)
class Values(Parameter):
    """Plain values by name, such as {"floor": "0.5"}. A value is a text, a number, a boolean, a list of texts or null."""

    def convert(self, value: Any, *, model: bool = False) -> dict[str, Any]:
        """Return the values unchanged."""
        if not isinstance(value, dict) or not all(isinstance(key, str) and _is_plain(entry) for key, entry in value.items()):
            raise WrongValueError("must be of type object, with plain values")
        return value

    def schema(self) -> Schema:
        """Return the schema of an object."""
        return {"type": "object"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainObjects(Parameter):
    """A list of objects with plain values, which the handler checks. A single object counts as a list of one."""

    properties: Mapping[str, Mapping[str, Any]]

    def convert(self, value: Any, *, model: bool = False) -> tuple[dict[str, Any], ...]:
        """Return the objects unchanged."""
        entries = [value] if isinstance(value, dict) else value
        if not isinstance(entries, list | tuple) or len(entries) > MODEL_ENTRIES:
            raise WrongValueError(f"must be an array of at most {MODEL_ENTRIES} objects")
        one = Values()
        return tuple(one.convert(entry, model=model) for entry in entries)

    def schema(self) -> Schema:
        """Return the schema of an array of objects with the properties."""
        return {"type": "array", "items": {"type": "object", "properties": dict(self.properties)}}


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    if isinstance(value, list | tuple):
        return len(value) <= MAX_ENTRIES and all(isinstance(entry, str) and len(entry) <= MAX_TEXT for entry in value)
    return value is None or isinstance(value, bool | int | float)


# Requests


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=())
def request(cls: type[T]) -> type[T]:
    """Turn a parameter class into a request: a frozen, keyword-only dataclass."""
    return dataclass(frozen=True, kw_only=True)(cls)


@request
class NoParameters:
    """A request without parameters."""


def parameters(request_type: type, *, in_tool: bool = False) -> dict[str, Parameter]:
    """Return the parameters of a request by name. With `in_tool`, return only those offered to models."""
    found = {field.name: field.metadata[_KEY] for field in dataclasses.fields(request_type)}
    return {name: parameter for name, parameter in found.items() if parameter.in_tool or not in_tool}


def parse(request_type: type[R], values: Mapping[str, Any], where: str, *, model: bool = False) -> R:
    """Build a request from plain values. A null value counts as omitted.

    Args:
        request_type: The request's class.
        values: Plain values by parameter name.
        where: Prefix of error messages, such as the operation's name.
        model: Whether to accept only the tool's parameters, within the limits for models.

    Raises:
        InputError: if a parameter is unknown, missing or invalid.
    """
    known = parameters(request_type, in_tool=model)
    given = {name: value for name, value in values.items() if value is not None}
    for name in given.keys() - known.keys():
        raise _unknown(name, known, where)
    read: dict[str, Any] = {}
    for name, parameter in known.items():
        if name not in given:
            if parameter.required:
                raise InputError(f"{where}: {name}: is missing.", fix=parameter.about or f"Give {name}.")
            continue
        try:
            read[name] = parameter.convert(given[name], model=model)
        except WrongValueError as error:
            raise InputError(f"{where}: {name}: {error}.", fix=parameter.about or f"Correct {name}.") from error
    return request_type(**read)


def _unknown(name: str, known: Mapping[str, Parameter], where: str) -> InputError:
    near = difflib.get_close_matches(name[:100], known, 1)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return InputError(f"{where}: there is no parameter '{shorten(name, 50)}'.", fix=f"{hint}Known: {', '.join(known) or 'none'}.")


def input_schema(request_type: type) -> Schema:
    """Return the JSON schema of the arguments accepted from models."""
    known = parameters(request_type, in_tool=True)
    return {
        "type": "object",
        "properties": {name: parameter.full_schema() for name, parameter in known.items()},
        "required": [name for name, parameter in known.items() if parameter.required or parameter.asked_of_models],
        "additionalProperties": False,
    }


# Field functions: each defines one parameter of a request. They return Any, like `dataclasses.field`.


def _field(make: Callable[..., Parameter], default: Any, required: bool, **about: Any) -> Any:
    parameter = make(default=default, required=required, **about)
    return dataclasses.field(default=_ABSENT if required else default, metadata={_KEY: parameter})


def text(description: str = "", *, default: str | None = "", required: bool = False, **about: Any) -> Any:
    """Define a text of up to `limit` characters (`model_limit` for models). With `words`, the command joins all its words."""
    return _field(Text, default, required, description=description, **about)


def path(*, required: bool = False, **about: Any) -> Any:
    """Define a path as a text. It is empty if omitted."""
    return _field(FilePath, "", required, **about)


def memory_id(*, required: bool = True, **about: Any) -> Any:
    """Define the id of a memory. It is empty if omitted."""
    description = "Id of a memory, as in results: mem_ and 12 hex digits."
    return _field(Id, "", required, description=description, **about)


def choice(enum: type[StrEnum], description: str = "", *, default: StrEnum | None = None, **about: Any) -> Any:
    """Define a member of an enum."""
    return _field(Choice, default, False, enum=enum, description=description, **about)


def statuses(description: str = "Default: active.", **about: Any) -> Any:
    """Define a tuple of statuses. It is None if omitted."""
    return _field(Statuses, None, False, description=description, **about)


def count(description: str = "", *, default: int | None, low: int = 0, high: int = MAX_COUNT, **about: Any) -> Any:
    """Define an integer from `low` to `high`."""
    return _field(Count, default, False, low=low, high=high, description=description, **about)


def share(description: str = "", **about: Any) -> Any:
    """Define a number from 0 to 1. It is None if omitted."""
    return _field(Share, None, False, description=description, **about)


def flag(description: str = "", *, default: bool | None = False, required: bool = False, **about: Any) -> Any:
    """Define a boolean. It may be None if omitted and None is its default."""
    return _field(Flag, default, required, description=description, **about)


def texts(description: str = "", entry: str = "", *, default: tuple[str, ...] | None = (), **about: Any) -> Any:
    """Define a tuple of texts. `entry` describes the items."""
    limits = {name: about.pop(name) for name in ("limit", "model_limit") if name in about}
    item = Text(description=entry, **limits)
    return _field(ListOf, default, False, item=item, description=description, **about)


def ids(description: str = "", **about: Any) -> Any:
    """Define a tuple of memory ids."""
    return _field(ListOf, (), False, item=Id(), description=description, **about)


def choices(enum: type[StrEnum], description: str = "", entry: str = "", **about: Any) -> Any:
    """Define a tuple of members of an enum."""
    return _field(ListOf, (), False, item=Choice(enum=enum, description=entry), description=description, **about)


def moment(description: str = "", **about: Any) -> Any:
    """Define a datetime. It is None if omitted."""
    return _field(Moment, None, False, description=description, **about)


def day_or_moment(description: str = "", **about: Any) -> Any:
    """Define a Span. It is None if omitted."""
    return _field(DayOrMoment, None, False, description=description, **about)


def objects(entry: type, description: str = "", *, most: int, **about: Any) -> Any:
    """Define a tuple of objects with the fields of the dataclass `entry`."""
    return _field(Objects, (), False, entry=entry, most=most, description=description, **about)


def values(description: str = "", **about: Any) -> Any:
    """Define plain values by name."""
    return _field(Values, None, False, description=description, **about)


def plain_objects(properties: Mapping[str, Mapping[str, Any]], description: str = "", **about: Any) -> Any:
    """Define a list of objects with plain values."""
    return _field(PlainObjects, (), False, description=description, properties=properties, **about)
