"""The guard: warns the agent about tool calls that violate a rule of the user, or refuses them.

Only checks derived from rules in the user's own words, or of the user's team, take effect (`memoryd/guard/binding.py`).
Evaluation uses no model, network or disk.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import orjson

from memoryd.core.checks import Access, Check, CheckKind, Mode
from memoryd.core.compliance import RuleOutcome
from memoryd.core.config import Settings
from memoryd.core.files import open_regular, read_regular
from memoryd.core.protocols import Clock
from memoryd.core.state import State
from memoryd.core.text import shorten
from memoryd.core.tool_calls import Permission, ToolCall, ToolReply
from memoryd.core.types import MemoryItem, Scope, Source
from memoryd.daydream.redact import redact, strip_private
from memoryd.guard.binding import conflicts, may_bind
from memoryd.guard.evaluate import AT_END, EDITORS, OBEYED, Result, edited, evaluate, places_of_call, relative
from memoryd.guard.index import CheckIndex
from memoryd.guard.shell import parse_shell
from memoryd.recall.current_code import bound_folder, named_folders
from memoryd.recall.prompt_block import harmless, render_block
from memoryd.service import Orchestrator

KEPT_SESSIONS = 200
KEPT_LINES = 300
RULE_CHARACTERS = 300
MAX_SHOWN = 6  # rules that one call is shown to violate, the strictest first; the others are only counted
WHAT_CHARACTERS = 120
LOG_BYTES = 4_000_000
EVENT = "PreToolUse"
REASON = "a rule of the user applies to this call"
REASON_OF_TEAM = "a rule of the user's team applies to this call"
UNDONE = "a rule of the user was not followed when the last answer ended"
_OUTCOMES = {Mode.NOTE: RuleOutcome.VIOLATED, Mode.ASK: RuleOutcome.ASKED, Mode.BLOCK: RuleOutcome.BLOCKED}
_STRICTNESS = {Mode.NOTE: Permission.NONE, Mode.ASK: Permission.ASK, Mode.BLOCK: Permission.DENY}


@dataclass(slots=True)
class _Session:
    """The part of a session's activity that checks need. `lines` contains shell command lines by tool call id."""

    lines: OrderedDict[str, str] = field(default_factory=OrderedDict)
    edited_at: int = -1  # Number of command lines before the last edit.
    edited: set[str] = field(default_factory=set)  # since the end of the last answer
    counted: int = 0
    undone: list[str] = field(default_factory=list)  # lines about what was not done at the end of the last answer


@dataclass(frozen=True, slots=True)
class Bound:
    """The binding rules of a project, and the contradictory pairs that don't bind."""

    items: tuple[MemoryItem, ...]
    contradictions: tuple[tuple[MemoryItem, MemoryItem], ...]
    index: CheckIndex  # of the checks of `items`
    exceptions: Mapping[str, tuple[MemoryItem, ...]]  # rules of sub-folders by the id of the general rule that they contradict


