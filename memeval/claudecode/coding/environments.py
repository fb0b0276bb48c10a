"""Where the tests of a SWE-bench task can run: in its docker image, or in a virtual environment made here.

An environment is trusted for a task only after the gold patch passed in it; where it does not, the fault is the environment's,
and the task is unscored.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Protocol

from memeval.claudecode.coding.checkout import apply, git, must
from memeval.claudecode.coding.harness import SweTask, command_for, judge
from memeval.claudecode.coding.processes import Finished, plain_environment, run
from memeval.claudecode.coding.repositories import Repositories
from memeval.claudecode.coding.unittests import Verdict
from memeval.errors import DataError, DependencyError

_APPLIED = "memeval: patches applied"
_BUILD_SECONDS = 1800.0
_ENGINE_SECONDS = 10.0


class Environment(Protocol):
    """Runs a task's tests after a patch."""

    @property
    def name(self) -> str:
        """As told in reasons."""
        ...

    def evaluate(self, task: SweTask, patch: str, timeout: float) -> Finished:
        """Output of the tests at the base commit with the patch and then the test patch. DataError when that can't be."""
        ...


@dataclass
class Docker:
    """The official images of SWE-bench, one for each task, which hold checkout and environment at /testbed."""

    program: str = "docker"
    images: str = "swebench/sweb.eval.x86_64"
    name: str = "docker"

    def engine(self) -> str:
        """Why it can't be used; empty when an engine answers."""
        if shutil.which(self.program) is None:
            return f"{self.program} is not installed"
        command = [self.program, "version", "--format", "{{.Server.Version}}"]
        done = run(command, Path.cwd(), timeout=_ENGINE_SECONDS, environment=self._environment())
        return "" if done.ok else f"no docker engine answers ({done.last_line or 'no reply'})"

    def evaluate(self, task: SweTask, patch: str, timeout: float) -> Finished:
        """In a fresh container without network."""
        image = f"{self.images}.{task.id.lower().replace('__', '_1776_')}:latest"
        name = f"memeval-{hashlib.sha256(f'{id(self)}{task.id}{patch}'.encode()).hexdigest()[:16]}"
        self._pull(image)
        command = [self.program, "run", "--rm", "-i", "--network", "none", "--name", name, image, "bash", "-s"]
        try:
            done = run(command, Path.cwd(), timeout=timeout, environment=self._environment(), stdin=_script(task, patch))
        finally:
            run([self.program, "rm", "-f", name], Path.cwd(), timeout=60, environment=self._environment())
        if not done.timed_out and _APPLIED not in done.output:
            raise DataError(f"The container of {task.id} did not start its tests: {done.last_line}.", fix=f"Look at {image}.")
        return done

    def _pull(self, image: str) -> None:
        if not run([self.program, "image", "inspect", image], Path.cwd(), timeout=60, environment=self._environment()).ok:
            done = run([self.program, "pull", "-q", image], Path.cwd(), timeout=_BUILD_SECONDS, environment=self._environment())
            must(done, f"The image {image} can't be pulled", "Pull it by hand, or grade locally.")

    def _environment(self) -> dict[str, str]:
        more = {
            name: os.environ[name] for name in ("HOME", "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT") if name in os.environ
        }
        return plain_environment(**more)


def _script(task: SweTask, patch: str) -> str:
    """What the container's shell does; patches come as here-documents that nothing is replaced in."""
    parts = ["set -e", "cd /testbed", "source /opt/miniconda3/bin/activate testbed || true"]
    for text in (patch, task.test_patch):
        if text:
            parts.append(
                f"git apply --whitespace=nowarn - <<'MEMEVAL_END_OF_PATCH'\n{text.rstrip(chr(10))}\nMEMEVAL_END_OF_PATCH"
            )
    return "\n".join([*parts, f"echo {shlex.quote(_APPLIED)}", f"{command_for(task)} || true", ""])


