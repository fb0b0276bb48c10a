"""Parameters of operations: each is described once, and read, offered and documented from that description.

A request is a frozen dataclass whose fields are made by the functions at the end of this module. From a field come the
value that a handler gets, the JSON schema of a tool, the option of a command, the field of a form and a row of the
reference. What differs for a model (a smaller bound, a parameter that it is not offered) is part of the description.
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
    """Why a value is none for its parameter: the end of a sentence that begins with the parameter's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What all kinds of parameters have.

    Args:
        description: for a model, and for all others if there is no `help`.
        help: for a person, in commands and forms.
        flags: names of the command's option, if not `--name`.
        asked_of_models: whether a tool's schema says that it is required, though its absence has a meaning.
        argument: whether a command takes it without an option.
        in_tool: whether a model is offered it.
        person_only: inside the client's shell, where a model types, it is refused.

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
        """What a person reads."""
        return self.help or self.description

    def convert(self, value: Any, *, model: bool = False) -> Any:
        """The value as handlers get it; `model` applies the bounds of a model. Raises WrongValueError."""
        raise NotImplementedError

    def schema(self) -> Schema:
        """The JSON schema that a model is shown, without the description."""
        raise NotImplementedError

    def full_schema(self) -> Schema:
        """The same with the description."""
        return self.schema() | ({"description": self.description} if self.description else {})

    def from_texts(self, texts: Sequence[str]) -> Any:
        """The plain value that the texts of a form's field stand for; None when nothing was entered."""
        return texts[-1].strip() if texts and texts[-1].strip() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Parameter):
    """A text; space around it does not count."""

    limit: int = MAX_TEXT
    model_limit: int = MAX_NAME
    words: bool = False  # on the command line: all that is left, joined by spaces

    def convert(self, value: Any, *, model: bool = False) -> str:
        """The text without space around it."""
        if not isinstance(value, str):
            raise WrongValueError("must be of type string")
        most = self.model_limit if model else self.limit
        if len(value) > most:
            raise WrongValueError(f"has {len(value)} characters, at most {most} are taken")
        text = value.strip()
        if self.required and not any(sign.isprintable() and not sign.isspace() for sign in text):  # NUL alone says nothing
            raise WrongValueError("is missing: it must not be empty")
        return text

    def schema(self) -> Schema:
        """A string, not empty."""
        return {"type": "string", "minLength": 1, "maxLength": self.model_limit}


