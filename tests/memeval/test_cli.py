from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner

from memeval.cli.app import build
from memeval.cli.root import Context
from memeval.core.errors import ProviderError
from memeval.core.types import Retrieved
from memeval.registry import BUILT_IN, Catalog
from memeval.results import store as store_module
from memeval.results.files import ResultsDir
from memeval.run.checkpoint import Run
from tests.memeval.conftest import Invoke
from tests.memeval.fakes import NotesProvider, Parrot
from tests.memeval.test_resume import without_times

EVAL = ("eval", "-b", "tiny", "-p", "notes")
ANSWERED = (*EVAL, "-m", "parrot", "--judge", "f1")
Load = Callable[[str], Any]


def test_a_run_asks_every_question_and_reports_each_denominator(memeval: Invoke, result_of: Load) -> None:
    done = memeval(*ANSWERED, "--run-id", "r")
    assert done.exit_code == 0, done.output
    result = result_of("r")
    assert result["totals"] == {"total": 6, "done": 6, "failed": 0, "pending": 0}
    cell = result["metrics"]["session.recall_any@5"]
    assert (cell["value"], cell["total"], cell["scored"], cell["skipped"]) == (1.0, 6, 3, 3)
    assert result["metrics"]["f1"]["scored"] == 6
    assert result["abstention"]["recall"] == 0.0  # The parrot always finds a door.
    assert result["usage"]["total"]["cost_usd"] == pytest.approx(0.006)
    assert result["index_backend"] == "json"
    assert result["prompts"]["answer"]["fact_recall"]["hash"] == result["questions"][0]["answer"]["prompt_hash"]


def test_a_failing_question_is_recorded_and_stays_in_the_denominator(memeval: Invoke, result_of: Load) -> None:
    done = memeval(*ANSWERED, "--run-id", "r", "--model-option", "fail=roof")
    assert done.exit_code == 0, done.output
    result = result_of("r")
    assert result["totals"]["failed"] == 3
    cell = result["metrics"]["f1"]
    assert (cell["total"], cell["scored"], cell["failed"]) == (6, 3, 3)
    assert cell["value"] == pytest.approx(cell["value_scored"] / 2)
    assert result["metrics"]["session.recall_any@5"]["failed"] == 0  # It was searched nevertheless.
    assert result["questions"][1]["error"] == {"phase": "answer", "message": "ModelError: the model is away"}


def test_a_case_that_cannot_be_ingested_fails_its_questions_in_all_metrics(memeval: Invoke, result_of: Load) -> None:
    done = memeval(*ANSWERED, "--run-id", "r", "--provider-option", "failCase=c1")
    assert done.exit_code == 0, done.output
    result = result_of("r")
    assert result["totals"]["failed"] == 2
    assert result["ingest"] == {"cases": 3, "failed": 1, "sessions": 6, "turns": 12}
    cell = result["metrics"]["session.recall_any@5"]
    assert (cell["failed"], cell["skipped"]) == (1, 3)  # Questions without evidence are skipped, failed or not.
    assert result["metrics"]["f1"]["failed"] == 2
    assert result["questions"][2]["error"]["phase"] == "ingest"


def test_when_all_cases_fail_the_metrics_say_so_and_the_cause_is_reported(memeval: Invoke, result_of: Load) -> None:
    done = memeval(*EVAL, "--run-id", "r", "--limit", "2", "--provider-option", "failCase=c0")
    assert done.exit_code == 1
    assert "Run r is not finished: 2 of 2 questions failed." in done.stderr
    assert "The first failure, in phase ingest: " in done.stderr
    assert "`memeval failures r`" in done.stderr
    result = result_of("r")
    cell = result["metrics"]["session.recall_any@5"]
    assert (cell["value"], cell["failed"], cell["skipped"]) == (None, 1, 1), "a failure of the set-up is not 0 %"
    assert (result["status"], result["primary_metric"]) == ("broken", None)
    assert not memeval("ledger").stdout.count(" r"), "the ledger is of finished runs"
    assert "Omitted: r" in memeval("results", "r", "r").stderr
    assert memeval("compare", "r", "r").exit_code != 0
    response = memeval("failures", "r")
    assert (response.exit_code, "failed" in response.stdout) == (0, True), response.output


