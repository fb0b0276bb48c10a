"""Handoffs: summaries of where a session left off.

Readers without a model derive them from the session's log. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memoryd.core.text import one_line, shorten, words
from memoryd.core.tool_calls import EDITING_TOOLS
from memoryd.core.types import Kind, MemoryItem, Turn, TurnKind
from memoryd.daydream.model_reader import MIN_USER_WORDS
from memoryd.daydream.offline.acts import says_it_lasts
from memoryd.daydream.redact import redact
from memoryd.retrieval import item_terms, query_terms

MAX_FILES = 6
MAX_TODOS = 3
PART_CHARS = 160
_TASK_CHARS = 2_000
# When a memory is forgotten, dropping too many sentences from a handoff is better than dropping too few. A third of
# the memory's words is enough, or half the words in a clause, because the end of a long memory may be cut off. A
# single common word is not enough, because it occurs in almost every text.
HELD_SHARE = 1 / 3
CLAUSE_SHARE = 0.5
MIN_HELD = 2
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_CLAUSE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|,\s+|\n+")
_RARE = re.compile(
    r"(?<![^\W_])(?=[^\W\d_]{0,40}\d)[^\W_]{4,80}|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}"
    r"|(?<![^\W_])[^\W_]{1,40}(?:[-_.][^\W_]{1,40}){2,12}"
)
_TESTS = re.compile(r"\b(?:pytest|tox|nox|jest|vitest|ctest|rspec|phpunit|tests?|check)\b", re.IGNORECASE)


class SessionOutline:
    """Builds an outline of a session from the turns in its log, chunk by chunk."""

    def __init__(self) -> None:
        self._asked = ""
        self._files: dict[str, None] = {}
        self._testing = ""
        self._tests = ""

    def add(self, turns: Iterable[Turn]) -> None:
        """Add the next turns."""
        for turn in turns:
            if turn.sidechain:
                continue
            if turn.kind is TurnKind.USER and not self._asked:
                task = _task(turn.text)
                self._asked = task if len(words(task)) >= MIN_USER_WORDS else ""
            elif turn.kind is TurnKind.TOOL_USE:
                self._add_step(turn)
            elif turn.kind is TurnKind.TOOL_RESULT and self._testing:
                self._tests, self._testing = f"{self._testing}: {'failed' if turn.error else 'passed'}", ""

    def _add_step(self, turn: Turn) -> None:
        if turn.tool in EDITING_TOOLS and turn.detail:
            self._files.pop(turn.detail, None)
            self._files[turn.detail] = None
        self._testing = _part(turn.detail) if is_test_run(turn) else ""

    def text(self, learnt: Sequence[MemoryItem], todos: Sequence[MemoryItem], folder: str = "") -> str:
        """Return the handoff without secrets, or an empty string if the session changed nothing and yielded no memories."""
        if not self._files and not learnt:
            return ""
        decision = next((item.content for item in learnt if item.kind is Kind.DECISION), "")
        files = [path.removeprefix(f"{folder}/") for path in self._files][-MAX_FILES:]
        parts = (
            ("Asked", _part(self._asked)),
            ("last decision", _part(decision)),
            ("open", "; ".join(_part(item.content) for item in todos[:MAX_TODOS])),
            ("changed", ", ".join(files)),
            ("last test run", self._tests),
        )
        return redact(" ".join(_closed(f"{name[0].upper()}{name[1:]}: {said}") for name, said in parts if said)).text


def _closed(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?", "!", "…", "。", "？", "！")) else f"{sentence}."


def is_test_run(turn: Turn) -> bool:
    """Return whether a tool call runs tests or checks."""
    return turn.tool == "Bash" and _TESTS.search(turn.detail[:400]) is not None


def holds(handoff: str, memory: str) -> bool:
    """Return whether a handoff may contain a memory's content.

    It does if they share a name or value, enough of the memory's words, or half the words in one clause of the handoff.
    """
    if not rare_tokens(memory).isdisjoint(rare_tokens(handoff)):
        return True
    said, stated = item_terms(handoff), set(query_terms(memory))
    shared = stated & said
    if len(shared) >= max(min(MIN_HELD, len(stated)), HELD_SHARE * len(stated)) and shared:
        return True
    return any(_is_of(clause, item_terms(memory)) for clause in _CLAUSE.split(handoff))


def _is_of(clause: str, memory: frozenset[str]) -> bool:
    terms = query_terms(clause).keys()
    return len(terms & memory) >= max(MIN_HELD, CLAUSE_SHARE * len(terms))


def rare_tokens(text: str) -> set[str]:
    """Return names and values that are unlikely to match by chance, because they contain a digit or have several parts."""
    return {match[0].casefold() for match in _RARE.finditer(text)}


def _task(text: str) -> str:
    """Return the text without lasting rules and preferences.

    Those become separate memories, which may be retracted or forgotten.
    """
    return " ".join(part for part in _SENTENCE.split(text[:_TASK_CHARS]) if not says_it_lasts(part))


def _part(text: str) -> str:
    return shorten(one_line(redact(text).text), PART_CHARS)
