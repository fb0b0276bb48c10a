"""The comparison of a statement with an older one does not depend on how it arrives."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memoryd.core.codec import item_to_dict
from memoryd.core.config import load_settings
from memoryd.core.types import Candidate, Kind, MemoryItem, Passage, Source
from memoryd.daydream.reconcile import KeepAction as ScanCache
from memoryd.daydream.reconcile import Outcome, Reconciler, reconcile
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
THINGS = (
    ("listens on port {v}", ("8081", "9090", "7000")),
    ("keeps logs for {v}", ("5 days", "five days", "2 weeks", "90 minutes")),
    ("stores its state in {v}", ("Postgres", "SQLite", "the shared folder", "`state/main.db`")),
    ("is deployed on {v}", ("Mondays", "Fridays", "every merge")),
    ("is tested with {v}", ("pytest", "make check", "`tox -e py312`")),
    ("is owned by {v}", ("the platform team", "Marta", "nobody")),
)
TURNS = (
    "{s} {p}",
    "{S} {p}.",
    "Note: {s} {p}",
    "{s} now {p}",
    "{s} {p} instead of {o}",
    "{s} no longer {p}",
    "{s} never {p}",
    "{s} {p}, except on Sundays",
    "only in production, {s} {p}",
    "it is {s} that {p}",
    "actually {s} {p}, that was wrong before",
)
COMPARER = Comparer()


@st.composite
def statements(draw: st.DrawFn) -> tuple[str, str]:
    """Generate an older and a newer statement, about the same or another thing and value, in varied wordings."""
    if draw(st.booleans()):
        a, b, subject = draw(st.integers(2, 90)), draw(st.integers(91, 99)), draw(st.sampled_from(SUBJECTS))
        first, second = (text.format(s=subject, a=a, b=b) for text in draw(st.sampled_from(FRAMES)))
        return first, second
    phrase, values = draw(st.sampled_from(THINGS))
    subject, value, another = draw(st.sampled_from(SUBJECTS)), draw(st.sampled_from(values)), draw(st.sampled_from(values))
    other_subject = draw(st.sampled_from((subject, subject, *SUBJECTS)))
    turn = draw(st.sampled_from(TURNS))
    second = turn.format(s=other_subject, S=other_subject.capitalize(), p=phrase.format(v=another), o=value)
    return f"{subject} {phrase.format(v=value)}", second


@given(statements(), st.sampled_from(list(Source)[:2]))
def test_remember_and_the_dream_see_the_same(said: tuple[str, str], source: Source) -> None:
    first, second = said
    old: MemoryItem = memory(first, days=9, source=source, kind=Kind.NOTE)
    new: MemoryItem = memory(second, days=2, source=source, kind=Kind.NOTE)
    kept = reconcile(Candidate(second, Kind.NOTE, source=source, at=new.created_at), [old], COMPARER.compare).action
    plan = make_plan([old, new], now=NOW, comparer=COMPARER)
    assert seen(plan, old, new) == of_action(kept)


def of_action(action: ScanCache) -> str:
    return {ScanCache.KNOWN: "same", ScanCache.SUPERSEDES: "replaces", ScanCache.CONTRADICTS: "contradicts"}.get(action, "beside")


def seen(plan: Plan, old: MemoryItem, new: MemoryItem) -> str:
    """Return a plan's result for a pair of one project."""
    changes = [change for change in plan.changes if change.after.project == old.project]
    if any(change.action is Action.CREATE for change in changes):
        return "same"
    if any(change.action is Action.SUPERSEDE and change.stage == "resolve_conflicts" for change in changes):
        return "replaces"
    return "contradicts" if any({pair.first, pair.second} == {old.id, new.id} for pair in plan.undecided) else "beside"


Pairs = Sequence[tuple[MemoryItem, MemoryItem]]


def in_projects(said: Sequence[tuple[tuple[str, str], Source]]) -> Pairs:
    """Return pairs, each in its own project. The second statement is said a week later in another session."""
    out = []
    for number, ((first, second), source) in enumerate(said):
        made = {"project": f"pair-{number}", "source": source, "kind": Kind.NOTE}
        old = memory(first, days=9, session="s1", id=f"mem_{2 * number:012x}", **made)
        out.append((old, memory(second, days=2, session="s2", id=f"mem_{2 * number + 1:012x}", **made)))
    return out