def test_failed_questions_are_tried_again_when_that_is_asked_for(memeval: Invoke, result_of: Load, folder: Path) -> None:
    memeval(*ANSWERED, "--run-id", "r", "--provider-option", "failSearch=roof")
    assert result_of("r")["totals"]["failed"] == 3
    assert memeval("eval", "--resume", "r").exit_code == 0
    assert result_of("r")["totals"]["failed"] == 3
    with Run.resume(ResultsDir(folder / "results"), "r") as run:  # The index is repaired.
        data = run.store.meta("settings")
        run.store.set_meta("settings", {**data, "provider_options": {}})
    done = memeval("eval", "--resume", "r", "--retry-failed")
    assert "3 failed questions" in done.stderr
    assert [q["status"] for q in result_of("r")["questions"]] == ["done"] * 6


def test_a_second_runner_on_the_same_run_is_refused(memeval: Invoke, folder: Path) -> None:
    assert memeval(*EVAL, "--run-id", "r").exit_code == 0
    with Run.resume(ResultsDir(folder / "results"), "r"):
        done = memeval("eval", "--resume", "r")
        status = json.loads(memeval("status", "r", "--json").stdout)
    assert done.exit_code == 1
    assert "Another process is already running r" in done.stderr
    assert status[0]["state"] == "running"


def test_a_full_disk_stops_a_run_instead_of_failing_its_questions(
    memeval: Invoke, result_of: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: NotesProvider, scope: str, sessions: Any) -> Any:
        try:
            raise OSError(errno.ENOSPC, "No space left on device")
        except OSError as error:
            raise ProviderError("The notes can't be written.", fix="Delete them.") from error

    with monkeypatch.context() as patched:
        patched.setattr(NotesProvider, "ingest", full)
        done = memeval(*EVAL, "--run-id", "r")
    assert done.exit_code == 1
    assert "Free some space, then continue: memeval eval --resume r" in done.stderr
    assert memeval("eval", "--resume", "r").exit_code == 0
    assert result_of("r")["totals"]["failed"] == 0


