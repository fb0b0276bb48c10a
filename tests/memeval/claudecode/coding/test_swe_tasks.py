"""Tests of checkouts, grading and sequences of SWE-bench-like tasks, with a small local repository and no network."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from memeval.claudecode.coding.checkouts import FinishedCheck, Repositories, change, touched, written
from memeval.claudecode.coding.grading import (
    Docker,
    Environment,
    Grader,
    LocalVenv,
    PatchRefusedError,
    Recipe,
    SweTask,
    TaskVerdict,
    command_for,
    judge,
    passed,
)
from memeval.claudecode.coding.swe import SweTasks
from memeval.claudecode.contract import ErrorKind, SessionResult, Step, StepKind, ToolCall
from memeval.core.errors import ConfigError, DataError
from memeval.run.settings import Selection
from tests.memeval.claudecode.coding.conftest import OptionsOf, git, write

WRONG = "def double(x):\n    return x + x + 1\n"
RIGHT = "def double(x):\n    return 2 * x\n"
OLD_TEST = "from calc import double\n\n\ndef test_kind():\n    assert isinstance(double(1), int)\n"
BARE = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"
"""The plugins of this project's pytest take longer to load than these tests take to run."""
NEW_TEST = f"{OLD_TEST}\n\ndef test_double():\n    assert double(3) == 6\n"


@dataclass
class World:
    """A clone of a repository whose second commit is the fix, and the task created from it."""

    clones: Path
    base: str
    fix: str
    record: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def world(tmp_path: Path) -> World:
    clone = tmp_path / "clones" / "acme__calc"
    write(clone, {"calc.py": WRONG, "test_calc.py": OLD_TEST, "README": "calc\n"})
    git(clone, "init", "-q")
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "one")
    base = git(clone, "rev-parse", "HEAD")
    write(clone, {"calc.py": RIGHT, "test_calc.py": NEW_TEST})
    git(clone, "commit", "-q", "-a", "-m", "the fix")
    git(clone, "tag", "v2")
    record = {
        "instance_id": "acme__calc-1",
        "repo": "acme/calc",
        "base_commit": base,
        "problem_statement": "double(3) is 7, it should be 6.",
        "patch": git(clone, "diff", base, "HEAD", "--", "calc.py") + "\n",
        "test_patch": git(clone, "diff", base, "HEAD", "--", "test_calc.py") + "\n",
        "FAIL_TO_PASS": json.dumps(["test_calc.py::test_double"]),
        "PASS_TO_PASS": json.dumps(["test_calc.py::test_kind"]),
        "created_at": "2024-01-02T00:00:00Z",
    }
    return World(tmp_path / "clones", base, git(clone, "rev-parse", "HEAD"), record)


def task_of(world: World, **changes: Any) -> SweTask:
    record = {**world.record, **changes}
    return SweTask(
        record["instance_id"],
        record["repo"],
        record["base_commit"],
        record["patch"],
        record["test_patch"],
        tuple(json.loads(record["FAIL_TO_PASS"])),
        tuple(json.loads(record["PASS_TO_PASS"])),
    )


def local(world: World, tmp_path: Path, task: SweTask) -> LocalVenv:
    """Return a prepared environment. Its interpreter is the current one, which has pytest."""
    repositories = Repositories(tmp_path / "commits", world.clones)
    place = tmp_path / "environments" / task.id
    repositories.checkout(task.repo, task.base_commit, place / "checkout")
    python = place / "venv" / "bin" / "python"
    write(place, {"venv/bin/python": f'#!/bin/sh\n{BARE} exec {shlex.quote(sys.executable)} "$@"\n', "ready": ""})
    python.chmod(0o755)
    return LocalVenv(repositories, tmp_path / "environments")


def data(tmp_path: Path, *records: dict[str, Any]) -> Path:
    folder = tmp_path / "tasks"
    folder.mkdir(exist_ok=True)
    for record in records:
        (folder / f"{record['instance_id']}.json").write_text(json.dumps(record))
    return folder


