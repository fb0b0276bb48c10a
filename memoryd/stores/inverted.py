"""`inverted_index.json`: keyword to file paths, for people and for other tools. Nothing reads it back."""

from __future__ import annotations

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


def write(folder: Path, texts: Iterable[tuple[str, str]]) -> None:
    """Write the file atomically."""
    write_atomic(folder / NAME, orjson.dumps(build(texts), option=orjson.OPT_INDENT_2))