@dataclass
class LocalVenv:
    """A virtual environment and a checkout of its own for each task, kept under `folder` for the next arm."""

    repositories: Repositories
    folder: Path
    python: str = sys.executable
    name: str = "virtual environment"
    _failed: dict[str, DataError] = field(default_factory=dict)
    _locks: dict[str, Lock] = field(default_factory=lambda: defaultdict(Lock))
    _lock: Lock = field(default_factory=Lock)

    def evaluate(self, task: SweTask, patch: str, timeout: float) -> Finished:
        """One task at a time in its own place."""
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
            except DataError as error:
                self._failed[task.id] = error
                raise
        return place

    def _build(self, task: SweTask, place: Path) -> None:
        fix = "Give option python an interpreter that fits the task, or use docker."
        self.repositories.checkout(task.repo, task.base_commit, place / "checkout")
        made = run([self.python, "-m", "venv", "--clear", str(place / "venv")], place, timeout=_BUILD_SECONDS)
        must(made, f"No virtual environment for {task.id}", fix)
        python = str(_python_in(place / "venv"))
        install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-e", str(place / "checkout"), "pytest"]
        environment = plain_environment(HOME=str(place))
        must(run(install, place, timeout=_BUILD_SECONDS, environment=environment), f"{task.id} can't be installed here", fix)
        (place / "ready").write_text("", encoding="utf-8")

    def _tests(self, task: SweTask, patch: str, place: Path, timeout: float) -> Finished:
        tree = place / "checkout"
        must(git(["reset", "-q", "--hard"], tree), "The checkout can't be reset", f"Remove {place}.")
        must(
            git(["clean", "-q", "-fd", "-e", "*.egg-info", "-e", "*.so"], tree),
            "The checkout can't be cleaned",
            f"Remove {place}.",
        )
        for text, what in ((patch, "The change"), (task.test_patch, "The test patch")):
            if text:
                must(apply(tree, text), f"{what} of {task.id} can't be applied", "Look at the data.")
        command = ["sh", "-c", command_for(task, shlex.quote(str(_python_in(place / "venv"))))]
        return run(command, tree, timeout=timeout, environment=plain_environment(HOME=str(place), PYTHONDONTWRITEBYTECODE="1"))


def _python_in(venv: Path) -> Path:
    windows = venv / "Scripts" / "python.exe"
    return windows if windows.exists() else venv / "bin" / "python"


@dataclass
class Grader:
    """Tries the environments in order; the first in which the gold patch passes grades the task, for every arm alike."""

    environments: list[Environment]
    why_none: str
    timeout: float
    _trusted: dict[str, tuple[Environment | None, str]] = field(default_factory=dict)
    _locks: dict[str, Lock] = field(default_factory=lambda: defaultdict(Lock))
    _lock: Lock = field(default_factory=Lock)

    def grade(self, task: SweTask, patch: str) -> Verdict:
        """The verdict on a patch; unscored with the reason when no environment can be trusted with the task."""
        if task.missing:
            return Verdict(None, task.missing)
        environment, why = self._trust(task)
        if environment is None:
            return Verdict(None, why)
        try:
            done = environment.evaluate(task, patch, self.timeout)
        except (DataError, DependencyError) as error:
            return Verdict(None, str(error))
        if done.timed_out:
            return Verdict(0.0, f"the tests did not end within {self.timeout:g} s")
        return judge(task, done.output)

    def _trust(self, task: SweTask) -> tuple[Environment | None, str]:
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
                done = environment.evaluate(task, task.gold, self.timeout)
            except (DataError, DependencyError) as error:
                reasons.append(f"{environment.name}: {error.message}")
                continue
            verdict = judge(task, done.output)
            if verdict.value == 1.0 and not done.timed_out:
                return environment, ""
            reasons.append(f"{environment.name}: the gold patch does not pass there ({verdict.reason})")
        return None, "; ".join(reasons) or "there is no environment to grade in"
