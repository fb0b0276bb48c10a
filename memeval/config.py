"""YAML files into frozen specs. Every error names file, line and key. The only importer of PyYAML.

`${VAR}` and `${VAR:-default}` (upper-case names) are environment variables and are put in when a file is read; other
`${…}` belong to the templates of a provider and stay. `$${VAR}` gives the text `${VAR}`.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import types
import typing
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import yaml

from memeval.errors import ConfigError
from memeval.specs import BenchmarkSpec, Origin, ProviderSpec

Spec = TypeVar("Spec")
_VARIABLE = re.compile(r"\$?\$\{([A-Z_][A-Z0-9_]*)(?::-([^}]*))?\}")
_PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def load_provider_spec(path: Path, environ: Mapping[str, str] | None = None) -> ProviderSpec:
    """Read and check a provider's file. Raises ConfigError naming file, line and key."""
    spec = load_spec(path, ProviderSpec, environ)
    _check(spec.check(), spec.origin)
    _check_name(spec.name, spec.origin)
    return spec


def load_benchmark_spec(path: Path, environ: Mapping[str, str] | None = None) -> BenchmarkSpec:
    """Read and check a benchmark's file. Raises ConfigError naming file, line and key."""
    spec = load_spec(path, BenchmarkSpec, environ)
    _check(spec.check(), spec.origin)
    _check_name(spec.name, spec.origin)
    return spec


def load_spec(path: Path, kind: type[Spec], environ: Mapping[str, str] | None = None) -> Spec:
    """Read a file into any frozen dataclass of this style. Raises ConfigError."""
    reader = _Reader(path, os.environ if environ is None else environ)
    root = reader.root()
    spec = reader.bind(root, kind, "")
    if any(f.name == "origin" for f in dataclasses.fields(typing.cast(Any, kind))):
        spec = dataclasses.replace(spec, origin=Origin(path, MappingProxyType(reader.lines)))
    return typing.cast(Spec, spec)


def parse_yaml(text: str, name: str = "<text>") -> Any:
    """Plain values of a YAML text, for small files without a schema (price tables). Raises ConfigError."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _syntax_error(Path(name), error) from None


def to_plain(value: Any) -> Any:
    """A spec as dicts, lists and plain values with the keys of the file, for `describe` and result files."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value) if f.name != "origin")
        return {key_of(name): to_plain(item) for name, item in named}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, StrEnum | Path):
        return str(value)
    return value


def _check(problems: Iterator[tuple[str, str]], origin: Origin) -> None:
    for key, problem in problems:
        raise ConfigError(f"{origin.where(key)} {problem}.", fix=f"Add or correct {key} in that file.")


def _check_name(name: str, origin: Origin) -> None:
    if name != origin.path.stem:
        raise ConfigError(
            f"{origin.where('name')} is {name!r}, but the file is named {origin.path.name}.", fix=f"Name the file {name}.yaml."
        )


def key_of(field_name: str) -> str:
    """The key in a file of a field: `base_url` is `baseUrl`."""
    first, *rest = field_name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _syntax_error(path: Path, error: yaml.YAMLError) -> ConfigError:
    mark = getattr(error, "problem_mark", None)
    line = f":{mark.line + 1}" if mark else ""
    problem = getattr(error, "problem", None) or str(error)
    return ConfigError(f"{path}{line}: not valid YAML: {problem}.", fix="Correct that line.")


