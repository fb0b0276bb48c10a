"""Evaluate hundreds of checks on a tool call by looking only at those that its tool, programs and paths can concern."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from memoryd.core.checks import Access, Check, CheckKind
from memoryd.core.tool_calls import ToolCall
from memoryd.guard.code import may_contain, may_import
from memoryd.guard.evaluate import (
    EDITORS,
    INSTALLERS,
    OBEYED,
    Earlier,
    Result,
    commands_of,
    covers,
    edited,
    evaluate,
    is_place,
    outputs_of_call,
    places_of_call,
    program_run,
    program_wanted,
    relative,
)

_ANY = ""  # key of the checks that any program, or any path, can concern
_TOOLS = EDITORS | {"Bash", "Read"}


@dataclass(slots=True)
class _Covered:
    """Checks on content that cover the same files, with their numbers."""

    check: Check  # one of them
    members: list[tuple[int, Check]] = field(default_factory=list)


class CheckIndex:
    """Checks by what they concern. Its results are the ones of `evaluate` for each check that applies to a call."""

    def __init__(self, checks: Sequence[Check]) -> None:
        parts = [(number, part) for number, check in enumerate(checks) for part in check.parts()]
        self._owners = tuple(number for number, _ in parts)
        self._checks = tuple(part for _, part in parts)
        self._programs: dict[str, list[int]] = defaultdict(list)
        self._paths: Mapping[Access, dict[str, list[int]]] = MappingProxyType({access: defaultdict(list) for access in Access})
        self._importing: list[int] = []
        covered: dict[tuple[tuple[str, ...], ...], _Covered] = {}
        self.reads_branch = any(check.branch for check in self._checks)
        self.has_companions = any(check.kind is CheckKind.COMPANION for check in self._checks)
        for number, check in enumerate(self._checks):
            if check.kind is CheckKind.PATH:
                for key in _first_parts(check):
                    self._paths[check.access][key].append(number)
            elif check.kind is CheckKind.CONTENT:
                same = check.files, check.paths, tuple(path for path in check.unless if is_place(path))
                covered.setdefault(same, _Covered(check)).members.append((number, check))
                self._importing += [number] if check.imports else []
            else:
                for program in _programs_of(check):
                    self._programs[program].append(number)
        self._covered = tuple(covered.values())

    def results(self, call: ToolCall, before: Sequence[str], branch: str = "") -> Iterator[tuple[int, Result]]:
        """Yield the number and the result of each check that applies to the call."""
        if call.tool not in _TOOLS:
            return
        found = self._by_program(call) | self._by_path(call)
        contents = self._by_content(call)
        earlier = Earlier(before)
        of_rule: dict[int, Result] = {}
        for number in sorted(found | contents.keys()):
            owner = self._owners[number]
            if owner in of_rule and of_rule[owner].violation:
                continue
            known = None if number in found else contents.get(number)
            result = known or evaluate(self._checks[number], call, earlier, branch)
            if result.applies:
                of_rule[owner] = result
        yield from of_rule.items()

    def _by_program(self, call: ToolCall) -> set[int]:
        commands = commands_of(call)
        if not commands:
            return set()
        programs = {_ANY, *map(program_run, commands)}
        found = {number for program in programs for number in self._programs.get(program, ())}
        return found | set(self._importing) if not INSTALLERS.isdisjoint(programs) else found

    def _by_path(self, call: ToolCall) -> set[int]:
        found: set[int] = set()
        for access, by_part in self._paths.items():
            if by_part:
                called = (*places_of_call(call, access), *outputs_of_call(call))
                places = {place for _, place, _ in called if place is not None}
                parts = {part for place in places for part in place.strip("/").split("/")}
                found |= {number for part in (parts | {_ANY} if places else ()) for number in by_part.get(part, ())}
        return found

    def _by_content(self, call: ToolCall) -> dict[int, Result | None]:
        """Return the result of each check on content that covers an edited file; None if only `evaluate` can say it."""
        if not self._covered or not (edits := list(edited(call))):
            return {}
        places = [place for path, _, _ in edits if (place := relative(path, call)) is not None]
        texts = [new for _, new, _ in edits]
        lowered = [text.lower() for text in texts]
        found: dict[int, Result | None] = {}
        for group in self._covered:
            if any(covers(group.check, place) for place in places):
                found |= {number: _quick(check, lowered if check.imports else texts) for number, check in group.members}
        return found


def _quick(check: Check, texts: Iterable[str]) -> Result | None:
    """Return that a check is obeyed if none of its words is in the new texts, which are in lower case for a check on imports."""
    if any(not is_place(exception) for exception in check.unless):
        return None  # it is removed from the text before words are looked for
    contains = may_import if check.imports else may_contain
    return None if any(contains(text, word) for text in texts for word in check.words) else OBEYED


def _programs_of(check: Check) -> set[str]:
    """Return the programs that one of a call's commands must run for the check to apply."""
    if check.kind in (CheckKind.MESSAGE, CheckKind.BRANCH):
        return {"git"}
    wanted = [*check.words, *([check.instead] if check.instead and check.kind is CheckKind.COMMAND else [])]
    programs = {program_wanted(each) or _ANY for each in wanted}
    return programs | {"python"} if any(program.endswith(".py") for program in programs) else programs


def _first_parts(check: Check) -> set[str]:
    """Return a part of each path that every place within it has, too."""
    return {_first_part(path) for path in check.paths} or {_ANY}


def _first_part(path: str) -> str:
    wanted = path.removeprefix("./").rstrip("/")
    return _ANY if wanted == "." or any(sign in wanted for sign in "*?") else wanted.partition("/")[0]
