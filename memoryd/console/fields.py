"""Values from a query string, a form or a JSON body: right form, right size, or an error that says what is wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from memoryd.codec import is_id
from memoryd.errors import InputError

MAX_FIELDS = 2_000
MAX_TEXT = 20_000


class Fields:
    """Named texts, each maybe several times. An empty text counts as not given."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value.replace("\r\n", "\n"))  # as a text field sends it

    def texts(self, name: str, limit: int = MAX_TEXT) -> list[str]:
        """All values of this name that are not empty. Raises InputError for one that is too long."""
        found = [value for value in self._values.get(name, []) if value.strip()]
        for value in found:
            if len(value) > limit:
                raise InputError(f"{name}: {len(value)} characters are too many.", fix=f"Keep it under {limit} characters.")
        return found

    def text(self, name: str, default: str = "", limit: int = MAX_TEXT) -> str:
        """The last value, without space around it."""
        found = self.texts(name, limit)
        return found[-1].strip() if found else default

    def required(self, name: str, limit: int = MAX_TEXT) -> str:
        """A text that must be there."""
        value = self.text(name, limit=limit)
        if not value:
            raise InputError(f"{name} is missing.", fix=f"Give {name}.")
        return value

    def count(self, name: str, default: int, *, low: int = 0, high: int = 1_000) -> int:
        """A whole number within bounds."""
        value = self.text(name, str(default), limit=20)
        if not value.isascii() or not value.isdigit() or not low <= int(value) <= high:
            raise InputError(f"{name}: '{value}' is not a whole number from {low} to {high}.", fix="Correct it and try again.")
        return int(value)

    def choice(self, name: str, choices: Collection[str], default: str = "") -> str:
        """One of the choices."""
        value = self.text(name, default, limit=200)
        if value != default and value not in choices:
            raise InputError(f"{name}: '{value}' is not one of {', '.join(choices)}.", fix="Choose one of them.")
        return value

    def choices(self, name: str, choices: Collection[str]) -> list[str]:
        """Any of the choices."""
        found = self.texts(name, limit=200)
        for value in found:
            if value not in choices:
                raise InputError(f"{name}: '{value}' is not one of {', '.join(choices)}.", fix="Choose one of them.")
        return found

    def id(self, name: str = "id") -> str:
        """A memory id."""
        value = self.required(name, limit=200)
        if not is_id(value):
            raise InputError(f"{name}: '{value}' is no memory id.", fix="An id looks like mem_0123456789ab.")
        return value

    def flag(self, name: str) -> bool:
        """Whether a box is ticked."""
        return self.text(name, limit=20) in ("1", "on", "true", "yes")

    def pairs(self) -> list[tuple[str, str]]:
        """All that was given, for building a link to the same page."""
        return [(name, value) for name, values in self._values.items() for value in values if value.strip()]


def from_query(raw: bytes) -> Fields:
    """The fields of a query string. Raises InputError."""
    return Fields(_pairs(raw))


def from_form(raw: bytes) -> Fields:
    """The fields of an urlencoded form. Raises InputError."""
    return Fields(_pairs(raw))


def from_json(raw: bytes) -> Fields:
    """The fields of a JSON object whose values are texts, numbers, booleans or lists of them. Raises InputError."""
    try:
        values = orjson.loads(raw or b"{}")
    except orjson.JSONDecodeError as error:
        raise InputError("The body is not JSON.", fix="Send an object.") from error
    if not isinstance(values, Mapping) or len(values) > MAX_FIELDS:
        raise InputError("The body is not an object of a fair size.", fix="Send an object.")
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
