"""Apply a session model's answers to the candidates offered to it.

Each candidate becomes a memory in the model's wording, or is dropped. The model chooses the wording, and this module
decides how much authority the memory gets. A statement counts as the user's only if a single user turn contains all
of it. Dropping removes a candidate and prevents models from proposing it again. It never prevents the user from
stating it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memoryd.clients.registry import log_status
from memoryd.core import candidates
from memoryd.core.candidates import OfferedCandidate
from memoryd.core.errors import TranscriptError
from memoryd.core.state import State
from memoryd.core.types import Candidate, Evidence, Kind, MemoryItem, Passage, Polarity, Source, Status, Turn, TurnKind
from memoryd.daydream.model_answer import MIN_REWORDED, initial_status, is_users, said_by_user, support
from memoryd.daydream.proposed_checks import accepted
from memoryd.daydream.reconcile import KeepAction, Outcome, Reconciler
from memoryd.daydream.speakers import short_hash
from memoryd.daydream.transcript import read_all
from memoryd.service import Orchestrator

MAX_BYTES = 200_000_000
USER_CONFIDENCE = 0.9
AGENT_CONFIDENCE = 0.75
KEPT_ACTIONS = frozenset({KeepAction.NEW, KeepAction.CONTRADICTS, KeepAction.SUPERSEDES, KeepAction.CONFIRMS})
# Number of turns before and after a user turn in which to search for the same statement in tool output.
AROUND = 30


@dataclass(frozen=True, slots=True)
class SettleAnswer:
    """The model's answer for one candidate, or an additional statement if `id` is empty.

    None keeps the candidate's value. `check` is a proposal that only counts if the user's words contain it.
    """

    id: str = ""
    keep: bool = True
    content: str = ""
    kind: Kind | None = None
    polarity: Polarity | None = None
    asked_as: tuple[str, ...] = ()
    replaces: str = ""
    importance: int = 2
    confidence: float = 0.8
    check: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """The outcome of one answer. `status` is kept, minor, known, dropped, refused, unknown or settled (already done before).

    `statement` is the text of a dropped candidate.
    """

    id: str
    status: str
    memory: str = ""
    replaced: str = ""
    reason: str = ""
    statement: str = ""


@dataclass(frozen=True, slots=True)
class SessionOrigin:
    """A session's working folder and log."""

    session: str
    project: str
    transcript: str = ""
    cwd: str = ""


