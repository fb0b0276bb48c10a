"""kill -9 anywhere, then resume. The report equals that of an uninterrupted run except for times."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.memeval.fakes import write_configs
from tests.memeval.model_server import ModelServer, Reply

ROOT = Path(__file__).parents[2]
IGNORED = ("times", "seconds", "provenance", "resumed_with")
"""Keys that depend on the clock, or on commits made while the tests run."""
RUN = ["eval", "--benchmark", "tiny", "--provider", "notes", "--answering-model", "parrot", "--judge", "f1", "--run-id", "r"]


def memeval(
    folder: Path, *words: str, kill: str = "", threads: str = "1", interrupt: bool = False
) -> subprocess.CompletedProcess[str]:
    configs = write_configs(folder / "configs")
    environ = {**os.environ, "MEMEVAL_TEST_KILL": kill, "MEMEVAL_TEST_SIGNAL": "SIGINT" if interrupt else "SIGKILL"}
    if words[0] == "eval":
        words = (*words, "--concurrency", threads)
    where = ["--results-dir", str(folder / "results"), "--cache-dir", str(folder / "cache"), "--config-dir", str(configs)]
    return subprocess.run(
        [sys.executable, "-m", "tests.memeval.fakes", *where, *words],
        cwd=ROOT, env=environ, capture_output=True, text=True, timeout=240,
    )  # fmt: skip


def report(folder: Path) -> str:
    """Return the result file without the parts that depend on the clock."""
    (path,) = (folder / "results").glob("v*/*.json")
    return json.dumps(without_times(json.loads(path.read_text())), indent=1)


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in IGNORED}
    return [without_times(item) for item in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("undisturbed")
    done = memeval(folder, *RUN)
    assert done.returncode == 0, done.stderr
    return report(folder)


POINTS = """ingest:2 ingest+:5 await:3 search:1 search+:4 model:2 model+:3 record:2 record+:4 record:13 record+:16 record:20
record+:21 record:27 record+:28 build:1 report:1 report+:1""".split()


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_run_killed_anywhere_ends_with_the_report_of_an_undisturbed_one(tmp_path: Path, undisturbed: str, point: str) -> None:
    killed = memeval(tmp_path, *RUN, kill=point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = memeval(tmp_path, "eval", "--resume", "r")
    assert done.returncode == 0, done.stderr
    assert report(tmp_path) == undisturbed
    assert len((tmp_path / "results" / "ledger.jsonl").read_text().splitlines()) == 1


@pytest.mark.slow
def test_a_run_killed_in_three_phases_ends_with_the_report_of_an_undisturbed_one(tmp_path: Path, undisturbed: str) -> None:
    assert memeval(tmp_path, *RUN, kill="ingest+:4").returncode == -signal.SIGKILL
    for point in ("search:3", "model+:2", "report+:1"):
        assert memeval(tmp_path, "eval", "--resume", "r", kill=point).returncode == -signal.SIGKILL
    done = memeval(tmp_path, "eval", "--resume", "r")
    assert done.returncode == 0, done.stderr
    assert report(tmp_path) == undisturbed


@pytest.mark.slow
def test_threads_change_nothing_in_the_report(tmp_path: Path, undisturbed: str) -> None:
    assert memeval(tmp_path, *RUN, kill="search:3", threads="4").returncode == -signal.SIGKILL
    assert memeval(tmp_path, "eval", "--resume", "r", threads="4").returncode == 0
    assert report(tmp_path) == undisturbed


@pytest.mark.slow
def test_a_finished_run_that_is_resumed_stays_as_it_is(tmp_path: Path, undisturbed: str) -> None:
    assert memeval(tmp_path, *RUN).returncode == 0
    (path,) = (tmp_path / "results").glob("v*/*.json")
    before = path.read_bytes()
    done = memeval(tmp_path, "eval", "--resume", "r")
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == before


class ReadingServer(ModelServer):
    """Answers questions with a line of the memories, and judges whether the answer contains the name of a colour."""

    def next(self) -> Reply:
        text = self.seen[-1]["messages"][-1]["content"]
        if "single word yes or no" in text:
            reply = "Yes." if "door number 1 is" in text else "perhaps"
        else:
            reply = next((line for line in text.splitlines() if "door number 1 is" in line), "No information available")
        return Reply(reply, usage={"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55, "cost": 0.001})


@pytest.mark.slow
def test_a_run_with_a_model_as_answerer_and_judge_survives_three_kills(tmp_path: Path) -> None:
    with ReadingServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        model = f"{server.url}#m"
        run = [*RUN[:5], "--answering-model", model, "--judge", "llm", "--judge-model", model, "--run-id", "r"]
        whole = memeval(tmp_path / "whole", *run)
        assert whole.returncode == 0, whole.stderr
        asked = len(server.seen)
        assert memeval(tmp_path / "cut", *run, kill="ingest+:6").returncode == -signal.SIGKILL
        for point in ("record:9", "record:4"):  # In the answer and in the evaluate phase, after the call and before its record.
            assert memeval(tmp_path / "cut", "eval", "--resume", "r", kill=point).returncode == -signal.SIGKILL
        done = memeval(tmp_path / "cut", "eval", "--resume", "r")
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert report(tmp_path / "cut") == report(tmp_path / "whole")
    assert len(server.seen) == 2 * asked  # No call is paid twice.
    cell = json.loads(report(tmp_path / "cut"))["metrics"]["llm_accuracy"]
    assert (cell["scored"], cell["unscored"]) == (6, 0)
    assert json.loads(report(tmp_path / "cut"))["usage"]["total"]["cost_usd"] == pytest.approx(0.001 * asked)


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ["tiny", "bulky"])
def test_calls_of_a_model_that_helps_to_ingest_are_counted_once_whatever_happens(tmp_path: Path, benchmark: str) -> None:
    run = ["eval", "-b", benchmark, "-p", "contextual-retrieval", "--provider-option", "embedder=hash", "--provider-option",
           "model=parrot", "--run-id", "r"]  # fmt: skip
    whole = memeval(tmp_path / "whole", *run)
    assert whole.returncode == 0, whole.stderr
    assert json.loads(report(tmp_path / "whole"))["usage"]["ingest"]["calls"] == 18  # 3 cases of 3 sessions of 2 turns.
    assert memeval(tmp_path / "cut", *run, kill="model:4").returncode == -signal.SIGKILL
    for point in ("model+:5", "record:2"):
        assert memeval(tmp_path / "cut", "eval", "--resume", "r", kill=point).returncode == -signal.SIGKILL
    assert memeval(tmp_path / "cut", "eval", "--resume", "r").returncode == 0
    assert report(tmp_path / "cut") == report(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no signals there")
def test_an_interrupt_ends_a_run_tidily(tmp_path: Path, undisturbed: str) -> None:
    stopped = memeval(tmp_path, *RUN, kill="search:2", interrupt=True)
    assert stopped.returncode == 130, stopped.stderr
    assert "Traceback" not in stopped.stderr
    status = json.loads(memeval(tmp_path, "status", "r", "--json").stdout)[0]
    assert (status["state"], status["search"]) == ("stopped", "2")  # The search in progress is kept.
    assert memeval(tmp_path, "eval", "--resume", "r").returncode == 0
    assert report(tmp_path) == undisturbed


@pytest.mark.slow
def test_a_cell_that_cannot_go_on_does_not_hold_up_the_others(tmp_path: Path) -> None:
    done = memeval(tmp_path, "eval", "--benchmarks", "tiny", "broken", "--providers", "notes", "--run-id", "g")
    assert done.returncode == 1
    assert "conversations.json" in done.stderr
    states = {entry["run"]: entry["state"] for entry in json.loads(memeval(tmp_path, "status", "--json").stdout)}
    assert states == {"g.broken.notes": "stopped", "g.tiny.notes": "finished"}
