"""Operations of the trial, which withholds memory from some sessions at random and compares the outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from memoryd.api.parameters import NoParameters, request, share, text
from memoryd.api.registry import Caller, operation
from memoryd.api.sessions import is_closed
from memoryd.clients.registry import log_status
from memoryd.core.errors import InputError

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.core.trial import TrialSession

HALF = 0.5
# With fewer sessions in an arm, an interval reflects individual sessions rather than memory.
MIN_SESSIONS = 10
WORTHWHILE = 0.2  # A difference as a share of the control's mean. The report estimates how many sessions would detect it.
MAX_NEEDED = 100_000
Measures = Mapping[str, float]


def _passed(measures: Measures) -> float | None:
    runs = measures["test_runs"]
    return measures["tests_passed"] / runs if runs else None


# The measures to compare: a name, a function of a session's measures (None if it does not apply), and whether lower is better.
COMPARED: tuple[tuple[str, Callable[[Measures], float | None], bool], ...] = (
    ("prompts", lambda measures: measures["prompts"], True),
    ("tool calls", lambda measures: measures["steps"], True),
    ("tokens", lambda measures: measures["tokens"], True),
    ("corrections", lambda measures: measures["corrections"], True),
    ("reverted edits", lambda measures: measures["reverted"], True),
    ("tests passed", _passed, False),
)


class TrialState(TypedDict):
    """Whether a trial is running, the share of sessions without memory, and the number of sessions per arm."""

    running: bool
    control_share: float
    sessions: dict[str, int]


@request
class StartTrial:
    """The share of sessions without memory."""

    control_share: float | None = share(help="Share of new sessions that get no memory (default: 0.5).")


@operation(StartTrial, TrialState, person_only=True)
def start_trial(runtime: Runtime, request: StartTrial, caller: Caller) -> TrialState:
    """Start a trial on your own work: some new sessions, chosen at random, get no memory.

    Sessions without memory are still read, so nothing they teach is lost.
    """
    wanted = HALF if request.control_share is None else request.control_share
    if not 0 < wanted < 1:
        raise InputError(
            "The share must be above 0 and below 1.", fix="Use 0.5, which shows a difference with the fewest sessions."
        )
    runtime.state.trial.start(wanted)
    runtime.refresh_answers()
    return _state(runtime)


@operation(NoParameters, TrialState, person_only=True)
def stop_trial(runtime: Runtime, request: NoParameters, caller: Caller) -> TrialState:
    """Stop the trial. Every session gets memory again, and the report remains available."""
    runtime.state.trial.stop()
    runtime.refresh_answers()
    return _state(runtime)


@operation(NoParameters, TrialState, person_only=True)
def clear_trial(runtime: Runtime, request: NoParameters, caller: Caller) -> TrialState:
    """Delete the trial's measurements. A running trial continues with new sessions."""
    runtime.state.trial.clear()
    return _state(runtime)


@operation(NoParameters, TrialState)
def trial(runtime: Runtime, request: NoParameters, caller: Caller) -> TrialState:
    """Show whether a trial is running, and the number of sessions per arm."""
    return _state(runtime)


@request
class ReadTrial:
    """The sessions to compare."""

    project: str = text(help="Only sessions of this project (id or name).")


class TrialReport(TrialState):
    """The comparison. Each row has both means, the difference with its 95 % interval, and a conclusion."""

    measured: dict[str, int]
    not_measured: int
    rows: list[dict[str, Any]]


@operation(ReadTrial, TrialReport, form="Does memory help here?")
def trial_report(runtime: Runtime, request: ReadTrial, caller: Caller) -> TrialReport:
    """Compare sessions with and without memory: prompts, tool calls, tokens, corrections, reverted edits, tests passed."""
    from memoryd.core.trial import Arm

    project = (runtime.registry.find(request.project) or request.project) if request.project else ""
    entered = [session for session in runtime.state.trial.sessions() if not project or session.project == project]
    arms: dict[Arm, list[Measures]] = {arm: [] for arm in Arm}
    for session in entered:
        measures = _measured(runtime, session)
        if measures.get("prompts"):
            arms[session.arm].append(measures)
    rows = [_row(name, of, less, arms[Arm.MEMORY], arms[Arm.CONTROL]) for name, of, less in COMPARED]
    counts = {arm.value: len(found) for arm, found in arms.items()}
    return {**_state(runtime), "measured": counts, "not_measured": len(entered) - sum(counts.values()), "rows": rows}


def _state(runtime: Runtime) -> TrialState:
    from memoryd.core.trial import Arm

    found = [session.arm for session in runtime.state.trial.sessions()]
    share = runtime.state.trial.share
    return {"running": bool(share), "control_share": share, "sessions": {arm.value: found.count(arm) for arm in Arm}}


def _measured(runtime: Runtime, session: TrialSession) -> Measures:
    """Return the measures of a session, updated from its log if that has grown.

    If the log must not be opened, return the stored measures.
    """
    from memoryd.core.errors import TranscriptError
    from memoryd.daydream.measures import measure

    record = runtime.state.session(session.session)
    if record is None or not record.transcript or is_closed(runtime, session.session, session.project):
        return session.measures
    try:
        size = log_status(Path(record.transcript)).size
        if size == session.size:
            return session.measures
        measures = measure(Path(record.transcript)).as_dict()
    except (OSError, TranscriptError):
        return session.measures  # The client deletes old logs.
    runtime.state.trial.save(session.session, size, measures)
    return measures


def _row(
    name: str, of: Callable[[Measures], float | None], less: bool, memory: Sequence[Measures], control: Sequence[Measures]
) -> dict[str, Any]:
    from memoryd.core.student import sessions_needed, welch

    first, second = ([value for one in arm if (value := of(one)) is not None] for arm in (memory, control))
    row: dict[str, Any] = {"measure": name, "memory": None, "control": None, "difference": None, "low": None, "high": None}
    if min(len(first), len(second)) < 2:
        return row | {"verdict": "too few sessions"}
    found = welch(first, second)
    row |= {"memory": found.first, "control": found.second, "difference": found.first - found.second}
    row |= {"low": found.low, "high": found.high, "p": found.p, "sessions": [len(first), len(second)]}
    needed = sessions_needed(first, second, WORTHWHILE)
    if min(len(first), len(second)) < MIN_SESSIONS or not found.shown:
        return row | {"verdict": _unsure(needed, min(len(first), len(second))), "needed": needed}
    better = (found.high < 0) is less
    return row | {"verdict": "better with memory" if better else "worse with memory", "needed": needed}


def _unsure(needed: int | None, had: int) -> str:
    if needed is None or needed > MAX_NEEDED:
        return "no difference shown"
    if needed <= had:
        return f"no difference of {WORTHWHILE:.0%} or more is likely"
    return f"not enough data: about {needed} sessions per arm would show a difference of {WORTHWHILE:.0%}"
