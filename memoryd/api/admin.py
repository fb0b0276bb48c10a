"""Administrative operations: status, the log, day dreams and the indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from memoryd import __version__
from memoryd.api.parameters import NoParameters, count, path, request, text
from memoryd.api.registry import Caller, Tool, operation
from memoryd.api.sessions import given_to, run_totals
from memoryd.core.clock import SKEW, to_iso
from memoryd.core.errors import DatabaseUnavailable, InputError
from memoryd.core.files import read_tail
from memoryd.core.types import Query, Status

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.core.state import Job, Run
    from memoryd.stores.indexing import IndexHealth

RECENT_RUNS = 200
SHOWN_SESSIONS = 10
SHOWN_PROBLEMS = 20
OFFER_DAYS = 30
MAX_ID = 20
CONTEXT_SESSIONS = 50


class Health(TypedDict):
    """The status of the memory and its components. `daemon` describes the responding process."""

    version: str
    home: str
    memories: dict[str, int]
    index: dict[str, Any]
    router: dict[str, Any]
    reader: str
    reader_line: str
    reader_problem: str
    offers: dict[str, int]
    tokens_today: int
    usd_today: float | None
    tokens_month: int
    usd_month: float | None
    daily_token_budget: int
    daydreams: dict[str, Any]
    dreams: dict[str, Any]
    sessions: list[dict[str, Any]]
    context: dict[str, int]
    projects_off: list[str]
    folders_off: list[str]
    here: NotRequired[dict[str, str]]
    daemon: NotRequired[Mapping[str, Any]]


@operation(
    NoParameters,
    Health,
    tool=Tool(
        "State of the memory",
        "How many memories there are, whether indexes, spool and day dreams are healthy, what failed last and how to fix it.",
        order=130,
    ),
    when_off=True,
)
def memory_status(runtime: Runtime, request: NoParameters, caller: Caller) -> Health:
    """Report the contents of the memory and the health of its components."""
    from memoryd.daydream.readers import choose, current_problem, reader_line, spending, unavailable

    health = runtime.service.health()
    jobs = _waiting(runtime)
    spent = spending(runtime.state, runtime.clock)
    problem = current_problem(runtime.settings, runtime.state)
    answer = {
        "version": __version__,
        "home": str(runtime.settings.home),
        "memories": {"all": health.memories, "active": health.active, "ahead_of_the_clock": _ahead(runtime)},
        "index": {
            "embedder": health.embedder,
            "embedder_error": health.embedder_error,
            "waiting_for_vectors": health.waiting,
            "rebuilt": list(health.rebuilt),
            "broken_files": [*_missing_vault(runtime, health), *health.broken][:SHOWN_PROBLEMS],
        },
        "router": runtime.service.ranker.router.as_dict(),
        "reader": choose(runtime.settings),
        "reader_line": reader_line(runtime.settings, spent, problem and unavailable(runtime.settings, runtime.state, problem)),
        "reader_problem": problem,
        "offers": _offers(runtime),
        **spent,
        "daily_token_budget": runtime.settings.daily_token_budget,
        "daydreams": {"waiting": len(jobs), "failing": [_failing(job) for job in jobs if job.error][:SHOWN_PROBLEMS]},
        "sessions": _sessions(runtime),
        "context": _context(runtime),
        "dreams": _dreams(runtime),
        "projects_off": _projects_off(runtime),
        "folders_off": runtime.state.switches.folders_off(),
    }
    if caller.cwd:
        answer["here"] = runtime.switched(caller.cwd)
    return cast("Health", answer if runtime.daemon is None else {**answer, "daemon": runtime.daemon()})


def _missing_vault(runtime: Runtime, health: IndexHealth) -> list[str]:
    if not health.missing_vault:
        return []
    return [
        f"{runtime.service.folder} is missing, and all memories with it. Fix: Put it back; the memories are picked up at once."
    ]


def _ahead(runtime: Runtime) -> int:
    """Count the memories dated in the future, which were recorded while the clock was wrong."""
    try:
        return runtime.service.count(Query(statuses=tuple(Status), created_after=runtime.clock.now() + SKEW))
    except DatabaseUnavailable:  # The status lists such a file as broken.
        return 0


def _projects_off(runtime: Runtime) -> list[str]:
    """Return the projects for which memory is off, through their own switch or through that of a parent folder."""
    switches = runtime.state.switches
    own = set(switches.projects_off())
    return sorted(id for id in own | set(runtime.registry.known() if switches.folders_off() else ()) if switches.is_off(id))


def _dreams(runtime: Runtime) -> dict[str, Any]:
    from memoryd.dream.sweep import LAST_ERROR, LAST_RUN

    waiting, undecided = runtime.sweep.proposals.counts()
    notes = {"last_run": runtime.state.note(LAST_RUN), "last_error": runtime.state.note(LAST_ERROR)}
    return {**notes, "proposals": waiting, "undecided": undecided}


def _waiting(runtime: Runtime) -> list[Job]:
    """Count the pending jobs: logs with unread text, and logs processed by the rules but not yet by a model."""
    return [*runtime.state.jobs(), *(held.job for held in runtime.state.held())]


def _offers(runtime: Runtime) -> dict[str, int]:
    """Count the recent offers to settle candidates, by outcome."""
    since = to_iso(runtime.clock.now() - timedelta(days=OFFER_DAYS))
    return {"days": OFFER_DAYS, **asdict(runtime.state.offers.totals(since))}


def _sessions(runtime: Runtime) -> list[dict[str, Any]]:
    """Return the numbers of items read, kept and skipped per session, and the last error."""
    by_session: dict[str, list[Run]] = {}
    for run in runtime.state.runs(limit=RECENT_RUNS):
        by_session.setdefault(run.session, []).append(run)
    shown = list(by_session.items())[:SHOWN_SESSIONS]
    return [{**run_totals(session, runs), "given": given_to(runtime, session)} for session, runs in shown]


def _context(runtime: Runtime) -> dict[str, int]:
    """Return the tokens and memories given to the latest sessions, and how many of these memories the agent cited."""
    given = [given_to(runtime, record.session) for record in runtime.state.sessions(CONTEXT_SESSIONS)]
    total = {name: sum(each[name] for each in given) for name in ("tokens", "memories", "cited")}
    return {"sessions": sum(bool(each["tokens"]) for each in given), **total}


@request
class ReadLog:
    """The filter and the limit for `log`."""

    session: str = text(help="Only this session.")
    limit: int = count(default=20, low=1, high=500, help="At most this many day dreams and lines.")


class Log(TypedDict):
    """Day dreams, newest first, and the last lines of the daemon's log."""

    runs: list[dict[str, Any]]
    daemon_log: list[str]


