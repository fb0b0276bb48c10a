"""`inverted_index.json`: keyword to file paths, for people and for other tools. Nothing reads it back."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import orjson

from memoryd.files import write_atomic
from memoryd.text import keywords

NAME = "inverted_index.json"


def build(texts: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Sorted keywords, each with its sorted paths, from (path, text) pairs."""
    index: defaultdict[str, list[str]] = defaultdict(list)
    for path, text in texts:
        for word in keywords(text):
            index[word].append(path)
    return {word: sorted(index[word]) for word in sorted(index)}


def fingerprint(folder: Path) -> int:
    """A number for the file's bytes that fits a column of SQLite, 0 when there is none."""
    try:
        with (folder / NAME).open("rb") as stream:
            return int.from_bytes(hashlib.file_digest(stream, "sha256").digest()[:7], "big") + 1
    except OSError:
        return 0


def write(folder: Path, texts: Iterable[tuple[str, str]]) -> None:
    """Write the file atomically."""
    write_atomic(folder / NAME, orjson.dumps(build(texts), option=orjson.OPT_INDENT_2))