class Guard:
    """Answers tool calls. Thread-safe."""

    def __init__(self, service: Orchestrator, state: State, settings: Settings, clock: Clock) -> None:
        self._service = service
        self._state = state
        self._settings = settings
        self._default = Mode(settings.guard)
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._bound: dict[str, Bound] = {}
        self._revision = -1
        state.compliance.clean = lambda text: redact(strip_private(text)).text

    # Binding rules

    def bound(self, project: str) -> Bound:
        """Return the binding rules with checks in a project."""
        items = self._service.checked()
        with self._lock:
            if self._revision != self._service.checks_revision:
                self._revision = self._service.checks_revision
                self._bound = {}
            found = self._bound.get(project)
            if found is None:
                mine = [item for item in items if _applies(item, project)]
                linked = self._service.contradictions({item.id for item in mine}) if mine else []
                found = self._bound[project] = _bound(mine, [pair for pair in linked if all(_applies(i, project) for i in pair)])
        return found

    def mode_of(self, item: MemoryItem) -> Mode:
        """Return the response to a violation of a rule. With the guard off, there is none.

        A rule of the team is only noted, whatever the setting, until the user chooses another mode for it.
        """
        default = self._default
        if default is Mode.OFF or item.check is None:
            return Mode.OFF
        return item.check.mode or (Mode.NOTE if item.source is Source.TEAM else default)

    # Tool calls

    def warm(self) -> None:
        """Load the checks and the parser, so that the first tool call is answered in time."""
        self._service.checked()
        parse_shell("true")

    def respond(self, call: ToolCall) -> ToolReply | None:
        """Evaluate all checks before a tool call. After a failed call, remove it from the session's activity."""
        if self._settings.guard == Mode.OFF or not call.guarded:
            return None
        bound = self.bound(call.project)
        if not bound.items:
            return None
        session = self._session(call, bound.index)
        if call.error:
            session.lines.pop(call.id, None)
            return None
        before = tuple(session.lines.values())
        violated: list[tuple[MemoryItem, Result]] = []
        obeyed: list[str] = []
        now = self._clock.now()
        branch = _branch_of(call) if bound.index.reads_branch else ""
        for number, found in bound.index.results(call, before, branch):
            item = bound.items[number]
            if item.check is None or item.valid_to is not None and item.valid_to <= now:
                continue
            check = _in_its_folder(item, item.check, call)
            result = found if check is item.check else evaluate(check, call, before, branch)
            if not result.applies:
                continue
            if result.violation and _is_granted(bound.exceptions.get(item.id, ()), call):
                continue
            if not result.violation:
                obeyed.append(item.id)
            elif self.mode_of(item) is not Mode.OFF:
                violated.append((item, result))
        self._state.compliance.obeyed(obeyed, call.session, call.project)
        self._remember(session, call)
        return self._reply(call, violated) if violated else None

    def _reply(self, call: ToolCall, violated: Sequence[tuple[MemoryItem, Result]]) -> ToolReply:
        strictest = Permission.NONE
        for item, result in violated:
            mode = self.mode_of(item)
            strictest = max(strictest, _STRICTNESS[mode])
            self._state.compliance.violated(
                item.id, call.session, call.project, _OUTCOMES[mode], result.violation, result.form, call.id
            )
        shown = sorted(violated, key=lambda pair: -_STRICTNESS[self.mode_of(pair[0])])[:MAX_SHOWN]
        ids = frozenset(item.id for item, _ in shown) if strictest is not Permission.ASK else frozenset()
        if not call.subagent:  # which doesn't see what its session is given, nor the session what it is given
            self._state.record_injection(call.session, sorted(ids), EVENT)
        lines = [_line(item, result) for item, result in shown]
        if strictest is Permission.NONE:
            reason = REASON if any(item.source is not Source.TEAM for item, _ in shown) else REASON_OF_TEAM
            return ToolReply(render_block(lines, reason), given=ids)
        reasons = [_reason(item, result) for item, result in shown]
        return ToolReply("", strictest, "\n".join(reasons), ids)

    def at_stop(self, end: ToolCall) -> None:
        """Evaluate checks that apply at the end of an answer, and record the user's answers to pending questions."""
        self._settle(end.session, end.transcript)
        with self._lock:
            known = self._sessions.get(end.session)
        if known is not None and known.edited_at >= 0 and self._settings.guard != Mode.OFF:
            with self._lock:
                since = list(known.lines.values())[known.edited_at :]
                end = replace(end, tool=AT_END, input={"edited": sorted(known.edited)})
                known.edited_at = -1
                known.edited.clear()
            known.undone = self._left_undone(end, since)
        self._state.compliance.flush()

    def _left_undone(self, end: ToolCall, since: Sequence[str]) -> list[str]:
        """Count the checks that apply at the end of an answer, and return lines about the violated ones."""
        undone = []
        now = self._clock.now()
        for item in self.bound(end.project).items:
            check = item.check
            if (
                check is None
                or all(part.kind is not CheckKind.COMPANION for part in check.parts())
                or self.mode_of(item) is Mode.OFF
            ):
                continue
            if item.valid_to is not None and item.valid_to <= now:
                continue
            result = evaluate(_in_its_folder(item, check, end), end, since)
            if result.violation:
                self._state.compliance.violated(
                    item.id, end.session, end.project, RuleOutcome.VIOLATED, result.violation, result.form, ""
                )
                undone.append(_line(item, result, "Your last answer went against it"))
            elif result.applies:
                self._state.compliance.obeyed([item.id], end.session, end.project)
        return undone

    def undone(self, session: str) -> str:
        """Return, once, what the last answer left undone, for the session's next prompt."""
        with self._lock:
            known = self._sessions.get(session)
            if known is None:
                return ""
            lines, known.undone = known.undone, []
        return render_block(lines, UNDONE) if lines else ""

    def _settle(self, session: str, transcript: str) -> None:
        asked = [one for one in self._state.compliance.violations(session=session) if one.outcome is RuleOutcome.ASKED]
        if not asked or not transcript:
            return
        results = _results(transcript)
        for one in asked:
            if one.call in results:
                self._state.compliance.settle(one, RuleOutcome.DECLINED if results[one.call] else RuleOutcome.OVERRIDDEN)

    # Session activity

    def _session(self, call: ToolCall, index: CheckIndex) -> _Session:
        key = call.session
        with self._lock:
            known = self._sessions.get(key)
            if known is not None:
                self._sessions.move_to_end(key)
                return known
        found = _Session()
        if index.has_companions:
            found.lines.update(_lines_in(call.transcript))  # The daemon may have started mid-session.
        with self._lock:
            known = self._sessions.setdefault(key, found)
            while len(self._sessions) > KEPT_SESSIONS:
                self._sessions.popitem(last=False)
        return known

    def _remember(self, session: _Session, call: ToolCall) -> None:
        line = call.input.get("command")
        with self._lock:
            if call.tool == "Bash" and isinstance(line, str):
                session.counted += 1
                session.lines[call.id or str(session.counted)] = line[:20_000]
                if places := [relative(path, call) for path, _, _ in edited(call)]:  # with a here-document, `sed -i` and the like
                    session.edited_at = len(session.lines) - 1  # the same line may have run the required step
                    session.edited.update(filter(None, places))
                while len(session.lines) > KEPT_LINES:
                    session.lines.popitem(last=False)
                    session.edited_at = max(session.edited_at - 1, -1) if session.edited_at >= 0 else -1
            elif call.tool in EDITORS:
                session.edited_at = len(session.lines)
                session.edited.update(place for _, place, _ in places_of_call(call, Access.WRITE) if place is not None)