class Settler:
    """Applies the answers of one `settle` call."""

    def __init__(self, service: Orchestrator, state: State, reconciler: Reconciler) -> None:
        self._service = service
        self._state = state
        self._reconciler = reconciler
        self._turns: dict[str, list[Turn]] = {}

    def settle(self, answer: SettleAnswer, origin: SessionOrigin) -> Settled:
        """Settle one candidate offered in the project."""
        entry = self._state.offers.entry(origin.project, answer.id)
        if entry is None:
            return Settled(answer.id, "unknown", reason="No line with this id was offered in this project.")
        with self._service.writing():
            item = self._service.get(entry.memory)
            if entry.outcome or item is None or item.status is not Status.CANDIDATE:
                return Settled(answer.id, "settled", reason=f"It has already been settled ({entry.outcome or 'elsewhere'}).")
            if not answer.keep:
                return self._drop(answer, entry, item)
            source, _, _ = self._source(answer.content or item.content, answer.polarity or item.polarity, item, origin)
            worth = initial_status(answer.importance, answer.confidence, source, bool(answer.replaces))
            if worth is Status.CANDIDATE:
                return self._reword(answer, entry, item, source)
            return self._keep(answer, entry, item, origin)

    def add(self, answer: SettleAnswer, origin: SessionOrigin) -> Settled:
        """Store an additional statement by the model."""
        base = MemoryItem(
            content=answer.content,
            kind=Kind.NOTE,
            session=origin.session,
            project=origin.project,
            evidence=Evidence(origin.transcript),
        )
        source, _, _ = self._source(answer.content, answer.polarity or Polarity.KNOW, base, origin)
        if initial_status(answer.importance, answer.confidence, source, bool(answer.replaces)) is Status.CANDIDATE:
            return Settled("own", "minor", reason="too minor to be kept in addition to the offered lines")
        with self._service.writing():
            outcome = self._write(answer, base, "", origin)
            if outcome.action in KEPT_ACTIONS:
                self._state.offers.note(origin.project, origin.session, outcome.id, candidates.OWN)
        return _settled("own", outcome)

    def _reword(self, answer: SettleAnswer, entry: OfferedCandidate, item: MemoryItem, source: Source) -> Settled:
        """Keep a minor statement as a candidate in the model's wording.

        It is found only in searches and removed after a while.
        """
        if item.id not in self._state.ledger.edited():
            changes = {"kind": answer.kind, "polarity": answer.polarity, "content": answer.content, "asked_as": answer.asked_as}
            self._service.update(item.id, source=source, **{name: value for name, value in changes.items() if value})
        self._state.offers.settle_lines(item.evidence.lines, item.content)
        self._state.offers.close(entry, candidates.MINOR, item.id)
        return Settled(answer.id, "minor", item.id, reason="kept as a candidate: found in searches, never injected")

    def _drop(self, answer: SettleAnswer, entry: OfferedCandidate, item: MemoryItem) -> Settled:
        if item.id in self._state.ledger.edited() or item.pinned:
            return Settled(answer.id, "refused", item.id, reason="The user edited this candidate; only the user may remove it.")
        self._finish(entry, item, candidates.DROPPED)
        return Settled(answer.id, "dropped", statement=item.content)

    def _keep(self, answer: SettleAnswer, entry: OfferedCandidate, item: MemoryItem, origin: SessionOrigin) -> Settled:
        target = self._target(answer.replaces, entry)
        outcome = self._write(replace(answer, replaces=target), item, item.id, origin)
        kept = outcome.action in KEPT_ACTIONS
        status = candidates.KEPT if kept else candidates.KNOWN if outcome.action is KeepAction.KNOWN else candidates.REFUSED
        self._finish(entry, item, status, outcome.id)
        settled = _settled(answer.id, outcome)
        if target and kept and outcome.superseded != target:
            settled = replace(settled, reason=f"{target} is kept as well: it is unknown here, or only the user may end it.")
        return settled

    def _target(self, given: str, entry: OfferedCandidate) -> str:
        """Return the memory to replace, given its id or the prefix shown with the line."""
        if given and entry.known.removeprefix("mem_").startswith(given.removeprefix("mem_")):
            return entry.known
        return given

    def _finish(self, entry: OfferedCandidate, item: MemoryItem, outcome: str, memory: str = "") -> None:
        """Record the lines as settled before writing.

        If the process is killed in between, the candidate may be offered again, but a dropped one never returns.
        """
        self._state.offers.settle_lines(item.evidence.lines, item.content)
        if memory != item.id:
            self._service.delete(item.id)
        self._state.offers.close(entry, outcome, memory)

    def _write(self, answer: SettleAnswer, item: MemoryItem, id: str, origin: SessionOrigin) -> Outcome:
        """Compare the statement with the known memories and write it."""
        content, polarity = answer.content or item.content, answer.polarity or item.polarity
        source, lines, said = self._source(content, polarity, item, origin)
        candidate = Candidate(
            content=content,
            kind=answer.kind or item.kind,
            polarity=polarity,
            source=source,
            confidence=USER_CONFIDENCE if source is Source.USER else AGENT_CONFIDENCE,
            uuids=lines,
            paths=item.evidence.paths,
            tags=item.tags,
            scope=item.scope,
            at=item.valid_from,
            reason="settled by the session's model",
            asked_as=answer.asked_as or item.asked_as,
            replaces=(answer.replaces,) if answer.replaces else (),
            check=accepted(answer.check, content, said_by_user(said)) if answer.check and source is Source.USER else None,
        )
        passage = Passage((), (), item.session, item.project, origin.cwd, item.evidence.transcript)
        outcome = self._reconciler.keep(candidate, passage, id=id)
        if outcome.action is KeepAction.KNOWN:
            self._add_keys(outcome.id, candidate.asked_as)
        return outcome

    def _add_keys(self, id: str, keys: tuple[str, ...]) -> None:
        known = self._service.get(id)
        if known is not None and keys and not known.asked_as and id not in self._state.ledger.edited():
            self._service.update(id, asked_as=keys)

    # Source

    def _source(
        self, content: str, polarity: Polarity, item: MemoryItem, origin: SessionOrigin
    ) -> tuple[Source, tuple[str, ...], Sequence[Turn]]:
        """Return the source of the statement, the lines of its evidence and the turn of the user that contains it.

        The source is the user if a single user turn contains the whole statement, and the agent otherwise. The turns
        cited by the candidate are checked first, then the turns after them, because a candidate may cite only the
        previous turn.
        """
        cited = set(item.evidence.lines)
        turns = self._log(item.evidence.transcript)
        by_user = [place for place, turn in enumerate(turns) if turn.kind is TurnKind.USER and not turn.sidechain]
        for place in sorted(by_user, key=lambda place: turns[place].uuid not in cited):
            turn = turns[place]
            if support(content, turn.text) < MIN_REWORDED:
                continue
            near = tuple(turns[max(0, place - AROUND) : place + AROUND + 1])
            if is_users(content, polarity, [turn], Passage(near, cwd=origin.cwd)):
                return Source.USER, tuple(dict.fromkeys([*item.evidence.lines, *filter(None, [turn.uuid])])), [turn]
        return Source.AGENT_STEP, item.evidence.lines, []

    def _log(self, transcript: str) -> Sequence[Turn]:
        """Reread a log, because a candidate's own text is not evidence."""
        if transcript not in self._turns:
            self._turns[transcript] = list(_turns_of(Path(transcript))) if transcript else []
        return self._turns[transcript]


def _turns_of(path: Path) -> Iterable[Turn]:
    """Return the turns of a log.

    Returns an empty list if the log was deleted or is too large to read while a model waits.
    """
    try:
        if log_status(path).size > MAX_BYTES:
            return
        pieces = list(read_all(path))
        left = frozenset().union(*(piece.left for piece in pieces))  # Rewound lines don't count.
        yield from (turn for piece in pieces for turn in piece.turns if short_hash(turn.uuid) not in left)
    except (OSError, TranscriptError):
        return


def _settled(id: str, outcome: Outcome) -> Settled:
    status = "kept" if outcome.action in KEPT_ACTIONS else outcome.action.value
    return Settled(id, status, outcome.id, outcome.superseded, "" if status == "kept" else outcome.reason)
