"""Decide which memories may bind the agent: rules in the user's own words, and those that the user's team has reviewed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from memoryd.core.checks import Check, CheckKind, Form
from memoryd.core.types import AGREED_TAG, Kind, MemoryItem, Scope, Status, Trust

BINDING_KINDS = frozenset({Kind.RULE, Kind.PREFERENCE, Kind.DECISION})


def may_bind(item: MemoryItem) -> bool:
    """Return whether a check of this memory may take effect.

    It may not if the memory came from a tool, a file, an import, a teammate or the agent, even if the user agreed to it. A rule
    on the default branch of the team's repository may, but is only noted (see `Guard.mode_of`).
    """
    if item.status is not Status.ACTIVE or item.kind not in BINDING_KINDS:
        return False
    if item.trust is not Trust.INSTRUCTION:
        return item.trust is Trust.TEAM and item.scope is Scope.TEAM
    return item.scope is not Scope.TEAM and AGREED_TAG not in item.tags


def conflicts(items: Sequence[MemoryItem]) -> list[tuple[MemoryItem, MemoryItem]]:
    """Return pairs of rules that can't both be followed, because one forbids the alternative that the other requires."""
    wanting: dict[str, list[MemoryItem]] = defaultdict(list)
    forbidding: dict[str, list[MemoryItem]] = defaultdict(list)
    for item in items:
        if item.check is None:
            continue
        for check in item.check.parts():
            for want in _wanted(check):
                wanting[want].append(item)
            for word in check.words if not check.unless and not check.branch else ():
                forbidding[f"{check.kind}:{word}"].append(item)
    found = {
        tuple(sorted((one.id, other.id))): (one, other)
        for want, wanters in wanting.items()
        for one in wanters
        for other in forbidding.get(want, ())
        if one.id != other.id and _meet(one, other)
    }
    styles = [(item, check) for item in items if item.check for check in item.check.parts() if _demands(check)]
    for at, (one, check) in enumerate(styles):
        for other, against in styles[:at]:
            if one.id != other.id and _meet(one, other) and not _can_both_hold(check, against):
                found[tuple(sorted((one.id, other.id)))] = (other, one)
    return list(found.values())


_BEGINNINGS = frozenset({Form.TICKET, Form.CONVENTIONAL, Form.PREFIX})
_TYPED = re.compile(r"[a-z]+(?:\([^)]*\))?!?:?$")
_TICKETED = re.compile(r"[\[(]?(?:[A-Z][A-Z\d]*|#)")


def _demands(check: Check) -> bool:
    """Return whether a check demands how each name of a branch, or each commit message, begins."""
    return check.kind is CheckKind.BRANCH or check.kind is CheckKind.MESSAGE and check.form in _BEGINNINGS


def _can_both_hold(one: Check, other: Check) -> bool:
    if one.kind is not other.kind:
        return True
    if one.kind is CheckKind.BRANCH:
        return bool({word.partition("*")[0] for word in one.words} & {word.partition("*")[0] for word in other.words})
    forms = {one.form: one.example, other.form: other.example}
    if one.form is other.form:
        short, long = sorted((one.example.lower(), other.example.lower()), key=len)
        return one.form is not Form.PREFIX or long.startswith(short)
    if forms.keys() == {Form.CONVENTIONAL, Form.PREFIX}:
        return _TYPED.match(forms[Form.PREFIX]) is not None
    return forms.keys() == {Form.TICKET, Form.PREFIX} and _TICKETED.match(forms[Form.PREFIX]) is not None


def _wanted(check: Check) -> Iterator[str]:
    """Yield the requirements of a rule in the form of prohibitions, to compare them with another rule's prohibitions."""
    if check.instead:
        yield f"{CheckKind.COMMAND}:{check.instead}"
    for flag in check.unless:
        yield from (f"{CheckKind.COMMAND}:{word} {flag}" for word in check.words)
    if len(check.first) == 1:
        yield f"{CheckKind.COMMAND}:{check.first[0]}"


def _meet(one: MemoryItem, other: MemoryItem) -> bool:
    return Scope.USER in (one.scope, other.scope) or one.project == other.project
