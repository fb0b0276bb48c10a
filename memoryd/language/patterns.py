"""Regular expressions that are compiled when they are first used.

Compiling the tables of words in many languages takes some tenths of a second, which neither the start of the daemon nor
a command that never reads such text should wait for.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Later:
    """Stands for a pattern until one of its attributes is asked for, and takes these over then."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy and pickle ask for methods that a pattern has not
            raise AttributeError(name)
        compiled = re.compile(self._source, self._flags)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn"):
            self.__dict__[method] = getattr(compiled, method)
        return getattr(compiled, name)


def later(source: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern like that of `re.compile`, which is compiled when it is first used. A faulty one is told only then."""
    return cast("re.Pattern[str]", _Later(source, flags))
