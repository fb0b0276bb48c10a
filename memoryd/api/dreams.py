"""The calls about dreams: dream, undo, journal, why, proposals; and the recurring ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from memoryd.api.memories import Caller
from memoryd.api.params import Params
from memoryd.codec import is_id, item_to_dict
from memoryd.daemon.contract import Slot
from memoryd.daemon.threads import lower_priority
from memoryd.dream.journal import Head, Record
from memoryd.dream.lines import file_lines
from memoryd.dream.plan import Change, Undecided
from memoryd.dream.proposals import Proposal
from memoryd.dream.sweep import LAST_ERROR, LAST_RUN, DreamRunning, Report, Sweep
from memoryd.dream.why import differences, why
from memoryd.errors import InputError, NotFoundError
from memoryd.ledger import How
from memoryd.project import ProjectRegistry
from memoryd.recall.inject import Injector
from memoryd.service import Orchestrator
from memoryd.state import State
from memoryd.types import MemoryItem, Project, Scope, Status

IDLE_CHECK_SECONDS = 60.0
RECENT_SESSIONS = 50
MOST_ENTRIES = 1_000_000
UNKNOWN_SESSION = "unknown"
EVERYTHING = "all"
_BORING = frozenset({"backends", "trust"})


class DreamCalls:
    """dream, undo, journal, why, proposals, decide, forget_project."""

    def __init__(self, sweep: Sweep, service: Orchestrator, state: State, registry: ProjectRegistry, injector: Injector) -> None:
        self._sweep = sweep
        self._service = service
        self._state = state
        self._registry = registry
        self._injector = injector

    # By hand

    def dream(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Merge, correct and forget; with `dry_run` (the default) only say what would be done.

        With `lines` the first `lines` changes also as lines of their memory's file.
        """
        dry, lines = params.flag("dry_run", True), params.count("lines", 0, high=MOST_ENTRIES)
        params.done()
        lower_priority()  # this thread answers this call only, and hooks go first
        if dry:
            draft = self._sweep.draft()
            return _answer("planned", Report("", draft, draft.changes), lines)
        report = self._sweep.run("asked for by the model" if caller.is_model else "by hand")
        self._after()
        return _answer("done" if report.entry else "nothing to do", report, lines)

    def decide(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Carry out (`accept`) or refuse proposals; "all" means all that wait."""
        accepted, refused = params.texts("accept"), params.texts("refuse")
        params.done()
        if not accepted and not refused:
            raise InputError("decide: on what?", fix="Name proposals to accept or refuse; see 'memoryd proposals'.")
        out: dict[str, Any] = {"refused": self._sweep.refuse(_named(refused)) if refused else []}
        report = self._sweep.accept(_named(accepted)) if accepted else None
        self._after()
        changed = [_change(change) for change in report.applied] if report else []
        stale = sorted({change.id for change in report.stale}) if report else []
        return out | {"entry": report.entry if report else "", "accepted": changed, "changed_since": stale}

    def undo(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Take back a journal entry, the last change of a memory, or (without id) the last entry that stands.

        With `only` (memory ids) just these changes of the entry, each with what it stands or falls with.
        """
        target, only = params.text("id"), params.texts("only")
        params.done()
        if only and is_id(target):
            raise InputError("undo: 'only' goes with a journal entry.", fix="Give the entry's name, e.g. dream-0007.")
        if only and not target:
            raise InputError("undo: of which entry?", fix="Give its name: see 'memoryd journal'.")
        try:
            undone = self._sweep.undo(target, only)
        except NotFoundError:
            if not is_id(target) or not (taken_back := self._undo_rewording(target)):
                raise
            return taken_back
        self._after()
        refused = [{"id": refusal.id, "path": refusal.path, "reason": refusal.reason} for refusal in undone.refused]
        return {"entry": undone.entry, "of": undone.of, "restored": undone.ids, "refused": refused}

    def _undo_rewording(self, id: str) -> dict[str, Any] | None:
        """Let the memory that this one replaced hold again. None when it replaced none, or no longer holds itself."""
        newer = self._service.get(id)
        older = self._service.get(newer.supersedes) if newer and newer.supersedes else None
        if newer is None or older is None or newer.status is not Status.ACTIVE:
            return None
        with self._service.writing():
            self._service.forget(newer.id)
            restored = self._service.restore(older.id)
            if restored.status is not Status.ACTIVE:  # forgotten by the user before it was replaced
                restored = self._service.restore(older.id)
        self._after()
        return {"entry": "", "of": id, "restored": [restored.id], "refused": []}

    def journal(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What dreams, acceptances, undos and forgotten projects there were, newest first.

        With `id` all that one of them did (at most `changes`, from `offset`); with `lines` each also as lines of the file.
        """
        name, limit, offset = params.text("id"), params.count("limit", 20, low=1), params.count("offset", 0, high=MOST_ENTRIES)
        lines, most = params.flag("lines"), params.count("changes", MOST_ENTRIES, low=1, high=MOST_ENTRIES)
        params.done()
        if name:
            head, records = self._sweep.journal.head(name), self._sweep.journal.records(name, offset, most + 1)
            left = max(1, head.memories - offset - most) if len(records) > most else 0  # what was purged is not among the records
            return {"entry": _head(head), "changes": [_record(record, lines) for record in records[:most]], "left_out": left}
        names = self._sweep.journal.names()[::-1]
        shown = names[offset : offset + limit]
        return {
            "entries": [_head(self._sweep.journal.head(name)) for name in shown],
            "left_out": max(0, len(names) - offset - len(shown)),
        }

    def why(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Where a memory came from, what used it, what changed it."""
        id = params.id()
        params.done()
        path = self._service.markdown.path_of(id)
        return why(id, self._service, self._state.ledger, self._sweep.journal) | {"path": str(path) if path else ""}

    def proposals(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What waits for the user's consent, and contradictions that only the user can settle.

        At most `most` of each, the proposals from `first` on. With `lines` each change also as lines of the memory's file.
        """
        lines, first = params.flag("lines"), params.count("first", 0, high=MOST_ENTRIES)
        most = params.count("most", MOST_ENTRIES, low=1, high=MOST_ENTRIES)
        params.done()
        page = self._sweep.proposals.page(first, most)
        pairs = (self._undecided(pair) for pair in page.undecided)
        shown = list(islice((pair for pair in pairs if pair is not None), most))
        return {
            "proposals": [_proposal(proposal, lines) for proposal in page.proposals],
            "total": page.total,
            "undecided": shown,
            "undecided_left": len(page.undecided) - most if len(shown) == most else 0,
        }

    def _undecided(self, pair: Undecided) -> dict[str, Any] | None:
        """None when it is settled: one of the two is active no more."""
        found = [item for id in (pair.first, pair.second) if (item := self._service.get(id)) is not None]
        active = [{"id": item.id, "content": item.content} for item in found if item.status is Status.ACTIVE]
        return {"memories": active, "reason": pair.reason} if len(active) == 2 else None  # noqa: PLR2004 - a pair

    def forget_project(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Hide all memories of one project, as `forget` does; one journal entry, so that `undo` brings them back.

        Memories for all projects (scope user) stay. `project` is an id, or an unambiguous name. With `dry_run` only count.
        """
        named, dry = params.required("project"), params.flag("dry_run")
        params.done()
        project = self._registry.find(named) or named
        items = [item for item in self._service.all() if _belongs(item, project)]
        name = self._registry.known().get(project, "")
        if not items and not name:
            raise NotFoundError(f"There is no project '{named}' (or the name is ambiguous).", fix="See 'memoryd projects'.")
        entry = "" if dry or not items else self._sweep.forget(items, f"forget project {name or project}")
        self._after()
        return {"project": project, "name": name or project, "memories": len(items), "entry": entry}

    # By itself

    def slots(self, dream_time: str) -> list[Slot]:
        """The nightly dream, and the early one of a machine that is idle."""
        return [
            Slot("dream", lambda: self._run("nightly"), daily_at=dream_time, last_run=self._sweep.last_run()),
            Slot("dream when idle", self._when_idle, every_seconds=IDLE_CHECK_SECONDS),
        ]

    def _when_idle(self) -> None:
        if self._sweep.is_due_when_idle():
            self._run("idle")

    def _run(self, trigger: str) -> None:
        with contextlib.suppress(DreamRunning):  # somebody was quicker: once is enough
            self._sweep.run(trigger)
            self._after()

    def _after(self) -> None:
        """The answers for hooks that find no daemon must not show what is replaced now."""
        for id, name in self._registry.known().items():
            if anchors := self._registry.anchors(id):
                self._injector.cache_governance(Project(id, name, anchors[0]))

    # Beside other calls

    def erase(self, id: str) -> None:
        """Delete a memory from snapshots and proposals, before it is purged."""
        for each in (id, *self._service.wordings(id)) if is_id(id) else ():
            self._sweep.erase(each)

    def summary(self) -> dict[str, Any]:
        """What the status says about dreams."""
        waiting, undecided = self._sweep.proposals.counts()
        notes = {"last_run": self._state.note(LAST_RUN), "last_error": self._state.note(LAST_ERROR)}
        return {**notes, "proposals": waiting, "undecided": undecided}

    def note_returned(self, answer: Mapping[str, Any], cwd: str) -> None:
        """Note that a recall gave these hits to the session that is at work in the folder."""
        sessions = self._state.sessions(RECENT_SESSIONS)
        session = next((record.session for record in sessions if record.cwd == cwd), UNKNOWN_SESSION)
        self._state.ledger.record_use([hit["id"] for hit in answer["hits"] if not hit.get("unsure")], session, How.RETURNED)


def _named(ids: Sequence[str]) -> list[str]:
    return [] if EVERYTHING in ids else list(ids)


def _answer(status: str, report: Report, lines: int = 0) -> dict[str, Any]:
    draft = report.draft
    return {
        "status": status,
        "entry": report.entry,
        "counts": _counts(report.applied),
        "changes": [_change(change, place < lines) for place, change in enumerate(report.applied)],
        "proposals": [_proposal(proposal) for proposal in draft.proposals],
        "undecided": [{"first": pair.first, "second": pair.second, "reason": pair.reason} for pair in draft.undecided],
        "refused_before": draft.refused,
        "model_failed": draft.counts.get("llm_failed", 0),
        "changed_meanwhile": sorted({change.id for change in report.stale}),
        "left_out": 0,
    }


def _counts(changes: Iterable[Change]) -> dict[str, int]:
    out: dict[str, int] = {}
    for change in changes:
        out[change.stage] = out.get(change.stage, 0) + 1
    return out


def _belongs(item: MemoryItem, project: str) -> bool:
    return item.project == project and item.scope is not Scope.USER and item.status is not Status.BLACKLISTED


def _change(change: Change, lines: bool = False) -> dict[str, Any]:
    told = _diff(change.id, change.stage, change.action.value, change.reason, change.group, change.before, change.after)
    return told | ({"lines": file_lines(change.before, change.after)} if lines else {})


def _record(record: Record, lines: bool = False) -> dict[str, Any]:
    told = _diff(record.id, record.stage, record.action.value, record.reason, record.group, record.before, record.after)
    return told | ({"lines": file_lines(record.before, record.after)} if lines else {})


def _diff(
    id: str, stage: str, action: str, reason: str, group: str, before: MemoryItem | None, after: MemoryItem | None
) -> dict[str, Any]:
    shown = after or before
    fields = {name: pair for name, pair in differences(before, after).items() if name not in _BORING}
    content = item_to_dict(shown)["content"] if shown else ""
    return {
        "id": id,
        "stage": stage,
        "action": action,
        "reason": reason,
        "group": group,
        "content": content,
        "new": before is None,
        "gone": after is None,
        "differences": fields,
    }


def _proposal(proposal: Proposal, lines: bool = False) -> dict[str, Any]:
    changes = [_change(change, lines) for change in proposal.changes]
    return {"id": proposal.id, "why": proposal.why, "since": proposal.since, "changes": changes}


def _head(head: Head) -> dict[str, Any]:
    return {
        "id": head.name,
        "kind": head.kind.value,
        "at": head.at,
        "trigger": head.trigger,
        "step": head.step.value,
        "of": head.of,
        "memories": head.memories,
        "counts": dict(head.counts),
        "undone": list(head.undone),
        "note": head.note,
    }