def test_a_checkout_holds_nothing_of_the_future(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "work" / "project"
    Repositories(tmp_path / "commits", world.clones).checkout("acme/calc", world.base, folder)
    assert (folder / "calc.py").read_text() == WRONG
    assert git(folder, "rev-list", "--all", "--count") == "1"
    assert git(folder, "tag") == git(folder, "remote") == git(folder, "status", "--porcelain") == ""
    with pytest.raises(subprocess.CalledProcessError):
        git(folder, "cat-file", "-e", world.fix)


def test_commits_come_from_the_cache_once_they_are_there(world: World, tmp_path: Path) -> None:
    repositories = Repositories(tmp_path / "commits", world.clones)
    repositories.checkout("acme/calc", world.base, tmp_path / "one")
    world.clones.rename(tmp_path / "elsewhere")
    repositories.checkout("acme/calc", world.base, tmp_path / "two")
    assert (tmp_path / "two" / "calc.py").read_text() == WRONG


def test_what_cannot_be_fetched_is_reported_with_the_fix(world: World, tmp_path: Path) -> None:
    repositories = Repositories(tmp_path / "commits", world.clones, base=str(tmp_path / "no-server"))
    with pytest.raises(DataError, match="acme/other.*option checkouts"):
        repositories.checkout("acme/other", world.base, tmp_path / "work")
    with pytest.raises(DataError, match="offline"):
        Repositories(tmp_path / "commits", offline=True).checkout("acme/more", world.base, tmp_path / "work")
    with pytest.raises(DataError, match="can't be fetched"):
        repositories.checkout("acme/calc", "0" * 40, tmp_path / "work")
    repositories.checkout("acme/calc", world.base, tmp_path / "work")


def test_the_change_is_found_whatever_the_agent_did_with_git(world: World, tmp_path: Path) -> None:
    repositories = Repositories(tmp_path / "commits", world.clones)
    agent, clean = tmp_path / "agent", tmp_path / "clean"
    for how in ("nothing", "commit", "remove"):
        repositories.checkout("acme/calc", world.base, agent)
        repositories.checkout("acme/calc", world.base, clean)
        write(agent, {"calc.py": RIGHT, "new.py": "x = 1\n", "test_calc.py": "cheat\n"})
        if how == "commit":
            git(agent, "commit", "-q", "-a", "-m", "mine")
        if how == "remove":
            (agent / ".git").rename(tmp_path / "removed-git")
        patch = change(agent, clean, ["test_calc.py"])
        assert "+    return 2 * x" in patch and "new.py" in patch and "cheat" not in patch
        assert (agent / "calc.py").read_text() == RIGHT
        assert git(clean, "status", "--porcelain") == ""


@pytest.mark.slow
def test_tests_decide_in_a_local_environment(world: World, tmp_path: Path) -> None:
    task = task_of(world)
    grader = Grader([local(world, tmp_path, task)], "", 60)
    assert grader.grade(task, task.gold).value == 1.0
    verdict = grader.grade(task, "")
    assert verdict.value == 0.0
    assert verdict.reason == "0 of 1 failing tests pass, 1 of 1 others; not: test_calc.py::test_double"


def test_an_environment_in_which_the_gold_patch_fails_grades_nothing(world: World, tmp_path: Path) -> None:
    task = task_of(world, PASS_TO_PASS=json.dumps(["test_calc.py::test_needs_a_compiler"]))
    verdict = Grader([local(world, tmp_path, task)], "no docker engine responds", 60).grade(task, task.gold)
    assert verdict.value is None
    assert "no docker engine responds" in verdict.reason and "gold patch does not pass" in verdict.reason


def test_tasks_without_tests_or_environment_are_unscored(world: World) -> None:
    assert Grader([], "", 1).grade(task_of(world, FAIL_TO_PASS="[]"), "").reason == "the task's data has no FAIL_TO_PASS"
    verdict = Grader([], "no docker engine responds", 1).grade(task_of(world), "")
    assert (verdict.value, verdict.reason) == (None, "no docker engine responds")


@dataclass
class Slow:
    """Passes with the gold patch. Any other patch times out."""

    gold: str
    name: str = "slow"

    def evaluate(self, task: SweTask, patch: str, timeout: float) -> FinishedCheck:
        return FinishedCheck(0, log(task)) if patch == self.gold else FinishedCheck(-9, "", timed_out=True)


def log(task: SweTask, *failed: str) -> str:
    """Return the output of a task's tests, some of which failed."""
    tests = (*task.fail_to_pass, *task.pass_to_pass)
    return "\n".join(f"{'FAILED' if test in failed else 'PASSED'} {test}" for test in tests)


@dataclass
class Played:
    """Runs nothing. Returns these outputs in sequence: first for the gold patch, then without it, then again with it."""

    outputs: list[FinishedCheck | DataError]
    name: str = "played"

    def evaluate(self, task: SweTask, patch: str, timeout: float) -> FinishedCheck:
        output = self.outputs.pop(0)
        if isinstance(output, DataError):
            raise output
        return output


def graded(task: SweTask, *outputs: FinishedCheck | DataError) -> TaskVerdict:
    return Grader([Played(list(outputs))], "", 60).grade(task, "a patch")


def test_an_environment_is_trusted_only_if_the_gold_patch_passes_twice_and_the_tests_fail_without_it(world: World) -> None:
    task = task_of(world)
    good, bad = FinishedCheck(0, log(task)), FinishedCheck(1, log(task, "test_calc.py::test_double"))
    flaky = FinishedCheck(1, log(task, "test_calc.py::test_kind"))
    assert graded(task, good, bad, good, good).value == 1.0
    assert (graded(task, good, bad, good, bad).value, graded(task, good, bad, good, flaky).value) == (0.0, 0.0)
    for outputs, reason in (
        ((bad,), "played: the gold patch does not pass there (0 of 1 failing tests pass, 1 of 1 others"),
        ((good, good), "played: its tests pass there without the gold patch"),
        ((good, bad, flaky), "played: its tests are flaky: the gold patch passed once and failed once (test_calc.py::test_kind)"),
        ((PatchRefusedError("The change can't be applied."),), "played: The change can't be applied."),
    ):
        verdict = graded(task, *outputs)
        assert verdict.value is None
        assert verdict.reason.startswith(reason)


def test_a_change_that_cannot_be_applied_has_not_resolved_its_task_and_a_broken_environment_says_nothing(world: World) -> None:
    task = task_of(world)
    trusted = FinishedCheck(0, log(task)), FinishedCheck(1, log(task, "test_calc.py::test_double")), FinishedCheck(0, log(task))
    refused = graded(task, *trusted, PatchRefusedError("The change can't be applied."))
    assert (refused.value, refused.reason) == (0.0, "The change can't be applied.")
    assert graded(task, *trusted, DataError("The engine is gone.")).value is None


def test_lines_that_the_code_under_test_prints_do_not_pass_for_results(world: World) -> None:
    task = task_of(world)
    assert judge(task, log(task), 0).value == 1.0
    forged = judge(task, log(task), 3)
    assert (forged.value, forged.reason) == (0.0, "the tests ended with code 3, and their output reports no failure")
    assert judge(task, "ImportError: no calc", 4).reason == "no test was run: ImportError: no calc"
    both = f"{log(task)}\nFAILED test_calc.py::test_double - assert 7 == 6"
    assert judge(task, both, 1).value == 0.0


def test_a_skipped_test_is_no_regression_and_no_fix(world: World) -> None:
    django = task_of(
        world, repo="django/django", FAIL_TO_PASS='["test_a (x.A)"]', PASS_TO_PASS='["test_b (x.A)", "test_c (x.A)"]'
    )
    fixed, skipped = "test_a (x.A) ... ok\n", "test_a (x.A) ... skipped 'no'\n"
    rest = "test_b (x.A) ... skipped 'no'\ntest_c (x.A) ... Testing against Django\nok\n"
    assert judge(django, fixed + rest).value == 1.0
    assert judge(django, skipped + rest).value == 0.0


def test_files_of_a_patch_are_those_of_its_headings_and_not_of_its_lines() -> None:
    patch = (
        "diff --git a/old.py b/new.py\nsimilarity index 90%\nrename from old.py\nrename to new.py\n"
        "--- a/old.py\n+++ b/new.py\n@@ -1,2 +1,2 @@\n--- a/no.py\n+++ b/no.py\n same\n"
        "diff --git a/gone.py b/gone.py\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/tests/made.py b/tests/made.py\n--- /dev/null\n+++ b/tests/made.py\n@@ -0,0 +1 @@\n+x\n"
    )
    assert touched(patch) == ["old.py", "new.py", "gone.py", "tests/made.py"]
    assert written(patch) == ["new.py", "tests/made.py"]


def test_an_archive_of_a_commit_takes_the_place_of_a_clone(world: World, tmp_path: Path) -> None:
    tree, folder = world.clones / "acme__calc", tmp_path / "archives"
    folder.mkdir()
    git(tree, "archive", "--prefix=calc-1.0/", "-o", str(folder / f"acme__calc@{world.base}.tar.gz"), world.base)
    repositories = Repositories(tmp_path / "commits", folder, offline=True)
    repositories.checkout("acme/calc", world.base, tmp_path / "one")
    repositories.checkout("acme/calc", world.base, tmp_path / "two")
    write(tmp_path / "one", {"calc.py": RIGHT})
    assert "+    return 2 * x" in change(tmp_path / "one", tmp_path / "two")
    assert git(tmp_path / "two", "rev-list", "--all", "--count") == "1"
    (folder / f"acme__calc@{world.base}.tar.gz").write_text("no archive")
    with pytest.raises(DataError, match="can't be unpacked"):
        repositories.checkout("acme/calc", world.base, tmp_path / "three")


SHOP = {
    "shop/__init__.py": "",
    "shop/cart.py": "def total(prices):\n    return sum(prices[1:])\n\n\ndef count(prices):\n    return len(prices) + 1\n",
    "shop/names.py": "def title(text):\n    return text.lower()\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_nothing():\n    assert total([]) == 0\n",
}
"""A repository with three bugs, two of which are in one file."""
FIXES = {
    "total": ("shop/cart.py", "sum(prices[1:])", "sum(prices)", "from shop.cart import total", "total([2, 3]) == 5"),
    "count": ("shop/cart.py", "len(prices) + 1", "len(prices)", "from shop.cart import count", "count([2, 3]) == 2"),
    "title": ("shop/names.py", "text.lower()", "text.title()", "from shop.names import title", "title('an ox') == 'An Ox'"),
}


def shop(tmp_path: Path) -> dict[str, SweTask]:
    """Create the clone and a task for each bug. The tasks have the same base commit."""
    clone = tmp_path / "clones" / "acme__shop"
    write(clone, SHOP)
    git(clone, "init", "-q")
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "one")
    base, tasks = git(clone, "rev-parse", "HEAD"), {}
    for name, (file, wrong, right, imported, holds) in FIXES.items():
        write(clone, {file: SHOP[file].replace(wrong, right)})
        gold = git(clone, "diff") + "\n"
        git(clone, "checkout", "-q", ".")
        test = f"\n\ndef test_{name}():\n    {imported}\n\n    assert {holds}\n"
        write(clone, {"tests/test_cart.py": SHOP["tests/test_cart.py"] + test})
        tests = git(clone, "diff") + "\n"
        git(clone, "checkout", "-q", ".")
        fails, keeps = (f"tests/test_cart.py::test_{name}",), ("tests/test_cart.py::test_nothing",)
        tasks[name] = SweTask(f"acme__shop-{name}", "acme/shop", base, gold, tests, fails, keeps)
    return tasks


