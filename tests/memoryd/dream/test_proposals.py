"""The file of pending proposals."""

from __future__ import annotations

from pathlib import Path

from memoryd.core.types import Kind, MemoryItem
from memoryd.dream.plan import Action, Change, UndecidedConflict
from memoryd.dream.proposals import Proposal, Proposals


def proposal(number: int) -> Proposal:
    id = f"mem_{number:012}"
    change = Change("prune", Action.EXPIRE, None, MemoryItem(id=id, content="old", kind=Kind.FACT), "old")
    return Proposal(f"prop_{number:010}", (change,), "many", "2026-01-01T00:00:00Z")


def test_what_waits_is_counted_and_read_page_by_page(tmp_path: Path) -> None:
    proposals = Proposals(tmp_path / "proposals.json")
    assert proposals.counts() == (0, 0)
    proposals.replace([proposal(number) for number in range(45)], [UndecidedConflict("mem_a", "mem_b", "two ports")])
    assert proposals.counts() == (45, 1)
    pages = [proposals.page(first, 20) for first in (0, 20, 40, 60)]
    assert [len(page.proposals) for page in pages] == [20, 20, 5, 0]
    assert {(page.total, len(page.undecided)) for page in pages} == {(45, 1)}
    assert [one for page in pages for one in page.proposals] == proposals.waiting()


def test_the_counts_follow_what_another_process_writes(tmp_path: Path) -> None:
    one, other = Proposals(tmp_path / "proposals.json"), Proposals(tmp_path / "proposals.json")
    other.replace([proposal(1), proposal(2)], [])
    assert one.counts() == (2, 0)
    other.settle([proposal(1).id])
    assert one.counts() == (1, 0)
