"""Invalid run_bench commands fail before a session is paid for. In this process, with the fake client."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memeval.claudecode.command import Command, save_command
from memeval.claudecode.run_bench import command
from memeval.cli.app import build
from memeval.results.files import ResultsDir
from tests.memeval.claudecode.conftest import FakeWorld
from tests.memeval.model_server import Reply, running


@pytest.fixture
def asked(world: FakeWorld) -> FakeWorld:
    world.questions(2)
    return world


def run(world: FakeWorld, *flags: str) -> Result:
    words = [*("--claude", str(world.folder / "claude")), *("--work-dir", str(world.folder / "work"))]
    where = ["--results-dir", str(world.folder / "results"), "--base-url", world.address]
    where += [] if "--resume" in flags else ["--embedder", ""]
    return CliRunner().invoke(command, [*words, *where, *flags], env=world.environment, catch_exceptions=False)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--budget-usd other=1", "--budget-usd refers to 'other', which is not run"),
        ("--budget-usd -1", "--budget-usd '-1' is not an amount"),
        ("--budget-usd nan", "--budget-usd 'nan' is not an amount"),
        ("--budget-usd five", "--budget-usd 'five' is not an amount"),
        ("--data other=/", "--data refers to 'other', which is not run"),
        ("--timeout 0", "0.0 is not in the range x>0"),
        ("--backoff -1", "-1.0 is not in the range x>=0"),
        ("--settle-timeout -1", "-1.0 is not in the range x>0"),
        ("--version new", "--version 'new' is not a results version"),
        ("--run-id ../x", "'../x' is not a run id"),
        ("--judge llm", "The judge llm requires a model"),
        ("--judge-model openai/x", "OPENAI_API_KEY"),
        ("--plugin-setting colour=red", "there is no setting 'colour'"),
        ("--plugin-setting floor=high", "floor"),
        ("--plugin-setting home=/elsewhere", "its own home"),
        ("--plugin-setting openai_api_key=secret", "would be stored in a file"),
        ("--plugin-setting openai_api_key=$NOT_SET", "that variable is not set"),
    ],
)
def test_a_wrong_flag_is_reported_before_anything_is_done(asked: FakeWorld, flags: str, message: str) -> None:
    for more in ((), ("--dry-run",)):
        done = run(asked, "-b", "forty", *flags.split(), *more)
        assert done.exit_code == 2, done.output
        assert message in done.stderr
    assert asked.calls() == []
    assert not (asked.folder / "results" / "runs").exists()


def test_a_key_of_the_plugin_comes_from_a_variable_and_is_kept_nowhere(asked: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    asked.extra["MY_KEY"] = "sk-hidden"
    flags = ("--mode", "off", "--no-probe", "--plugin-setting", "openai_api_key=$MY_KEY", "--run-id", "g")
    assert run(asked, "-b", "forty", *flags).exit_code == 0
    assert {call["env"]["MEMORYD_OPENAI_API_KEY"] for call in asked.calls()} == {"sk-hidden"}
    kept = [path for path in (asked.folder / "results").rglob("*") if path.is_file() and b"sk-hidden" in path.read_bytes()]
    assert kept == []


def test_memory_that_cannot_be_taken_is_reported_before_the_arm_without_memory_is_paid_for(asked: FakeWorld) -> None:
    for mode, message in (("off,plugin", "There is no run 'none-such'"), ("off", "--memory-from requires arms with a memory")):
        done = run(asked, "-b", "forty", "--mode", mode, "--memory-from", "none-such")
        assert (done.exit_code, message in done.stderr) == (2, True), done.stderr
    assert asked.calls() == []


def test_a_command_that_continues_takes_no_other_settings(asked: FakeWorld) -> None:
    save_command(ResultsDir(asked.folder / "results"), "g", Command(("forty",), (("off", "m"),)))
    done = run(asked, "--resume", "g", "--limit", "1")
    assert (done.exit_code, "omit --limit" in done.stderr) == (2, True), done.stderr
    unknown = run(asked, "--resume", "h")
    assert (unknown.exit_code, "no run_bench command 'h'" in unknown.stderr) == (2, True), unknown.stderr
    assert asked.calls() == []


def test_an_id_that_another_command_has_is_refused(asked: FakeWorld) -> None:
    save_command(ResultsDir(asked.folder / "results"), "g", Command(("forty",), (("off", "m"),)))
    done = run(asked, "-b", "forty", "--run-id", "g")
    assert done.exit_code == 2
    assert "--resume g" in done.stderr
    assert asked.calls() == []


def test_a_folder_that_cannot_be_written_is_reported_without_a_traceback(asked: FakeWorld, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(asked, "-b", "forty", "--mode", "off", "--no-probe", "--results-dir", str(tmp_path / "file" / "results"))
    assert done.exit_code == 1
    assert "Not a directory" in done.stderr


def test_a_budget_of_nothing_starts_no_session(asked: FakeWorld) -> None:
    done = run(asked, "-b", "forty", "--mode", "off", "--no-probe", "--budget-usd", "0")
    assert (done.exit_code, "The remaining budget is too small" in done.stderr) == (3, True), done.output
    assert asked.calls() == []


def test_what_a_judge_costs_is_part_of_the_budget(asked: FakeWorld) -> None:
    with running() as judge:
        judge.script(Reply("yes", usage={"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "cost": 0.5}))
        flags = ("--mode", "off", "--judge", "llm", "--judge-model", f"{judge.url}#j", "--no-probe", "--budget-usd", "0.6")
        done = run(asked, "-b", "forty", *flags)
    assert done.exit_code == 3, done.output
    assert len(asked.calls()) == len(judge.seen) == 1  # a session costs 0.01


def test_in_the_end_it_says_where_the_results_are_and_memeval_leaves_the_run_to_it(asked: FakeWorld) -> None:
    done = run(asked, "-b", "forty", "--mode", "off", "--no-probe", "--run-id", "g")
    assert done.exit_code == 0, done.output
    files = [Path(line) for line in done.stdout.splitlines()[-2:]]
    assert [file.is_file() for file in files] == [True, True]
    assert (files[0].parent.parent.name, files[1].name) == ("results", "summary.json")
    for words in (
        ("eval", "--resume", "g"),
        ("evaluate", "g.forty.off.claude-haiku-4-5"),
        ("eval", "--from", "g.forty.off.claude-haiku-4-5", "--phase", "evaluate"),
        ("run", "g.forty.off.claude-haiku-4-5"),
    ):
        where = ["--results-dir", str(asked.folder / "results"), "--cache-dir", str(asked.folder / "cache")]
        other = CliRunner().invoke(build(), [*where, *words])
        assert (other.exit_code, "run_bench --resume g" in other.stderr) == (1, True), other.output