def container(tmp_path: Path, clone: Path) -> str:
    """Return a program that runs docker's script in a fresh clone, where the image would have its checkout."""
    body = f"""
case "$1" in
  run) rm -rf {tmp_path}/box; git clone -q {clone} {tmp_path}/box
       sed 's#/tmp/\\(change\\|tests\\).diff#{tmp_path}/\\1.diff#g; s#^cd /testbed#cd {tmp_path}/box#' |
       PATH={Path(sys.executable).parent}:$PATH PYTHONDONTWRITEBYTECODE=1 {BARE} bash -s ;;
esac"""
    return fake_docker(tmp_path, body)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["docker", "local"])
def test_each_bug_of_a_repository_is_resolved_by_its_own_fix_only(tmp_path: Path, where: str) -> None:
    tasks = shop(tmp_path)
    world = World(tmp_path / "clones", "", "")
    total, count, title = tasks["total"], tasks["count"], tasks["title"]
    docker = Docker(container(tmp_path, tmp_path / "clones" / "acme__shop"))
    environment: Environment = docker if where == "docker" else local(world, tmp_path, total)
    if where == "local":
        local(world, tmp_path, title)
    grader = Grader([environment], "", 60)
    assert grader.grade(total, total.gold).value == 1.0
    assert grader.grade(total, count.gold).reason.startswith("0 of 1 failing tests pass, 1 of 1 others")
    assert grader.grade(title, title.gold).value == 1.0
    regression = total.gold.replace("sum(prices)", "prices[0] + prices[1]")
    assert grader.grade(total, regression).reason.startswith("1 of 1 failing tests pass, 0 of 1 others")
    assert "can't be applied" in grader.grade(total, total.gold.replace("prices[1:]", "costs[9:]")).reason
    exits = total.gold.replace("return sum(prices)", "print('PASSED tests/test_cart.py::test_total'); import os; os._exit(3)")
    assert grader.grade(total, exits).value == 0.0


