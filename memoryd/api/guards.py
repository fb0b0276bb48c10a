"""Operations of the guard: list and compile checked rules, choose what happens on a violation, and report compliance."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypedDict

from memoryd.api.parameters import ALL, choice, count, flag, memory_id, request, text
from memoryd.api.registry import Caller, operation
from memoryd.core.errors import InputError

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.core.types import MemoryItem

REPEATED = 3
MAX_SILENCED = 40
_INEFFECTIVE = "Raise it with 'memoryd guard mode {id} {mode}', or forget it if it no longer holds."


class GuardMode(StrEnum):
    """The mode of one rule. `default` uses the setting `guard`."""

    DEFAULT = "default"
    OFF = "off"
    NOTE = "note"
    ASK = "ask"
    BLOCK = "block"


class RuleList(TypedDict):
    """Rules with checks, rules that no tool call can violate, and pairs of contradicting rules."""

    guard: str
    rules: list[dict[str, Any]]
    contradictions: list[dict[str, Any]]
    without_check: int


@request
class ListRules:
    """The project whose rules are listed."""

    project: str = text(help="Id or name of a project (default: that of the current folder).")


@operation(ListRules, RuleList)
def guard(runtime: Runtime, request: ListRules, caller: Caller) -> RuleList:
    """List the rules checked on tool calls, and what happens on a violation."""
    from memoryd.core.types import Kind, Query

    project = runtime.project_of(request.project, caller.cwd)
    items, contradictions = _binding(runtime, request.project, project)
    known = runtime.service.count(Query(project=project, kinds=(Kind.RULE, Kind.PREFERENCE)))
    with_check = sum(item.kind in (Kind.RULE, Kind.PREFERENCE) for item in items)
    return {
        "guard": runtime.settings.guard,
        "rules": [_shown(runtime, item) for item in items],
        "contradictions": contradictions,
        "without_check": max(known - with_check, 0),
    }


def _binding(runtime: Runtime, named: str, project: str | None) -> tuple[list[MemoryItem], list[dict[str, Any]]]:
    """Return the checked rules that bind in a project, or in all, and the pairs that don't because they contradict each other."""
    places = ["", *runtime.registry.known()] if named == ALL else [project or ""]
    bound = [runtime.guard.bound(place) for place in places]
    pairs = {(one.id, other.id): (one, other) for each in bound for one, other in each.contradictions}
    shown = [{"one": _shown(runtime, one), "other": _shown(runtime, other)} for one, other in pairs.values()]
    return list({item.id: item for each in bound for item in each.items}.values()), shown


class ChangedRule(TypedDict):
    """The rule after the change."""

    rule: dict[str, Any]


@request
class SetMode:
    """A rule and its new mode."""

    id: str = memory_id(argument=True)
    mode: str = choice(GuardMode, argument=True, help="off, note, ask, block, or default (the setting guard).")


@operation(SetMode, ChangedRule, person_only=True)
def guard_mode(runtime: Runtime, request: SetMode, caller: Caller) -> ChangedRule:
    """Choose what happens when a call violates a rule: nothing, a note to the agent, a question to you, or a refusal."""
    from memoryd.core.checks import Mode

    item = _with_check(runtime, request.id)
    mode = None if request.mode in (None, GuardMode.DEFAULT) else Mode(str(request.mode))
    assert item.check is not None
    return {"rule": _shown(runtime, runtime.service.update(item.id, check=replace(item.check, mode=mode)))}


@request
class Silence:
    """A rule, and the call on which it should not fire."""

    id: str = memory_id(argument=True)
    call: str = text(help="The call, as `memoryd guard report` shows it (default: the rule's last violation).", limit=2_000)


class Silenced(ChangedRule):
    """The call pattern that no longer counts as a violation."""

    form: str


@operation(Silence, Silenced, person_only=True)
def guard_silence(runtime: Runtime, request: Silence, caller: Caller) -> Silenced:
    """Stop a rule from firing on calls like its last violation, or like the given call."""
    item = _with_check(runtime, request.id)
    assert item.check is not None
    found = runtime.state.compliance.violations(memory=item.id)
    wanted = request.call.strip()
    form = next((one.form for one in found if not wanted or wanted in (one.what, one.form)), "")
    if not form and wanted:
        form = _form_of_call(item, wanted)
    if not form:
        raise InputError(f"The rule {item.id} has not fired on such a call.", fix="See 'memoryd guard report', or pass --call.")
    if len(item.check.silenced) >= MAX_SILENCED:
        raise InputError("This check has too many exceptions.", fix=f"Edit it: memoryd edit {item.id}.")
    check = replace(item.check, silenced=tuple(dict.fromkeys([*item.check.silenced, form])))
    return {"rule": _shown(runtime, runtime.service.update(item.id, check=check)), "form": form}


