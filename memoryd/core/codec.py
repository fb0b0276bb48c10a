"""Convert MemoryItem to and from plain values, for front matter, JSON, database rows and MCP."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Any, TypeVar

import orjson

from memoryd.core.checks import check_from_dict, check_to_dict
from memoryd.core.clock import from_iso, to_iso
from memoryd.core.errors import InputError
from memoryd.core.text import digest, one_line, shorten, visible
from memoryd.core.types import (
    Candidate,
    Citation,
    Evidence,
    Hit,
    Kind,
    Link,
    LinkType,
    MemoryItem,
    Polarity,
    Scope,
    Source,
    Status,
)

ID_PATTERN = re.compile(r"mem_[0-9a-f]{12}")
SHOWN_CHARACTERS = 80
TIMES = ("created_at", "expired_at", "valid_from", "valid_to")
EnumT = TypeVar("EnumT", bound=StrEnum)


_KINDS = {member.value: member for member in Kind}
_POLARITIES = {member.value: member for member in Polarity}
_SCOPES = {member.value: member for member in Scope}
_SOURCES = {member.value: member for member in Source}
_STATUSES = {member.value: member for member in Status}
_LINK_TYPES = {member.value: member for member in LinkType}
_NO_EVIDENCE = Evidence()
_CITATION_FIELDS = tuple(each.name for each in fields(Citation))
MAX_CITES = 20
COMMIT_PATTERN = re.compile(r"[0-9a-f]{7,64}")
_NEWER = frozenset({"asked_as", "cites", "check"})


def new_id() -> str:
    """Return a random id. It is unique because the memory's file is created exclusively."""
    return f"mem_{secrets.token_hex(6)}"


def is_id(text: str) -> bool:
    """Return whether the text is a well-formed memory id."""
    return ID_PATTERN.fullmatch(text) is not None


def item_to_dict(item: MemoryItem) -> dict[str, Any]:
    """Convert an item to plain values in the order of the front matter. Times become ISO strings."""
    return {
        "id": item.id,
        "content": item.content,
        "kind": item.kind.value,
        "polarity": item.polarity.value,
        "scope": item.scope.value,
        "project": item.project,
        "session": item.session,
        "source": item.source.value,
        "trust": item.trust.value,
        "confidence": round(item.confidence, 4),
        "relevancy": round(item.relevancy, 4),
        "tags": list(item.tags),
        "entities": list(item.entities),
        "backends": list(item.backends),
        "status": item.status.value,
        "supersedes": item.supersedes,
        "links": [{"type": link.type.value, "target": link.target} for link in item.links],
        "created_at": to_iso(item.created_at),
        **{name: _iso_or_none(getattr(item, name)) for name in TIMES[1:]},
        "evidence": _evidence_to_dict(item.evidence),
        "pinned": item.pinned,
        "asked_as": list(item.asked_as),
        "cites": [citation_to_dict(citation) for citation in item.cites],
        "check": check_to_dict(item.check) if item.check else None,
    }


def citation_to_dict(citation: Citation) -> dict[str, str]:
    """Return the non-empty fields of a citation."""
    return {name: value for name in _CITATION_FIELDS if (value := getattr(citation, name))}


def _iso_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else to_iso(moment)


def _evidence_to_dict(evidence: Evidence) -> dict[str, Any]:
    return {
        "transcript": evidence.transcript,
        "lines": list(evidence.lines),
        "commit": evidence.commit,
        "paths": list(evidence.paths),
        "client": evidence.client,
    }


def enum_value(enum: type[EnumT], value: Any, field: str) -> EnumT:
    """Return the enum member for a value.

    Raises:
        InputError: The value is not one of the choices. The message names the field and lists the choices.
    """
    try:
        return enum(str(value).strip().lower() if enum is not LinkType else str(value).strip().upper())
    except ValueError as error:
        choices = ", ".join(member.value for member in enum)
        raise InputError(f"{field}: '{shown(value)}' is not one of {choices}.", fix=f"Use one of: {choices}.") from error


def _time(value: Any, field: str) -> datetime | None:
    if value is None or value == "":
        return None
    if isinstance(value, datetime | date):
        value = value.isoformat()
    try:
        return from_iso(str(value))
    except InputError as error:
        raise InputError(f"{field}: {error.message}", fix=error.fix) from error


