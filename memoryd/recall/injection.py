"""Context that hooks inject into a session: governance at the start, and relevant memories with prompts.

A memory is injected once while it remains in the session's context, and again after compaction or /clear. When in doubt, nothing
is injected.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memoryd.clients.registry import CLAUDE_CODE
from memoryd.core.clock import SKEW, from_iso
from memoryd.core.config import Settings
from memoryd.core.files import write_atomic
from memoryd.core.paths import spellings
from memoryd.core.project import ProjectRegistry
from memoryd.core.protocols import Clock
from memoryd.core.state import Handoff, State
from memoryd.core.trial import Arm
from memoryd.core.types import EPOCH, Kind, LinkType, MemoryItem, Project, Query, Status
from memoryd.daydream.admission import is_excluded
from memoryd.recall.current_code import CurrentCode
from memoryd.recall.governance import Governance, drop_contradicted, govern, governance_of, handoffs_for
from memoryd.recall.known_already import KnownAlready
from memoryd.recall.offer import Offering
from memoryd.recall.prompt_block import fit, harmless, item_line, overhead, render_block
from memoryd.retrieval import asked_listing, query_terms
from memoryd.service import EVERY_PROJECT, Orchestrator

PROMPT_CANDIDATES = 8
PROMPT_MARGIN = 0.1
PROMPT_CHARACTERS = 2_000
MIN_TERMS = 2
NEW_ITEMS = 6
NEW_SHARE = 0.2
CACHE_TRIES = 5
PROMPT_REASON = "may bear on this prompt"
HANDOFF_REASON = "where the last session here left off"
ASKED_HANDOFF_REASON = "where earlier sessions here left off"
COMPACTED_REASON = "where this session was before its conversation was compacted"
SUBAGENT_REASON = "may bear on the subagent's task"
SUBAGENT_BUDGET = 300
MAX_HANDOFFS = 2
NEW_REASON = "new since your last session here"
_NOT_A_PROMPT = re.compile(r"\s*(/|!|<task-notification>|<command-|<local-command|<bash-)")
_SEES_NOTHING = frozenset({"clear", "compact"})
_BEGINS = frozenset({"startup", "clear"})


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """The relevant parts of a hook's payload."""

    session: str
    project: Project
    source: str = ""
    prompt: str = ""
    subagent: bool = False
    cwd: str = ""

    @property
    def folder(self) -> str:
        """The folder in which the session works."""
        return self.cwd or self.project.root


def hook_output(event: str, context: str, message: str = "") -> bytes:
    """Return a hook's output for the client, or empty output if there is nothing to report.

    Only additionalContext reaches the model. systemMessage is shown to the user.
    """
    return CLAUDE_CODE.write_answer(event, context, message)


