"""Tests of user code: a Python object as a memory, a class by path, a judge by path, and the templates written by `init`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import memeval
from memeval import registry
from memeval.core.errors import ConfigError, RunError
from tests.memeval.current_folder import run


class Words:
    """Finds texts by common words. A class, created for each case."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def add(self, text: str) -> None:
        self.notes.append(text)

    def search(self, query: str, k: int) -> list[str]:
        wanted = set(query.lower().split())
        return sorted(self.notes, key=lambda note: -len(wanted & set(note.lower().split())))[:k]


class OneAtATime(Words):
    """One object that is emptied between cases."""

    def clear(self) -> None:
        self.notes = []


class ByUser:
    """One object for all cases, with hits as mappings inside a mapping, as in mem0."""

    def __init__(self) -> None:
        self.users: dict[str, Words] = {}
        self.ids: dict[str, str] = {}

    def add(self, messages: str, user_id: str = "", metadata: dict[str, Any] | None = None) -> dict[str, Any]:
        self.users.setdefault(user_id, Words()).add(messages)
        self.ids[messages] = f"mem-{len(self.ids)}"
        return {"results": [{"id": self.ids[messages], "event": "ADD"}]}

    def search(self, query: str, user_id: str = "", limit: int = 3) -> dict[str, Any]:
        found = self.users[user_id].search(query, limit)
        return {
            "results": [{"id": self.ids[text], "memory": f"({text})", "score": 1 / rank} for rank, text in enumerate(found, 1)]
        }


class Kept(Words):
    """A class that stores its state in a folder."""

    def __init__(self, folder: Path, name: str = "notes") -> None:
        super().__init__()
        self.file = folder / f"{name}.json"
        self.notes = json.loads(self.file.read_text()) if self.file.exists() else []

    def add(self, text: str) -> None:
        super().add(text)
        self.file.write_text(json.dumps(self.notes))


pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.mark.slow
def test_a_class_and_an_object_give_the_same_numbers_however_cases_are_kept_apart() -> None:
    values = [
        memeval.evaluate(memory, "sample", limit=30)["session.recall_all@5"]
        for memory in (Words, lambda: Words(), OneAtATime(), ByUser(), Kept)
    ]
    assert len(set(values)) == 1
    assert values[0] is not None and values[0] > 0.5


def test_the_result_can_be_read_and_is_kept_for_the_commands() -> None:
    result = memeval.evaluate(Words, "sample", name="my words", limit=4, answering_model="extractive")
    assert (result.benchmark, result.provider) == ("sample", "my-words")
    assert result.score == result["f1"] == result.metrics["f1"].value
    assert "* f1" in result.summary()
    assert len(repr(result)) < 300
    assert run("results", result.run_id).exit_code == 0


@pytest.mark.slow
def test_hits_of_any_usual_form_are_read_and_traced() -> None:
    texts: list[str] = []

    class Forms(Words):
        def add(self, text: str) -> None:
            texts.append(text)
            super().add(text)

        def search(self, query: str, k: int) -> list[Any]:
            class Hit:
                content, score = self.notes[2], 0.5

            return [self.notes[0], (self.notes[1], 0.7), Hit(), {"text": "made up", "similarity": 0.1}]

    questions = memeval.evaluate(Forms, "sample", limit=1).questions
    pieces = questions[0].retrieved
    assert [piece.score for piece in pieces] == [0.0, 0.7, 0.5, 0.1]
    assert [len(piece.turns) for piece in pieces] == [1, 1, 1, 0]


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        (type("NoSearch", (), {"add": lambda self, text: None}), "NoSearch has no method search"),
        (object(), "object has no method add"),
    ],
)
def test_what_is_not_a_memory_is_refused_before_any_work(memory: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        memeval.evaluate(memory, "sample")
    assert not list(Path("results").glob("runs/*"))


def test_an_object_that_cannot_keep_cases_apart_is_named() -> None:
    with pytest.raises(RunError, match="neither clear"):
        memeval.evaluate(Words(), "sample")


def test_a_fault_in_the_users_code_names_file_and_line() -> None:
    class Broken(Words):
        def search(self, query: str, k: int) -> list[str]:
            return [self.notes[10_000]]

    with pytest.raises(RunError, match=r"IndexError: list index out of range \(test_own_code.py:\d+\)"):
        memeval.evaluate(Broken, "sample", limit=3)


@pytest.mark.parametrize(
    ("hit", "said"),
    [({"score": 1.0}, "which has no text"), (("a", "high"), "the score 'high'"), (("a", float("nan")), "score nan")],
)
def test_a_hit_that_cannot_be_read_is_an_error_not_a_zero(hit: Any, said: str) -> None:
    memory = type("Odd", (Words,), {"search": lambda self, query, k: [hit]})
    with pytest.raises(RunError, match=said):
        memeval.evaluate(memory, "sample", limit=2)


ADAPTER = """
import helper_beside

class Memory:
    def __init__(self, lower=True):
        self.lower, self.notes = lower, []
    def add(self, text, metadata):
        self.notes.append((text, metadata))
    def search(self, query, k):
        wanted = helper_beside.words(query, self.lower)
        best = sorted(self.notes, key=lambda one: -len(wanted & helper_beside.words(one[0], self.lower)))
        return [{"text": text, "metadata": metadata} for text, metadata in best[:k]]
"""
HELPER = "def words(text, lower):\n    return set((text.lower() if lower else text).split())\n"
PROVIDER = "name: mine\ntype: local\nadapter: ./mine.py:Memory\noptions: {lower: true}\n"


def adapter(code: str = ADAPTER, spec: str = PROVIDER) -> Path:
    place = Path("memeval.d/providers")
    place.mkdir(parents=True)
    (place / "mine.py").write_text(code)
    (place / "helper_beside.py").write_text(HELPER)
    (place / "mine.yaml").write_text(spec)
    return place


def test_a_class_by_path_is_a_provider_that_can_be_checked_run_and_prepared() -> None:
    adapter()
    checked = run("check", "mine")
    assert checked.exit_code == 0, checked.output
    assert "raw  search" in checked.output
    done = run("eval", "-b", "sample", "-p", "mine", "--limit", "20", "--run-id", "one", "--provider-option", "lower=true")
    assert done.exit_code == 0, done.output
    assert run("prepare", "-b", "sample", "-p", "mine", "--limit", "20", "--run-id", "two").exit_code == 0
    assert run("run", "two", "--run-id", "three").exit_code == 0
    one, three = (memeval.load_run(memeval.ResultsDir(Path("results")), name) for name in ("one", "three"))
    assert one.values("turn.recall_any@5") == three.values("turn.recall_any@5")
    assert one["turn.recall_any@5"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("mine.py:Memory", "mine.py:Missing"), "mine.yaml:3: adapter: mine.py has no Missing"),
        (("mine.py:Memory", "gone.py:Memory"), "there is no file"),
        (("./mine.py:Memory", "mine.Memory"), r"Write ./file.py:Name"),
        (("{lower: true}", "{upper: true}"), "can't be created.*upper"),
        (("type: local", "type: local\nimplementation: bm25"), "is for type local, without an implementation"),
    ],
)
def test_a_wrong_adapter_is_named_with_file_and_line(change: tuple[str, str], said: str) -> None:
    adapter(spec=PROVIDER.replace(*change))
    done = run("check", "mine")
    assert done.exit_code == 2
    assert re.search(said, done.output.replace("\n", " ")), done.output


