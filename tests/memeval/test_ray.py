"""Runs spread over a Ray cluster of two nodes on this machine, one of which is killed."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from memeval.core.errors import ConfigError, DependencyError
from memeval.core.types import Phase
from memeval.results.files import ResultsDir
from memeval.run import ray_executor
from tests.memeval.conftest import Invoke
from tests.memeval.fakes import Parrot, tiny_case
from tests.memeval.test_resume import without_times
from tests.waiting import until

MEMORY = 80 * 1024 * 1024
PROVIDER = """\
name: slow
type: local
adapter: ./slow.py:Slow
"""
ADAPTER = """\
import time
from pathlib import Path

def node():
    try:
        import ray
    except ImportError:
        return "here"
    return ray.get_runtime_context().get_node_id() if ray.is_initialized() else "here"

class Slow:
    def __init__(self):
        self.turns = []

    def add(self, text, metadata):
        self.turns.append((text, metadata))

    def search(self, query, k):
        time.sleep(0.05)
        asked = set(query.lower().split())
        with (Path(__file__).parent / "searches.txt").open("a") as log:
            log.write(node() + "\\n")
        found = sorted(self.turns, key=lambda turn: -len(asked & set(turn[0].lower().split())))
        return [{"text": text, "metadata": data, "score": 1.0} for text, data in found[:k]]
