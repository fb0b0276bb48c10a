"""Versions and ports in configuration files, and the statements that mention them ("Node 20", "port 5433")."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import orjson

# Files in the root of the working tree to check when a statement mentions a version or port.
WELL_KNOWN = (
    "package.json", ".nvmrc", ".node-version", ".python-version", ".ruby-version", ".java-version", ".tool-versions", "mise.toml",
    "pyproject.toml", "go.mod", "Cargo.toml", "rust-toolchain.toml", "rust-toolchain", "composer.json", "Dockerfile",
    "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml", ".env.example", ".env.sample", ".env.template",
)  # fmt: skip
MAX_FACTS = 2_000
MAX_DEPTH = 12
MAX_TOML_LINE = 4_000  # Parsing a dotted key takes quadratic time in its length.
_VERSION = re.compile(r"(?<![\w.])v?(\d{1,6}(?:\.\d{1,6}){0,3})(?![\w])")
_CLAIM = re.compile(
    r"(?<![\w/.-])(?P<name>[A-Za-z@][\w@/+.-]{0,60}?)(?:\.js)?(?:\s+(?:version|v\.?))?[\s@:=]\s?v?"
    r"(?P<version>\d{1,4}(?:\.\d{1,6}){0,3})(?![\w.]\d|\w|%)"
)
_PORT = re.compile(
    r"\bports?\b\W{0,3}(?:\w{1,10}\s){0,2}?(?P<a>\d{2,5})\b|(?<![\w.])(?:localhost|127\.0\.0\.1)?:(?P<b>\d{2,5})\b"
    r"|\b(?P<c>\d{2,5})\s+(?:as\s+)?(?:the\s+)?port\b",
    re.IGNORECASE,
)
_ALIASES = {"nodejs": "node", "postgresql": "postgres", "golang": "go", "mongo": "mongodb", "js": "node", "python3": "python"}
_ENV_LINE = re.compile(r"(?:export\s+)?(?P<key>[A-Za-z_]\w{0,80})\s{0,4}=\s{0,4}(?P<value>.{0,300})")
_YAML_LINE = re.compile(r"(?P<indent> {0,60})(?P<dash>- {1,4})?(?:(?P<key>[\w.\"'/-]{1,80}):(?:\s+|$))?(?P<value>.{0,300})")
_FROM = re.compile(r"\s{0,8}FROM\s+(?:--\S{1,60}\s+)?(?P<image>\S{1,200})", re.IGNORECASE)


def values_of(path: str, text: str) -> dict[str, str]:
    """Return the values in a configuration file by key. Empty for other or invalid files."""
    name = PurePosixPath(path).name.casefold()
    try:
        found = dict(_values(name, text))
    except (ValueError, RecursionError):
        return {}
    return dict(list(found.items())[:MAX_FACTS])


def _values(name: str, text: str) -> Iterator[tuple[str, str]]:
    if name.endswith(".json"):
        yield from _flat(orjson.loads(text))
    elif name.endswith(".toml"):
        if max(map(len, text.splitlines()), default=0) <= MAX_TOML_LINE:
            yield from _flat(tomllib.loads(text))
    elif name in (".tool-versions", "rust-toolchain") or name.endswith("-version") or name == ".nvmrc":
        yield from _plain(name, text)
    elif name == "go.mod":
        yield from (tuple(line.split()[:2]) for line in text.splitlines() if len(line.split()) >= 2)  # type: ignore[misc]  # noqa: PLR2004
    elif name.startswith(".env") or name.endswith(".env"):
        yield from ((m["key"], m["value"].strip("\"' ")) for m in map(_ENV_LINE.match, text.splitlines()) if m)
    elif name.endswith((".yml", ".yaml")):
        yield from _yaml(text)
    elif name.startswith("dockerfile") or name.endswith(".dockerfile"):
        images = [m["image"] for m in map(_FROM.match, text.splitlines()) if m]
        yield from ((f"FROM {image.partition(':')[0].rpartition('/')[2]}", image) for image in images)


def _plain(name: str, text: str) -> Iterator[tuple[str, str]]:
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    if name == ".tool-versions":
        yield from ((words[0], words[1]) for words in lines if len(words) >= 2)  # noqa: PLR2004
    else:
        tool = {".nvmrc": "node", "rust-toolchain": "rust"}.get(name) or name.strip(".").removesuffix("-version")
        yield from ((tool, words[0]) for words in lines[:1] if words)


def _flat(node: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _flat(value, f"{prefix}.{key}" if prefix else str(key), depth + 1)
    elif isinstance(node, list):
        for value in node:
            # A requirement such as "django>=5.0" is identified by its package, so that others may be added before it.
            name = re.match(r"[A-Za-z][\w.-]{0,60}", value) if isinstance(value, str) else None
            yield from _flat(value, f"{prefix}[{name[0] if name else ''}]", depth + 1)
    elif isinstance(node, str | int | float) and not isinstance(node, bool):
        yield prefix, str(node)[:300]


def _yaml(text: str) -> Iterator[tuple[str, str]]:
    """Parse plain keys and list entries by indentation. This is sufficient for compose files."""
    stack: list[tuple[int, str]] = []
    for line in text.splitlines():
        match = _YAML_LINE.fullmatch(line.partition(" #")[0].rstrip())
        if match is None or not line.strip() or line.lstrip().startswith("#"):
            continue
        indent = len(match["indent"])
        # List entries may have the same indentation as their key.
        while stack and (stack[-1][0] > indent or (stack[-1][0] == indent and not match["dash"])):
            stack.pop()
        prefix = ".".join(key for _, key in stack)
        value = match["value"].strip("\"' ")
        if match["key"]:
            key = match["key"].strip("\"'")
            stack.append((indent + len(match["dash"] or ""), key))
            prefix = f"{prefix}.{key}" if prefix else key
            if value:
                yield prefix, value
        elif match["dash"] and value:
            yield f"{prefix}[{_entry_name(value)}]", value


def _entry_name(value: str) -> str:
    """Return the identifying part of a list entry: the inner port of 5433:5432, or the name in NAME=value."""
    if ":" in value and value.replace(":", "").replace("/", "").isdigit():
        return value.rpartition(":")[2].partition("/")[0]
    return value.partition("=")[0]


def claims(statement: str) -> list[tuple[str, str]]:
    """Return the versions and ports in a statement, as (name, number). The name of a port is `port`."""
    head = statement[:2_000]
    ports = [("port", m["a"] or m["b"] or m["c"]) for m in _PORT.finditer(head)]
    numbers = {number for _, number in ports}
    named = [(_plain_name(m["name"]), m["version"]) for m in _CLAIM.finditer(head)]
    return [*ports, *((name, version) for name, version in named if name != "port" and version not in numbers)]


def _plain_name(name: str) -> str:
    word = name.casefold().strip(".")
    return _ALIASES.get(word, word)


def link(statement: str, values: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the key and value of a configuration file that match the statement, or None."""
    words = {_plain_name(word) for word in re.findall(r"[A-Za-z][\w.-]{1,40}", statement[:2_000])}
    for name, number in claims(statement):
        fitting = [(key, value) for key, value in values.items() if _says(name, number, key, value)]
        if fitting:
            return max(fitting, key=lambda pair: (len(words & _words(f"{pair[0]} {pair[1]}")), -len(pair[0])))
    return None


def _words(text: str) -> set[str]:
    return {_plain_name(word) for word in re.findall(r"[A-Za-z]{2,40}", text.replace("_", " "))}


def _says(name: str, number: str, key: str, value: str) -> bool:
    if name == "port":
        about = "port" in key.casefold() or ":" in value or "url" in key.casefold()
        return about and re.search(rf"(?<!\d){number}(?!\d)", value) is not None
    named = name in _words(f"{key} {value}") or key.casefold().endswith((f".{name}", f"[{name}]")) or key.casefold() == name
    return named and any(_fits(number, found) for found in _VERSION.findall(re.sub(r"[\^~>=<:@-]", " ", value)))


def _fits(claimed: str, found: str) -> bool:
    """Return whether one version is a prefix of the other."""
    one, other = claimed.split("."), found.split(".")
    return all(a == b for a, b in zip(one, other, strict=False))


def still_says(before: str, now: str) -> bool:
    """Return whether two values of a key are equal, ignoring quotes and whitespace."""
    return "".join(before.split()).strip("\"'") == "".join(now.split()).strip("\"'")
