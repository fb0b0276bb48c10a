"""Tests of checkouts, grading and sequences of SWE-bench-like tasks, with a small local repository and no network."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memeval.claudecode.coding.checkouts import FinishedCheck, Repositories, change
from memeval.claudecode.coding.grading import Docker, Grader, LocalVenv, SweTask, command_for, judge, passed
from memeval.claudecode.coding.swe import SweTasks
from memeval.claudecode.contract import ErrorKind, SessionResult, Step, StepKind, ToolCall
from memeval.core.errors import ConfigError, DataError
from memeval.run.settings import Selection
from tests.memeval.claudecode.coding.conftest import OptionsOf, git, write

WRONG = "def double(x):\n    return x + x + 1\n"
RIGHT = "def double(x):\n    return 2 * x\n"
OLD_TEST = "from calc import double\n\n\ndef test_kind():\n    assert isinstance(double(1), int)\n"
NEW_TEST = f"{OLD_TEST}\n\ndef test_double():\n    assert double(3) == 6\n"


@dataclass
class World:
    """A clone of a repository whose second commit is the fix, and the task made of it."""

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
    """Return a prepared environment: its interpreter is this one, which has pytest."""
    repositories = Repositories(tmp_path / "commits", world.clones)
    place = tmp_path / "environments" / task.id
    repositories.checkout(task.repo, task.base_commit, place / "checkout")
    python = place / "venv" / "bin" / "python"
    write(place, {"venv/bin/python": f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', "ready": ""})
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
    assert (verdict.value, verdict.reason) == (0.0, "0 of 1 failing tests pass, 1 of 1 others")


def test_an_environment_in_which_the_gold_patch_fails_grades_nothing(world: World, tmp_path: Path) -> None:
    task = task_of(world, PASS_TO_PASS=json.dumps(["test_calc.py::test_needs_a_compiler"]))
    verdict = Grader([local(world, tmp_path, task)], "no docker engine answers", 60).grade(task, task.gold)
    assert verdict.value is None
    assert "no docker engine answers" in verdict.reason and "gold patch does not pass" in verdict.reason


def test_tasks_without_tests_or_environment_are_unscored(world: World) -> None:
    assert Grader([], "", 1).grade(task_of(world, FAIL_TO_PASS="[]"), "").reason == "the task's data have no FAIL_TO_PASS"
    verdict = Grader([], "no docker engine answers", 1).grade(task_of(world), "")
    assert (verdict.value, verdict.reason) == (None, "no docker engine answers")


@dataclass
class Slow:
    """Passes with the gold patch; any other patch times out."""

    gold: str
    name: str = "slow"

    def evaluate(self, task: SweTask, patch: str, timeout: float) -> FinishedCheck:
        good = "\n".join(f"PASSED {test}" for test in (*task.fail_to_pass, *task.pass_to_pass))
        return FinishedCheck(0, good) if patch == self.gold else FinishedCheck(-9, "", timed_out=True)


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
  run) cat > {tmp_path}/script; echo "$@" > {tmp_path}/arguments
       echo "memeval: patches applied"; echo "PASSED test_calc.py::test_double"; echo "PASSED test_calc.py::test_kind" ;;
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
    assert dead.engine() == "no docker engine answers (Cannot connect to the daemon)"
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
    assert passed(plain, output) == {"a.py::t[x y]", "a.py::v"}
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