def test_a_run_that_begins_on_a_full_disk_leaves_nothing_that_hinders_the_next_start(
    memeval: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = store_module._connect

    def small(path: Path, read_only: bool) -> sqlite3.Connection:
        db = connect(path, read_only)
        db.execute("PRAGMA max_page_count=2")
        return db

    with monkeypatch.context() as patched:
        patched.setattr(store_module, "_connect", small)
        done = memeval(*EVAL, "--run-id", "r")
    assert done.exit_code == 1
    assert "database or disk is full" in done.stderr and "Free some space, and run the command again" in done.stderr
    assert not (folder / "results/runs/r/run.db").exists()
    assert memeval(*EVAL, "--run-id", "r").exit_code == 0


def test_a_run_that_was_killed_as_it_began_is_named_and_can_be_started_again(memeval: Invoke, folder: Path) -> None:
    (folder / "results/runs/r").mkdir(parents=True)
    (folder / "results/runs/r/run.db").touch()
    for command in (("status",), ("eval", "--resume", "r")):
        done = memeval(*command)
        assert "Run r ended before it started any work." in done.stderr
    assert memeval(*EVAL, "--run-id", "r").exit_code == 0


def test_an_id_that_is_taken_is_refused(memeval: Invoke) -> None:
    assert memeval(*EVAL, "--run-id", "r").exit_code == 0
    done = memeval(*EVAL, "--run-id", "r")
    assert done.exit_code == 1
    assert "--resume r" in done.stderr


def test_the_budget_stops_a_run_before_it_is_passed_and_a_greater_one_ends_it(memeval: Invoke, result_of: Load) -> None:
    stopped = memeval(*ANSWERED, "--run-id", "r", "--budget-usd", "0.0035", "--concurrency", "2")
    assert stopped.exit_code == 3
    assert "budget" in stopped.stderr
    again = memeval("eval", "--resume", "r", "--budget-usd", "0.0035")
    assert again.exit_code == 3  # Earlier spending counts.
    assert memeval("eval", "--resume", "r", "--budget-usd", "1").exit_code == 0
    assert result_of("r")["usage"]["total"]["cost_usd"] == pytest.approx(0.006)


def test_a_budget_counts_batches_of_a_case_that_is_not_done(memeval: Invoke) -> None:
    helped = ("eval", "-b", "tiny", "-p", "contextual-retrieval", "--provider-option", "embedder=hash")
    first = memeval(*helped, "--provider-option", "model=parrot", "--run-id", "r", "--budget-usd", "0.005", "--concurrency", "1")
    assert first.exit_code == 3  # Two calls per session: the third session of the first case is one call too many.
    again = memeval("eval", "--resume", "r", "--budget-usd", "0.005", "--concurrency", "1", "--no-cache")
    assert again.exit_code == 3
    assert "0.0050 of 0.0050" in again.stderr


def test_a_model_of_unknown_price_is_not_run_on_a_budget_for_long(memeval: Invoke) -> None:
    stopped = memeval(*ANSWERED, "--run-id", "r", "--budget-usd", "1", "--model-option", "price=null")
    assert stopped.exit_code == 3
    assert "price is unknown" in stopped.stderr


def test_shards_joined_are_the_whole_run(memeval: Invoke, result_of: Load) -> None:
    memeval(*ANSWERED, "--run-id", "whole")
    for shard in ("1", "2"):
        assert memeval(*ANSWERED, "--run-id", f"s.{shard}", "--shard", f"{shard}/2").exit_code == 0
    early = memeval("merge", "s.1", "--run-id", "early")
    assert early.exit_code == 1
    done = memeval("merge", "s", "--run-id", "joined")
    assert done.exit_code == 0, done.output
    for key in ("metrics", "totals", "ingest"):
        assert result_of("joined")[key] == result_of("whole")[key]


def test_prepared_state_is_used_by_later_runs_also_from_a_copy(memeval: Invoke, result_of: Load, folder: Path) -> None:
    prepared = memeval("prepare", "-b", "tiny", "-p", "notes", "--run-id", "base")
    assert prepared.stdout.strip() == "base"
    moved = folder / "elsewhere" / "base"
    moved.parent.mkdir()
    (folder / "results" / "runs" / "base").rename(moved)
    done = memeval("run", str(moved), "-m", "parrot", "--judge", "exact", "--run-id", "r")
    assert done.exit_code == 0, done.output
    result = result_of("r")
    assert result["source_run"] == "base"
    assert result["metrics"]["session.recall_any@5"]["value"] == 1.0


def test_one_phase_after_another_is_as_all_at_once(memeval: Invoke, result_of: Load) -> None:
    memeval(*ANSWERED, "--run-id", "whole")
    early = memeval(*ANSWERED, "--run-id", "r", "--phase", "search")
    assert early.exit_code == 1
    assert "ingest" in early.stderr
    for phase in ("ingest", "search", "answer", "evaluate", "report"):
        assert memeval("eval", "--resume", "r", "--phase", phase).exit_code == 0
    assert result_of("r")["metrics"] == result_of("whole")["metrics"]


def test_force_does_a_phase_and_what_follows_again(memeval: Invoke, result_of: Load) -> None:
    memeval(*ANSWERED, "--run-id", "r")
    assert memeval("eval", "--resume", "r", "--phase", "answer", "--force").exit_code == 0
    status = json.loads(memeval("status", "r", "--json").stdout)[0]
    assert (status["search"], status["answer"], status["evaluate"]) == ("6", "6", "0")
    assert memeval("eval", "--resume", "r").exit_code == 0
    assert result_of("r")["totals"]["done"] == 6


def test_another_judge_needs_force_once_a_run_is_judged(memeval: Invoke, result_of: Load) -> None:
    memeval(*ANSWERED, "--run-id", "r")
    assert memeval("evaluate", "r", "--judge", "exact").exit_code == 2
    assert memeval("evaluate", "r", "--judge", "exact", "--force").exit_code == 0
    assert "exact" in result_of("r")["metrics"]


def test_hypotheses_of_another_program_are_judged_and_missing_ones_fail(memeval: Invoke, result_of: Load, folder: Path) -> None:
    lines = [{"question_id": "c0/q1", "hypothesis": "green"}, {"question_id": "c0/q2", "hypothesis": "not mentioned"}]
    file = folder / "mine.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = memeval("evaluate", "--hypothesis", str(file), "-b", "tiny", "--judge", "f1", "--run-id", "h")
    assert done.exit_code == 0, done.output
    result = result_of("h")
    assert result["provider"]["name"] == "mine"
    assert (result["metrics"]["f1"]["scored"], result["metrics"]["f1"]["failed"]) == (2, 4)
    assert result["questions"][0]["scores"][-1]["value"] == 1.0
    exported = memeval("export", "h", "--format", "hypotheses").stdout
    assert [json.loads(line)["hypothesis"] for line in exported.splitlines()] == ["green", "not mentioned"]


@pytest.mark.parametrize(
    "content", ["", "{", '{"question_id": "c9/q1", "hypothesis": "x"}', '{"question_id": 1, "hypothesis": "x"}']
)
def test_a_broken_file_of_hypotheses_is_an_error_and_no_run(memeval: Invoke, folder: Path, content: str) -> None:
    file = folder / "mine.jsonl"
    file.write_text(content)
    done = memeval("evaluate", "--hypothesis", str(file), "-b", "tiny", "--judge", "f1", "--run-id", "h")
    assert done.exit_code == 1
    assert "Error:" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("eval",), "Give benchmarks and providers"),
        (("eval", "-b", "tinny", "-p", "notes"), "Did you mean tiny?"),
        (("eval", "-b", "tiny", "-p", "noets"), "Did you mean notes"),
        ((*EVAL, "--shard", "3/2"), "is not a shard"),
        ((*EVAL, "--question-type", "colour"), "No question is of type 'colour'"),
        ((*EVAL, "--start", "5", "--end", "2"), "is not a range"),
        ((*EVAL, "--limit", "0"), "leaves no question"),
        ((*EVAL, "-m", "parott"), "Did you mean parrot"),
        ((*EVAL, "-m", "parrot", "--judge", "llm"), "requires a model"),
        ((*EVAL, "-m", "parrot", "--judge", "f1", "--answer-prompt", "{questoin}"), "questoin"),
        ((*EVAL, "--provider-option", "x"), "KEY=VALUE"),
        ((*EVAL, "--provider-option", "a=1", "--provider-option", "a.b=1"), "already has a value"),
        ((*EVAL, "--limit", "-3"), "leaves no question"),
        ((*EVAL, "--dev-slice", "7"), "is not a share"),
        ((*EVAL, "--index-timeout", "nan"), "not a valid timeout"),
        ((*EVAL, "--budget-usd", "-1"), "not a valid budget"),
        ((*EVAL, "--budget-usd", "nan"), "not a valid budget"),
        ((*EVAL, "--run-id", "../x"), "is not a run id"),
        (("eval", "-b", "sample", "-p", "supermemory"), "SUPERMEMORY_API_KEY"),
        ((*EVAL, "--from", "r"), "--phase"),
        ((*EVAL, "--reader", "slow"), "slow"),
        (("eval", "--resume", "nobody"), "There is no run"),
        (("evaluate",), "Give a run"),
        ((*EVAL, "--seed", "-1"), "-1 is not in the range x>=0"),
        ((*EVAL, "--search-k", "-1"), "-1 is not in the range x>=0"),
        ((*EVAL, "--force"), "--force continues an existing run"),
        ((*EVAL, "--retry-failed"), "--retry-failed continues an existing run"),
        ((*EVAL, "--judge", "f1"), "--judge applies to answers, but there is no answering model"),
        ((*EVAL, "-m", "none", "--abstain-below", "0"), "--abstain-below applies to answers"),
        (("results", "nobody"), "There is no run"),
        (("show-question", "tiny", "q9"), "no question 'q9'"),
    ],
)
def test_a_wrong_call_ends_with_code_2_and_says_what_to_do(memeval: Invoke, words: tuple[str, ...], said: str) -> None:
    done = memeval(*words)
    assert said in done.stderr
    assert "Traceback" not in done.output
    assert done.exit_code == (1 if words[0] == "show-question" else 2)


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("metrics", "metrics: [accuracy, mrx]"),
        ("judge.name", "judge: {name: f9}"),
        ("retrieval.variant", "retrieval: {variant: x}"),
    ],
)
def test_a_name_that_is_not_there_is_reported_with_its_place_in_the_benchmark_s_file(
    memeval: Invoke, folder: Path, key: str, line: str
) -> None:
    file = folder / "configs" / "benchmarks" / "odd.yaml"
    file.write_text(f"name: odd\nsource: {{type: local, path: odd.json}}\nschema: {{sessions: $.s}}\n{line}\n")
    done = memeval("eval", "-b", "odd", "-p", "none")
    assert done.exit_code == 2
    assert f"odd.yaml:4: {key} has" in done.stderr
    assert "Known: " in done.stderr


