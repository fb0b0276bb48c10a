"""The dependencies of operations: memories, state and settings. They are rebuilt when settings change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoryd.api.limits import unknown_to_model
from memoryd.api.parameters import ALL
from memoryd.core.errors import InputError, NotFoundError
from memoryd.core.types import Project, Query, Scope, Status
from memoryd.daydream.admission import is_excluded
from memoryd.daydream.handoff import holds

if TYPE_CHECKING:
    from memoryd.core.config import Settings
    from memoryd.core.project import ProjectRegistry
    from memoryd.core.protocols import Clock, Embedder
    from memoryd.core.state import State
    from memoryd.daydream.reconcile import Reconciler
    from memoryd.dream.sweep import Sweep
    from memoryd.llm.claude import Logins
    from memoryd.recall.guard import Guard
    from memoryd.recall.injection import Injector
    from memoryd.service import Orchestrator

_SWITCH_ON = "The user can switch it on: memoryd on"
_LISTS_OF_MEMORIES = ("hits", "weak", "memories", "related", "events")


@dataclass(frozen=True, slots=True)
class Runtime:
    """The objects that handlers use.

    Attributes:
        started: The settings at daemon start.
        renew: Reloads the settings.
        daemon: Returns information on the daemon's process, or None outside a daemon.
    """

    settings: Settings
    started: Settings
    clock: Clock
    service: Orchestrator
    state: State
    registry: ProjectRegistry
    injector: Injector
    reconciler: Reconciler
    sweep: Sweep
    logins: Logins
    embedder: Embedder | None
    renew: Callable[[], None]
    guard: Guard
    daemon: Callable[[], Mapping[str, Any]] | None = None

    # Projects

    def project_of(self, named: str, cwd: str) -> str | None:
        """Return the project id that a call refers to.

        Args:
            named: An id or name, "all" (returns None), or empty for the project of the caller's folder.
            cwd: The caller's folder.

        Raises:
            NotFoundError: if the name matches no project or several.
        """
        if named == ALL:
            return None
        if named:
            found = self.registry.find(named) or self._known_from_files(named)
            if found is None:
                known = ", ".join(sorted(self.registry.known())) or "none yet"
                raise NotFoundError(f"There is no project '{named}' (or the name is ambiguous).", fix=f"Known ids: {known}.")
            return found
        return self.registry.resolve(cwd).id if cwd else None

    def required_project(self, named: str, cwd: str, operation: str) -> str:
        """Return the project id for an operation on a single project. Raises InputError if there is none."""
        project = self.project_of(named, cwd)
        if project is None:
            raise InputError(f"{operation}: which project?", fix="Pass project, or call from a project's folder.")
        return project

    def _known_from_files(self, project: str) -> str | None:
        """Return a project that has memories in the vault but no sessions, for example after restoring a backup."""
        theirs = Query(project=project, scopes=(Scope.PROJECT, Scope.TEAM), statuses=tuple(Status))
        return project if self.service.search(theirs, 1) else None

    def path_of(self, id: str) -> str:
        """Return the path of the memory's file, or an empty string if there is none."""
        path = self.service.path_of(id)
        return str(path) if path else ""

    # Switches set by the user

    def refuse_when_off(self, cwd: str, project: str, id: str) -> None:
        """Raise InputError if the caller is a model and memory is off for its folder, the named project or the memory."""
        if is_excluded(self.settings, cwd):
            raise InputError("This folder is excluded from memory.", fix="The user can change 'exclude' in config.toml.")
        if cwd and self.state.is_off(self.registry.resolve(cwd).id, cwd):
            raise InputError(f"Memory is switched off here: {self.switched(cwd)['why']}.", fix=_SWITCH_ON)
        found = self.registry.find(project) if project else None
        item = self.service.get(id) if id else None
        if found and self.is_off(found) or item is not None and item.scope is not Scope.USER and self.is_off(item.project):
            raise InputError("Memory is switched off for that project.", fix=_SWITCH_ON)

    def refuse_foreign_candidate(self, cwd: str, id: str) -> None:
        """Raise NotFoundError if a model refers to a candidate of another project.

        Candidates are settled in their own project.
        """
        item = self.service.get(id) if id and cwd else None
        if item is None or item.status is not Status.CANDIDATE or item.scope is Scope.USER or not item.project:
            return
        if item.project != self.registry.resolve(cwd).id:
            raise unknown_to_model(id)

    def switched(self, cwd: str) -> dict[str, str]:
        """Return whether memory is on in the folder, and which switch determines it. `switch` is a folder or project id."""
        if is_excluded(self.settings, cwd):
            return {"folder": cwd, "memory": "off", "switch": "exclude", "why": "the folder is excluded in config.toml"}
        found = self.state.switches.deciding(self.registry.known_project(cwd), cwd)
        if found is None:
            return {"folder": cwd, "memory": "on", "switch": "", "why": "nothing is switched off here"}
        memory = "off" if found.off else "on"
        what = f"{found.place} and everything below it" if Path(found.place).is_absolute() else f"the project {found.place}"
        return {"folder": cwd, "memory": memory, "switch": found.place, "why": f"it was switched {memory} for {what}"}

    def is_off(self, project: str) -> bool:
        """Return whether memory is off for the project, or all its folders are excluded."""
        anchors = self.registry.anchors(project)
        excluded = bool(anchors) and all(is_excluded(self.settings, anchor) for anchor in anchors)
        return excluded or self.state.is_off(project)

    def visible_to_model(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Remove forgotten memories and those of projects that are off from an answer, which may cover all projects."""
        off: dict[str, bool] = {}

        def shown(entry: Any) -> bool:
            memory = entry.get("memory", entry) if isinstance(entry, dict) else {}
            if memory.get("status") == Status.BLACKLISTED:
                return False
            project = str(memory.get("project") or "")
            if not project or memory.get("scope") == Scope.USER:
                return True
            return not off.setdefault(project, self.is_off(project))

        lists = {name: answer[name] for name in _LISTS_OF_MEMORIES if isinstance(answer.get(name), list)}
        return {**answer, **{name: [entry for entry in entries if shown(entry)] for name, entries in lists.items()}}

    # After changes

    def drop_traces(self, id: str) -> None:
        """Delete copies of a memory from handoffs, the compliance ledger and cached answers while it is being forgotten."""
        wordings = (id, *self.service.wordings(id))
        self.state.compliance.forget(*wordings)
        found = (self.service.get(each) for each in wordings)
        gone = [item for item in found if item is not None]
        sessions = {item.session for item in gone}
        texts = [text for item in gone for text in (item.content, *item.asked_as)]
        for handoff in self.state.all_handoffs() if gone else ():
            if handoff.session in sessions or any(holds(handoff.text, text) for text in texts):
                self.state.drop_handoffs(session=handoff.session)
        self.injector.drop_cache(id)

    def purge(self, id: str) -> list[str]:
        """Erase a memory, or the remains of one whose file was deleted, and its other wordings. Return their ids."""
        wordings = self.service.wordings(id)
        for each in (id, *wordings):
            self.sweep.erase(each)  # Must run first: it is refused during a dream, and no memory may remain half purged.
        self.drop_traces(id)
        dropped = self.dropped_with(id)
        self.state.set_purging([id, *wordings, *dropped])
        try:
            gone = self.service.purge(id, dropped)
        except NotFoundError:
            self.state.set_purging([])
            raise
        self._end_purge(gone)
        return gone

    def finish_purge(self) -> None:
        """Finish a purge that was interrupted because the process was killed."""
        if left := self.state.purging():
            self.service.erase(left)
            self._end_purge(left)

    def _end_purge(self, gone: Sequence[str]) -> None:
        if self.settings.paths.sync_settings.is_file():
            self.state.note_purged(gone)
        self.state.set_purging([])

    def dropped_with(self, id: str) -> list[str]:
        """Return the dropped candidates of a memory's session that may say the same. Nobody sees them, in the trash."""
        found = [item for each in (id, *self.service.wordings(id)) if (item := self.service.get(each)) is not None]
        sessions = {item.session for item in found}
        return [
            candidate.id
            for candidate in (self.service.dropped_candidates() if found else ())
            if candidate.session in sessions and any(holds(candidate.content, item.content) for item in found)
        ]

    def refresh_cache_of_all(self) -> None:
        """Rewrite cached hook answers after a switch that may affect several projects."""
        from memoryd.service import EVERY_PROJECT

        self.injector.refresh_cache({EVERY_PROJECT})

    def refresh_answers(self) -> None:
        """Rewrite cached hook answers after a dream, so that they don't show replaced memories."""
        for id, name in self.registry.known().items():
            if anchors := self.registry.anchors(id):
                self.injector.cache_governance(Project(id, name, anchors[0]))
