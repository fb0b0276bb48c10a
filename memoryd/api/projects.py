"""Operations that list and move projects, and switch memory on and off for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from memoryd.api.parameters import NoParameters, path, request, text
from memoryd.api.registry import Caller, operation
from memoryd.core.errors import InputError, NotFoundError
from memoryd.core.paths import spellings
from memoryd.core.project import name_of
from memoryd.core.text import normalise
from memoryd.core.types import AUTHORITY, Backend, Link, LinkType, MemoryItem, Project, Query, Scope, Status

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.core.state import SessionRecord

MAX_SESSIONS = 1_000_000
MAX_MOVED = 1_000_000
TWINS = 8


@request
class SwitchTarget:
    """The session or the project to switch. The default is the project of the caller's folder."""

    folder: str = path(help="A folder of the project (default: this one).", argument=True)
    session: str | None = text(default=None, help="One session instead of a project.")
    project: str = text(help="The project with this id or name, wherever you are.")


class SwitchState(TypedDict):
    """The new state. It applies to `folder` and everything below it."""

    session: NotRequired[str]
    project: NotRequired[str]
    folder: NotRequired[str]
    memory: str


@operation(SwitchTarget, SwitchState, person_only=True)
def off(runtime: Runtime, request: SwitchTarget, caller: Caller) -> SwitchState:
    """Switch memory off for a project and everything below its folder, or for a session."""
    return _switch(runtime, request, caller, off=True)


@operation(SwitchTarget, SwitchState, person_only=True)
def on(runtime: Runtime, request: SwitchTarget, caller: Caller) -> SwitchState:
    """Switch memory on again. The nearest switch applies, so a project can be on below a folder that is off."""
    return _switch(runtime, request, caller, off=False)


def _switch(runtime: Runtime, request: SwitchTarget, caller: Caller, *, off: bool) -> SwitchState:
    session = request.session
    if session is not None:  # An empty text is probably an unset shell variable, so it must not select the project.
        if runtime.state.session(session) is None:
            raise InputError(f"There is no session '{session}'.", fix="See 'memoryd status' for recent sessions.")
        _pass_over(runtime, lambda record: record.session == session and record.off and not off)
        runtime.state.set_session_off(session, off)
        return {"session": session, "memory": "off" if off else "on"}
    project = _project(runtime, request.project) if request.project else runtime.registry.resolve(request.folder or caller.cwd)
    folders = runtime.registry.folders(project.id) if request.project else [project.root]
    if not off:
        _pass_over(
            runtime, lambda record: runtime.state.is_off(record.project, record.cwd) and _is_below(record, project.id, folders)
        )
    runtime.state.switches.set(project.id, off, folders)
    runtime.injector.cache_governance(project)
    runtime.refresh_cache_of_all()  # The switch also applies to projects below the folder.
    answer = SwitchState(project=project.id, memory="off" if off else "on")
    if folders:
        answer["folder"] = folders[0]
    return answer


def _is_below(record: SessionRecord, project: str, folders: Sequence[str]) -> bool:
    return record.project == project or any(
        Path(folder) in (path, *path.parents) for folder in folders for path in spellings(record.cwd)
    )


def _pass_over(runtime: Runtime, wanted: Callable[[SessionRecord], bool]) -> None:
    """Mark the logs of these sessions as read, so that text from the time without memory is never read."""
    from memoryd.daydream.transcript import cursor_at_end

    for record in runtime.state.sessions(MAX_SESSIONS):
        if record.transcript and wanted(record) and (cursor := cursor_at_end(record.transcript, record.session)):
            runtime.state.set_cursor(cursor)


def _project(runtime: Runtime, named: str) -> Project:
    """Return the project with the given id or unambiguous name."""
    id = runtime.registry.find(named)
    if id is None:
        fix = "See 'memoryd projects'."
        raise NotFoundError(f"There is no project '{named}' (or the name is ambiguous).", fix=fix)
    folders = runtime.registry.anchors(id)
    return Project(id, runtime.registry.known()[id], folders[0] if folders else "")