def _number(value: Any, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{field}: '{shown(value)}' is not a number from 0 to 1.", fix=f"Write {field} as e.g. 0.7.")
    return float(value)


def _strings(value: Any, field: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,) if value else ()
    if not isinstance(value, list | tuple):
        raise InputError(f"{field}: expected a list of texts.", fix=f"Write {field} as [one, two].")
    return tuple(str(entry) for entry in value)


def _links(value: Any, field: str) -> tuple[Link, ...]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{field}: expected a list.", fix="Write links as [{type: RELATES_TO, target: mem_…}].")
    out = []
    for entry in value:
        if not isinstance(entry, Mapping) or not entry.get("target"):
            raise InputError(f"{field}: each link needs a type and a target.", fix="Write {type: RELATES_TO, target: mem_…}.")
        out.append(Link(enum_value(LinkType, entry.get("type"), f"{field}.type"), str(entry["target"])))
    return tuple(out)


def _evidence(value: Any, field: str) -> Evidence:
    if not isinstance(value, Mapping):
        raise InputError(f"{field}: expected keys transcript, lines, commit, paths.", fix="Write it as a mapping.")
    return Evidence(
        transcript=str(value.get("transcript") or ""),
        lines=_strings(value.get("lines"), f"{field}.lines"),
        commit=str(value.get("commit") or ""),
        paths=_strings(value.get("paths"), f"{field}.paths"),
        client=str(value.get("client") or ""),
    )


def _cites(value: Any, field: str) -> tuple[Citation, ...]:
    entries = [value] if isinstance(value, str | Mapping) else value
    if not isinstance(entries, list | tuple) or len(entries) > MAX_CITES:
        raise InputError(f"{field}: expected a list of at most {MAX_CITES} places.", fix="Write cites as [src/app.py@3f9c2a7].")
    return tuple(_citation(entry, field) for entry in entries)


def _citation(value: Any, field: str) -> Citation:
    """Parse a citation, given as a mapping of its fields or as text such as `src/app.py@3f9c2a7`."""
    if isinstance(value, str):
        path, mark, commit = value.rpartition("@")
        known = mark and COMMIT_PATTERN.fullmatch(commit)
        return _citation({"path": path, "commit": commit} if known else {"path": value}, field)
    if not isinstance(value, Mapping) or not value.get("path"):
        raise InputError(f"{field}: each entry needs a path.", fix="Write src/app.py@3f9c2a7, or a mapping with the key path.")
    return Citation(**{name: str(value[name]) for name in _CITATION_FIELDS if value.get(name)})


def _bool(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{field}: '{shown(value)}' is not true or false.", fix=f"Write {field} as true or false.")
    return value


def _supersedes(value: Any, field: str) -> str | None:
    return str(value) if value else None


def _text(value: Any, field: str) -> str:
    if isinstance(value, Mapping | list):
        raise InputError(f"{field}: expected a text.", fix=f"Write {field} as one line of text.")
    return str(value)


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "id": _text,
    "content": _text,
    "kind": lambda v, f: enum_value(Kind, v, f),
    "polarity": lambda v, f: enum_value(Polarity, v, f),
    "scope": lambda v, f: enum_value(Scope, v, f),
    "project": _text,
    "session": _text,
    "source": lambda v, f: enum_value(Source, v, f),
    "confidence": _number,
    "relevancy": _number,
    "tags": _strings,
    "entities": _strings,
    "backends": _strings,
    "status": lambda v, f: enum_value(Status, v, f),
    "supersedes": _supersedes,
    "links": _links,
    **{name: _time for name in TIMES},
    "evidence": _evidence,
    "pinned": _bool,
    "asked_as": _strings,
    "cites": _cites,
    "check": lambda v, f: check_from_dict(v) if v else None,
}
OWNED_KEYS = (*_READERS, "trust")
_NULLABLE = frozenset({"supersedes", "expired_at", "valid_from", "valid_to", "check"})


def _read(reader: Callable[[Any, str], Any], value: Any, name: str) -> Any:
    """Call a reader. Raises InputError for a value that can't even be formatted, such as an integer of 50,000 digits."""
    try:
        return reader(value, name)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"{name}: the value can't be read.", fix=f"Write {name} as a short plain value.") from error


def shown(value: Any) -> str:
    """Format a value for an error message, shortened and on one line."""
    return shorten(one_line(visible(str(value))), SHOWN_CHARACTERS)


def item_from_dict(values: Mapping[str, Any], defaults: MemoryItem | None = None) -> MemoryItem:
    """Build an item. Unknown keys are ignored, and missing ones are taken from `defaults`.

    Raises:
        InputError: A value is invalid; the message names the field.
    """
    fields = {
        name: _read(reader, values[name], name)
        for name, reader in _READERS.items()
        if name in values and (values[name] is not None or name in _NULLABLE)
    }
    if fields.get("created_at", "") is None:
        del fields["created_at"]
    base = defaults or MemoryItem(content="")
    return replace(base, **fields)