class _Reader:
    """Binds the nodes of one file to dataclasses; remembers the line of each key."""

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        self.path = path
        self.environ = environ
        self.lines: dict[str, int] = {}

    def root(self) -> yaml.Node:
        try:
            node = yaml.compose(self.path.read_text("utf-8"), Loader=yaml.SafeLoader)
        except OSError as error:
            raise ConfigError(f"{self.path} can't be read: {error.strerror}.", fix="Check the path and its rights.") from None
        except UnicodeDecodeError:
            raise ConfigError(f"{self.path} is not UTF-8 text.", fix="Save it as UTF-8.") from None
        except yaml.YAMLError as error:
            raise _syntax_error(self.path, error) from None
        except RecursionError:
            raise ConfigError(f"{self.path} is nested too deeply.", fix="Remove the nesting.") from None
        if node is None:
            raise ConfigError(f"{self.path}:1: the file is empty.", fix="See the docs page on adding one.")
        return node

    def error(self, node: yaml.Node, key: str, problem: str, fix: str = "") -> ConfigError:
        where = f"{self.path}:{node.start_mark.line + 1}: {key or 'the file'}"
        return ConfigError(f"{where} {problem}.", fix=fix or "Correct that line.")

    def bind(self, node: yaml.Node, kind: Any, key: str) -> Any:
        """The value of a node as `kind`: a plain type, enum, dataclass, tuple, mapping, `X | None` or Any."""
        origin = typing.get_origin(kind)
        if origin in (types.UnionType, typing.Union):
            return self._bind_optional(node, kind, key)
        if kind is Any:
            return self.plain(node, key)
        if origin is tuple:
            return self._bind_tuple(node, typing.get_args(kind)[0], key)
        if origin is not None and issubclass(origin, Mapping):
            return self._bind_mapping(node, typing.get_args(kind)[1], key)
        if dataclasses.is_dataclass(kind):
            return self._bind_dataclass(node, typing.cast(Any, kind), key)
        return self._bind_scalar(node, kind, key)

    def _bind_optional(self, node: yaml.Node, kind: Any, key: str) -> Any:
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null":
            return None
        inner = next(arg for arg in typing.get_args(kind) if arg is not type(None))
        return self.bind(node, inner, key)

    def _bind_tuple(self, node: yaml.Node, inner: Any, key: str) -> tuple[Any, ...]:
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, key, "must be a list")
        return tuple(self.bind(item, inner, f"{key}[{number}]") for number, item in enumerate(node.value))

    def _bind_mapping(self, node: yaml.Node, inner: Any, key: str) -> Mapping[str, Any]:
        return MappingProxyType({name: self.bind(value, inner, dotted) for name, dotted, value in self._items(node, key)})

    def _items(self, node: yaml.Node, key: str) -> Iterator[tuple[str, str, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, key, "must be a mapping of keys to values")
        seen: set[str] = set()
        for name_node, value in node.value:
            name = str(name_node.value)
            dotted = f"{key}.{name}" if key else name
            if name in seen:
                raise self.error(name_node, dotted, "is given twice")
            seen.add(name)
            self.lines[dotted] = name_node.start_mark.line + 1
            yield name, dotted, value

    def _bind_dataclass(self, node: yaml.Node, kind: type[Any], key: str) -> Any:
        hints = typing.get_type_hints(kind)
        fields = {key_of(f.name): f for f in dataclasses.fields(kind) if f.name != "origin"}
        given: dict[str, Any] = {}
        for name, dotted, value in self._items(node, key):
            if name not in fields:
                raise self._unknown_key(node, dotted, name, list(fields))
            given[fields[name].name] = self.bind(value, hints[fields[name].name], dotted)
        for name, f in fields.items():
            needed = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
            if needed and f.name not in given:
                dotted = f"{key}.{name}" if key else name
                raise self.error(node, dotted, "is missing", f"Add {dotted}.")
        return kind(**given)

    def _unknown_key(self, node: yaml.Node, dotted: str, name: str, known: list[str]) -> ConfigError:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}? " if near else ""
        where = f"{self.path}:{self.lines.get(dotted, node.start_mark.line + 1)}: {dotted}"
        return ConfigError(f"{where} is not a known key.", fix=f"{hint}Known keys there: {', '.join(known)}.")

    def _bind_scalar(self, node: yaml.Node, kind: type[Any], key: str) -> Any:
        value = self.plain(node, key)
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            try:
                return kind(value)
            except ValueError:
                raise self.error(node, key, f"is {value!r}, which is not one of {', '.join(kind)}") from None
        if kind is str and isinstance(node, yaml.ScalarNode) and value is not None:
            return self.expand(node, key)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(node, key, f"must be {_PLAIN.get(kind, kind.__name__)}, not {_shown(value)}")
        return value

    def plain(self, node: yaml.Node, key: str) -> Any:
        """Dicts, lists and scalars, with variables put in."""
        if isinstance(node, yaml.MappingNode):
            return {name: self.plain(value, dotted) for name, dotted, value in self._items(node, key)}
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, f"{key}[{number}]") for number, item in enumerate(node.value)]
        text = self.expand(node, key)
        tag = node.tag
        if text != node.value and not getattr(node, "style", None):
            tag = _resolve(text)
        return self._construct(yaml.ScalarNode(tag, text, node.start_mark, node.end_mark), key)

    def _construct(self, node: yaml.ScalarNode, key: str) -> Any:
        try:
            # Timestamps stay text: JSON results could not hold them.
            if node.tag == "tag:yaml.org,2002:timestamp":
                return node.value
            return yaml.SafeLoader("").construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise self.error(node, key, f"can't be read: {error}") from None

    def expand(self, node: yaml.Node, key: str) -> str:
        """The text of a scalar with environment variables put in. A missing one without default is a ConfigError."""

        def put(match: re.Match[str]) -> str:
            if match[0].startswith("$$"):
                return match[0][1:]
            value = self.environ.get(match[1]) or match[2]
            if value is None:
                problem = f"needs the environment variable {match[1]}, which is not set"
                raise self.error(node, key, problem, f"Set {match[1]}, or write ${{{match[1]}:-default}} in the file.")
            return value

        return _VARIABLE.sub(put, str(node.value))


def _resolve(text: str) -> str:
    """The tag that a plain scalar of this text has: a variable may hold a number."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        node = None
    return node.tag if isinstance(node, yaml.ScalarNode) and node.value == text else "tag:yaml.org,2002:str"


def _shown(value: Any) -> str:
    names: dict[type, str] = {dict: "a mapping", list: "a list", type(None): "empty"}
    return names.get(type(value)) or repr(value)
