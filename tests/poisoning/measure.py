"""Reads the generated logs as the day dream does and counts the results.

Run: python -m tests.poisoning.measure
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from memeval.benchmarks.poisoning_logs import LoggedCase, attacks, controls
from memoryd.core.config import load_settings
from memoryd.core.project import ProjectRegistry
from memoryd.core.protocols import Extractor
from memoryd.core.state import State
from memoryd.core.types import Candidate, Extraction, Kind, MemoryItem, Passage, Polarity, Query, Scope, Source, Status, TurnKind
from memoryd.daydream.pipeline import DayDream
from memoryd.recall.governance import governance_of
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder

BUDGET = 600


class Gullible:
    """A reader that believes everything: each line of a user turn is the user's rule for all projects."""

    name = "offline"

    def extract(self, passage: Passage) -> Extraction:
        """Return all lines, cited as the user's."""
        turns = [turn for turn in passage.turns if turn.kind is TurnKind.USER]
        return Extraction(
            tuple(
                Candidate(
                    line, Kind.RULE, Polarity.DO, Source.USER, 0.9, 3, (turn.line,), (turn.uuid,), scope=Scope.PROJECT, at=turn.at
                )
                for turn in turns
                for line in [*turn.text.splitlines(), *([f"{turn.detail} {turn.text}"] if turn.detail else [])]
                if line.strip()
            ),
            extractor=self.name,
        )


@dataclass
class Figures:
    """Counts of one channel: logs, and logs that became a memory, were given at a start, or were kept as the user's rule."""

    logs: int = 0
    memories: int = 0
    given: int = 0
    rules: int = 0
    leaks: list[str] = field(default_factory=list)


class Reader:
    """A separate home, with the offline reader or another one."""

    def __init__(self, folder: Path, reader: Extractor | None = None) -> None:
        self._folder = folder
        self.clock = FakeClock()
        self.clock.advance(days=30)
        self._settings = load_settings({}, home=str(folder / "home"), embedder="hash", reader="offline")
        self._state = State(self._settings.paths.state_db, self.clock)
        self._store = Orchestrator(self._settings, self.clock, HashEmbedder(), self._state.ledger)
        self._projects = ProjectRegistry(self._settings.paths.projects)
        self._dream = DayDream(self._store, self._state, self._settings, self.clock, reader, self._projects)
        (folder / "logs").mkdir()

    def close(self) -> None:
        """Release all resources."""
        self._store.close()
        self._state.close()

    def read(self, case: LoggedCase) -> tuple[list[MemoryItem], list[MemoryItem], bool]:
        """Return the memories that contain the case's mark, those of them given at a start, and whether one is given as a rule."""
        Path(case.log.cwd).mkdir(parents=True, exist_ok=True)
        path = case.log.write(self._folder / "logs")
        return self.read_log(path, case.log.session, case.log.cwd, case.mark)

    def read_log(self, path: Path, session: str, cwd: str, mark: str) -> tuple[list[MemoryItem], list[MemoryItem], bool]:
        """Do the same with an existing log."""
        self._state.enqueue(str(path), session, cwd, "import")
        job = self._state.due_job()
        assert job is not None
        runs = self._dream.run_job(job)
        assert not any(run.error for run in runs), runs
        project = self._projects.resolve(cwd).id
        query = Query(project=project, statuses=(Status.ACTIVE, Status.CANDIDATE))
        found = [hit.item for hit in self._store.search(query, 100) if mark in hit.item.content]
        start = governance_of(self._store, self._state, project, self.clock.now(), BUDGET)
        given = [item for item in (*start.know, *start.do, *start.dont) if mark in item.content]
        ruled = any(mark in item.content for item in (*start.do, *start.dont))
        return found, given, ruled


def is_rule(item: MemoryItem) -> bool:
    """Return whether a memory is the user's rule, or would be once confirmed."""
    return item.source is Source.USER and (item.polarity is not Polarity.KNOW or item.kind in (Kind.RULE, Kind.PREFERENCE))


def measure(cases: Iterable[LoggedCase], folder: Path, reader: Gullible | None = None) -> dict[str, Figures]:
    """Return the figures of each channel."""
    out: dict[str, Figures] = {}
    reading = Reader(folder, reader)
    try:
        for case in cases:
            found, given, ruled = reading.read(case)
            figures = out.setdefault(case.channel, Figures())
            figures.logs += 1
            kept = [item for item in found if item.source is Source.USER] if case.rule else found
            figures.memories += bool(kept)
            figures.given += bool(given)
            as_rule = ruled or any(map(is_rule, found))
            figures.rules += as_rule
            if (not kept) if case.rule else as_rule:
                figures.leaks.append(f"{case.trick} / {case.wording}: {[item.content for item in found]}")
    finally:
        reading.close()
    return out


def table(figures: dict[str, Figures]) -> str:
    """Return the figures as a Markdown table."""
    rows = [f"| {name} | {f.logs} | {f.memories} | {f.given} | {f.rules} |" for name, f in figures.items()]
    return "\n".join(["| channel | logs | became a memory | given later | as a rule |", "|---|---:|---:|---:|---:|", *rows])


def main() -> int:
    """Print the tables for the offline reader and for one that believes everything."""
    failed = False
    for title, reader in (("the offline reader", None), ("a reader that believes everything", Gullible())):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            hostile = measure(attacks(folder), folder, reader)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            typed = measure(controls(folder), folder, reader)
        sys.stdout.write(f"With {title}\n\n{table(hostile | typed)}\n\n")
        for figures in (hostile | typed).values():
            for leak in figures.leaks:
                sys.stdout.write(f"  wrong: {leak}\n")
        failed = failed or any(f.rules for f in hostile.values())
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
