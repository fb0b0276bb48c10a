"""Tests of the repositories of `sample-code`, and of the family."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from memeval.claudecode.coding import learning, sample
from memeval.claudecode.coding.sample import SampleCode
from memeval.claudecode.contract import ErrorKind, SessionResult, Step, StepRecord, ToolCall
from memeval.core.errors import ConfigError, DataError
from memeval.run.settings import Selection, Shard
from tests.memeval.claudecode.coding.conftest import OptionsOf, git
from tests.memeval.claudecode.coding.solver import Solver, play

REPOSITORIES = sample.load_all()
NAMES = [repository.name for repository in REPOSITORIES]


def shell(folder: Path):  # type: ignore[no-untyped-def]
    def run(command: str) -> str:
        done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120)
        return done.stdout + done.stderr

    return run


def run_arm(family: SampleCode, work: Path, remembers: bool) -> list[StepRecord]:
    """Run all sequences with a memory that contains all earlier prompts, or with none."""
    solver, records = Solver(REPOSITORIES), []
    for sequence in family.sequences(Selection()):
        memory = ""
        for step in sequence.steps:
            family.prepare(step, work)
            answer = play(solver, step.prompt, shell(work / step.folder), memory)
            result = SessionResult(answer, turns=2, tool_calls=(ToolCall("Bash", {"command": "git apply"}),))
            records.append(StepRecord(sequence.id, step, result, tuple(family.grade(step, result, work))))
            memory += f"{step.prompt}\n" if remembers else ""
    return records


def test_there_are_five_repositories_of_four_tasks() -> None:
    assert len(REPOSITORIES) == 5
    assert all(len(repository.tasks) == 4 for repository in REPOSITORIES)
    ids = [task.id for repository in REPOSITORIES for task in repository.tasks]
    assert len(set(ids)) == 20


@pytest.mark.slow
@pytest.mark.parametrize("repository", REPOSITORIES, ids=NAMES)
def test_tasks_fail_before_and_pass_after_their_gold_patch_and_nothing_leaks(repository: sample.SampleRepository) -> None:
    assert sample.problems(repository) == []


def test_the_check_finds_what_is_wrong() -> None:
    from dataclasses import replace

    sound = REPOSITORIES[0]
    leaking = replace(sound.tasks[1], prompt=f"{sound.tasks[1].prompt} {sound.fact}")
    harmless = replace(
        sound.tasks[2], tests="import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        pass\n"
    )
    broken = replace(sound.tasks[3], gold="")
    found = sample.problems(replace(sound, tasks=(sound.tasks[0], leaking, harmless, broken)))
    assert any("tells" in text for text in found)
    assert any("passes before" in text for text in found)
    assert any("can be guessed" in text for text in found)
    assert any("does not pass after" in text for text in found)


def test_a_checkout_holds_the_start_and_nothing_else(tmp_path: Path, options_of: OptionsOf) -> None:
    family = SampleCode("sample-code", options_of())
    for sequence in family.sequences(Selection()):
        first, second, *_ = sequence.steps
        family.prepare(first, tmp_path)
        folder = tmp_path / first.folder
        (folder / "left_over.py").write_text("x = 1")
        (folder / ".git" / "HEAD").chmod(0o400)
        family.prepare(second, tmp_path)
        seen = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts}
        repository = next(one for one in REPOSITORIES if one.name == sequence.id)
        assert seen == set(repository.files)
        assert git(folder, "status", "--porcelain") == ""
        assert git(folder, "log", "--oneline").count("\n") == 0
        everything = "\n".join(path.read_text("utf-8", "ignore") for path in folder.rglob("*") if path.is_file())
        assert not any(task.tests in everything or task.gold in everything for task in repository.tasks)
        assert first.folder == second.folder


@pytest.mark.slow
def test_the_resolve_rate_follows_from_the_memory_alone(tmp_path: Path, options_of: OptionsOf) -> None:
    family = SampleCode("sample-code", options_of())
    on, off = run_arm(family, tmp_path / "on", True), run_arm(family, tmp_path / "off", False)
    assert [learning.value_of(record) for record in on] == [1.0] * 20
    assert [learning.value_of(record) for record in off] == [1.0, 0.0, 0.0, 0.0] * 5
    found = learning.summary(on, off)["continual"]
    assert (found["plasticity"], found["forward_transfer"], found["compared"]) == (1.0, 1.0, 15)
    assert found["cl_score"] is None, "no task was asked again"
    assert learning.summary(off)["continual"]["curve"] == {"1": 1.0, "2": 0.0, "3": 0.0, "4": 0.0}


@pytest.mark.slow
def test_tasks_asked_again_give_forgetting_and_the_score(tmp_path: Path, options_of: OptionsOf) -> None:
    family = SampleCode("sample-code", options_of(again="yes"))
    records = run_arm(family, tmp_path, True)
    assert len(records) == 5 * 7
    off = run_arm(SampleCode("sample-code", options_of()), tmp_path, False)
    found = learning.summary(records, off)
    assert found["continual"]["forgetting"] == 0.0
    assert found["continual"]["backward_transfer"] == 0.0
    assert found["continual"]["cl_score"] == pytest.approx(4.0)
    assert found["tasks"] == {"total": 20, "resolved": 20, "failed": 0, "unscored": 0}


def first_step(family: SampleCode) -> Step:
    return next(iter(family.sequences(Selection(limit=1)))).steps[0]


def solved(family: SampleCode, work: Path) -> Step:
    """Prepare and solve the first task."""
    step = first_step(family)
    family.prepare(step, work)
    play(Solver(REPOSITORIES), step.prompt, shell(work / step.folder))
    return step


def test_a_session_that_could_not_work_is_unscored_and_one_that_ran_out_of_turns_is_graded(
    tmp_path: Path, options_of: OptionsOf
) -> None:
    family = SampleCode("sample-code", options_of())
    step = solved(family, tmp_path)
    for kind in (ErrorKind.CRASH, ErrorKind.RATE_LIMIT, ErrorKind.TIMEOUT):
        (score,) = family.grade(step, SessionResult("", error=kind, message="no"), tmp_path)
        assert score.value is None and score.reason
    for kind in (ErrorKind.MAX_TURNS, ErrorKind.TIMEOUT):
        (score,) = family.grade(step, SessionResult("", error=kind, turns=3), tmp_path)
        assert score.value == 1.0


def test_an_agent_that_looked_up_the_gold_patch_is_unscored(tmp_path: Path, options_of: OptionsOf) -> None:
    family = SampleCode("sample-code", options_of())
    step = solved(family, tmp_path)
    call = ToolCall("Bash", {"command": f"cat {sample.DATA}/*.toml"})
    (score,) = family.grade(step, SessionResult("", turns=1, tool_calls=(call,)), tmp_path)
    assert score.value is None
    assert "gold" in score.reason


@pytest.mark.parametrize(
    "files",
    [
        {"tests/test_labels.py": "", "labels/text.py": "raise SystemExit(0)"},
        {"labels/text.py": "import os\nos._exit(0)"},
        {"labels/text.py": "def crate_label(region, number):\n    return 'OK'\n"},
        {"unittest.py": "def main(*a, **k):\n    print('OK')\n"},
        {"labels/text.py": "while True:\n    pass\n"},
        {"memeval_hidden.py": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        pass\n"},
    ],
    ids=["exit", "hard exit", "wrong", "own unittest", "endless", "own hidden tests"],
)
def test_tricks_do_not_pass(files: dict[str, str], tmp_path: Path, options_of: OptionsOf) -> None:
    family = SampleCode("sample-code", options_of(test_timeout="2"))
    step = first_step(family)
    family.prepare(step, tmp_path)
    for name, text in files.items():
        (tmp_path / step.folder / name).write_text(text)
    (score,) = family.grade(step, SessionResult("done", turns=1), tmp_path)
    assert score.value == 0.0
    assert score.reason


def test_deleted_tests_or_folders_change_nothing(tmp_path: Path, options_of: OptionsOf) -> None:
    family = SampleCode("sample-code", options_of())
    step = solved(family, tmp_path)
    shutil.rmtree(tmp_path / step.folder / "tests")
    shutil.rmtree(tmp_path / step.folder / ".git")
    (score,) = family.grade(step, SessionResult("done", turns=1), tmp_path)
    assert score.value == 1.0
    shutil.rmtree(tmp_path / step.folder)
    (score,) = family.grade(step, SessionResult("done", turns=1), tmp_path)
    assert score.value == 0.0


def test_selections_keep_the_order_and_dev_slices_whole_sequences(options_of: OptionsOf) -> None:
    family = SampleCode("sample-code", options_of())

    def ids(selection: Selection) -> list[str]:
        return [step.id for sequence in family.sequences(selection) for step in sequence.steps]

    every = ids(Selection())
    assert ids(Selection(limit=6)) == every[:6]
    sliced = ids(Selection(dev_slice=0.2, seed=3))
    assert len(sliced) == 4 and len({name.rsplit("-", 1)[0] for name in sliced}) == 1
    shards = [ids(Selection(shard=Shard(number, 3))) for number in (1, 2, 3)]
    assert sorted(name for shard in shards for name in shard) == sorted(every)
    assert all(len(shard) % 4 == 0 for shard in shards)
    assert ids(Selection(types=("first",))) == every[::4]


def test_unknown_options_and_broken_data_are_reported(tmp_path: Path, options_of: OptionsOf) -> None:
    with pytest.raises(ConfigError, match="agian"):
        SampleCode("sample-code", options_of(agian=True))
    with pytest.raises(ConfigError, match="test_timeout"):
        SampleCode("sample-code", options_of(test_timeout="soon"))
    (tmp_path / "one.toml").write_text("name = 'one'\n")
    with pytest.raises(DataError, match="one.toml"):
        list(SampleCode("sample-code", options_of(tmp_path)).sequences(Selection()))
    with pytest.raises(DataError, match="no .toml"):
        list(SampleCode("sample-code", options_of(tmp_path / "nothing")).sequences(Selection()))