def test_a_download_says_how_far_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    context = Context(ResultsDir(folder), Catalog.default(environ={}), folder, offline=False).run_context()
    context.sources.downloader.progress("locomo10.json", 3_000_000, 3_000_000)
    assert capsys.readouterr().err == "locomo10.json: 3.0 MB of 3.0 MB, 100 %\n"


def test_many_words_after_a_flag_make_many_cells(memeval: Invoke, folder: Path) -> None:
    done = memeval("eval", "--benchmarks", "tiny", "--providers", "notes", "none", "--limit", "2", "--run-id", "g")
    assert done.exit_code == 0, done.output
    assert ResultsDir(folder / "results").run_ids() == ["g.tiny.none", "g.tiny.notes"]
    assert memeval("compare", "g", "--metric", "session.recall_any@5").exit_code == 0
    assert memeval("eval", "--resume", "g").exit_code == 0


def test_a_file_that_changed_since_a_run_began_is_reported(memeval: Invoke, folder: Path) -> None:
    memeval(*EVAL, "--run-id", "r")
    file = folder / "configs" / "benchmarks" / "tiny.yaml"
    file.write_text(file.read_text().replace("k: [1, 5]", "k: [1, 3]"))
    done = memeval("eval", "--resume", "r")
    assert done.exit_code == 1
    assert "has changed since run r started" in done.stderr


