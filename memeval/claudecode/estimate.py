"""What a run would take, before it is started: sessions, tokens, dollars and hours. Rough on purpose, and said to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memeval.claudecode.contract import Arm, Step, StepKind, StepSequence
from memeval.models.prices import load_prices
from memeval.text import estimate_tokens

BASE_TOKENS = {StepKind.REPLAY: 10_000, StepKind.QUESTION: 10_000, StepKind.TASK: 25_000}
"""The client's own prompt and tools (about 9,000 were measured with three tools)."""
CALLS = {StepKind.REPLAY: 1, StepKind.QUESTION: 2, StepKind.TASK: 15}
OUTPUT_TOKENS = {StepKind.REPLAY: 100, StepKind.QUESTION: 250, StepKind.TASK: 6_000}
SECONDS = {StepKind.REPLAY: 5.0, StepKind.QUESTION: 9.0, StepKind.TASK: 150.0}
PLUGIN_SECONDS = 2.0
_ALIASES = {"haiku": "claude-haiku-4-5", "sonnet": "claude-sonnet-5-5", "opus": "claude-opus-5-5"}


@dataclass(frozen=True, slots=True)
class Estimate:
    """`cost_usd` None: the model's price is unknown. `hours` is wall time with the workers that were asked for."""

    sessions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    hours: float = 0.0

    def __add__(self, other: Estimate) -> Estimate:
        cost = None if self.cost_usd is None or other.cost_usd is None else self.cost_usd + other.cost_usd
        return Estimate(
            self.sessions + other.sessions,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            cost,
            self.hours + other.hours,
        )


def steps_of(arm: Arm, sequence: StepSequence, *, imported: bool) -> list[Step]:
    """The steps that are sessions of the client: without memory nothing is replayed, an import needs no session."""
    skip = arm is Arm.OFF or (imported and not arm.has_builtin)
    return [step for step in sequence.steps if not (skip and step.kind is StepKind.REPLAY)]


def estimate(arm: Arm, model: str, sequences: Sequence[StepSequence], workers: int, *, imported: bool) -> Estimate:
    """For one cell. Cached input is counted at its full price, so the cost is an upper estimate."""
    given = taken = sessions = 0
    seconds = 0.0
    for sequence in sequences:
        for step in steps_of(arm, sequence, imported=imported):
            given += (BASE_TOKENS[step.kind] + _said(step)) * CALLS[step.kind]
            taken += OUTPUT_TOKENS[step.kind]
            seconds += SECONDS[step.kind] + (PLUGIN_SECONDS if arm.has_plugin else 0.0)
            sessions += 1
    price = load_prices().of(f"anthropic/{_ALIASES.get(model, model)}")
    cost = price.cost(given, taken) if price else None
    return Estimate(sessions, given, taken, cost, seconds / 3600 / max(1, workers))


def _said(step: Step) -> int:
    turns = step.session.turns if step.session else ()
    return estimate_tokens(step.prompt) + sum(estimate_tokens(turn.text) for turn in turns)
