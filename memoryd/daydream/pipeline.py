"""The day dream: read the new part of a log, extract statements, compare them with known ones, store them and advance the cursor.

The cursor only advances once all results of a chunk are durable. If the process is killed, the chunk is repeated.
This changes nothing, because known statements are not written again.
"""

from __future__ import annotations

import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from memoryd.clients.registry import foreign_client, log_status
from memoryd.core.clock import from_iso, to_iso
from memoryd.core.codec import ID_PATTERN, candidate_to_dict
from memoryd.core.config import ASKS_A_MODEL, ENDPOINT, OFFLINE, Settings
from memoryd.core.decision_log import REFUSED, LoggedDecision
from memoryd.core.errors import MemorydError, TranscriptError
from memoryd.core.ledger import Ledger, UseKind
from memoryd.core.project import ProjectRegistry
from memoryd.core.protocols import Clock, Embedder, Extractor
from memoryd.core.state import Cursor, Held, Job, Run, SessionRecord, State
from memoryd.core.types import (
    Candidate,
    Extraction,
    Kind,
    LinkType,
    MemoryItem,
    Message,
    Passage,
    Query,
    Source,
    Status,
    Turn,
    TurnKind,
    Usage,
)
from memoryd.daydream.admission import admissible, is_excluded, is_own_run, summed
from memoryd.daydream.handoff import SessionOutline, rare_tokens
from memoryd.daydream.measures import measure
from memoryd.daydream.model_reader import UnusableAnswerError, choose_related, find_related, is_searchable, messages_for
from memoryd.daydream.readers import (
    CONTINUING_EVENTS,
    FIRST_REST_SECONDS,
    LONGEST_REST_SECONDS,
    BatchPolicy,
    Readers,
    Waiting,
    limits_for,
    make_extractor,
)
from memoryd.daydream.reconcile import (
    UNKNOWN_SESSION,
    KeepAction,
    KeepingStore,
    Outcome,
    Reconciler,
    counts,
    decided,
    reconcile,
    resolve,
    to_item,
)
from memoryd.daydream.redact import redacted_passage
from memoryd.daydream.transcript import Apart, LineOrigin, LogChunk, cursor_at_end, first_folder, read_all, read_transcript
from memoryd.daydream.under_way import ReadAttempts
from memoryd.language.cues import opens_as_correction
from memoryd.llm.claude import Logins

# Record how a session used memories. Cited memories were useful, contradicted ones were wrong, and a correction by the user right
# after a memory was injected is a weak sign against it.
#
# Uses are recorded in the ledger for the dream. Reading the same log repeatedly records nothing twice.

_CITED = re.compile(rf"\b{ID_PATTERN.pattern}\b")
MAX_ECHOED = 200
# A hook runs just before the client writes the prompt to the log.
GIVEN_WITHIN = timedelta(seconds=10)


def echoed(turns: Iterable[Turn], given: Iterable[MemoryItem]) -> list[str]:
    """Return the memories whose names or values the agent was the first to use in these turns.

    Names and values that the user or a tool had already mentioned in these turns prove nothing.
    """
    rare = {item.id: rare_tokens(item.content) for item in given}
    met: set[str] = set()
    used: dict[str, None] = {}
    for turn in turns:
        said = rare_tokens(f"{turn.text} {turn.detail}")
        if turn.kind in (TurnKind.ASSISTANT, TurnKind.TOOL_USE) and not turn.sidechain:
            fresh = said - met
            used.update(dict.fromkeys(id for id, tokens in rare.items() if not fresh.isdisjoint(tokens)))
        met |= said
    return list(used)


def followed_by_correction(turns: Iterable[Turn], given: Mapping[str, str]) -> list[str]:
    """Return memories injected with a prompt that was followed by a correction. `given` maps ids to injection times."""
    prompts = [turn for turn in turns if turn.kind is TurnKind.USER and turn.via == "prompt" and not turn.sidechain and turn.at]
    times = {id: from_iso(at) for id, at in given.items()}
    out: dict[str, None] = {}
    for prompt, reply in pairwise(prompts):
        if prompt.at and reply.at and opens_as_correction(reply.text):
            until = min(reply.at, prompt.at + GIVEN_WITHIN)
            out.update(dict.fromkeys(id for id, at in times.items() if prompt.at - GIVEN_WITHIN <= at < until))
    return list(out)