def test_an_adapter_that_cannot_be_loaded_says_why() -> None:
    adapter(code="import no_such_library\n")
    done = run("eval", "-b", "sample", "-p", "mine")
    assert (done.exit_code, "No module named 'no_such_library' (mine.py:1)" in done.output) == (2, True), done.output


def test_an_adapter_can_be_a_whole_provider() -> None:
    kind = registry.provider.get("none")
    code = f"from {kind.__module__} import {kind.__name__} as Memory\n"
    adapter(code=code, spec=PROVIDER.replace("options: {lower: true}\n", ""))
    assert run("eval", "-b", "sample", "-p", "mine", "--limit", "2").exit_code == 0


JUDGE = """
from memeval import Score

def simple(question, answer):
    return {"accuracy": len(answer) > 3, "length": len(answer)}

def bad(question, answer):
    return "yes"

class Whole:
    def score(self, question, answer):
        return [Score("mine", 1.0 if answer.text else 0.0)]
"""


def benchmark(evaluator: str, more: str = "") -> None:
    assert run("init", "benchmark", "team").exit_code == 0
    place = Path("memeval.d/benchmarks")
    (place / "own.py").write_text(JUDGE)
    text = (place / "team.yaml").read_text()
    (place / "team.yaml").write_text(text.replace("./team.py:judge", evaluator) + more)


def test_a_function_by_path_judges_a_benchmark() -> None:
    benchmark("./own.py:simple")
    done = run("eval", "-b", "team", "-p", "bm25", "-m", "extractive", "--run-id", "r")
    assert done.exit_code == 0, done.output
    result = memeval.load_run(memeval.ResultsDir(Path("results")), "r")
    assert result["accuracy"] == 1.0
    assert result["length"] is not None and result["length"] > 3
    assert result.find("models", "judges") == [{"name": "custom(./own.py:simple)", "prompt_hashes": {}}]


def test_a_class_by_path_judges_and_another_judge_can_be_taken_instead() -> None:
    benchmark("./own.py:Whole")
    assert run("eval", "-b", "team", "-p", "bm25", "-m", "extractive", "--run-id", "r").exit_code == 0
    assert run("eval", "-b", "team", "-p", "bm25", "-m", "extractive", "--judge", "f1", "--run-id", "s").exit_code == 0
    results = memeval.ResultsDir(Path("results"))
    assert memeval.load_run(results, "r")["mine"] == 1.0
    assert "f1" in memeval.load_run(results, "s").metrics


def test_a_judge_that_returns_no_number_is_an_error() -> None:
    benchmark("./own.py:bad")
    done = run("eval", "-b", "team", "-p", "bm25", "-m", "extractive")
    assert done.exit_code == 1
    assert "returned 'yes' for accuracy" in done.output.replace("\n", " ")


