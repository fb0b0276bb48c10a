"""Operations that list sessions and report on individual ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from memoryd.api.parameters import ALL, count, request, text
from memoryd.api.registry import Caller, operation
from memoryd.clients.registry import client_of_log
from memoryd.core.clock import to_iso
from memoryd.core.errors import NotFoundError, TranscriptError
from memoryd.core.text import one_line
from memoryd.core.types import Status, Turn, Usage

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.core.decision_log import LoggedDecision
    from memoryd.core.state import Run, SessionRecord

SHOWN = 20
RUNS_OF_A_SESSION = 1_000
RUNS_LISTED = 5_000
_SHORTEST_PREFIX = 4


def is_closed(runtime: Runtime, session: str, project: str) -> bool:
    """Return whether the session's log must not be opened because memory is off or its folder is excluded.

    No folder is recorded for a session that was only imported, so each folder of its project counts.
    """
    from memoryd.daydream.admission import is_excluded

    record = runtime.state.session(session)
    folders = [record.cwd] if record is not None else [*runtime.registry.folders(project), ""]
    off = any(runtime.state.is_off(project, folder) or is_excluded(runtime.settings, folder) for folder in folders)
    return off or (record is not None and record.off)


@request
class ListSessions:
    """The filter and the limit for `sessions`."""

    limit: int = count(default=SHOWN, low=1, help="How many to list.")
    project: str = text(help="Only sessions of this project (id or name); 'all' for all (default).")


class SessionList(TypedDict):
    """Sessions, latest first, with the totals of their day dreams."""

    sessions: list[dict[str, Any]]
    left_out: int


@operation(ListSessions, SessionList)
def sessions(runtime: Runtime, request: ListSessions, caller: Caller) -> SessionList:
    """List sessions, latest first, with their time, project and day dream totals.

    `project` (an id, an unambiguous name or "all") restricts the list. `left_out` is the number of omitted sessions.
    """
    limit, named = request.limit, request.project
    project = "" if named in ("", ALL) else runtime.registry.find(named) or named
    runs = _runs_by_session(runtime)
    records = {record.session: record for record in runtime.state.sessions(RUNS_LISTED)}
    rows = [_head(records.get(name), name, runs.get(name, [])) for name in {**records, **runs}]
    rows = [row for row in rows if not project or row["project"] == project]
    rows.sort(key=lambda row: str(row["last"]), reverse=True)
    names = runtime.registry.known()
    shown = [
        row
        | {
            "project_name": names.get(row["project"], ""),
            "title": _title(runtime, row),
            "given": given_to(runtime, row["session"]),
        }
        for row in rows[:limit]
    ]
    return {"sessions": shown, "left_out": max(0, len(rows) - limit)}


@request
class ReadSession:
    """The session to report on."""

    session: str = text(required=True, help="Its id, or a prefix of it.")


class SessionReport(TypedDict):
    """Everything recorded about one session."""

    session: str
    project: str
    project_name: str
    title: str
    cwd: str
    transcript: str
    client: str
    started_at: str
    ended_at: str
    last: str
    off: bool
    bytes_read: int
    turns: int
    kept: int
    known: int
    skipped: dict[str, int]
    failed: str
    extractor: str
    model: str
    calls: int
    tokens: int
    cost_usd: float | None
    kept_statements: list[dict[str, Any]]
    proposed_statements: list[dict[str, Any]]
    known_statements: list[dict[str, Any]]
    refused_statements: list[dict[str, Any]]
    injected: list[dict[str, str]]
    used: list[dict[str, str]]
    given: dict[str, int]
    given_by_event: dict[str, int]
    runs: list[dict[str, Any]]


@operation(ReadSession, SessionReport)
def session_report(runtime: Runtime, request: ReadSession, caller: Caller) -> SessionReport:
    """Report on a session by id or prefix: what was read, kept, skipped and why, what was injected and used, and the cost.

    `kept`, `known` and `refused` list statements in log order, grouped by day dream. `skipped` counts ignored text by
    reason. Deleted memories have no content. The text of a statement that was not kept is read from the session's
    log. It is empty if the log was deleted or memory is off there.
    """
    from memoryd.core.decision_log import KEPT, KNOWN, PROPOSED, REFUSED

    name = _resolve_session(runtime, request.session)
    runs = runtime.state.runs(name, RUNS_OF_A_SESSION)
    head = _head(runtime.state.session(name), name, runs)
    decided = _with_text(runtime, runtime.state.verdicts(name), head)
    report = {
        **head,
        "project_name": runtime.registry.known().get(head["project"], ""),
        "title": _title(runtime, head),
        "kept_statements": _with(decided, KEPT),
        "proposed_statements": _with(decided, PROPOSED),
        "known_statements": _with(decided, KNOWN),
        "refused_statements": _with(decided, REFUSED),
        **_uses(runtime, name),
        "given": given_to(runtime, name),
        "given_by_event": runtime.state.ledger.tokens_given(name),
        "runs": [asdict(run) | {"skipped": dict(run.skipped)} for run in reversed(runs)],
    }
    return cast("SessionReport", report)


def _with_text(runtime: Runtime, decided: Sequence[LoggedDecision], head: Mapping[str, Any]) -> list[LoggedDecision]:
    from memoryd.daydream.transcript import turns_of_lines

    lines = {verdict.line for verdict in decided if verdict.line}
    turns: Mapping[int, Sequence[Turn]] = {}
    if lines and head["transcript"] and not _is_closed(runtime, head):
        with suppress(TranscriptError):  # Without the log, only the stored statements are shown.
            turns = turns_of_lines(Path(head["transcript"]), lines)
    return [replace(verdict, text=_text(runtime, verdict, turns)) for verdict in decided]


def _text(runtime: Runtime, verdict: LoggedDecision, turns: Mapping[int, Sequence[Turn]]) -> str:
    from memoryd.core.decision_log import REFUSED
    from memoryd.daydream.reconcile import shown_text

    said = shown_text(verdict, turns.get(verdict.line, ()))
    item = runtime.service.get(verdict.memory) if verdict.outcome != REFUSED and verdict.memory else None
    if item is not None and item.status is Status.BLACKLISTED:
        return ""
    return one_line(item.content) if item is not None and (not verdict.chars or not said) else said


def session_title(runtime: Runtime, session: str) -> str:
    """Return the first prompt in the session's log. Return an empty string if memory is off, without opening the log."""
    return _title(runtime, _head(runtime.state.session(session), session, runtime.state.runs(session, 1)))


