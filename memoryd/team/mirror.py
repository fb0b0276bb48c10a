"""The memories of a team on this machine: copies of what its default branch holds, kept up to date after each fetch.

A copy has the scope and the source `team`. Its id is made from the project and the file, never taken from the file, so a file
can't replace a memory of the user. A copy that the user has forgotten stays forgotten, and the mode that the user chose for
the guard stays until the text changes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import orjson

from memoryd.core.clock import to_iso
from memoryd.core.errors import InputError, StoreError
from memoryd.core.files import locked, write_atomic
from memoryd.core.paths import Paths
from memoryd.core.protocols import Clock
from memoryd.core.text import digest, normalise
from memoryd.core.types import Evidence, MemoryItem, Query, Scope, Source, Status
from memoryd.language.entities import find_entities
from memoryd.service import Orchestrator
from memoryd.team.files import MAX_BYTES, TeamFile, parse
from memoryd.team.repository import MAX_FILES, Origin, read_tree, reviewed_commit

log = logging.getLogger(__name__)
SESSION = "team"
CONFIDENCE = 0.8
MAX_PROBLEMS = 50
# The reasons for leaving a file alone that are no fault of the file. They end when the user's own memory changes.
OWN, FORGOTTEN = "you have this memory yourself, so yours counts", "you have forgotten this memory"
OF_THE_USER = frozenset({OWN, FORGOTTEN})


@dataclass(frozen=True, slots=True)
class Joined:
    """A team that the user has joined.

    Attributes:
        commit: The commit whose memories are here.
        at: When they were last read.
        problem: Why nothing newer could be read.
        left_alone: Files that hold no memory of the team, each with the reason.
    """

    origin: Origin
    commit: str = ""
    at: str = ""
    problem: str = ""
    left_alone: tuple[tuple[str, str], ...] = field(default=())


class Teams:
    """Reads what teams have reviewed, and keeps copies of it."""

    def __init__(self, paths: Paths, service: Orchestrator, clock: Clock) -> None:
        self._path = paths.team
        self._service = service
        self._clock = clock

    # Which teams

    def joined(self) -> dict[str, Joined]:
        """Return the teams by project. A damaged file counts as none, so nothing is taken from anywhere."""
        try:
            return read_joined(self._path)
        except StoreError as error:
            log.warning("%s", error)
            return {}

    def join(self, project: str, origin: Origin) -> Joined:
        """Take over what the team of a repository has reviewed, now and after each fetch."""
        self._put(project, Joined(origin))
        return self.refresh(project)

    def leave(self, project: str) -> int:
        """Remove the copies of a team's memories, and take over nothing more. Return their number."""
        with locked(self._path.with_suffix(".lock")):
            teams = self.joined()
            if teams.pop(project, None) is None:
                raise InputError("You have not joined this project's team.", fix="See 'memoryd team status'.")
            self._save(teams)
        copies = [item for item in self._copies(project).values() if item.status is not Status.BLACKLISTED]
        for item in copies:
            self._service.delete(item.id)
        return len(copies)

    def _put(self, project: str, team: Joined) -> None:
        with locked(self._path.with_suffix(".lock")):
            self._save({**self.joined(), project: team})

    def _save(self, teams: Mapping[str, Joined]) -> None:
        write_atomic(self._path, orjson.dumps({id: asdict(team) for id, team in teams.items()}, option=orjson.OPT_INDENT_2))

    # Their memories

    def refresh(self, project: str) -> Joined:
        """Bring the copies up to date with the default branch, as the last fetch left it. Keep them if it can't be read."""
        team = self.joined()[project]
        try:
            commit = reviewed_commit(team.origin)
        except InputError as error:
            changed = replace(team, problem=str(error))
        else:
            same = commit == team.commit and not team.problem
            if same and not any(reason in OF_THE_USER for _, reason in team.left_alone):
                return team
            changed = self._take_over(project, team, commit)
            if same and changed.left_alone == team.left_alone:
                return team
        if changed != team:
            self._put(project, changed)
        return changed

    def _take_over(self, project: str, team: Joined, commit: str) -> Joined:
        tree = read_tree(team.origin, commit, MAX_BYTES)
        problems = list(tree.problems)
        wanted: dict[str, MemoryItem] = {}
        for path, data in sorted(tree.files.items()):
            found = parse(path, data)
            if isinstance(found, str):
                problems.append((path, found))
            elif reason := self._own_memory(found, project):
                problems.append((path, reason))
            elif (item := self._item(found, project, commit)).id in wanted:
                problems.append((path, "another file has the same id in its name"))
            else:
                wanted[item.id] = item
        if (team.origin.folder, "git can't list it") not in problems:
            self._write(project, wanted)
        return Joined(team.origin, commit, to_iso(self._clock.now()), "", tuple(problems[:MAX_PROBLEMS]))

    def _own_memory(self, file: TeamFile, project: str) -> str:
        """Return why a file is left alone if the user has proposed it, or an empty string."""
        held = self._service.get(file.key) if file.key.startswith("mem_") else None
        if held is None or held.source is Source.TEAM or held.project not in ("", project):
            return ""
        if normalise(held.content) != normalise(file.content):
            return ""
        return OWN if held.status is Status.ACTIVE else FORGOTTEN if held.status is Status.BLACKLISTED else ""

    def _item(self, file: TeamFile, project: str, commit: str) -> MemoryItem:
        return MemoryItem(
            content=file.content,
            id=copy_id(project, file.key),
            kind=file.kind,
            polarity=file.polarity,
            scope=Scope.TEAM,
            project=project,
            session=SESSION,
            source=Source.TEAM,
            confidence=CONFIDENCE,
            tags=file.tags,
            entities=find_entities(file.content),
            asked_as=file.asked_as,
            created_at=self._clock.now(),
            evidence=Evidence(commit=commit, paths=(file.path,)),
        )

    def _write(self, project: str, wanted: Mapping[str, MemoryItem]) -> None:
        with self._service.writing():
            copies = self._copies(project)
            changed = []
            for id, item in wanted.items():
                held = copies.get(id)
                if held is None:
                    changed.append(item)
                elif held.status is not Status.BLACKLISTED and _says(held) != _says(item):
                    changed.append(replace(item, pinned=held.pinned))
            for id, held in copies.items():
                if id not in wanted and held.status is not Status.BLACKLISTED:
                    self._service.delete(id)
            if changed:
                self._service.write_many(changed)

    def memories(self, project: str) -> list[MemoryItem]:
        """Return the active copies, in the order of their files."""
        active = [item for item in self._copies(project).values() if item.status is Status.ACTIVE]
        return sorted(active, key=lambda item: item.evidence.paths)

    def _copies(self, project: str) -> dict[str, MemoryItem]:
        theirs = Query(project=project, scopes=(Scope.TEAM,), sources=(Source.TEAM,), statuses=tuple(Status))
        found = {hit.item.id: hit.item for hit in self._service.search(theirs, 4 * MAX_FILES)}
        return {id: item for id, item in found.items() if item.project == project}


