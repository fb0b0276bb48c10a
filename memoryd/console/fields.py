"""Read values from a query string, form or JSON body, and validate their type and size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from memoryd.api.parameters import MAX_TEXT, Count, Flag, Id, ListOf, OneOf, Parameter, Text, WrongValueError
from memoryd.core.clock import from_iso
from memoryd.core.errors import InputError

MAX_FIELDS = 2_000


class Fields:
    """Texts by name. A name may occur more than once. Empty texts count as missing.

    `read` validates a value against a parameter of the operations (`memoryd.api.parameters`).
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value.replace("\r\n", "\n"))  # Text areas send line breaks as CRLF.

    def read(self, name: str, parameter: Parameter) -> Any:
        """Return the validated value, or the parameter's default if it is missing. Raises InputError."""
        value = self.plain(name, parameter)
        try:
            return (
                parameter.default
                if value is None and not parameter.required
                else parameter.convert("" if value is None else value)
            )
        except WrongValueError as error:
            raise InputError(f"{name}: {error}.", fix=parameter.about or "Correct it and try again.") from error

    def plain(self, name: str, parameter: Parameter) -> Any:
        """Return the unvalidated value in an operation's format, or None if it is missing."""
        return parameter.from_texts([text for text in self._values.get(name, []) if text.strip()])

    def texts(self, name: str, limit: int = MAX_TEXT) -> list[str]:
        """Return all non-empty values with this name. Raises InputError if one of them is too long."""
        self.read(name, ListOf(default=(), most=MAX_FIELDS, item=Text(limit=limit)))
        return [value for value in self._values.get(name, []) if value.strip()]

    def text(self, name: str, default: str = "", limit: int = MAX_TEXT) -> str:
        """Return the last value without surrounding whitespace."""
        return str(self.read(name, Text(default=default, limit=limit)))

    def required(self, name: str, limit: int = MAX_TEXT) -> str:
        """Return a text that must not be empty."""
        return str(self.read(name, Text(required=True, limit=limit)))

    def count(self, name: str, default: int, *, low: int = 0, high: int = 1_000) -> int:
        """Return an integer within bounds."""
        return int(self.read(name, Count(default=default, low=low, high=high)))

    def time(self, name: str) -> str:
        """Return a date or a timestamp as it was entered. Raises InputError if it is neither."""
        value = self.text(name, limit=40)
        if value:
            from_iso(value)
        return value

    def choice(self, name: str, choices: Collection[str], default: str = "") -> str:
        """Return one of the choices."""
        return str(self.read(name, OneOf(default=default, options=choices)))

    def choices(self, name: str, choices: Collection[str]) -> list[str]:
        """Return any number of the choices."""
        return list(self.read(name, ListOf(default=(), most=MAX_FIELDS, item=OneOf(options=choices))))

    def id(self, name: str = "id") -> str:
        """Return a memory id."""
        return str(self.read(name, Id(required=True)))

    def flag(self, name: str) -> bool:
        """Return whether a box is checked."""
        return bool(self.read(name, Flag(default=False)))

    def pairs(self) -> list[tuple[str, str]]:
        """Return all names and values, for building a link to the same page."""
        return [(name, value) for name, values in self._values.items() for value in values if value.strip()]


def from_query(raw: bytes) -> Fields:
    """Parse a query string. Raises InputError."""
    return Fields(_pairs(raw))


def from_form(raw: bytes) -> Fields:
    """Parse a urlencoded form. Raises InputError."""
    return Fields(_pairs(raw))


def from_json(raw: bytes) -> Fields:
    """Parse a JSON object whose values are strings, numbers, booleans or lists of them. Raises InputError."""
    try:
        values = orjson.loads(raw or b"{}")
    except orjson.JSONDecodeError as error:
        raise InputError("The body is not JSON.", fix="Send an object.") from error
    if not isinstance(values, Mapping) or len(values) > MAX_FIELDS:
        raise InputError("The body is not an object of reasonable size.", fix="Send an object.")
    return Fields((name, text) for name, value in values.items() for text in _json_texts(name, value))


def _json_texts(name: str, value: Any) -> list[str]:
    entries = value if isinstance(value, list) else [value]
    if len(entries) > MAX_FIELDS or not all(entry is None or isinstance(entry, str | bool | int | float) for entry in entries):
        raise InputError(f"{name}: expected a text, a number or a list of them.", fix="Send plain values.")
    return [str(entry).lower() if isinstance(entry, bool) else str(entry) for entry in entries if entry is not None]


def _pairs(raw: bytes) -> list[tuple[str, str]]:
    try:
        text = raw.decode("ascii")
        return parse_qsl(text, keep_blank_values=True, strict_parsing=False, errors="strict", max_num_fields=MAX_FIELDS)
    except (UnicodeDecodeError, ValueError) as error:
        raise InputError("The form can't be read.", fix="Go back and send it again.") from error
