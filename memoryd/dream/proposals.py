"""Proposals: changes that need the user's consent, and the groups that the user has refused.

They are stored in one JSON file. A proposal is a group of changes. Its id depends only on the actions and their memories, so a
dream that finds the same change again does not create a second proposal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from memoryd.core.codec import item_digest, item_from_dict, item_to_dict
from memoryd.core.errors import NotFoundError, StoreError
from memoryd.core.files import write_atomic
from memoryd.core.text import digest
from memoryd.core.types import MemoryItem
from memoryd.dream.plan import DROPPING, Action, Change, UndecidedConflict

# Undoing one of these actions does not mean that the user rejects it permanently.
PASSING = frozenset({Action.DECAY, Action.CHECK, Action.CITE, Action.FORGET, Action.IMPORT, Action.REWORD})
MANY = 2
SYNC_STAGE = "sync"  # proposals of this stage are not found by dreams, and outlast them


@dataclass(frozen=True, slots=True)
class Proposal:
    """A pending group of changes. `why` is the reason for asking, and `since` is when it was first proposed."""

    id: str
    changes: tuple[Change, ...]
    why: str
    since: str


@dataclass(frozen=True, slots=True)
class PagedProposals:
    """A page of proposals, their total number, and all contradictions."""

    proposals: tuple[Proposal, ...]
    total: int
    undecided: tuple[UndecidedConflict, ...]


def grouped(changes: Iterable[Change]) -> list[tuple[Change, ...]]:
    """Group the changes, ordered by the first change in each group. A change without a group forms its own group."""
    out: dict[str, list[Change]] = {}
    for change in changes:
        out.setdefault(change.group or change.id, []).append(change)
    return [tuple(group) for group in out.values()]


def proposal_id(actions: Iterable[tuple[Action, str]]) -> str:
    """Return the id of a group: a digest of its actions and memories, independent of wording and times."""
    return f"prop_{digest(*sorted(f'{action.value}:{id}' for action, id in actions))[:10]}"


def id_of(group: Iterable[Change]) -> str:
    """Return the id of a group of changes."""
    return proposal_id((change.action, change.id) for change in group)


class Proposals:
    """Reads and writes the file of proposals. Each write replaces it atomically."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._counted: tuple[tuple[int, ...], tuple[int, int]] | None = None

    def waiting(self) -> list[Proposal]:
        """Return all pending proposals, ordered by id."""
        return list(self.page().proposals)

    def page(self, first: int = 0, most: int | None = None) -> PagedProposals:
        """Return up to `most` proposals starting at `first`, ordered by id. The others, perhaps thousands, are not parsed."""
        stored = self._load()
        found = sorted(stored["waiting"])[first : None if most is None else first + most]
        proposals = tuple(_proposal(id, stored["waiting"][id]) for id in found)
        return PagedProposals(
            proposals, len(stored["waiting"]), tuple(UndecidedConflict(**values) for values in stored["undecided"])
        )

    def counts(self) -> tuple[int, int]:
        """Return the number of proposals and of contradictions. The file is reread only if it has changed."""
        stamp = self._stamp()
        if self._counted is None or self._counted[0] != stamp:
            stored = self._load()
            self._counted = stamp, (len(stored["waiting"]), len(stored["undecided"]))
        return self._counted[1]

    def _stamp(self) -> tuple[int, ...]:
        try:
            stat = self._path.stat()
        except OSError:  # The file is missing, or reading it will report the problem.
            return ()
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def require(self, ids: Collection[str]) -> list[Proposal]:
        """Return the proposals with these ids.

        Raises:
            NotFoundError: An id is unknown. The message contains the first unknown id.
        """
        known = {proposal.id: proposal for proposal in self.waiting()}
        for id in ids:
            if id not in known:
                raise NotFoundError(f"There is no proposal '{id}'.", fix="See 'memoryd proposals'.")
        return [known[id] for id in dict.fromkeys(ids)]

    def replace(self, found: Iterable[Proposal], undecided: Sequence[UndecidedConflict]) -> None:
        """Replace the pending proposals with those of the new dream. Known proposals keep their `since`."""
        stored = self._load()
        old = stored["waiting"]
        others = {id: values for id, values in old.items() if any(c["stage"] == SYNC_STAGE for c in values["changes"])}
        waiting = others | {p.id: _proposal_to_dict(p, old.get(p.id, {}).get("since", p.since)) for p in found}
        pairs = [{"first": u.first, "second": u.second, "reason": u.reason} for u in undecided]
        if waiting != old or pairs != stored["undecided"]:
            self._save({**stored, "waiting": waiting, "undecided": pairs})

    def add(self, found: Iterable[Proposal]) -> None:
        """Add proposals to the pending ones, unless they were refused."""
        stored = self._load()
        refused = RefusedGroups(stored["refused"])
        new = {p.id: _proposal_to_dict(p, p.since) for p in found if not refused.covers(p.changes)}
        if new:
            self._save({**stored, "waiting": {**stored["waiting"], **new}})

    def drop_answered(self, stage: str, get: Callable[[str], MemoryItem | None]) -> None:
        """Remove the proposals of a stage whose memories have changed since."""
        waiting = (p for p in self.waiting() if p.changes and p.changes[0].stage == stage)
        if answered := [p.id for p in waiting if not all(_fits(change, get(change.id)) for change in p.changes)]:
            self._drop(answered, {})

    def settle(self, ids: Iterable[str]) -> None:
        """Remove accepted proposals."""
        self._drop(ids, {})

    def refuse(self, ids: Iterable[str]) -> None:
        """Remove refused proposals and never propose them again."""
        found = self.require(list(ids))
        self._drop([p.id for p in found], {p.id: _dropped((c.action, c.id) for c in p.changes) for p in found})

    def erase(self, memory: str) -> None:
        """Remove pending proposals that involve a memory."""
        self._drop([p.id for p in self.waiting() if any(change.id == memory for change in p.changes)], {})

    def refuse_groups(self, groups: Iterable[Sequence[tuple[Action, str]]]) -> None:
        """Record groups undone by the user, so that they are not applied again."""
        lasting = [actions for actions in groups if any(action not in PASSING for action, _ in actions)]
        if lasting:
            self._drop([], {proposal_id(actions): _dropped(actions) for actions in lasting})

    def allow_groups(self, groups: Iterable[Sequence[tuple[Action, str]]]) -> None:
        """Allow groups again after the user has restored them."""
        stored, wanted = self._load(), {proposal_id(actions) for actions in groups}
        if wanted & stored["refused"].keys():
            stored["refused"] = {id: ids for id, ids in stored["refused"].items() if id not in wanted}
            self._save(stored)

    def refused(self) -> RefusedGroups:
        """Return the user's refusals so far."""
        return RefusedGroups(self._load()["refused"])

    def _drop(self, ids: Iterable[str], refused: Mapping[str, list[str]]) -> None:
        stored = self._load()
        gone = set(ids)
        stored["waiting"] = {id: values for id, values in stored["waiting"].items() if id not in gone}
        stored["refused"] = {**stored["refused"], **refused}
        self._save(stored)

    def _load(self) -> dict[str, Any]:
        empty: dict[str, Any] = {"waiting": {}, "refused": {}, "undecided": []}
        try:
            stored: dict[str, Any] = orjson.loads(self._path.read_bytes())
            return empty | stored
        except FileNotFoundError:
            return empty
        except (OSError, orjson.JSONDecodeError) as error:
            raise StoreError(f"{self._path} can't be read: {error}", fix="Delete it; the next dream recreates it.") from error

    def _save(self, stored: dict[str, Any]) -> None:
        write_atomic(self._path, orjson.dumps(stored, option=orjson.OPT_INDENT_2))


