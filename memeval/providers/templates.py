"""The small template language of provider files: JSONPath to read values, `${…}` to put them into texts.

Paths are this subset of JSONPath (RFC 9535): `$`, `.name`, `['name']`, `[n]` (negative from the end) and `[*]`, which makes
a list of all that the rest finds. Filters, slices and `..` are not known. Three forms are ours:

- `a | b` is the first of the paths that finds something other than null;
- `-path` is the negative of a number (a distance as a score);
- `zip(a, b, …)` makes one list `[a_i, b_i, …]` for each i out of parallel lists.

In a template, a text that is a path as a whole becomes the value with its type (null if there is none: the key is left
out); `${a.b}` inside a text is `$.a.b` as text and must be there; `{each: path, item: template}` makes a list with the
template filled for each element, which is `$.item` meanwhile. Other values stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memeval.errors import ConfigError

_STEP = re.compile(r"\.(?P<name>[A-Za-z_][\w-]*)|\['(?P<quoted>[^']*)'\]|\[(?P<index>-?\d+|\*)\]")
_PLACEHOLDER = re.compile(r"\$\{([a-z][\w.-]*)\}")
_ZIP = re.compile(r"zip\((.*)\)")
_SYNTAX = "Known are $, .name, ['name'], [n], [*], a | b, -path and zip(a, b)."


def is_path(text: str) -> bool:
    """Whether a text of a template is a path rather than plain text."""
    return text == "$" or text.startswith(("$.", "$[", "-$.", "-$[")) or bool(_ZIP.fullmatch(text))


def find(path: str, data: Any) -> Any:
    """What the path finds, None for nothing. Raises ConfigError for a path that is not in the subset."""
    for alternative in path.split("|"):
        value = _one(alternative.strip(), data)
        if value is not None:
            return value
    return None


def find_all(path: str, data: Any) -> list[Any]:
    """The list that the path finds; one value is a list of one, nothing an empty list."""
    value = find(path, data)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _one(path: str, data: Any) -> Any:
    if zipped := _ZIP.fullmatch(path):
        columns = [find_all(column.strip(), data) for column in zipped[1].split(",")]
        width = max(map(len, columns))
        return [[column[row] if row < len(column) else None for column in columns] for row in range(width)]
    if path.startswith("-"):
        value = _one(path[1:], data)
        return -value if isinstance(value, int | float) else None
    return _walk(list(steps(path)), data)


def steps(path: str) -> Iterator[str | int]:
    """The steps of a plain path: names, numbers, and `*`. Raises ConfigError."""
    if not path.startswith("$"):
        raise ConfigError(f"{path!r} is not a path.", fix=f"A path starts with $. {_SYNTAX}")
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise ConfigError(f"{path!r} can't be read from {path[position:]!r} on.", fix=_SYNTAX)
        position = match.end()
        index = match["index"]
        yield (match["name"] or match["quoted"]) if index is None else ("*" if index == "*" else int(index))


def roots(path: str) -> Iterator[str]:
    """The value that each plain path in it begins with; "" for `$` alone or an index. Raises ConfigError for what is no path."""
    for alternative in path.split("|"):
        plain = alternative.strip()
        if zipped := _ZIP.fullmatch(plain):
            for column in zipped[1].split(","):
                yield from roots(column)
            continue
        first = next(iter([*steps(plain.removeprefix("-"))]), "")
        yield first if isinstance(first, str) and first != "*" else ""


def mentioned(text: str) -> Iterator[str]:
    """The values that a text of a template needs. Raises ConfigError for a path that can't be read."""
    if is_path(text):
        yield from roots(text)
    else:
        yield from (name.partition(".")[0] for name in _PLACEHOLDER.findall(text))


def _walk(path: Sequence[str | int], data: Any) -> Any:
    for number, step in enumerate(path):
        if step == "*" and not isinstance(data, Mapping):
            rest = path[number + 1 :]
            return [_walk(rest, element) for element in data] if isinstance(data, list) else None
        data = _step(step, data)
        if data is None:
            return None
    return data


def _step(step: str | int, data: Any) -> Any:
    if isinstance(step, int):
        inside = isinstance(data, list) and -len(data) <= step < len(data)
        return data[step] if inside else None
    return data.get(step) if isinstance(data, Mapping) else None


def fill(template: Any, data: Mapping[str, Any]) -> Any:
    """The template with its values. Raises ConfigError for a placeholder that has none."""
    if isinstance(template, str):
        return find(template, data) if is_path(template) else fill_text(template, data)
    if isinstance(template, Mapping):
        if set(template) == {"each", "item"}:
            return [fill(template["item"], {**data, "item": element}) for element in find_all(template["each"], data)]
        filled = {key: fill(value, data) for key, value in template.items()}
        return {key: value for key, value in filled.items() if value is not None or template[key] is None}
    if isinstance(template, list | tuple):
        return [fill(value, data) for value in template]
    return template


def fill_text(template: str, data: Mapping[str, Any]) -> str:
    """A text with its `${…}` replaced. Raises ConfigError for one that has no value."""

    def put(match: re.Match[str]) -> str:
        value = find(f"$.{match[1]}", data)
        if value is None:
            raise ConfigError(f"${{{match[1]}}} has no value in {template!r}.", fix=f"Known here: {', '.join(sorted(data))}.")
        return str(value)

    return _PLACEHOLDER.sub(put, template)


def texts_of(template: Any) -> Iterator[str]:
    """All texts of a template, to look what it mentions."""
    if isinstance(template, str):
        yield template
    elif isinstance(template, Mapping):
        for value in template.values():
            yield from texts_of(value)
    elif isinstance(template, list | tuple):
        for value in template:
            yield from texts_of(value)
