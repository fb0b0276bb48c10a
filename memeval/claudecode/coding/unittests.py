"""Hidden unittest modules, run against what an agent left behind.

The tests come in only now, into a copy of the agent's folder, beside the repository's own tests as they were before. A small
runner in isolated mode writes the results to a file that the code under test is not told of; what does not stand there
as passed has not passed, so leaving early or printing "OK" gains nothing.
"""

from __future__ import annotations

import json
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memeval.claudecode.coding.checkout import write_files
from memeval.claudecode.coding.processes import Finished, plain_environment, run

HIDDEN = "memeval_hidden"
_RUNNER = """
import io, json, sys, unittest
root, report, nonce = sys.argv[1:4]
sys.argv[1:] = []
sys.path.insert(0, root)

class Result(unittest.TextTestResult):
    passed = ()
    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed = (*self.passed, test.id())

names = {names!r}
suite = unittest.defaultTestLoader.loadTestsFromNames(names)
count = suite.countTestCases()
result = unittest.TextTestRunner(sys.stderr, resultclass=Result, verbosity=0).run(suite)
bad = [*result.failures, *result.errors]
first = [str(bad[0][0]), bad[0][1].strip().splitlines()[-1]] if bad else []
with open(report, "w", encoding="utf-8") as stream:
    json.dump({{"nonce": nonce, "count": count, "passed": len(result.passed), "bad": len(bad), "first": first}}, stream)
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """1.0 resolved, 0.0 not, None: it could not be graded, which is neither."""

    value: float | None
    reason: str = ""


def grade(
    agent: Path, visible: Mapping[str, str], hidden: str, *, timeout: float = 60.0, python: str = sys.executable
) -> Verdict:
    """Whether all tests pass; the agent's folder is left as it is."""
    if not agent.is_dir():
        return Verdict(0.0, "the folder of the task is gone")
    with tempfile.TemporaryDirectory(prefix="grade-") as scratch:
        root = Path(scratch) / "checkout"
        shutil.copytree(agent, root, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__", ".venv"))
        names = _place(root, visible, hidden)
        return _run(root, names, timeout, python)


def _place(root: Path, visible: Mapping[str, str], hidden: str) -> list[str]:
    """Write the tests; the agent's own versions of them don't count. Returns the modules."""
    shutil.rmtree(root / "tests", ignore_errors=True)
    write_files(root, dict(visible))
    (root / f"{HIDDEN}.py").write_text(hidden, encoding="utf-8")
    own = [path.removesuffix(".py").replace("/", ".") for path in visible if path.rsplit("/", 1)[-1].startswith("test_")]
    return [HIDDEN, *sorted(own)]


def _run(root: Path, names: list[str], timeout: float, python: str) -> Verdict:
    runner, report, nonce = root.parent / "runner.py", root.parent / f"{secrets.token_hex(8)}.json", secrets.token_hex(16)
    runner.write_text(_RUNNER.format(names=names), encoding="utf-8")
    environment = plain_environment(HOME=str(root.parent), PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0")
    command = [python, "-I", str(runner), str(root), str(report), nonce]
    done = run(command, root, timeout=timeout, environment=environment)
    return _verdict(done, _read(report, nonce), timeout)


def _read(report: Path, nonce: str) -> dict[str, object]:
    """What the runner wrote; empty when it did not come to that."""
    try:
        found = json.loads(report.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("nonce") == nonce else {}


def _verdict(done: Finished, found: Mapping[str, object], timeout: float) -> Verdict:
    if done.timed_out:
        return Verdict(0.0, f"the tests did not end within {timeout:g} s")
    if not found:
        return Verdict(0.0, f"the tests were not run to their end: {done.last_line}")
    if found["bad"] or not found["count"] or found["passed"] != found["count"]:
        first = found["first"]
        what = ": ".join(map(str, first)) if isinstance(first, list) and first else "no test passed"
        return Verdict(0.0, f"{found['passed']} of {found['count']} tests passed; {what}"[:300])
    return Verdict(1.0, f"{found['passed']} tests passed")
