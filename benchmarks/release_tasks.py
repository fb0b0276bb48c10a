"""List the coding tasks that can be graded on releases from a package index, if no clone of their repository is available.

The base of a task is derived from the first release that contains its fix: the source distribution with the gold
patch and the test patch reversed. It is close to the task's base commit, but not equal to it. The archive is written
to OUT, which is intended for the option `checkouts` of run_bench. Then the gold patch is tested there, as before
every run.

    pip download --no-deps --no-binary :all: -d sdists Django==4.2a1
    python -m benchmarks.release_tasks TASKS --out OUT --release django__django-33871=sdists/Django-4.2a1.tar.gz
"""

from __future__ import annotations

import argparse
import tarfile
import tempfile
from pathlib import Path

from memeval.benchmarks.opening import open_benchmark
from memeval.benchmarks.source import CACHE, Sources
from memeval.claudecode.coding.checkouts import FinishedCheck, Repositories, empty, git, run
from memeval.claudecode.coding.grading import Grader, LocalVenv, SweTask
from memeval.core.types import Question
from memeval.registry import Catalog

_SYMPY_RUNNER = """import os, sys
os.environ["SYMPY_USE_CACHE"] = "no"
sys.path.insert(0, os.getcwd())
import sympy
files = [word for word in sys.argv[1:] if not word.startswith("-")]
sys.exit(0 if sympy.test(*files, verbose=True) else 1)
"""
"""SymPy's releases lack its own runner `bin/test`. This is an equivalent."""


def main() -> None:
    """Print a line for each task with a given release."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", type=Path, help="tasks of SWE-ContextBench")
    parser.add_argument("--release", action="append", default=[], metavar="TASK=SDIST")
    parser.add_argument("--out", type=Path, required=True, help="folder for the archives")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for one task's tests")
    given = parser.parse_args()
    releases = dict(one.split("=", 1) for one in given.release)
    given.out.mkdir(parents=True, exist_ok=True)
    for question in _questions(given.tasks):
        if question.id in releases:
            task = SweTask.of(question)
            why = _base(task, Path(releases[task.id]), given.out) or _doubt(task, given.out, given.timeout)
            print(f"{task.id} on {Path(releases[task.id]).name}: {why or 'can be graded'}", flush=True)


def _questions(tasks: Path) -> list[Question]:
    sources = Sources(cache=Path(CACHE).expanduser(), offline=True)
    benchmark = open_benchmark(Catalog.default().benchmark("swe-contextbench"), tasks, options={}, sources=sources)
    return [question for case in benchmark.cases() for question in case.questions]


def _base(task: SweTask, release: Path, out: Path) -> str:
    """Write the archive of the task's base. Return the reason if that is impossible, or an empty string."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "release"
        empty(work)
        with tarfile.open(release) as packed:
            packed.extractall(work, filter="data")
        (tree,) = work.iterdir()
        for patch, name in ((task.gold, "gold patch"), (task.test_patch, "test patch")):
            if not _reverse(tree, patch).ok:
                return f"the {name} can't be reversed in this release"
        if task.repo == "sympy/sympy" and not (tree / "bin" / "test").exists():
            (tree / "bin").mkdir(exist_ok=True)
            (tree / "bin" / "test").write_text(_SYMPY_RUNNER, encoding="utf-8")
        with tarfile.open(out / f"{task.repo.replace('/', '__')}@{task.base_commit}.tar.gz", "w:gz") as packed:
            packed.add(tree, arcname=tree.name)
    return ""


def _reverse(tree: Path, patch: str) -> FinishedCheck:
    text = patch if patch.endswith("\n") else f"{patch}\n"
    done = git(["apply", "-R", "--whitespace=nowarn", "-"], tree, stdin=text)
    if done.ok:
        return done
    done = run(["patch", "-R", "--batch", "--fuzz=5", "-p1"], tree, timeout=60, stdin=text)
    for left in tree.rglob("*.orig"):
        left.unlink()
    return done


def _doubt(task: SweTask, archives: Path, timeout: float) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        repositories = Repositories(Path(scratch) / "commits", archives, offline=True)
        environment = LocalVenv(repositories, Path(scratch) / "environments")
        return Grader([environment], "", timeout).trusted(task)[1]


if __name__ == "__main__":
    main()