def test_list_describe_status_and_show_question_look(memeval: Invoke) -> None:
    memeval(*ANSWERED, "--run-id", "r")
    listed = json.loads(memeval("list", "--json").stdout)
    assert {"tiny"} <= {entry["name"] for entry in listed["benchmarks"]}
    assert {"f1", "exact", "llm"} <= {entry["name"] for entry in listed["judges"]}
    assert {"accuracy", "recall_any", "recency"} <= {entry["name"] for entry in listed["metrics"]}
    assert {"openai/<model>", "https://…#<model>", "extractive"} <= {entry["name"] for entry in listed["models"]}
    about = json.loads(memeval("describe", "tiny", "--json").stdout)
    assert about["counts"]["by type"] == {"abstention": 3, "fact_recall": 3}
    assert json.loads(memeval("status", "--json").stdout)[0]["state"] == "finished"
    shown = json.loads(memeval("show-question", "tiny", "c1/q1", "--run", "r", "--json").stdout)
    assert [turn["turn"] for turn in shown["said"]] == ["s1:1"]
    assert shown["run"]["status"] == "done"
    (call,) = shown["calls"]
    assert call["phase"] == "answer" and shown["text"] in call["messages"][-1][1] and call["reply"]
    for words in (("list",), ("describe", "tiny"), ("describe", "notes"), ("status",), ("show-question", "tiny", "c1/q1")):
        assert memeval(*words).exit_code == 0


def test_a_long_list_of_files_does_not_hide_the_rest(memeval: Invoke) -> None:
    text = memeval("--offline", "describe", "beam", "--no-count").stdout
    assert text.count("chat.json") < 5
    assert "more files: 36, shown by --json" in text
    assert len(json.loads(memeval("describe", "beam", "--no-count", "--json").stdout)["benchmark"]["source"]["files"]) == 40


