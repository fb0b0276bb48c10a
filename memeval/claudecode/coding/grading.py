"""Decide whether a task is resolved by running hidden unittest modules or the tests of SWE-bench repositories.

Hidden tests are added only for grading, to a copy of the agent's folder, along with the original versions of the
repository's own tests. A small runner in isolated mode writes the results to a file. The code under test never gets the
path of this file. A test that is not recorded there as passed has failed, so exiting early or printing "OK" gains nothing.

Commands and ids of SWE-bench follow Jimenez et al. 2024, harness/constants and harness/log_parsers: Django's and
SymPy's own runners, and pytest with `-rA` for the others. They run in the task's docker image, or in a virtual
environment created here. An environment is trusted for a task only after the gold patch has passed in it twice and
the tests have failed without it. Otherwise, the environment is at fault and the task is unscored.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from memeval.claudecode.coding.checkouts import (
    FinishedCheck,
    Repositories,
    apply,
    apply_roughly,
    git,
    must,
    plain_environment,
    run,
    write_files,
    written,
)
from memeval.core.errors import DataError, DependencyError
from memeval.core.types import Question

HIDDEN = "memeval_hidden"
_RUNNER = """
import io, json, sys, unittest
root, report, nonce = sys.argv[1:4]
sys.argv[1:] = []
sys.path.insert(0, root)

class Result(unittest.TextTestResult):
    passed = ()
    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed = (*self.passed, test.id())

names = {names!r}
suite = unittest.defaultTestLoader.loadTestsFromNames(names)
count = suite.countTestCases()
result = unittest.TextTestRunner(sys.stderr, resultclass=Result, verbosity=0).run(suite)
bad = [*result.failures, *result.errors]
said = bad[0][1].strip().splitlines() if bad else []
first = [str(bad[0][0]), next((line for line in said[1:] if line[:1].strip()), said[-1])] if bad else []
with open(report, "w", encoding="utf-8") as stream:
    json.dump({{"nonce": nonce, "count": count, "passed": len(result.passed), "bad": len(bad), "first": first}}, stream)
