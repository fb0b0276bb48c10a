"""Coding tasks with the real client: the scripted model knows only its request, and tests decide."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from memeval.claudecode.coding import sample
from memeval.report.html import write_site
from memeval.results.files import ResultsDir
from tests.e2e.bench import asked, bench, trajectories
from tests.e2e.conftest import ROOT
from tests.e2e.model_server import Block, Body, ModelServer, conversation, say, tool_results, use
from tests.memeval.claudecode.coding.solver import MEMORY_FOLDER, Solver, knows, request_text
from tests.memeval.claudecode.coding.test_swe_tasks import container

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

REPOSITORIES = sample.load_all()
RULE = "Never call round() in this repository: always use the helper settle() instead."


@pytest.fixture
def model() -> Iterator[ModelServer]:
    made = ModelServer(Solver(REPOSITORIES))
    yield made
    made.close()


@pytest.mark.parametrize(("mode", "resolved"), [("off", 5), ("builtin", 20), ("plugin", 20), ("both", 20)])
def test_what_the_first_task_taught_pays_in_the_others_where_there_is_memory(
    model: ModelServer, tmp_path: Path, mode: str, resolved: int
) -> None:
    flags = ("-b", "sample-code", "--mode", mode, "--embedder", "", "--workers", "2")
    (cell,) = bench(model, tmp_path, *flags)["cells"]
    assert cell["summary"]["tasks"] == {"total": 20, "resolved": resolved, "failed": 20 - resolved, "unscored": 0}
    assert cell["metrics"]["accuracy"]["value"] == resolved / 20
    result = "\n".join(request_text(body) for body in model.requests)
    tasks = [task for one in REPOSITORIES for task in one.tasks]
    assert not any(text in result for task in tasks for text in (task.tests, f"answer: {task.gold}"))


CONTROLS = {"off": 1, "plugin": 2, "blank": 1, "dreamed": 2, "history": 2, "notes": 2, "placebo": 1}


class Curator(Solver):
    """A solver that also rewrites its notes on request: to the fact of the repository, if it was told the fact."""

    def __call__(self, body: Body) -> list[Block]:
        text = request_text(body)
        if "Rewrite the notes in your CLAUDE.md" in text:
            return [say(next((one.fact for one in self.repositories if knows(one, text)), "Nothing yet."))]
        return super().__call__(body)


def test_control_arms_resolve_what_they_are_given_and_each_task_has_a_page_with_all_of_them(tmp_path: Path) -> None:
    server = ModelServer(Curator(REPOSITORIES))
    flags = ("-b", "sample-code", "--limit", "2", "--mode", ",".join(CONTROLS), "--embedder", "", "--no-probe", "--workers", "2")
    try:
        summary = bench(server, tmp_path, *flags, "--run-id", "g")
    finally:
        server.close()
    assert {cell["arm"]: cell["summary"]["tasks"]["resolved"] for cell in summary["cells"]} == CONTROLS
    folder = write_site(ResultsDir(tmp_path / "results")).parent
    task = REPOSITORIES[0].tasks[1]
    (page,) = [text for path in folder.glob("task-g-*.html") if task.prompt in (text := unescape(path.read_text("utf-8")))]
    assert [page.count(f"<h3>{arm} claude") for arm in CONTROLS] == [1] * len(CONTROLS)
    changed = next(line for line in task.gold.splitlines() if line.startswith("+") and not line.startswith("+++"))
    assert page.count(f"\n{changed}\n") >= 4, "the patch of each arm that knew the fact"
    assert "Ran " in page and "FAILED (failures=" in page, "the output of the tests"
    assert "hook:SessionStart" in page and "tests passed" in page
    command = (folder / "run_bench-g.html").read_text("utf-8")
    assert command.count('href="task-g-sample-code-') == 2


def test_asking_again_gives_forgetting_and_transfer_and_leaves_accuracy_alone(model: ModelServer, tmp_path: Path) -> None:
    flags = (
        "-b",
        "sample-code",
        "--limit",
        "2",
        "--mode",
        "plugin,off",
        "--option",
        "again=true",
        "--embedder",
        "",
        "--no-probe",
    )
    plugin, off = bench(model, tmp_path, *flags)["cells"]
    found = plugin["summary"]["continual"]
    assert (found["plasticity"], found["forgetting"], found["forward_transfer"]) == (1.0, 0.0, 1.0)
    assert found["cl_score"] == pytest.approx(4.0)
    assert (plugin["metrics"]["accuracy"]["value"], off["metrics"]["accuracy"]["value"]) == (1.0, 0.5)
    assert plugin["summary"]["tasks"]["total"] == 2
    again = bench(model, tmp_path, *flags)["cells"][1]
    assert again["sessions"]["cached"] == 3
    assert again["summary"]["tasks"] == off["summary"]["tasks"]


def test_a_session_with_a_shell_is_led_to_no_gold(tmp_path: Path) -> None:
    """The session prints its environment, which contains no path of a folder with answers.

    The client's own program is mentioned, which `make e2e` puts below the project. That line does not come from run_bench.
    """

    def looks(body: Body) -> list[Block]:
        if not body.get("tools") or tool_results(body):
            return [say("done")]
        return [use("Bash", command="env; pwd; ls -a . .. ../..; cat .git/config", description="Look around")]

    server = ModelServer(looks)
    try:
        bench(server, tmp_path, "-b", "sample-code", "--limit", "1", "--mode", "both", "--embedder", "")
        result = "\n".join(conversation(body) for body in server.requests)
    finally:
        server.close()
    seen = re.sub(r"(CLAUDE_CODE_EXECPATH|MEMORYD_CLAUDE_COMMAND)=\S*", "", result)
    assert "CLAUDE_CONFIG_DIR=" in seen
    for place in (ROOT, ROOT / "memeval", tmp_path / "results", sample.DATA):
        assert f"{place}/" not in seen and f"{place}\n" not in seen, place
    assert not any(task.gold in seen for repository in REPOSITORIES for task in repository.tasks)


def _git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def _tasks(folder: Path, commit: str) -> Path:
    """Create two tasks of a repository; the first one states a rule."""
    (folder / "tasks").mkdir()
    for number, issue in ((1, f"double(3) is 7, it should be 6. {RULE}"), (2, "half(3) is 1, it should be 1.5.")):
        record: dict[str, Any] = {
            "instance_id": f"acme__calc-{number}",
            "repo": "acme/calc",
            "base_commit": commit,
            "created_at": f"2024-01-0{number}T00:00:00Z",
            "problem_statement": issue,
            "patch": "--- a/calc.py\n+++ b/calc.py\n",
            "test_patch": "--- a/test_calc.py\n+++ b/test_calc.py\n",
            "FAIL_TO_PASS": "['test_calc.py::test_double']",
            "PASS_TO_PASS": "[]",
        }
        (folder / "tasks" / f"{number}.json").write_text(json.dumps(record))
    return folder / "tasks"


def _engineer(body: Body) -> list[Block]:
    """Write the issue to the notes folder if there is one. The change itself is not tested here."""
    given = conversation(body)
    folder = MEMORY_FOLDER.search(given)
    if "Resolve the following issue" not in given or not body.get("tools") or tool_results(body):
        return [say("The change is made.")]
    if folder and RULE in given:
        return [use("Write", file_path=f"{folder[0]}MEMORY.md", content=f"- {RULE}\n")]
    return [use("Bash", command="ls", description="Look")]


@pytest.mark.parametrize(
    ("mode", "index", "recalled"),
    [("off", False, False), ("builtin", True, False), ("plugin", False, True), ("both", True, True)],
)
def test_tasks_of_a_repository_share_a_memory_and_are_unscored_where_no_environment_can_be_built(
    tmp_path: Path, mode: str, index: bool, recalled: bool
) -> None:
    clone = tmp_path / "clones" / "acme__calc"
    clone.mkdir(parents=True)
    (clone / "calc.py").write_text("def double(x):\n    return 2 * x + 1\n")
    _git(clone, "init", "-q")
    _git(clone, "add", ".")
    _git(clone, "commit", "-q", "-m", "one")
    data = _tasks(tmp_path, _git(clone, "rev-parse", "HEAD"))
    options = ("--option", f"checkouts={clone.parent}", "--option", "grading=local", "--option", "python=/no/such/python")
    server = ModelServer(_engineer)
    try:
        flags = ("-b", "swe-contextbench", "--data", str(data), "--mode", mode, "--offline", "--embedder", "", *options)
        (cell,) = bench(server, tmp_path, *flags)["cells"]
        second = [text for text in asked(server, "half(3) is 1, it should be 1.5.")]
    finally:
        server.close()
    assert cell["summary"]["tasks"] == {"total": 2, "resolved": 0, "failed": 0, "unscored": 2}
    assert cell["sessions"]["by_status"] == {"done": 2}
    assert cell["metrics"]["accuracy"]["value"] is None
    assert second
    for text in second:
        assert ("MEMORY.md" in text) is index
        assert ("<memoryd-recall" in text) is recalled
        assert ("settle()" in text) is (index or recalled)
    assert len(trajectories(tmp_path, cell["run_id"])) == 2


def test_a_task_whose_repository_is_not_here_is_unscored_too(model: ModelServer, tmp_path: Path) -> None:
    data = _tasks(tmp_path, "1" * 40)
    (cell,) = bench(model, tmp_path, "-b", "swe-contextbench", "--data", str(data), "--mode", "off", "--offline")["cells"]
    assert cell["summary"]["tasks"] == {"total": 2, "resolved": 0, "failed": 0, "unscored": 2}
    assert cell["sessions"]["by_status"] == {"unprepared": 2}


CALC = "def settle(x):\n    return x\n\n\ndef double(x):\n    return 2 * x + 1\n\n\ndef half(x):\n    return x // 2\n"
HIDDEN = {
    "double": "from calc import double\n\n\ndef test_double():\n    assert double(3) == 6\n",
    "half": "from calc import half\n\n\ndef test_half():\n    assert half(3) == 1.5 and 'settle' in half.__code__.co_names\n",
}
WRONG = {"double": "2 * x + 1", "half": "x // 2"}
RIGHT = {"double": "2 * x", "half": "settle(x / 2)"}


def _graded_tasks(folder: Path, clone: Path) -> Path:
    """Create the two tasks with patches and tests that decide. The second task needs the rule stated by the first one."""
    clone.mkdir(parents=True)
    (clone / "calc.py").write_text(CALC)
    _git(clone, "init", "-q")
    _git(clone, "add", ".")
    _git(clone, "commit", "-q", "-m", "one")
    data = _tasks(folder, _git(clone, "rev-parse", "HEAD"))
    for number, name in ((1, "double"), (2, "half")):
        (clone / "calc.py").write_text(CALC.replace(WRONG[name], RIGHT[name]))
        gold = _git(clone, "diff") + "\n"
        (clone / f"test_{name}.py").write_text(HIDDEN[name])
        _git(clone, "add", "-N", f"test_{name}.py")
        tests = _git(clone, "diff", "--", f"test_{name}.py") + "\n"
        _git(clone, "reset", "-q", "--hard")
        file = data / f"{number}.json"
        changes = {"patch": gold, "test_patch": tests, "FAIL_TO_PASS": json.dumps([f"test_{name}.py::test_{name}"])}
        file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    return data


def _fixes(body: Body) -> list[Block]:
    given = conversation(body)
    if "Resolve the following issue" not in given or not body.get("tools") or tool_results(body):
        return [say(f"The change is made. {RULE if RULE in given else ''}")]
    name = "half" if "half(3) is 1" in given else "double"
    right = RIGHT[name] if name == "double" or "settle()" in given else "round(x / 2, 1)"
    return [use("Bash", command=f"sed -i 's#{WRONG[name].replace('*', '[*]')}#{right}#' calc.py", description="Change it")]


def test_tests_in_a_container_decide_whether_a_task_of_a_repository_is_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clones" / "acme__calc"
    data = _graded_tasks(tmp_path, clone)
    (tmp_path / "bin").mkdir()
    container(tmp_path / "bin", clone)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    options = ("--option", f"checkouts={clone.parent}", "--option", "grading=docker")
    server = ModelServer(_fixes)
    try:
        flags = (
            "-b",
            "swe-contextbench",
            "--data",
            str(data),
            "--mode",
            "off,plugin",
            "--offline",
            "--embedder",
            "",
            "--no-probe",
        )
        off, plugin = bench(server, tmp_path, *flags, *options)["cells"]
    finally:
        server.close()
    assert off["summary"]["tasks"] == {"total": 2, "resolved": 1, "failed": 1, "unscored": 0}
    assert plugin["summary"]["tasks"] == {"total": 2, "resolved": 2, "failed": 0, "unscored": 0}
    (second,) = [line for line in trajectories(tmp_path, off["run_id"]) if line["step"] == "acme__calc-2"]
    assert "+    return round(x / 2, 1)" in second["graded"]["patch"]
    assert "test_half" in second["graded"]["test output"]
    assert second["graded"]["verdict"].startswith("0 of 1 failing tests pass")
