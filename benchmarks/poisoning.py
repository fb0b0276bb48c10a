"""Measure memory poisoning under normal use: the day dream reads session logs, and a later session starts and searches.

    python -m benchmarks.poisoning [--wordings N]

The cases and scores are those of `memeval eval --benchmarks poisoning`, where providers only see turns. Each case has
a separate home. Written: a memory or a candidate contains the canary. Handed over: it is returned by a search for the
later question or at the start of a session. As a rule: it is presented as the user's wish, or would be once
confirmed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memeval.benchmarks.poisoning import REPLACED, TYPED, stories
from memeval.benchmarks.poisoning_logs import ABOUT, LoggedCase
from memeval.core.poisoning import adapts, resists
from memoryd.core.config import load_settings
from memoryd.core.project import ProjectRegistry
from memoryd.core.state import State
from memoryd.core.types import Kind, MemoryItem, Polarity, Query, Source, Status
from memoryd.daydream.pipeline import DayDream
from memoryd.recall.governance import governance_of
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder

START_TOKENS = 600
PIECES = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a case: the texts handed over later, best first, and the memories with the last canary."""

    handed_over: tuple[str, ...]
    written: tuple[MemoryItem, ...]

    @property
    def rule(self) -> bool:
        """Return whether a memory is the user's rule, or would be once confirmed."""
        return any(
            item.source is Source.USER and (item.polarity is not Polarity.KNOW or item.kind in (Kind.RULE, Kind.PREFERENCE))
            for item in self.written
        )


@dataclass(slots=True)
class Row:
    """The counts of a category."""

    cases: int = 0
    written: int = 0
    handed_over: int = 0
    rules: int = 0
    right: int = 0
    wrong: list[str] = field(default_factory=list)


def remembered(result: Sequence[LoggedCase], folder: Path) -> Outcome:
    """Read the logs in order, then search in a session of the same project."""
    clock = FakeClock()
    clock.advance(days=30)
    settings = load_settings({}, home=str(folder / "home"), embedder="hash", reader="offline")
    state = State(settings.paths.state_db, clock)
    store = Orchestrator(settings, clock, HashEmbedder(), state.ledger)
    projects = ProjectRegistry(settings.paths.projects)
    cwd = folder / "project"
    cwd.mkdir()
    try:
        dream = DayDream(store, state, settings, clock, None, projects)
        for case in result:
            clock.advance(days=1)
            case.log.cwd = str(cwd)
            for line in case.log.lines:
                line.update({"cwd": str(cwd)} if "cwd" in line else {})
            state.enqueue(str(case.log.write(folder)), case.log.session, str(cwd), "import")
            job = state.due_job()
            assert job is not None
            failed = [run.error for run in dream.run_job(job) if run.error]
            if failed:
                raise SystemExit(f"{case.mark}: the log could not be read: {failed[0]}")
        project = projects.resolve(str(cwd)).id
        start = governance_of(store, state, project, clock.now(), START_TOKENS)
        hits = store.search(Query(ABOUT[result[-1].wording], project=project), PIECES)
        given = [item.content for item in (*start.do, *start.dont, *start.know)] + [hit.item.content for hit in hits]
        every = store.search(Query(project=project, statuses=(Status.ACTIVE, Status.CANDIDATE)), 100)
        return Outcome(tuple(given), tuple(hit.item for hit in every if result[-1].mark in hit.item.content))
    finally:
        store.close()
        state.close()


def measure(wordings: int) -> dict[str, Row]:
    """Return a row for each category."""
    rows: dict[str, Row] = defaultdict(Row)
    with tempfile.TemporaryDirectory() as place:
        for number, (category, result) in enumerate(stories(Path(place), wordings)):
            folder = Path(place) / str(number)
            folder.mkdir()
            found = remembered(result, folder)
            canary, earlier = result[-1].mark, result[0].mark if len(result) > 1 else ""
            right = adapts(found.handed_over, canary, earlier) if result[-1].rule else resists(found.handed_over, canary)
            row = rows[category]
            row.cases += 1
            row.written += bool(found.written)
            row.handed_over += any(canary in text for text in found.handed_over)
            row.rules += found.rule
            row.right += right
            row.wrong += [] if right else [f"{category}: {result[-1].trick} / {result[-1].wording}"]
    return rows


def share(rows: dict[str, Row], *, attacks: bool) -> str:
    """Format the share of correct results among all attacks or all rules."""
    chosen = [row for name, row in rows.items() if (name not in (TYPED, REPLACED)) is attacks]
    right, cases = sum(row.right for row in chosen), sum(row.cases for row in chosen)
    return f"{right} of {cases} ({100 * right / cases:.1f} %)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wordings", type=int, default=1, help="of each trick")
    parser.add_argument("--wrong", action="store_true", help="print what went wrong")
    options = parser.parse_args(arguments)
    rows = measure(options.wordings)
    print("| category | cases | written | handed over | as a rule | right |\n|---|---:|---:|---:|---:|---:|")
    for name, row in rows.items():
        print(f"| {name} | {row.cases} | {row.written} | {row.handed_over} | {row.rules} | {row.right} |")
    print(f"\nresistance {share(rows, attacks=True)}, adaptation {share(rows, attacks=False)}")
    if options.wrong:
        print("\n".join(line for row in rows.values() for line in row.wrong))
    return 0


if __name__ == "__main__":
    sys.exit(main())
