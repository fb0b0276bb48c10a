"""Read the results in a folder. Files are reread only after a change. The texts of questions are not cached."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from typing import Any

from memeval.console.live import RunProgress, progress, reading
from memeval.core.errors import RunError, UnknownRunError
from memeval.core.types import Phase
from memeval.report.compare import QuestionPair, RunComparison, compare, question_pairs
from memeval.report.export import result_files
from memeval.report.html.run_bench_page import CellView, cell_view, grouped
from memeval.report.html.run_page import anchor_of
from memeval.report.runs import QuestionResult, RunResult, light, parse_question, read_run
from memeval.results.files import ResultsDir
from memeval.results.store import Key, QuestionRow, RunStore
from memeval.run.result import question_entry

WHOLE_RUNS = 4
COMPARISONS = 16
UNFINISHED = 50
LATEST = 50

Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CachedRun:
    """A cached result file: either the run without texts, or the problem with the file."""

    stamp: Stamp
    run: RunResult | None
    cell: CellView | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The messages to a model in a phase, and its reply. `error` is the reason for a missing reply."""

    phase: str
    model: str
    messages: tuple[tuple[str, str], ...]
    reply: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Detail:
    """A question with its model calls, and the anchors of the previous and next question ("" for none).

    `whole` is true if texts come from run.db and are not truncated.
    """

    question: QuestionResult
    calls: tuple[ModelCall, ...]
    before: str
    after: str
    whole: bool = False


class Library:
    """A cache of a results folder. Thread-safe."""

    def __init__(self, root: Path) -> None:
        self.results = ResultsDir(root)
        self._known: dict[Path, CachedRun] = {}
        self._whole: OrderedDict[tuple[Path, Stamp], RunResult] = OrderedDict()
        self._comparisons: OrderedDict[tuple[object, ...], RunComparison] = OrderedDict()
        self._lock = RLock()

    # Finished runs

    def runs(self) -> dict[str, RunResult]:
        """Return the newest result of every run, keyed by id. The texts of questions are omitted."""
        return {run_id: known.run for run_id, known in self._newest().items() if known.run is not None}

    def problems(self) -> list[str]:
        """Return the errors of unreadable files."""
        return [known.problem for known in self._refreshed().values() if known.problem]

    def cells(self) -> dict[str, list[CellView]]:
        """Return the cells of run_bench commands, by command."""
        return grouped(known.cell for known in self._newest().values() if known.cell is not None)

    def run(self, run_id: str) -> RunResult:
        """Return a whole run. Raises UnknownRunError."""
        with self._lock:
            known = self._newest().get(run_id)
            if known is None or known.run is None or known.run.path is None:
                raise UnknownRunError(f"There is no result of a run '{run_id}' here.", fix="Choose one from the list.")
            key = (known.run.path, known.stamp)
            if key not in self._whole:
                # Drop the run's path, so that files next to the result are not served.
                self._whole[key] = replace(read_run(known.run.path), path=None)
            self._whole.move_to_end(key)
            while len(self._whole) > WHOLE_RUNS:
                self._whole.popitem(last=False)
            return self._whole[key]

    def compared(self, first: str, second: str, metric: str = "") -> tuple[RunComparison, list[QuestionPair]]:
        """Compare two runs with the paired test and question by question. Raises RunError."""
        one, two = self.run(first), self.run(second)
        key = (first, one.finished_at, second, two.finished_at, metric)
        with self._lock:
            made = self._comparisons.get(key)
        made = made or compare([one, two], (metric,) if metric else ())
        with self._lock:
            self._comparisons[key] = made
            while len(self._comparisons) > COMPARISONS:
                self._comparisons.popitem(last=False)
        return made, question_pairs(one, two, made.rows[0].metric)

    def _newest(self) -> dict[str, CachedRun]:
        newest: dict[str, CachedRun] = {}
        for known in self._refreshed().values():
            if known.run is not None:
                before = newest.get(known.run.run_id)
                if before is None or before.run is None or before.run.finished_at <= known.run.finished_at:
                    newest[known.run.run_id] = known
        return newest

    def _refreshed(self) -> dict[Path, CachedRun]:
        with self._lock:
            there = {path: stamp for path in result_files(self.results) if (stamp := self._stamp(path)) is not None}
            self._known = {
                path: known if (known := self._known.get(path)) is not None and known.stamp == stamp else _read(path, stamp)
                for path, stamp in there.items()
            }
            return dict(self._known)

    def _stamp(self, path: Path) -> Stamp | None:
        """Return the stamp of the file, or None if it is missing or is a link out of the folder."""
        try:
            if not path.resolve().is_relative_to(self.results.root.resolve()):
                return None
            status = path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size

    # Active runs

    def unfinished(self) -> tuple[list[RunProgress], list[str]]:
        """Return the runs with a store but no result, and the errors of unreadable stores.

        Active runs come before stopped ones, and newer runs before older ones.
        """
        finished = self._newest().keys()
        found, problems = [], []
        for run_id in self.results.run_ids():
            if (folder := self._folder(run_id)) is None or run_id in finished:
                continue
            try:
                found.append(progress(folder))
            except UnknownRunError:  # The run was removed in the meantime.
                continue
            except RunError as error:
                problems.append(str(error))
        found.sort(key=lambda one: one.begun, reverse=True)
        return sorted(found, key=lambda one: one.state != "running")[:UNFINISHED], problems

    def progress(self, run_id: str) -> RunProgress:
        """Return the progress of a run. Raises RunError."""
        return progress(self._existing(run_id))

    def latest(self, run_id: str) -> tuple[list[QuestionResult], list[str]]:
        """Return the most recently processed questions of a run, newest first, and the errors of unreadable ones.

        Raises RunError if the store can't be read at all.
        """
        found, problems = [], []
        with reading(self._existing(run_id)) as store:
            rows = {(row.case_id, row.question_id): row for row in store.questions()}
            for key in store.newest(LATEST):
                try:
                    found.append(_question(store, rows[key.case_id, key.question_id]))
                except (RunError, KeyError, TypeError, ValueError) as error:
                    problems.append(f"{key.case_id}/{key.question_id} can't be read: {error}")
        return found, problems

    def question(self, run_id: str, place: str) -> Detail:
        """Return a question of a run with the stored prompts and replies of its model calls.

        `place` is the anchor of the question. Raises RunError.
        """
        result = self.run(run_id) if run_id in self.runs() else None
        stored: Detail | None = None
        if self._folder(run_id) is not None and run_id in self.results.run_ids():
            with reading(self._existing(run_id)) as store:
                rows = store.questions()
                stored = _detail(store, [f"{row.case_id}/{row.question_id}" for row in rows], rows, place)
        if result is None:
            if stored is None:
                raise UnknownRunError(f"Run {run_id} has no such question.", fix="Choose one from the page of the run.")
            return stored
        keys = [question.key for question in result.questions]
        at = next((number for number, key in enumerate(keys) if anchor_of(key) == place), None)
        if at is None:
            raise UnknownRunError(f"Run {run_id} has no such question.", fix="Choose one from the page of the run.")
        reported = result.questions[at]
        if stored is not None and stored.question.hypothesis == reported.hypothesis:
            return replace(stored, before=_neighbour(keys, at - 1), after=_neighbour(keys, at + 1))
        return Detail(reported, (), _neighbour(keys, at - 1), _neighbour(keys, at + 1))

    def _existing(self, run_id: str) -> Path:
        folder = self._folder(run_id) if run_id in self.results.run_ids() else None
        if folder is None:
            raise UnknownRunError(f"There is no run '{run_id}' here.", fix="Choose one from the list.")
        return folder

    def _folder(self, run_id: str) -> Path | None:
        folder = self.results.root / "runs" / run_id
        return folder if (folder / "run.db").resolve().is_relative_to(self.results.root.resolve()) else None


