"""Checks a tool's arguments against its schema, with errors that a model can act on.

Knows the part of JSON Schema that `tools` uses: type, enum, minLength, maxLength, pattern, minimum, maximum,
items, maxItems, required, additionalProperties.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memoryd.errors import InputError
from memoryd.mcp.tools import Schema, ToolSpec
from memoryd.text import shorten

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def check_arguments(tool: ToolSpec, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments without nulls (they mean: not given). Raises InputError that names the first fault and the way out."""
    given = {name: _whole(value) for name, value in (arguments or {}).items() if value is not None}
    known = tool.input_schema["properties"]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name[:100], known, 1)
            hint = f"Did you mean '{near[0]}'? " if near else ""
            raise InputError(f"{tool.name} has no argument '{shorten(name, 50)}'.", fix=f"{hint}Known: {', '.join(known)}.")
    for name in tool.input_schema["required"]:
        if name not in given:
            raise InputError(f"{tool.name} needs '{name}'.", fix=known[name]["description"])
    for name, value in given.items():
        for problem in _problems(value, known[name]):
            raise InputError(f"{tool.name}: '{name}' {problem}.", fix=known[name]["description"])
    return given


def _whole(value: Any) -> Any:
    """Models write 8.0 for 8."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _problems(value: Any, schema: Schema) -> Iterator[str]:
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        yield f"must be of type {kind}"
    elif isinstance(value, str):
        yield from _text_problems(value, schema)
    elif isinstance(value, list):
        yield from _list_problems(value, schema)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number_problems(value, schema)


def _text_problems(value: str, schema: Schema) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"must be one of {', '.join(schema['enum'])}"
    if len(value.strip()) < schema.get("minLength", 0):
        yield "must not be empty"
    if len(value) > schema.get("maxLength", len(value)):
        yield f"has {len(value)} characters, at most {schema['maxLength']} are taken"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield "does not have the right form"


def _list_problems(value: list[Any], schema: Schema) -> Iterator[str]:
    if len(value) > schema.get("maxItems", len(value)):
        yield f"has {len(value)} entries, at most {schema['maxItems']} are taken"
    for number, entry in enumerate(value, 1):
        for problem in _problems(entry, schema["items"]):
            yield f"(entry {number}) {problem}"


def _number_problems(value: float, schema: Schema) -> Iterator[str]:
    low, high = schema.get("minimum", float("-inf")), schema.get("maximum", float("inf"))
    if not low <= value <= high:
        yield f"must be from {low} to {high}"
