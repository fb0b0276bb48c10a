"""The sweep: plan a dream, hold back changes that need consent, and apply the rest as one journal entry.

`dream(store, …)` runs the whole sweep. `Sweep` offers the individual steps for the CLI and MCP.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from memoryd.citations.check import CitationCheck, CodeCheck
from memoryd.citations.cite import renewed
from memoryd.citations.repository import head_commit
from memoryd.core.clock import SKEW, from_iso, to_iso
from memoryd.core.codec import is_id
from memoryd.core.config import Settings
from memoryd.core.errors import MemorydError, NotFoundError
from memoryd.core.files import try_lock
from memoryd.core.project import ProjectRegistry, find_git
from memoryd.core.protocols import Clock
from memoryd.core.state import State
from memoryd.core.types import EPOCH, Citation, MemoryItem, Query, Source, Status
from memoryd.dream import stages
from memoryd.dream.apply import Applied, Applier, Undone
from memoryd.dream.journal import EntryKind, EntryStep, EntrySummary, Journal, JournalRecord
from memoryd.dream.plan import DROPPING, Action, Change, Plan, UndecidedConflict
from memoryd.dream.planner import collector_paused
from memoryd.dream.proposals import Proposal, Proposals, grouped, id_of
from memoryd.recall.governance import Governance, governance_of
from memoryd.service import Orchestrator
from memoryd.stores.layout import derived_id

# Number of removals that the shrink guard always allows, so that even a store of ten can lose a pair of duplicates.
FEW = 3
LOOKED_AT = 100  # Maximum number of recent sessions to consider.
MANUAL = "manual"
FORGET = "forget"
IMPORT = "import"
LAST_RUN = "dream last run"
LAST_ERROR = "dream last error"
NEEDS_CONSENT = "it affects a memory that you wrote, pinned or edited"
TOO_MUCH = "the dream would have dropped more memories than allowed"

Planner = Callable[[Sequence[MemoryItem], frozenset[str]], Plan]


class DreamRunning(MemorydError):
    """Raised when another dream, undo or acceptance is in progress."""

    code = "busy"


@dataclass(frozen=True, slots=True)
class Draft:
    """The result that a dream would have now. `refused` counts groups omitted because the user has refused them before."""

    changes: tuple[Change, ...]
    proposals: tuple[Proposal, ...] = ()
    undecided: tuple[UndecidedConflict, ...] = ()
    refused: int = 0
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Report:
    """Result of a dream. `entry` is empty if nothing was applied. `stale` lists changes to memories edited in the meantime."""

    entry: str
    draft: Draft
    applied: tuple[Change, ...] = ()
    stale: tuple[Change, ...] = ()


class Sweep:
    """Runs dreams, acceptances and undos over one store. Only one of them runs at a time, across all processes.

    `planning` creates the plan from all memories and the protected ids. It must be pure.
    """

    def __init__(self, service: Orchestrator, state: State, settings: Settings, clock: Clock, planning: Planner) -> None:
        self._service = service
        self._state = state
        self._settings = settings
        self._clock = clock
        self._planning = planning
        self._registry = ProjectRegistry(settings.paths.projects)
        self.journal = Journal(settings.paths.journal)
        self.proposals = Proposals(settings.paths.proposals)
        self._code = CodeCheck()
        self._applier = Applier(service, self.journal, clock, self._on_undone)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        lock = try_lock(self._settings.paths.dream_lock)
        if lock is None:
            raise DreamRunning("A dream is in progress.", fix="Wait until it is done; see 'memoryd journal'.")
        try:
            yield
        finally:
            lock.close()

    # The dream

    def draft(self) -> Draft:
        """Return the changes that a dream would make now. Writes nothing."""
        with collector_paused():
            return self._draft(self._service_items())[0]

    def run(self, trigger: str) -> Report:
        """Run a dream.

        Raises:
            MemorydError: The dream failed and changed nothing. The error is reported in the status.
        """
        with self._alone():
            self._state.set_note(LAST_RUN, to_iso(self._clock.now()))
            try:
                with collector_paused():
                    report = self._run(trigger)
            except MemorydError as error:
                self._state.set_note(LAST_ERROR, str(error))
                raise
            self._state.set_note(LAST_ERROR, _model_failure(report))
            return report

    def _run(self, trigger: str) -> Report:
        self._service.fade_candidates()
        draft, inspection = self._draft(self._service_items())
        applied = self._applier.apply(draft.changes, EntryKind.DREAM, trigger)
        self.proposals.replace(draft.proposals, draft.undecided)
        self._state.ledger.set_anchors(inspection.prints)
        self.journal.prune(self._settings.dream_journal)
        return Report(applied.entry, draft, applied.changes, applied.stale)

    def _service_items(self) -> dict[str, MemoryItem]:
        return {item.id: item for item in self._service.all()}

    def _draft(self, items: Mapping[str, MemoryItem]) -> tuple[Draft, stages.Inspection]:
        protected = self._protected(items.values())
        plan = self._planning(list(items.values()), protected)
        inspection = stages.inspect(items.values(), self._state.ledger.anchors(), self._roots_of)
        plan = _with_marks(plan, items, inspection)
        changed = {change.id for change in plan.changes}
        cited = (item for item in items.values() if item.id not in changed)  # The next dream handles the rest.
        moved = stages.follow_citations(cited, self._findings, self._cite_again, self._clock.now())
        plan = replace(plan, changes=(*plan.changes, *moved))
        return self._guarded(plan, items, protected), inspection

    def _findings(self, item: MemoryItem) -> Sequence[CitationCheck]:
        root = next((root for root in self._roots_of(item) if root.is_dir()), None)
        return self._code.thorough(root, item.cites) if root is not None else ()

    def _cite_again(self, item: MemoryItem, citation: Citation, found: CitationCheck) -> Citation:
        root = next(root for root in self._roots_of(item) if root.is_dir())
        return renewed(replace(citation, path=found.path or citation.path), root, head_commit(str(root)))

    def _guarded(self, plan: Plan, items: Mapping[str, MemoryItem], protected: frozenset[str]) -> Draft:
        """Hold back groups that the user has refused or must consent to.

        If there are too many removals, hold back all of them.
        """
        refused = self.proposals.refused()
        groups = grouped(plan.changes)
        wanted = [group for group in groups if not refused.covers(group)]
        held = {id_of(group): NEEDS_CONSENT for group in wanted if _needs_consent(group, protected)}
        free = [group for group in wanted if id_of(group) not in held]
        held |= {id_of(group): group[0].reason for group in free if any(map(stages.needs_answer, group))}
        free = [group for group in free if id_of(group) not in held]
        active = sum(item.status is Status.ACTIVE for item in items.values())
        if sum(map(_dropped, free)) > self._bound(active):
            held |= {id_of(group): TOO_MUCH for group in free if _dropped(group)}
        since = to_iso(self._clock.now())
        return Draft(
            changes=tuple(change for group in free if id_of(group) not in held for change in group),
            proposals=tuple(Proposal(id_of(g), g, held[id_of(g)], since) for g in wanted if id_of(g) in held),
            undecided=plan.undecided,
            refused=len(groups) - len(wanted),
            counts=plan.counts,
        )

    def _bound(self, active: int) -> float:
        return min(self._settings.dream_max_items, max(FEW, self._settings.dream_max_share * active))

    def _protected(self, items: Iterable[MemoryItem]) -> frozenset[str]:
        edited = self._state.ledger.edited()
        return frozenset(item.id for item in items if item.id in edited or self._is_maintained_by_user(item))

    def _is_maintained_by_user(self, item: MemoryItem) -> bool:
        """Return whether the user or the team maintains it: it is pinned, written by hand, or in a file without our id."""
        if item.pinned or item.source in (Source.NOTE, Source.TEAM) or (item.source is Source.USER and item.session == MANUAL):
            return True
        file = self._service.file_of(item.id) if item.source is Source.USER else None
        return file is not None and derived_id(file.path) == item.id

    def _roots_of(self, item: MemoryItem) -> list[Path]:
        record = self._state.session(item.session)
        git = find_git(Path(record.cwd)) if record and record.cwd else None
        known = [Path(anchor) for anchor in self._registry.anchors(item.project)]
        roots = [git.root if git else None, *(path.parent if path.name == ".git" else path for path in known)]
        return list(dict.fromkeys(root for root in roots if root is not None))

    # Decisions of the user

    def accept(self, ids: Sequence[str]) -> Report:
        """Apply these proposals, or all if none are given. Changes that no longer fit are returned as stale."""
        with self._alone():
            chosen = self.proposals.require(ids) if ids else self.proposals.waiting()
            changes = tuple(change for proposal in chosen for change in proposal.changes)
            applied = self._applier.apply(changes, EntryKind.ACCEPT, "accepted by the user")
            stale = {change.id for change in applied.stale}
            self.proposals.settle([p.id for p in chosen if not stale & {change.id for change in p.changes}])
            return Report(applied.entry, Draft(changes), applied.changes, applied.stale)

    def refuse(self, ids: Sequence[str]) -> list[str]:
        """Permanently refuse these proposals, or all if none are given, and return their ids."""
        with self._alone():
            chosen = list(ids) or [proposal.id for proposal in self.proposals.waiting()]
            self.proposals.refuse(chosen)
            return chosen

    def forget(self, items: Sequence[MemoryItem], trigger: str) -> str:
        """Hide memories in one undoable entry. Return its name, or an empty string if there is nothing to hide."""
        now = self._clock.now()
        hidden = [replace(item, status=Status.BLACKLISTED, expired_at=now, pinned=False) for item in items]
        changes = [Change(FORGET, Action.FORGET, *pair, trigger) for pair in zip(items, hidden, strict=True)]
        with self._alone():
            return self._applier.apply(changes, EntryKind.FORGET, trigger).entry

    def take_in(self, items: Sequence[MemoryItem], trigger: str) -> Applied:
        """Write new memories from elsewhere in one undoable entry."""
        changes = [Change(IMPORT, Action.IMPORT, None, item, trigger) for item in items]
        with self._alone():
            return self._applier.apply(changes, EntryKind.IMPORT, trigger)

    def undo(self, target: str = "", only: Collection[str] | None = None) -> Undone:
        """Undo an entry (or the memories in `only`), the last change of one memory, or the last entry.

        A memory is restored together with its group.
        """
        with self._alone():
            if only:
                return self._applier.undo(target, only)
            if is_id(target):
                return self._applier.undo(self._last_entry_of(target), {target})
            return self._applier.undo(target or self._last_entry())

    def _last_entry(self) -> str:
        for head in self.journal.heads():
            if _is_in_effect(head) and len(head.undone) < head.memories:
                return head.name
        raise NotFoundError("There is no dream to undo.", fix="See 'memoryd journal'.")

    def _last_entry_of(self, id: str) -> str:
        found = [head for head, _ in self.journal.history(id) if _is_in_effect(head) and id not in head.undone]
        if not found:
            raise NotFoundError(f"No dream currently in effect has changed {id}.", fix=f"See 'memoryd why {id}'.")
        return found[-1].name

    def _on_undone(self, records: Sequence[JournalRecord], back: bool) -> None:
        """Prevent the next dream from repeating changes that the user undid. Allow changes that the user restored."""
        by_group: dict[str, list[tuple[Action, str]]] = {}
        for record in records:
            by_group.setdefault(record.group or record.id, []).append((record.action, record.id))
        (self.proposals.allow_groups if back else self.proposals.refuse_groups)(by_group.values())

    def erase(self, id: str) -> None:
        """Delete a memory and its groups from the journal and the proposals. Raises DreamRunning during a dream."""
        with self._alone():
            self.journal.erase(id)
            self.proposals.erase(id)

    # Scheduling

    def recover(self) -> list[str]:
        """Recover interrupted entries after a start. Does nothing while another process runs a dream."""
        try:
            with self._alone():
                return self._applier.recover()
        except DreamRunning:
            return []

    def last_run(self) -> datetime:
        """Return when the last dream began. The first call counts as a dream, so that the first night is not missed.

        A time in the future was recorded while the clock was wrong. It is ignored, as if there had been no dream.
        """
        noted = self._state.note(LAST_RUN)
        if not noted:
            noted = to_iso(self._clock.now())
            self._state.set_note(LAST_RUN, noted)
        moment = from_iso(noted)
        return moment if moment <= self._clock.now() + SKEW else EPOCH

    def is_due_when_idle(self) -> bool:
        """Return whether no session has been active for a while and enough memories were learnt since the last dream."""
        now = self._clock.now()
        times = (from_iso(record.last_at) for record in self._state.sessions(LOOKED_AT))
        latest = max((moment for moment in times if moment <= now + SKEW), default=None)  # Later times come from a wrong clock.
        if latest is not None and (now - latest).total_seconds() < self._settings.dream_idle_minutes * 60:
            return False
        fresh = Query(statuses=tuple(Status), created_after=self.last_run())
        return self._service.count(fresh) >= self._settings.dream_min_new


def dream(
    store: Orchestrator, state: State, settings: Settings, clock: Clock, planning: Planner, *, project: str = ""
) -> Governance:
    """Run a dream over the whole store, and return the governance for the project's next session."""
    Sweep(store, state, settings, clock, planning).run("by hand")
    return governance_of(store, state, project, clock.now(), settings.session_budget)