class RefusedGroups:
    """The refused groups. A refusal also covers other groups that remove two of the same memories together."""

    def __init__(self, stored: Mapping[str, list[str]]) -> None:
        self._ids = frozenset(stored)
        self._sets = [frozenset(ids) for ids in stored.values() if len(ids) >= MANY]

    def covers(self, group: Sequence[Change]) -> bool:
        """Return whether the user has refused this group."""
        if id_of(group) in self._ids:
            return True
        dropped = {change.id for change in group if change.action in DROPPING}
        return len(dropped) >= MANY and any(len(dropped & ids) >= MANY for ids in self._sets)


def _fits(change: Change, now: MemoryItem | None) -> bool:
    if now is None or change.before is None:
        return now is change.before
    return item_digest(now) == item_digest(change.before)


def _dropped(actions: Iterable[tuple[Action, str]]) -> list[str]:
    return sorted(id for action, id in actions if action in DROPPING)


def change_to_dict(change: Change) -> dict[str, Any]:
    """Convert a change to plain values."""
    return {
        "stage": change.stage,
        "action": change.action.value,
        "reason": change.reason,
        "group": change.group,
        "before": item_to_dict(change.before) if change.before else None,
        "after": item_to_dict(change.after),
    }


def _change(values: Mapping[str, Any]) -> Change:
    before = item_from_dict(values["before"]) if values["before"] else None
    after = item_from_dict(values["after"])
    return Change(values["stage"], Action(values["action"]), before, after, values["reason"], values["group"])


def _proposal_to_dict(proposal: Proposal, since: str) -> dict[str, Any]:
    return {"why": proposal.why, "since": since, "changes": [change_to_dict(change) for change in proposal.changes]}


def _proposal(id: str, values: Mapping[str, Any]) -> Proposal:
    return Proposal(id, tuple(_change(entry) for entry in values["changes"]), values["why"], values["since"])