"""
WORDS = ("eval", "-b", "sample", "-p", "slow", "-m", "extractive", "--judge", "f1", "--no-cache")
Load = Callable[[str], Any]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Start two nodes with one processor each."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'memoryd[ray]'")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    cluster_utils: Any = importlib.import_module("ray.cluster_utils")
    head = {"num_cpus": 1, "object_store_memory": MEMORY, "include_dashboard": False}
    made = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    made.second = made.add_node(num_cpus=1, object_store_memory=MEMORY)
    yield made
    made.shutdown()


@pytest.fixture
def configs(folder: Path) -> Path:
    place = folder / "configs" / "providers"
    (place / "slow.yaml").write_text(PROVIDER)
    (place / "slow.py").write_text(ADAPTER)
    return place


def comparable(result: Any) -> Any:
    return {key: value for key, value in without_times(result).items() if key != "run_id"}


@pytest.mark.slow
def test_a_run_over_two_nodes_of_which_one_is_killed_gives_the_result_of_a_local_run(
    memeval: Invoke, result_of: Load, folder: Path, configs: Path, cluster: Any
) -> None:
    searches = configs / "searches.txt"
    assert memeval(*WORDS, "--run-id", "here").exit_code == 0
    local = searches.read_text().splitlines()
    searches.unlink()

    def done_so_far() -> list[str]:
        return searches.read_text().splitlines() if searches.exists() else []

    def kill_one() -> None:
        until(lambda: len(made := done_so_far()) >= 12 and len(set(made)) == 2, seconds=90)  # on a busy machine one starts late
        cluster.remove_node(cluster.second, allow_graceful=False)

    killer = Thread(target=kill_one, daemon=True)
    killer.start()
    done = memeval(*WORDS, "--run-id", "spread", "--executor", "ray", "--ray-address", cluster.address)
    assert done.exit_code == 0, done.output
    killer.join()
    assert comparable(result_of("spread")) == comparable(result_of("here"))
    seen = searches.read_text().splitlines()
    assert len(set(seen)) == 2, "both nodes worked"
    assert len(seen) < 2 * len(local), "what had been sent was not done again"
    with ResultsDir(folder / "results").open("spread") as spread, ResultsDir(folder / "results").open("here") as here:
        for phase in (Phase.INGEST, Phase.SEARCH, Phase.ANSWER, Phase.EVALUATE):
            assert spread.keys(phase) == here.keys(phase), "the checkpoints are the same"


@pytest.mark.slow
def test_a_run_stopped_here_continues_over_the_cluster_and_the_reverse(
    memeval: Invoke, result_of: Load, configs: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*WORDS, "--epochs", "2", "--limit", "20")
    assert memeval(*words, "--run-id", "whole").exit_code == 0
    assert memeval(*words, "--run-id", "begun", "--phase", "ingest").exit_code == 0
    ray = ("--executor", "ray", "--ray-address", cluster.address)
    assert memeval("eval", "--resume", "begun", "--no-cache", *ray).exit_code == 0
    assert comparable(result_of("begun")) == comparable(result_of("whole"))

    taken = ray_executor._Driver._store

    def stop_after(self: Any, record: Any, phase: Phase) -> None:
        taken(self, record, phase)
        if len(self._run.store.keys(Phase.SEARCH)) == 7:
            self._context.stop.set()

    monkeypatch.setattr(ray_executor._Driver, "_store", stop_after)
    assert memeval(*words, "--run-id", "sent", *ray).exit_code == 130
    monkeypatch.undo()
    assert memeval("eval", "--resume", "sent", "--no-cache").exit_code == 0
    assert comparable(result_of("sent")) == comparable(result_of("whole"))


def test_what_a_cluster_cannot_do_is_refused(memeval: Invoke, configs: Path) -> None:
    for words, why in (
        (("--budget-usd", "1"), "--budget-usd"),
        (("--phase", "ingest"), "run together"),
    ):
        done = memeval(*WORDS, "--executor", "ray", *words)
        assert done.exit_code == 2 and why in done.stderr, done.output


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DependencyError, match=r"pip install 'memoryd\[ray\]'"):
        ray_executor._connect("")


def test_a_cluster_that_is_not_there_is_named() -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'memoryd[ray]'")
    with pytest.raises(ConfigError, match="no Ray cluster at 127.0.0.1:1"):
        ray_executor._connect("127.0.0.1:1")


def test_a_case_survives_the_way_to_a_node(folder: Path) -> None:
    case = tiny_case(1)
    assert pickle.loads(ray_executor._packed(case)) == case


class FakeError(Exception):
    """Stands in for ray.exceptions.RayError: a node died."""


class FakeTaskError(FakeError):
    """Stands in for ray.exceptions.RayTaskError: the task raised an exception."""


class FakeStream:
    """The items of a task, whose node dies after some of them."""

    def __init__(self, items: Iterator[bytes], lives: float) -> None:
        self.items, self.lives = items, lives

    def __next__(self) -> Any:
        self.lives -= 1
        return next(self.items) if self.lives >= 0 else FakeError("the node died")


class FakeRay:
    """Ray in this process. The streams die after as many items as `lives` specifies. Its last entry applies to all others."""

    exceptions = SimpleNamespace(RayError=FakeError, RayTaskError=FakeTaskError)

    def __init__(self, *lives: float) -> None:
        self.lives = list(lives)
        self.started = 0

    def remote(self, **options: Any) -> Callable[[Any], Any]:
        return lambda task: SimpleNamespace(remote=lambda *arguments: self.start(task(*arguments)))

    def start(self, items: Iterator[bytes]) -> FakeStream:
        self.started += 1
        return FakeStream(items, self.lives.pop(0) if len(self.lives) > 1 else self.lives[0])

    def wait(self, streams: list[FakeStream], timeout: float) -> tuple[list[FakeStream], list[FakeStream]]:
        return streams[:1], streams[1:]

    def get(self, value: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    def cancel(self, stream: FakeStream, force: bool) -> None:
        assert force

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def shutdown(self) -> None:
        return None


JUDGED = (
    "eval",
    "-b",
    "tiny",
    "-p",
    "notes",
    "-m",
    "parrot",
    "--judge",
    "llm",
    "--judge-model",
    "parrot",
    "--epochs",
    "2",
    "--no-cache",
)


@pytest.fixture
def judging(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Parrot.complete

    def complete(self: Parrot, messages: Any, **options: Any) -> Any:
        made = answer(self, messages, **options)
        asked = "yes or no" in messages[-1].content.casefold()
        return replace(made, text="yes" if "door number 1" in messages[-1].content else "no") if asked else made

    monkeypatch.setattr(Parrot, "complete", complete)


@pytest.mark.usefixtures("judging")
def test_nodes_that_die_anywhere_change_nothing(memeval: Invoke, result_of: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    assert memeval(*JUDGED, "--run-id", "here", "--concurrency", "1").exit_code == 0
    assert result_of("here")["questions"][0]["scores"][-2]["value"] is not None
    whole = comparable(result_of("here"))
    for number, lives in enumerate(((0, 2, 1, 3, 99), (3, 99, 1, 2, 2, 1, 2, 3, 1, 1, 99))):
        fake = FakeRay(*lives)
        monkeypatch.setattr(ray_executor, "_connect", lambda address, fake=fake: fake)
        done = memeval(*JUDGED, "--run-id", f"spread-{number}", "--executor", "ray")
        assert done.exit_code == 0, done.output
        assert comparable(result_of(f"spread-{number}")) == whole
        assert fake.started >= 3 + 6 + 6 + (len(lives) - 1) // 2


def test_a_unit_that_never_ends_stops_the_run_and_names_the_next_step(memeval: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_executor, "_connect", lambda address: FakeRay(1))
    done = memeval("eval", "-b", "tiny", "-p", "notes", "--run-id", "r", "--executor", "ray")
    assert done.exit_code == 1 and "ended 5 times without a result: the node died" in done.stderr
    assert "memeval eval --resume r --executor ray" in done.stderr
    monkeypatch.setattr(ray_executor, "_connect", lambda address: FakeRay(99))
    assert memeval("eval", "--resume", "r", "--executor", "ray").exit_code == 0


def test_faults_on_a_node_are_reported_as_those_here(memeval: Invoke, result_of: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_executor, "_connect", lambda address: FakeRay(99))
    words = ("eval", "-b", "tiny", "-p", "notes", "--executor", "ray")
    assert memeval(*words, "--run-id", "one", "--provider-option", "failCase=c1").exit_code == 0
    assert result_of("one")["totals"] == {"total": 6, "done": 4, "failed": 2, "pending": 0}
    versions = iter(["0.1.0", "9.9.9"])
    monkeypatch.setattr(ray_executor, "version", lambda: next(versions, "9.9.9"))
    done = memeval(*words, "--run-id", "two")
    assert done.exit_code == 1 and "A node has memeval" in done.stderr and "same version everywhere" in done.stderr