def _form_of_call(item: MemoryItem, line: str) -> str:
    from memoryd.core.tool_calls import ToolCall
    from memoryd.guard.evaluate import evaluate

    assert item.check is not None
    return evaluate(item.check, ToolCall("Bash", {"command": line})).form


@request
class CompileRules:
    """Whether to compile the rules of all projects."""

    every: bool = flag(flags=("--all",), help="In all projects.")


class CompiledRules(TypedDict):
    """The rules for which a check was compiled."""

    rules: list[dict[str, Any]]


@operation(CompileRules, CompiledRules, person_only=True)
def guard_compile(runtime: Runtime, request: CompileRules, caller: Caller) -> CompiledRules:
    """Compile checks for rules that were learnt before the guard existed or written by hand."""
    from memoryd.core.types import Kind, Query
    from memoryd.guard.binding import may_bind
    from memoryd.guard.compile import compile_rule

    project = None if request.every else runtime.project_of("", caller.cwd)
    changed, place = [], ""
    while page := runtime.service.page(Query(project=project, kinds=(Kind.RULE, Kind.PREFERENCE, Kind.DECISION)), 500, place):
        place = runtime.service.place_of(page[-1])
        for item in page:
            check = compile_rule(item.content) if item.check is None and may_bind(item) else None
            if check is not None:
                changed.append(runtime.service.update(item.id, check=check))
    return {"rules": [_shown(runtime, item) for item in changed]}


@request
class ReadReport:
    """The sessions to report on."""

    project: str = text(help="Id or name of a project, or all (default: that of the current folder).")
    session: str = text(help="Only this session.")
    limit: int = count(default=20, high=500, help="At most this many single violations.")


class ComplianceReport(TypedDict):
    """Compliance with the rules, the rules violated repeatedly, and the latest violations."""

    rules: list[dict[str, Any]]
    repeated: list[dict[str, Any]]
    violations: list[dict[str, Any]]
    contradictions: list[dict[str, Any]]


@operation(ReadReport, ComplianceReport)
def guard_report(runtime: Runtime, request: ReadReport, caller: Caller) -> ComplianceReport:
    """Report how often each rule applied, was followed, violated and overridden, and which rules are violated repeatedly."""
    project = runtime.project_of(request.project, caller.cwd) or ""
    _, contradictions = _binding(runtime, request.project, project)
    by_rule: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    sessions: dict[str, set[str]] = defaultdict(set)
    for one in runtime.state.compliance.counts(project, request.session):
        by_rule[one.memory][one.outcome.value] += one.number
        sessions[one.memory].add(one.session)
    rows = []
    for id, numbers in by_rule.items():
        item = runtime.service.get(id)
        if item is None:
            continue
        violated = sum(number for name, number in numbers.items() if name != "obeyed")
        shown = {name: numbers[name] for name in ("obeyed", "blocked", "overridden", "declined")}
        about = {"id": id, "rule": item.content, "mode": _mode(runtime, item), "sessions": len(sessions[id])}
        row = {**about, "applied": sum(numbers.values()), "violated": violated, **shown}
        rows.append(row)
    rows.sort(key=lambda row: (-int(str(row["violated"])), str(row["id"])))
    found = runtime.state.compliance.violations(project=project, session=request.session, limit=request.limit)
    return {
        "rules": rows,
        "repeated": [{**row, "proposal": _proposal(row)} for row in rows if int(str(row["violated"])) >= REPEATED],
        "violations": [
            {
                "id": one.memory,
                "session": one.session,
                "at": one.at,
                "outcome": one.outcome.value,
                "what": one.what,
                "form": one.form,
            }
            for one in found
        ],
        "contradictions": contradictions,
    }


def _proposal(row: dict[str, Any]) -> str:
    if row["overridden"] > row["violated"] // 2:
        return f"You allowed most of these calls: silence them (memoryd guard silence {row['id']}) or change the rule."
    stricter = {"off": "note", "note": "ask", "ask": "block"}.get(row["mode"])
    if stricter is None:
        return "It is already refused each time. If the rule does not say what to do instead, add that."
    return f"Notes alone don't help: {_INEFFECTIVE.format(id=row['id'], mode=stricter)}"


def _with_check(runtime: Runtime, id: str) -> MemoryItem:
    item = runtime.service.require(id)
    if item.check is None:
        raise InputError(f"The memory {id} has no check.", fix="See 'memoryd guard', and docs/guard.md for how to write one.")
    return item


def _mode(runtime: Runtime, item: MemoryItem) -> str:
    return runtime.guard.mode_of(item).value


def _shown(runtime: Runtime, item: MemoryItem) -> dict[str, Any]:
    from memoryd.core.checks import check_to_dict

    check = check_to_dict(item.check) if item.check else {}
    return {"id": item.id, "rule": item.content, "mode": _mode(runtime, item), "scope": item.scope.value, "check": check}
