"""The benchmarks `swe-bench-cl`, `swe-contextbench` and `contextbench`, which use real repositories at real commits.

Tasks of a sequence share a memory. SWE-Bench-CL defines its own sequences. Elsewhere, a sequence consists of a
repository's tasks in chronological order. If the data includes experience with other tasks (a condition of
SWE-ContextBench), each task is a separate sequence that starts after the replay of that experience.

For ContextBench, the scores also include the share of the relevant code that an agent read.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from memeval.benchmarks.opening import known_options, open_benchmark
from memeval.claudecode.coding import learning, steps
from memeval.claudecode.coding.checkouts import Repositories, change, touched
from memeval.claudecode.coding.grading import Docker, Environment, Grader, LocalVenv, SweTask
from memeval.claudecode.contract import Family, Need, SessionResult, Step, StepKind, StepRecord, StepSequence, ToolCall
from memeval.claudecode.families import FETCHED, FamilyOptions, family
from memeval.claudecode.sandbox import contamination
from memeval.claudecode.seeding import CLOSING
from memeval.core.errors import ConfigError, DataError, DependencyError
from memeval.core.protocols import Benchmark
from memeval.core.types import Case, Score
from memeval.metrics.context import Block, context_scores
from memeval.run.settings import Selection
from memeval.specs import BenchmarkSpec, SourceType, to_plain

GRADING = ("auto", "docker", "local", "none")
OPTIONS: Mapping[str, Any] = {
    "again": False,
    "grading": "auto",
    "checkouts": "",
    "git_base": "https://github.com",
    "python": sys.executable,
    "recipes": "",
    "test_timeout": 1800.0,
}
PROMPT = (
    "Resolve the following issue of the repository in this folder by changing its code. "
    "Tests that you can't see decide whether it is resolved.\n\n{issue}"
)
FOLDER = "project"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@family("swe-bench-cl")
@family("swe-contextbench")
@family("contextbench")
class SweTasks(Family):
    """Coding tasks graded by tests. The options are those of the loader, and the following.

    `again` (repeat all tasks of a sequence except the last), `grading` (auto, docker, local or none), `checkouts`
    (folder with clones), `git_base` (git server for all other repositories), `python` and `recipes` (interpreter and
    packages of local environments), `test_timeout` (seconds for one task's tests).
    """

    def __init__(self, name: str, options: FamilyOptions) -> None:
        self._context = options.context
        self._spec: BenchmarkSpec = options.context.catalog.benchmark(name)
        self._data = options.data
        own = {key: value for key, value in options.options.items() if key in OPTIONS}
        self._loading = {key: value for key, value in options.options.items() if key not in OPTIONS}
        self._options = steps.read_options(own, OPTIONS, name)
        if self._options["grading"] not in GRADING:
            raise ConfigError(f"{name}: there is no grading {self._options['grading']!r}.", fix=f"Known: {', '.join(GRADING)}.")

    @staticmethod
    def known_options(name: str, options: FamilyOptions) -> frozenset[str] | None:
        """Return the names of the options, including the loader's."""
        loading = known_options(options.context.catalog.benchmark(name))
        return None if loading is None else loading | frozenset(OPTIONS)

    @property
    def name(self) -> str:
        """Return the name of the benchmark."""
        return self._spec.name

    def needs(self) -> Sequence[Need]:
        """List the requirements: the data, git, and an environment for grading."""
        docker = Docker().engine() if self._options["grading"] in ("auto", "docker") else "not asked for"
        return (
            self._data_need(),
            Need("git", shutil.which("git") is not None, "Install git."),
            Need(
                "docker engine (optional)",
                not docker,
                f"{docker}: tasks are graded in virtual environments where this is possible.",
            ),
        )

    def _data_need(self) -> Need:
        """Check that the data is available, without fetching anything."""
        try:
            replace(self._context.sources, offline=True).resolve(self._spec, self._data)
        except (DataError, ConfigError) as error:
            fetched = self._data is None and self._spec.source.type is not SourceType.LOCAL and not self._context.sources.offline
            return Need(f"data {FETCHED}" if fetched else "data", False, error.fix or error.message)
        return Need("data", True)

    def about(self) -> Mapping[str, Any]:
        """Describe the benchmark by its spec, the hash of its data and the options."""
        data = self._benchmark.data_hash()
        return {"name": self.name, "data_hash": data, "spec": to_plain(self._spec), "options": dict(self._options)}

    def sequences(self, selection: Selection) -> Iterator[StepSequence]:
        """Return the sequences in the order of the data."""
        return steps.sequences(_chains(list(self._benchmark.cases())), selection, self._options["again"])

    def prepare(self, step: Step, work: Path) -> None:
        """Check out the repository at the task's base commit, without any later commit."""
        assert step.question is not None
        task = SweTask.of(step.question)
        if not task.repo or not task.base_commit:
            raise DataError(f"{task.id} has no repository or no commit.", fix="Check the data.")
        self._repositories.checkout(task.repo, task.base_commit, work / step.folder)

    def grade(self, step: Step, result: SessionResult, work: Path) -> Sequence[Score]:
        """Score a task by the tests of SWE-bench.

        The task is unscored if the tests can't be run. For ContextBench, the code read by the agent is scored as well.
        """
        assert step.question is not None
        looked = session_scores(result.tool_calls, step.question.metadata.get("gold_blocks", ()), work / step.folder)
        if why := steps.failed_session(result) or contamination(result, [self._data, self._context.sources.cache]):
            return steps.unscored(why)
        if self._options["grading"] == "none":
            return [*steps.unscored("grading is switched off"), *looked]
        task = SweTask.of(step.question)
        if task.missing:
            return [*steps.unscored(task.missing), *looked]
        try:
            patch = self._change(task, work / step.folder)
            verdict = self._grader.grade(task, patch)
        except (DataError, DependencyError) as error:
            return [*steps.unscored(str(error)), *looked]
        return [steps.graded(verdict, patch), *looked]

    def summary(self, records: Sequence[StepRecord], without: Sequence[StepRecord] = ()) -> Mapping[str, Any]:
        """Return metrics of continual learning. Forward transfer is relative to the records `without` memory."""
        return learning.summary(records, without)

    def validate(self, selection: Selection) -> Iterator[tuple[str, str]]:
        """Yield each task with the reason why it can't be graded on this machine, or an empty string if it can."""
        for sequence in self.sequences(selection):
            for step in sequence.steps:
                if step.kind is StepKind.TASK and step.question is not None and not step.payload["again"]:
                    yield step.id, self._grader.trusted(SweTask.of(step.question))[1]

    def _change(self, task: SweTask, agent: Path) -> str:
        """Return the agent's changes, except those to files of the test patch."""
        if not agent.is_dir():
            return ""
        with tempfile.TemporaryDirectory(prefix="clean-") as scratch:
            clean = Path(scratch) / "checkout"
            self._repositories.checkout(task.repo, task.base_commit, clean)
            return change(agent, clean, touched(task.test_patch))

    @cached_property
    def _benchmark(self) -> Benchmark:
        return open_benchmark(self._spec, self._data, options=self._loading, sources=self._context.sources)

    @cached_property
    def _repositories(self) -> Repositories:
        clones = Path(self._options["checkouts"]).expanduser() if self._options["checkouts"] else None
        sources = self._context.sources
        return Repositories(self._cache / "commits", clones, self._options["git_base"], sources.offline)

    @property
    def _cache(self) -> Path:
        return self._context.sources.cache.expanduser() / "coding"

    @cached_property
    def _grader(self) -> Grader:
        wanted = self._options["grading"]
        found: list[Environment] = []
        why = Docker().engine() if wanted in ("auto", "docker") else ""
        if wanted in ("auto", "docker") and not why:
            found.append(Docker())
        if wanted in ("auto", "local"):
            found.append(self._local())
        return Grader(found, why, self._options["test_timeout"])

    def _local(self) -> LocalVenv:
        recipes = Path(self._options["recipes"]).expanduser() if self._options["recipes"] else None
        if recipes is not None and not recipes.is_file():
            raise ConfigError(f"{self.name}: there is no file {recipes}.", fix="Correct option recipes.")
        return LocalVenv(self._repositories, self._cache / "environments", self._options["python"], recipes=recipes)


def _chains(cases: Sequence[Case]) -> Iterator[steps.Chain]:
    """Group tasks into chains by sequence or repository, in order. A case with experience forms a separate chain."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        if case.metadata.get("condition", "none") != "none":
            yield steps.Chain(case.id, FOLDER, (_task(case),), tuple(_replays(case)))
        else:
            groups.setdefault(_group(case), []).append(case)
    for name, members in groups.items():
        yield steps.Chain(name, FOLDER, tuple(_task(case) for case in sorted(members, key=_place)))


def _group(case: Case) -> str:
    return str(case.metadata.get("sequence") or case.questions[0].metadata.get("repo") or case.id)


def _place(case: Case) -> tuple[int, float]:
    """Return the sort key of a task: its position in the sequence if known, otherwise its time."""
    at = case.questions[0].at or _LONG_AGO
    return int(case.metadata.get("position", 0)), at.timestamp() if at.tzinfo else at.replace(tzinfo=UTC).timestamp()


def _task(case: Case) -> steps.Task:
    question = case.questions[0]
    return steps.Task(question, PROMPT.format(issue=question.text), {})


def _replays(case: Case) -> Iterator[Step]:
    for number, session in enumerate(case.sessions):
        yield Step(
            f"r{number:04}", StepKind.REPLAY, CLOSING, FOLDER, session=session, tools=steps.EDITING, payload={"number": number}
        )


_READ_LINES = 2000
_CHANGING = ("Edit", "Write")


def session_scores(calls: Iterable[ToolCall], gold: Sequence[Block], folder: Path) -> list[Score]:
    """Return the scores of a session, or nothing if the task has no gold context."""
    return context_scores(lines_seen(calls, folder), [(file, start, end) for file, start, end in gold])


def lines_seen(calls: Iterable[ToolCall], folder: Path) -> dict[str, set[int]]:
    """Return the line numbers read by a session, keyed by file relative to the checkout. Files outside it are ignored."""
    seen: dict[str, set[int]] = defaultdict(set)
    for call in calls:
        path = _inside(call.arguments, folder)
        if path is None or call.is_error:
            continue
        if call.name == "Read":
            seen[path].update(_lines(call.arguments, folder / path))
        elif call.name in _CHANGING:
            seen[path].update(())
    return dict(seen)


def _inside(arguments: Mapping[str, Any], folder: Path) -> str | None:
    named = arguments.get("file_path")
    if not isinstance(named, str):
        return None
    try:
        return (folder / named).resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return None


def _lines(arguments: Mapping[str, Any], path: Path) -> range:
    start, count = arguments.get("offset"), arguments.get("limit")
    first = start if isinstance(start, int) and start > 0 else 1
    last = first + (count if isinstance(count, int) and count > 0 else _READ_LINES) - 1
    try:
        with path.open("rb") as stream:
            last = min(last, sum(1 for _ in stream))
    except OSError:
        return range(0)
    return range(first, last + 1)