def item_to_json(item: MemoryItem) -> bytes:
    """Serialise the item as compact JSON."""
    return orjson.dumps(item_to_dict(item))


def item_from_json(data: bytes | str) -> MemoryItem:
    """Parse the output of `item_to_json`."""
    return item_from_dict(orjson.loads(data))


def item_from_own_json(data: bytes | str) -> MemoryItem:
    """Parse the output of `item_to_json`, four times as fast as `item_from_json`.

    Falls back to `item_from_dict` for other JSON.
    """
    values = orjson.loads(data)
    try:
        return _own_item(values)
    except (KeyError, TypeError, ValueError, AttributeError):
        return item_from_dict(values)


def _own_item(values: dict[str, Any]) -> MemoryItem:
    evidence = values["evidence"]
    links = values["links"]
    return MemoryItem(
        content=values["content"],
        id=values["id"],
        kind=_KINDS[values["kind"]],
        polarity=_POLARITIES[values["polarity"]],
        scope=_SCOPES[values["scope"]],
        project=values["project"],
        session=values["session"],
        source=_SOURCES[values["source"]],
        confidence=float(values["confidence"]),
        relevancy=float(values["relevancy"]),
        tags=tuple(values["tags"]),
        entities=tuple(values["entities"]),
        backends=tuple(values["backends"]),
        status=_STATUSES[values["status"]],
        supersedes=values["supersedes"],
        links=tuple(Link(_LINK_TYPES[link["type"]], link["target"]) for link in links) if links else (),
        created_at=datetime.fromisoformat(values["created_at"]),
        expired_at=_own_time(values["expired_at"]),
        valid_from=_own_time(values["valid_from"]),
        valid_to=_own_time(values["valid_to"]),
        evidence=Evidence(
            evidence["transcript"],
            tuple(evidence["lines"]),
            evidence["commit"],
            tuple(evidence["paths"]),
            evidence.get("client", ""),  # Absent from rows of earlier versions.
        )
        if any(evidence.values())
        else _NO_EVIDENCE,
        pinned=values["pinned"],
        asked_as=tuple(values["asked_as"]),
        cites=tuple(Citation(**cited) for cited in values["cites"]) if values.get("cites") else (),
        check=check_from_dict(check) if (check := values.get("check")) else None,
    )


def _own_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def item_digest(item: MemoryItem) -> str:
    """Return a digest of the item without `backends`. It is used to find outdated index entries."""
    return digest_of(item_to_dict(item))


def digest_of(values: Mapping[str, Any]) -> str:
    """Return the `item_digest` of an item from its `item_to_dict` values.

    Empty `asked_as`, `cites` and `check` are omitted. Digests computed before these fields existed thus remain valid,
    and an upgrade does not trigger reindexing.
    """
    counted = {name: value for name, value in values.items() if name != "backends" and (value or name not in _NEWER)}
    return digest(orjson.dumps(counted).decode())[:32]


def hit_to_dict(hit: Hit) -> dict[str, Any]:
    """Convert a search hit to plain values, for JSON output and MCP."""
    return {
        "memory": item_to_dict(hit.item),
        "score": round(hit.score, 4),
        "relevancy": round(hit.relevancy, 4),
        "backend": hit.backend.value,
        "parts": {name: round(value, 4) for name, value in hit.parts.items()},
    }


def candidate_to_dict(candidate: Candidate) -> dict[str, Any]:
    """Convert a candidate to plain values, as printed by `memoryd daydream --dry-run --json`."""
    return {
        "content": candidate.content,
        "kind": candidate.kind.value,
        "polarity": candidate.polarity.value,
        "evidence": {"lines": list(candidate.lines), "uuids": list(candidate.uuids), "paths": list(candidate.paths)},
        "source": candidate.source.value,
        "scope": candidate.scope.value,
        "confidence": round(candidate.confidence, 4),
        "importance": candidate.importance,
        "tags": list(candidate.tags),
        "entities": list(candidate.entities),
        "at": _iso_or_none(candidate.at),
        "reason": candidate.reason,
        "status": candidate.status.value,
        "asked_as": list(candidate.asked_as),
        "repeats": list(candidate.repeats),
        "replaces": list(candidate.replaces),
        "closes": list(candidate.closes),
        **({"check": check_to_dict(candidate.check)} if candidate.check else {}),
    }
