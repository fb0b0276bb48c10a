"""The calls that run the machine: status, day dreams, switches, index work, import and export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

from memoryd import __version__
from memoryd.api.memories import Caller
from memoryd.api.params import Params
from memoryd.api.sessions import run_totals
from memoryd.clock import to_iso
from memoryd.config import Settings
from memoryd.daydream.extractors import choose, make_llm, models_of
from memoryd.daydream.key_writer import KeyWriter
from memoryd.daydream.opening import is_log
from memoryd.daydream.readers import PROBLEM, reader_line, spending, wake
from memoryd.daydream.transcript import blind_cursor
from memoryd.errors import InputError, NotFoundError
from memoryd.files import read_tail
from memoryd.llm.logins import Logins
from memoryd.project import ProjectRegistry, name_of
from memoryd.protocols import Clock
from memoryd.recall.inject import Injector
from memoryd.service import Orchestrator
from memoryd.state import GATHERING, Job, Run, SessionRecord, State
from memoryd.transfer import exporting, importing
from memoryd.types import Project, Query, Scope, Status

RECENT_RUNS = 200
SHOWN_SESSIONS = 10
MOST_SESSIONS = 1_000_000
SHOWN_PROBLEMS = 20
MOST_MOVED = 1_000_000
OFFER_DAYS = 30


class AdminCalls:
    """memory_status, daydream, reindex, write_keys, sync, off, on, log, import, export."""

    def __init__(
        self,
        service: Orchestrator,
        state: State,
        settings: Settings,
        registry: ProjectRegistry,
        injector: Injector,
        clock: Clock,
        logins: Logins | None = None,
    ) -> None:
        self._service = service
        self._state = state
        self._settings = settings
        self._registry = registry
        self._injector = injector
        self._clock = clock
        self._logins = logins

    def memory_status(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What memory holds and whether it works."""
        params.done()
        health = self._service.health()
        jobs = self._waiting()
        spent = spending(self._state, self._clock)
        problem = self._state.note(PROBLEM)
        return {
            "version": __version__,
            "home": str(self._settings.home),
            "memories": {"all": health.memories, "active": health.active},
            "index": {
                "embedder": health.embedder,
                "embedder_error": health.embedder_error,
                "waiting_for_vectors": health.waiting,
                "rebuilt": list(health.rebuilt),
                "broken_files": list(health.broken[:SHOWN_PROBLEMS]),
            },
            "router": self._service.ranker.router.as_dict(),
            "reader": choose(self._settings),
            "reader_line": reader_line(self._settings, spent, problem),
            "reader_problem": problem,
            "offers": self._offers(),
            **spent,
            "daily_token_budget": self._settings.daily_token_budget,
            "daydreams": {"waiting": len(jobs), "failing": [_failing(job) for job in jobs if job.error][:SHOWN_PROBLEMS]},
            "sessions": self._sessions(),
            "projects_off": self._state.projects_off(),
        }

    def _waiting(self) -> list[Job]:
        """What is to be read: logs that gained text, and what rules have read and a model has not yet."""
        return [*self._state.jobs(), *(held.job for held in self._state.held())]

    def _offers(self) -> dict[str, int]:
        """What sessions were offered to settle lately, what it took, and what came of it."""
        since = to_iso(self._clock.now() - timedelta(days=OFFER_DAYS))
        return {"days": OFFER_DAYS, **asdict(self._state.offers.totals(since))}

    def _sessions(self) -> list[dict[str, Any]]:
        """Per session what was read, kept, skipped, and what failed."""
        by_session: dict[str, list[Run]] = {}
        for run in self._state.runs(limit=RECENT_RUNS):
            by_session.setdefault(run.session, []).append(run)
        return [run_totals(session, runs) for session, runs in list(by_session.items())[:SHOWN_SESSIONS]]

    def log(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What day dreams did, newest first, and the end of the daemon's log."""
        limit = params.count("limit", 20, low=1, high=500)
        session = params.text("session") or None
        params.done()
        runs = [asdict(run) | {"skipped": dict(run.skipped)} for run in self._state.runs(session, limit)]
        return {"runs": runs, "daemon_log": read_tail(self._settings.paths.logs / "daemon.log", limit)}

    def daydream(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Ask for a day dream of a transcript, or of every known session that has gained text."""
        transcript = params.text("transcript")
        params.done()
        if transcript:
            path = Path(transcript)
            if not path.is_file():
                raise InputError(f"There is no transcript {path}.", fix="Give the path of a session's .jsonl file.")
            if not is_log(path):
                raise InputError(f"{path} is no session log: it holds no line of JSON.", fix="Give a session's .jsonl file.")
            self._state.enqueue(str(path.absolute()), path.stem, "", "by hand")
        else:
            for record in self._state.sessions(RECENT_RUNS):
                if record.transcript:
                    self._state.enqueue(record.transcript, record.session, record.cwd, "by hand")
        wake(self._state)
        return {"waiting": len(self._waiting())}

    def jobs(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Day dreams that wait, for progress displays; those of sessions that go on and gather text are not among them."""
        params.done()
        jobs = self._waiting()
        ready = [job for job in jobs if not job.error and job.reason != GATHERING]
        return {"waiting": len(ready), "failing": [_failing(job) for job in jobs if job.error]}

    def reindex(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Rebuild all indexes from the Markdown."""
        params.done()
        return asdict(self._service.reindex())

    def write_keys(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Let the reader's model write keys for the next few memories without any; `after` is the `next` of the call before."""
        after = params.text("after", limit=20)
        params.done()
        models = models_of(self._settings)
        if not models:
            raise InputError(
                f"No model writes keys: the reader is {choose(self._settings)}.",
                fix="Choose one that has a model of its own: memoryd setup.",
            )
        writer = KeyWriter(
            make_llm(self._settings, models[0], logins=self._logins), self._service, self._state, self._settings, self._clock
        )
        waiting = writer.missing(after)
        done = writer.write_batch(waiting)
        last = waiting[: len(waiting) - done.left]
        return asdict(done) | {"reader": models[0], "next": last[-1].id if last else after}

    def sync(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Take over changes made to the files by hand."""
        params.done()
        report = self._service.sync()
        return {
            "changed": [item.id for item in report.changed],
            "removed": list(report.removed),
            "broken": [str(error) for error in report.broken],
        }

    def off(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Switch memory off for a project or a session."""
        return self._switch(params, caller, off=True)

    def on(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Switch memory on again."""
        return self._switch(params, caller, off=False)

    def _switch(self, params: Params, caller: Caller, *, off: bool) -> dict[str, Any]:
        one = params.has("session")  # empty is a mistake (an unset variable), not the project
        session = params.text("session")
        folder, named = params.text("folder") or caller.cwd, params.text("project")
        params.done()
        if one:
            if self._state.session(session) is None:
                raise InputError(f"There is no session '{session}'.", fix="See 'memoryd status' for recent sessions.")
            self._pass_over(lambda record: record.session == session and record.off and not off)
            self._state.set_session_off(session, off)
            return {"session": session, "memory": "off" if off else "on"}
        project = self._project(named) if named else self._registry.resolve(folder)
        if not off and self._state.is_off(project.id):
            self._pass_over(lambda record: record.project == project.id)
        self._state.set_off(project.id, off)
        self._injector.cache_governance(project)
        return {"project": project.id, "memory": "off" if off else "on"}

    def _pass_over(self, wanted: Callable[[SessionRecord], bool]) -> None:
        """What was said while memory was off stays unread: the cursors of these sessions go to the end of their logs."""
        for record in self._state.sessions(MOST_SESSIONS):
            if record.transcript and wanted(record) and (cursor := blind_cursor(record.transcript, record.session)):
                self._state.set_cursor(cursor)

    def _project(self, named: str) -> Project:
        """A project by its id or unambiguous name."""
        id = self._registry.find(named)
        if id is None:
            fix = "See 'memoryd projects'."
            raise NotFoundError(f"There is no project '{named}' (or the name is ambiguous).", fix=fix)
        folders = self._registry.anchors(id)
        return Project(id, self._registry.known()[id], folders[0] if folders else "")

    def projects(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Known projects, how much is remembered for each, and whether memory is off."""
        params.done()
        counts = self._service.markdown.projects()
        off = set(self._state.projects_off())
        known = {id: name_of(id) for id in counts if id} | self._registry.known()
        return {
            "projects": [
                {"id": id, "name": name, "memories": counts.get(id, 0), "off": id in off} for id, name in sorted(known.items())
            ]
        }

    def move_project(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Give all memories, sessions and folders of one project to another; the old one is no project any more.

        `to` is a known project, or a folder whose project it is to be.
        """
        old, new = params.required("project"), params.required("to")
        params.done()
        source = self._vault_project(old)
        folder = Path(new).expanduser()
        target = self._registry.resolve(folder).id if folder.is_dir() else self._vault_project(new)
        if source == target:
            raise InputError("Both are the same project.", fix="See 'memoryd projects' for the ids.")
        with self._service.writing():
            theirs = Query(project=source, scopes=(Scope.PROJECT, Scope.TEAM), statuses=tuple(Status))
            moved = [hit.item for hit in self._service.search(theirs, MOST_MOVED)]
            for item in moved:
                self._service.update(item.id, project=target)
            self._registry.merge(source, target)
            self._state.move_project(source, target)
        self._injector.cache_governance(Project(target, name_of(target), "", ""))
        return {"project": target, "moved": len(moved), "from": source}

    def _vault_project(self, named: str) -> str:
        """The id of a project that a session was seen of, or whose memories lie in the vault."""
        found = self._registry.find(named)
        if found is not None:
            return found
        ids = [id for id in self._service.markdown.projects() if id and named in (id, name_of(id))]
        if len(ids) != 1:
            raise NotFoundError(f"There is no project '{named}' (or the name is ambiguous).", fix="See 'memoryd projects'.")
        return ids[0]

    def export(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Write everything into a portable archive or a JSON-lines file."""
        target = Path(params.required("path"))
        project = params.text("project") or None
        force = params.flag("force")
        params.done()
        return exporting.export(self._service, target, project=project, force=force)

    def import_file(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Read back an archive or JSON lines that `export` wrote."""
        source = Path(params.required("path"))
        params.done()
        return importing.import_export(self._service, source)

    def import_claude_memory(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Take over Claude Code's own MEMORY.md folders."""
        folder = Path(params.required("folder"))
        params.done()
        return importing.import_claude_memory(self._service, self._registry, folder, self._clock)

    def import_transcripts(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Queue past sessions for the day dream; what was read already is not read again."""
        folder = Path(params.required("folder"))
        params.done()
        found = importing.find_transcripts(folder)
        for path in found:
            self._state.enqueue(str(path), path.stem, "", "import")
        return {"queued": len(found), "sessions": [path.stem for path in found]}


def _failing(job: Job) -> dict[str, Any]:
    return {"transcript": job.transcript, "session": job.session, "attempts": job.attempts, "error": job.error, "due": job.due}