@pytest.mark.slow
def test_a_package_that_cannot_be_installed_leaves_the_task_unscored_and_is_not_tried_again(tmp_path: Path) -> None:
    task = shop(tmp_path)["total"]
    repositories = Repositories(tmp_path / "commits", tmp_path / "clones")
    environment = LocalVenv(repositories, tmp_path / "environments")
    verdict = Grader([environment], "no docker engine responds", 60).grade(task, task.gold)
    assert verdict.value is None
    assert "no docker engine responds; virtual environment: acme__shop-total can't be installed here" in verdict.reason
    (tmp_path / "clones").rename(tmp_path / "moved")
    with pytest.raises(DataError, match="can't be installed here"):
        environment.evaluate(task, "", 60)


def test_packages_of_local_environments_come_from_the_first_recipe_that_fits(world: World, tmp_path: Path) -> None:
    sphinx = replace(task_of(world), repo="sphinx-doc/sphinx", version="v4.1")
    assert "Jinja2<3.1" in Recipe.of(sphinx).packages
    assert Recipe.of(task_of(world)) == Recipe()
    file = tmp_path / "recipes.toml"
    file.write_text('[[recipe]]\nrepo = "acme/calc"\npackages = ["six"]\nextras = "test"\n')
    assert Recipe.of(task_of(world), file) == Recipe(("six",), (), "test")


