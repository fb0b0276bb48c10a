"""Find, read and fill in prompts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memeval.core.errors import ConfigError
from memoryd.core.types import Message

FOLDER = Path(__file__).parent
REQUIRED = {
    "answer": frozenset({"question", "memories"}),
    "note": frozenset({"question", "memories"}),
    "judge": frozenset({"question", "response"}),
    "same": frozenset({"answer", "response"}),
}
"""Required placeholders of each kind of prompt."""
KNOWN = frozenset({"question", "memories", "date", "answer", "response", "speakers", "evidence", "final"})
"""question, memories (the retrieved passages), date (of the question), answer (the gold), response (the hypothesis),
speakers, evidence (the text behind the gold, if the benchmark has it), final (the hypothesis without its reasoning).
"""
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}")
_VALUES = {
    "judge": "Question: {question}\n\nCorrect answer: {answer}\n\nResponse: {response}",
    "answer": "<memories>\n{memories}\n</memories>\n\nCurrent date: {date}\n<question>{question}</question>\nAnswer:",
}
"""Appended to an inline text without placeholders."""
_DASHED = re.compile(r"(\w+)-(answer-con|answer|judge|note)(?:-([a-z-]+))?")
_SECTION = re.compile(r"^## (system|user)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Prompt:
    """A prompt and its origin.

    `system` may be empty. If `by_time` is true, memories are listed by time instead of best first.
    """

    name: str
    kind: str
    user: str
    system: str = ""
    source: str = ""
    licence: str = ""
    by_time: bool = False

    @cached_property
    def hash(self) -> str:
        """Return the first 16 hexadecimal digits of the text's SHA-256, recorded with every result."""
        parts = (self.system, self.user, *(["by_time"] if self.by_time else []))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def render(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """Fill in the placeholders and return the messages.

        All placeholders are filled in one pass, so braces inside values are kept. A missing value becomes empty text.
        """

        def fill(match: re.Match[str]) -> str:
            name = match.group(1)
            return values.get(name, "") if name in KNOWN else match.group()

        parts = (("system", self.system), ("user", self.user))
        return tuple(Message(role, _PLACEHOLDER.sub(fill, text)) for role, text in parts if text)


def find_prompt(
    kind: str,
    benchmark: str = "",
    question_type: str = "",
    *,
    override: str = "",
    by_type: Mapping[str, str] | None = None,
    base: Path | None = None,
) -> Prompt:
    """Find the prompt of a kind (answer, answer-con, note or judge) for a question type of a benchmark.

    The first match wins. The order is: `by_type` for the type, `override`, the benchmark's file for the type, the benchmark's
    file, the files of its family (`longmemeval` for `longmemeval-s`), the default for the type, and the default. Raises
    ConfigError.
    """
    given = (by_type or {}).get(question_type) or override
    if given:
        return load_prompt(kind, given, base)
    names = [f"{kind}.{question_type}", kind] if question_type else [kind]
    for folder in (benchmark, benchmark.split("-")[0], "default"):
        for name in names:
            if folder and _file(f"{folder}/{name}").is_file():
                return load_prompt(kind, f"{folder}/{name}")
    raise ConfigError(f"There is no prompt of kind {kind!r}.", fix=f"Known: {', '.join(builtin_names())}.")


def load_prompt(kind: str, reference: str, base: Path | None = None) -> Prompt:
    """Load a prompt from a built-in name, a file, or inline text.

    Inline text is any text that contains a placeholder, or a sentence. If a sentence is the prompt of a judge or an
    answer ("Answer yes if correct, no otherwise."), the values it needs are appended.

    A built-in name is a file name (`longmemeval/judge.temporal`), or the same name with dashes (`longmemeval-judge-temporal`).

    Paths are relative to `base`, or to the working directory. Raises ConfigError with the file and line.
    """
    if _PLACEHOLDER.search(reference):
        return _parse(kind, "inline", reference)
    if kind in _VALUES and _is_sentence(reference, base):
        return _parse(kind, "inline", f"{reference.strip()}\n\n{_VALUES[kind]}")
    path = _file(reference)
    name = path.relative_to(FOLDER).with_suffix("").as_posix()
    if not path.is_file():
        path = (base or Path()) / reference
        name = path.name
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ConfigError(
            f"The prompt {reference[:200]!r} can't be read: {error}",
            fix=f"Give a file, a text with placeholders such as {{question}}, or one of: {', '.join(builtin_names())}.",
        ) from error
    return _parse(kind, name, text)


def _is_sentence(reference: str, base: Path | None) -> bool:
    """Return whether a reference is inline text rather than the name of a possibly missing file."""
    words = reference.split()
    return (
        len(words) > 2 and not reference.strip().endswith((".md", ".txt")) and not ((base or Path()) / reference[:200]).is_file()
    )


def builtin_names() -> list[str]:
    """Return the names of all built-in prompts, sorted."""
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.glob("*/*.md"))


def _file(name: str) -> Path:
    """Return the file of a built-in name.

    For any other text, return a path that doesn't exist. The path is never outside the folder.
    """
    if dashed := _DASHED.fullmatch(name):
        folder, kind, question_type = dashed.groups()
        name = f"{folder}/{kind}" + (f".{question_type.replace('-', '_')}" if question_type else "")
    return FOLDER / (f"{name}.md" if re.fullmatch(r"[\w-]+/[\w.-]+", name) else "none")


def _parse(kind: str, name: str, text: str) -> Prompt:
    head, body, offset = _split_header(text)
    _check(kind, name, body, offset)
    sections = _SECTION.split(body)
    parts = {"user": sections[0].strip()} if len(sections) == 1 else {}
    for role, content in zip(sections[1::2], sections[2::2], strict=True):
        parts[role] = content.strip()
    order = head.get("order", "rank")
    if order not in ("rank", "time"):
        raise ConfigError(f"Prompt {name}: order {order!r} is unknown.", fix="Use order: rank, or order: time.")
    source, licence = head.get("source", ""), head.get("licence", "")
    return Prompt(name, kind, parts.get("user", ""), parts.get("system", ""), source, licence, order == "time")


def _split_header(text: str) -> tuple[dict[str, str], str, int]:
    """Split a file into its header values, its body, and the number of lines before the body."""
    head, separator, body = text.partition("\n---\n")
    lines = head.splitlines()
    if not separator or not all(re.match(r"(source|licence|order):", line) for line in lines):
        return {}, text, 0
    values = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return values, body, len(lines) + 1


def _check(kind: str, name: str, body: str, offset: int) -> None:
    found = set()
    for number, line in enumerate(body.splitlines(), start=offset + 1):
        for placeholder in _PLACEHOLDER.findall(line):
            if placeholder not in KNOWN:
                raise ConfigError(
                    f"Prompt {name}, line {number}: unknown placeholder {{{placeholder}}}.",
                    fix=f"Known: {', '.join(sorted(KNOWN))}.",
                )
            found.add(placeholder)
    if missing := REQUIRED[kind.split("-")[0]] - found:
        raise ConfigError(
            f"Prompt {name} is missing the placeholder {{{min(missing)}}}.", fix="Add it where the value should appear."
        )
