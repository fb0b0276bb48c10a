"""The form of a memory in a team's repository: a Markdown file whose front matter says little.

Whatever a file claims about its source, its trust, its state, its checks or its place is ignored: a reader takes only the
statement, its kind and what helps to find it. What a reviewer can't see in the text is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memoryd.core.client_tags import without_hidden
from memoryd.core.errors import BrokenFileError
from memoryd.core.types import RESERVED_TAGS, Kind, MemoryItem, Polarity
from memoryd.daydream.redact import storable_text
from memoryd.stores import front_matter
from memoryd.stores.layout import slug
from memoryd.team.personal import personal_data

FOLDER = ".memory"
README = "README.md"
MAX_BYTES = 20_000
MAX_CHARACTERS = 2_000
MAX_TAGS = 10
MAX_TAG = 40
MAX_KEYS = 5
MAX_KEY = 200
_ID = re.compile(r"mem_[0-9a-f]{12}(?=\.md$)")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_COMMENT = re.compile(r"<!--|^\s{0,3}\[[^\]\n]{1,80}\]:\s", re.MULTILINE)  # A forge shows neither comments nor link definitions.
_WITH_POLARITY = frozenset({Kind.RULE, Kind.PREFERENCE, Kind.DECISION, Kind.TODO, Kind.DEAD_END})


@dataclass(frozen=True, slots=True)
class TeamFile:
    """What is taken from a file of the team.

    Attributes:
        key: The id in the file's name, or else its path. It stays the same while the statement is edited.
    """

    path: str
    key: str
    content: str
    kind: Kind
    polarity: Polarity
    tags: tuple[str, ...] = ()
    asked_as: tuple[str, ...] = ()


def file_name(item: MemoryItem) -> str:
    """Return the name of a memory's file: its first words and its id."""
    return f"{slug(item.content)}-{item.id}.md"


def key_of(path: str) -> str:
    """Return what identifies a memory while its text changes: the id in the file's name, or else its path."""
    found = _ID.search(path)
    return found[0] if found else path


def render(item: MemoryItem) -> bytes:
    """Return the file of a memory, for a proposal to the team."""
    values: dict[str, Any] = {"kind": item.kind.value}
    values |= {"polarity": item.polarity.value} if item.polarity is not Polarity.KNOW else {}
    tags = [tag for tag in item.tags if tag not in RESERVED_TAGS]
    values |= {"tags": tags} if tags else {}
    values |= {"asked_as": list(item.asked_as)} if item.asked_as else {}
    return front_matter.render(values, item.content)


def what_must_not_be_shared(item: MemoryItem) -> list[str]:
    """Return the kinds of secrets and personal data in a memory."""
    texts = (item.content, *item.tags, *item.entities, *item.asked_as)
    secrets = {kind for text in texts for kind in storable_text(text).found}
    return [*sorted(secrets), *dict.fromkeys(kind for text in texts for kind in personal_data(text))]


def parse(path: str, data: bytes) -> TeamFile | str:
    """Return the memory in a file, or why there is none. Never raises."""
    if len(data) > MAX_BYTES:
        return f"it is larger than {MAX_BYTES // 1_000} kB"
    try:
        document = front_matter.parse(data, path)
        values, content = document.values, document.content.strip()
    except BrokenFileError as error:
        return error.problem
    except (ValueError, RecursionError, ArithmeticError) as error:
        return f"it can't be read ({type(error).__name__})"
    if problem := _problem(content):
        return problem
    kind = _kind(str(values.get("kind")))
    return TeamFile(
        path=path,
        key=key_of(path),
        content=content,
        kind=kind,
        polarity=_polarity(kind, content, values),
        tags=tuple(tag for tag in _texts(values, "tags", MAX_TAG) if tag.casefold() not in RESERVED_TAGS)[:MAX_TAGS],
        asked_as=_texts(values, "asked_as", MAX_KEY)[:MAX_KEYS],
    )


def _problem(content: str) -> str:
    if not content:
        return "it has no text"
    if len(content) > MAX_CHARACTERS:
        return f"its text is longer than {MAX_CHARACTERS} characters"
    if _CONTROL.search(content) or without_hidden(content) != content or _COMMENT.search(content):
        return "it has text that a reviewer does not see"
    if storable_text(content).found:
        return "it holds a secret"
    return ""


def _kind(value: Any) -> Kind:
    return Kind(value) if value in set(map(str, Kind)) else Kind.NOTE


def _polarity(kind: Kind, content: str, values: Mapping[str, Any]) -> Polarity:
    from memoryd.daydream.offline.acts import is_negative  # slow to import, and few processes read a team's files

    if kind not in _WITH_POLARITY:
        return Polarity.KNOW
    given = str(values.get("polarity"))
    if given in set(map(str, Polarity)):
        return Polarity(given)
    return Polarity.DONT if kind is Kind.DEAD_END or is_negative(content) else Polarity.DO


def _texts(values: Mapping[str, Any], name: str, most: int) -> tuple[str, ...]:
    given = values.get(name)
    texts = [str(text).strip() for text in given if isinstance(text, str)] if isinstance(given, list) else []
    return tuple(dict.fromkeys(text for text in texts if 0 < len(text) <= most and not _problem(text)))