@dataclass(frozen=True, slots=True, kw_only=True)
class Id(Text):
    """The id of a memory."""

    model_limit: int = 16

    def convert(self, value: Any, *, model: bool = False) -> str:
        """The id. Without any, an optional one is empty."""
        text = Text.convert(self, value, model=False)
        if text and not is_id(text):
            raise WrongValueError(f"'{shown(text)}' is no memory id, it does not have the right form (mem_0123456789ab)")
        return text

    def schema(self) -> Schema:
        """A string of the form of an id."""
        return Text.schema(self) | {"pattern": f"^{ID_PATTERN.pattern}$"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePath(Text):
    """A path on this machine; a command makes it absolute, as the daemon works elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(Parameter):
    """One of some texts."""

    options: Collection[str]

    def convert(self, value: Any, *, model: bool = False) -> str:
        """The text itself."""
        if not isinstance(value, str) or value not in self.options:
            raise WrongValueError(f"must be one of {', '.join(self.options)}, '{shown(value)}' is not")
        return value

    def schema(self) -> Schema:
        """A string out of the options."""
        return {"type": "string", "enum": list(self.options)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Parameter):
    """One member of an enum."""

    enum: type[StrEnum]

    def convert(self, value: Any, *, model: bool = False) -> StrEnum:
        """The member, however it is capitalized."""
        names = {member.value.casefold(): member for member in self.enum}
        member = names.get(value.strip().casefold()) if isinstance(value, str) else None
        if member is None:
            raise WrongValueError(f"must be one of {', '.join(self.enum)}, '{shown(value)}' is not")
        return member

    def schema(self) -> Schema:
        """A string out of the enum."""
        return {"type": "string", "enum": [member.value for member in self.enum]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statuses(Parameter):
    """A status, or all of them: a tuple, None when nothing was given."""

    def convert(self, value: Any, *, model: bool = False) -> tuple[Status, ...]:
        """The statuses that are meant."""
        if value == ALL:
            return tuple(Status)
        if value == "":
            return (Status.ACTIVE,)
        try:
            return (Status(value),)
        except ValueError:
            raise WrongValueError(f"must be one of {', '.join([*Status, ALL])}, '{shown(value)}' is not") from None

    def schema(self) -> Schema:
        """A string out of the statuses."""
        return {"type": "string", "enum": [*(status.value for status in Status), ALL]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Parameter):
    """A whole number within bounds. `model_bounds` are those of a model, `model_default` what it reads that absence means."""

    low: int = 0
    high: int = MAX_COUNT
    model_bounds: tuple[int, int] | None = None
    model_default: int | None = None

    def convert(self, value: Any, *, model: bool = False) -> int:
        """The number; models write 8.0 for 8."""
        low, high = self._bounds(model)
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise WrongValueError(f"must be of type integer, from {low} to {high}; '{shown(value)}' is not")
        return number

    def _bounds(self, model: bool) -> tuple[int, int]:
        return self.model_bounds if model and self.model_bounds else (self.low, self.high)

    def schema(self) -> Schema:
        """An integer within the bounds of a model."""
        low, high = self._bounds(True)
        default = self.default if self.model_default is None else self.model_default
        return {"type": "integer", "minimum": low, "maximum": high} | ({} if default is None else {"default": default})

    def from_texts(self, texts: Sequence[str]) -> Any:
        """A number where the text is one; else the text, which `convert` refuses."""
        text = Parameter.from_texts(self, texts)
        return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 20 else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Parameter):
    """A number from 0 to 1."""

    def convert(self, value: Any, *, model: bool = False) -> float:
        """The number."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise WrongValueError(f"must be of type number, from 0 to 1; '{shown(value)}' is not")
        return float(value)

    def schema(self) -> Schema:
        """A number from 0 to 1."""
        return {"type": "number", "minimum": 0, "maximum": 1}

    def from_texts(self, texts: Sequence[str]) -> Any:
        """A number where the text is one."""
        text = Parameter.from_texts(self, texts)
        try:
            return None if text is None else float(text)
        except ValueError:
            return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Parameter):
    """True or false."""

    def convert(self, value: Any, *, model: bool = False) -> bool:
        """The value itself."""
        if not isinstance(value, bool):
            raise WrongValueError(f"must be of type boolean (true or false), '{shown(value)}' is not")
        return value

    def schema(self) -> Schema:
        """A boolean, with its default unless absence has a meaning of its own."""
        return {"type": "boolean"} | ({} if self.default is None else {"default": self.default})

    def from_texts(self, texts: Sequence[str]) -> Any:
        """Whether a box is ticked; not ticked is false where false is the default, else nothing."""
        return texts[-1].strip() in _TRUE if texts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf(Parameter):
    """Several values of one kind, given as a tuple; one value counts as a list of one."""

    item: Parameter
    most: int = MAX_ENTRIES
    model_most: int = MODEL_ENTRIES

    def convert(self, value: Any, *, model: bool = False) -> tuple[Any, ...]:
        """All values. Empty texts stay, as the kind decides about them."""
        entries = [value] if isinstance(value, str) else value
        most = self.model_most if model else self.most
        if not isinstance(entries, list | tuple):
            raise WrongValueError("must be of type array")
        if len(entries) > most:
            raise WrongValueError(f"has {len(entries)} entries, at most {most} are taken")
        return tuple(self._entry(number, entry, model) for number, entry in enumerate(entries, 1))

    def _entry(self, number: int, entry: Any, model: bool) -> Any:
        try:
            return self.item.convert(entry, model=model)
        except WrongValueError as error:
            raise WrongValueError(f"(entry {number}) {error}") from error

    def schema(self) -> Schema:
        """An array."""
        return {"type": "array", "items": self.item.full_schema(), "maxItems": self.model_most}

    def from_texts(self, texts: Sequence[str]) -> Any:
        """All texts that are not empty."""
        return [text for text in texts if text.strip()] or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment(Text):
    """A time: a datetime, None when nothing was given."""

    model_limit: int = 40

    def convert(self, value: Any, *, model: bool = False) -> Any:
        """The moment."""
        text = Text.convert(self, value, model=model)
        return self._moment(text) if text else None

    def _moment(self, text: str) -> Any:
        try:
            return from_iso(text)
        except InputError as error:
            raise WrongValueError(f"is no time: {error.message} {error.fix}") from error


@dataclass(frozen=True, slots=True)
class Span:
    """A moment; for a date alone the first and the last moment of the day."""

    start: datetime
    end: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOrMoment(Moment):
    """A time as a Span."""

    def _moment(self, text: str) -> Span:
        moment: datetime = Moment._moment(self, text)
        alone = _DATE.fullmatch(text) is not None
        return Span(moment, datetime.combine(moment, time.max, UTC) if alone else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects(Parameter):
    """A list of objects. Their values are read one by one by the handler, so that a wrong one does not fail the others."""

    entry: type
    most: int
    model_most: int = MODEL_ENTRIES

    def convert(self, value: Any, *, model: bool = False) -> tuple[Mapping[str, Any], ...]:
        """The objects as they came."""
        if not isinstance(value, list | tuple) or not all(isinstance(entry, dict) for entry in value):
            raise WrongValueError("must be of type array, with entries of type object")
        most = self.model_most if model else self.most
        if len(value) > most:
            raise WrongValueError(f"has {len(value)} entries, at most {most} are taken")
        return tuple(value)

    def schema(self) -> Schema:
        """An array of what the entry's dataclass describes."""
        return {"type": "array", "items": input_schema(self.entry), "maxItems": self.model_most}


@dataclass(frozen=True, slots=True, kw_only=True)
class Values(Parameter):
    """Values by name, such as {"floor": "0.5"}: texts, numbers, flags, lists of texts or null."""

    def convert(self, value: Any, *, model: bool = False) -> dict[str, Any]:
        """The values as they came."""
        if not isinstance(value, dict) or not all(isinstance(key, str) and _is_plain(entry) for key, entry in value.items()):
            raise WrongValueError("must be of type object, names with plain values")
        return value

    def schema(self) -> Schema:
        """An object."""
        return {"type": "object"}


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    if isinstance(value, list | tuple):
        return len(value) <= MAX_ENTRIES and all(isinstance(entry, str) and len(entry) <= MAX_TEXT for entry in value)
    return value is None or isinstance(value, bool | int | float)


# Requests


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=())
def request(cls: type[T]) -> type[T]:
    """Make a class of parameters a request: a frozen dataclass, built by name."""
    return dataclass(frozen=True, kw_only=True)(cls)