def _question(store: RunStore, row: QuestionRow) -> QuestionResult:
    entry = question_entry(row, lambda phase, row: store.get(Key(phase, row.case_id, row.question_id)), shown=None)
    return parse_question(entry, str(store.path))


def model_calls(store: RunStore, case_id: str, question_id: str) -> list[ModelCall]:
    """Return the prompts and replies of a question: client sessions first, then model calls by phase."""
    records = [
        record
        for phase in (Phase.SEARCH, Phase.ANSWER, Phase.EVALUATE)
        for record in store.with_parts(Key(phase, case_id, question_id))
    ]
    calls = [_call(record.key.phase, one) for record in records for one in record.payload.get("calls", ())]
    return [_session(record.payload) for record in records if "trajectory" in record.payload] + calls


def _detail(store: RunStore, keys: Sequence[str], rows: Sequence[QuestionRow], place: str) -> Detail | None:
    at = next((number for number, key in enumerate(keys) if anchor_of(key) == place), None)
    if at is None:
        return None
    row = rows[at]
    calls = model_calls(store, row.case_id, row.question_id)
    return Detail(_question(store, row), tuple(calls), _neighbour(keys, at - 1), _neighbour(keys, at + 1), whole=True)


def _call(phase: Phase, data: Mapping[str, Any]) -> ModelCall:
    messages = tuple((str(message["role"]), str(message["content"])) for message in data["messages"])
    return ModelCall(str(phase), str(data["model"]), messages, str(data["reply"]), str(data.get("error", "")))


def _session(payload: Mapping[str, Any]) -> ModelCall:
    """Describe a client session: the texts from memory, its prompt and its tools, each truncated."""
    session = payload["trajectory"]
    given = [(f"memory ({one['via']})", str(one["text"])) for one in session["injected"]["items"]]
    tools = [(f"tool {one['name']}", f"{one['arguments']}\n{one['result']}") for one in session["calls"]]
    messages = (*given, ("user", str(session["prompt"])), *tools)
    return ModelCall(
        str(Phase.ANSWER), str(payload["model"] or "claude"), messages, str(payload["text"]), str(session["message"])
    )


def _neighbour(keys: Sequence[str], place: int) -> str:
    return anchor_of(keys[place]) if 0 <= place < len(keys) else ""


def _read(path: Path, stamp: Stamp) -> CachedRun:
    try:
        run = read_run(path)
    except RunError as error:
        return CachedRun(stamp, None, problem=str(error))
    cell = cell_view(replace(run, path=None))
    return CachedRun(stamp, light(run), cell)
