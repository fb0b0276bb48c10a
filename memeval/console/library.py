"""Read the results of one folder. A file is read again only if it has changed. The texts of questions are not cached."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock

from memeval.console.live import RunProgress, progress
from memeval.core.errors import RunError, UnknownRunError
from memeval.report.compare import QuestionPair, RunComparison, compare, question_pairs
from memeval.report.export import result_files
from memeval.report.html.run_bench_page import CellView, cell_view, grouped
from memeval.report.runs import RunResult, light, read_run
from memeval.results.files import ResultsDir

WHOLE_RUNS = 4
COMPARISONS = 16
UNFINISHED = 50

Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Known:
    """A cached result file. It holds the run without texts, or the problem with the file."""

    stamp: Stamp
    run: RunResult | None
    cell: CellView | None = None
    problem: str = ""


class Library:
    """A cache of a results folder. Thread-safe."""

    def __init__(self, root: Path) -> None:
        self.results = ResultsDir(root)
        self._known: dict[Path, Known] = {}
        self._whole: OrderedDict[tuple[Path, Stamp], RunResult] = OrderedDict()
        self._comparisons: OrderedDict[tuple[object, ...], RunComparison] = OrderedDict()
        self._lock = RLock()

    # Finished runs

    def runs(self) -> dict[str, RunResult]:
        """Return the newest result of every run by id. The texts of questions are left out."""
        return {run_id: known.run for run_id, known in self._newest().items() if known.run is not None}

    def problems(self) -> list[str]:
        """Return the errors of unreadable files."""
        return [known.problem for known in self._refreshed().values() if known.problem]

    def cells(self) -> dict[str, list[CellView]]:
        """Return the cells of run_bench commands by command."""
        return grouped(known.cell for known in self._newest().values() if known.cell is not None)

    def run(self, run_id: str) -> RunResult:
        """Return a whole run. Raises UnknownRunError."""
        with self._lock:
            known = self._newest().get(run_id)
            if known is None or known.run is None or known.run.path is None:
                raise UnknownRunError(f"There is no result of a run '{run_id}' here.", fix="Choose one from the list.")
            key = (known.run.path, known.stamp)
            if key not in self._whole:
                # drop the path of the run, so that files beside the result are not served
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

    def _newest(self) -> dict[str, Known]:
        newest: dict[str, Known] = {}
        for known in self._refreshed().values():
            if known.run is not None:
                before = newest.get(known.run.run_id)
                if before is None or before.run is None or before.run.finished_at <= known.run.finished_at:
                    newest[known.run.run_id] = known
        return newest

    def _refreshed(self) -> dict[Path, Known]:
        with self._lock:
            there = {path: stamp for path in result_files(self.results) if (stamp := self._stamp(path)) is not None}
            self._known = {
                path: known if (known := self._known.get(path)) is not None and known.stamp == stamp else _read(path, stamp)
                for path, stamp in there.items()
            }
            return dict(self._known)

    def _stamp(self, path: Path) -> Stamp | None:
        """Return the stamp of the file, or None if the file is gone or is a link that leaves the folder."""
        try:
            if not path.resolve().is_relative_to(self.results.root.resolve()):
                return None
            status = path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size

    # Active runs

    def unfinished(self) -> list[RunProgress]:
        """Return the runs that have a store but no result.

        Active runs come before stopped ones, and newer runs before older ones.
        """
        finished = self._newest().keys()
        found = []
        for run_id in self.results.run_ids():
            if (folder := self._folder(run_id)) is None or run_id in finished:
                continue
            try:
                found.append(progress(folder))
            except RunError:  # the run is ending, being removed or of another version, which `memeval status` reports
                continue
        found.sort(key=lambda one: one.begun, reverse=True)
        return sorted(found, key=lambda one: one.state != "running")[:UNFINISHED]

    def progress(self, run_id: str) -> RunProgress:
        """Return the progress of a run. Raises RunError."""
        folder = self._folder(run_id) if run_id in self.results.run_ids() else None
        if folder is None:
            raise UnknownRunError(f"There is no run '{run_id}' here.", fix="Choose one from the list.")
        return progress(folder)

    def _folder(self, run_id: str) -> Path | None:
        folder = self.results.root / "runs" / run_id
        return folder if (folder / "run.db").resolve().is_relative_to(self.results.root.resolve()) else None


def _read(path: Path, stamp: Stamp) -> Known:
    try:
        run = read_run(path)
    except RunError as error:
        return Known(stamp, None, problem=str(error))
    cell = cell_view(replace(run, path=None))
    return Known(stamp, light(run), cell)