def _title(runtime: Runtime, head: Mapping[str, Any]) -> str:
    """Return the first prompt in the session's log. Return an empty string if memory is off, without opening the log."""
    from memoryd.daydream.transcript import first_prompt

    return "" if _is_closed(runtime, head) else first_prompt(head["transcript"])


def _is_closed(runtime: Runtime, head: Mapping[str, Any]) -> bool:
    return bool(head["off"]) or is_closed(runtime, head["session"], head["project"])


def _resolve_session(runtime: Runtime, given: str) -> str:
    """Return the session with the given id, or the only session whose id starts with the given text."""
    known = {record.session for record in runtime.state.sessions(RUNS_LISTED)} | set(_runs_by_session(runtime))
    if given in known:
        return given
    found = sorted(name for name in known if name.startswith(given)) if len(given) >= _SHORTEST_PREFIX else []
    if len(found) == 1:
        return found[0]
    raise NotFoundError(
        f"{len(found)} sessions start with '{given}'." if found else f"There is no session '{given}'.",
        fix="See 'memoryd sessions'; a prefix of an id is sufficient if it is unique.",
    )


def _runs_by_session(runtime: Runtime) -> dict[str, list[Run]]:
    out: dict[str, list[Run]] = {}
    for run in runtime.state.runs(limit=RUNS_LISTED):
        out.setdefault(run.session, []).append(run)
    return out


def _uses(runtime: Runtime, session: str) -> dict[str, list[dict[str, str]]]:
    """Return the memories injected into a session and those it used.

    `injected` is the hook that injected the memory. `used` is how it was used: returned, cited or contradicted.
    """
    from memoryd.core.ledger import UseKind

    events = runtime.state.injections(session)
    out: dict[str, list[dict[str, str]]] = {"injected": [], "used": []}
    for use in runtime.state.ledger.uses_in(session):
        item = runtime.service.get(use.memory)
        entry = {"id": use.memory, "at": use.at, "content": item.content if item else ""}
        if use.how is UseKind.INJECTED:
            out["injected"].append(entry | {"event": events.get(use.memory, "")})
        else:
            out["used"].append(entry | {"how": use.how.value})
    return out


def given_to(runtime: Runtime, session: str) -> dict[str, int]:
    """Return the tokens and memories that hooks gave to a session, and how many of these memories the agent cited."""
    return asdict(runtime.state.ledger.given_to(session))


def _head(record: SessionRecord | None, name: str, runs: list[Run]) -> dict[str, Any]:
    totals = run_totals(name, runs)
    transcript = (record.transcript if record else "") or next((run.transcript for run in runs), "")
    return totals | {
        "project": totals["project"] or (record.project if record else ""),
        "cwd": record.cwd if record else "",
        "transcript": transcript,
        "client": (record.client if record else "") or client_of_log(Path(transcript)).name,
        "started_at": record.started_at if record else "",
        "ended_at": record.ended_at if record else "",
        "last": max(totals["last"], record.last_at) if record else _last_written(transcript) or totals["last"],
        "off": bool(record and record.off),
    }


def _last_written(transcript: str) -> str:
    """Return when a session that no hook reported was last active, since an import reads it much later."""
    try:
        return to_iso(datetime.fromtimestamp(Path(transcript).stat().st_mtime, UTC)) if transcript else ""
    except OSError:
        return ""


def _with(decided: Iterable[LoggedDecision], outcome: str) -> list[dict[str, Any]]:
    return [asdict(verdict) for verdict in decided if verdict.outcome == outcome]


def run_totals(session: str, runs: Sequence[Run]) -> dict[str, Any]:
    """Return the totals of a session's day dreams.

    Args:
        session: The session's id.
        runs: The session's day dreams, newest first. May be empty.
    """
    skipped: Counter[str] = Counter()
    for run in runs:
        skipped.update(run.skipped)
    newest = runs[0] if runs else None
    used = sum((run.usage for run in runs), Usage())
    return {
        "session": session,
        "project": newest.project if newest else "",
        "last": newest.at if newest else "",
        "bytes_read": sum(run.stop - run.start for run in runs),
        "turns": sum(run.turns for run in runs),
        "kept": sum(run.kept for run in runs),
        "known": sum(run.known for run in runs),
        "skipped": dict(skipped),
        "failed": newest.error if newest else "",
        "extractor": newest.extractor if newest else "",
        "model": newest.model if newest else "",
        "calls": used.calls,
        "tokens": used.input_tokens + used.output_tokens,
        "cost_usd": None if used.cost_usd is None else round(used.cost_usd, 6),
    }