def cited(turns: Iterable[Turn]) -> list[str]:
    """Return the ids of memories cited by the assistant, in the order of first mention."""
    said = (turn.text for turn in turns if turn.kind is TurnKind.ASSISTANT and not turn.sidechain)
    return list(dict.fromkeys(id for text in said for id in _CITED.findall(text)))


def contradicted(candidate: Candidate, outcome: Outcome, store: KeepingStore) -> list[str]:
    """Return the memories replaced or contradicted by a statement of the user."""
    if candidate.source is not Source.USER:
        return []
    if outcome.action is KeepAction.SUPERSEDES:
        return [outcome.superseded] if outcome.superseded else []
    item = store.get(outcome.id) if outcome.action is KeepAction.CONTRADICTS else None
    return [link.target for link in item.links if link.type is LinkType.CONTRADICTS] if item else []


def note(
    turns: Iterable[Turn], outcomes: Sequence[tuple[Candidate, Outcome]], session: str, store: KeepingStore, ledger: Ledger
) -> None:
    """Record how these turns, and the statements extracted from them, used memories."""
    turns = list(turns)
    injected = dict.fromkeys(use.memory for use in ledger.uses_in(session) if use.how is UseKind.INJECTED)
    given = [item for id in list(injected)[:MAX_ECHOED] if (item := store.get(id)) is not None]
    if named := [id for id in dict.fromkeys([*cited(turns), *echoed(turns, given)]) if store.get(id) is not None]:
        ledger.record_use(named, session, UseKind.CITED)
    if blamed := followed_by_correction(turns, ledger.given_with_prompts(session)):
        ledger.record_use(blamed, session, UseKind.CORRECTED)
    if wrong := [id for candidate, outcome in outcomes for id in contradicted(candidate, outcome, store)]:
        ledger.record_use(wrong, session, UseKind.CONTRADICTED)


def last_moment(turns: Iterable[Turn]) -> datetime | None:
    """Return the time of the latest turn, if any has one."""
    return max((turn.at for turn in turns if turn.at is not None), default=None)


WRITES = (KeepAction.NEW, KeepAction.SUPERSEDES, KeepAction.CONTRADICTS, KeepAction.CONFIRMS)
log = logging.getLogger(__name__)
MISSING_FILE_ATTEMPTS = 3
LIVE_CURSORS = 64
UNUSABLE_ATTEMPTS = 6
# Nothing is written to the log after these events, so a last line without a line end may be complete.
FINAL_REASONS = frozenset({"SessionEnd", "import"})


class _NextStep(Enum):
    """What to do next: read another chunk, end the job, or wait for more text."""

    CONTINUE = auto()
    END = auto()
    WAIT = auto()


@dataclass(frozen=True, slots=True)
class _Place:
    """The session and project of a chunk."""

    session: str
    project: str
    cwd: str


class _Live:
    """A cache of cursors for the most recent logs. It includes their text, which is not stored in the state."""

    def __init__(self) -> None:
        self._cursors: OrderedDict[str, Cursor] = OrderedDict()

    def get(self, stored: Cursor) -> Cursor:
        """Return the stored cursor, including its text if cached."""
        held = self._cursors.get(stored.transcript)
        return held if held == stored else stored

    def put(self, cursor: Cursor) -> None:
        """Cache a cursor. The oldest one is dropped if the cache is full."""
        self._cursors.pop(cursor.transcript, None)
        self._cursors[cursor.transcript] = cursor
        while len(self._cursors) > LIVE_CURSORS:
            self._cursors.popitem(last=False)


