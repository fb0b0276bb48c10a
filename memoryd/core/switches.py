"""Switches that turn memory off or on, for projects and for folders including everything below them.

The nearest switch wins. A folder's switch also applies to projects below it that have no switch of their own,
including future ones. A project's switch applies to all its folders, unless memory is off in a parent of one of them.
A history of the switches, those of sessions included, tells whether memory was off at an earlier time: a session's log
may be copied into that of a later session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryd.core.clock import to_iso
from memoryd.core.db import Database
from memoryd.core.paths import is_there, spellings
from memoryd.core.protocols import Clock


def create_table(db: Database) -> None:
    """Create the table of folder switches (a migration). The table of project switches is older."""
    db.execute("CREATE TABLE folder_switch (folder TEXT PRIMARY KEY, project TEXT, off INTEGER, at TEXT)")


PROJECT, FOLDER, SESSION = "project", "folder", "session"


def create_history(db: Database) -> None:
    """Create the history of switches (a migration), which begins with the present switches. `off` is NULL for a removed one."""
    db.execute("CREATE TABLE switch_history (id INTEGER PRIMARY KEY, kind TEXT, place TEXT, project TEXT, off INTEGER, at TEXT)")
    into = "INSERT INTO switch_history (kind, place, project, off, at)"
    db.execute(f"{into} SELECT '{PROJECT}', project, project, off, at FROM switch")
    db.execute(f"{into} SELECT '{FOLDER}', folder, project, off, at FROM folder_switch")
    db.execute(f"{into} SELECT '{SESSION}', session, project, off, started_at FROM session WHERE off = 1")


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch. `place` is the folder or project id that it applies to."""

    off: bool
    place: str