"""


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """The verdict on a task: 1.0 if it is resolved, 0.0 if it is not, and None if it could not be graded."""

    value: float | None
    reason: str = ""
    output: str = field(default="", compare=False)


def grade(
    agent: Path, visible: Mapping[str, str], hidden: str, *, timeout: float = 60.0, python: str = sys.executable
) -> TaskVerdict:
    """Return whether all tests pass. The agent's folder is not changed."""
    if not agent.is_dir():
        return TaskVerdict(0.0, "the folder of the task is gone")
    with tempfile.TemporaryDirectory(prefix="grade-") as scratch:
        root = Path(scratch) / "checkout"
        shutil.copytree(agent, root, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__", ".venv"))
        names = _place(root, visible, hidden)
        return _run_hidden(root, names, timeout, python)


def _place(root: Path, visible: Mapping[str, str], hidden: str) -> list[str]:
    """Overwrite the agent's versions of the tests with the original ones. Return the names of the test modules."""
    shutil.rmtree(root / "tests", ignore_errors=True)
    write_files(root, dict(visible))
    (root / f"{HIDDEN}.py").write_text(hidden, encoding="utf-8")
    own = [path.removesuffix(".py").replace("/", ".") for path in visible if path.rsplit("/", 1)[-1].startswith("test_")]
    return [HIDDEN, *sorted(own)]


def _run_hidden(root: Path, names: list[str], timeout: float, python: str) -> TaskVerdict:
    runner, report, nonce = root.parent / "runner.py", root.parent / f"{secrets.token_hex(8)}.json", secrets.token_hex(16)
    runner.write_text(_RUNNER.format(names=names), encoding="utf-8")
    environment = plain_environment(HOME=str(root.parent), PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0")
    command = [python, "-I", str(runner), str(root), str(report), nonce]
    done = run(command, root, timeout=timeout, environment=environment)
    verdict = _verdict(done, _read(report, nonce), timeout)
    return TaskVerdict(verdict.value, verdict.reason, done.output)


def _read(report: Path, nonce: str) -> dict[str, object]:
    """Read the results that the test runner wrote to a file. Return an empty result if there is no file."""
    try:
        found = json.loads(report.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("nonce") == nonce else {}


def _verdict(done: FinishedCheck, found: Mapping[str, object], timeout: float) -> TaskVerdict:
    if done.timed_out:
        return TaskVerdict(0.0, f"the tests did not end within {timeout:g} s")
    if not found:
        return TaskVerdict(0.0, f"the test run did not complete: {done.last_line}")
    if found["bad"] or not found["count"] or found["passed"] != found["count"]:
        first = found["first"]
        what = ": ".join(map(str, first)) if isinstance(first, list) and first else "no test passed"
        return TaskVerdict(0.0, f"{found['passed']} of {found['count']} tests passed; {what}"[:300])
    return TaskVerdict(1.0, f"{found['passed']} tests passed")


_ANSI = re.compile(r"\x1b\[[0-9;]{0,20}m")
_PYTEST = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S.*)$")
_PARAMETERS = re.compile(r"^([^\[]+)\[/(?:[^*\]]*/)?([^/*\]]*)\]$")
_DJANGO = re.compile(r"^(.+?) \.\.\. {1,2}(ok|OK|FAIL|ERROR|skipped.*|expected failure|unexpected success)$")
_DJANGO_NAME = re.compile(r"(test\w*) \(([\w.]+)\)")
_DJANGO_VERSION = "--version is equivalent to version"
_SYMPY_FILE = re.compile(r"^(\S+\.py)\[\d+\]")
_SYMPY = re.compile(r"^(test_\w+)\s+(ok|F|E|f|s|X)\b")
_GOOD = frozenset({"PASSED", "XFAIL", "ok", "OK", "expected failure"})


@dataclass(frozen=True, slots=True)
class SweTask:
    """The data needed to grade a task. An agent only ever sees the repository and the commit."""

    id: str
    repo: str
    base_commit: str
    gold: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    version: str = ""

    @classmethod
    def of(cls, question: Question) -> SweTask:
        """Build the task from a question of a coding benchmark."""
        data: Any = question.metadata
        return cls(
            question.id.removesuffix("#again"),
            str(data.get("repo", "")),
            str(data.get("base_commit", "")),
            question.answers[0] if question.answers else "",
            str(data.get("test_patch", "")),
            tuple(data.get("fail_to_pass", ())),
            tuple(data.get("pass_to_pass", ())),
            str(data.get("version", "")),
        )

    @property
    def missing(self) -> str:
        """Return the data missing for grading, or an empty string if it is complete."""
        parts = {
            "test_patch": self.test_patch,
            "FAIL_TO_PASS": self.fail_to_pass,
            "patch": self.gold,
            "base_commit": self.base_commit,
        }
        lost = [name for name, value in parts.items() if not value]
        return f"the task's data has no {', '.join(lost)}" if lost else ""

    @property
    def test_files(self) -> list[str]:
        """Return the Python files that exist after the test patch, under their new names."""
        return [path for path in written(self.test_patch) if path.endswith(".py")]


def command_for(task: SweTask, python: str = "python") -> str:
    """Return the shell command that runs the tests from the root of the checkout."""
    files = task.test_files
    if task.repo == "django/django":
        labels = [path.removeprefix("tests/").removesuffix(".py").replace("/", ".") for path in files]
        return f"{python} ./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 {shlex.join(labels)}"
    if task.repo == "sympy/sympy":
        quiet = "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning'"
        return f"{quiet} {python} bin/test -C --verbose {shlex.join(files)}"
    return f"{python} -m pytest -rA --tb=short -p no:cacheprovider {shlex.join(files)}"


@dataclass(frozen=True, slots=True)
class TestResults:
    """The tests reported in a log, keyed by id. A test that is reported twice must have passed both times."""

    __test__ = False

    good: frozenset[str]
    skipped: frozenset[str]
    bad: frozenset[str]

    @property
    def kept(self) -> frozenset[str]:
        """Return the tests that count as still passing. As in SWE-bench, a skipped test is not a regression."""
        return self.good | self.skipped

    def __bool__(self) -> bool:
        return bool(self.good or self.skipped or self.bad)


def results(task: SweTask, output: str) -> TestResults:
    """Parse the results of the tests from their output.

    Tests of Django and SymPy are included both under the names printed by their runners and under pytest's names,
    which some data sets use. SWE-bench's data truncates pytest names at the first blank, so several tests can share a
    name. As upstream, the last one counts.
    """
    parse = _STATUS_PARSERS.get(task.repo, _pytest_statuses)
    found: dict[str, set[str]] = {"good": set(), "skipped": set(), "bad": set()}
    last: dict[str, str] = {}
    for status, names in parse(_ANSI.sub("", output).splitlines()):
        kind = "good" if status in _GOOD else "skipped" if status.lower().startswith("skipped") or status == "s" else "bad"
        for name in names:
            found[kind].add(name)
            if " " in name and "::" in name:
                last[name.split()[0]] = kind
    for name, kind in last.items():
        if not any(name in one for one in found.values()):
            found[kind].add(name)
    good, skipped = found["good"] - found["bad"], found["skipped"] - found["bad"] - found["good"]
    return TestResults(frozenset(good), frozenset(skipped), frozenset(found["bad"]))


def passed(task: SweTask, output: str) -> set[str]:
    """Return the ids of the tests that passed."""
    return set(results(task, output).good)


def _pytest_statuses(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in lines:
        if match := _PYTEST.match(line.rstrip()):
            status, name = match[1], match[2]
            if status != "PASSED":
                name = name.partition(" - ")[0]
            if status == "SKIPPED" and name.startswith("["):
                continue  # "SKIPPED [1] file.py:3: reason" contains no test name.
            names = [name]
            if path := _PARAMETERS.match(name):
                names.append(f"{path[1]}[/{path[2]}]")  # As upstream: a path in a parameter depends on the machine.
            if "MouseButton." in name:
                names.append(name.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3"))
            yield status, tuple(names)


def _django_statuses(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Parse the output of Django's runner.

    A test with a docstring takes two lines, with the status on the second. The output of a test appears between its
    name and its status.
    """
    before = started = ""
    for line in map(str.strip, lines):
        if match := _DJANGO.match(line):
            names = [match[1], before] if _DJANGO_NAME.fullmatch(before) else [match[1]]
            yield match[2], (*names, *(_as_pytest(found) for name in names if (found := _DJANGO_NAME.fullmatch(name))))
            started = ""
        elif " ... " in line:
            started = line.partition(" ... ")[0]
        elif line == "ok" and started:
            found = _DJANGO_NAME.fullmatch(started)
            yield "ok", (started, _as_pytest(found)) if found else (started,)
            started = ""
        if _DJANGO_VERSION in line and not match:
            yield "ok", (_DJANGO_VERSION,)
        before = line


def _as_pytest(name: re.Match[str]) -> str:
    test, dotted = name[1], name[2].removesuffix(f".{name[1]}")
    module, _, kind = dotted.rpartition(".")
    return f"tests/{module.replace('.', '/')}.py::{kind}::{test}"


def _sympy_statuses(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    file = ""
    for line in map(str.strip, lines):
        if heading := _SYMPY_FILE.match(line):
            file = heading[1]
        elif match := _SYMPY.match(line):
            yield match[2], (match[1], f"{file}::{match[1]}")


_STATUS_PARSERS = {"django/django": _django_statuses, "sympy/sympy": _sympy_statuses}


def judge(task: SweTask, output: str, code: int = 0) -> TaskVerdict:
    """Judge a task by SWE-bench's definition: it is resolved if all failing tests now pass and all passing tests still pass.

    Code under test can print lines that look like results. A log without failures therefore does not count if the
    runner's exit code is not 0.
    """
    found = results(task, output)
    if not found:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        return TaskVerdict(0.0, f"no test was run: {lines[-1][:200] if lines else 'no output'}")
    if code and not found.bad:
        return TaskVerdict(0.0, f"the tests ended with code {code}, and their output reports no failure")
    fixed = sum(test in found.good for test in task.fail_to_pass)
    kept = sum(test in found.kept for test in task.pass_to_pass)
    reason = f"{fixed} of {len(task.fail_to_pass)} failing tests pass, {kept} of {len(task.pass_to_pass)} others"
    if broken := [test for test in (*task.fail_to_pass, *task.pass_to_pass) if test not in found.kept][:3]:
        reason += f"; not: {', '.join(broken)}"
    return TaskVerdict(float(fixed == len(task.fail_to_pass) and kept == len(task.pass_to_pass)), reason[:500])


class PatchRefusedError(DataError):
    """Raised when a patch can't be applied to the checkout of its task."""


_APPLIED = "memeval: patches applied"
_ENDED = "memeval: tests ended with code"
_REFUSED = "memeval: the change was refused"
_BUILD_SECONDS = 1800.0
_ENGINE_SECONDS = 10.0


class Environment(Protocol):
    """A place to run the tests of a task after applying a patch."""

    @property
    def name(self) -> str:
        """Return the environment's name, for use in reasons."""
        ...

    def evaluate(self, task: SweTask, patch: str, timeout: float) -> FinishedCheck:
        """Run the tests at the base commit with both patches applied, and return the output.

        Raises PatchRefusedError if the patch can't be applied, and DataError if the tests can't be run.
        """
        ...


@dataclass
class Docker:
    """An environment that uses the official SWE-bench docker image of each task. Its checkout is at /testbed."""

    program: str = "docker"
    images: str = "swebench/sweb.eval.x86_64"
    name: str = "docker"

    def engine(self) -> str:
        """Return why docker can't be used, or an empty string if its engine responds."""
        if shutil.which(self.program) is None:
            return f"{self.program} is not installed"
        command = [self.program, "version", "--format", "{{.Server.Version}}"]
        done = run(command, Path.cwd(), timeout=_ENGINE_SECONDS, environment=self._environment())
        return "" if done.ok else f"no docker engine responds ({done.last_line or 'no reply'})"

    def evaluate(self, task: SweTask, patch: str, timeout: float) -> FinishedCheck:
        """Run the tests in a fresh container without network access."""
        image = f"{self.images}.{task.id.lower().replace('__', '_1776_')}:latest"
        name = f"memeval-{hashlib.sha256(f'{id(self)}{task.id}{patch}'.encode()).hexdigest()[:16]}"
        self._pull(image)
        command = [self.program, "run", "--rm", "-i", "--network", "none", "--name", name, image, "bash", "-s"]
        try:
            done = run(command, Path.cwd(), timeout=timeout, environment=self._environment(), stdin=_script(task, patch))
        finally:
            run([self.program, "rm", "-f", name], Path.cwd(), timeout=60, environment=self._environment())
        if _REFUSED in done.output and _APPLIED not in done.output:
            raise PatchRefusedError(f"The change of {task.id} can't be applied in its container.", fix="Check the change.")
        if not done.timed_out and _APPLIED not in done.output:
            raise DataError(f"The container of {task.id} did not start its tests: {done.last_line}.", fix=f"Look at {image}.")
        return _of_the_tests(done)

    def _pull(self, image: str) -> None:
        if not run([self.program, "image", "inspect", image], Path.cwd(), timeout=60, environment=self._environment()).ok:
            done = run([self.program, "pull", "-q", image], Path.cwd(), timeout=_BUILD_SECONDS, environment=self._environment())
            must(done, f"The image {image} can't be pulled", "Pull it by hand, or grade locally.")

    def _environment(self) -> dict[str, str]:
        more = {
            name: os.environ[name] for name in ("HOME", "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT") if name in os.environ
        }
        return plain_environment(**more)


def _of_the_tests(done: FinishedCheck) -> FinishedCheck:
    """Return the part of a container's output printed by the tests, with their exit code."""
    tests = done.output.partition(f"{_APPLIED}\n")[2]
    output, ended, code = tests.rpartition(f"{_ENDED} ")
    if not ended:  # The container was killed, for example because it ran out of memory.
        return FinishedCheck(done.code or 1, tests, done.timed_out)
    return FinishedCheck(int(code.split()[0]), output, done.timed_out)


def _script(task: SweTask, patch: str) -> str:
    """Build the shell script that runs in the container.

    As upstream, the change is applied with git, then by merging, then with some fuzz. Patches are here-documents
    without substitution, terminated by a word that no patch can predict.
    """
    end = f"END_{secrets.token_hex(16)}"
    apply_change = "git apply --whitespace=nowarn {0} || git apply --3way {0} || patch --batch --fuzz=5 -p1 -i {0}"
    parts = ["set -e", "cd /testbed", "source /opt/miniconda3/bin/activate testbed || true"]
    for text, name in ((patch, "change"), (task.test_patch, "tests")):
        if text:
            parts.append(f"cat > /tmp/{name}.diff <<'{end}'\n{text.rstrip(chr(10))}\n{end}")
    if patch:
        parts.append(f"{{ {apply_change.format('/tmp/change.diff')}; }} || {{ echo {shlex.quote(_REFUSED)}; exit 1; }}")
    if task.test_patch:
        parts.append("git apply --whitespace=nowarn /tmp/tests.diff")
    run_tests = f"{command_for(task)} && code=0 || code=$?"
    return "\n".join([*parts, f"echo {shlex.quote(_APPLIED)}", run_tests, f'echo "{_ENDED} $code"', ""])


@dataclass(frozen=True, slots=True)
class Recipe:
    """The packages that a repository's virtual environment needs besides the repository, and those needed to build it."""

    packages: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    extras: str = ""

    @classmethod
    def of(cls, task: SweTask, file: Path | None = None) -> Recipe:
        """Return the recipe for the task's repository and version. A repository without one only needs pytest."""
        known = tomllib.loads((file or RECIPES).read_text("utf-8"))
        for one in known.get("recipe", ()):
            versions = one.get("versions", ())
            if one["repo"] == task.repo and (not versions or task.version.removeprefix("v") in versions):
                return cls(tuple(one.get("packages", ())), tuple(one.get("build", ())), one.get("extras", ""))
        return cls()


RECIPES = Path(__file__).parents[2] / "data" / "swe_recipes.toml"


@dataclass
class LocalVenv:
    """An environment with a virtual environment and a checkout per task. Both are kept under `folder` for later arms."""

    repositories: Repositories
    folder: Path
    python: str = sys.executable
    name: str = "virtual environment"
    recipes: Path | None = None
    _failed: dict[str, DataError] = field(default_factory=dict)
    _locks: dict[str, Lock] = field(default_factory=lambda: defaultdict(Lock))
    _lock: Lock = field(default_factory=Lock)

    def evaluate(self, task: SweTask, patch: str, timeout: float) -> FinishedCheck:
        """Run the tests of one task at a time, each in its own folder."""
        with self._lock:
            lock = self._locks[task.id]
        with lock:
            place = self._built(task)
            return self._tests(task, patch, place, timeout)

    def _built(self, task: SweTask) -> Path:
        place = self.folder / task.id
        if task.id in self._failed:
            raise self._failed[task.id]
        if not (place / "ready").exists():
            try:
                self._build(task, place)
            except (DataError, DependencyError) as error:
                self._failed[task.id] = DataError(error.message, fix=error.fix)
                raise
        return place

    def _build(self, task: SweTask, place: Path) -> None:
        fix = (
            "Set option python to an interpreter that fits the task and option recipes to the packages that it "
            "needs, or use docker."
        )
        recipe = Recipe.of(task, self.recipes)
        tree = place / "checkout"
        self.repositories.checkout(task.repo, task.base_commit, tree)
        made = run([self.python, "-m", "venv", "--clear", str(place / "venv")], place, timeout=_BUILD_SECONDS)
        must(made, f"No virtual environment for {task.id}", fix)
        target = f"{tree}[{recipe.extras}]" if recipe.extras else str(tree)
        isolated = ["--no-build-isolation"] if recipe.build else []
        if recipe.build:
            must(self._pip(place, recipe.build), f"The build tools of {task.id} can't be installed", fix)
        done = self._pip(place, [*isolated, "-e", target, "pytest", *recipe.packages])
        must(done, f"{task.id} can't be installed here", fix)
        must(git(["add", "-A"], tree), "The checkout can't be saved", f"Remove {place}.")
        (place / "ready").write_text("", encoding="utf-8")

    @staticmethod
    def _pip(place: Path, what: Sequence[str]) -> FinishedCheck:
        install = [str(_python_in(place / "venv")), "-m", "pip", "install", "-q", "--disable-pip-version-check", *what]
        return run(install, place, timeout=_BUILD_SECONDS, environment=plain_environment(HOME=str(place)))

    def _tests(self, task: SweTask, patch: str, place: Path, timeout: float) -> FinishedCheck:
        tree = place / "checkout"
        must(git(["checkout", "-q", "-f", "."], tree), "The checkout can't be reset", f"Remove {place}.")
        must(git(["clean", "-q", "-fd"], tree), "The checkout can't be cleaned", f"Remove {place}.")
        if patch and not apply_roughly(tree, patch).ok:
            raise PatchRefusedError(f"The change of {task.id} can't be applied to its checkout.", fix="Check the change.")
        if task.test_patch:
            must(apply(tree, task.test_patch), f"The test patch of {task.id} can't be applied", "Check the data.")
        command = ["sh", "-c", command_for(task, shlex.quote(str(_python_in(place / "venv"))))]
        variables = plain_environment(HOME=str(place), PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0")
        return run(command, tree, timeout=timeout, environment=variables)


def _python_in(venv: Path) -> Path:
    windows = venv / "Scripts" / "python.exe"
    return windows if windows.exists() else venv / "bin" / "python"


@dataclass
class Grader:
    """Grades with the first environment trusted for a task. Every arm uses the same environment.

    An environment is trusted if the gold patch passes in it twice and the tests fail in it without that patch.
    """

    environments: list[Environment]
    why_none: str
    timeout: float
    _trusted: dict[str, tuple[Environment | None, str]] = field(default_factory=dict)
    _locks: dict[str, Lock] = field(default_factory=lambda: defaultdict(Lock))
    _lock: Lock = field(default_factory=Lock)

    def grade(self, task: SweTask, patch: str) -> TaskVerdict:
        """Grade a patch. If no environment is trusted for the task, the verdict is unscored and states the reason.

        A change that can't be applied, or that makes the tests time out, does not resolve the task.
        """
        environment, why = self.trusted(task)
        if environment is None:
            return TaskVerdict(None, why)
        try:
            done = environment.evaluate(task, patch, self.timeout)
        except PatchRefusedError as error:
            return TaskVerdict(0.0, error.message)
        except (DataError, DependencyError) as error:
            return TaskVerdict(None, str(error))
        if done.timed_out:
            return TaskVerdict(0.0, f"the tests did not end within {self.timeout:g} s", done.output)
        verdict = judge(task, done.output, done.code)
        return TaskVerdict(verdict.value, verdict.reason, done.output)

    def trusted(self, task: SweTask) -> tuple[Environment | None, str]:
        """Return the environment that grades the task, or None and the reason."""
        if task.missing:
            return None, task.missing
        with self._lock:
            lock = self._locks[task.id]
        with lock:
            if task.id not in self._trusted:
                self._trusted[task.id] = self._find(task)
            return self._trusted[task.id]

    def _find(self, task: SweTask) -> tuple[Environment | None, str]:
        reasons = [self.why_none] if self.why_none else []
        for environment in self.environments:
            try:
                why = self._doubt(environment, task)
            except (DataError, DependencyError) as error:
                why = error.message
            if not why:
                return environment, ""
            reasons.append(f"{environment.name}: {why}")
        return None, "; ".join(reasons) or "there is no environment for grading"

    def _doubt(self, environment: Environment, task: SweTask) -> str:
        """Return why the environment is not trusted for the task, or an empty string."""
        gold = environment.evaluate(task, task.gold, self.timeout)
        verdict = judge(task, gold.output, gold.code)
        if gold.timed_out:
            return f"the gold patch does not pass there (the tests did not end within {self.timeout:g} s)"
        if verdict.value != 1.0:
            return f"the gold patch does not pass there ({verdict.reason})"
        base = environment.evaluate(task, "", self.timeout)
        if judge(task, base.output, base.code).value == 1.0 and not base.timed_out:
            return "its tests pass there without the gold patch"
        again = environment.evaluate(task, task.gold, self.timeout)
        if again.timed_out or judge(task, again.output, again.code).value != 1.0:
            kept = results(task, again.output).kept
            flaky = [test for test in (*task.fail_to_pass, *task.pass_to_pass) if test not in kept]
            return f"its tests are flaky: the gold patch passed once and failed once ({', '.join(flaky[:3]) or 'time-out'})"
        return ""
