"""Persistent state that can't be derived from the Markdown files.

One SQLite database stores the read position in each transcript, pending day dreams, injections per session, day dream
results and the user's off switches. See also `ledger` (individual memories) and `candidates` (offers).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from memoryd.core import candidates, compliance, decision_log, switches, trial
from memoryd.core.clock import from_iso, to_iso
from memoryd.core.db import Database, Migrations
from memoryd.core.decision_log import LoggedDecision
from memoryd.core.errors import StoreError
from memoryd.core.ledger import Ledger, UseKind, create_given, create_tables
from memoryd.core.protocols import Clock
from memoryd.core.types import Usage

SCHEMA = Migrations("state")
MAX_BACKOFF_SECONDS = 3600.0
FIRST_BACKOFF_SECONDS = 15.0
# A longer delay was set while the clock was ahead. FARTHEST_JOB applies to jobs, FARTHEST to log parts that wait for a model.
MAX_JOB_DELAY_SECONDS = 2 * MAX_BACKOFF_SECONDS
MAX_HELD_DELAY_SECONDS = 7 * 86_400.0
PURGED_NOTE = "purged since sync"
PURGING_NOTE = "being purged"


@SCHEMA.step
def m001_create(db: Database) -> None:
    """Create the first schema."""
    for table in (
        "cursor (transcript TEXT PRIMARY KEY, session TEXT, offset INTEGER, line INTEGER, fingerprint TEXT, context TEXT)",
        "job (transcript TEXT PRIMARY KEY, session TEXT, cwd TEXT, reason TEXT, generation INTEGER, due REAL,"
        " attempts INTEGER, error TEXT)",
        "session (session TEXT PRIMARY KEY, project TEXT, cwd TEXT, transcript TEXT, started_at TEXT, ended_at TEXT,"
        " last_at TEXT, governed INTEGER DEFAULT 0, off INTEGER DEFAULT 0)",
        "injection (session TEXT, memory TEXT, at TEXT, event TEXT, PRIMARY KEY (session, memory))",
        "run (id INTEGER PRIMARY KEY, session TEXT, transcript TEXT, project TEXT, at TEXT, start INTEGER, stop INTEGER,"
        " turns INTEGER, kept INTEGER, known INTEGER, skipped TEXT, error TEXT, extractor TEXT, model TEXT,"
        " calls INTEGER, input_tokens INTEGER, output_tokens INTEGER, cost_usd REAL)",
        "switch (project TEXT PRIMARY KEY, off INTEGER, at TEXT)",
        "note (name TEXT PRIMARY KEY, value TEXT)",
    ):
        db.execute(f"CREATE TABLE {table}")
    db.execute("CREATE INDEX run_session ON run(session)")
    db.execute("CREATE INDEX run_at ON run(at)")


@SCHEMA.step
def m002_ledger(db: Database) -> None:
    """Add the tables of the ledger."""
    create_tables(db)


@SCHEMA.step
def m003_verdicts(db: Database) -> None:
    """Add the table of decisions about statements."""
    decision_log.create_table(db)


@SCHEMA.step
def m004_offers(db: Database) -> None:
    """Add the tables of offers."""
    candidates.create_tables(db)


# Parser state of an older version, stripped of its text: it has no turns and no queued prompt.
_NO_TEXT: Mapping[str, Any] = MappingProxyType({"v": 2, "turns": [], "held": None, "queued": [], "path": "", "chained": False})


@SCHEMA.step
def m005_no_text_in_cursors(db: Database) -> None:
    """Erase the prompts and answers stored in cursors. They are read from the log again when needed."""
    for transcript, context in db.execute("SELECT transcript, context FROM cursor WHERE context != ''"):
        try:
            values = orjson.loads(context)
            kept = orjson.dumps({**values, **_NO_TEXT}).decode() if isinstance(values, dict) else ""
        except orjson.JSONDecodeError:
            kept = ""
        db.execute("UPDATE cursor SET context = ? WHERE transcript = ?", (kept, transcript))
    db.scrub_at_end()


@SCHEMA.step
def m006_no_text_in_verdicts(db: Database) -> None:
    """Erase the text of decisions. It is read from the log when displayed."""
    decision_log.drop_text(db)
    db.scrub_at_end()


@SCHEMA.step
def m007_neighbours_of_candidates(db: Database) -> None:
    """Add the table that maps each candidate to its nearest known memory."""
    candidates.create_neighbours(db)


@SCHEMA.step
def m008_held(db: Database) -> None:
    """Add the table of log parts that rules have read and that still wait for a model."""
    db.execute(
        "CREATE TABLE held (transcript TEXT PRIMARY KEY, session TEXT, cwd TEXT, reason TEXT, due REAL, attempts INTEGER,"
        " error TEXT, offset INTEGER, line INTEGER, fingerprint TEXT, context TEXT)"
    )


@SCHEMA.step
def m009_handoffs(db: Database) -> None:
    """Add the table of session handoffs."""
    db.execute("CREATE TABLE handoff (session TEXT PRIMARY KEY, project TEXT, at TEXT, text TEXT, shown INTEGER DEFAULT 0)")


@SCHEMA.step
def m010_folder_switches(db: Database) -> None:
    """Add the table of switches for folders."""
    switches.create_table(db)


@SCHEMA.step
def m011_trial(db: Database) -> None:
    """Add the table of trial sessions."""
    trial.create_table(db)


@SCHEMA.step
def m012_clients(db: Database) -> None:
    """Add the client to sessions. It is empty for Claude Code."""
    db.execute("ALTER TABLE session ADD COLUMN client TEXT NOT NULL DEFAULT ''")


@SCHEMA.step
def m013_compliance(db: Database) -> None:
    """Add the tables of the compliance ledger."""
    compliance.create_tables(db)


@SCHEMA.step
def m014_given(db: Database) -> None:
    """Add the table of the tokens given to sessions."""
    create_given(db)


@SCHEMA.step
def m015_switch_history(db: Database) -> None:
    """Add the history of switches."""
    switches.create_history(db)


GIVEN_UP = "given up"  # Key of the note that lists the log lines that took too long, as JSON.
# Reason of a job that waits until its log has enough text for a model call or its session is idle.
GATHERING = "gathering"
KEPT_HANDOFFS = 5


@dataclass(frozen=True, slots=True)
class Cursor:
    """Read position in a transcript.

    Attributes:
        fingerprint: Digest of the bytes before `offset`. Empty if the cursor was moved without opening the log.
        context: Parser state without text from the log.
        live: Parser state with text, for continuing within the same process. Never stored.
    """

    transcript: str
    session: str = ""
    offset: int = 0
    line: int = 0
    fingerprint: str = ""
    context: str = ""
    live: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Job:
    """A pending day dream. `due` is a time in seconds since 1970."""

    transcript: str
    session: str
    cwd: str
    reason: str
    generation: int
    due: float
    attempts: int
    error: str


@dataclass(frozen=True, slots=True)
class Handoff:
    """Summary of where a session left off. `shown` means that a later session has received it."""

    session: str
    project: str
    at: str
    text: str
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """Part of a log, starting at `cursor`, that rules have read and that still waits for a model."""

    job: Job
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Run:
    """Result of a day dream over one part of a transcript (bytes `start` to `stop`). `id` is set once the run is recorded."""

    session: str
    transcript: str
    project: str
    at: str
    start: int
    stop: int
    turns: int = 0
    kept: int = 0
    known: int = 0
    skipped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    error: str = ""
    extractor: str = ""
    model: str = ""
    usage: Usage = Usage()
    id: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """Record of a session as reported by hooks."""

    session: str
    project: str
    cwd: str
    transcript: str
    started_at: str
    ended_at: str
    last_at: str
    governed: bool
    off: bool
    client: str = ""


_CURSOR = "transcript, session, offset, line, fingerprint, context"
_JOB = "transcript, session, cwd, reason, generation, due, attempts, error"
_HELD = "transcript, session, cwd, reason, due, attempts, error, offset, line, fingerprint, context"
_SESSION = "session, project, cwd, transcript, started_at, ended_at, last_at, governed, off, client"
_RUN = (
    "session, transcript, project, at, start, stop, turns, kept, known, skipped, error, extractor, model,"
    " calls, input_tokens, output_tokens, cost_usd"
)


class State:
    """Access to the state database. Each method is one transaction. `folders_of` returns a project's working folders."""

    def __init__(self, path: Path, clock: Clock, folders_of: Callable[[str], Sequence[str]] = lambda project: ()) -> None:
        self._clock = clock
        self._db = SCHEMA.open(path)
        try:
            self._db.check()  # Never replace a damaged database silently: that would switch memory on again.
        except StoreError:
            self._db.close()
            raise
        self.ledger = Ledger(self._db, clock)
        self.offers = candidates.Offers(self._db, clock)
        self.switches = switches.Switches(self._db, clock, folders_of)
        self.trial = trial.Trial(self._db, clock)
        self.compliance = compliance.Compliance(self._db, clock)

    def close(self) -> None:
        """Close the database."""
        self.compliance.flush()
        self._db.close()

    def _now(self) -> str:
        return to_iso(self._clock.now())

    # Cursors

    def cursor(self, transcript: str) -> Cursor:
        """Return the read position in a transcript, or a new cursor if the transcript is unknown."""
        rows = self._db.execute(f"SELECT {_CURSOR} FROM cursor WHERE transcript = ?", (transcript,))
        return Cursor(*rows[0]) if rows else Cursor(transcript)

    def finish_piece(self, cursor: Cursor, run: Run, decided: Sequence[LoggedDecision] = ()) -> None:
        """Move the cursor, and record the run and its decisions in the same transaction."""
        with self._db.transaction():
            self.set_cursor(cursor)
            self.record_run(run)
            decision_log.record(self._db, int(self._db.value("SELECT max(id) FROM run")), run.session, decided)

    def record_decisions(self, run: Run, decided: Sequence[LoggedDecision]) -> None:
        """Record decisions that did not come from reading a log."""
        with self._db.transaction():
            self.record_run(run)
            decision_log.record(self._db, int(self._db.value("SELECT max(id) FROM run")), run.session, decided)

    def set_cursor(self, cursor: Cursor) -> None:
        """Store a cursor."""
        self._db.execute(
            f"INSERT OR REPLACE INTO cursor ({_CURSOR}) VALUES (?, ?, ?, ?, ?, ?)",
            (cursor.transcript, cursor.session, cursor.offset, cursor.line, cursor.fingerprint, cursor.context),
        )

    def cursors(self) -> list[Cursor]:
        """Return all cursors by transcript."""
        rows = self._db.execute(f"SELECT {_CURSOR} FROM cursor ORDER BY transcript")
        return [Cursor(*row) for row in rows]

    # Jobs

    def enqueue(self, transcript: str, session: str, cwd: str, reason: str) -> None:
        """Request a day dream now.

        A job waiting for a retry keeps its back-off. A job waiting for more text becomes due.
        """
        self._db.execute(
            f"INSERT INTO job ({_JOB}) VALUES (?, ?, ?, ?, 1, ?, 0, '') ON CONFLICT(transcript) DO UPDATE SET"
            " generation = generation + 1, session = excluded.session, cwd = excluded.cwd, reason = excluded.reason,"
            " due = CASE WHEN attempts = 0 THEN min(due, excluded.due) ELSE due END",
            (transcript, session, cwd, reason, self._clock.now().timestamp()),
        )

    def due_job(self) -> Job | None:
        """Return the job that has been due longest, or None."""
        now = self._clock.now().timestamp()
        rows = self._db.execute(
            f"SELECT {_JOB} FROM job WHERE due <= ? OR due > ? ORDER BY due, transcript LIMIT 1",
            (now, now + MAX_JOB_DELAY_SECONDS),
        )
        return Job(*rows[0]) if rows else None

    def jobs(self) -> list[Job]:
        """Return all pending jobs, in the order in which they are due."""
        return [Job(*row) for row in self._db.execute(f"SELECT {_JOB} FROM job ORDER BY due, transcript")]

    def finish_job(self, job: Job) -> None:
        """Remove the job, unless another day dream was requested while it was running."""
        with self._db.transaction():
            self._db.execute("DELETE FROM job WHERE transcript = ? AND generation = ?", (job.transcript, job.generation))
            self._db.execute("UPDATE job SET attempts = 0, error = '' WHERE transcript = ?", (job.transcript,))

    def postpone_job(self, job: Job, error: str) -> float:
        """Schedule a retry with twice the previous delay (15 s up to one hour), and return the delay in seconds."""
        delay = min(FIRST_BACKOFF_SECONDS * 2.0 ** min(job.attempts, 20), MAX_BACKOFF_SECONDS)
        due = self._clock.now().timestamp() + delay
        self._db.execute(
            "UPDATE job SET attempts = attempts + 1, due = ?, error = ? WHERE transcript = ?", (due, error, job.transcript)
        )
        return delay

    def defer_job(self, job: Job, reason: str, seconds: float) -> None:
        """Defer a job without counting a failure. Does nothing if the job was requested again in the meantime."""
        due = self._clock.now().timestamp() + seconds
        self._db.execute(
            "UPDATE job SET due = ?, reason = ?, attempts = 0, error = '' WHERE transcript = ? AND generation = ?",
            (due, reason, job.transcript, job.generation),
        )

    # Handoffs

    def save_handoff(self, session: str, project: str, text: str, at: str) -> None:
        """Save the handoff of a session that ended at this time. Only the latest few per project are kept."""
        with self._db.transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO handoff (session, project, at, text) VALUES (?, ?, ?, ?)",
                (session, project, at, text),
            )
            self._db.execute(
                "DELETE FROM handoff WHERE project = ? AND session NOT IN"
                " (SELECT session FROM handoff WHERE project = ? ORDER BY at DESC LIMIT ?)",
                (project, project, KEPT_HANDOFFS),
            )

    def handoffs(self, project: str) -> list[Handoff]:
        """Return the project's handoffs, latest first, or nothing if memory is off."""
        return [] if self.is_off(project) else self._handoffs("WHERE project = ?", project)

    def all_handoffs(self) -> list[Handoff]:
        """Return all handoffs, including those of projects with memory off. Used for forgetting."""
        return self._handoffs("")

    def _handoffs(self, condition: str, *values: str) -> list[Handoff]:
        rows = self._db.execute(
            f"SELECT session, project, at, text, shown FROM handoff {condition} ORDER BY at DESC, session", values
        )
        return [Handoff(*(*row[:4], bool(row[4]))) for row in rows]

    def set_handoff_shown(self, session: str, shown: bool = True) -> None:
        """Record whether a later session received the handoff."""
        self._db.execute("UPDATE handoff SET shown = ? WHERE session = ?", (shown, session))

    def drop_handoffs(self, *, session: str = "", project: str = "") -> None:
        """Delete the handoff of a session, or all handoffs of a project."""
        self._db.execute("DELETE FROM handoff WHERE session = ? OR project = ?", (session or "\0", project or "\0"))

    # Log parts that wait for a model

    def hold(self, job: Job, cursor: Cursor, error: str, due: float) -> None:
        """Queue the log for a model, starting at the cursor. A log that is already queued keeps its earlier position."""
        values = (job.transcript, cursor.session or job.session, job.cwd, job.reason, due, 0, error)
        self._db.execute(
            f"INSERT INTO held ({_HELD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT(transcript) DO UPDATE SET reason = excluded.reason, error = excluded.error",
            (*values, cursor.offset, cursor.line, cursor.fingerprint, cursor.context),
        )

    def held(self) -> list[Held]:
        """Return all parts waiting for a model, in the order in which they are due."""
        return [_held(row) for row in self._db.execute(f"SELECT {_HELD} FROM held ORDER BY due, transcript")]

    def is_held(self, transcript: str) -> bool:
        """Return whether part of the log is waiting for a model."""
        return bool(self._db.value("SELECT 1 FROM held WHERE transcript = ?", (transcript,)))

    def next_held(self) -> Held | None:
        """Return the due part that has waited longest for a model, or None."""
        now = self._clock.now().timestamp()
        rows = self._db.execute(
            f"SELECT {_HELD} FROM held WHERE due <= ? OR due > ? ORDER BY due, transcript LIMIT 1",
            (now, now + MAX_HELD_DELAY_SECONDS),
        )
        return _held(rows[0]) if rows else None

    def postpone_held(self, held: Held, error: str, due: float) -> None:
        """Schedule a later retry for a part waiting for a model."""
        self._db.execute(
            "UPDATE held SET attempts = attempts + 1, due = ?, error = ? WHERE transcript = ?", (due, error, held.job.transcript)
        )

    def release_held(self) -> None:
        """Make all parts waiting for a model due now."""
        self._db.execute("UPDATE held SET due = 0, error = ''")

    def finish_held(
        self, held: Held, cursor: Cursor | None, run: Run | None = None, decided: Sequence[LoggedDecision] = ()
    ) -> None:
        """Record a model's run over a part, and advance to the cursor. If the cursor is None, the part is removed.

        If the model has read further than the rules, the rules skip ahead as well.
        """
        with self._db.transaction():
            if cursor is None or cursor.offset >= self.cursor(cursor.transcript).offset:
                self._db.execute("DELETE FROM held WHERE transcript = ?", (held.job.transcript,))
            else:
                self._db.execute(
                    "UPDATE held SET attempts = 0, error = '', offset = ?, line = ?, fingerprint = ?, context = ?"
                    " WHERE transcript = ?",
                    (cursor.offset, cursor.line, cursor.fingerprint, cursor.context, held.job.transcript),
                )
            if cursor is not None and cursor.offset > self.cursor(cursor.transcript).offset:
                self.set_cursor(cursor)
            if run is not None:
                self.record_run(run)
                decision_log.record(self._db, int(self._db.value("SELECT max(id) FROM run")), run.session, decided)

    # Sessions and injections

    def touch_session(self, session: str, project: str, cwd: str, transcript: str, client: str = "") -> None:
        """Record session activity. Does not wait for the disk, because a hook is waiting for the call.

        Args:
            session: The session's id.
            project: Its project.
            cwd: Its folder.
            transcript: The path of its log.
            client: The name of its client; empty for Claude Code.
        """
        now = self._now()
        with self._db.unsynced():
            self._db.execute(
                "INSERT INTO session (session, project, cwd, transcript, started_at, ended_at, last_at, client)"
                " VALUES (?, ?, ?, ?, ?, '', ?, ?) ON CONFLICT(session) DO UPDATE SET project = excluded.project,"
                " cwd = excluded.cwd, transcript = excluded.transcript, last_at = excluded.last_at, ended_at = ''",
                (session, project, cwd, transcript, now, now, client),
            )

    def end_session(self, session: str) -> None:
        """Record the session's end."""
        self._db.execute("UPDATE session SET ended_at = ? WHERE session = ?", (self._now(), session))

    def session(self, session: str) -> SessionRecord | None:
        """Return the session's record, or None if there is none."""
        return next(iter(self._sessions("WHERE session = ?", (session,))), None)

    def sessions(self, limit: int = 50) -> list[SessionRecord]:
        """Return sessions, most recently active first."""
        return self._sessions("ORDER BY last_at DESC, session LIMIT ?", (limit,))

    def _sessions(self, rest: str, parameters: tuple[Any, ...]) -> list[SessionRecord]:
        rows = self._db.execute(f"SELECT {_SESSION} FROM session {rest}", parameters)
        return [SessionRecord(*(*row[:7], bool(row[7]), bool(row[8]), row[9])) for row in rows]

    def set_governed(self, session: str, governed: bool = True) -> None:
        """Record whether the session has received its governance."""
        self._db.execute("UPDATE session SET governed = ? WHERE session = ?", (int(governed), session))

    def move_project(self, old: str, new: str) -> None:
        """Reassign the sessions of one project to another, and delete the switch of the first project."""
        self.compliance.move_project(old, new)
        with self._db.transaction():
            self._db.execute("UPDATE session SET project = ? WHERE project = ?", (new, old))
            self._db.execute("UPDATE run SET project = ? WHERE project = ?", (new, old))
            self._db.execute("UPDATE handoff SET project = ? WHERE project = ?", (new, old))
            self.offers.move_project(old, new)
            self.switches.move(old, new)
            self.trial.move_project(old, new)

    def set_session_off(self, session: str, off: bool) -> None:
        """Switch memory off or on for one session."""
        with self._db.transaction():
            self._db.execute("UPDATE session SET off = ? WHERE session = ?", (int(off), session))
            project = self._db.value("SELECT project FROM session WHERE session = ?", (session,))
            self.switches.set_session(session, str(project or ""), off)

    def injected(self, session: str) -> set[str]:
        """Return the ids of memories injected into the session."""
        return {row[0] for row in self._db.execute("SELECT memory FROM injection WHERE session = ?", (session,))}

    def record_injection(self, session: str, memories: Iterable[str], event: str) -> None:
        """Record an injection. If the record is lost in a power cut, the memories are injected again."""
        now = self._now()
        given = list(memories)
        if not given:
            return
        with self._db.unsynced():
            self._db.executemany(
                "INSERT OR IGNORE INTO injection (session, memory, at, event) VALUES (?, ?, ?, ?)",
                [(session, memory, now, event) for memory in given],
            )
            self.ledger.record_use(given, session, UseKind.INJECTED)

    def injections(self, session: str) -> dict[str, str]:
        """Return the memories still in the session's context, mapped to the hook event that injected each."""
        return dict(self._db.execute("SELECT memory, event FROM injection WHERE session = ?", (session,)))

    def forget_injections(self, session: str) -> None:
        """Forget the session's injections after compaction or /clear, which remove them from its context."""
        with self._db.transaction():
            self._db.execute("DELETE FROM injection WHERE session = ?", (session,))
            self._db.execute("UPDATE session SET governed = 0 WHERE session = ?", (session,))

    def take_back_injections(self, session: str, before: Collection[str], governed: bool) -> None:
        """Remove the session's injections other than those `before`, because it did not receive them."""
        rows = [(session, memory) for memory in self.injected(session) - set(before)]
        with self._db.transaction():
            self._db.executemany("DELETE FROM injection WHERE session = ? AND memory = ?", rows)
            self.ledger.take_back_uses(session, [memory for _, memory in rows], UseKind.INJECTED)
            self.set_governed(session, governed)

    # Runs

    def record_run(self, run: Run) -> None:
        """Record the result of a day dream."""
        u = run.usage
        self._db.execute(
            f"INSERT INTO run ({_RUN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (run.session, run.transcript, run.project, run.at, run.start, run.stop, run.turns, run.kept, run.known)
            + (orjson.dumps(dict(run.skipped)).decode(), run.error, run.extractor, run.model)
            + (u.calls, u.input_tokens, u.output_tokens, u.cost_usd),
        )  # fmt: skip

    def runs(self, session: str | None = None, limit: int = 50) -> list[Run]:
        """Return the latest runs, newest first."""
        condition, parameters = ("WHERE session = ?", [session]) if session else ("", [])
        rows = self._db.execute(f"SELECT {_RUN}, id FROM run {condition} ORDER BY id DESC LIMIT ?", [*parameters, limit])
        return [_run(row) for row in rows]

    def verdicts(self, session: str) -> list[LoggedDecision]:
        """Return the decisions about the session's statements, in log order."""
        return decision_log.of_session(self._db, session)

    def tokens_since(self, moment_iso: str) -> int:
        """Return the number of model tokens used by day dreams since this time."""
        start = to_iso(from_iso(moment_iso))
        return int(self._db.value("SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM run WHERE at >= ?", (start,)))

    def spent_since(self, moment_iso: str) -> Usage:
        """Return the model usage since this time. The cost is None if any call did not report it."""
        rows = self._db.execute(
            "SELECT coalesce(sum(calls), 0), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),"
            " CASE WHEN count(*) = count(cost_usd) THEN coalesce(sum(cost_usd), 0.0) END FROM run WHERE at >= ?",
            (to_iso(from_iso(moment_iso)),),
        )
        return Usage(*rows[0])

    # Switches and notes

    def is_off(self, project: str, folder: str = "") -> bool:
        """Return whether the user switched memory off for the project, or for the folder if one is given."""
        return self.switches.is_off(project, folder)

    def note(self, name: str) -> str:
        """Return a small stored value, or an empty string if it is not set."""
        return str(self._db.value("SELECT value FROM note WHERE name = ?", (name,)) or "")

    def note_purged(self, memories: Iterable[str]) -> None:
        """Remember that memories were erased, until the next sync has erased them on the user's other machines."""
        self.set_note(PURGED_NOTE, " ".join(dict.fromkeys([*self.note(PURGED_NOTE).split(), *memories])))

    def purging(self) -> list[str]:
        """Return the memories of a purge that a killed process did not finish."""
        return self.note(PURGING_NOTE).split()

    def set_purging(self, memories: Iterable[str]) -> None:
        """Remember the memories of a purge that begins, or none when it is done."""
        self.set_note(PURGING_NOTE, " ".join(memories))

    def set_note(self, name: str, value: str) -> None:
        """Store a small value."""
        self._db.execute("INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)", (name, value))


def _held(row: tuple[Any, ...]) -> Held:
    transcript, session, cwd, reason, due, attempts, error = row[:7]
    return Held(Job(transcript, session, cwd, reason, 0, due, attempts, error), Cursor(transcript, session, *row[7:]))


def _run(row: tuple[Any, ...]) -> Run:
    return Run(*(*row[:9], orjson.loads(row[9]), *row[10:13], Usage(*row[13:-1]), row[-1]))
