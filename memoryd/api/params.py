"""Reading the parameters of a call: right type, right size, no unknown names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, time
from enum import StrEnum
from typing import Any, TypeVar

from memoryd.clock import from_iso
from memoryd.codec import enum_value, is_id
from memoryd.errors import InputError

EnumT = TypeVar("EnumT", bound=StrEnum)
MAX_TEXT = 20_000
MAX_COUNT = 1_000
_DATE = re.compile(r"\d{4}-?\d{2}-?\d{2}")


class Params:
    """The parameters of one call. Each is taken once; `done` refuses what is left over."""

    def __init__(self, method: str, values: Mapping[str, Any]) -> None:
        self._method = method
        self._values = {name: value for name, value in values.items() if value is not None}

    def _fail(self, name: str, problem: str, fix: str) -> InputError:
        return InputError(f"{self._method}: {name}: {problem}", fix=fix)

    def has(self, name: str) -> bool:
        """Whether the parameter was given and not taken yet."""
        return name in self._values

    def peek(self, name: str) -> Any:
        """The raw value, which stays to be taken; None when absent."""
        return self._values.get(name)

    def text(self, name: str, default: str = "", *, limit: int = MAX_TEXT) -> str:
        """A text of at most `limit` characters."""
        value = self._values.pop(name, default)
        if not isinstance(value, str):
            raise self._fail(name, "expected a text.", f"Give {name} as a text.")
        if len(value) > limit:
            raise self._fail(name, f"{len(value)} characters are too many.", f"Keep it under {limit} characters.")
        return value.strip()

    def required(self, name: str) -> str:
        """A text that must not be empty."""
        value = self.text(name)
        if not value:
            raise self._fail(name, "is missing.", f"Give {name}.")
        return value

    def id(self, name: str = "id") -> str:
        """A memory id."""
        value = self.required(name)
        if not is_id(value):
            raise self._fail(name, f"'{value}' is no memory id.", "An id looks like mem_0123456789ab.")
        return value

    def count(self, name: str, default: int, *, low: int = 0, high: int = MAX_COUNT) -> int:
        """A whole number within bounds."""
        value = self._values.pop(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self._fail(name, f"'{value}' is not a whole number from {low} to {high}.", f"Give a number up to {high}.")
        return value

    def share(self, name: str) -> float | None:
        """A number from 0 to 1, or None when absent."""
        value = self._values.pop(name, None)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self._fail(name, f"'{value}' is not a number from 0 to 1.", "Give e.g. 0.7.")
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self._values.pop(name, default)
        if not isinstance(value, bool):
            raise self._fail(name, f"'{value}' is not true or false.", "Give true or false.")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; one text counts as a list of one."""
        value = self._values.pop(name, ())
        entries = [value] if isinstance(value, str) else value
        if not isinstance(entries, list | tuple) or not all(isinstance(e, str) and len(e) <= MAX_TEXT for e in entries):
            raise self._fail(name, "expected a list of texts.", f"Give {name} as a list of texts.")
        return tuple(entries)

    def entries(self, name: str) -> dict[str, Any]:
        """Values by name, such as {"floor": "0.5"}: texts, numbers, flags, lists of texts or null."""
        value = self._values.pop(name, {})
        if not isinstance(value, dict) or not all(isinstance(key, str) and _is_plain(entry) for key, entry in value.items()):
            raise self._fail(name, "expected names with plain values.", f"Give {name} as an object.")
        return value

    def objects(self, name: str, most: int) -> tuple[Mapping[str, Any], ...]:
        """A list of at most `most` objects; what they hold is for the caller to check."""
        value = self._values.pop(name, ())
        if not isinstance(value, list | tuple) or not all(isinstance(entry, dict) for entry in value):
            raise self._fail(name, "expected a list of objects.", f"Give {name} as a list of objects.")
        if len(value) > most:
            raise self._fail(name, f"{len(value)} entries are too many.", f"Give at most {most}.")
        return tuple(value)

    def choices(self, name: str, enum: type[EnumT]) -> tuple[EnumT, ...]:
        """Members of an enum."""
        return tuple(enum_value(enum, value, f"{self._method}: {name}") for value in self.texts(name))

    def choice(self, name: str, enum: type[EnumT], default: EnumT | None = None) -> EnumT | None:
        """One member of an enum, or the default when absent."""
        value = self._values.pop(name, None)
        return default if value is None else enum_value(enum, value, f"{self._method}: {name}")

    def moment(self, name: str) -> datetime | None:
        """A time, or None when absent."""
        value = self.text(name)
        if not value:
            return None
        try:
            return from_iso(value)
        except InputError as error:
            raise self._fail(name, error.message, error.fix) from error

    def day_or_moment(self, name: str) -> tuple[datetime | None, datetime | None]:
        """A time and None; for a date alone the first and the last moment of the day."""
        alone = _DATE.fullmatch(str(self._values.get(name) or "").strip()) is not None
        moment = self.moment(name)
        return moment, datetime.combine(moment, time.max, UTC) if alone and moment is not None else None

    def done(self) -> None:
        """Refuse what nobody took."""
        if self._values:
            names = ", ".join(sorted(self._values))
            raise InputError(f"{self._method}: unknown parameter {names}.", fix="Leave it out, or see docs/mcp.md.")


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    if isinstance(value, list | tuple):
        return len(value) <= MAX_COUNT and all(isinstance(entry, str) and len(entry) <= MAX_TEXT for entry in value)
    return value is None or isinstance(value, bool | int | float)