@request
class Nothing:
    """A request without parameters."""


def parameters(request_type: type, *, in_tool: bool = False) -> dict[str, Parameter]:
    """The parameters of a request by name; `in_tool` those that a model is offered."""
    found = {field.name: field.metadata[_KEY] for field in dataclasses.fields(request_type)}
    return {name: parameter for name, parameter in found.items() if parameter.in_tool or not in_tool}


def parse(request_type: type[R], values: Mapping[str, Any], where: str, *, model: bool = False) -> R:
    """The request out of plain values; null means: not given.

    With `model` only what a tool offers is taken, within the bounds of a model. Raises InputError that names `where`, the
    parameter, and what to do.
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
    """The JSON schema of what a model may send."""
    known = parameters(request_type, in_tool=True)
    return {
        "type": "object",
        "properties": {name: parameter.full_schema() for name, parameter in known.items()},
        "required": [name for name, parameter in known.items() if parameter.required or parameter.asked_of_models],
        "additionalProperties": False,
    }


# Fields: each function describes one parameter of a request. They give Any, as `dataclasses.field` does.


def _field(make: Callable[..., Parameter], default: Any, required: bool, **about: Any) -> Any:
    parameter = make(default=default, required=required, **about)
    return dataclasses.field(default=_ABSENT if required else default, metadata={_KEY: parameter})


def text(description: str = "", *, default: str | None = "", required: bool = False, **about: Any) -> Any:
    """A text: `limit` characters, `model_limit` for a model; `words` takes all words of a command."""
    return _field(Text, default, required, description=description, **about)


def path(*, required: bool = False, **about: Any) -> Any:
    """A path as text, empty when an optional one is absent."""
    return _field(FilePath, "", required, **about)


def memory_id(*, required: bool = True, **about: Any) -> Any:
    """A memory's id; empty when an optional one is absent."""
    description = "Id of a memory, as in results: mem_ and 12 hex digits."
    return _field(Id, "", required, description=description, **about)


def choice(enum: type[StrEnum], description: str = "", *, default: StrEnum | None = None, **about: Any) -> Any:
    """A member of the enum, or the default."""
    return _field(Choice, default, False, enum=enum, description=description, **about)


def statuses(description: str = "Default: active.", **about: Any) -> Any:
    """A tuple of statuses, None when absent."""
    return _field(Statuses, None, False, description=description, **about)


def count(description: str = "", *, default: int | None, low: int = 0, high: int = MAX_COUNT, **about: Any) -> Any:
    """A whole number from `low` to `high`."""
    return _field(Count, default, False, low=low, high=high, description=description, **about)


def share(description: str = "", **about: Any) -> Any:
    """A number from 0 to 1, None when absent."""
    return _field(Share, None, False, description=description, **about)


def flag(description: str = "", *, default: bool | None = False, required: bool = False, **about: Any) -> Any:
    """True or false; None when absent, if that is the default."""
    return _field(Flag, default, required, description=description, **about)


def texts(description: str = "", entry: str = "", *, default: tuple[str, ...] | None = (), **about: Any) -> Any:
    """A tuple of texts, described one by one by `entry`."""
    limits = {name: about.pop(name) for name in ("limit", "model_limit") if name in about}
    item = Text(description=entry, **limits)
    return _field(ListOf, default, False, item=item, description=description, **about)


def ids(description: str = "", **about: Any) -> Any:
    """A tuple of ids of memories."""
    return _field(ListOf, (), False, item=Id(), description=description, **about)


def choices(enum: type[StrEnum], description: str = "", entry: str = "", **about: Any) -> Any:
    """A tuple of members of the enum."""
    return _field(ListOf, (), False, item=Choice(enum=enum, description=entry), description=description, **about)


def moment(description: str = "", **about: Any) -> Any:
    """A datetime, None when absent."""
    return _field(Moment, None, False, description=description, **about)


def day_or_moment(description: str = "", **about: Any) -> Any:
    """A Span, None when absent."""
    return _field(DayOrMoment, None, False, description=description, **about)


def objects(entry: type, description: str = "", *, most: int, **about: Any) -> Any:
    """A tuple of objects, which the dataclass `entry` describes."""
    return _field(Objects, (), False, entry=entry, most=most, description=description, **about)


def values(description: str = "", **about: Any) -> Any:
    """Plain values by name."""
    return _field(Values, None, False, description=description, **about)
