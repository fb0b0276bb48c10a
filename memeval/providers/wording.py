"""Whether the endpoints of a provider's file can be filled and read, which is told before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from memeval.errors import ConfigError
from memeval.providers.templates import mentioned, roots
from memeval.specs import AddUnit, EndpointSpec, ProviderSpec, key_of

EVERYWHERE = frozenset({"runTag", "setup"})
UNIT = frozenset({"id", "content", "messages", "session", "turns", "at", "timestamp", "metadata"})
QUERY = frozenset({"query", "k", "at"})


def check_endpoints(spec: ProviderSpec, *, embeds: bool) -> None:
    """Raises ConfigError with file, line and key for a path that can't be read, or a value that an endpoint does not have."""
    for one in fields(spec.endpoints) if spec.endpoints is not None else ():
        end = getattr(spec.endpoints, one.name)
        if end is None:
            continue
        known = _known(one.name, end) | ({"embedding"} if embeds and one.name in ("add", "search") else set())
        for part in ("path", "query", "headers", "body"):
            for key, text, inside in _texts(getattr(end, part), f"endpoints.{one.name}.{part}"):
                _check(spec, key, text, known | inside)
        for field in fields(end.response):
            _check_path(spec, f"endpoints.{one.name}.response.{key_of(field.name)}", getattr(end.response, field.name))


def _known(name: str, end: EndpointSpec) -> frozenset[str]:
    if name == "add":
        return EVERYWHERE | (frozenset({"items", "session"}) if end.unit is AddUnit.BATCH else UNIT)
    return EVERYWHERE | {"status": frozenset({"id"}), "search": QUERY}.get(name, frozenset())


def _texts(template: Any, key: str, inside: frozenset[str] = frozenset()) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Each text of a template with its dotted key, and what is known there besides."""
    if isinstance(template, str):
        yield key, template, inside
    elif isinstance(template, Mapping):
        listed = set(template) == {"each", "item"}
        for name, value in template.items():
            yield from _texts(value, f"{key}.{name}", inside | {"item"} if listed and name == "item" else inside)
    elif isinstance(template, Sequence):
        for number, value in enumerate(template):
            yield from _texts(value, f"{key}[{number}]", inside)


def _check(spec: ProviderSpec, key: str, text: str, known: frozenset[str]) -> None:
    try:
        names = list(mentioned(text))
    except ConfigError as error:
        raise _wrong(spec, key, error) from None
    if wrong := [name for name in names if name and name not in known]:
        raise ConfigError(
            f"{spec.origin.where(key)}: there is no value {wrong[0]!r}.", fix=f"Known there: {', '.join(sorted(known))}."
        )


def _check_path(spec: ProviderSpec, key: str, path: str) -> None:
    try:
        list(roots(path) if path else ())
    except ConfigError as error:
        raise _wrong(spec, key, error) from None


def _wrong(spec: ProviderSpec, key: str, error: ConfigError) -> ConfigError:
    return ConfigError(f"{spec.origin.where(key)}: {error.message}", fix=error.fix)