class Injector:
    """Chooses a session's context and records the injected memories."""

    def __init__(self, service: Orchestrator, state: State, settings: Settings, clock: Clock, registry: ProjectRegistry) -> None:
        self._service = service
        self._state = state
        self._settings = settings
        self._clock = clock
        self._registry = registry
        self.code = CurrentCode(registry)
        self.known_already = KnownAlready(state)
        self._offering = Offering(service, state, settings, clock)

    def governance(self, project: str, budget: int | None = None, root: str = "", for_file: bool = False) -> Governance:
        """Return the project's governance within the budget (default: the session budget), or nothing if memory is off.

        `root` is the working tree against which memories about code are checked. `for_file` includes what rules files say, for
        the export to one of them.
        """
        tokens = self._settings.session_budget if budget is None else budget
        if self._state.is_off(project):
            return govern((), self._clock.now(), tokens)
        current = partial(self._unasked, project=project, root=root, for_file=for_file)
        return governance_of(self._service, self._state, project, self._clock.now(), tokens, current)

    def _unasked(self, items: Iterable[MemoryItem], project: str, root: str, for_file: bool = False) -> list[MemoryItem]:
        """Return the memories that may be given unasked: they fit the code, and no rules file of the client has them."""
        current = self.code.current(items, root)
        return current if for_file else self.known_already.unasked(current, project)

    def handoffs(self, project: str) -> list[Handoff]:
        """Return the project's handoffs, latest first."""
        return self._state.handoffs(project)

    def session_start(self, event: SessionEvent) -> str:
        """Return the context for SessionStart: governance and new memories, within the session budget."""
        if self._is_control(event):
            return ""
        if event.source in _SEES_NOTHING:
            self._state.forget_injections(event.session)
        cached = self.cache_governance(event.project) if self._settings.inject_session else None
        whole = cached if event.folder == event.project.root else None  # Rules for other sub-folders don't bind here.
        given = self._govern_session(event, whole) if self._settings.inject_session else ""
        offer = self._offering.at_start(event.session, event.project.id) if event.source in _BEGINS else ""
        return "\n".join(filter(None, [self._handoff(event), given, offer]))

    def _handoff(self, event: SessionEvent) -> str:
        """Return the last session's handoff. Only the next session receives it."""
        latest = next(iter(self._state.handoffs(event.project.id)), None) if self._settings.inject_session else None
        if latest is not None and latest.session == event.session and event.source == "compact":
            return self._hand_off([latest], COMPACTED_REASON)  # Its log was read when the compaction began.
        if latest is None or latest.shown or latest.session == event.session:
            return ""
        return self._hand_off([latest], HANDOFF_REASON)

    def _asked_handoff(self, event: SessionEvent) -> str:
        """Return the handoffs requested by a prompt such as `where did we leave off?`, even if already shown."""
        if not self._settings.inject_prompt or _NOT_A_PROMPT.match(event.prompt):
            return ""
        others = [handoff for handoff in self._state.handoffs(event.project.id) if handoff.session != event.session]
        return self._hand_off(handoffs_for(event.prompt, others, self._clock.now(), MAX_HANDOFFS), ASKED_HANDOFF_REASON)

    def _hand_off(self, handoffs: Sequence[Handoff], reason: str) -> str:
        for handoff in handoffs:
            self._state.set_handoff_shown(handoff.session)
        return render_block([f"- {h.at[:16].replace('T', ' ')}: {harmless(h.text)}" for h in handoffs], reason)

    def _govern_session(self, event: SessionEvent, whole: Governance | None = None) -> str:
        """Return governance and new memories. `whole` is the governance for the full budget, if already computed."""
        seen = self._state.injected(event.session)
        fresh = [item for item in self._new_items(event) if item.id not in seen]
        budget = self._settings.session_budget
        if whole is None or fresh:
            room = budget - int(budget * NEW_SHARE) if fresh else budget
            whole = self.governance(event.project.id, room, event.folder)
        chosen = whole
        self._state.set_governed(event.session)
        if chosen.ids and set(chosen.ids) <= seen:
            return ""
        kept, _ = fit([item for item in fresh if item.id not in chosen.ids], budget - chosen.tokens - overhead(NEW_REASON))
        self._state.record_injection(event.session, [*chosen.ids, *(item.id for item in kept)], "SessionStart")
        return "\n".join(filter(None, [chosen.text, render_block([item_line(item) for item in kept], NEW_REASON)]))

    def _new_items(self, event: SessionEvent) -> list[MemoryItem]:
        last = next((s for s in self._state.sessions(200) if s.project == event.project.id and s.session != event.session), None)
        if last is None:
            return []
        now = self._clock.now()  # A memory dated by a fast clock would count as new for years.
        from_then = Query(project=event.project.id, created_after=from_iso(last.started_at), created_before=now + SKEW, now=now)
        found = self._drop_contradicted([hit.item for hit in self._service.search(from_then, NEW_ITEMS)])
        return self._unasked(found, event.project.id, event.folder)

    def _drop_contradicted(self, items: Sequence[MemoryItem]) -> list[MemoryItem]:
        """Remove items that lose to a contradicting active memory, whether it is in the list or not."""
        known = {item.id: item for item in items}
        targets = {link.target for item in items for link in item.links if link.type is LinkType.CONTRADICTS} - known.keys()
        others = [
            other for other in map(self._service.get, sorted(targets)) if other is not None and other.status is Status.ACTIVE
        ]
        return [item for item in drop_contradicted([*items, *others]) if item.id in known]

    def prompt(self, event: SessionEvent) -> str:
        """Return the context for a prompt: outstanding governance, relevant memories, and an offer to settle candidates."""
        if self._is_control(event):
            return ""
        owed = self._pending_governance(event)
        parts = [self._asked_handoff(event) or self._handoff(event), owed, self._relevant(event), self._offer(event)]
        return "\n".join(filter(None, parts))

    def subagent_start(self, event: SessionEvent) -> str:
        """Return the context for a subagent: the user's rules, and memories relevant to its task (the event's prompt)."""
        if self._is_control(event) or not self._settings.inject_tools:
            return ""
        whole = self.governance(event.project.id, SUBAGENT_BUDGET, event.folder)
        rules = [*whole.dont, *whole.do, *(item for item in whole.know if item.kind is Kind.RULE)]
        found = self._fitting_hits(event) if is_searchable(event.prompt) else []
        known = {item.id for item in rules}
        room = SUBAGENT_BUDGET - overhead(SUBAGENT_REASON)
        kept, _ = fit([*rules, *(item for item in found if item.id not in known)], room)
        self._state.record_injection(event.session, [item.id for item in kept], "SubagentStart")
        return render_block([item_line(item) for item in kept], SUBAGENT_REASON)

    def _is_control(self, event: SessionEvent) -> bool:
        """Return whether the session is in the control arm of a trial and therefore gets no memory."""
        return self._state.trial.enter(event.session, event.project.id) is Arm.CONTROL

    def prepare_offer(self, session: str, project: str) -> None:
        """Prepare the offer for the next prompt after the session's log has been read."""
        self._offering.prepare(session, project)

    def _offer(self, event: SessionEvent) -> str:
        """Return an offer if the user typed the prompt.

        Commands, notifications and prompts of subagent tasks don't count.
        """
        if event.subagent or not event.prompt.strip() or _NOT_A_PROMPT.match(event.prompt):
            return ""
        return self._offering.with_prompt(event.session, event.project.id)

    def _pending_governance(self, event: SessionEvent) -> str:
        record = self._state.session(event.session)
        if not self._settings.inject_session or (record is not None and record.governed):
            return ""
        return self._govern_session(event)

    def _relevant(self, event: SessionEvent) -> str:
        if not self._settings.inject_prompt or not is_searchable(event.prompt):
            return ""
        seen = self._state.injected(event.session)
        fresh = [item for item in self._fitting_hits(event) if item.id not in seen]
        kept, _ = fit(fresh, self._settings.prompt_budget - overhead(PROMPT_REASON))
        self._state.record_injection(event.session, [item.id for item in kept], "UserPromptSubmit")
        return render_block([item_line(item) for item in kept], PROMPT_REASON)

    def _fitting_hits(self, event: SessionEvent) -> list[MemoryItem]:
        """Return the memories clearly relevant to the event's prompt, checked against the current code."""
        query = Query(text=event.prompt[:PROMPT_CHARACTERS], project=event.project.id, now=self._clock.now())
        sure = self._settings.floor + PROMPT_MARGIN
        hits = [hit for hit in self._service.search(query, PROMPT_CANDIDATES) if hit.relevancy >= sure]
        return self._unasked(self._drop_contradicted([hit.item for hit in hits]), event.project.id, event.folder)

    def cache_governance(self, project: Project, *, off: bool = False) -> Governance | None:
        """Cache the SessionStart response for hooks that find no daemon (see docs/design/daemon-protocol.md).

        The cached response is empty when memory is off. Returns the governance for the full session budget, or None if memory or
        injection at session start is off.
        """
        for _ in range(CACHE_TRIES):
            revision = self._service.revision
            governance = self._cache(project, off=off)
            if self._service.revision == revision:  # Otherwise, another thread may already have cached a newer response.
                break
        return governance

    def _cache(self, project: Project, *, off: bool) -> Governance | None:
        answer, governance = b"", None
        if self._settings.inject_session and not off and not self._state.is_off(project.id):
            governance = self.governance(project.id, root=project.root)
            # A hook without a daemon can't determine a trial's arm, so it injects nothing. The missing context is
            # added with the first prompt.
            answer = b"" if self._state.trial.share else hook_output("SessionStart", governance.text)
        self._note_closed_folders()
        for anchor in {project.common_dir or project.root, *self._registry.anchors(project.id)}:
            closed = is_excluded(self._settings, anchor) or self._state.is_off(project.id, anchor)
            self._put(self._cache_file(anchor), b"" if closed else answer)
        return governance

    def refresh_cache(self, projects: Collection[str]) -> None:
        """Update the cached responses of the given projects (EVERY_PROJECT means all), and delete orphaned ones."""
        self._note_closed_folders()
        folder = self._settings.paths.governance_cache
        left = set(folder.glob("*.json")) if folder.is_dir() else set()
        for id, name in self._registry.known().items():
            files = {self._cache_file(anchor): anchor for anchor in self._registry.anchors(id)}
            wanted = bool(left & files.keys()) and (id in projects or EVERY_PROJECT in projects)
            left -= files.keys()
            if wanted:
                self.cache_governance(Project(id, name, next(iter(files.values()))))
        for orphan in left:  # The folder no longer belongs to a project.
            orphan.unlink(missing_ok=True)

    def _note_closed_folders(self) -> None:
        """Record the folders where memory is off. Such a folder may contain a worktree of a repository located elsewhere."""
        lines = [f"{'-' if off else '+'}{folder}" for folder, off in self._state.switches.folders().items()]
        lines += [f"!{path}" for entry in self._settings.exclude for path in spellings(entry)]
        target = self._settings.paths.governance_cache / CLOSED_FOLDERS
        self._put(target, "\n".join(sorted(lines)).encode("utf-8", "surrogateescape"))
        os.utime(target)  # A hook compares it with config.toml, which a person may have changed since.

    def close_cache(self) -> None:
        """Clear the cached responses of excluded folders. The exclusion may have been added while no daemon was running."""
        self._note_closed_folders()
        for id in self._registry.known() if self._settings.exclude else ():
            for anchor in self._registry.anchors(id):
                if is_excluded(self._settings, anchor) and (target := self._cache_file(anchor)).exists():
                    self._put(target, b"")

    def drop_cache(self, id: str) -> None:
        """Clear cached responses that contain a memory before that memory is deleted.

        If the process is killed in between, no cached copy remains.
        """
        folder = self._settings.paths.governance_cache
        for path in folder.glob("*.json") if folder.is_dir() else ():
            if id.encode() in path.read_bytes():
                write_atomic(path, b"")

    def _put(self, target: Path, answer: bytes) -> None:
        if not target.exists() or target.read_bytes() != answer:
            write_atomic(target, answer)

    def _cache_file(self, anchor: str) -> Path:
        return self._settings.paths.governance_cache / f"{cache_key(anchor)}.json"


# Each line is a folder with a prefix: `-` off, `+` on, `!` excluded. The hook reads the file without importing memoryd.
CLOSED_FOLDERS = "closed"


def cache_key(anchor: str) -> str:
    """Return the SHA-256 of the path's bytes as hex. The hook computes the same value without importing memoryd."""
    return hashlib.sha256(os.fsencode(anchor)).hexdigest()


def is_searchable(prompt: str) -> bool:
    """Return whether a prompt has enough content for a search. Commands, notifications and bare confirmations don't."""
    if _NOT_A_PROMPT.match(prompt):
        return False
    text = prompt[:PROMPT_CHARACTERS]
    return len(query_terms(text)) >= MIN_TERMS or asked_listing(text, EPOCH) is not None
