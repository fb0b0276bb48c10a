"""Regular expressions compiled on first use.

Compiling the word tables of many languages takes several tenths of a second. This should not slow down the daemon's
start or commands that don't use the tables.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    """A proxy for a pattern, which is compiled when one of its attributes is first accessed."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy and pickle look up methods that a pattern does not have.
            raise AttributeError(name)
        compiled = re.compile(self._source, self._flags)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn"):
            self.__dict__[method] = getattr(compiled, method)
        return getattr(compiled, name)


def later(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern like `re.compile`, but compile it on first use. Errors in it are raised only then."""
    return cast("re.Pattern[str]", _LazyPattern(source, flags))
