"""Operations on dreams, proposals and the journal, and the schedule of dreams."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict, cast

from memoryd.api.parameters import ALL, count, flag, memory_id, request, text, texts
from memoryd.api.registry import Caller, Shown, Tool, operation
from memoryd.core.clock import SimulatedClock
from memoryd.core.codec import is_id, item_to_dict
from memoryd.core.errors import InputError, NotFoundError
from memoryd.core.text import one_line
from memoryd.core.types import MemoryItem, Scope, Status
from memoryd.daemon.contract import Slot
from memoryd.lineage import merged_ids

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.dream.journal import EntrySummary, JournalRecord
    from memoryd.dream.plan import Change, UndecidedConflict
    from memoryd.dream.proposals import Proposal
    from memoryd.dream.sweep import Report

IDLE_CHECK_SECONDS = 60.0
MAX_ENTRIES = 1_000_000
_HIDDEN_FIELDS = frozenset({"backends", "trust"})


@request
class RunDream:
    """The parameters of `dream`."""

    dry_run: bool = flag("Only report what would be done.", default=True)
    lines: int = count(default=0, high=MAX_ENTRIES, help="Number of changes for which to include a diff.", in_tool=False)


class DreamAnswer(TypedDict):
    """The result of a dream, or its plan in a dry run."""

    status: Annotated[str, Shown("planned, done or nothing to do.", always=True)]
    entry: Annotated[str, Shown("The journal entry, for undo.")]
    counts: dict[str, int]
    changes: Annotated[list[dict[str, Any]], Shown("id, stage, action, reason, differences.", always=True)]
    proposals: Annotated[list[dict[str, Any]], Shown("Changes that need the user's consent.")]
    undecided: Annotated[list[dict[str, Any]], Shown("Contradictions for the user to resolve.")]
    refused_before: int
    model_failed: int
    changed_meanwhile: list[str]
    left_out: Annotated[int, Shown("How many more there are.")]


@operation(
    RunDream,
    DreamAnswer,
    tool=Tool(
        "Clean up the memory",
        "Merge duplicates, resolve contradictions and let old memories fade. By default it only reports what it would do and why "
        "(dry run): show that to the user. Call it with dry_run false only after the user agreed. What the user wrote, pinned or "
        "edited is never changed without consent but becomes a proposal; the user can undo everything with `memoryd undo`.",
        order=120,
        read_only=False,
        list_key="changes",
        more="the user can see all of it with memoryd dream --dry-run",
    ),
)
def dream(runtime: Runtime, request: RunDream, caller: Caller) -> DreamAnswer:
    """Merge, correct and forget memories. By default (`dry_run`), only report what would be done.

    `lines` is the number of changes that include a diff of the memory's file.
    """
    from memoryd.daemon.threads import lower_priority
    from memoryd.dream.sweep import Report

    lower_priority()  # This thread must be free for hooks, which are more urgent.
    if request.dry_run:
        draft = runtime.sweep.draft()
        return _answer("planned", Report("", draft, draft.changes), request.lines)
    report = runtime.sweep.run("asked for by the model" if caller.is_model else "by hand")
    runtime.refresh_answers()
    return _answer("done" if report.entry else "nothing to do", report, request.lines)


@request
class Decide:
    """The ids of the proposals to accept or refuse. "all" selects every pending proposal."""

    accept: tuple[str, ...] = texts(help="Proposals to apply.")
    refuse: tuple[str, ...] = texts(help="Proposals to refuse permanently.")


class Decided(TypedDict):
    """The applied and the refused proposals."""

    refused: list[str]
    entry: str
    accepted: list[dict[str, Any]]
    changed_since: list[str]


@operation(Decide, Decided, person_only=True)
def decide(runtime: Runtime, request: Decide, caller: Caller) -> Decided:
    """Apply (`accept`) or refuse proposals. The id "all" selects every pending proposal."""
    accepted, refused = request.accept, request.refuse
    if not accepted and not refused:
        raise InputError("decide: no proposal given.", fix="Give the proposals to accept or refuse; see 'memoryd proposals'.")
    gone = runtime.sweep.refuse(_named(refused)) if refused else []
    report = runtime.sweep.accept(_named(accepted)) if accepted else None
    runtime.refresh_answers()
    return {
        "refused": gone,
        "entry": report.entry if report else "",
        "accepted": [_change(change) for change in report.applied] if report else [],
        "changed_since": sorted({change.id for change in report.stale}) if report else [],
    }


@request
class Undo:
    """The journal entry or the memory to undo. The default is the latest entry that has not been undone."""

    id: str = text(help="A journal entry, or a memory.")
    only: tuple[str, ...] = texts(help="Undo only this memory's change of the journal entry. May be repeated.")


class UndoneChanges(TypedDict):
    """The restored memories. `note` gives the wording that is active again after undoing a rewording."""

    entry: str
    of: str
    restored: list[str]
    refused: list[dict[str, str]]
    note: NotRequired[str]


@operation(Undo, UndoneChanges, person_only=True)
def undo(runtime: Runtime, request: Undo, caller: Caller) -> UndoneChanges:
    """Undo a journal entry or the last change of a memory. Without an id, undo the latest entry not yet undone.

    With `only` (memory ids), undo only these changes in the entry and the changes that depend on them.
    """
    target, only = request.id, request.only
    if only and is_id(target):
        raise InputError("undo: 'only' requires a journal entry.", fix="Give the entry's name, e.g. dream-0007.")
    if only and not target:
        raise InputError("undo: no entry given.", fix="Give its name: see 'memoryd journal'.")
    try:
        undone = runtime.sweep.undo(target, only)
    except NotFoundError:
        if not is_id(target):
            raise
        item = runtime.service.require(target)
        if not (reworded := _undo_rewording(runtime, target)):
            raise _nothing_to_undo(item) from None
        return reworded
    if undone.entry:
        runtime.injector.known_already.drop(undone.of)
    runtime.refresh_answers()
    refused = [{"id": refusal.id, "path": refusal.path, "reason": refusal.reason} for refusal in undone.refused]
    return {"entry": undone.entry, "of": undone.of, "restored": undone.ids, "refused": refused}


def _nothing_to_undo(item: MemoryItem) -> NotFoundError:
    """Return an error with a suggestion, since the user may have forgotten or replaced the memory by hand."""
    if item.status is Status.ACTIVE:
        return NotFoundError(f"No dream and no edit has changed {item.id}.", fix=f"See 'memoryd why {item.id}'.")
    what = "forgotten" if item.status is Status.BLACKLISTED else item.status.value
    return NotFoundError(f"{item.id} is {what}, but not because of a dream.", fix=f"Restore it with 'memoryd restore {item.id}'.")


def _undo_rewording(runtime: Runtime, id: str) -> UndoneChanges | None:
    """Restore the memory that the given one replaced. Return None if there is none or the given one is no longer active."""
    newer = runtime.service.get(id)
    older = runtime.service.get(newer.supersedes) if newer and newer.supersedes else None
    if newer is None or older is None or newer.status is not Status.ACTIVE:
        return None
    with runtime.service.writing():
        runtime.service.forget(newer.id)
        restored = runtime.service.restore(older.id)
        if restored.status is not Status.ACTIVE:  # The user had forgotten the memory before it was replaced.
            restored = runtime.service.restore(older.id)
        merged = merged_ids(newer) if older.id in merged_ids(newer) else ()
        others = [runtime.service.restore(source).id for source in merged if source != older.id]
    runtime.refresh_answers()
    note = f"{restored.id} is active again: {one_line(restored.content)} ({id} is forgotten; 'memoryd restore {id}' restores it)"
    return {"entry": "", "of": id, "restored": [restored.id, *others], "refused": [], "note": note}


@request
class ReadJournal:
    """A page of the journal, or one entry."""

    id: str = text(help="An entry.")
    limit: int = count(default=20, low=1, help="At most this many entries.")
    offset: int = count(default=0, high=MAX_ENTRIES, help="How many to skip.")
    lines: bool = flag(flags=("--diff",), help="For one entry: include a diff of each file.")
    changes: int = count(default=MAX_ENTRIES, low=1, high=MAX_ENTRIES, help="For one entry: at most this many changes.")


class JournalAnswer(TypedDict):
    """Journal entries, newest first, or one entry with its changes."""

    entries: NotRequired[list[dict[str, Any]]]
    entry: NotRequired[dict[str, Any]]
    changes: NotRequired[list[dict[str, Any]]]
    left_out: int


@operation(ReadJournal, JournalAnswer)
def journal(runtime: Runtime, request: ReadJournal, caller: Caller) -> JournalAnswer:
    """List dreams, accepted proposals, undos and forgotten projects, newest first.

    With `id`, show up to `changes` changes of that entry, starting at `offset`. With `lines`, include a diff of each change.
    """
    name, limit, offset = request.id, request.limit, request.offset
    lines, most = request.lines, request.changes
    if name:
        head, records = runtime.sweep.journal.head(name), runtime.sweep.journal.records(name, offset, most + 1)
        left = max(1, head.memories - offset - most) if len(records) > most else 0  # Purged memories have no record.
        return {"entry": _head(head), "changes": [_record(record, lines) for record in records[:most]], "left_out": left}
    names = runtime.sweep.journal.names()[::-1]
    shown = names[offset : offset + limit]
    return {
        "entries": [_head(runtime.sweep.journal.head(name)) for name in shown],
        "left_out": max(0, len(names) - offset - len(shown)),
    }


@request
class ExplainMemory:
    """The memory to explain."""

    id: str = memory_id(argument=True)


class MemoryHistory(TypedDict):
    """The origin, uses and changes of a memory."""

    memory: dict[str, Any]
    is_there: bool
    origin: dict[str, Any]
    replaces: list[str]
    replaced_by: list[str]
    edited_by_hand: bool
    used: dict[str, int]
    uses: list[dict[str, Any]]
    changes: list[dict[str, Any]]
    path: str


@operation(ExplainMemory, MemoryHistory)
def why(runtime: Runtime, request: ExplainMemory, caller: Caller) -> MemoryHistory:
    """Show the origin, uses and changes of a memory."""
    from memoryd.dream.why import why as story_of

    found = story_of(request.id, runtime.service, runtime.state.ledger, runtime.sweep.journal)
    return cast("MemoryHistory", {**found, "path": runtime.path_of(request.id)})


@request
class ListProposals:
    """A page of proposals."""

    lines: bool = flag(flags=("--diff",), help="Include a diff of each file.")
    first: int = count(default=0, high=MAX_ENTRIES, help="How many to skip.")
    most: int = count(default=MAX_ENTRIES, low=1, high=MAX_ENTRIES, help="At most this many proposals and contradictions.")


class ProposalPage(TypedDict):
    """Changes that need the user's consent, and contradictions that only the user can resolve."""

    proposals: list[dict[str, Any]]
    total: int
    undecided: list[dict[str, Any]]
    undecided_left: int