def _applies(item: MemoryItem, project: str) -> bool:
    return may_bind(item) and (item.scope is Scope.USER or item.project == project)


def _bound(items: Sequence[MemoryItem], linked: Sequence[tuple[MemoryItem, MemoryItem]]) -> Bound:
    """Leave out contradictory rules. Rules of different folders don't contradict each other; that of a sub-folder goes first."""
    pairs = {frozenset((one.id, other.id)): (one, other) for one, other in [*conflicts(items), *linked]}
    overruled: set[str] = set()
    against, exceptions = [], defaultdict[str, list[MemoryItem]](list)
    for one, other in pairs.values():
        places = [next(named_folders(item), "") for item in (one, other)]
        if len({item.source is Source.TEAM for item in (one, other)}) == 2:  # The team can't switch off what the user wants.
            overruled.add(one.id if one.source is Source.TEAM else other.id)
        elif places[0] == places[1]:
            against.append((one, other))
        elif not all(places):
            general, special = (one, other) if places[1] else (other, one)
            exceptions[general.id].append(special)
    out = overruled | {item.id for pair in against for item in pair}
    kept = tuple(item for item in items if item.id not in out)
    index = CheckIndex([item.check for item in kept if item.check is not None])
    return Bound(kept, tuple(against), index, {id: tuple(special) for id, special in exceptions.items()})


def _is_granted(exceptions: Sequence[MemoryItem], call: ToolCall) -> bool:
    """Return whether a rule of the sub-folder in which the call runs wants what a general rule forbids."""
    checks = [_in_its_folder(item, item.check, call) for item in exceptions if item.check is not None]
    return any(check.paths and evaluate(check, call) == OBEYED for check in checks)


_path = lru_cache(maxsize=50)(Path)


