"""Where local providers keep the sessions that they were given: a folder for each scope, with one SQLite file in it.

The files of the last few scopes stay open, in WAL with `synchronous=NORMAL`: a killed process loses no committed session
(what a power cut may lose is ingested again with its batch), and no batch waits for the disk.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from memeval.errors import ProviderError
from memeval.types import Session, Turn

OPEN_FILES = 4
_FIX = "Delete that folder and ingest again."


class SessionStore:
    """Sessions by scope under one folder; safe for threads. A folder of a scope can be copied to another run or machine."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._open_files: OrderedDict[Path, sqlite3.Connection] = OrderedDict()
        self._lock = threading.RLock()

    def folder(self, scope: str) -> Path:
        """The folder of a scope: a readable start and a digest, so that any scope name gives a valid and unique path."""
        readable = re.sub(r"[^A-Za-z0-9_-]+", "-", scope)[:40].strip("-")
        return self._root / f"{readable}-{hashlib.sha256(scope.encode()).hexdigest()[:12]}"

    def add(self, scope: str, sessions: Sequence[Session], done: Iterable[str] = ()) -> int:
        """Keep sessions behind the earlier ones; how many are new. One that is there already is replaced in its place.

        They are fresh until a later call names them in `done`.
        """
        folder = self.folder(scope)
        folder.mkdir(parents=True, exist_ok=True)
        with self._open(folder) as db, db:
            before = db.execute("SELECT count(*) FROM session").fetchone()[0]
            db.executemany("INSERT OR IGNORE INTO done VALUES (?)", [(id,) for id in done])
            db.executemany("DELETE FROM done WHERE id = ?", [(session.id,) for session in sessions])
            db.executemany(
                "INSERT INTO session (id, payload) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET payload = excluded.payload",
                [(session.id, json.dumps(_to_plain(session))) for session in sessions],
            )
            return int(db.execute("SELECT count(*) FROM session").fetchone()[0] - before)

    def all(self, scope: str) -> list[Session]:
        """The sessions of a scope in the order in which they came; an unknown scope has none."""
        return self._read(scope, "SELECT payload FROM session ORDER BY position")

    def fresh(self, scope: str) -> list[Session]:
        """Those that are not done yet, also after a restart."""
        return self._read(scope, "SELECT payload FROM session WHERE id NOT IN (SELECT id FROM done) ORDER BY position")

    def _read(self, scope: str, query: str) -> list[Session]:
        folder = self.folder(scope)
        if not (folder / "sessions.db").exists():
            return []
        with self._open(folder) as db:
            rows = db.execute(query).fetchall()
        return [_from_plain(json.loads(payload)) for (payload,) in rows]

    def clear(self, scope: str) -> None:
        """Delete a scope's folder with everything in it."""
        folder = self.folder(scope)
        with self._lock:
            if (there := self._open_files.pop(folder, None)) is not None:
                there.close()
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Close all files; the store can be used again."""
        with self._lock:
            while self._open_files:
                self._open_files.popitem()[1].close()

    @contextmanager
    def _open(self, folder: Path) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                if folder not in self._open_files:
                    self._open_files[folder] = _connect(folder / "sessions.db")
                self._open_files.move_to_end(folder)
                while len(self._open_files) > OPEN_FILES:
                    self._open_files.popitem(last=False)[1].close()
                yield self._open_files[folder]
        except sqlite3.Error as error:
            raise ProviderError(f"The sessions in {folder} can't be kept or read: {error}.", fix=_FIX) from error


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=30, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute(
            "CREATE TABLE IF NOT EXISTS session"
            " (position INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, payload TEXT NOT NULL)"
        )
        db.execute("CREATE TABLE IF NOT EXISTS done (id TEXT PRIMARY KEY) WITHOUT ROWID")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _to_plain(session: Session) -> dict[str, Any]:
    """Without source id and metadata: what gold there may be in them must not reach a system under test."""
    turns = [[turn.id, turn.role, turn.text, turn.speaker, _iso(turn.at)] for turn in session.turns]
    return {"id": session.id, "at": _iso(session.at), "turns": turns}


def _from_plain(plain: dict[str, Any]) -> Session:
    turns = (Turn(id, role, text, speaker, _time(at)) for id, role, text, speaker, at in plain["turns"])
    return Session(plain["id"], tuple(turns), _time(plain["at"]))


def _iso(at: datetime | None) -> str:
    return at.isoformat() if at else ""


def _time(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
