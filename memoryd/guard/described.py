"""Find what a user's description stands for: "lock files", "the linter", "force push", "wildcard imports".

A model that proposes a check may copy such a description from the user's words. It is looked up here, in the vocabulary of
the offline compiler, so that no name in a check is the model's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from memoryd.guard import vocabulary as v
from memoryd.guard.gloss import in_english
from memoryd.guard.rules.words import code_languages, find_actions, natural_languages, style_of_names

MAX_WORDS = 6
MAX_READ = 4_000  # Characters. A longer text is a document rather than a rule.
TESTS_IN = ("tests/", "test/", "__tests__/", *v.TEST_FILES)
ROOT = "."
_ROOT = (
    r"(?:project|repo\w{0,7}|top)?[- ]?(?:root|top[- ]level)(?: (?:folder|dir\w{0,6}|of the (?:repo\w{0,7}|project)))?"
    r"|projektwurzel|wurzelverzeichnis"
)
_ARTICLE = re.compile(r"^(?:(?:the|our|all|any|every|new|existing|der|die|das|den|alle|neue) )+", re.IGNORECASE)
_FILES = (*v.PATH_CONCEPTS, *v.FILE_KINDS)
_COMMANDS = (*v.PHRASES, *((re.escape(name), commands) for name, commands in v.STATEMENTS.items()))


@dataclass(frozen=True, slots=True)
class Code:
    """Words of code, and the files and nearby words that limit them."""

    words: tuple[str, ...]
    files: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


def files_described(text: str) -> tuple[str, ...]:
    """Return the patterns of the files that a description such as "lock files" or "TypeScript" means."""
    bare = _bare(text)
    if re.search(r"[*/]|^\.|\w\.\w", bare):
        return ()
    if bare.lower() in v.LANGUAGES:
        return v.LANGUAGES[bare.lower()]
    if re.fullmatch(_ROOT, bare, re.IGNORECASE):
        return (ROOT,)
    return _of_first_row(_FILES, bare)


def commands_described(text: str) -> tuple[str, ...]:
    """Return the commands that a description such as "force push" means."""
    bare = _bare(text)
    if name := v.PROGRAM_NAMES.get(bare.lower()):
        return (name,)
    return _of_first_row(_COMMANDS, bare) or v.FLAG_OWNERS.get(bare, ())


def steps_described(text: str) -> tuple[str, ...]:
    """Return the commands that perform a step such as "type check", of which one is enough."""
    return _of_first_row(v.STEPS, re.sub(r"^(?:run(?:ning)? )", "", _bare(text)))


def action_described(text: str) -> str:
    """Return the command that a word such as "committing" means, or ""."""
    bare = _bare(text)
    return next((command for found, command in find_actions(bare) if found[0] == bare), "")


def code_described(text: str) -> Code | None:
    """Return the code that a description such as "wildcard imports" means."""
    for pattern, words, files, near in v.CONTENT_PHRASES:
        if re.fullmatch(pattern, _bare(text), re.IGNORECASE):
            return Code(words, files, near)
    return None


def near_described(text: str) -> tuple[str, ...]:
    """Return the words that show that a line is about a thing such as "money"."""
    word = _bare(text).lower()
    return next((near for *_, near in v.CONTENT_PHRASES if word in near), ())


def language_described(text: str) -> str:
    """Return the English name of a natural language, or ""."""
    return v.NATURAL_LANGUAGES.get(text.strip().lower(), "")


def _bare(text: str) -> str:
    return _ARTICLE.sub("", text.strip())


def _of_first_row(rows: Sequence[tuple[str, tuple[str, ...]]], text: str) -> tuple[str, ...]:
    """Return what the first row means that matches the text, or the text without its first words, as in "React components"."""
    words = text.split()[:MAX_WORDS]
    for at in range(len(words)):
        rest = " ".join(words[at:])
        for pattern, found in rows:
            if re.fullmatch(pattern, rest, re.IGNORECASE):
                return found
    return ()


class Described:
    """Everything that the descriptions in a text stand for."""

    def __init__(self, text: str) -> None:
        self._text = text[:MAX_READ]

    def __contains__(self, entry: str) -> bool:
        """Return whether a description in the text means this entry."""
        return entry in self._entries

    @cached_property
    def english(self) -> str:
        """The text with its cue words in English."""
        return in_english(self._text)

    @cached_property
    def _entries(self) -> frozenset[str]:
        return frozenset(self._found())

    def _found(self) -> Iterator[str]:
        both = f"{self._text}\n{self.english}" if self.english != self._text else self._text
        for pattern, entries in (*_FILES, *_COMMANDS, *v.STEPS):
            if re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", both, re.IGNORECASE):
                yield from entries
        for pattern, words, files, near in v.CONTENT_PHRASES:
            if re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", both, re.IGNORECASE):
                yield from (*words, *files, *near)
        yield from (command for _, command in find_actions(both))
        yield from code_languages(both)
        yield from (name for _, name in natural_languages(both))
        yield from (name for word, name in v.PROGRAM_NAMES.items() if re.search(rf"(?<!\w){word}(?!\w)", both, re.IGNORECASE))
        yield from (owner for flag, owners in v.FLAG_OWNERS.items() if flag in both for owner in owners)
        if style := style_of_names(both):
            yield style
        if re.search(rf"(?<![\w-])(?:{_ROOT})(?![\w-])", both, re.IGNORECASE):
            yield ROOT
        if re.search(r"(?<!\w)tests?(?!\w)", both, re.IGNORECASE):
            yield from TESTS_IN