def read_joined(path: Path) -> dict[str, Joined]:
    """Return the teams that the user has joined, by project.

    Raises:
        StoreError: The file is damaged.
    """
    try:
        return {project: _joined(values) for project, values in orjson.loads(path.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            f"{path} is damaged ({error}).", fix="Run 'memoryd team init' again in each team's repository."
        ) from error


def copy_id(project: str, key: str) -> str:
    """Return the id of the copy of a team's file."""
    return f"mem_{digest('team', project, key)[:12]}"


def _says(item: MemoryItem) -> tuple[object, ...]:
    return item.content, item.kind, item.polarity, item.tags, item.asked_as, item.evidence.paths


def _joined(values: Mapping[str, object]) -> Joined:
    raw = dict(values)
    origin = raw.pop("origin")
    left = raw.pop("left_alone", ())
    if not isinstance(origin, dict) or not isinstance(left, list):
        raise TypeError("not a team")
    texts = {name: str(value) for name, value in raw.items()}
    return Joined(Origin(**origin), **texts, left_alone=tuple((str(path), str(reason)) for path, reason in left))


def write_proposal(root: Path, folder: str, name: str, data: bytes) -> Path:
    """Write a file into the team's folder of a working tree. Links are not followed out of the repository.

    Raises:
        InputError: The folder is a link.
    """
    place = root
    for part in Path(folder).parts:
        place = place / part
        if place.is_symlink() or place.exists() and not place.is_dir():
            raise InputError(f"{place} is not a folder.", fix="Replace it by a folder.")
    target = place / name
    if target.is_symlink():
        raise InputError(f"{target} is a link.", fix="Remove it.")
    write_atomic(target, data, private=False)
    return target
