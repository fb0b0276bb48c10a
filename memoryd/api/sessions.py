"""The calls about sessions: which there were, and all that is on record about one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from memoryd.api.memories import Caller
from memoryd.api.params import Params
from memoryd.config import Settings
from memoryd.daydream.decided import shown_text
from memoryd.daydream.gate import is_excluded
from memoryd.daydream.opening import first_prompt
from memoryd.daydream.transcript import turns_of_lines
from memoryd.errors import NotFoundError, TranscriptError
from memoryd.ledger import How
from memoryd.project import ProjectRegistry
from memoryd.service import Orchestrator
from memoryd.state import Run, SessionRecord, State
from memoryd.text import one_line
from memoryd.types import Status, Turn, Usage
from memoryd.verdicts import KEPT, KNOWN, PROPOSED, REFUSED, Verdict

ALL = "all"
SHOWN = 20
RUNS_OF_A_SESSION = 1_000
RUNS_LISTED = 5_000
_SHORTEST_PREFIX = 4


def is_closed(state: State, settings: Settings, session: str, project: str) -> bool:
    """Whether the session's log is not to be opened: memory is off for it or its project, or its folder is excluded."""
    record = state.session(session)
    return state.is_off(project) or (record is not None and (record.off or is_excluded(settings, record.cwd)))


class SessionCalls:
    """sessions, session_report."""

    def __init__(self, service: Orchestrator, state: State, registry: ProjectRegistry, settings: Settings) -> None:
        self._service = service
        self._state = state
        self._settings = settings
        self._registry = registry

    def sessions(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Sessions, the latest first: when, in which project, and what their day dreams did in all.

        `project` (an id, or an unambiguous name; "all": each) narrows; `left_out` says how many are not shown.
        """
        limit, named = params.count("limit", SHOWN, low=1), params.text("project")
        params.done()
        project = "" if named in ("", ALL) else self._registry.find(named) or named
        runs = self._runs_by_session()
        records = {record.session: record for record in self._state.sessions(RUNS_LISTED)}
        rows = [_head(records.get(name), name, runs.get(name, [])) for name in {**records, **runs}]
        rows = [row for row in rows if not project or row["project"] == project]
        rows.sort(key=lambda row: str(row["last"]), reverse=True)
        names = self._registry.known()
        shown = [row | {"project_name": names.get(row["project"], ""), "title": self._title(row)} for row in rows[:limit]]
        return {"sessions": shown, "left_out": max(0, len(rows) - limit)}

    def session_report(self, params: Params, caller: Caller) -> dict[str, Any]:
        """One session, by its id or the beginning of it: what was read, kept, skipped and why, injected and used; its cost.

        `kept`, `known` and `refused` hold single statements in the order of the log, those of each day dream together;
        `skipped` counts all that was passed over, by reason. A memory that is gone has no content. The text of what was
        not kept is read from the session's log: it is empty when the log is gone, or memory is off there.
        """
        name = self._named(params.required("session"))
        params.done()
        runs = self._state.runs(name, RUNS_OF_A_SESSION)
        head = _head(self._state.session(name), name, runs)
        decided = self._with_text(self._state.verdicts(name), head)
        return {
            **head,
            "project_name": self._registry.known().get(head["project"], ""),
            "title": self._title(head),
            "kept_statements": _with(decided, KEPT),
            "proposed_statements": _with(decided, PROPOSED),
            "known_statements": _with(decided, KNOWN),
            "refused_statements": _with(decided, REFUSED),
            **self._uses(name),
            "runs": [asdict(run) | {"skipped": dict(run.skipped)} for run in reversed(runs)],
        }

    def _with_text(self, decided: Sequence[Verdict], head: Mapping[str, Any]) -> list[Verdict]:
        lines = {verdict.line for verdict in decided if verdict.line}
        turns: Mapping[int, Sequence[Turn]] = {}
        if lines and head["transcript"] and not self._is_closed(head):
            with suppress(TranscriptError):
                turns = turns_of_lines(Path(head["transcript"]), lines)
        return [replace(verdict, text=self._text(verdict, turns)) for verdict in decided]

    def _text(self, verdict: Verdict, turns: Mapping[int, Sequence[Turn]]) -> str:
        said = shown_text(verdict, turns.get(verdict.line, ()))
        item = self._service.get(verdict.memory) if verdict.outcome != REFUSED and verdict.memory else None
        if item is not None and item.status is Status.BLACKLISTED:
            return ""
        return one_line(item.content) if item is not None and (not verdict.chars or not said) else said

    def _title(self, head: Mapping[str, Any]) -> str:
        """The session's first prompt, read from its log; empty where memory is off, since that log is not opened."""
        return "" if self._is_closed(head) else first_prompt(head["transcript"])

    def _is_closed(self, head: Mapping[str, Any]) -> bool:
        return bool(head["off"]) or is_closed(self._state, self._settings, head["session"], head["project"])

    def _named(self, given: str) -> str:
        """The session with this id, or the only one whose id begins so."""
        known = {record.session for record in self._state.sessions(RUNS_LISTED)} | set(self._runs_by_session())
        if given in known:
            return given
        found = sorted(name for name in known if name.startswith(given)) if len(given) >= _SHORTEST_PREFIX else []
        if len(found) == 1:
            return found[0]
        raise NotFoundError(
            f"{len(found)} sessions begin with '{given}'." if found else f"There is no session '{given}'.",
            fix="See 'memoryd sessions'; the first characters of an id do if no other begins so.",
        )

    def _runs_by_session(self) -> dict[str, list[Run]]:
        out: dict[str, list[Run]] = {}
        for run in self._state.runs(limit=RUNS_LISTED):
            out.setdefault(run.session, []).append(run)
        return out

    def _uses(self, session: str) -> dict[str, list[dict[str, str]]]:
        """`injected` with the hook, `used` with what the session did: returned, cited or contradicted."""
        events = self._state.injections(session)
        out: dict[str, list[dict[str, str]]] = {"injected": [], "used": []}
        for use in self._state.ledger.uses_in(session):
            item = self._service.get(use.memory)
            entry = {"id": use.memory, "at": use.at, "content": item.content if item else ""}
            if use.how is How.INJECTED:
                out["injected"].append(entry | {"event": events.get(use.memory, "")})
            else:
                out["used"].append(entry | {"how": use.how.value})
        return out


def _head(record: SessionRecord | None, name: str, runs: list[Run]) -> dict[str, Any]:
    totals = run_totals(name, runs)
    return totals | {
        "project": totals["project"] or (record.project if record else ""),
        "cwd": record.cwd if record else "",
        "transcript": (record.transcript if record else "") or next((run.transcript for run in runs), ""),
        "started_at": record.started_at if record else "",
        "ended_at": record.ended_at if record else "",
        "last": max(totals["last"], record.last_at if record else ""),
        "off": bool(record and record.off),
    }


def _with(decided: Iterable[Verdict], outcome: str) -> list[dict[str, Any]]:
    return [asdict(verdict) for verdict in decided if verdict.outcome == outcome]


def run_totals(session: str, runs: Sequence[Run]) -> dict[str, Any]:
    """What a session's day dreams did in all; `runs` newest first, maybe none."""
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