def _in_its_folder(item: MemoryItem, check: Check, call: ToolCall) -> Check:
    """Limit a check on commands to the sub-folder to which the wording of its rule limits it, as in "in packages/web use npm"."""
    if check.also:
        first, *others = (_in_its_folder(item, part, call) for part in check.parts())
        parts = tuple(replace(part, mode=None, silenced=()) for part in others)
        limited = replace(first, also=parts)
        return check if limited == check else limited
    if check.paths or check.kind in (CheckKind.PATH, CheckKind.CONTENT) or not call.root:
        return check
    folder = bound_folder(item, _path(call.root))
    return replace(check, paths=(f"{folder}/",)) if folder else check


def _line(item: MemoryItem, result: Result, against: str = "This call goes against it") -> str:
    rule = shorten(harmless(item.content), RULE_CHARACTERS)
    what = shorten(harmless(result.violation), WHAT_CHARACTERS)
    return f"- [{item.id}] {_owner(item).capitalize()} rule: {rule} {against}: {what}{_advice(item.check)}"


def _reason(item: MemoryItem, result: Result) -> str:
    rule = shorten(harmless(item.content), RULE_CHARACTERS)
    what = shorten(harmless(result.violation), WHAT_CHARACTERS)
    change = f"The user can change this with: memoryd guard mode {item.id} note"
    return f"memoryd: against {_owner(item)} rule {item.id} ({rule}): {what}{_advice(item.check)}. {change}"


def _owner(item: MemoryItem) -> str:
    return "the team's" if item.source is Source.TEAM else "the user's"


def _advice(check: Check | None) -> str:
    if check is None or check.also:  # the advice of one part may not concern the violated one
        return f" (use {check.instead} instead)" if check and check.instead else ""
    if check.instead:
        return f" (use {check.instead} instead)"
    if check.unless:
        return f" (needs {' or '.join(check.unless)})"
    return f" (run {check.first[0]} first)" if check.first else ""


def _branch_of(call: ToolCall) -> str:
    """Return the checked-out branch, or an empty string if unknown."""
    try:
        folder = Path(call.root or call.cwd) / ".git"
        if folder.is_file():
            folder = (folder.parent / _text(folder).strip().removeprefix("gitdir:").strip()).resolve()
        head = _text(folder / "HEAD").strip()
    except (OSError, ValueError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


def _text(path: Path) -> str:
    return read_regular(path, 4_096).decode("utf-8", "replace")


def _entries(transcript: str, mark: bytes) -> list[dict[str, object]]:
    """Return the content entries from the last lines of the log that contain the marker."""
    try:
        with open_regular(Path(transcript)) as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - LOG_BYTES))
            lines = stream.read(LOG_BYTES).split(b"\n")
    except (OSError, ValueError):
        return []
    out: list[dict[str, object]] = []
    for line in lines:
        if mark not in line:
            continue
        try:
            content = orjson.loads(line).get("message", {}).get("content")
        except (orjson.JSONDecodeError, AttributeError):
            continue  # The first line may be truncated, and other kinds of lines have a different structure.
        out += [entry for entry in content if isinstance(entry, dict)] if isinstance(content, list) else []
    return out


def _lines_in(transcript: str) -> dict[str, str]:
    """Return the successful shell command lines in a log, by tool call id."""
    found: dict[str, str] = {}
    for entry in _entries(transcript, b'"tool_') if transcript else ():
        given = entry.get("input")
        if entry.get("type") == "tool_use" and entry.get("name") == "Bash" and isinstance(given, dict):
            found[str(entry.get("id"))] = str(given.get("command", ""))[:20_000]
        elif entry.get("type") == "tool_result" and entry.get("is_error"):
            found.pop(str(entry.get("tool_use_id")), None)
    return dict(list(found.items())[-KEPT_LINES:])


def _results(transcript: str) -> dict[str, bool]:
    """Map each tool call with a result in the log to whether the user refused it."""
    found: dict[str, bool] = {}
    for entry in _entries(transcript, b'"tool_result"'):
        if entry.get("type") == "tool_result":
            text = str(entry.get("content"))[:2_000].lower()
            refused = bool(entry.get("is_error")) and any(
                word in text for word in ("doesn't want", "permission", "rejected", "denied")
            )
            found[str(entry.get("tool_use_id"))] = refused
    return found
