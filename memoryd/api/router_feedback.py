"""Derive labelled queries for the learned router from the memories that sessions used.

Prompts are not stored. During training, each is read from its session's log. A prompt is used if its session cited a
memory that was injected with it. The label is the backend that ranks this memory highest. Prompts without a single
best backend are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memoryd.core.clock import from_iso
from memoryd.core.errors import TranscriptError
from memoryd.core.ledger import UseKind
from memoryd.core.state import SessionRecord, State
from memoryd.core.types import Backend, Hit, Query, Turn, TurnKind
from memoryd.daydream.transcript import read_all
from memoryd.retrieval.training import LabelledQuery

SESSIONS = 1_000
MAX_PROMPTS = 200
RANKS = 20
WITH_PROMPT = "UserPromptSubmit"
CHARACTERS = 2_000
SEPARATE_SECONDS = 60.0
"""Maximum time between a prompt and its hook record: the timeout of the hook."""

Search = Callable[[Query, int], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class UsefulPrompt:
    """A prompt, and a useful memory that was injected with it."""

    text: str
    project: str
    memory: str


@dataclass(slots=True)
class Feedback:
    """Labelled prompts, the number of undecided prompts, and the number of sessions without a readable log."""

    rows: list[LabelledQuery]
    undecided: int = 0
    gone: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the counts."""
        return {"prompts": len(self.rows), "undecided": self.undecided, "logs_gone": self.gone}


def feedback(state: State, search: Search, now: datetime, backends: Sequence[Backend]) -> Feedback:
    """Label the newest suitable prompts, up to MAX_PROMPTS. Excludes sessions and projects with memory off."""
    out = Feedback([])
    for prompt in _useful_prompts(state, out):
        query = Query(prompt.text, project=prompt.project, now=now)
        if (best := _best_backend(prompt.memory, query, search, backends)) is None:
            out.undecided += 1
        else:
            out.rows.append(LabelledQuery(prompt.text, best))
        if len(out.rows) + out.undecided == MAX_PROMPTS:
            break
    return out


def _useful_prompts(state: State, out: Feedback) -> Iterator[UsefulPrompt]:
    for record in state.sessions(SESSIONS):
        if record.off or state.is_off(record.project, record.cwd) or not (useful := _useful(state, record.session)):
            continue
        try:
            prompts = [turn for piece in read_all(Path(record.transcript)) for turn in piece.turns if _is_prompt(turn)]
        except TranscriptError:
            out.gone += 1
            continue
        yield from _match_prompts(record, useful, prompts)


def _useful(state: State, session: str) -> dict[str, datetime]:
    """Return memories that were injected with a prompt and then cited without contradiction, with the time of injection."""
    uses = state.ledger.uses_in(session)
    cited = {use.memory for use in uses if use.how is UseKind.CITED} - {
        use.memory for use in uses if use.how is UseKind.CONTRADICTED
    }
    if not cited:
        return {}
    hooks = state.injections(session)
    given = (use for use in uses if use.how is UseKind.INJECTED and hooks.get(use.memory) == WITH_PROMPT)
    return {use.memory: from_iso(use.at) for use in given if use.memory in cited}


def _is_prompt(turn: Turn) -> bool:
    return turn.kind is TurnKind.USER and not turn.sidechain and turn.at is not None and bool(turn.text.strip())


def _match_prompts(record: SessionRecord, useful: dict[str, datetime], prompts: Sequence[Turn]) -> Iterator[UsefulPrompt]:
    """Match each memory with the prompt nearest in time. If several memories match the same prompt, use only the first."""
    seen: set[str] = set()
    for memory, given in useful.items():
        near = min(prompts, key=lambda turn: _apart(turn, given), default=None)
        if near is None or _apart(near, given) > SEPARATE_SECONDS or near.text in seen:
            continue
        seen.add(near.text)
        yield UsefulPrompt(near.text[:CHARACTERS], record.project, memory)


def _apart(turn: Turn, at: datetime) -> float:
    return abs((turn.at - at).total_seconds()) if turn.at else float("inf")


def _best_backend(memory: str, query: Query, search: Search, backends: Sequence[Backend]) -> Backend | None:
    """Return the backend that ranks the memory highest. Return None on a tie or if no backend finds it."""
    ranks = sorted((_rank(memory, search(replace(query, backend=backend), RANKS)), backend) for backend in backends)
    return ranks[0][1] if len(ranks) > 1 and ranks[0][0] < ranks[1][0] else None


def _rank(memory: str, hits: Sequence[Hit]) -> int:
    return next((rank for rank, hit in enumerate(hits) if hit.item.id == memory), RANKS)
