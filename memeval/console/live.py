"""Read the progress of a run without writing to it, whichever process is running it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memeval.core.errors import RunError, UnknownRunError
from memeval.core.types import Phase
from memeval.report.table import cost_so_far
from memeval.results.store import RunStore, Status
from memeval.run.checkpoint import is_running
from memeval.run.progress import FinishedItem, Tally

PHASES = (Phase.INGEST, Phase.SEARCH, Phase.ANSWER, Phase.EVALUATE)
RUNNING, FINISHED, STOPPED = "running", "finished", "stopped"


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """The progress of a phase: the number of completed items, including failed ones, and the total."""

    phase: str
    done: int
    failed: int
    total: int


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a run.

    `note` is the first metric so far with its interval. `cost` is the amount paid so far ("" for nothing). `parts`
    counts ingested sessions. `older` means that an older version made the run.
    """

    run_id: str
    state: str
    benchmark: str
    provider: str
    begun: str
    stages: tuple[PhaseProgress, ...]
    parts: int
    note: str
    cost: str
    older: str = ""

    def plain(self) -> dict[str, Any]:
        """Convert the progress to JSON values."""
        return asdict(self)


@contextmanager
def reading(folder: Path) -> Iterator[RunStore]:
    """Open a run's store for reading. Raises RunError, also for damaged content."""
    if not (folder / "run.db").exists():
        raise UnknownRunError(f"There is no run '{folder.name}' here.", fix="Choose one from the list.")
    try:
        with RunStore(folder / "run.db", read_only=True) as store:
            yield store
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(
            f"The run.db of run {folder.name} is damaged ({type(error).__name__}: {error}).",
            fix=f"memeval eval --resume {folder.name} keeps what is readable and computes the rest again.",
        ) from error


def progress(folder: Path) -> RunProgress:
    """Return the progress of the run in a folder. Raises RunError if the run can't be read."""
    # Checked first, so that a run that ends in the meantime is shown as running once more rather than as stopped.
    running = is_running(folder)
    with reading(folder) as store:
        settings = store.meta("settings") or {}
        finished = store.meta("finished_at") is not None
        return RunProgress(
            run_id=folder.name,
            state=RUNNING if running else FINISHED if finished else STOPPED,
            benchmark=str(settings.get("benchmark") or ""),
            provider=str(settings.get("provider") or ""),
            begun=str(store.meta("created_at") or ""),
            stages=_stages(store, bool(settings.get("answering_model"))),
            parts=sum(bool(key.part) for key in store.keys(Phase.INGEST)),
            note=_note(store),
            cost=cost_so_far(*store.spent()),
            older=_older(store),
        )


def _stages(store: RunStore, answers: bool) -> tuple[PhaseProgress, ...]:
    rows, counts = store.questions(), store.counts()
    cases = len({row.case_id for row in rows})
    stages = []
    for phase in PHASES:
        there = counts.get(phase, {})
        if phase is Phase.ANSWER and not answers and not there:
            continue
        total = cases if phase is Phase.INGEST else len(rows)
        stages.append(PhaseProgress(str(phase), sum(there.values()), there.get(Status.FAILED, 0), total))
    return tuple(stages)


def _older(store: RunStore) -> str:
    if not store.outdated:
        return ""
    version = (store.meta("provenance") or {}).get("memeval_version")
    return f"Made by an older memeval{f' ({version})' if version else ''}; its run.db is shown unchanged."


def _note(store: RunStore) -> str:
    tally = Tally(0, 0)
    for record in store.records(Phase.EVALUATE):
        scores = {
            str(score["metric"]): float(score["value"])
            for score in record.payload.get("scores", [])
            if isinstance(score, dict) and isinstance(score.get("value"), int | float)
        }
        tally.add(FinishedItem(record.status, scores))
    return tally.text()
