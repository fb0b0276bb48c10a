"""Leave out what the client gives to the model itself, from a rules file such as CLAUDE.md.

Only files count that the user has imported (`memoryd import --from rules`) or exported to. They are read again whenever they
change, so a statement that is removed from its file is given by memoryd again, and a file that does not exist on this machine
hides nothing. What CLAUDE.md says, or a file that it names after `@`, hides every memory that says the same. Claude Code does not
read other rules files by itself; they hide only what was imported from them, so that no rule of the user is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from memoryd.core.files import read_regular
from memoryd.core.state import State
from memoryd.core.text import normalise
from memoryd.core.types import MemoryItem, Polarity, Source
from memoryd.language import RULES, Assertion, Relation, read, shares_words
from memoryd.language.markdown import statements

NOTE = "rules files"
RULES_TAG = "rules-file"
MAX_FILE = 1_000_000
# Maximum number of pairs of a memory and a statement of a file that are compared by their words, about 1 ms each.
MAX_COMPARED = 64
NEAREST = 3
OWN_FILES = ("CLAUDE.md", "CLAUDE.local.md")


@dataclass(slots=True)
class _Stated:
    """The statements of one file, by their normal form and by the stems of their words."""

    text: str = ""
    exact: set[str] = field(default_factory=set)
    by_stem: dict[str, list[str]] = field(default_factory=dict)

    def near(self, content: str) -> list[str]:
        """Return the few statements that share most words with the text."""
        shared = Counter(text for stem in read(content).stems for text in self.by_stem.get(stem, ()))
        return [text for text, _ in shared.most_common(NEAREST) if shares_words(text, content)]


class KnownAlready:
    """Removes memories that a rules file of their project, or of the user, states."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._read: dict[Path, tuple[tuple[int, int], _Stated]] = {}

    def unasked(self, items: Iterable[MemoryItem], project: str) -> list[MemoryItem]:
        """Return the memories in order, without those that the model is given from a file. Pinned ones stay."""
        items = list(items)
        files = [Path(path) for path, owner in self.files().items() if owner in ("", project)] if items else []
        stated = {str(path): found for path in files if (found := self._stated(path)).exact}
        given = [found for path, found in stated.items() if self._is_given(Path(path))]
        budget = MAX_COMPARED
        out = []
        for item in items if stated else ():
            text = normalise(item.content)
            origin = stated.get(item.evidence.transcript) if RULES_TAG in item.tags else None
            exact = (origin is not None and text in origin.exact) or any(text in file.exact for file in given)
            near = [] if exact or item.pinned else [near for file in given for near in file.near(item.content)][:budget]
            budget -= len(near)
            if item.pinned or not (exact or any(_says(other, item) for other in near)):
                out.append(item)
        return out if stated else items

    def _is_given(self, path: Path) -> bool:
        """Return whether Claude Code gives the file to the model: CLAUDE.md, or a file beside it that it names."""
        if path.name in OWN_FILES:
            return True
        return any(f"@{path.name}" in self._stated(path.with_name(name)).text for name in OWN_FILES)

    # The imported files

    def files(self) -> Mapping[str, str]:
        """Return the imported rules files, each with its project ("" for the user's own)."""
        return {path: str(values["project"]) for path, values in self._noted().items()}

    def add(self, files: Mapping[str, str], entry: str) -> None:
        """Record files that an import has read."""
        if files:
            new = {path: {"project": project, "entry": entry} for path, project in files.items()}
            self._save({**self._noted(), **new})

    def drop(self, entry: str) -> None:
        """Remove the files of an import that is undone."""
        noted = self._noted()
        kept = {path: values for path, values in noted.items() if values["entry"] != entry}
        if kept != noted:
            self._save(kept)

    def _noted(self) -> dict[str, dict[str, str]]:
        text = self._state.note(NOTE)
        return dict(orjson.loads(text)) if text else {}

    def _save(self, noted: Mapping[str, Mapping[str, str]]) -> None:
        self._state.set_note(NOTE, orjson.dumps(noted).decode())

    def _stated(self, path: Path) -> _Stated:
        try:
            found = path.stat()
            stamp = (found.st_mtime_ns, found.st_size)
            known = self._read.get(path)
            if known is None or known[0] != stamp:
                known = self._read[path] = stamp, _parsed(read_regular(path, MAX_FILE).decode("utf-8", "replace"))
            return known[1]
        except OSError:  # the file was moved or is on another machine
            return _Stated()


def _parsed(text: str) -> _Stated:
    out = _Stated(text)
    for statement in statements(text, exported=True):
        if normalise(statement.text) not in out.exact:
            out.exact.add(normalise(statement.text))
            for stem in read(statement.text).stems:
                out.by_stem.setdefault(stem, []).append(statement.text)
    return out


def _says(text: str, item: MemoryItem) -> bool:
    """Return whether a statement of a file says the same as the memory, in other words."""
    old = Assertion(text, item.polarity is Polarity.DONT)
    new = Assertion(item.content, item.polarity is Polarity.DONT, item.source is Source.USER)
    return RULES.compare(old, new).relation is Relation.SAME
