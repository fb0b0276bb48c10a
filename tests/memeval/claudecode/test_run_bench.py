"""The command with a fake client: every session is counted, whatever its outcome."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

import pytest

from memeval.claudecode.arms import Conditions
from memeval.claudecode.command import Command
from memeval.claudecode.console import daily_budget_of
from memeval.claudecode.processes import processes_of
from tests.memeval.claudecode.conftest import ROOT, FakeWorld
from tests.waiting import HANGS_SECONDS, until

VOLATILE = ("times", "seconds", "run_id", "group", "trajectories", "resumed_with", "cache")


def lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in VOLATILE}
    return [lasting(item) for item in value] if isinstance(value, list) else value


def wait_for_calls(world: FakeWorld, run: subprocess.Popen[str], count: int) -> None:
    until(lambda: len(world.calls()) >= count or run.poll() is not None, "the client was not called")


@pytest.mark.slow
def test_forty_sessions_with_crashes_a_hang_and_a_limit_are_all_accounted_for_and_a_resume_asks_only_the_faulty_again(
    world: FakeWorld,
) -> None:
    words = {4: "CRASH", 19: "CRASH", 23: "HANG", 31: "LIMIT"}
    world.questions(40, lambda number: words.get(number, ""))
    done = world.bench(
        *("-b", "forty", "--mode", "off", "--base-url", world.address, "--workers", "4", "--timeout", "10", "--backoff", "0.1"),
        *("--retries", "1", "--run-id", "g", "--json"),
    )
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["sessions"] == {"total": 40, "by_status": {"crash": 2, "done": 37, "hang": 1}, "starts": 42, "cached": 0}
    assert cell["questions"] == {"total": 40, "done": 37, "failed": 3, "pending": 0}
    assert cell["unscored"] == {"crash": 2, "hang": 1}
    assert cell["lost"]["by_kind"] == {"hang": 1, "rate_limit": 1}
    assert cell["metrics"]["accuracy"]["value"] == 18 / 37  # Of the 20 odd numbers, 19 and 23 have no answer.
    result = world.result("g")
    assert result["metrics"]["contains"]["failed"] == 3
    assert {q["id"] for q in result["questions"] if q["status"] == "failed"} == {"q04", "q19", "q23"}
    before = len(world.calls())
    world.extra["ANTHROPIC_FAKE_WELL"] = "1"
    again = world.bench("--resume", "g", "--base-url", world.address, "--no-probe", "--json")
    (healed,) = json.loads(again.stdout)["cells"]
    assert len(world.calls()) == before + 3
    assert (healed["sessions"]["by_status"], healed["unscored"]) == ({"done": 40}, {})
    assert healed["metrics"]["accuracy"]["value"] == 0.5
    until(lambda: processes_of(world.folder) == [], "a process is left")


@pytest.mark.slow
def test_a_run_that_is_killed_and_resumed_gives_the_same_result(world: FakeWorld) -> None:
    world.questions(12)
    world.extra["ANTHROPIC_FAKE_SECONDS"] = "0.2"
    flags = ("-b", "forty", "--mode", "off", "--base-url", world.address, "--workers", "2")
    for start in range(3):
        before = len(world.calls())
        run = world.start(*(("--resume", "g", "--base-url", world.address) if start else (*flags, "--run-id", "g")))
        wait_for_calls(world, run, before + 4)
        run.kill()
        run.wait(HANGS_SECONDS)
    assert world.bench("--resume", "g", "--base-url", world.address).returncode == 0
    assert world.bench(*flags, "--run-id", "whole", "--no-cache").returncode == 0
    assert lasting(world.result("g")) == lasting(world.result("whole"))


@pytest.mark.slow
def test_a_session_that_an_earlier_run_paid_for_is_taken_from_its_cache_and_said_to_be(world: FakeWorld) -> None:
    world.questions(3, lambda number: "CRASH" if number == 3 else "")
    flags = ("-b", "forty", "--mode", "off", "--base-url", world.address, "--no-probe")
    assert world.bench(*flags, "--run-id", "first").returncode == 0
    assert world.bench(*flags, "--run-id", "second").returncode == 0
    assert len(world.calls()) == 4  # The one without an answer was retried.
    first, second = world.result("first"), world.result("second")
    assert second["claudecode"]["sessions"] == {"total": 3, "by_status": {"crash": 1, "done": 2}, "starts": 1, "cached": 2}
    assert second["metrics"]["contains"] == first["metrics"]["contains"]
    assert second["usage"]["total"]["cached_calls"] == 2
    assert (first["usage"]["total"]["cost_usd"], second["usage"]["total"]["cost_usd"]) == (0.02, 0.0)
    for more in (("--no-cache",), ("--model", "claude-opus-5-5"), ("--max-turns", "4")):
        before = len(world.calls())
        assert world.bench(*flags, *more).returncode == 0
        assert len(world.calls()) == before + 3, more


@pytest.mark.slow
def test_repeats_are_sessions_of_their_own_and_their_spread_is_reported(world: FakeWorld) -> None:
    world.questions(2)
    flags = ("-b", "forty", "--mode", "off", "--repeat", "3", "--base-url", world.address, "--no-probe", "--json")
    done = world.bench(*flags)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [cell["repeat"] for cell in summary["cells"]] == [1, 2, 3]
    assert len(world.calls()) == 6
    assert summary["variance"][0]["repeats"] == [0.5, 0.5, 0.5]
    assert summary["variance"][0]["standard_deviation"] == 0.0


@pytest.mark.slow
def test_shards_of_a_benchmark_are_all_of_it_and_none_twice(world: FakeWorld) -> None:
    world.questions(5)
    asked = []
    for shard in ("1/2", "2/2"):
        done = world.bench("-b", "forty", "--mode", "off", "--shard", shard, "--base-url", world.address, "--run-id", shard[0])
        assert done.returncode == 0, done.stderr
        asked += [question["id"] for question in world.result(shard[0])["questions"]]
    assert sorted(asked) == [f"q{number:02}" for number in range(1, 6)]
    questions = [question for shard in ("1", "2") for question in world.result(shard)["questions"]]
    assert sorted(question["position"] for question in questions) == [0, 1, 2, 3, 4]
    assert world.result("1")["benchmark"]["questions"] == 5


@pytest.mark.slow
def test_interrupting_stops_all_sessions_and_leaves_no_process(world: FakeWorld) -> None:
    world.questions(4, lambda number: "HANG")
    run = world.start("-b", "forty", "--mode", "off", "--base-url", world.address, "--workers", "3", "--run-id", "g")
    wait_for_calls(world, run, 4)  # The probe and three sessions.
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=HANGS_SECONDS)
    assert run.returncode == 130, stderr
    assert "--resume" in stderr
    until(lambda: processes_of(world.folder) == [], "a process is left")


def test_without_a_login_there_is_one_message_at_once(world: FakeWorld) -> None:
    world.questions(2)
    done = world.bench("-b", "forty", "--mode", "all")
    assert done.returncode == 2
    assert "No login" in done.stderr
    assert "claude setup-token" in done.stderr
    assert world.calls() == []


def test_when_nobody_answers_there_is_one_message(world: FakeWorld) -> None:
    world.questions(2)
    done = world.bench("-b", "forty", "--base-url", "http://127.0.0.1:9")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: No response from http://127.0.0.1")
    assert world.calls() == []


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"ANTHROPIC_FAKE_VERSION": "2.0.1"}, "too old"),
        ({"ANTHROPIC_FAKE_FAULT": "Not logged in · Please run /login"}, "Not logged in"),
        ({"ANTHROPIC_FAKE_FAULT": "There's an issue with the selected model (x). It may not exist."}, "selected model"),
        ({"ANTHROPIC_FAKE_FAULT": "You've hit your session limit · resets 3pm"}, "session limit"),
    ],
)
def test_what_is_wrong_is_reported_before_any_question_is_asked(
    world: FakeWorld, variables: dict[str, str], message: str
) -> None:
    world.questions(2)
    world.extra.update(variables)
    done = world.bench("-b", "forty", "--base-url", world.address)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 2
    assert not (world.folder / "results" / "ledger.jsonl").exists()


def test_a_usage_limit_is_waited_for_from_the_first_session_on_if_the_user_asks_for_it(world: FakeWorld) -> None:
    world.questions(2)
    world.extra["ANTHROPIC_FAKE_LIMITS"] = "5"
    flags = ("-b", "forty", "--mode", "off", "--base-url", world.address, "--retries", "0", "--backoff", "0.05")
    refused = world.bench(*flags)
    assert (refused.returncode, "session limit" in refused.stderr) == (2, True)
    done = world.bench(*flags, "--wait", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("(--wait)") == 4
    (cell,) = json.loads(done.stdout)["cells"]
    assert (cell["unscored"], cell["sessions"]["by_status"]) == ({}, {"done": 2})


def test_an_embedder_that_is_not_there_is_reported_before_any_question_is_asked(world: FakeWorld) -> None:
    world.questions(2)
    done = world.bench("-b", "forty", "--base-url", world.address, "--embedder", "none-such")
    assert done.returncode == 2, done.stderr
    assert "none-such" in done.stderr
    assert world.calls() == []


def test_a_client_that_is_not_there_is_reported(world: FakeWorld) -> None:
    world.questions(2)
    (world.folder / "claude").unlink()
    done = world.bench("-b", "forty", "--base-url", world.address)
    assert done.returncode == 2
    assert "was not found" in done.stderr


@pytest.mark.slow
def test_the_budget_ends_the_run_before_it_is_passed_and_it_can_go_on(world: FakeWorld) -> None:
    world.questions(6)
    flags = ("--base-url", world.address, "--no-probe")
    done = world.bench("-b", "forty", "--mode", "off", *flags, "--budget-usd", "0.035", "--run-id", "g")
    assert done.returncode == 3, done.stderr
    assert len(world.calls()) == 3
    assert all("--max-budget-usd" in call["argv"] for call in world.calls())
    again = world.bench("--resume", "g", *flags, "--budget-usd", "forty=1")
    assert again.returncode == 0, again.stderr
    assert len(world.calls()) == 6


def test_sessions_get_nothing_of_the_users_environment(world: FakeWorld) -> None:
    world.questions(1)
    world.extra.update({"MEMORYD_HOME": "/nowhere", "CLAUDE_CONFIG_DIR": "/nowhere", "CLAUDECODE": "1", "SECRET_TOKEN": "x"})
    assert world.bench("-b", "forty", "--mode", "off", "--base-url", world.address).returncode == 0
    (_, asked) = world.calls()
    assert not {"CLAUDECODE", "SECRET_TOKEN"} & set(asked["env"])
    assert not [name for name, value in asked["env"].items() if str(ROOT) in value or "conf" in value.lower().split("/")], asked
    assert {"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR", "CLAUDE_CODE_DISABLE_AUTO_MEMORY"} <= set(asked["env"])


def test_a_session_that_needs_too_many_turns_is_wrong_and_said_to_be(world: FakeWorld) -> None:
    world.questions(2, lambda number: "TURNS" if number == 1 else "")
    assert world.bench("-b", "forty", "--mode", "off", "--base-url", world.address, "--run-id", "g").returncode == 0
    client = world.result("g")["claudecode"]
    assert client["sessions"]["by_status"] == {"done": 1, "max_turns": 1}
    # The fake client knows the answers to odd numbers only. The first one would be correct if it had finished.
    assert (client["four_metrics"]["accuracy"]["value"], client["four_metrics"]["accuracy"]["metric"]) == (0.0, "contains")


def test_accuracy_counts_a_session_out_of_turns_as_wrong_and_leaves_out_one_that_crashed(world: FakeWorld) -> None:
    world.questions(5, lambda number: {1: "TURNS", 2: "CRASH"}.get(number, ""))
    done = world.bench("-b", "forty", "--mode", "off", "--base-url", world.address, "--run-id", "g", "--json")
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["sessions"]["by_status"] == {"crash": 1, "done": 3, "max_turns": 1}
    accuracy = cell["metrics"]["accuracy"]
    assert accuracy["value"] == 0.5  # 3 and 5 of 1, 3, 4 and 5.
    assert (accuracy["interval"]["low"], accuracy["interval"]["high"]) == pytest.approx((0.15, 0.85), abs=0.001)


def test_a_dry_run_plans_and_runs_nothing(world: FakeWorld) -> None:
    world.questions(5)
    done = world.bench("-b", "forty", "--grid", "--mode", "plugin", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert [row["cell"].split(" ")[1:] for row in plan["cells"]] == [
        ["plugin", "claude-haiku-4-5"], ["off", "claude-haiku-4-5"], ["off", "claude-sonnet-5-5"], ["off", "claude-opus-5-5"]
    ]  # fmt: skip
    assert [row["sessions"] for row in plan["cells"]] == [6, 5, 5, 5]
    assert plan["total"]["cost_usd"] > 0
    assert world.calls() == []


def test_a_plan_counts_the_models_of_memory_and_the_judge_and_shows_memory_apart(world: FakeWorld) -> None:
    world.questions(5)

    def planned(*flags: str) -> dict[str, Any]:
        done = world.bench("-b", "forty", "--mode", "off,plugin", "--dry-run", "--json", *flags)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    plain, read = planned(), planned("--plugin-setting", "reader=claude")
    assert [row["memory_usd"] for row in plain["cells"]] == [0.0, 0.0]
    off, plugin = read["cells"]
    assert off["memory_usd"] == 0.0 < plugin["memory_usd"]
    assert plugin["cost_usd"] == pytest.approx(plain["cells"][1]["cost_usd"] + plugin["memory_usd"])
    world.extra["OPENAI_API_KEY"] = "none"
    judged = planned("--judge", "llm", "--judge-model", "openai/gpt-4o")
    assert judged["total"]["cost_usd"] > plain["total"]["cost_usd"]


def test_benchmarks_are_listed_with_what_they_need(world: FakeWorld) -> None:
    world.questions(1)
    listed = json.loads(world.bench("--list-benchmarks", "--json", "--offline").stdout)
    assert listed["forty"]["ready"]
    assert not listed["longmemeval-s"]["ready"]
    assert "--data" in listed["longmemeval-s"]["needs"][0]["fix"]


@pytest.mark.slow
def test_all_are_the_benchmarks_that_have_what_they_need_the_users_own_data_counted(world: FakeWorld) -> None:
    world.questions(1)
    plan = world.bench("-b", "all", "--offline", "--mode", "off", "--dry-run", "--json", "--limit", "1")
    assert [row["cell"].split(" ")[0] for row in json.loads(plan.stdout)["cells"]] == ["forty", "sample", "sample-code"]
    (world.folder / "tasks").mkdir()
    task = {"instance_id": "a__b-1", "repo": "a/b", "base_commit": "1" * 40, "problem_statement": "It fails.", "patch": "-"}
    (world.folder / "tasks" / "1.json").write_text(json.dumps(task))
    more = world.bench(
        "-b", "all", "--offline", "--mode", "off", "--dry-run", "--json", "--data", f"swe-contextbench={world.folder / 'tasks'}"
    )
    assert "swe-contextbench" in more.stdout, more.stderr
    validated = world.bench("-b", "swe-contextbench", "--offline", "--data", str(world.folder / "tasks"), "--validate", "--json")
    (reason,) = json.loads(validated.stdout)["swe-contextbench"].values()
    assert reason == "the task's data has no test_patch, FAIL_TO_PASS"


@pytest.mark.slow
def test_a_selection_that_does_not_fit_a_benchmark_leaves_it_out_and_says_so(world: FakeWorld) -> None:
    world.questions(2)
    flags = ("-b", "forty,sample", "--mode", "off", "--questions", "q02", "--base-url", world.address, "--no-probe", "--json")
    done = world.bench(*flags)
    assert done.returncode == 0, done.stderr
    assert [cell["benchmark"] for cell in json.loads(done.stdout)["cells"]] == ["forty"]
    assert "sample is left out: There is no question 'q02'." in done.stderr
    alone = world.bench("-b", "forty", "--questions", "q99", "--base-url", world.address)
    assert (alone.returncode, "There is no question 'q99'." in alone.stderr) == (2, True)


@pytest.mark.slow
def test_a_dev_slice_takes_a_share_that_a_seed_decides(world: FakeWorld) -> None:
    world.questions(20)
    found: list[Any] = []
    for seed in ("1", "1", "2"):
        flags = ("-b", "forty", "--mode", "off", "--dev-slice", "0.2", "--seed", seed, "--base-url", world.address, "--no-probe")
        done = world.bench(*flags, "--run-id", f"g{len(found)}")
        assert done.returncode == 0, done.stderr
        found.append([question["id"] for question in world.result(f"g{len(found)}")["questions"]])
    assert len(found[0]) == 4
    assert found[0] == found[1] != found[2]


def test_an_unknown_benchmark_or_mode_is_reported_with_what_is_known(world: FakeWorld) -> None:
    world.questions(1)
    for flags in (("-b", "fourty"), ("-b", "forty", "--mode", "on")):
        done = world.bench(*flags)
        assert done.returncode == 2
        assert "Known:" in done.stderr


def test_a_daily_budget_of_day_dreams_is_announced_only_if_the_user_set_one() -> None:
    def announced(**settings: str) -> str:
        return daily_budget_of(Command(("sample",), (("plugin", "m"),), conditions=Conditions(plugin_settings=settings)))

    assert "at most 5000 model tokens a day" in announced(daily_token_budget="5000")
    assert announced() == ""
