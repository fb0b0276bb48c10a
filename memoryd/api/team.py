"""Operations on the memories of a team, which share a database or are reviewed in a git repository."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

from memoryd.api.parameters import NoParameters, memory_id, request, text
from memoryd.api.registry import Caller, operation
from memoryd.api.shared import Memory, brief
from memoryd.core.config import FILES
from memoryd.core.errors import InputError, MemorydError
from memoryd.core.project import find_git
from memoryd.core.types import Scope, Source, Status
from memoryd.daemon.contract import Slot

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.core.types import MemoryItem
    from memoryd.team.mirror import Joined, Teams
    from memoryd.team.repository import Contribution

log = logging.getLogger(__name__)
LOOK_SECONDS = 5.0
LOOKS_PER_REFRESH = 12
_ABOUT = """# The team's memories

Each file is one memory: a statement that every coding agent of this team should know, with its kind (rule, preference,
decision, fact, fix, dead_end, environment) in the front matter. What is on the default branch counts as reviewed. To propose
one, run `memoryd share ID` or write a file, and open a pull request. To get them, run `memoryd team init` in a clone.
"""


@request
class OfTeam:
    """The memory."""

    id: str = memory_id(argument=True)


class TeamMemory(TypedDict):
    """The team's current version of the memory. `proposal` is the file in the working tree that is to be reviewed."""

    memory: Memory
    proposal: NotRequired[str]
    next: NotRequired[str]


@operation(OfTeam, TeamMemory, person_only=True)
def share(runtime: Runtime, request: OfTeam, caller: Caller) -> TeamMemory:
    """Share an active memory with the team. It is checked for secrets and personal data again."""
    from memoryd.team.files import what_must_not_be_shared

    item = runtime.service.require(request.id)
    joined = None if runtime.service.has_team else _joined_for(runtime, item, caller)
    if item.status is not Status.ACTIVE:
        raise InputError(f"{item.id} is {item.status.value}.", fix=f"Restore it first: memoryd restore {item.id}")
    if found := what_must_not_be_shared(item):
        what = f"{item.id} contains something that must not be shared ({', '.join(found)})."
        raise InputError(what, fix=f"Remove it first: memoryd edit {item.id}")
    if joined is None:
        return {"memory": brief(runtime.service.update(item.id, scope=Scope.TEAM))}
    return _proposed(item, joined, caller)


def _joined_for(runtime: Runtime, item: MemoryItem, caller: Caller) -> Joined:
    """Return the team to which a memory can be proposed: that of its project, or of the current one for the user's own."""
    project = item.project if item.scope is not Scope.USER else ""
    project = project or (runtime.project_of("", caller.cwd) or "")
    found = _teams(runtime).joined().get(project)
    if found is None:
        raise InputError(
            "There is no team.",
            fix="Run 'memoryd team init' in its repository (docs/team.md), or use a Postgres database (docs/postgres.md).",
        )
    return found


def _proposed(item: MemoryItem, joined: Joined, caller: Caller) -> TeamMemory:
    from memoryd.team.files import README, file_name, parse, render
    from memoryd.team.mirror import write_proposal

    if item.source is Source.TEAM:
        raise InputError(f"{item.id} already belongs to the team.", fix=f"Its file is {', '.join(item.evidence.paths)}.")
    origin, data, name = joined.origin, render(item), file_name(item)
    if isinstance(problem := parse(name, data), str):
        raise InputError(f"{item.id} can't be shared: {problem}.", fix=f"Change it first: memoryd edit {item.id}")
    here = find_git(Path(caller.cwd)) if caller.cwd else None
    known = find_git(Path(origin.root))
    same = here is not None and known is not None and here.common_dir == known.common_dir
    root = here.root if here and same else Path(origin.root)
    founded = not (root / origin.folder).exists()
    target = write_proposal(root, origin.folder, name, data)
    if founded:  # Not earlier: an untracked file would be in the way of the first pull that brings the same one.
        write_proposal(root, origin.folder, README, _ABOUT.encode())
    steps = f"Commit {origin.folder} on a branch and open a pull request. It is the team's once it is on '{origin.branch}'."
    return {"memory": brief(item), "proposal": str(target), "next": steps}