def test_tasks_are_validated_by_name_before_anything_is_paid_for(world: World, tmp_path: Path, options_of: OptionsOf) -> None:
    broken = {**world.record, "instance_id": "acme__calc-2", "FAIL_TO_PASS": "[]"}
    family = SweTasks("swe-contextbench", options_of(data(tmp_path, world.record, broken), grading="local"))
    task = task_of(world)
    good, bad = FinishedCheck(0, log(task)), FinishedCheck(1, log(task, "test_calc.py::test_double"))
    family.__dict__["_grader"] = Grader([Played([good, bad, good])], "", 60)
    assert dict(family.validate(Selection())) == {"acme__calc-1": "", "acme__calc-2": "the task's data has no FAIL_TO_PASS"}
    with pytest.raises(ConfigError, match="option recipes"):
        dict(SweTasks("swe-contextbench", options_of(tmp_path / "tasks", recipes="/no/file")).validate(Selection()))


def test_tests_that_do_not_end_are_a_failure_only_where_the_gold_patch_passes(world: World) -> None:
    task = task_of(world)
    assert Grader([Slow(task.gold)], "", 1).grade(task, "else").value == 0.0
    assert Grader([Slow("else")], "", 1).grade(task, "else").value is None


def fake_docker(folder: Path, body: str) -> str:
    program = folder / "docker"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return str(program)


def test_docker_is_used_when_an_engine_answers(world: World, tmp_path: Path) -> None:
    body = f"""
case "$1" in
  version) echo 27 ;;
  run) cat > {tmp_path}/script; echo "$@" > {tmp_path}/arguments; echo "memeval: patches applied"
       grep -q "2 \\* x" {tmp_path}/script && echo "PASSED test_calc.py::test_double" || echo "FAILED test_calc.py::test_double"
       echo "PASSED test_calc.py::test_kind"; echo "memeval: tests ended with code 0" ;;
esac"""
    docker = Docker(fake_docker(tmp_path, body))
    task = task_of(world)
    assert docker.engine() == ""
    assert Grader([docker], "", 60).grade(task, task.gold).value == 1.0
    script, arguments = (tmp_path / "script").read_text(), (tmp_path / "arguments").read_text()
    assert task.gold.strip() in script and task.test_patch.strip() in script and "pytest -rA" in script
    assert "--network none" in arguments and "swebench/sweb.eval.x86_64.acme_1776_calc-1:latest" in arguments