@operation(ListProposals, ProposalPage)
def proposals(runtime: Runtime, request: ListProposals, caller: Caller) -> ProposalPage:
    """List changes that need the user's consent, and contradictions that only the user can resolve.

    At most `most` of each are listed, and proposals start at `first`. With `lines`, each change includes a diff.
    """
    lines, first = request.lines, request.first
    most = request.most
    page = runtime.sweep.proposals.page(first, most)
    pairs = (_undecided(runtime, pair) for pair in page.undecided)
    shown = list(islice((pair for pair in pairs if pair is not None), most))
    return {
        "proposals": [_proposal(proposal, lines) for proposal in page.proposals],
        "total": page.total,
        "undecided": shown,
        "undecided_left": len(page.undecided) - most if len(shown) == most else 0,
    }


def _undecided(runtime: Runtime, pair: UndecidedConflict) -> dict[str, Any] | None:
    """Return the two contradicting memories, or None if one of them is no longer active."""
    found = [item for id in (pair.first, pair.second) if (item := runtime.service.get(id)) is not None]
    active = [{"id": item.id, "content": item.content} for item in found if item.status is Status.ACTIVE]
    return {"memories": active, "reason": pair.reason} if len(active) == 2 else None  # noqa: PLR2004 - a pair


@request
class ForgetProject:
    """The project to forget."""

    project: str = text(required=True, help="Its id, or an unambiguous name.")
    dry_run: bool = flag(help="Only count the memories.")