@operation(OfTeam, TeamMemory, command="approve", person_only=True)
def approve(runtime: Runtime, request: OfTeam, caller: Caller) -> TeamMemory:
    """Approve a teammate's memory in a database. It can then be a rule for the whole team until its text changes."""
    runtime.service.require(request.id)
    return {"memory": brief(runtime.service.approve(request.id))}


# A team in a git repository


@request
class JoinTeam:
    """Where the team's reviewed memories are."""

    remote: str = text(help="The remote whose default branch is reviewed (default: origin).")
    branch: str = text(help="The reviewed branch (default: the remote's default branch).")
    folder: str = text(help="The folder in the repository (default: .memory).")


class TeamStatus(TypedDict):
    """The team of this project: where its memories come from, how many there are, and which files were left alone.

    `clone` is the folder whose fetches count, and `here` says whether this folder belongs to it.
    """

    project: str
    joined: bool
    clone: str
    here: bool
    address: str
    branch: str
    folder: str
    commit: str
    read: str
    problem: str
    memories: list[Memory]
    left_alone: list[dict[str, str]]


@operation(JoinTeam, TeamStatus, person_only=True)
def team_init(runtime: Runtime, request: JoinTeam, caller: Caller) -> TeamStatus:
    """Join the team of this repository, or found it: what its default branch holds in .memory becomes known here."""
    from memoryd.team.files import FOLDER
    from memoryd.team.repository import find_origin

    if runtime.started.store != FILES:
        raise InputError("The memories are in a database, which your team can share.", fix="See docs/postgres.md.")
    root = _repository(caller)
    folder = _checked_folder(request.folder or FOLDER)
    origin = find_origin(root, folder, request.remote, request.branch)
    _teams(runtime).join(runtime.registry.resolve(root).id, origin)
    return _status(runtime, caller)


def _repository(caller: Caller) -> Path:
    from memoryd.team.repository import watched_folder

    found = find_git(Path(caller.cwd)) if caller.cwd else None
    if found is None:
        raise InputError("This folder is not in a git repository.", fix="Run the command in a clone of the team's repository.")
    return watched_folder(found)


def _checked_folder(folder: str) -> str:
    parts = Path(folder).parts
    if not parts or Path(folder).is_absolute() or ".." in parts or parts[0] == ".git" or not folder.isprintable():
        raise InputError(f"'{folder}' is not a folder in the repository.", fix="Give a relative path, such as .memory.")
    return Path(folder).as_posix()


@operation(NoParameters, TeamStatus, person_only=True)
def team_status(runtime: Runtime, request: NoParameters, caller: Caller) -> TeamStatus:
    """Read what this project's team has reviewed up to the last git fetch, and show it."""
    return _status(runtime, caller)


def _status(runtime: Runtime, caller: Caller) -> TeamStatus:
    from memoryd.team.repository import is_another_clone

    project = runtime.required_project("", caller.cwd, "team_status")
    teams = _teams(runtime)
    if project not in teams.joined():
        return TeamStatus(
            project=project,
            joined=False,
            clone="",
            here=False,
            address="",
            branch="",
            folder="",
            commit="",
            read="",
            problem="",
            memories=[],
            left_alone=[],
        )
    found = teams.refresh(project)
    return {
        "project": project,
        "joined": True,
        "clone": found.origin.root,
        "here": not (caller.cwd and is_another_clone(found.origin, Path(caller.cwd))),
        "address": found.origin.address,
        "branch": f"{found.origin.remote}/{found.origin.branch}",
        "folder": found.origin.folder,
        "commit": found.commit,
        "read": found.at,
        "problem": found.problem,
        "memories": [brief(item) for item in teams.memories(project)],
        "left_alone": [{"path": path, "reason": reason} for path, reason in found.left_alone],
    }


