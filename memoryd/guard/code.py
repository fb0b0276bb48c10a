"""Extract code without comments and strings, so that words in them do not count as code."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_HASH = r"#[^\n]*"
_DOUBLE = r'"(?:\\.|[^"\\\n])*(?:"|$)'
_SINGLE = r"'(?:\\.|[^'\\\n])*(?:'|$)"
_TRIPLE = r'"""(?:.*?)(?:"""|\Z)|' + r"'''(?:.*?)(?:'''|\Z)"
_BACKTICK = r"`(?:\\.|[^`\\])*(?:`|\Z)"


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.DOTALL | re.MULTILINE)


_C_LIKE = _pattern(_SLASHES, _DOUBLE, _SINGLE)
_SCRIPT = _pattern(_SLASHES, _DOUBLE, _SINGLE, _BACKTICK)
_PYTHON = _pattern(_TRIPLE, _HASH, _DOUBLE, _SINGLE)
_SQL = _pattern(r"--[^\n]*|/\*.*?(?:\*/|\Z)", _SINGLE)
# Rust's lifetimes and generic text look like unterminated strings in single quotes.
_NO_SINGLE = _pattern(_SLASHES, _DOUBLE)
_BY_ENDING: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(".ts .tsx .js .jsx .mjs .cjs .mts .cts .vue .svelte".split(), _SCRIPT),
    **dict.fromkeys(".c .h .cc .cpp .hpp .java .kt .swift .cs .go .scala .dart .php".split(), _C_LIKE),
    **dict.fromkeys(".py .pyi .rb .sh .bash .yaml .yml .toml".split(), _PYTHON),
    ".rs": _NO_SINGLE,
    ".sql": _SQL,
}
_PROSE = frozenset(".md .rst .txt .adoc .html".split())


def code_words(text: str, path: str) -> str:
    """Return the text with each comment and string replaced by a space. The result is empty for prose, which contains no code."""
    ending = posixpath.splitext(path)[1].lower()
    if ending in _PROSE:
        return ""
    pattern = _BY_ENDING.get(ending)
    return pattern.sub(" ", text) if pattern else text
