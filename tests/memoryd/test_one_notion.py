"""What a statement is to an older one does not depend on the way by which it comes."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.codec import item_to_dict
from memoryd.core.config import load_settings
from memoryd.core.types import Candidate, Kind, MemoryItem, Passage, Source
from memoryd.daydream.reconcile import KeepAction as Kept
from memoryd.daydream.reconcile import Keeper, Outcome, reconcile
from memoryd.dream.plan import Action, Plan
from memoryd.dream.planner import make_plan
from memoryd.language import Comparer
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder
from memoryd.transfer.importing import import_export
from tests.memoryd.dream.samples import NOW, memory

SUBJECTS = ("the billing worker", "the harbour importer", "our mail gateway")
FRAMES = (
    ("{s} listens on port {a}", "{s} listens on port {b} now, not {a} any more"),
    ("{s} listens on port {a}", "{s} listens on port {b}"),
    ("{s} keeps logs for {a} days", "{s} never keeps logs"),
    ("{s} keeps logs for {a} hours", "{s} keeps logs for {a} hrs"),
    ("{s} sends reports to {a}", "Reports are sent to {a} by {s}"),
    ("{s} is written with MySQL", "{s} is written with PostgreSQL instead of MySQL"),
    ("{s} runs nightly", "{s} runs nightly, except on Sundays"),
    ("{s} runs nightly", "the lexer rejects tabs"),
    ("always run job{a} for {s} first", "always run job{b} for {s} first"),
    ("run `make check` on {s} before you push", "before pushing, always run make check on {s}"),
    ("{s} calls the cache of the depot", "the depot calls the cache of {s}"),
    ("never restart {s} by hand", "restart {s} by hand"),
    ("the user prefers short logs of {s}", "the user prefers long logs of {s}"),
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
    assert seen(plan, old, new) == of_action(kept)


def of_action(action: Kept) -> str:
    return {Kept.KNOWN: "same", Kept.SUPERSEDES: "replaces", Kept.CONTRADICTS: "contradicts"}.get(action, "beside")


def seen(plan: Plan, old: MemoryItem, new: MemoryItem) -> str:
    """What a plan makes of a pair of one project."""
    changes = [change for change in plan.changes if change.after.project == old.project]
    if any(change.action is Action.CREATE for change in changes):
        return "same"
    if any(change.action is Action.SUPERSEDE and change.stage == "resolve_conflicts" for change in changes):
        return "replaces"
    return "contradicts" if any({pair.first, pair.second} == {old.id, new.id} for pair in plan.undecided) else "beside"


Pairs = Sequence[tuple[MemoryItem, MemoryItem]]


def generated(count: int, seed: int) -> Pairs:
    """Pairs, each in a project of its own, the second said a week later in another session."""
    draw, out = random.Random(seed), []
    for number in range(count):
        a, b = draw.randint(2, 90), draw.randint(91, 99)
        first, second = (text.format(s=draw.choice(SUBJECTS), a=a, b=b) for text in draw.choice(FRAMES))
        made = {"project": f"pair-{number}", "source": draw.choice([Source.USER, Source.AGENT_STEP]), "kind": Kind.NOTE}
        old = memory(first, days=9, session="s1", id=f"mem_{2 * number:012x}", **made)
        out.append((old, memory(second, days=2, session="s2", id=f"mem_{2 * number + 1:012x}", **made)))
    return out


class Ways:
    """The ways by which two statements come to be compared."""

    def __init__(self, home: Path) -> None:
        self.clock = FakeClock(NOW)
        settings = load_settings({}, home=str(home), embedder="hash")
        self.service = Orchestrator(settings, self.clock, HashEmbedder(64))
        self.service.catch_up()

    def kept(self, pairs: Pairs, *, transcript: str = "") -> list[str]:
        """As `remember` does it, and with a transcript as a day dream does."""
        keeper = Keeper(self.service, self.clock)
        for old, _ in pairs:
            self._keep(keeper, old, transcript)
        self.service.settle(60)
        return [of_action(self._keep(keeper, new, transcript).action) for _, new in pairs]

    def _keep(self, keeper: Keeper, item: MemoryItem, transcript: str) -> Outcome:
        uuids = (f"u-{item.id}",) if transcript else ()
        candidate = Candidate(item.content, item.kind, source=item.source, at=item.created_at, confidence=0.8, uuids=uuids)
        return keeper.keep(candidate, Passage((), session=item.session, project=item.project, transcript=transcript))

    def dreamt(self, pairs: Pairs) -> list[str]:
        """A dream over what is stored."""
        stored = {item.id: item for item in self.service.all()}
        plan = make_plan(list(stored.values()), now=NOW, comparer=self.service.comparer)
        return [seen(plan, old, new) for old, new in pairs]

    def imported(self, pairs: Pairs, file: Path) -> list[str]:
        """Both come from an export, and a dream follows."""
        file.write_text("".join(json.dumps(item_to_dict(item)) + "\n" for pair in pairs for item in pair), "utf-8")
        import_export(self.service, file)
        return self.dreamt(pairs)

    def edited(self, pairs: Pairs) -> list[str]:
        """The second is another statement at first, and a person writes this one into its file."""
        for old, new in pairs:
            self.service.write(old)
            self.service.write(replace(new, content="Nothing of the sort."))
            path = self.service.path_of(new.id)
            assert path is not None
            path.write_text(path.read_text("utf-8").replace("Nothing of the sort.", new.content), "utf-8")
        self.service.sync()
        return self.dreamt(pairs)


@pytest.mark.parametrize("seed", [1, 2])
def test_day_dream_dream_remember_import_and_hand_edit_agree(tmp_path: Path, seed: int) -> None:
    pairs = generated(60, seed)
    ways = {name: Ways(tmp_path / name) for name in ("remember", "day dream", "dream", "import", "edit")}
    ways["dream"].service.write_many([item for pair in pairs for item in pair])
    found = {
        "remember": ways["remember"].kept(pairs),
        "day dream": ways["day dream"].kept(pairs, transcript="log.jsonl"),
        "dream": ways["dream"].dreamt(pairs),
        "import": ways["import"].imported(pairs, tmp_path / "export.jsonl"),
        "edit": ways["edit"].edited(pairs),
    }
    for way in ways.values():
        way.service.close()
    differing = [
        (old.content, new.content, {name: relations[number] for name, relations in found.items()})
        for number, (old, new) in enumerate(pairs)
        if len({relations[number] for relations in found.values()}) > 1
    ]
    assert not differing, differing
    assert len(set(found["dream"])) >= 3