class ForgottenProject(TypedDict):
    """The number of hidden memories. Undo `entry` to restore them."""

    project: str
    name: str
    memories: int
    entry: str


@operation(ForgetProject, ForgottenProject, person_only=True)
def forget_project(runtime: Runtime, request: ForgetProject, caller: Caller) -> ForgottenProject:
    """Hide all memories of a project, as `forget` does. `undo` reverts this as one journal entry.

    Memories that apply to all projects (scope user) are kept. `project` is an id or an unambiguous name. With
    `dry_run`, only count.
    """
    named, dry = request.project, request.dry_run
    project = runtime.registry.find(named) or named
    items = [item for item in runtime.service.all() if _belongs(item, project)]
    name = runtime.registry.known().get(project, "")
    if not items and not name:
        raise NotFoundError(f"There is no project '{named}' (or the name is ambiguous).", fix="See 'memoryd projects'.")
    entry = "" if dry or not items else runtime.sweep.forget(items, f"forget project {name or project}")
    if not dry:
        runtime.state.drop_handoffs(project=project)
        runtime.state.compliance.forget(*(item.id for item in items))
    runtime.refresh_answers()
    return {"project": project, "name": name or project, "memories": len(items), "entry": entry}


def slots(runtime: Runtime) -> list[Slot]:
    """Return the recurring jobs: the nightly dream, and the check whether to dream early on an idle machine."""
    at = runtime.settings.dream_time
    # Sessions at simulated times may be months apart even though the machine did not sleep through any night.
    last_run = None if isinstance(runtime.clock, SimulatedClock) else runtime.sweep.last_run()
    return [
        Slot("dream", lambda: _run(runtime, "nightly"), daily_at=at, last_run=last_run),
        Slot("dream when idle", lambda: _when_idle(runtime), every_seconds=IDLE_CHECK_SECONDS),
    ]


