"""What a session did with memories: cited ones were of use, contradicted ones were wrong.

It is noted in the ledger, where the dream weighs it. A repeated reading of the same log notes nothing twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memoryd.daydream.keeping import KeepingStore, Outcome
from memoryd.daydream.reconcile import Action
from memoryd.ledger import How, Ledger
from memoryd.types import Candidate, LinkType, Source, Turn, TurnKind

_CITED = re.compile(r"\bmem_[0-9a-f]{12}\b")


def cited(turns: Iterable[Turn]) -> list[str]:
    """Ids of memories that the assistant named in its own words, in the order of the first naming."""
    said = (turn.text for turn in turns if turn.kind is TurnKind.ASSISTANT and not turn.sidechain)
    return list(dict.fromkeys(id for text in said for id in _CITED.findall(text)))


def contradicted(candidate: Candidate, outcome: Outcome, store: KeepingStore) -> list[str]:
    """The memories that a statement of the user replaced or spoke against."""
    if candidate.source is not Source.USER:
        return []
    if outcome.action is Action.SUPERSEDES:
        return [outcome.superseded] if outcome.superseded else []
    item = store.get(outcome.id) if outcome.action is Action.CONTRADICTS else None
    return [link.target for link in item.links if link.type is LinkType.CONTRADICTS] if item else []


def note(
    turns: Iterable[Turn], outcomes: Sequence[tuple[Candidate, Outcome]], session: str, store: KeepingStore, ledger: Ledger
) -> None:
    """Note what these turns and the statements taken from them say about memories."""
    if named := [id for id in cited(turns) if store.get(id) is not None]:
        ledger.record_use(named, session, How.CITED)
    if wrong := [id for candidate, outcome in outcomes for id in contradicted(candidate, outcome, store)]:
        ledger.record_use(wrong, session, How.CONTRADICTED)