def test_models_of_the_benchmarks_file_are_defaults() -> None:
    benchmark("./own.py:simple", "models:\n  answering: extractive\n")
    assert run("eval", "-b", "team", "-p", "bm25", "--run-id", "r").exit_code == 0
    assert run("eval", "-b", "team", "-p", "bm25", "-m", "none", "--run-id", "s").exit_code == 0
    results = memeval.ResultsDir(Path("results"))
    assert memeval.load_run(results, "r").answering_model == "extractive"
    assert memeval.load_run(results, "s").answering_model == ""
    assert run("prepare", "-b", "team", "-p", "bm25", "--run-id", "kept").exit_code == 0
    assert run("run", "kept", "--run-id", "t").exit_code == 0
    assert memeval.load_run(results, "t").answering_model == "extractive"
    assert run("eval", "--from", "s", "--phase", "evaluate", "--run-id", "u").exit_code == 0
    assert memeval.load_run(results, "u").answering_model == ""


@pytest.mark.parametrize("kind", ["python", "program"])
def test_the_start_of_a_provider_works_as_it_is(kind: str) -> None:
    assert run("init", "provider", "my-notes", "--type", kind).exit_code == 0
    assert run("check", "my-notes").exit_code == 0
    done = run("eval", "-b", "sample", "-p", "my-notes", "--limit", "5", "--run-id", "r")
    assert done.exit_code == 0, done.output
    assert memeval.load_run(memeval.ResultsDir(Path("results")), "r")["session.recall_any@10"]


@pytest.mark.parametrize("kind", ["http", "mcp"])
def test_the_start_of_a_remote_provider_is_a_right_file(kind: str) -> None:
    assert run("init", "provider", "my-api", "--type", kind).exit_code == 0
    shown = run("describe", "my-api", "--json")
    assert json.loads(shown.output)["provider"]["name"] == "my-api"


def test_the_start_of_a_benchmark_works_as_it_is() -> None:
    assert run("init", "benchmark", "team").exit_code == 0
    done = run("eval", "-b", "team", "-p", "bm25", "-m", "extractive", "--run-id", "r")
    assert done.exit_code == 0, done.output
    result = memeval.load_run(memeval.ResultsDir(Path("results")), "r")
    assert len(result.questions) == 3
    assert result.primary == "accuracy"


def test_init_writes_over_nothing_unasked_and_takes_plain_names_only() -> None:
    assert run("init", "provider", "notes").exit_code == 0
    assert "already exists" in run("init", "provider", "notes").output
    assert run("init", "provider", "notes", "--force").exit_code == 0
    assert run("init", "provider", "../notes").exit_code == 2


def test_a_memory_that_never_finds_anything_is_a_broken_set_up_and_not_0_per_cent() -> None:
    adapter(code="class Memory:\n    def add(self, text): pass\n    def search(self, query, k): return []\n",
            spec="name: mine\ntype: local\nadapter: ./mine.py:Memory\n")  # fmt: skip
    done = run("eval", "-b", "sample", "-p", "mine", "--limit", "3", "--run-id", "r")
    assert done.exit_code == 1
    said = " ".join(done.output.split())
    assert "Run r is not finished: no search found anything" in said
    assert "memeval check mine" in said
    broken = memeval.load_run(memeval.ResultsDir(Path("results")), "r")
    assert broken.primary is None
    assert all(cell.value is None for cell in broken.metrics.values())
    assert "--allow-empty" in run("results", "r").output
    assert "did not find the session that was just added" in run("check", "mine").output


def test_finding_nothing_is_a_result_of_no_memory_and_where_it_is_allowed() -> None:
    adapter(code="class Memory:\n    def add(self, text): pass\n    def search(self, query, k): return []\n",
            spec="name: mine\ntype: local\nadapter: ./mine.py:Memory\n")  # fmt: skip
    assert run("eval", "-b", "sample", "-p", "none", "--limit", "3").exit_code == 0
    assert run("eval", "-b", "sample", "-p", "mine", "--limit", "3", "--run-id", "r").exit_code == 1
    assert run("eval", "--from", "r", "--phase", "evaluate", "--allow-empty", "--run-id", "s").exit_code == 0
    results = memeval.ResultsDir(Path("results"))
    assert memeval.load_run(results, "s")["session.recall_any@10"] == 0
    done = run("eval", "-b", "sample", "-p", "mine", "--limit", "2")
    assert done.exit_code == 0, "one or two searches may well find nothing"
    assert "mine found nothing for any question" in " ".join(done.output.split())


def test_check_tells_that_a_class_does_not_store_what_it_adds(tmp_path: Path) -> None:
    (tmp_path / "forgetful.py").write_text(
        "class Memory:\n"
        "    def __init__(self, folder): self.notes = []\n"
        "    def add(self, text): self.notes.append(text)\n"
        "    def search(self, query, k): return self.notes[:k]\n"
    )
    (tmp_path / "forgetful.yaml").write_text("name: forgetful\ntype: local\nadapter: ./forgetful.py:Memory\n")
    done = run("check", "forgetful.yaml")
    assert done.exit_code != 0
    assert "must be stored by then" in done.stderr
