"""The part of JSONPath that mappings need: `$`, `.name`, `['name']`, `[0]`, `[-1]`, `[*]` and `.*`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memeval.benchmarks.fields import Field

_STEP = re.compile(r"\.(?P<name>[\w-]+)|\.(?P<any>\*)|\[(?P<index>-?\d+|\*)\]|\['(?P<quoted>[^']*)'\]")


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path, as steps: a name, a number, or None for all elements."""

    text: str
    steps: tuple[str | int | None, ...]

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """ValueError says what is wrong."""
        if not text.startswith("$"):
            raise ValueError(f"{text!r} is no path: it must begin with $")
        steps: list[str | int | None] = []
        at = 1
        while at < len(text):
            match = _STEP.match(text, at)
            if match is None:
                raise ValueError(f"{text!r} is no path: {text[at:]!r} is not understood")
            steps.append(_step(match))
            at = match.end()
        return cls(text, tuple(steps))

    def all(self, field: Field) -> list[Field]:
        """Everything it leads to; nothing where a name is not there. DataError where a value has another form."""
        found = [field]
        for step in self.steps:
            found = [inner for outer in found for inner in _inner(outer, step)]
        return found

    def one(self, field: Field) -> Field | None:
        """The first that it leads to and that is not null."""
        return next((found for found in self.all(field) if found.present), None)

    def elements(self, field: Field) -> list[Field]:
        """Like `all`; a single list counts as its elements."""
        found = [item for item in self.all(field) if item.present]
        return found[0].items() if len(found) == 1 and isinstance(found[0].value, list) else found


def _step(match: re.Match[str]) -> str | int | None:
    name = match["name"] if match["name"] is not None else match["quoted"]
    if name is not None:
        return name
    return None if match["any"] or match["index"] == "*" else int(match["index"])


def _inner(field: Field, step: str | int | None) -> Iterator[Field]:
    if isinstance(step, str):
        inner = field[step]
        if inner.present:
            yield inner
    elif isinstance(step, int):
        yield from field.items()[step:][:1]
    elif isinstance(field.value, dict):
        yield from (inner for _, inner in field.fields())
    else:
        yield from field.items()