def test_a_broken_file_is_reported_and_the_others_are_listed(memeval: Invoke, folder: Path) -> None:
    (folder / "configs" / "providers" / "broken.yaml").write_text("name: broken\ntype: locl\n")
    done = memeval("list", "providers")
    assert done.exit_code == 0
    assert "broken.yaml:2" in done.stderr
    assert "notes" in done.stdout


def test_reading_commands_print_what_the_run_found(memeval: Invoke, folder: Path) -> None:
    memeval(*ANSWERED, "--run-id", "r")
    assert "f1" in memeval("results", "r").stdout
    assert json.loads(memeval("results", "r", "--json").stdout)["run_id"] == "r"
    assert "wrong" in memeval("failures", "r", "--metric", "f1").stdout
    assert memeval("export", "r", "--format", "jsonl", "-o", str(folder / "out.jsonl")).exit_code == 0
    assert len((folder / "out.jsonl").read_text().splitlines()) == 6
    assert memeval("regress", "r", "--set", "main").exit_code == 0
    assert memeval("regress", "r", "--baseline", "main").exit_code == 0
    assert memeval("html").exit_code == 0
    assert "r" in memeval("ledger").stdout


def test_secrets_are_not_in_the_result(memeval: Invoke, result_of: Load) -> None:
    memeval(*ANSWERED, "--run-id", "r", "--model-option", "api_key=abc123")
    assert "abc123" not in json.dumps(result_of("r"))


def test_relevancy_and_the_semantic_judge_need_an_embedder_and_name_it(memeval: Invoke, result_of: Load) -> None:
    done = memeval(*EVAL, "-m", "parrot", "--judge", "semantic", "--embedder", "hash", "--run-id", "r")
    assert done.exit_code == 0, done.output
    result = result_of("r")
    assert result["settings"]["embedder"] == "hash"
    assert result["metrics"]["relevancy"]["scored"] == 6
    assert 0 < result["metrics"]["semantic"]["by_type"]["fact_recall"]["value"] < 1
    assert memeval(*EVAL, "--embedder", "hasch").exit_code == 2


def test_answerer_and_judge_have_options_of_their_own(memeval: Invoke, result_of: Load) -> None:
    judged = ("--judge", "llm", "--judge-model", "extractive", "--judge-model-option", "threshold=0.2")
    done = memeval(*EVAL, "-m", "parrot", "--model-option", "price=0.002", *judged, "--run-id", "r")
    assert done.exit_code == 1, "a judge that gives no verdict judges nothing"
    assert "no clear verdict on 6 of 6" in done.stderr
    settings = result_of("r")["settings"]
    assert (settings["model_options"], settings["judge_model_options"]) == ({"price": 0.002}, {"threshold": 0.2})
    assert result_of("r")["metrics"]["llm_accuracy"]["unscored"] == 6  # It quotes, and never says yes or no.


