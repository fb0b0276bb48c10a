"""A faulty server with the real client: faults are not answers, and a resumed run has the same figures as an undisturbed one."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memeval.claudecode.console import faults_of
from memeval.claudecode.processes import processes_of
from memeval.report.html import write_site
from memeval.results.files import ResultsDir
from tests.e2e.bench import Rememberer, command, environment, trajectories
from tests.e2e.conftest import ROOT
from tests.e2e.model_server import Block, Body, ModelServer, Trouble, completion, conversation, say
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

FIRST, SECOND = "What is the name of our cat?", "Which city did I move to?"
DATA = [
    {
        "id": "c1",
        "sessions": [
            {
                "turns": [
                    {"role": "user", "text": "Our cat is called Biscuit, and I moved to Lisbon in May."},
                    {"role": "assistant", "text": "Noted."},
                ]
            }
        ],
        "questions": [
            {"id": "q1", "question": FIRST, "answer": "Biscuit"},
            {"id": "q2", "question": SECOND, "answer": "Lisbon"},
        ],
    }
]
SPEC = """name: two
source: {type: local, path: ../two.json}
schema: {caseId: $.id, sessions: $.sessions, turns: $.turns, role: $.role, text: $.text, questions: $.questions,
  questionId: $.id, question: $.question, answer: $.answer}
judge: {name: contains}
"""
QUICK = ("--no-probe", "--embedder", "", "--backoff", "0.2", "--retries", "1")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    made = ModelServer(Rememberer({FIRST: ["Biscuit"], SECOND: ["Lisbon"]}))
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conf" / "benchmarks").mkdir(parents=True)
    (tmp_path / "conf" / "benchmarks" / "two.yaml").write_text(SPEC)
    (tmp_path / "conf" / "two.json").write_text(json.dumps(DATA))
    return tmp_path


def bench(model: ModelServer, folder: Path, *flags: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    variables = environment(folder) | {"MEMEVAL_CONFIG_PATH": str(folder / "conf"), "MEMEVAL_CACHE": str(folder / "cache")}
    made = command(model, folder, *flags)
    done = subprocess.run(made, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=timeout)
    until(lambda: processes_of(folder) == [], "a process is left")
    return done


def cell_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    (cell,) = json.loads(done.stdout)["cells"]
    found: dict[str, Any] = cell
    return found


def assert_same(cell: dict[str, Any], other: dict[str, Any]) -> None:
    """Compare the figures of two runs.

    The scripted server counts tokens by the length of a request, and the client's requests contain numbers of varying length.
    """
    for key in ("questions", "unscored"):
        assert cell[key] == other[key]
    for key in ("by_status", "total"):
        assert cell["sessions"][key] == other["sessions"][key]
    for key in ("accuracy", "recency"):
        assert cell["metrics"][key] == other["metrics"][key]
    for key in ("tokens", "cost_usd"):
        assert cell[key] == pytest.approx(other[key], rel=0.005)


def asks(*texts: str) -> Callable[[Body], bool]:
    return lambda body: any(text in conversation(body) for text in texts)


def in_trouble(which: Callable[[Body], bool], trouble: Trouble, times: int = 10**6) -> Callable[[Body], Trouble | int]:
    """Return a server's rule: the first requests of a kind fail."""
    left, lock = [times], threading.Lock()

    def refuses(body: Body) -> Trouble | int:
        with lock:
            if not which(body) or left[0] <= 0:
                return 0
            left[0] -= 1
            return trouble

    return refuses


TROUBLES = {
    "429": (Trouble(status=429), "rate_limit", ()),
    "500": (Trouble(status=500), "server", ()),
    "hang": (Trouble(hangs=True), "hang", ("--timeout", "6")),
    "cut": (Trouble(cuts=True), "", ()),
}


@pytest.mark.parametrize(("mode", "kind"), [("off", "429"), ("plugin", "500"), ("builtin", "hang"), ("off", "cut")])
def test_a_question_that_a_fault_ended_is_unscored_and_any_resume_gives_the_figures_of_an_undisturbed_run(
    model: ModelServer, folder: Path, mode: str, kind: str
) -> None:
    trouble, status, flags = TROUBLES[kind]
    flags = ("-b", "two", "--mode", mode, *QUICK, *flags)
    model.refuses = in_trouble(asks(SECOND), trouble)
    done = bench(model, folder, *flags, "--run-id", "g")
    assert done.returncode == 0, done.stderr
    faulty = cell_of(done)
    assert sum(faulty["unscored"].values()) == 1
    assert not status or faulty["unscored"] == {status: 1}
    assert faulty["metrics"]["accuracy"]["value"] == (0.0 if mode == "off" else 1.0), "a fault is no wrong answer"
    model.refuses = lambda _: 0
    resumed = bench(model, folder, "--resume", "g", "--no-probe")
    whole = bench(model, folder, *flags, "--run-id", "whole", "--no-cache")
    assert (resumed.returncode, whole.returncode) == (0, 0), resumed.stderr + whole.stderr
    assert_same(cell_of(resumed), cell_of(whole))
    assert cell_of(whole)["lost"]["sessions"] == 0 < cell_of(resumed)["lost"]["sessions"]