class Ways:
    """The ways in which two statements are compared."""

    def __init__(self, home: Path) -> None:
        self.clock = FakeClock(NOW)
        settings = load_settings({}, home=str(home), embedder="hash")
        self.service = Orchestrator(settings, self.clock, HashEmbedder(64))
        self.service.catch_up()

    def kept(self, pairs: Pairs, *, transcript: str = "") -> list[str]:
        """Keep them like `remember`, or with a transcript like a day dream."""
        reconciler = Reconciler(self.service, self.clock)
        for old, _ in pairs:
            self._keep(reconciler, old, transcript)
        self.service.settle(60)
        return [of_action(self._keep(reconciler, new, transcript).action) for _, new in pairs]

    def _keep(self, reconciler: Reconciler, item: MemoryItem, transcript: str) -> Outcome:
        uuids = (f"u-{item.id}",) if transcript else ()
        candidate = Candidate(item.content, item.kind, source=item.source, at=item.created_at, confidence=0.8, uuids=uuids)
        return reconciler.keep(candidate, Passage((), session=item.session, project=item.project, transcript=transcript))

    def dreamt(self, pairs: Pairs) -> list[str]:
        """Run a dream over the stored statements."""
        stored = {item.id: item for item in self.service.all()}
        plan = make_plan(list(stored.values()), now=NOW, comparer=self.service.comparer)
        return [seen(plan, old, new) for old, new in pairs]

    def imported(self, pairs: Pairs, file: Path) -> list[str]:
        """Import both from an export, then run a dream."""
        file.write_text("".join(json.dumps(item_to_dict(item)) + "\n" for pair in pairs for item in pair), "utf-8")
        import_export(self.service, file)
        return self.dreamt(pairs)

    def edited(self, pairs: Pairs) -> list[str]:
        """Write the second as another statement first, then change it in its file by hand."""
        for old, new in pairs:
            self.service.write(old)
            self.service.write(replace(new, content="Nothing of the sort."))
            path = self.service.path_of(new.id)
            assert path is not None
            front_matter, _, _ = path.read_text("utf-8").rpartition("Nothing of the sort.")
            path.write_text(f"{front_matter}{new.content}\n", "utf-8")
        self.service.sync()
        return self.dreamt(pairs)


# Without shrinking, which would take minutes: differences are listed pair by pair.
@pytest.mark.slow
@settings(max_examples=6, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(st.tuples(statements(), st.sampled_from([Source.USER, Source.AGENT_STEP])), min_size=12, max_size=24))
def test_day_dream_dream_remember_import_and_hand_edit_agree(said: Sequence[tuple[tuple[str, str], Source]]) -> None:
    pairs = in_projects(said)
    with tempfile.TemporaryDirectory() as folder:
        found = all_ways(pairs, Path(folder))
    differing = [
        (old.content, new.content, {name: relations[number] for name, relations in found.items()})
        for number, (old, new) in enumerate(pairs)
        if len({relations[number] for relations in found.values()}) > 1
    ]
    assert not differing, differing


def all_ways(pairs: Pairs, folder: Path) -> dict[str, list[str]]:
    ways = {name: Ways(folder / name) for name in ("remember", "day dream", "dream", "import", "edit")}
    ways["dream"].service.write_many([item for pair in pairs for item in pair])
    try:
        return {
            "remember": ways["remember"].kept(pairs),
            "day dream": ways["day dream"].kept(pairs, transcript="log.jsonl"),
            "dream": ways["dream"].dreamt(pairs),
            "import": ways["import"].imported(pairs, folder / "export.jsonl"),
            "edit": ways["edit"].edited(pairs),
        }
    finally:
        for way in ways.values():
            way.service.close()


def test_each_relation_is_met_on_every_way(tmp_path: Path) -> None:
    subject = SUBJECTS[0]
    said = [tuple(text.format(s=subject, a=5, b=95) for text in frame) for frame in FRAMES]
    found = all_ways(in_projects([((first, second), Source.USER) for first, second in said]), tmp_path)
    assert all({"same", "replaces", "beside"} <= set(relations) for relations in found.values()), found