def test_a_forced_ingest_begins_with_empty_scopes(memeval: Invoke, result_of: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    cleared: list[str] = []
    monkeypatch.setattr(NotesProvider, "clear", lambda self, scope: cleared.append(scope))
    memeval(*EVAL, "--run-id", "r")
    assert cleared == []
    assert memeval("eval", "--resume", "r", "--force").exit_code == 0
    assert len(set(cleared)) == 3
    assert result_of("r")["totals"]["done"] == 6


def test_a_run_that_never_came_to_its_questions_is_started_again_under_its_id(memeval: Invoke, result_of: Load) -> None:
    assert memeval(*EVAL, "--run-id", "r", "--questions", "q9").exit_code == 2
    done = memeval(*EVAL, "--run-id", "r", "--questions", "q1")
    assert done.exit_code == 0, done.output
    assert result_of("r")["totals"]["total"] == 3
    assert memeval(*EVAL, "--run-id", "r").exit_code == 1


def test_a_place_that_cannot_be_written_is_an_error_without_traceback(folder: Path) -> None:
    (folder / "file").write_text("")
    for where in (
        ["--results-dir", str(folder / "file")],
        ["--results-dir", "/proc/none"],
        ["--cache-dir", str(folder / "file")],
    ):
        words = [*where, "--config-dir", str(folder / "configs"), *ANSWERED]
        done = CliRunner(env={"MEMEVAL_RESULTS": str(folder / "r")}).invoke(build(), words, prog_name="memeval")
        assert done.exit_code == 1
        assert "its permissions" in done.stderr
        assert not isinstance(done.exception, OSError)


def test_a_run_whose_file_is_damaged_is_an_error(memeval: Invoke, folder: Path) -> None:
    memeval(*EVAL, "--run-id", "r")
    path = folder / "results" / "runs" / "r" / "run.db"
    path.write_bytes(b"x" * 8192)
    done = memeval("eval", "--resume", "r")
    assert done.exit_code == 1
    assert "run.db" in done.stderr


def test_data_without_questions_are_an_error(memeval: Invoke, folder: Path) -> None:
    (folder / "empty.json").write_text("[]")
    done = memeval("eval", "-b", "locomo", "-p", "bm25", "--data", str(folder / "empty.json"))
    assert done.exit_code == 1
    assert "contains no questions" in done.stderr


def test_runs_in_a_folder_that_may_not_be_written_can_be_looked_at(
    memeval: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memeval(*ANSWERED, "--run-id", "r")
    monkeypatch.setattr(os, "access", lambda path, mode, real=os.access: "runs" not in Path(path).parts and real(path, mode))
    shown = memeval("results", "r")
    assert shown.exit_code == 0, shown.output
    assert json.loads(memeval("status", "r", "--json").stdout)[0]["state"] == "finished"
    (folder / "results" / "runs" / "r" / "run.db-wal").write_bytes(b"x")
    assert "was not closed cleanly" in memeval("show-question", "tiny", "c0/q1", "--run", "r").stderr


def test_a_dead_provider_ends_the_run_early_and_it_continues_once_it_is_back(
    memeval: Invoke, result_of: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memeval.run.provider_subject.BREAK_AFTER", 2)
    done = memeval(*EVAL, "--run-id", "r", "--provider-option", "failSearch=Which", "--concurrency", "1")
    assert done.exit_code == 1
    assert "the last 2 items of phase search failed" in done.stderr and "--resume r --retry-failed" in done.stderr
    assert memeval("results", "r").exit_code != 0, "there is no result of it"
    monkeypatch.setattr(NotesProvider, "search", lambda self, scope, request: [Retrieved("a note")])
    assert memeval("eval", "--resume", "r", "--retry-failed").exit_code == 0
    assert result_of("r")["status"] == "finished"


def test_check_shows_one_add_one_search_and_one_clear_of_a_provider(memeval: Invoke) -> None:
    done = memeval("check", "notes")
    assert done.exit_code == 0, done.output
    assert [line.partition(":")[0] for line in done.stdout.splitlines() if not line.startswith(" ")] == [
        "add",
        "search",
        "clear",
        "search again",
    ]
    assert "s1:1" in done.stdout and "Trondheim" in done.stdout
    empty = memeval("check", "notes", "--provider-option", "failSearch=Ines")
    assert empty.exit_code != 0 and "index is broken" in empty.stderr


def test_an_unknown_price_is_reported_before_anything_is_ingested(memeval: Invoke) -> None:
    done = memeval(*EVAL, "-m", "http://127.0.0.1:9/v1#unheard-of", "--judge", "f1", "--budget-usd", "1", "--run-id", "r")
    assert done.exit_code == 2
    assert "The price of http://127.0.0.1:9/v1#unheard-of is unknown" in done.stderr
    assert memeval("status", "r").exit_code != 0, "no run was begun"


def test_list_can_be_of_one_kind_and_by_tags(memeval: Invoke) -> None:
    assert set(json.loads(memeval("list", "--providers", "--json").stdout)) == {"providers"}
    assert set(json.loads(memeval("list", "--benchmarks", "--json").stdout)) == {"benchmarks"}
    chats = json.loads(memeval("list", "--tags", "chat", "--tags", "temporal", "--json").stdout)
    names = {entry["name"] for entry in chats["benchmarks"]}
    assert {"locomo", "longmemeval-s"} <= names
    assert "nolima" not in names
    assert "mem0" in {entry["name"] for entry in json.loads(memeval("list", "--tags", "hosted", "--json").stdout)["providers"]}
    wrong = memeval("list", "--tags", "purple")
    assert (wrong.exit_code, "Known: " in wrong.stderr) == (2, True)


def test_longmemeval_names_the_benchmark_that_most_people_mean(memeval: Invoke) -> None:
    shown = json.loads(memeval("describe", "longmemeval", "--no-count", "--json").stdout)
    assert shown["benchmark"]["name"] == "longmemeval-s"


def test_each_benchmark_of_a_command_can_have_its_own_data(memeval: Invoke, folder: Path, result_of: Load) -> None:
    tiny = folder / "configs" / "benchmarks" / "tiny.json"
    sample = BUILT_IN.parent / "data" / "sample" / "conversations.json"
    both = ("eval", "-b", "tiny", "sample", "-p", "notes", "--limit", "2", "--run-id", "r")
    done = memeval(*both, "--data", f"tiny={tiny}", "--data", f"sample={sample}")
    assert done.exit_code == 0, done.output
    assert result_of("r.sample.notes")["settings"]["data"] == "conversations.json"
    for data, said in (
        ((str(tiny),), "Specify the benchmark"),
        (("locomo=x",), "refers to 'locomo', which is not run"),
        (("tiny=nowhere.json",), "nowhere.json does not exist"),
    ):
        wrong = memeval(*both, *(word for one in data for word in ("--data", one)))
        assert (wrong.exit_code, said in wrong.stderr) == (2, True), wrong.stderr


def test_eval_writes_its_reports_into_a_folder(memeval: Invoke, folder: Path) -> None:
    out = folder / "reports"
    assert memeval(*ANSWERED, "--run-id", "r", "--output", str(out)).exit_code == 0
    assert {path.suffix for path in out.iterdir()} == {".json", ".csv", ".md", ".html"}
    assert json.loads((out / "r.json").read_text())["run_id"] == "r"


def test_results_compares_the_latest_run_of_each_provider(memeval: Invoke) -> None:
    for provider, name in (("notes", "old"), ("none", "other"), ("notes", "new")):
        assert memeval("eval", "-b", "tiny", "-p", provider, "--run-id", name).exit_code == 0
    shown = memeval("results", "--compare", "notes", "none", "--benchmark", "tiny")
    assert shown.exit_code == 0, shown.output
    assert "new" in shown.stdout
    assert "old" not in shown.stdout
    assert "notes" in shown.stdout
    for words in (("results", "--compare", "notes"), ("results",), ("results", "new", "--benchmark", "tiny")):
        assert memeval(*words).exit_code == 2
    gone = memeval("results", "--compare", "notes", "zep", "--benchmark", "tiny")
    assert (gone.exit_code, "Providers with one: none, notes" in gone.stderr) == (1, True)


def test_concurrency_changes_no_number_even_if_calls_end_in_any_order(
    memeval: Invoke, result_of: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays, waits = Random(7), Event()
    for kind, name in ((NotesProvider, "search"), (NotesProvider, "ingest"), (Parrot, "complete")):
        monkeypatch.setattr(kind, name, _delayed(getattr(kind, name), lambda: waits.wait(delays.random() / 50)))
    results = []
    for threads in ("1", "8"):
        done = memeval(*ANSWERED, "--run-id", f"with-{threads}", "--concurrency", threads, "--no-cache")
        assert done.exit_code == 0, done.output
        data = without_times(result_of(f"with-{threads}"))
        results.append({key: value for key, value in data.items() if key != "run_id"})
    assert results[0] == results[1]


def _delayed(call: Callable[..., Any], wait: Callable[[], Any]) -> Callable[..., Any]:
    def slowly(*args: Any, **options: Any) -> Any:
        wait()
        return call(*args, **options)

    return slowly


def test_flags_about_answers_are_refused_where_the_run_has_none(memeval: Invoke) -> None:
    assert memeval(*EVAL, "--run-id", "r").exit_code == 0
    for words in (("evaluate", "r"), ("run", "r"), ("eval", "--from", "r", "--phase", "evaluate")):
        done = memeval(*words, "--judge", "f1")
        assert done.exit_code == 2
        assert "--judge applies to answers" in done.stderr