def test_a_replay_that_a_fault_ended_leaves_its_questions_unscored_until_a_resume(model: ModelServer, folder: Path) -> None:
    flags = ("-b", "two", "--mode", "plugin", *QUICK)
    model.refuses = in_trouble(lambda body: not asks(FIRST, SECOND)(body), Trouble(status=500))
    faulty = bench(model, folder, *flags, "--run-id", "g")
    assert faulty.returncode == 1 and "Nothing could be scored in 1 of 1 cells" in faulty.stderr, faulty.stderr
    assert cell_of(faulty)["unscored"] == {"blocked": 2}
    assert cell_of(faulty)["metrics"]["accuracy"]["value"] is None
    assert not [body for body in model.requests if asks(FIRST, SECOND)(body)], "no question is paid for in vain"
    model.refuses = lambda _: 0
    resumed = bench(model, folder, "--resume", "g", "--no-probe")
    whole = bench(model, folder, *flags, "--run-id", "whole", "--no-cache")
    assert_same(cell_of(resumed), cell_of(whole))
    assert cell_of(resumed)["metrics"]["accuracy"]["value"] == 1.0
    answers = [
        [(line["step"], line["answer"]) for line in trajectories(folder, cell_of(one)["run_id"])] for one in (resumed, whole)
    ]
    assert answers[0] == answers[1]


def test_a_limit_is_waited_for_as_long_as_the_server_asks_and_changes_no_figure(model: ModelServer, folder: Path) -> None:
    flags = ("-b", "two", "--mode", "off", *QUICK)
    refused: list[float] = []
    rule = in_trouble(asks(FIRST), Trouble(status=429, headers={"retry-after": "3"}), 3)

    def refuses(body: Body) -> Trouble | int:
        found = rule(body)
        refused.extend([time.monotonic()] if asks(FIRST)(body) else [])
        return found

    model.refuses = refuses
    done = bench(model, folder, *flags)
    assert done.returncode == 0, done.stderr
    assert cell_of(done)["unscored"] == {}
    assert [later - earlier >= 3 for earlier, later in zip(refused, refused[1:], strict=False)] == [True] * 3
    model.refuses = lambda _: 0
    assert_same(cell_of(done), cell_of(bench(model, folder, *flags, "--no-cache")))


def test_a_limit_that_the_client_does_not_wait_for_ends_the_run_with_its_end_or_is_waited_for_on_demand(
    model: ModelServer, folder: Path
) -> None:
    model.refuses = in_trouble(asks(FIRST, SECOND, "OK?"), Trouble(status=429, headers={"retry-after": "7200"}))
    done = bench(model, folder, "-b", "two", "--mode", "off", *QUICK, "--run-id", "g")
    assert done.returncode == 1
    assert "The limit lasts until" in done.stderr and "--wait" in done.stderr and "--resume g" in done.stderr
    # Each session asks three times, so more sessions fail than --retries allows and than would end the run.
    model.refuses = in_trouble(lambda _: True, Trouble(status=429, headers={"retry-after": "1"}), 12)
    resumed = bench(model, folder, "--resume", "g", "--wait")
    assert resumed.returncode == 0, resumed.stderr
    assert "(--wait)" in resumed.stderr
    assert cell_of(resumed)["unscored"] == {}


