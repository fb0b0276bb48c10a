"""How the tests of SWE-bench repositories are run, and what their output says.

Commands and ids follow SWE-bench (Jimenez et al. 2024), harness/constants and harness/log_parsers: Django's and SymPy's own
runners, pytest with `-rA` for the others.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from memeval.claudecode.coding.checkout import touched
from memeval.claudecode.coding.unittests import Verdict
from memeval.types import Question

_PYTEST = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (.+?)(?: - .*)?$")
_DJANGO = re.compile(r"^(.+?) \.\.\. (ok|FAIL|ERROR|skipped.*|expected failure)$")
_DJANGO_NAME = re.compile(r"(test\w*) \(([\w.]+)\)")
_SYMPY_FILE = re.compile(r"^(\S+\.py)\[\d+\]")
_SYMPY = re.compile(r"^(test_\w+)\s+(ok|F|E|f|s|X)\b")
_GOOD = frozenset({"PASSED", "XFAIL", "ok", "expected failure"})


@dataclass(frozen=True, slots=True)
class SweTask:
    """What grading needs. Nothing of it but repository and commit is ever where an agent can see it."""

    id: str
    repo: str
    base_commit: str
    gold: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]

    @classmethod
    def of(cls, question: Question) -> SweTask:
        """From a question of the loaders of coding tasks."""
        data: Any = question.metadata
        return cls(
            question.id.removesuffix("#again"),
            str(data.get("repo", "")),
            str(data.get("base_commit", "")),
            question.answers[0] if question.answers else "",
            str(data.get("test_patch", "")),
            tuple(data.get("fail_to_pass", ())),
            tuple(data.get("pass_to_pass", ())),
        )

    @property
    def missing(self) -> str:
        """What the data lack for grading; empty when nothing."""
        parts = {
            "test_patch": self.test_patch,
            "FAIL_TO_PASS": self.fail_to_pass,
            "patch": self.gold,
            "base_commit": self.base_commit,
        }
        lost = [name for name, value in parts.items() if not value]
        return f"the task's data have no {', '.join(lost)}" if lost else ""

    @property
    def test_files(self) -> list[str]:
        """Python files that the test patch touches."""
        return [path for path in touched(self.test_patch) if path.endswith(".py")]


def command_for(task: SweTask, python: str = "python") -> str:
    """The shell command that runs the tests, from the top of the checkout."""
    files = task.test_files
    if task.repo == "django/django":
        labels = [path.removeprefix("tests/").removesuffix(".py").replace("/", ".") for path in files]
        return f"{python} ./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 {shlex.join(labels)}"
    if task.repo == "sympy/sympy":
        return f"{python} bin/test -C --verbose {shlex.join(files)}"
    return f"{python} -m pytest -rA --tb=no -p no:cacheprovider {shlex.join(files)}"


def passed(task: SweTask, output: str) -> set[str]:
    """Ids of the tests that passed. A test that is told of twice has passed only if it did so both times.

    Tests of Django and SymPy are there under the names that their runners print and, as some data sets have them, under
    those that pytest would give.
    """
    told = _TOLD.get(task.repo, _pytest_told)
    good: set[str] = set()
    bad: set[str] = set()
    for status, names in told(output.splitlines()):
        (good if status in _GOOD else bad).update(names)
    return good - bad


def _pytest_told(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in lines:
        if match := _PYTEST.match(line.strip()):
            yield match[1], (match[2],)


def _django_told(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A test with a docstring takes two lines: its name, then the docstring with the status."""
    before = ""
    for line in map(str.strip, lines):
        if match := _DJANGO.match(line):
            names = [match[1], before] if _DJANGO_NAME.fullmatch(before) else [match[1]]
            yield match[2], (*names, *(_as_pytest(found) for name in names if (found := _DJANGO_NAME.fullmatch(name))))
        before = line


def _as_pytest(name: re.Match[str]) -> str:
    test, dotted = name[1], name[2].removesuffix(f".{name[1]}")
    module, _, kind = dotted.rpartition(".")
    return f"tests/{module.replace('.', '/')}.py::{kind}::{test}"


def _sympy_told(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    file = ""
    for line in map(str.strip, lines):
        if heading := _SYMPY_FILE.match(line):
            file = heading[1]
        elif match := _SYMPY.match(line):
            yield match[2], (match[1], f"{file}::{match[1]}")


_TOLD = {"django/django": _django_told, "sympy/sympy": _sympy_told}


def judge(task: SweTask, output: str) -> Verdict:
    """Resolved when all tests that should pass now, and all that passed before, pass (SWE-bench's definition)."""
    found = passed(task, output)
    fixed = sum(test in found for test in task.fail_to_pass)
    kept = sum(test in found for test in task.pass_to_pass)
    told = f"{fixed} of {len(task.fail_to_pass)} failing tests pass, {kept} of {len(task.pass_to_pass)} others"
    return Verdict(float(fixed == len(task.fail_to_pass) and kept == len(task.pass_to_pass)), told)
