"""Patterns that are compiled on first use."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

import memoryd
from memoryd.language.patterns import later


def test_a_pattern_works_as_a_compiled_one() -> None:
    pattern = later(r"(?P<word>\w+)!", re.IGNORECASE)
    found = pattern.search("say Yes!")
    assert found is not None and found["word"] == "Yes"
    assert pattern.sub("-", "a! b!") == "- -" and pattern.findall("a! b") == ["a"]
    assert (pattern.pattern, pattern.groups, pattern.flags & re.IGNORECASE) == (r"(?P<word>\w+)!", 1, re.IGNORECASE)


def test_a_faulty_pattern_is_reported_at_its_first_use() -> None:
    faulty = later("(")
    with pytest.raises(re.error):
        faulty.match("x")


def _patterns(value: object) -> Iterator[re.Pattern[str]]:
    if type(value) is type(later("x")):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _patterns(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from _patterns(inner)


def test_no_pattern_of_memoryd_is_faulty() -> None:
    count = 0
    for found in pkgutil.walk_packages(memoryd.__path__, "memoryd."):
        if not found.name.endswith("__main__"):
            for value in vars(importlib.import_module(found.name)).values():
                for pattern in _patterns(value):
                    re.compile(pattern.pattern, pattern.flags)
                    count += 1
    assert count > 150


def test_loading_the_daemon_compiles_no_table_of_words() -> None:
    code = (
        "import memoryd.daemon.process, memoryd.api.dispatch\n"
        "from memoryd.daydream import quoted_signs\n"
        "print('search' in vars(quoted_signs.ORDER), quoted_signs.ORDER.search('always'), 'search' in vars(quoted_signs.ORDER))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False" and done.stdout.split()[-1] == "True"