def test_without_an_engine_or_image_the_reason_is_reported(world: World, tmp_path: Path) -> None:
    assert "not installed" in Docker(str(tmp_path / "nothing")).engine()
    dead = Docker(fake_docker(tmp_path, "echo Cannot connect to the daemon; exit 1"))
    assert dead.engine() == "no docker engine responds (Cannot connect to the daemon)"
    task = task_of(world)
    assert "can't be pulled" in Grader([dead], "", 60).grade(task, task.gold).reason
    broken = Docker(fake_docker(tmp_path, 'case "$1" in run) echo "patch does not apply"; exit 1 ;; esac'))
    assert "did not start its tests: patch does not apply" in Grader([broken], "", 60).grade(task, task.gold).reason


def test_commands_and_outputs_of_each_kind_of_repository(world: World) -> None:
    plain, patch = task_of(world), "--- a/tests/admin/test_x.py\n+++ b/tests/admin/test_x.py\n"
    assert command_for(plain).endswith("test_calc.py")
    django = task_of(world, repo="django/django", test_patch=patch)
    assert command_for(django).endswith("--parallel 1 admin.test_x")
    output = (
        "test_a (admin.test_x.A) ... ok\ntest_d (admin.test_x.A.test_d)\nIt does this. ... ok\n"
        "test_b (admin.test_x.A) ... FAIL\ntest_c (x.Y) ... skipped 'no'\n"
    )
    assert passed(django, output) == {
        *("test_a (admin.test_x.A)", "tests/admin/test_x.py::A::test_a"),
        *("It does this.", "test_d (admin.test_x.A.test_d)", "tests/admin/test_x.py::A::test_d"),
    }
    sympy = task_of(world, repo="sympy/sympy", test_patch=patch)
    assert "bin/test" in command_for(sympy)
    found = passed(sympy, "sympy/core/tests/test_x.py[3] \ntest_one ok\ntest_two F\ntest_three E\n")
    assert found == {"test_one", "sympy/core/tests/test_x.py::test_one"}
    output = "PASSED a.py::t[x y]\nFAILED a.py::u - assert 1\nPASSED a.py::w\nERROR a.py::w - boom\nXFAIL a.py::v - why\n"
    assert passed(plain, output) == {"a.py::t[x y]", "a.py::t[x", "a.py::v"}, "data of SWE-bench cut names at a blank"
    assert judge(plain, "").value == 0.0


def steps_of(family: SweTasks, selection: Selection | None = None) -> list[tuple[str, list[Step]]]:
    return [(sequence.id, list(sequence.steps)) for sequence in family.sequences(selection or Selection())]


def test_tasks_of_a_repository_are_a_sequence_in_order_of_time(world: World, tmp_path: Path, options_of: OptionsOf) -> None:
    later = {**world.record, "instance_id": "acme__calc-0", "created_at": "2025-01-01T00:00:00Z"}
    other = {**world.record, "instance_id": "acme__else-1", "repo": "acme/else"}
    family = SweTasks("swe-contextbench", options_of(data(tmp_path, world.record, later, other)))
    found = steps_of(family)
    assert [(name, [step.id for step in steps]) for name, steps in found] == [
        ("acme/calc", ["acme__calc-1", "acme__calc-0"]),
        ("acme/else", ["acme__else-1"]),
    ]
    step = found[0][1][0]
    assert world.record["problem_statement"] in step.prompt
    for secret in ("acme__calc-1", world.record["patch"], "2 * x", "test_double"):
        assert secret not in step.prompt and secret not in step.folder


def test_experience_is_replayed_before_its_task(world: World, tmp_path: Path, options_of: OptionsOf) -> None:
    folder = data(tmp_path, world.record)
    line = {"instance_id": "acme__calc-9", "summary": "double is in calc.py", "related_to": ["acme__calc-1"]}
    (folder / "experience.jsonl").write_text(json.dumps(line))
    options = options_of(folder, condition="oracle-summary", experience="experience.jsonl")
    ((name, steps),) = steps_of(SweTasks("swe-contextbench", options))
    assert name == "acme__calc-1"
    assert [step.kind for step in steps] == [StepKind.REPLAY, StepKind.TASK]
    assert steps[0].session is not None and steps[0].session.turns[0].text == "double is in calc.py"


