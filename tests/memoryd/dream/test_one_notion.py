"""What a statement is to an older one does not depend on the way by which it comes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import Candidate, Kind, MemoryItem, Source
from memoryd.daydream.reconcile import Action as Kept
from memoryd.daydream.reconcile import reconcile
from memoryd.dream.plan import Action
from memoryd.dream.planner import make_plan
from memoryd.language import Comparer
from tests.memoryd.dream.samples import NOW, memory

SUBJECTS = ("the billing worker", "the harbour importer", "our mail gateway")
FRAMES = (
    ("{s} listens on port {a}", "{s} listens on port {b} now, not {a} any more"),
    ("{s} listens on port {a}", "{s} listens on port {b}"),
    ("{s} keeps logs for {a} days", "{s} never keeps logs"),
    ("{s} sends reports to {a}", "Reports are sent to {a} by {s}"),
    ("{s} is written with MySQL", "{s} is written with PostgreSQL instead of MySQL"),
    ("{s} runs nightly", "{s} runs nightly, except on Sundays"),
    ("{s} runs nightly", "the lexer rejects tabs"),
)
COMPARER = Comparer()


@given(
    st.sampled_from(FRAMES), st.sampled_from(SUBJECTS), st.integers(2, 90), st.integers(91, 99), st.sampled_from(list(Source)[:2])
)
def test_remember_and_the_dream_see_the_same(frame: tuple[str, str], subject: str, a: int, b: int, source: Source) -> None:
    first, second = (text.format(s=subject, a=a, b=b) for text in frame)
    old: MemoryItem = memory(first, days=9, source=source, kind=Kind.NOTE)
    new: MemoryItem = memory(second, days=2, source=source, kind=Kind.NOTE)
    kept = reconcile(Candidate(second, Kind.NOTE, source=source, at=new.created_at), [old], COMPARER.compare).action
    plan = make_plan([old, new], now=NOW, comparer=COMPARER)
    merged = any(change.action is Action.CREATE for change in plan.changes)
    closed = {change.id for change in plan.changes if change.action is Action.SUPERSEDE and change.stage == "resolve_conflicts"}
    seen = Kept.KNOWN if merged else Kept.SUPERSEDES if old.id in closed else Kept.CONTRADICTS if plan.undecided else Kept.NEW
    assert seen is kept
