"""Shared parts of local providers: options, session storage by scope, model notes, and the base class."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import shutil
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from memeval.core.errors import ConfigError, DependencyError, ProviderError
from memeval.core.protocols import Capabilities, Model, Provider
from memeval.core.types import Retrieved, SearchRequest, Session, Turn
from memeval.specs import ProviderSpec
from memoryd.core.types import Message


class Options:
    """The options of the spec, overridden by those of the run.

    Each accessor records the key it reads. `finish` rejects keys that were never read.
    """

    def __init__(self, spec: ProviderSpec, given: Mapping[str, Any]) -> None:
        self._spec = spec
        self._values = {**spec.options, **given}
        self._known: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """Return the raw value."""
        self._known.add(key)
        value = self._values.get(key)
        return default if value is None else value

    def text(self, key: str, default: str, choices: Sequence[str] = ()) -> str:
        """Read a string. With `choices`, the value must be one of them."""
        value = self.get(key, default)
        if not isinstance(value, str) or (choices and value not in choices):
            raise self.wrong(key, value, f"one of {', '.join(choices)}" if choices else "a text")
        return value

    def count(self, key: str, default: int, least: int = 0) -> int:
        """Read an integer of at least `least`."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.wrong(key, value, f"an integer of at least {least}")
        return value

    def number(self, key: str, default: float, least: float = 0.0) -> float:
        """Read a number of at least `least`."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < float("inf"):
            raise self.wrong(key, value, f"a number from {least:g}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """Read true or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def part(self, key: str) -> dict[str, Any]:
        """Read a mapping, which is empty if the key is missing."""
        value = self.get(key, {})
        if not isinstance(value, Mapping):
            raise self.wrong(key, value, "a mapping")
        return dict(value)

    def rest(self) -> dict[str, Any]:
        """Return all options not read so far, for code with its own options."""
        found = {key: value for key, value in self._values.items() if key not in self._known}
        self._known |= found.keys()
        return found

    def where(self, key: str) -> str:
        """Return the file and line of a key in the spec."""
        return self._spec.origin.where(key)

    def wrong(self, key: str, value: Any, wanted: str) -> ConfigError:
        """Return the error for an invalid value."""
        where = self._spec.origin.where(f"options.{key}")
        return ConfigError(f"{where} is {value!r}.", fix=f"Give {wanted}.")

    def finish(self) -> None:
        """Raise ConfigError for the first key that was never read."""
        for key in self._values:
            if key not in self._known:
                near = difflib.get_close_matches(key, self._known, n=1, cutoff=0.5)
                hint = f"Did you mean {near[0]}? " if near else ""
                raise ConfigError(
                    f"{self._spec.origin.where(f'options.{key}')} is not an option of provider {self._spec.name}.",
                    fix=f"{hint}Known: {', '.join(sorted(self._known)) or 'none'}.",
                )


OPEN_FILES = 4
_FIX = "Delete that folder and ingest again."


def folder_name(scope: str) -> str:
    """Return a valid and unique folder name for any scope, consisting of a readable prefix and a digest."""
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", scope)[:40].strip("-")
    return f"{readable}-{hashlib.sha256(scope.encode()).hexdigest()[:12]}"