class LeftTeam(TypedDict):
    """The number of memories that were removed from this machine."""

    removed: int


@operation(NoParameters, LeftTeam, person_only=True)
def team_leave(runtime: Runtime, request: NoParameters, caller: Caller) -> LeftTeam:
    """Remove the team's memories of this project from this machine, and take over nothing more. The repository is not changed."""
    return {"removed": _teams(runtime).leave(runtime.required_project("", caller.cwd, "team_leave"))}


class TeamAudit(TypedDict):
    """Who brought and changed which memory, the latest first, by the commits of the default branch."""

    branch: str
    commit: str
    changes: list[dict[str, str]]


@operation(NoParameters, TeamAudit, person_only=True)
def team_audit(runtime: Runtime, request: NoParameters, caller: Caller) -> TeamAudit:
    """Show who brought, changed or removed which memory of this project's team, and when it arrived."""
    from memoryd.team.repository import contributions, reviewed_commit

    project = runtime.required_project("", caller.cwd, "team_audit")
    joined = _teams(runtime).joined().get(project)
    if joined is None:
        raise InputError("You have not joined this project's team.", fix="Run 'memoryd team init' (docs/team.md).")
    commit = reviewed_commit(joined.origin)
    changes = [_shown(runtime, project, each) for each in contributions(joined.origin, commit)]
    return {"branch": f"{joined.origin.remote}/{joined.origin.branch}", "commit": commit, "changes": changes}


_WHAT = {"A": "added", "M": "changed", "D": "removed", "T": "replaced by another type of file"}


def _shown(runtime: Runtime, project: str, each: Contribution) -> dict[str, str]:
    from memoryd.core.text import one_line, shorten
    from memoryd.team.files import key_of
    from memoryd.team.mirror import copy_id

    item = runtime.service.get(copy_id(project, key_of(each.path)))
    who = {name: shorten(one_line(value), 100) for name, value in (("author", each.author), ("email", each.address))}
    by = {"committer": shorten(one_line(each.committer), 100)} if each.committer not in ("", each.author) else {}
    statement = {"memory": item.id, "statement": shorten(one_line(item.content), 100)} if item else {}
    at = {"path": each.path, "what": _WHAT.get(each.what, each.what), "at": each.at, "commit": each.commit[:12]}
    return {**at, **who, **by, **statement}


def _teams(runtime: Runtime) -> Teams:
    from memoryd.team.mirror import Teams

    return Teams(runtime.settings.paths, runtime.service, runtime.clock)


def slots(runtime: Runtime) -> list[Slot]:
    """Return the recurring look at the default branches of joined teams. It costs nothing where no team was joined."""
    return [Slot("team", _FetchWatch(runtime).run, every_seconds=LOOK_SECONDS)]


class _FetchWatch:
    """Reads what was fetched. Most looks only compare times of git's files; some ask git, whatever the files say."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._stamps: dict[str, tuple[object, ...]] = {}
        self._looks = 0

    def run(self) -> None:
        """Bring the memories of each team up to date if its default branch has moved."""
        from memoryd.team.repository import fetch_stamp

        runtime = self._runtime
        if not runtime.settings.paths.team.is_file() or runtime.started.store != FILES:
            return
        asks_git = self._looks % LOOKS_PER_REFRESH == 0
        self._looks += 1
        teams = _teams(runtime)
        for project, before in teams.joined().items():
            stamp = fetch_stamp(before.origin)
            if not runtime.is_off(project) and (asks_git or stamp != self._stamps.get(project)):
                _refresh(runtime, teams, project, before)
                self._stamps[project] = stamp


def _refresh(runtime: Runtime, teams: Teams, project: str, before: Joined) -> None:
    try:
        found = teams.refresh(project)
    except MemorydError as error:
        log.warning("the team of %s can't be read: %s", project, error)
        return
    if found.problem and found.problem != before.problem:
        log.warning("the team of %s can't be read: %s", project, found.problem)
    if found != before:
        runtime.refresh_answers()