@pytest.mark.slow
def test_a_task_is_prepared_worked_on_and_graded(world: World, tmp_path: Path, options_of: OptionsOf) -> None:
    options = options_of(data(tmp_path, world.record), checkouts=str(world.clones), grading="local")
    family = SweTasks("swe-contextbench", options)
    task = task_of(world)
    family.__dict__["_grader"] = Grader([local(world, tmp_path, task)], "", 60)
    step = steps_of(family)[0][1][0]
    family.prepare(step, tmp_path / "work")
    (score,) = family.grade(step, SessionResult("done", turns=1), tmp_path / "work")
    assert score.value == 0.0
    write(tmp_path / "work" / step.folder, {"calc.py": RIGHT, "test_calc.py": "def test_double():\n    assert 0\n"})
    (score,) = family.grade(step, SessionResult("done", turns=1), tmp_path / "work")
    assert score.value == 1.0, score.reason
    (score,) = family.grade(step, SessionResult("", error=ErrorKind.RATE_LIMIT), tmp_path / "work")
    assert score.value is None


def test_a_repository_that_is_not_here_is_reported_when_its_task_begins(
    world: World, tmp_path: Path, options_of: OptionsOf
) -> None:
    family = SweTasks("swe-contextbench", options_of(data(tmp_path, world.record)))
    with pytest.raises(DataError, match="offline mode"):
        family.prepare(steps_of(family)[0][1][0], tmp_path / "work")
    (score,) = family.grade(steps_of(family)[0][1][0], SessionResult("done", turns=1), tmp_path / "work")
    assert score.value is None


def test_grading_can_be_switched_off_and_other_values_are_refused(world: World, tmp_path: Path, options_of: OptionsOf) -> None:
    folder = data(tmp_path, world.record)
    family = SweTasks("swe-contextbench", options_of(folder, checkouts=str(world.clones), grading="none"))
    (score,) = family.grade(steps_of(family)[0][1][0], SessionResult("done", turns=1), tmp_path)
    assert (score.value, score.reason) == (None, "grading is switched off")
    with pytest.raises(ConfigError, match="grading 'cloud'"):
        SweTasks("swe-contextbench", options_of(folder, grading="cloud"))


def test_sequences_of_swe_bench_cl_are_those_of_the_data(world: World, tmp_path: Path, options_of: OptionsOf) -> None:
    def task(number: int) -> dict[str, Any]:
        return {
            **world.record,
            "instance_id": f"acme__calc-{number}",
            "continual_learning": {"sequence_position": number, "difficulty": 1, "dependencies": []},
        }

    path = tmp_path / "SWE-Bench-CL.json"
    path.write_text(
        json.dumps({"sequences": [{"id": "calc_sequence", "repo": "acme/calc", "tasks": [task(2), task(1), task(3)]}]})
    )
    family = SweTasks("swe-bench-cl", options_of(path, again=True))
    ((name, steps),) = steps_of(family)
    assert name == "calc_sequence"
    assert [step.id for step in steps] == [
        *(f"acme__calc-{number}" for number in (1, 2, 3)),
        *(f"acme__calc-{number}#again" for number in (1, 2)),
    ]
    assert all(step.kind is StepKind.TASK for step in steps), "solutions of earlier tasks are not handed out"


def test_contextbench_says_what_was_looked_at(world: World, tmp_path: Path, options_of: OptionsOf) -> None:
    path = tmp_path / "context.jsonl"
    gold = [{"file": "calc.py", "start_line": 1, "end_line": 2}, {"file": "README", "start_line": 1, "end_line": 1}]
    path.write_text(json.dumps({**world.record, "gold_context": json.dumps(gold)}))
    family = SweTasks("contextbench", options_of(path, checkouts=str(world.clones), grading="none"))
    step = steps_of(family)[0][1][0]
    family.prepare(step, tmp_path)
    folder = tmp_path / step.folder
    calls = (
        ToolCall("Read", {"file_path": str(folder / "calc.py"), "offset": 2, "limit": 50}),
        ToolCall("Read", {"file_path": str(folder / "test_calc.py")}),
        ToolCall("Read", {"file_path": "/etc/hostname"}),
    )
    scores = {score.metric: score.value for score in family.grade(step, SessionResult("", turns=1, tool_calls=calls), tmp_path)}
    assert scores["accuracy"] is None
    assert (scores["context_file_recall"], scores["context_file_precision"]) == (0.5, 0.5)
    assert (scores["context_line_recall"], scores["context_block_recall"]) == (pytest.approx(1 / 3), 0.5)
    assert scores["context_line_precision"] == pytest.approx(1 / 6)