class SessionStore:
    """Stores the sessions of each scope under one folder. Thread-safe.

    The folder of a scope can be copied to another run or machine.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._open_files: OrderedDict[Path, sqlite3.Connection] = OrderedDict()
        self._lock = threading.RLock()

    def folder(self, scope: str) -> Path:
        """Return the folder of a scope."""
        return self._root / folder_name(scope)

    def add(self, scope: str, sessions: Sequence[Session], done: Iterable[str] = ()) -> int:
        """Append sessions and return the number of new ones. Existing sessions are replaced in place.

        New sessions count as fresh until a later call lists them in `done`.
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
        """Return the sessions of a scope in insertion order, or an empty list for an unknown scope."""
        return self._read(scope, "SELECT payload FROM session ORDER BY position")

    def fresh(self, scope: str) -> list[Session]:
        """Return the sessions not yet marked as done. The marks survive a restart."""
        return self._read(scope, "SELECT payload FROM session WHERE id NOT IN (SELECT id FROM done) ORDER BY position")

    def _read(self, scope: str, query: str) -> list[Session]:
        folder = self.folder(scope)
        if not (folder / "sessions.db").exists():
            return []
        with self._open(folder) as db:
            rows = db.execute(query).fetchall()
        return [_from_plain(json.loads(payload)) for (payload,) in rows]

    def clear(self, scope: str) -> None:
        """Delete the folder of a scope and everything in it."""
        folder = self.folder(scope)
        with self._lock:
            if (there := self._open_files.pop(folder, None)) is not None:
                there.close()
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Close all files. The store reopens them on demand."""
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
            raise ProviderError(f"The sessions in {folder} can't be stored or read: {error}.", fix=_FIX) from error


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
    """Convert a session to plain values, without its source id and metadata.

    Both may contain gold answers and must not reach a system under test.
    """
    turns = [[turn.id, turn.role, turn.text, turn.speaker, _iso(turn.at)] for turn in session.turns]
    return {"id": session.id, "at": _iso(session.at), "turns": turns}


def _from_plain(plain: dict[str, Any]) -> Session:
    turns = (Turn(id, role, text, speaker, _time(at)) for id, role, text, speaker, at in plain["turns"])
    return Session(plain["id"], tuple(turns), _time(plain["at"]))


def _iso(at: datetime | None) -> str:
    return at.isoformat() if at else ""


def _time(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


MAX_KEYS = 500
"""Maximum values per query, because SQLite limits their number."""
_CREATE = "CREATE TABLE IF NOT EXISTS memeval_note (scope TEXT, key TEXT, note TEXT NOT NULL, PRIMARY KEY (scope, key))"
_UPSERT = "INSERT INTO memeval_note VALUES (?, ?, ?) ON CONFLICT (scope, key) DO UPDATE SET note = excluded.note"


class Notes(Protocol):
    """JSON values by scope and key. They are durable once `put` returns."""

    def get(self, scope: str, keys: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the notes of a scope by key, or only those with the given keys."""
        ...

    def put(self, scope: str, notes: Mapping[str, Any]) -> None:
        """Store notes."""
        ...

    def clear(self, scope: str) -> None:
        """Delete the notes of a scope."""
        ...