@pytest.mark.parametrize(("status", "code", "words"), [(500, 1, "3 sessions in a row"), (401, 2, "Failed to authenticate")])
def test_an_outage_and_a_lost_login_end_the_run_with_words_and_a_resume_completes_it(
    model: ModelServer, folder: Path, status: int, code: int, words: str
) -> None:
    many = [{**DATA[0], "id": f"c{number}"} for number in range(2)]
    (folder / "conf" / "two.json").write_text(json.dumps(many))
    flags = ("-b", "two", "--mode", "off", "--no-probe", "--embedder", "", "--retries", "0")
    model.refuses = lambda _: status
    done = bench(model, folder, *flags, "--run-id", "g")
    assert (done.returncode, words in done.stderr, "--resume g" in done.stderr) == (code, True, True), done.stderr
    assert "Traceback" not in done.stderr
    if status == 401:
        return
    model.refuses = lambda _: 0
    resumed = bench(model, folder, "--resume", "g", "--no-probe")
    whole = bench(model, folder, *flags, "--run-id", "whole", "--no-cache")
    assert_same(cell_of(resumed), cell_of(whole))


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [(Trouble(status=401), "401"), (Trouble(status=500), ""), (Trouble(hangs=True), "--settle-timeout")],
    ids=["login lost", "failing", "waiting"],
)
def test_a_day_dream_that_fails_or_waits_is_reported_everywhere_and_a_resume_completes_the_cell(
    model: ModelServer, folder: Path, trouble: Trouble, reason: str
) -> None:
    flags = ("-b", "two", "--mode", "off,plugin", *QUICK, "--settle-timeout", "60" if reason == "401" else "12")
    model.refuses_reader = trouble
    done = bench(model, folder, *flags, "--run-id", "g")
    assert done.returncode == 1, done.stderr
    assert "Day dreams failed in 1 of 2 cells" in done.stderr and "--resume g" in done.stderr
    summary = json.loads(done.stdout)
    assert any("plugin claude-haiku-4-5: 1 day dreams failed." in line for line in faults_of(summary)), "below the table"
    off, plugin = summary["cells"]
    assert (off["unscored"], plugin["unscored"]) == ({}, {"blocked": 2})
    assert plugin["daydreams"]["failed"] == 1 and reason in plugin["daydreams"]["problem"]
    assert plugin["metrics"]["accuracy"]["value"] is None
    page = (write_site(ResultsDir(folder / "results")).parent / "run_bench-g.html").read_text("utf-8")
    assert "1 day dreams failed" in page and reason in page
    if reason == "401":
        refused = bench(model, folder, *[flag for flag in flags if flag != "--no-probe"])
        assert refused.returncode == 2 and "reader (endpoint) does not respond" in refused.stderr
    model.refuses_reader = Trouble()
    resumed = bench(model, folder, "--resume", "g", "--no-probe")
    assert resumed.returncode == 0, resumed.stderr
    _, plugin = json.loads(resumed.stdout)["cells"]
    assert (plugin["daydreams"]["failed"], plugin["metrics"]["accuracy"]["value"]) == (0, 1.0)


def test_what_memory_costs_is_counted_and_shown_apart_and_a_question_is_not_day_dreamed(model: ModelServer, folder: Path) -> None:
    flags = ("-b", "two", "--mode", "plugin", *QUICK, "--budget-usd", "5", "--run-id", "g")
    cell = cell_of(bench(model, folder, *flags))
    parts = cell["costs"]
    # A slow machine may read the replayed log before its closing prompt, and again after it.
    assert parts["memory"]["calls"] == len(model.readings) > 0
    assert not [body for body in model.readings if asks(FIRST, SECOND)(body)]
    assert parts["memory"]["cost_usd"] > 0
    assert cell["cost_usd"] == pytest.approx(sum(part["cost_usd"] for part in parts.values()))
    assert cell["tokens"] == sum(part["input_tokens"] + part["output_tokens"] for part in parts.values())
    over = bench(model, folder, "--resume", "g", "--no-probe", "--budget-usd", "0")
    assert over.returncode == 0, "a complete run needs no budget"


def test_the_claude_reader_works_in_the_sandbox_with_the_key_of_the_run_and_without_a_daily_budget(
    model: ModelServer, folder: Path
) -> None:
    answers = model.brain

    def brain(body: Body) -> list[Block]:
        text = conversation(body)
        read = completion({"messages": [{"content": text}]})["choices"][0]["message"]["content"]
        return [say(read)] if "memoryd-internal-run" in text else answers(body)

    model.brain = brain
    flags = ("-b", "two", "--mode", "plugin", *QUICK, "--ingest", "transcripts", "--plugin-setting", "reader=claude")
    done = bench(model, folder, *flags)
    cell = cell_of(done)
    assert (cell["daydreams"]["failed"], cell["metrics"]["accuracy"]["value"]) == (0, 1.0), done.stderr
    assert cell["costs"]["memory"]["calls"] == 1
    assert set(model.keys) == {"dummy"}