def _when_idle(runtime: Runtime) -> None:
    if runtime.sweep.is_due_when_idle():
        _run(runtime, "idle")


def _run(runtime: Runtime, trigger: str) -> None:
    from memoryd.dream.sweep import DreamRunning

    with contextlib.suppress(DreamRunning):  # Another dream is already running, so this one is not needed.
        runtime.sweep.run(trigger)
        runtime.refresh_answers()


def _named(ids: Sequence[str]) -> list[str]:
    return [] if ALL in ids else list(ids)


def _answer(status: str, report: Report, lines: int = 0) -> DreamAnswer:
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
    from memoryd.dream.journal import file_lines

    shown = _diff(change.id, change.stage, change.action.value, change.reason, change.group, change.before, change.after)
    return shown | ({"lines": file_lines(change.before, change.after)} if lines else {})


def _record(record: JournalRecord, lines: bool = False) -> dict[str, Any]:
    from memoryd.dream.journal import file_lines

    shown = _diff(record.id, record.stage, record.action.value, record.reason, record.group, record.before, record.after)
    return shown | ({"lines": file_lines(record.before, record.after)} if lines else {})


def _diff(
    id: str, stage: str, action: str, reason: str, group: str, before: MemoryItem | None, after: MemoryItem | None
) -> dict[str, Any]:
    from memoryd.dream.why import differences

    shown = after or before
    fields = {name: pair for name, pair in differences(before, after).items() if name not in _HIDDEN_FIELDS}
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


def _head(head: EntrySummary) -> dict[str, Any]:
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