class SqlNotes:
    """Notes over any DB-API connection. `mark` is the placeholder in the connection's SQL dialect."""

    def __init__(
        self, connect: Callable[[str], AbstractContextManager[Any]], mark: str, errors: tuple[type[Exception], ...]
    ) -> None:
        self._connect = connect
        self._mark = mark
        self._errors = errors
        self._lock = threading.Lock()

    def get(self, scope: str, keys: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the notes of a scope by key, or only those with the given keys."""
        rows = self._run(scope, lambda db: self._rows(db, scope, keys))
        return {key: json.loads(note) for key, note in rows}

    def _rows(self, db: Any, scope: str, keys: Sequence[str] | None) -> list[Any]:
        statement = "SELECT key, note FROM memeval_note WHERE scope = ?"
        if keys is None:
            return self._query(db, statement, scope)
        out: list[Any] = []
        for start in range(0, len(keys), MAX_KEYS):
            some = keys[start : start + MAX_KEYS]
            out += self._query(db, f"{statement} AND key IN ({', '.join('?' * len(some))})", scope, *some)
        return out

    def put(self, scope: str, notes: Mapping[str, Any]) -> None:
        """Store notes in one transaction."""

        def write(db: Any) -> None:
            for key, note in notes.items():
                db.execute(self._sql(_UPSERT), (scope, key, json.dumps(note)))

        self._run(scope, write)

    def clear(self, scope: str) -> None:
        """Delete the notes of a scope."""
        self._run(scope, lambda db: db.execute(self._sql("DELETE FROM memeval_note WHERE scope = ?"), (scope,)))

    def _query(self, db: Any, statement: str, *values: Any) -> list[Any]:
        return list(db.execute(self._sql(statement), values).fetchall())

    def _sql(self, statement: str) -> str:
        return statement.replace("?", self._mark)

    def _run(self, scope: str, work: Callable[[Any], Any]) -> Any:
        try:
            with self._lock, self._connect(scope) as db:
                db.execute(_CREATE)
                result = work(db)
                db.commit()
                return result
        except self._errors as error:
            raise ProviderError(f"Notes can't be stored or read: {error}.", fix="Check the database.") from error


def sqlite_notes(folder: Callable[[str], Path]) -> Notes:
    """Open the notes in `notes.db` of the scope's folder."""

    def connect(scope: str) -> AbstractContextManager[Any]:
        place = folder(scope)
        place.mkdir(parents=True, exist_ok=True)
        return closing(sqlite3.connect(place / "notes.db", timeout=30))

    return SqlNotes(connect, "?", (sqlite3.Error,))


def postgres_notes(dsn: str) -> Notes:
    """Open the notes in a Postgres database. Raises DependencyError if psycopg is missing."""
    try:
        import psycopg
    except ImportError:
        raise DependencyError("Postgres needs psycopg.", fix="Run: pip install 'memoryd[postgres]'") from None
    return SqlNotes(lambda scope: psycopg.connect(dsn), "%s", (psycopg.Error,))


_OPENING = re.compile(r"[\[{]")
MAX_OPENINGS = 20
"""Maximum number of brackets to try as the start of a list, so that a text full of brackets costs little."""


def ask(model: Model, instruction: str, text: str, max_tokens: int = 1_000) -> str:
    """Ask the model.

    An empty answer raises ProviderError, because it could be mistaken for "nothing worth storing".
    """
    answer = model.complete([Message("system", instruction), Message("user", text)], max_tokens=max_tokens).text.strip()
    if not answer:
        raise ProviderError(f"{model.name} returned an empty answer.", fix="Try again, or use another model.", transient=True)
    return answer


def json_list(answer: str) -> list[Any] | None:
    """Return the JSON list in a model's answer, or None if there is none.

    The list may be fenced, surrounded by text, or a value in an object. Bracketed numbers, as in citations, are ignored if
    there is another list.
    """
    found: list[list[Any]] = []
    decoder, at = json.JSONDecoder(), 0
    for _ in range(MAX_OPENINGS):
        opening = _OPENING.search(answer, at)
        if opening is None:
            break
        try:
            value, at = decoder.raw_decode(answer, opening.start())
        except (ValueError, RecursionError):
            at = opening.end()
            continue
        found += [value] if isinstance(value, list) else [one for one in value.values() if isinstance(one, list)]
    return next((one for one in found if any(isinstance(item, str | dict) for item in one)), found[0] if found else None)


def ask_items(model: Model, instruction: str, text: str, max_tokens: int = 1_000) -> list[Any]:
    """Ask the model for a JSON list. Raises ProviderError for any other answer."""
    answer = ask(model, instruction, text, max_tokens)
    value = json_list(answer)
    if value is None:
        raise ProviderError(f"{model.name} returned no JSON list: {answer[:200]!r}", fix="Use another model.", transient=True)
    return value


def ask_list(model: Model, instruction: str, text: str) -> list[str]:
    """Ask the model for a JSON array of texts. Raises ProviderError for an answer without a list."""
    return [item.strip() for item in ask_items(model, instruction, text) if isinstance(item, str) and item.strip()]


class LocalProvider(Provider):
    """Base class of providers that store sessions under their work folder.

    Subclasses implement `find`, which must be thread-safe.
    """

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        self._name = spec.name
        self._awaited: dict[str, set[str]] = {}
        self.options = Options(spec, options)
        self._sessions: SessionStore | None = None
        self.configure(self.options)
        self.options.finish()

    @property
    def name(self) -> str:
        """The name of the spec."""
        return self._name

    def configure(self, options: Options) -> None:
        """Read the options. Raises ConfigError."""

    @property
    def store(self) -> SessionStore:
        """The session store. Raises ProviderError before `open`."""
        if self._sessions is None:
            raise ProviderError(f"Provider {self.name} is not open.", fix="Call open first.")
        return self._sessions

    def open(self, workdir: Path) -> None:
        """Open the store of all scopes under the folder."""
        self._sessions = SessionStore(workdir)

    def ingest(self, scope: str, sessions: Sequence[Session]) -> Mapping[str, Any]:
        """Store the sessions and return the counts of new ones."""
        new = self.store.add(scope, sessions, done=self._awaited.pop(scope, ()))
        self.changed(scope)
        return {"sessions": len(sessions), "new": new}

    def changed(self, scope: str) -> None:
        """React to a change of the scope's sessions, for example by dropping caches."""

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        """Index the new sessions. If this fails, the next call retries.

        The sessions are marked as done when the next sessions arrive, because the caller has recorded them by then. A run
        killed in between repeats the work with cached model answers.
        """
        awaited = self._awaited.setdefault(scope, set())
        fresh = [session for session in self.store.fresh(scope) if session.id not in awaited]
        self.index_fresh(scope, fresh)
        awaited.update(session.id for session in fresh)

    def index_fresh(self, scope: str, sessions: Sequence[Session]) -> None:
        """Process these sessions as far as possible before the first search."""

    def search(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return up to k passages, best first."""
        return self.find(scope, request)[: request.k] if request.k > 0 else []

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return the passages, best first. `k` is at least 1."""
        raise NotImplementedError

    def clear(self, scope: str) -> None:
        """Delete the scope."""
        self._awaited.pop(scope, None)
        self.store.clear(scope)
        self.changed(scope)

    def close(self) -> None:
        """Close the store."""
        if self._sessions is not None:
            self._sessions.close()
        self._sessions = None


class ModelAided(LocalProvider):
    """A provider that uses the model in the option `model`."""

    capabilities = Capabilities(model=True)

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        self.model: Model | None = None
        self._made: dict[str, dict[str, Any]] = {}
        super().__init__(spec, options)

    def configure(self, options: Options) -> None:
        """Read the options."""
        super().configure(options)
        self._named = options.text("model", "")

    def use_model(self, model: Model) -> None:
        """Use this model."""
        self.model = model

    def open(self, workdir: Path) -> None:
        """Open the provider.

        Raises ProviderError if a model is configured but was not set, because results would be attributed to the wrong model.
        """
        if self._named and self.model is None:
            raise ProviderError(
                f"{self.name} is configured to use {self._named} but got no model.", fix="Call use_model before open."
            )
        super().open(workdir)

    def answers(
        self, scope: str, notes: Notes, keys: Sequence[str], ask: Callable[[str, Mapping[str, Any]], Any], fresh: Collection[str]
    ) -> dict[str, Any]:
        """Return the model's answers by key. Each answer is stored as soon as it arrives.

        `ask` receives a key and the answers so far. It is called for each key without an answer, and for keys in `fresh` even if
        a killed run left an answer. The repeated call is answered from the cache, so its tokens are counted as in an
        uninterrupted run. After a failure, the next call skips keys already asked by this process.
        """
        made = self._made.setdefault(scope, {})
        known = {key: note for key, note in notes.get(scope, keys).items() if key in made or key not in fresh}
        for key in keys:
            if key not in known:
                known[key] = made[key] = ask(key, known)
                notes.put(scope, {key: known[key]})
        made.clear()
        return known