@operation(ReadLog, Log, form="Log of day dreams")
def log(runtime: Runtime, request: ReadLog, caller: Caller) -> Log:
    """Show what day dreams did, newest first, and the last lines of the daemon's log."""
    runs = [asdict(run) | {"skipped": dict(run.skipped)} for run in runtime.state.runs(request.session or None, request.limit)]
    return {"runs": runs, "daemon_log": read_tail(runtime.settings.paths.logs / "daemon.log", request.limit)}


@request
class ReadSessions:
    """The parameters of `daydream`."""

    transcript: str = path(help="A session log (.jsonl); default: all known sessions.", person_only=True)


class Queue(TypedDict):
    """The number of pending day dreams."""

    waiting: int


@operation(ReadSessions, Queue)
def daydream(runtime: Runtime, request: ReadSessions, caller: Caller) -> Queue:
    """Queue a day dream of a transcript, or of every known session with unread text."""
    from memoryd.daydream.readers import wake
    from memoryd.daydream.transcript import is_log

    if request.transcript:
        path = Path(request.transcript)
        if not path.is_file():
            raise InputError(f"There is no transcript {path}.", fix="Give the path of a session's .jsonl file.")
        if not is_log(path):
            raise InputError(f"{path} is not a session log: it has no line of JSON.", fix="Give a session's .jsonl file.")
        runtime.state.enqueue(str(path.absolute()), path.stem, "", "by hand")
    else:
        for record in runtime.state.sessions(RECENT_RUNS):
            if record.transcript:
                runtime.state.enqueue(record.transcript, record.session, record.cwd, "by hand")
    wake(runtime.state)
    return {"waiting": len(_waiting(runtime))}