class Switches:
    """Access to the switches. `folders_of` returns a project's working folders."""

    def __init__(self, db: Database, clock: Clock, folders_of: Callable[[str], Sequence[str]]) -> None:
        self._db = db
        self._clock = clock
        self._folders_of = folders_of

    def set(self, project: str, off: bool, folders: Sequence[str] = ()) -> None:
        """Switch memory off or on for a project and below these folders.

        Switching on also removes the switches of the project's other folders.
        """
        now = to_iso(self._clock.now())
        with self._db.transaction():
            self._db.execute("INSERT OR REPLACE INTO switch (project, off, at) VALUES (?, ?, ?)", (project, int(off), now))
            self._record(PROJECT, project, project, off)
            if not off:
                for (folder,) in self._db.execute("SELECT folder FROM folder_switch WHERE project = ?", (project,)):
                    self._record(FOLDER, folder, project, None)
                self._db.execute("DELETE FROM folder_switch WHERE project = ?", (project,))
            for folder in folders:
                self._record(FOLDER, folder, project, off)
                self._db.execute(
                    "INSERT OR REPLACE INTO folder_switch (folder, project, off, at) VALUES (?, ?, ?, ?)",
                    (folder, project, int(off), now),
                )

    def set_session(self, session: str, project: str, off: bool) -> None:
        """Record that memory was switched off or on for a session."""
        with self._db.transaction():
            self._record(SESSION, session, project, off)

    def _record(self, kind: str, place: str, project: str, off: bool | None) -> None:
        now = to_iso(self._clock.now())
        self._db.execute("UPDATE switch_history SET at = ? WHERE at > ?", (now, now))  # The clock was ahead.
        self._db.execute(
            "INSERT INTO switch_history (kind, place, project, off, at) VALUES (?, ?, ?, ?, ?)",
            (kind, place, project, None if off is None else int(off), now),
        )

    def deciding(self, project: str, folder: str = "") -> Switch | None:
        """Return the switch that applies to a project, or to a folder in the project. Return None if there is none."""
        return self._deciding(project, folder, self._own(project), self._of_folders())

    def _deciding(self, project: str, folder: str, own: Switch | None, switches: Mapping[str, bool]) -> Switch | None:
        if not switches:
            return own
        here = _nearest(switches, folder) if folder else None
        if here is not None and here.off:
            return here
        if own is not None and folder:
            return own
        around = here or self._around(switches, project)
        if own is not None and not (around is not None and around.off):
            return own
        return around

    def is_off(self, project: str, folder: str = "") -> bool:
        """Return whether memory is off for the project, or for the folder if one is given."""
        found = self.deciding(project, folder)
        return found is not None and found.off

    def was_off(self, project: str, folder: str, moment: datetime) -> bool:
        """Return whether memory was off for a folder of the project at an earlier time."""
        then = self._at(moment, (PROJECT, FOLDER))
        off = then.get((PROJECT, project))
        folders = {place: off for (kind, place), off in then.items() if kind == FOLDER}
        found = self._deciding(project, folder, None if off is None else Switch(off, project), folders)
        return found is not None and found.off

    def sessions_off_at(self, moment: datetime, project: str) -> frozenset[str]:
        """Return the sessions of a project for which memory was off at an earlier time."""
        return frozenset(place for (_, place), off in self._at(moment, (SESSION,), project).items() if off)

    def was_ever_off(self) -> bool:
        """Return whether memory was ever off for a project, a folder or a session."""
        return bool(self._db.execute("SELECT 1 FROM switch_history WHERE off = 1 LIMIT 1"))

    def _at(self, moment: datetime, kinds: Sequence[str], project: str = "") -> dict[tuple[str, str], bool]:
        """Return the switches of these kinds at an earlier time, by kind and place."""
        rows = self._db.execute(
            f"SELECT kind, place, off FROM switch_history WHERE at <= ? AND kind IN ({', '.join('?' * len(kinds))})"
            " AND (project = ? OR ? = '') ORDER BY id",
            (to_iso(moment), *kinds, project, project),
        )
        latest = {(kind, place): off for kind, place, off in rows}
        return {key: bool(off) for key, off in latest.items() if off is not None}

    def projects_off(self) -> list[str]:
        """Return the projects that are switched off."""
        return [row[0] for row in self._db.execute("SELECT project FROM switch WHERE off = 1 ORDER BY project")]

    def folders_off(self) -> list[str]:
        """Return the folders at and below which memory is off."""
        return [row[0] for row in self._db.execute("SELECT folder FROM folder_switch WHERE off = 1 ORDER BY folder")]

    def folders(self) -> Mapping[str, bool]:
        """Return the folders with a switch, and whether each is off."""
        return self._of_folders()

    def any_off(self) -> bool:
        """Return whether memory is switched off anywhere."""
        return bool(self.projects_off() or self.folders_off())

    def move(self, old: str, new: str) -> None:
        """Delete the switch of a removed project.

        The switches of its folders remain, because the folders now belong to another project.
        """
        self._db.execute("DELETE FROM switch WHERE project = ?", (old,))
        self._db.execute("UPDATE folder_switch SET project = ? WHERE project = ?", (new, old))
        self._db.execute("UPDATE switch_history SET project = ? WHERE project = ?", (new, old))

    def _own(self, project: str) -> Switch | None:
        off = self._db.value("SELECT off FROM switch WHERE project = ?", (project,)) if project else None
        return None if off is None else Switch(bool(off), project)

    def _of_folders(self) -> Mapping[str, bool]:
        return {folder: bool(off) for folder, off in self._db.execute("SELECT folder, off FROM folder_switch")}

    def _around(self, switches: Mapping[str, bool], project: str) -> Switch | None:
        """Return the switch that all folders of the project inherit, or None if they differ or no folder is known."""
        folders = list(self._folders_of(project)) if project else []
        found = [_nearest(switches, place) for place in [place for place in folders if is_there(place)] or folders]
        first = found[0] if found else None
        return first if first is not None and all(switch is not None and switch.off == first.off for switch in found) else None


def _nearest(switches: Mapping[str, bool], folder: str) -> Switch | None:
    """Return the switch of the nearest parent folder, for the given path and the resolved path. If the two differ, off wins."""
    found = []
    for path in spellings(folder):
        above = next((str(parent) for parent in (path, *path.parents) if str(parent) in switches), None)
        if above is not None:
            found.append(Switch(switches[above], above))
    return min(found, key=lambda switch: (not switch.off, -len(switch.place)), default=None)