class Projects(TypedDict):
    """Projects by id, each with the number of its memories and whether memory is off."""

    projects: list[dict[str, Any]]


@operation(NoParameters, Projects)
def projects(runtime: Runtime, request: NoParameters, caller: Caller) -> Projects:
    """List known projects with the number of their memories and whether memory is off."""
    counts = runtime.service.project_counts()
    known = {id: name_of(id) for id in counts if id} | runtime.registry.known()
    return {
        "projects": [
            {"id": id, "name": name, "memories": counts.get(id, 0), "off": runtime.state.is_off(id)}
            for id, name in sorted(known.items())
        ]
    }


@request
class MoveProject:
    """The old and the new project."""

    project: str = text(required=True, help="The old project.")
    to: str = text(required=True, help="The new project, or one of its folders.")


MovedProject = TypedDict("MovedProject", {"project": str, "moved": int, "merged": int, "from": str})
MovedProject.__doc__ = """The number of memories that were moved, and of those that the new project had already."""


@operation(MoveProject, MovedProject, person_only=True)
def move_project(runtime: Runtime, request: MoveProject, caller: Caller) -> MovedProject:
    """Move all memories, sessions and folders of one project to another, then remove the old project.

    `to` is a known project or a folder.
    """
    old, new = request.project, request.to
    source = _vault_project(runtime, old)
    folder = Path(new).expanduser()
    target = runtime.registry.resolve(folder).id if folder.is_dir() else _vault_project(runtime, new)
    if source == target:
        raise InputError("Both are the same project.", fix="See 'memoryd projects' for the ids.")
    with runtime.service.writing():
        theirs = Query(project=source, scopes=(Scope.PROJECT, Scope.TEAM), statuses=tuple(Status))
        moved = runtime.service.page(theirs, MAX_MOVED)
        merged = sum(_move(runtime, item, target) for item in moved)
        # Must come last: the command can be repeated after being killed as long as the old project is known.
        runtime.state.move_project(source, target)
        runtime.registry.merge(source, target)
    runtime.injector.cache_governance(Project(target, name_of(target), "", ""))
    return {"project": target, "moved": len(moved), "merged": merged, "from": source}


def _move(runtime: Runtime, item: MemoryItem, target: str) -> bool:
    """Move one memory. If this makes two active memories identical, merge the less authoritative one into the other."""
    twin = _twin(runtime, item, target) if item.status is Status.ACTIVE else None
    if twin is None:
        runtime.service.update(item.id, project=target)
        return False
    kept, gone = sorted((twin, item), key=lambda one: (not one.pinned, -AUTHORITY[one.source], one.created_at))
    now = runtime.clock.now()
    link = Link(LinkType.MERGED, gone.id)
    runtime.service.update(gone.id, project=target, status=Status.SUPERSEDED, expired_at=now, valid_to=now, pinned=False)
    runtime.service.update(kept.id, project=target, links=tuple(dict.fromkeys((*kept.links, link))))
    return True


def _twin(runtime: Runtime, item: MemoryItem, target: str) -> MemoryItem | None:
    """Return the project's active memory with the same wording, or None."""
    same = Query(text=item.content, project=target, scopes=(item.scope,), kinds=(item.kind,), backend=Backend.MARKDOWN)
    found = (hit.item for hit in runtime.service.search(same, TWINS))
    return next((one for one in found if one.id != item.id and normalise(one.content) == normalise(item.content)), None)


def _vault_project(runtime: Runtime, named: str) -> str:
    """Return the id of a project that has sessions, or memories in the vault."""
    found = runtime.registry.find(named)
    if found is not None:
        return found
    ids = [id for id in runtime.service.project_counts() if id and named in (id, name_of(id))]
    if len(ids) != 1:
        raise NotFoundError(f"There is no project '{named}' (or the name is ambiguous).", fix="See 'memoryd projects'.")
    return ids[0]
