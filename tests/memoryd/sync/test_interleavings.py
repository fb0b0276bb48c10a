"""Two machines edit, forget, restore, delete, dream and sync in any order.

Nothing is lost, and both have the same state in the end.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from memoryd.core.types import Kind, MemoryItem, Scope, Source, Status
from memoryd.testing import FakeClock
from tests.memoryd.sync.conftest import Home

SIDES = st.sampled_from([0, 1])
PICKS = st.integers(0, 1_000)
# Statements that dreams merge, and statements that they do not change.
TEXTS = st.sampled_from(
    [
        "Bikes live in the shed.",
        "The bikes live in the shed.",
        "Tea is at four.",
        "Tea is at five.",
        "Never push to main.",
        "Do not push to main.",
        "The till counts in pence.",
        "The router is in the attic.",
    ]
)
SOURCES = st.sampled_from([Source.USER, Source.AGENT_STEP])


class TwoMachines(RuleBasedStateMachine):
    """Each rule acts on one machine. `forgotten` contains what must stay forgotten, `written` contains all texts ever written."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp())
        self.homes: list[Home] = []
        self.written: set[str] = set()
        self.forgotten: set[str] = set()
        self.deleted: set[str] = set()

    @initialize()
    def start(self) -> None:
        clock = FakeClock()
        (self.base / "shared").mkdir()
        self.homes = [Home(self.base / name, clock) for name in ("desk", "laptop")]
        code = self.homes[0].init(self.base / "shared")
        self.homes[1].init(self.base / "shared", code)

    def pick(self, side: int, number: int, *statuses: Status) -> MemoryItem | None:
        found = [item for item in self.homes[side].service.all() if not statuses or item.status in statuses]
        return found[number % len(found)] if found else None

    @rule(side=SIDES, text=TEXTS, source=SOURCES, number=PICKS)
    def add(self, side: int, text: str, source: Source, number: int) -> None:
        content = f"{text} ({number % 3})" if number % 2 else text
        self.homes[side].add(content, scope=Scope.USER, source=source, kind=Kind.FACT)
        self.written.add(content)

    @rule(side=SIDES, number=PICKS, text=TEXTS)
    def edit(self, side: int, number: int, text: str) -> None:
        if item := self.pick(side, number, Status.ACTIVE):
            content = f"{text} Edited {number}."
            self.homes[side].edit(item.id, content=content)
            self.written.discard(item.content)  # Its author replaced it.
            self.written.add(content)

    @rule(side=SIDES, number=PICKS, text=TEXTS)
    def reword(self, side: int, number: int, text: str) -> None:
        """Replace a memory by a new one, as memoryd does."""
        if item := self.pick(side, number, Status.ACTIVE):
            home = self.homes[side]
            home.clock.advance(seconds=1)
            content = f"{text} Reworded {number}."
            new = replace(item, id="", content=content, created_at=home.clock.now(), valid_from=None, links=())
            home.service.supersede(item.id, new)
            self.written.add(content)

    @rule(side=SIDES, number=PICKS)
    def tag(self, side: int, number: int) -> None:
        if item := self.pick(side, number):
            self.homes[side].edit(item.id, tags=(*item.tags, f"t{number % 4}")[-3:])

    @rule(side=SIDES, number=PICKS)
    def forget(self, side: int, number: int) -> None:
        if item := self.pick(side, number, Status.ACTIVE):
            self.homes[side].clock.advance(seconds=1)
            self.homes[side].service.forget(item.id)
            self.forgotten.add(item.id)

    @rule(side=SIDES, number=PICKS)
    def delete(self, side: int, number: int) -> None:
        if number % 5 == 0 and (item := self.pick(side, number, Status.ACTIVE)):
            self.homes[side].delete_file(item.id)
            self.deleted.add(item.id)

    @rule(side=SIDES)
    def dream(self, side: int) -> None:
        self.homes[side].clock.advance(hours=1)
        self.homes[side].sweep.run("nightly")

    @rule(side=SIDES)
    def sync(self, side: int) -> None:
        self.homes[side].sync(force=True)

    @invariant()
    def the_shared_folder_holds_one_file_a_memory(self) -> None:
        names = [path.stem[-16:] for path in (self.base / "shared").rglob("*-mem_*.md")]
        assert len(names) == len(set(names))

    def teardown(self) -> None:
        try:
            if self.homes:
                self.check_the_end()
        finally:
            for home in self.homes:
                home.close()
            shutil.rmtree(self.base, ignore_errors=True)

    def check_the_end(self) -> None:
        for _ in range(3):
            for home in self.homes:
                home.sync(force=True)
        last = [home.sync(force=True) for home in self.homes]
        assert all(report.sent == report.received == 0 for report in last), "and then there is nothing left to do"
        desk, laptop = (home.items() for home in self.homes)
        assert desk == laptop
        for id in self.forgotten - self.deleted:
            assert desk[id].status is Status.BLACKLISTED, "what was forgotten stays forgotten"
        assert not self.deleted & desk.keys()
        held = {item.content for item in desk.values()}
        for home in self.homes:
            held |= {
                text.partition("\n---\n")[2].strip() for path in home.paths.trash.rglob("*.md") if (text := path.read_text())
            }
            held |= {item.content for item in home.state.ledger.deleted("")}
        assert self.written <= held, "no text is lost"


def test_two_machines_end_equal_in_a_sample_of_interleavings() -> None:
    quick = settings(
        max_examples=6, stateful_step_count=12, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(TwoMachines, settings=quick)


@pytest.mark.slow
def test_two_machines_end_equal_in_all_interleavings() -> None:
    whole = settings(
        max_examples=120, stateful_step_count=25, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(TwoMachines, settings=whole)
