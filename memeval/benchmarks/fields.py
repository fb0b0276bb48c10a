"""Typed access to the fields of a record. Every error names file, record and field."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from memeval.core.errors import DataError


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class Field:
    """A value and where it comes from. `path` is empty for the record itself, else like `qa[3].evidence`."""

    value: Any
    file: str
    record: str
    path: str = ""

    def __getitem__(self, key: str) -> Field:
        """The field of that name; a missing one has value MISSING and is refused when it is read."""
        return Field(self.mapping().get(key, MISSING), self.file, self.record, f"{self.path}.{key}" if self.path else key)

    @property
    def present(self) -> bool:
        """Whether it is there and not null."""
        return self.value is not MISSING and self.value is not None

    def mapping(self) -> Mapping[str, Any]:
        """As an object."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        return self.value

    def items(self) -> list[Field]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self.error("a list")
        return [Field(item, self.file, self.record, f"{self.path}[{index}]") for index, item in enumerate(self.value)]

    def fields(self) -> Iterator[tuple[str, Field]]:
        """Names and values of an object, in order."""
        for key in self.mapping():
            yield key, self[key]

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            raise self.error("a string")
        return self.value

    def filled(self) -> str:
        """A string that is not blank."""
        text = self.text().strip()
        if not text:
            raise self.error("a string that is not blank")
        return text

    def scalar(self) -> str:
        """A string or number, as a string; data sets write answers in both ways."""
        if isinstance(self.value, bool) or not isinstance(self.value, str | int | float):
            raise self.error("a string or a number")
        return str(self.value)

    def integer(self) -> int:
        """A whole number; digits in a string will do."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.value
        if isinstance(self.value, str) and self.value.strip().removeprefix("-").isdecimal():
            return int(self.value)
        raise self.error("a whole number")

    def decoded(self) -> Field:
        """The value itself, or what is written in a string as JSON or as a Python literal (both occur)."""
        if not isinstance(self.value, str):
            return self
        return Field(self._decode(self.value), self.file, self.record, self.path)

    def _decode(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            pass  # not JSON: Python's notation is next
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise self.error("a value in JSON or Python notation") from None

    def error(self, expected: str) -> DataError:
        """The error that says what was expected and what there is."""
        found = repr(self.value)
        found = found if len(found) <= 60 else found[:57] + "..."
        return DataError(
            f"{self.file}: record {self.record}: field {self.path or '(the record)'}: expected {expected}, found {found}.",
            fix="Repair that record, or download the file again.",
        )
