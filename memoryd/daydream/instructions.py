"""The project's own instruction files, which the client reads itself: their sentences, pasted into a prompt, are data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

NAMES = (
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    "AGENTS.md",
    "AGENT.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
)
FOLDERS = (".cursor/rules", ".claude/rules", ".github/instructions", ".clinerules")
# Bounds of what is read: bytes of a file, files of a rules folder, folders upwards.
FILE_BYTES, FOLDER_FILES, PARENTS = 200_000, 40, 12
LEAST_WORDS = 3
_MARKS = re.compile(r"[\s*_`#>\"'“”‘’.,;:!?()\[\]。，；：！？-]+")
_ENDS = re.compile(r"(?<=[.!?。！？])\s*|\n")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)]|#{1,6})\s+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Instructions:
    """Knows the sentences of the instruction files of a folder and those above it, up to the repository's top.

    Read when they are first asked for, and once for each folder.
    """

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}

    def holds(self, sentence: str, cwd: str) -> bool:
        """Whether the sentence stands in one of the files. Very short ones are anybody's."""
        if not cwd:
            return False
        if cwd not in self._known:
            self._known[cwd] = frozenset(filter(_is_long_enough, _sentences(Path(cwd))))
        known = self._known[cwd]
        return bool(known) and _plain(sentence) in known


def _is_long_enough(plain: str) -> bool:
    return plain.count(" ") + 1 + len(_CJK.findall(plain)) // 2 >= LEAST_WORDS


def _plain(text: str) -> str:
    return _MARKS.sub(" ", _BULLET.sub("", text).casefold()).strip()


def _sentences(folder: Path) -> Iterator[str]:
    for path in _files(folder):
        text = _read(path)
        for line in text.splitlines():
            yield _plain(line)
            for sentence in _ENDS.split(line):
                yield _plain(sentence)
        for paragraph in text.split("\n\n"):  # wrapped lines
            for sentence in _ENDS.split(" ".join(paragraph.split())):
                yield _plain(sentence)


def _files(folder: Path) -> Iterator[Path]:
    for place in [folder, *folder.parents][:PARENTS]:
        for name in NAMES:
            yield place / name
        for name in FOLDERS:
            yield from _within(place / name)
        try:
            if (place / ".git").exists():
                return
        except (OSError, ValueError):  # a name too long, a NUL
            return


def _within(folder: Path) -> list[Path]:
    try:
        return (
            sorted(path for path in folder.iterdir() if path.suffix in (".md", ".mdc"))[:FOLDER_FILES] if folder.is_dir() else []
        )
    except (OSError, ValueError):
        return []


def _read(path: Path) -> str:
    try:
        if not path.is_file():  # also a pipe, which would be waited for
            return ""
        with path.open("rb") as stream:
            return stream.read(FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