class DayDream:
    """Processes day dream jobs, one at a time. Not thread-safe.

    While a session continues, a model is only asked about full chunks (see `BatchPolicy`). Rules read each turn immediately.
    """

    def __init__(
        self,
        store: KeepingStore,
        state: State,
        settings: Settings,
        clock: Clock,
        extractor: Extractor | None = None,
        projects: ProjectRegistry | None = None,
        logins: Logins | None = None,
        embedder: Embedder | None = None,
        watch: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Create a day dream. `watch` terminates the process if the code it watches does not return."""
        self._store = store
        self._reconciler = Reconciler(store, clock)
        self._state = state
        self._settings = settings
        self._clock = clock
        self._live = _Live()
        self._extractor = extractor
        self._readers = Readers(settings, state, clock, extractor, logins, embedder)
        self._projects = projects or ProjectRegistry(settings.paths.projects)
        self._limits = limits_for(settings, self._readers.chosen)
        self._noted = self._readers.problem()
        self._handed_off = ""
        self._watch = watch
        self._reading = ReadAttempts(state)
        self._batching = BatchPolicy(state, settings, self._readers.chosen)

    # Jobs

    def run_job(self, job: Job, stop: Callable[[], bool] = lambda: False) -> list[Run]:
        """Read the job's log to its end, chunk by chunk.

        Errors are recorded rather than raised, and the job is postponed.

        Args:
            job: The job.
            stop: Called between chunks. Returns whether to stop. A stopped job remains due.

        Returns:
            The recorded runs, in order.
        """
        runs: list[Run] = []
        self._handed_off = ""
        try:
            while not stop():
                run, then = self._next_piece(job)
                runs += [run] if run else []
                if then is _NextStep.WAIT:
                    self._batching.hold(job)
                    break
                if then is _NextStep.END:
                    self._hand_off(job)
                    self._measure(job)
                    self._state.finish_job(job)
                    break
        except TranscriptError as error:
            runs.append(self._on_unreadable(job, error))
        except MemorydError as error:
            runs += self._on_failure(job, error)
        return runs

    def close(self) -> None:
        """Stop a running model process. Called from another thread. The job is retried later."""
        self._readers.close()

    def _next_piece(self, job: Job) -> tuple[Run | None, _NextStep]:
        cursor = self._live.get(self._state.cursor(job.transcript))
        if refused := self._why_not_opened(job):
            return self._pass_over(job, cursor, refused), _NextStep.END
        asks = self._readers.can_ask() and not self._state.is_held(job.transcript)
        self._note_problem(job)
        if asks and self._batching.waits(job, cursor):
            return None, _NextStep.WAIT
        with self._reading.of(job.transcript, cursor.offset):
            return self._read_on(job, cursor, asks)

    def _read_on(self, job: Job, cursor: Cursor, asks: bool) -> tuple[Run | None, _NextStep]:
        piece = self._read(job, cursor)
        if piece.cursor == cursor:
            return None, _NextStep.END
        if asks and self._batching.is_small(job, piece):
            return None, _NextStep.WAIT
        cwd = self._folder(job, piece)
        refused = self._why_not_folder(cwd, piece)
        place = self._place(job, piece, cwd, named=not refused)
        run, verdicts = self._blank_run(job, place, piece), list[LoggedDecision]()
        refused = refused or self._why_not(place)
        if refused:
            run = replace(run, skipped=summed(piece.skipped, {refused: len(piece.turns)}))
        else:
            if piece.left:
                self._reconciler.take_back(place.session, piece.left)
            if piece.turns:
                run, verdicts = self._digest(job, place, piece, run, Cursor(job.transcript) if piece.reset else cursor)
        self._state.finish_piece(piece.cursor, run, verdicts)
        self._live.put(piece.cursor)
        if piece.more:
            self._reading.moved_to(piece.cursor.offset)
        return run, _NextStep.CONTINUE if piece.more and piece.cursor.offset != piece.start else _NextStep.END

    def _read(self, job: Job, cursor: Cursor) -> LogChunk:
        """Return the next chunk.

        After a crash, the log is read line by line. A line that causes another crash is skipped.
        """
        limits = replace(self._limits, lines=1) if self._reading.ended_before else self._limits
        with self._watch():
            piece = read_transcript(
                Path(job.transcript),
                cursor,
                limits=limits,
                final=job.reason in FINAL_REASONS,
                apart=self._apart(job.session),
                pass_over=self._reading.ended_again,
            )
        for line in piece.given_up:
            log.warning("line %d of %s took too long and is skipped", line, job.transcript)
            self._reading.give_up(job.transcript, line, to_iso(self._clock.now()))
        return piece

    def _why_not_opened(self, job: Job) -> str:
        """Return why this log must not be opened, or an empty string if it may be.

        Uses only information that is available without opening the log.
        """
        record = self._state.session(job.session)
        if record is not None and record.off:
            return "session off"
        named = {record.cwd if record else "", job.cwd} - {""}
        folders = named or {first_folder(job.transcript)} - {""}
        if any(is_excluded(self._settings, folder) for folder in folders):
            return "excluded folder"
        recorded = record.project if record else ""
        anchors = self._projects.anchors(recorded) if recorded else []
        if anchors and all(is_excluded(self._settings, anchor) for anchor in anchors):  # A worktree that is gone.
            return "excluded folder"
        places = [(recorded or self._projects.known_project(folder), folder) for folder in folders] or [(recorded, "")]
        return "project off" if any(self._state.is_off(project, folder) for project, folder in places) else ""

    def _apart(self, session: str) -> Apart:
        """Return a function that tells whether a line of the session's log must not be read."""
        record = self._state.session(session)
        is_folder_apart = lru_cache(maxsize=64)(self._is_folder_apart)

        def is_apart(line: LineOrigin) -> bool:
            return is_folder_apart(line.cwd) or self._was_off(line, record)

        return is_apart

    def _is_folder_apart(self, cwd: str) -> bool:
        """Return whether the user excluded this folder. A session may enter such a folder midway."""
        if is_excluded(self._settings, cwd):
            return True
        return self._state.switches.any_off() and self._state.is_off(self._projects.known_project(cwd), cwd)

    def _was_off(self, line: LineOrigin, record: SessionRecord | None) -> bool:
        """Return whether memory was off when the line was written, in this log or in the one from which it was copied."""
        switches = self._state.switches
        if not switches.was_ever_off() or (at := line.at()) is None:
            return False
        project = self._projects.known_project(line.cwd)
        if switches.was_off(project, line.cwd, at):
            return True
        off = switches.sessions_off_at(at, record.project if record and record.project else project)
        # A line from before the session is a copy. The client may have given it the name of the new session.
        return bool(off) and (not off.isdisjoint(line.sessions) or (record is not None and at < from_iso(record.started_at)))

    def _pass_over(self, job: Job, cursor: Cursor, reason: str) -> Run | None:
        """Move the cursor to the end of a log that must not be opened.

        This keeps the text unread when memory is turned on again.
        """
        moved = cursor_at_end(job.transcript, job.session)
        # Without a fingerprint, the cursor was moved here before. Otherwise its offset may count other bytes than the mark.
        if moved is None or moved.offset <= cursor.offset and not (cursor.fingerprint and foreign_client(job.transcript)):
            return None
        run = replace(self._empty_run(job, cursor.offset, moved.offset), skipped={reason: 1})
        self._state.finish_piece(moved, run)
        return run

    def _folder(self, job: Job, piece: LogChunk) -> str:
        """Return the session's first folder. A later `cd` does not move the session's memories."""
        record = self._state.session(job.session or piece.session)
        return (record.cwd if record else "") or job.cwd or piece.cwd

    def _why_not_folder(self, cwd: str, piece: LogChunk) -> str:
        for folder in (cwd, piece.cwd):
            if is_own_run(self._settings, folder, piece):
                return "own run"
            if is_excluded(self._settings, folder):
                return "excluded folder"
        return ""

    def _place(self, job: Job, piece: LogChunk, cwd: str, named: bool) -> _Place:
        """Return the session and project of a chunk.

        If `named` is false, the folder must not even be added to the list of projects.
        """
        session = piece.session or job.session
        record = self._state.session(job.session or session)
        if record and record.project:
            return _Place(session, record.project, cwd)
        return _Place(session, self._projects.resolve(cwd or Path(job.transcript).parent).id if named else "", cwd)

    def _why_not(self, place: _Place) -> str:
        """Return why this text must not be read, or an empty string if it may be."""
        if self._state.is_off(place.project, place.cwd):
            return "project off"
        record = self._state.session(place.session)
        return "session off" if record and record.off else ""

    def _blank_run(self, job: Job, place: _Place, piece: LogChunk) -> Run:
        return Run(
            session=place.session,
            transcript=job.transcript,
            project=place.project,
            at=to_iso(self._clock.now()),
            start=piece.start,
            stop=piece.cursor.offset,
            turns=len(piece.turns),
            skipped=piece.skipped,
        )

    # One piece

    def _digest(self, job: Job, place: _Place, piece: LogChunk, run: Run, begin: Cursor) -> tuple[Run, list[LoggedDecision]]:
        """Extract statements and write them. Return the run and the decisions to record.

        If no model is available, rules read the chunk, and its text from `begin` on is kept for the model.
        """
        passage = self._passage(place, piece, job.transcript)
        if not self._readers.has_model or self._state.is_held(job.transcript):
            return self._keep(passage, piece, run, self._by_rules(passage))
        if not is_searchable(passage):
            return self._keep(passage, piece, run, Extraction((), {"nothing said": len(piece.turns)}, self._readers.chosen))
        ends = not piece.more and job.reason not in CONTINUING_EVENTS
        known = find_related(self._store, passage)
        self._reading.is_done()  # Models may be slow.
        try:
            answer = self._readers.ask(replace(passage, known=known, ends=ends))
        except UnusableAnswerError as error:
            self._record_error(job, str(error), error.usage)
            answer = Waiting(str(error), self._clock.now().timestamp() + FIRST_REST_SECONDS)
        self._note_problem(job)
        if refused := self._why_not_opened(job) or self._why_not(place):  # Memory was switched off while the model read.
            return replace(run, skipped=summed(piece.skipped, {refused: len(piece.turns)})), []
        if isinstance(answer, Waiting):
            self._state.hold(job, begin, answer.problem, answer.until)
            answer = self._by_rules(passage)
        return self._keep(passage, piece, run, answer)

    def _by_rules(self, passage: Passage) -> Extraction:
        with self._watch():
            return self._readers.rules.extract(passage)

    def _passage(self, place: _Place, piece: LogChunk, transcript: str) -> Passage:
        passage = redacted_passage(_passage(piece, place, transcript))
        return replace(passage, given=self._given(place.session))

    def _keep(self, passage: Passage, piece: LogChunk, run: Run, extraction: Extraction) -> tuple[Run, list[LoggedDecision]]:
        """Store the statements proposed by a reader."""
        if extraction.handoff and passage.session and passage.project:
            self._save_handoff(passage.session, passage.project, extraction.handoff, last_moment(passage.turns))
            self._handed_off = passage.session
        candidates, refused = admissible(extraction, piece.turns)
        candidates = [candidate for candidate in candidates if not self._is_settled(candidate)]
        outcomes = [(candidate, self._reconciler.keep(candidate, passage)) for candidate in candidates]
        found = [outcome.id for _, outcome in outcomes if outcome.action in WRITES]
        taken_back, _ = admissible(replace(extraction, candidates=extraction.retractions), piece.turns)
        ended = ((candidate, self._reconciler.retract(candidate, passage, found)) for candidate in taken_back)
        outcomes += [(candidate, outcome) for candidate, outcome in ended if outcome is not None]
        note(piece.turns, outcomes, passage.session, self._store, self._state.ledger)
        actions = Counter(outcome.action for _, outcome in outcomes)
        proposed = sum(c.status is Status.CANDIDATE and outcome.action is KeepAction.NEW for c, outcome in outcomes)
        written = sum(actions[action] for action in WRITES) - proposed
        skipped = summed(
            piece.skipped, extraction.skipped, counts(refused), {"refused": actions[KeepAction.REFUSED], "proposed": proposed}
        )
        run = replace(
            run,
            kept=written,
            known=actions[KeepAction.KNOWN],
            skipped=skipped,
            extractor=extraction.extractor or self._readers.chosen,
            model=extraction.model,
            usage=extraction.usage,
        )
        return run, decided(outcomes, [*refused, *extraction.refused], piece.turns)

    def _given(self, session: str) -> tuple[str, ...]:
        """Return the session's earlier statements in the current wording of their memories."""
        ids = dict.fromkeys(v.memory for v in self._state.verdicts(session) if v.outcome != REFUSED and v.memory)
        items = (self._store.get(id) for id in ids)
        return tuple(item.content for item in items if item is not None and item.status is not Status.BLACKLISTED)

    def _is_settled(self, candidate: Candidate) -> bool:
        """Return whether a session's model has settled the candidate. Rereading the log must not restore it."""
        return candidate.status is Status.CANDIDATE and self._state.offers.is_settled(candidate.uuids, candidate.content)

    def _was_read_whole(self, job: Job) -> bool:
        """Return whether memory was on the whole time. Otherwise, the log contains text that must remain unread."""
        at = 0
        for run in reversed(self._state.runs(job.session, 1_000)):
            if run.transcript == job.transcript and run.stop > run.start:
                if run.start > at:
                    return False
                at = max(at, run.stop)
                if {"project off", "session off", "excluded folder"} & set(run.skipped):
                    return False
        return True

    def _hand_off(self, job: Job) -> None:
        """Store where a session left off when it ends. A model's summary takes precedence over one derived from the log."""
        record = self._state.session(job.session)
        if (
            job.reason in CONTINUING_EVENTS
            or job.reason == "import"
            or record is None
            or not record.project
            or self._why_not_opened(job)
        ):
            return
        if record.session == self._handed_off or not self._was_read_whole(job):
            return
        gathered, ended = SessionOutline(), None
        for piece in read_all(Path(job.transcript), limits=limits_for(self._settings, OFFLINE), apart=self._apart(job.session)):
            if self._why_not_folder(record.cwd, piece):
                return
            gathered.add(redacted_passage(Passage(piece.turns)).turns)
            ended = last_moment(piece.turns) or ended
        learnt = self._store.search(Query(project=record.project, session=job.session), 20)
        todos = self._store.search(Query(project=record.project, kinds=(Kind.TODO,)), 5)
        text = gathered.text([hit.item for hit in learnt], [hit.item for hit in todos], record.cwd)
        if text:
            self._save_handoff(job.session, record.project, text, ended)

    def _save_handoff(self, session: str, project: str, text: str, ended: datetime | None) -> None:
        """Store a handoff under the time at which the session ended, since its log may be read much later."""
        now = self._clock.now()
        self._state.save_handoff(session, project, text, to_iso(min(ended or now, now)))

    def _measure(self, job: Job) -> None:
        """Measure a finished trial session right away, because the client deletes old logs."""
        if job.reason not in FINAL_REASONS or not self._state.trial.has(job.session) or self._why_not_opened(job):
            return
        path = Path(job.transcript)
        self._state.trial.save(job.session, log_status(path).size, measure(path, apart=self._apart(job.session)).as_dict())

    # Chunks waiting for a model

    def read_held(self) -> Run | None:
        """Let a model read the next waiting chunk, and return the recorded run.

        Does nothing if no chunk is waiting or no model is available.
        """
        held = self._state.next_held()
        if held is None:
            return None
        if not self._readers.has_model:
            self._state.finish_held(held, None)  # The user has disabled models, and rules have already read the chunk.
            return None
        if not self._readers.can_ask():
            self._state.postpone_held(held, self._readers.problem(), self._readers.next_try())
            return None
        try:
            return self._read_held(held)
        except UnusableAnswerError as error:
            return self._on_unusable(held, error)
        except MemorydError as error:
            log.warning("a chunk of %s that waits for a model can't be read: %s", held.job.transcript, error)
            if isinstance(error, TranscriptError) and held.job.attempts + 1 >= MISSING_FILE_ATTEMPTS:
                self._state.finish_held(held, None)
            else:
                self._state.postpone_held(held, str(error), self._retry_at(held))
            return None

    def _read_held(self, held: Held) -> Run | None:
        job = held.job
        if self._why_not_opened(job):
            self._state.finish_held(held, None)
            return None
        with self._reading.of(job.transcript, held.cursor.offset):
            piece = self._read(job, held.cursor)
        if piece.cursor == held.cursor:
            self._state.finish_held(held, None)
            return None
        cwd = self._folder(job, piece)
        refused = self._why_not_folder(cwd, piece)
        place = self._place(job, piece, cwd, named=not refused)
        passage = self._passage(place, piece, job.transcript)
        if refused or self._why_not(place) or not is_searchable(passage):
            self._state.finish_held(held, piece.cursor)
            return None
        ends = not piece.more and job.reason not in CONTINUING_EVENTS
        answer = self._readers.ask(replace(passage, known=find_related(self._store, passage), ends=ends))
        if isinstance(answer, Waiting):
            self._state.postpone_held(held, answer.problem, answer.until)
            return None
        # Bytes and turns were already recorded when the rules read the chunk.
        run = replace(self._blank_run(job, place, piece), stop=piece.start, turns=0, skipped={})
        run, verdicts = self._keep(passage, replace(piece, skipped={}), run, answer)
        self._state.finish_held(held, piece.cursor, run, verdicts)
        return run

    def _retry_at(self, held: Held) -> float:
        delay = min(FIRST_REST_SECONDS * 2.0 ** min(held.job.attempts, 20), LONGEST_REST_SECONDS)
        return self._clock.now().timestamp() + delay

    # Failures

    def _note_problem(self, job: Job) -> None:
        """Record why no model is available. Each reason is recorded only once."""
        problem = self._readers.problem()
        if problem and problem != self._noted:
            self._record_error(job, problem)
        self._noted = problem

    def _on_unusable(self, held: Held, error: UnusableAnswerError) -> Run:
        """Skip a chunk for which no attempt returned a valid answer."""
        if held.job.attempts + 1 < UNUSABLE_ATTEMPTS:
            self._state.postpone_held(held, str(error), self._retry_at(held))
            return self._record_error(held.job, str(error), error.usage)
        with self._reading.of(held.job.transcript, held.cursor.offset):
            piece = self._read(held.job, held.cursor)
        log.error("a model's answers about %s are invalid from byte %d on: %s", held.job.transcript, piece.start, error)
        self._state.finish_held(held, piece.cursor)
        reason = f"Skipped after {UNUSABLE_ATTEMPTS} attempts: {error.message}"
        return self._record_error(held.job, reason, error.usage)

    def _on_failure(self, job: Job, error: MemorydError) -> list[Run]:
        delay = self._state.postpone_job(job, str(error))
        log.warning("day dream of %s failed; retrying in %.0f s: %s", job.transcript, delay, error)
        return [self._record_error(job, str(error))]

    def _on_unreadable(self, job: Job, error: TranscriptError) -> Run:
        """Retry, because a log may appear late. After a few attempts, end the job and record the reason."""
        if job.attempts + 1 < MISSING_FILE_ATTEMPTS:
            self._state.postpone_job(job, str(error))
        else:
            log.error("giving up on the day dream of %s: %s", job.transcript, error)
            self._state.finish_job(job)
        return self._record_error(job, str(error))

    def _record_error(self, job: Job, error: str, usage: Usage | None = None) -> Run:
        offset = self._state.cursor(job.transcript).offset
        run = replace(self._empty_run(job, offset, offset), error=error, extractor=self._readers.chosen, usage=usage or Usage())
        self._state.record_run(run)
        return run

    def _empty_run(self, job: Job, start: int, stop: int) -> Run:
        record = self._state.session(job.session)
        project = record.project if record else ""
        return Run(job.session, job.transcript, project, to_iso(self._clock.now()), start, stop)

    # Dry runs

    def dry_run(self, path: Path, extractor: Extractor | None = None) -> dict[str, Any]:
        """Return the proposals of a day dream of the whole log as plain values. Nothing is written or recorded.

        Statements superseded later in the same log are omitted.
        """
        return dry_run(path, extractor or self._extractor or make_extractor(self._settings), self._settings, self._clock.now())


def _passage(piece: LogChunk, place: _Place, transcript: str) -> Passage:
    return Passage(piece.turns, piece.context, place.session, place.project, place.cwd or piece.cwd, transcript)


# A day dream that writes nothing. It shows what would be kept from a whole log.


def dry_run(path: Path, extractor: Extractor, settings: Settings, now: datetime) -> dict[str, Any]:
    """Perform a dry run like `DayDream.dry_run`. Raises TranscriptError and ModelError."""
    draft = _LogDraft(now)
    skipped: Counter[str] = Counter()
    usage, model, handoff = Usage(), "", ""
    for piece in read_all(path, limits=limits_for(settings, extractor.name)):
        skipped.update(piece.skipped)
        if is_own_run(settings, piece.cwd, piece):
            skipped["own run"] += len(piece.turns)
        elif piece.turns:
            passage = _draft_passage(piece, path, draft)
            if extractor.name in ASKS_A_MODEL and not is_searchable(passage):
                skipped["nothing said"] += len(piece.turns)
                continue
            extraction = extractor.extract(passage)
            usage, model, handoff = usage + extraction.usage, extraction.model, extraction.handoff or handoff
            candidates, refused = admissible(extraction, piece.turns)
            skipped.update(summed(extraction.skipped, counts(refused)))
            for candidate in candidates:
                skipped.update(draft.add(candidate, passage))
    return {
        "candidates": [candidate_to_dict(candidate) for candidate in draft.candidates()],
        "skipped": {reason: count for reason, count in sorted(skipped.items()) if count},
        "handoff": handoff,
        "extractor": extractor.name,
        "model": model,
        "usage": {
            "calls": usage.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": usage.cost_usd,
        },
    }


def requests(path: Path, settings: Settings, now: datetime, extractor: Extractor | None = None) -> Iterator[list[Message]]:
    """Yield the exact requests that a model would receive for the log, chunk by chunk.

    The results of each chunk are included as known memories in later requests, which therefore depend on the model's
    answers. An `extractor` that replays answers provides them. Iteration ends at the first request without an answer.
    Without an extractor, later requests contain no earlier results. A real run would also return an invalid answer to
    the model once, together with the error.

    Raises:
        TranscriptError: The log can't be read.
    """
    draft = _LogDraft(now)
    for piece in read_all(path, limits=limits_for(settings, ENDPOINT)):
        if not piece.turns or is_own_run(settings, piece.cwd, piece):
            continue
        passage = _draft_passage(piece, path, draft)
        if not is_searchable(passage):
            continue
        yield messages_for(passage, settings.chunk_tokens)
        if extractor is not None:
            for candidate in admissible(extractor.extract(passage), piece.turns)[0]:
                draft.add(candidate, passage)


def _draft_passage(piece: LogChunk, path: Path, draft: _LogDraft) -> Passage:
    """Return the chunk with earlier results from the same log. Nothing else is known."""
    passage = redacted_passage(Passage(piece.turns, piece.context, piece.session, "", piece.cwd, str(path), ends=not piece.more))
    given = tuple(candidate.content for candidate in draft.candidates())
    return replace(passage, given=given, known=choose_related(draft.items(), passage))


class _LogDraft:
    """The candidates from one log, reconciled with each other."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._items: dict[str, tuple[Candidate, MemoryItem]] = {}
        self._count = 0

    def add(self, candidate: Candidate, passage: Passage) -> dict[str, int]:
        """Add the candidate. Return the reason if this candidate or an earlier one is dropped."""
        for id in [id for id, (one, _) in self._items.items() if one.content in candidate.revises]:
            del self._items[id]
        known = {id: item for id, (_, item) in self._items.items()}
        session = passage.session or UNKNOWN_SESSION
        decision, references = reconcile(candidate, list(known.values()), session=session), resolve(candidate, known)
        if decision.action is KeepAction.REFUSED:
            return {decision.action.value: 1}
        decision = references.decision or decision
        ended = set(references.ended)
        if decision.action in (KeepAction.SUPERSEDES, KeepAction.CONFIRMS):
            ended.add(decision.target)
        elif decision.action is KeepAction.KNOWN:
            ended.discard(decision.target)
        for id in ended & known.keys():
            del self._items[id]
        if references.only_closes:
            return {"closes a todo": 1}
        if decision.action is KeepAction.KNOWN:
            return {decision.action.value: 1}
        self._count += 1
        id = f"mem_{self._count:012x}"
        self._items[id] = (candidate, replace(to_item(candidate, passage, now=self._now), id=id))
        return {"superseded": len(ended)} if ended else {}

    def items(self) -> list[MemoryItem]:
        """Return the remaining candidates as memories."""
        return [item for _, item in self._items.values()]

    def candidates(self) -> list[Candidate]:
        """Return the remaining candidates in log order."""
        return [candidate for candidate, _ in self._items.values()]
