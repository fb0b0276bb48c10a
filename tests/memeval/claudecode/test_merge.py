"""Tests of merging run_bench shards: results equal those of an undivided command, and mismatches are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from memeval.benchmarks.source import Sources
from memeval.claudecode import merge, subject
from memeval.claudecode.arms import TRANSCRIPTS, Conditions
from memeval.claudecode.client import ClaudeCode
from memeval.claudecode.coding import steps
from memeval.claudecode.coding.sample import SampleCode
from memeval.claudecode.command import Command, GridRow, group_file, save_command
from memeval.claudecode.contract import ErrorKind, SessionResult, Step, ToolCall
from memeval.claudecode.families import FamilyOptions, opened, with_tasks
from memeval.claudecode.grid import perform
from memeval.claudecode.memories import DeliveredText
from memeval.claudecode.sandbox import Staged, State
from memeval.claudecode.seeding import make_primer
from memeval.claudecode.sessions import Place, StepOutcome
from memeval.claudecode.subject import Machine
from memeval.core.calls import Budget, Stop
from memeval.core.errors import MemevalError, RunError
from memeval.core.types import Phase, Score
from memeval.models.guarded import ModelCache
from memeval.registry import Catalog
from memeval.results.files import ResultsDir
from memeval.results.store import RunStore
from memeval.run import engine
from memeval.run.plan import RunContext
from memeval.run.progress import FinishedItem
from memeval.run.settings import Selection, Shard
from memoryd.core.types import Usage
from tests.memeval.claudecode.conftest import FakeWorld
from tests.memeval.claudecode.test_run_bench import lasting

MODEL = "claude-haiku-4-5"
CODE = Command(
    ("sample-code",),
    (("off", MODEL), ("plugin", MODEL)),
    selection=Selection(limit=12),
    conditions=Conditions(embedder=""),
    options={"again": True},
)
TALK = Command(("sample",), (("off", MODEL), ("plugin", MODEL)), conditions=Conditions(embedder="", ingest=TRANSCRIPTS))
OWN = ("merged_from", "repeated_histories", "created_at", "finished_at")


def chance(*words: str) -> float:
    return int(sha256("/".join(words).encode()).hexdigest()[:8], 16) / 16**8


class FakeSessions:
    """Replaces the client. The outcome of a session depends only on arm and step."""

    def __init__(self, client: Any, arm: Any, *rest: Any) -> None:
        self._arm = str(arm)

    def environment(self, state: State) -> dict[str, str]:
        return {}

    def run(self, step: Step, place: Place, resume: str = "", *, dream: bool = False) -> StepOutcome:
        luck = chance(self._arm, step.id)
        usage = Usage(1, int(1000 * luck), 7, 0.01)
        if luck < 0.1:
            return StepOutcome(SessionResult("", usage, session_id=place.session_id, error=ErrorKind.CRASH, message="gone"))
        gold = step.question.answers[0] if step.question else ""
        calls = (ToolCall("Read", {"file_path": "x"}),)
        result = SessionResult(gold if luck > 0.5 else "no", usage, 1.0, place.session_id, turns=2, tool_calls=calls)
        return StepOutcome(result, given=(DeliveredText("hook", step.id, gold[:40]),) if self._arm == "plugin" else ())

    def import_logs(self, logs: Sequence[tuple[Path, datetime | None]], place: Place, *, dream: bool = False) -> StepOutcome:
        return StepOutcome(SessionResult("", Usage(1, 100, 0, 0.5), 1.0, place.session_id))


class Quiet:
    def begin(self, label: str, total: int, done: int) -> None: ...
    def advance(self, label: str, ended: FinishedItem) -> None: ...
    def end(self, label: str) -> None: ...


def grade(family: SampleCode, step: Step, result: SessionResult, work: Path) -> list[Score]:
    if why := steps.failed_session(result):
        return steps.unscored(why)
    return [Score(steps.RESOLVED, float(result.text != "no"), "", steps.JUDGE)]


class Bench:
    """Runs commands in this process with fake sessions."""

    def __init__(self, folder: Path) -> None:
        self.results = ResultsDir(folder / "results")
        sources = Sources(cache=folder / "datasets", offline=True)
        self.context = RunContext(Catalog.default(environ={}), ModelCache(None), Budget(None), Stop(), sources)
        self.machine = Machine(
            client=ClaudeCode("claude"),
            client_version="2.1.332",
            environment={},
            plugin=Staged(folder, "d"),
            root=folder / "work",
            results=self.results,
            context=self.context,
        )

    def run(self, group: str, command: Command) -> dict[str, Any]:
        options = FamilyOptions(self.context, None, options=command.options)
        families = with_tasks(opened(command.benchmarks, options, {}), command.selection, lambda text: None)
        save_command(self.results, group, command)
        return perform(self.machine, group, command, families, Quiet())

    def shards(self, command: Command, count: int) -> list[str]:
        names = []
        for number in range(1, count + 1):
            part = replace(command, selection=replace(command.selection, shard=Shard(number, count)))
            names.append(f"s{number}")
            self.run(names[-1], part)
        return names

    def join(self, names: Sequence[str], run_id: str = "joined") -> dict[str, Any]:
        return merge.merge_commands(self.results, names, run_id, self.context)[0]

    def result(self, group: str, command: Command, arm: str) -> dict[str, Any]:
        cell = next(cell for cell in command.all_cells() if cell.arm == arm)
        return self.results.load(cell.run_id(group))

    def lines(self, group: str, command: Command, arm: str) -> list[dict[str, Any]]:
        result = self.result(group, command, arm)
        (file,) = self.results.root.glob(f"*/{result['claudecode']['trajectories']}")
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(subject, "SessionRunner", FakeSessions)
    monkeypatch.setattr(engine, "provenance", lambda: {"memeval_version": "0.1.0", "git": None})
    monkeypatch.setattr(SampleCode, "prepare", lambda self, step, work: (work / step.folder).mkdir(parents=True, exist_ok=True))
    monkeypatch.setattr(SampleCode, "grade", grade)
    monkeypatch.setattr("memeval.claudecode.subject.end_leftover_processes", lambda folder: None)  # It scans all processes.
    return Bench(tmp_path)


def same(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: same(item) for key, item in lasting(value).items() if key not in OWN}
    return [same(item) for item in value] if isinstance(value, list) else value


@pytest.mark.slow
def test_joined_tasks_have_the_numbers_learning_and_tests_of_an_undivided_command(bench: Bench) -> None:
    whole = bench.run("whole", CODE)
    joined = bench.join(bench.shards(CODE, 2))
    assert whole["cells"][1]["summary"]["continual"]["forward_transfer"] is not None
    assert whole["comparisons"]
    assert same(joined) == same(whole)
    for arm in ("off", "plugin"):
        assert same(bench.result("joined", CODE, arm)) == same(bench.result("whole", CODE, arm))
        assert lasting(bench.lines("joined", CODE, arm)) == lasting(bench.lines("whole", CODE, arm))
    ledger = {line["run_id"]: line for line in bench.results.ledger_lines()}
    pair = [ledger[GridRow("sample-code", "plugin", MODEL).run_id(group)] for group in ("joined", "whole")]  # type: ignore[arg-type]
    assert pair[0]["metrics"] == pair[1]["metrics"]
    assert pair[0]["cost_usd"] == pair[1]["cost_usd"]


@pytest.mark.slow
def test_a_benchmark_that_a_shard_had_no_part_of_is_joined_from_the_others(bench: Bench) -> None:
    chosen = Selection(dev_slice=0.2)
    command = replace(TALK, benchmarks=("sample", "sample-code"), cells=(("off", MODEL),), selection=chosen)
    whole = bench.run("whole", command)
    joined = bench.join(bench.shards(command, 5))
    assert [len(bench.result("joined", one, "off")["merged_from"]) for one in (command, CODE)] == [5, 4]
    assert same(joined) == same(whole)


def test_a_shard_for_which_no_task_was_left_is_not_missed(bench: Bench) -> None:
    command = replace(CODE, cells=(("off", MODEL),), options={}, selection=Selection(limit=2))
    whole = bench.run("whole", command)
    with pytest.raises(MemevalError, match="leaves no task"):
        bench.shards(command, 3)
    assert same(bench.join(["s1", "s2"])) == same(whole)


@pytest.mark.slow
def test_a_history_that_two_shards_replayed_counts_once_and_is_reported(bench: Bench) -> None:
    families = opened(["sample"], FamilyOptions(bench.context), {})
    cases = list(families["sample"].sequences(Selection()))
    first = next(one for one in cases if sum(step.question is not None for step in one.steps) > 1)
    ids = tuple(step.question.id for step in first.steps if step.question is not None)[:2]
    command = replace(TALK, selection=Selection(questions=ids))
    whole = bench.run("whole", command)
    joined = bench.join(bench.shards(command, 2))
    assert same(joined) == same(whole)
    stored = bench.result("joined", command, "plugin")
    assert stored["claudecode"]["repeated_histories"]["sequences"] == 1
    assert stored["claudecode"]["repeated_histories"]["usage"]["cost_usd"] == 0.5
    assert stored["merged_from"] == [f"s{number}.sample.plugin.{MODEL}" for number in (1, 2)]
    primer = make_primer(bench.results, f"joined.sample.plugin.{MODEL}", ())
    assert len(primer.states) == 1


@pytest.mark.slow
def test_joining_again_under_the_same_id_gives_the_same(bench: Bench) -> None:
    names = bench.shards(CODE, 2)
    first = bench.join(names)
    assert bench.join(names) == first
    assert len([line for line in bench.results.ledger_lines() if line["run_id"].startswith("joined.")]) == 2


def test_an_id_of_another_command_is_not_an_id_for_the_joined_one(bench: Bench) -> None:
    for number in (1, 2):
        save_command(bench.results, f"s{number}", replace(CODE, selection=Selection(shard=Shard(number, 2))))
    kept = group_file(bench.results, "s1").read_text()
    with pytest.raises(RunError, match="s1 already exists"):
        bench.join(["s1", "s2"], "s1")
    assert group_file(bench.results, "s1").read_text() == kept


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda one: replace(one, cells=one.cells[:1]), "cells"),
        (lambda one: replace(one, seed=3), "seed"),
        (lambda one: replace(one, conditions=replace(one.conditions, timeout=5.0)), "conditions.timeout"),
        (lambda one: replace(one, selection=replace(one.selection, limit=9)), "selection.limit"),
        (lambda one: replace(one, options={}), "options.again"),
    ],
)
def test_shards_of_different_commands_are_refused_with_the_field(
    bench: Bench, change: Callable[[Command], Command], field: str
) -> None:
    for number in (1, 2):
        part = replace(CODE, selection=replace(CODE.selection, shard=Shard(number, 2)))
        save_command(bench.results, f"s{number}", change(part) if number == 2 else part)
    with pytest.raises(RunError, match=rf"s1 and s2 differ in {field}\."):
        bench.join(["s1", "s2"])
    assert not group_file(bench.results, "joined").exists()


@pytest.mark.parametrize(
    ("shards", "message"),
    [
        (("1/3", "3/3"), r"Shard 2/3 is missing"),
        (("1/2", "1/2"), r"s1 and s2 are both shard 1/2"),
        (("1/2", "2/3"), r"s1 and s2 overlap: they are shards 1/2 and 2/3"),
        (("1/2", ""), r"s2 is not a shard"),
    ],
)
def test_missing_and_overlapping_shards_are_reported(bench: Bench, shards: tuple[str, ...], message: str) -> None:
    for number, shard in enumerate(shards, start=1):
        selection = Selection(shard=Shard.parse(shard) if shard else None)
        save_command(bench.results, f"s{number}", replace(CODE, selection=selection))
    with pytest.raises(RunError, match=message):
        bench.join(["s1", "s2"])


def test_another_client_other_data_and_unfinished_shards_are_reported(bench: Bench) -> None:
    names = bench.shards(CODE, 2)
    run = f"s2.sample-code.plugin.{MODEL}"
    with RunStore(bench.results.find(run) / "run.db") as store:
        stored, about = store.meta("claudecode"), store.meta("benchmark_about")
        store.set_meta("claudecode", {**stored, "client_version": "1.0"})
        with pytest.raises(RunError, match="differ in client_version"):
            bench.join(names)
        store.set_meta("claudecode", stored)
        store.set_meta("benchmark_about", {**about, "data_hash": "0"})
        with pytest.raises(RunError, match="s2 used other sample-code"):
            bench.join(names)
        store.set_meta("benchmark_about", about)
        store.delete_one(next(key for key in store.keys(Phase.EVALUATE)))
        with pytest.raises(RunError, match=f"Run {run} still has 1 tasks to do") as found:
            bench.join(names)
    assert "--resume s2" in found.value.fix
    assert not any(name.startswith("joined") for name in bench.results.run_ids())


@pytest.mark.slow
def test_a_sequence_of_tasks_that_shards_cut_in_pieces_is_refused(bench: Bench) -> None:
    names = bench.shards(replace(CODE, options={}, selection=Selection(limit=4)), 2)
    with pytest.raises(RunError, match="The shards split"):
        bench.join(names)


def test_a_cell_in_which_nothing_was_graded_has_no_accuracy(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SampleCode, "grade", lambda *_: steps.unscored("no engine"))
    bench.run("g", replace(CODE, options={}))
    cell = bench.result("g", CODE, "plugin")["metrics"]["accuracy"]
    assert (cell["value"], cell["interval"], cell["task_averaged"], cell["scored"]) == (None, None, None, 0)
    assert {one["value"] for one in cell["by_category"].values()} == {None}
    assert [line["metrics"]["accuracy"] for line in bench.results.ledger_lines()] == [None, None]


def test_a_cell_whose_sessions_all_ran_out_of_time_is_wrong_and_one_of_crashes_has_no_value(bench: Bench) -> None:
    class Failing(FakeSessions):
        kind = ErrorKind.TIMEOUT

        def run(self, step: Step, place: Place, resume: str = "", *, dream: bool = False) -> StepOutcome:
            return StepOutcome(SessionResult("", session_id=place.session_id, error=self.kind, message="no"))

    command = replace(TALK, cells=(("off", MODEL),), selection=Selection(limit=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subject, "SessionRunner", Failing)
        bench.run("late", command)
        patch.setattr(Failing, "kind", ErrorKind.CRASH)
        bench.run("crashed", command)
    values = [line["metrics"]["accuracy"] for line in bench.results.ledger_lines()]
    assert values == [0.0, None]


def test_an_option_goes_to_the_benchmarks_that_know_it_and_must_be_known_to_one(bench: Bench) -> None:
    options = FamilyOptions(bench.context, options={"again": True})
    both = opened(["sample", "sample-code"], options, {})
    assert both["sample-code"].about()["options"]["again"] is True
    assert [one.id for one in both["sample"].sequences(Selection(limit=1))]
    for names, message in ((["sample"], "sample has no option 'again'"), (["sample", "locomo"], "None of sample, locomo has an")):
        with pytest.raises(MemevalError, match=message) as found:
            opened(names, options, {})
    assert "captions" in found.value.fix
    command = replace(TALK, benchmarks=("sample", "sample-code"), cells=(("off", MODEL),), options={"again": True})
    bench.run("g", command)
    settings = bench.results.load(f"g.sample.off.{MODEL}")["settings"]
    assert settings["benchmark_options"] == {}


@pytest.mark.slow
def test_shards_of_the_command_are_joined_by_memeval_merge(world: FakeWorld) -> None:
    world.questions(7, lambda number: "CRASH" if number == 3 else "")
    flags = ("-b", "forty", "--mode", "off,builtin", "--repeat", "2", "--base-url", world.address, "--no-probe", "--no-cache")
    for group, more in (("whole", ()), ("s.1", ("--shard", "1/2")), ("s.2", ("--shard", "2/2"))):
        assert world.bench(*flags, *more, "--run-id", group).returncode == 0
    early = world.memeval("merge", "s.1", "--run-id", "early")
    assert (early.returncode, "nothing to merge" in early.stderr) == (1, True)
    done = world.memeval("merge", "s.1", "s.2", "--run-id", "joined")
    assert done.returncode == 0, done.stderr
    summaries = [
        json.loads((world.folder / "results" / "runs" / group / "summary.json").read_text()) for group in ("joined", "whole")
    ]
    assert len(summaries[0]["cells"]) == 4
    assert summaries[0]["variance"]
    assert same(summaries[0]["comparisons"]) == same(summaries[1]["comparisons"])
    for mine, theirs in zip(*(summary["cells"] for summary in summaries), strict=True):
        assert (mine["questions"], mine["metrics"]) == (theirs["questions"], theirs["metrics"])
    again = world.bench("--resume", "joined", "--base-url", world.address, "--no-probe", "--json")
    assert json.loads(again.stdout)["comparisons"] == summaries[0]["comparisons"]
    site = world.memeval("html")
    assert site.returncode == 0, site.stderr
    assert (world.folder / "results" / "html" / "run_bench-joined.html").exists()