class Jobs(Queue):
    """The day dreams that are pending, and those that fail."""

    failing: list[dict[str, Any]]


@operation(NoParameters, Jobs)
def jobs(runtime: Runtime, request: NoParameters, caller: Caller) -> Jobs:
    """List the pending day dreams for a progress display. Sessions that are still collecting text are not counted."""
    from memoryd.core.state import GATHERING

    jobs = _waiting(runtime)
    ready = [job for job in jobs if not job.error and job.reason != GATHERING]
    return {"waiting": len(ready), "failing": [_failing(job) for job in jobs if job.error]}


class Rebuilt(TypedDict):
    """The state of the indexes.

    `waiting` is the number of memories without a vector. `unsent` is the number of changes not yet sent to the database.
    """

    memories: int
    active: int
    broken: list[str]
    waiting: int
    embedder: str
    embedder_error: str
    rebuilt: list[str]
    missing_vault: bool
    unsent: int


@operation(NoParameters, Rebuilt, form="Rebuild the indexes")
def reindex(runtime: Runtime, request: NoParameters, caller: Caller) -> Rebuilt:
    """Rebuild all indexes from the Markdown files."""
    return cast("Rebuilt", asdict(runtime.service.reindex()))


@request
class WriteKeys:
    """The start of the next batch of keys."""

    after: str = text(help="The `next` of the previous call.", limit=MAX_ID)


class WrittenKeys(TypedDict):
    """The progress of key writing. Pass `next` to the following call; it is empty when all keys are written."""

    written: int
    left: int
    stopped: str
    reader: str
    next: str


@operation(WriteKeys, WrittenKeys)
def write_keys(runtime: Runtime, request: WriteKeys, caller: Caller) -> WrittenKeys:
    """Have the reader's model write keys for a batch of memories that lack them.

    `after` is the `next` of the previous call.
    """
    from memoryd.daydream.key_writer import KeyWriter
    from memoryd.daydream.readers import choose, make_llm, models_of

    models = models_of(runtime.settings)
    if not models:
        raise InputError(
            f"No model is available to write keys: the reader is {choose(runtime.settings)}.",
            fix="Choose a reader with a model of its own: memoryd setup.",
        )
    llm = make_llm(runtime.settings, models[0], logins=runtime.logins)
    writer = KeyWriter(llm, runtime.service, runtime.state, runtime.settings, runtime.clock)
    waiting = writer.missing(request.after)
    done = writer.write_batch(waiting)
    last = waiting[: len(waiting) - done.left]
    return {
        "written": done.written,
        "left": done.left,
        "stopped": done.stopped,
        "reader": models[0],
        "next": last[-1].id if last else request.after,
    }


class Synced(TypedDict):
    """Memories edited or deleted by hand, and unreadable files."""

    changed: list[str]
    removed: list[str]
    broken: list[str]


@operation(NoParameters, Synced, form="Import edited files")
def sync(runtime: Runtime, request: NoParameters, caller: Caller) -> Synced:
    """Apply changes made to the files by hand."""
    report = runtime.service.sync()
    return {
        "changed": [item.id for item in report.changed],
        "removed": list(report.removed),
        "broken": [str(error) for error in report.broken],
    }


def _failing(job: Job) -> dict[str, Any]:
    return {"transcript": job.transcript, "session": job.session, "attempts": job.attempts, "error": job.error, "due": job.due}