def _model_failure(report: Report) -> str:
    batches = report.draft.counts.get("llm_failed", 0)
    return (
        f"{batches} responses from the model could not be used; the memories in question were left unchanged." if batches else ""
    )


def _is_in_effect(head: EntrySummary) -> bool:
    return head.step is EntryStep.DONE and head.kind is not EntryKind.UNDO


def _dropped(group: Sequence[Change]) -> int:
    return sum(change.action in DROPPING for change in group)


def _needs_consent(group: Sequence[Change], protected: frozenset[str]) -> bool:
    return any(change.id in protected and _takes_away(change) for change in group)


def _takes_away(change: Change) -> bool:
    """Return whether the change removes the memory from recall or rewords it."""
    before = change.before
    return before is not None and (change.action in DROPPING or before.content != change.after.content)


def _with_marks(plan: Plan, items: Mapping[str, MemoryItem], inspection: stages.Inspection) -> Plan:
    """Add the marks for changed code anchors to the plan, merging them with other changes to the same memory."""
    marks = {change.id: change for change in stages.changes(items, inspection)}
    out = []
    for change in plan.changes:
        mark = marks.pop(change.id, None)
        keeps = mark is not None and change.action not in DROPPING
        out.append(replace(change, after=replace(change.after, tags=mark.after.tags)) if mark and keeps else change)
    return replace(plan, changes=(*out, *marks.values()))
