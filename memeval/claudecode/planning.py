"""Plan a command: its cost, and the smallest difference that its primary comparison can detect.

Estimates are too high rather than too low. They exceed the run of the real client in
tests/memeval/claudecode/test_planning.py by at most a half.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memeval import stats
from memeval.claudecode.arms import Conditions, setting_value
from memeval.claudecode.command import GRID, Command, GridRow
from memeval.claudecode.contract import Arm, Family, Step, StepKind, StepSequence
from memeval.claudecode.controls import history_of_sessions
from memeval.core.errors import MemevalError
from memeval.core.text import estimate_tokens
from memeval.models.prices import Price, load_prices
from memoryd.core.config import Settings, current_name, parse_value
from memoryd.daydream.costs import INPUT_TOKENS_A_SESSION, OUTPUT_TOKENS_A_SESSION
from memoryd.daydream.readers import models_of

# Estimates

CLIENT_TOKENS = {StepKind.REPLAY: 8_000, StepKind.QUESTION: 8_000, StepKind.TASK: 14_000}
"""Tokens of the client's own prompt and tools."""
PLUGIN_TOKENS = 6_500
"""Tokens of the plugin's tools, instructions and injected text."""
BUILTIN_TOKENS = 3_500
"""Tokens of the built-in memory's instructions and index."""
CALLS = {StepKind.REPLAY: 1, StepKind.QUESTION: 1, StepKind.TASK: 15}
GROWTH_TOKENS = 1_500
"""Tokens that each call of a task adds to the next one."""
OUTPUT_TOKENS = {StepKind.REPLAY: 60, StepKind.QUESTION: 60, StepKind.TASK: 6_000}
NOTE_TOKENS = 200
"""Tokens that the model writes to its own memory after a session."""
SECONDS = {StepKind.REPLAY: 5.0, StepKind.QUESTION: 6.0, StepKind.TASK: 150.0}
PLUGIN_SECONDS = 3.0
CACHE_WRITE, CACHE_READ = 1.25, 0.1
"""Prices of cached input relative to other input. A session with several calls reads most of its input from the cache."""
_ALIASES = {"haiku": "claude-haiku-4-5", "sonnet": "claude-sonnet-5-5", "opus": "claude-opus-5-5"}


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated effort of a cell.

    `cost_usd` is None if the model's price is unknown. `memory_tokens` and `memory_usd` are those of the memory's
    models. `hours` is wall time with the given number of workers.
    """

    sessions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    hours: float = 0.0
    memory_tokens: int = 0
    memory_usd: float | None = 0.0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.sessions + other.sessions,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            _sum(self.cost_usd, other.cost_usd),
            self.hours + other.hours,
            self.memory_tokens + other.memory_tokens,
            _sum(self.memory_usd, other.memory_usd),
        )


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


def estimate_all(
    command: Command, sequences: Mapping[str, Sequence[StepSequence]]
) -> tuple[list[tuple[GridRow, Estimate]], Estimate]:
    """Estimate each cell of a command, and the total. `sequences` contains the sequences of every benchmark that has tasks."""
    cells = [
        (cell, _estimate_cell(cell.arm, cell.model, sequences[cell.benchmark], command))
        for cell in command.all_cells()
        if cell.benchmark in sequences
    ]
    return cells, sum((one for _, one in cells), Estimate())


def _estimate_cell(arm: Arm, model: str, sequences: Sequence[StepSequence], command: Command) -> Estimate:
    sessions = estimate(arm, model, sequences, command.conditions)
    memory = estimate_memory(arm, sequences, reader_of(command.conditions))
    return sessions + memory + estimate_judge(sequences, command.judge_model)


def estimate(arm: Arm, model: str, sequences: Sequence[StepSequence], conditions: Conditions) -> Estimate:
    """Estimate the sessions of one cell."""
    given = taken = sessions = 0
    billed = seconds = 0.0
    for sequence in sequences:
        history = estimate_tokens(history_of_sessions(sequence.steps)) if arm is Arm.HISTORY else 0
        for step in steps_of(arm, sequence, imported=conditions.imports(arm)):
            calls = _calls(arm, step)
            first = _first_tokens(arm, step, conditions) + (history if step.kind is not StepKind.REPLAY else 0)
            given += calls * first + GROWTH_TOKENS * calls * (calls - 1) // 2
            billed += _billed(first, calls)
            taken += OUTPUT_TOKENS[step.kind] + (NOTE_TOKENS if step.kind is StepKind.REPLAY and not arm.has_plugin else 0)
            seconds += SECONDS[step.kind] * calls / CALLS[step.kind] + (PLUGIN_SECONDS if arm.has_plugin else 0.0)
            sessions += 1
    price: Price | None = load_prices().of(f"anthropic/{_ALIASES.get(model, model)}")
    cost = price.cost(round(billed), taken) if price else None
    return Estimate(sessions, given, taken, cost, seconds / 3600 / max(1, conditions.workers))


def steps_of(arm: Arm, sequence: StepSequence, *, imported: bool) -> list[Step]:
    """Return the steps that need a client session. Without memory, nothing is replayed, and imports need no session."""
    skip = not arm.remembers or imported
    steps = [step for step in sequence.steps if not (skip and step.kind is StepKind.REPLAY)]
    tasks = [step for step in steps if step.kind is StepKind.TASK] if arm is Arm.NOTES else []
    return [*steps, *(replace(task, kind=StepKind.REPLAY) for task in tasks)]  # The model writes its notes after each task.


def _calls(arm: Arm, step: Step) -> int:
    """Return the number of calls in a session. With the built-in memory, a replay needs one more call to save memories."""
    return CALLS[step.kind] + (1 if arm.has_builtin and step.kind is StepKind.REPLAY else 0)


def _first_tokens(arm: Arm, step: Step, conditions: Conditions) -> int:
    turns = step.session.turns if step.session else ()
    said = estimate_tokens(step.prompt) + estimate_tokens(step.system) + sum(estimate_tokens(turn.text) for turn in turns)
    own = (PLUGIN_TOKENS if arm.has_plugin else 0) + (BUILTIN_TOKENS if arm.has_builtin else 0)
    return CLIENT_TOKENS[step.kind] + said + own + (conditions.injected_tokens if arm is Arm.NOTES else 0)


def _billed(first: int, calls: int) -> float:
    """Return a session's input as the number of uncached tokens with equal cost. Most input is cached after the first call."""
    if calls == 1:
        return float(first)
    later = sum(CACHE_READ * (first + GROWTH_TOKENS * number) for number in range(calls - 1))
    return CACHE_WRITE * (first + GROWTH_TOKENS * (calls - 1)) + later


# Cost of the memory's models and the judges

READER_PROMPT_TOKENS, READER_KNOWN_TOKENS = 2_000, 1_500
"""Tokens per call for the reader's instructions, and for the existing memories in its prompt."""
READER_SECONDS = 8.0
JUDGE_TOKENS = (1_200, 60)
"""Input and output tokens of one judge call."""


@dataclass(frozen=True, slots=True)
class SessionReader:
    """The session-reading model's name in the price list, and the maximum tokens of a session per call."""

    model: str
    chunk_tokens: int


def reader_of(conditions: Conditions) -> SessionReader | None:
    """Return the day dream's model, or None if the reader has no model."""
    texts = {name: setting_value(text, os.environ) or "" for name, text in conditions.plugin_settings.items()}
    values = {current_name(name): parse_value(name, text, "--plugin-setting") for name, text in texts.items()}
    settings = Settings(**{"home": Path(), **values})
    for name in models_of(settings)[:1]:
        claude = f"anthropic/{_ALIASES.get(settings.claude_model, settings.claude_model)}"
        return SessionReader(claude if name == "claude" else settings.openai_model, settings.chunk_tokens)
    return None


def estimate_memory(arm: Arm, sequences: Sequence[StepSequence], reader: SessionReader | None) -> Estimate:
    """Estimate the day dreams of one cell. They read conversations and tasks, but not questions."""
    if reader is None or not arm.has_plugin:
        return Estimate()
    given = taken = calls = 0
    for step in (step for sequence in sequences for step in sequence.steps):
        if step.kind is StepKind.TASK:
            given, taken, calls = given + INPUT_TOKENS_A_SESSION, taken + OUTPUT_TOKENS_A_SESSION, calls + 2
        elif step.kind is StepKind.REPLAY and arm.remembers:
            said = sum(estimate_tokens(turn.text) for turn in step.session.turns) if step.session else 0
            parts = max(1, -(-said // reader.chunk_tokens))
            read = said + parts * (READER_PROMPT_TOKENS + READER_KNOWN_TOKENS)
            given, taken, calls = given + read, taken + read * OUTPUT_TOKENS_A_SESSION // INPUT_TOKENS_A_SESSION, calls + parts
    price = load_prices().of(reader.model)
    cost = price.cost(given, taken) if price else None
    return Estimate(0, given, taken, cost, calls * READER_SECONDS / 3600, given + taken, cost)


def estimate_judge(sequences: Sequence[StepSequence], model: str) -> Estimate:
    """Estimate the calls of a model judge: one per question."""
    asked = sum(step.kind is StepKind.QUESTION for sequence in sequences for step in sequence.steps)
    if not model or not asked:
        return Estimate()
    given, taken = (asked * tokens for tokens in JUDGE_TOKENS)
    price = load_prices().of(model)
    return Estimate(0, given, taken, price.cost(given, taken) if price else None)


# Detectable differences

PLANNED_DIFFERENCE = 0.2
"""Assumed difference for the width of the interval."""
SPOILED, CORRELATION = 0.05, 0.1
"""Prior assumptions: memory spoils 5 of 100 answers, and answers within a conversation are slightly correlated."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The differences that the primary comparison on a benchmark can detect, computed before the run.

    Values are shares, not points.
    """

    benchmark: str
    primary: str
    questions: int
    clusters: int
    half_width: float
    smallest_detectable: float | None

    @property
    def line(self) -> str:
        """Format the outlook as a sentence."""
        size = f"{self.questions:,} tasks in {self.clusters:,} conversations or repositories"
        if self.smallest_detectable is None:
            found = "are too few to detect any difference"
        else:
            found = (
                f"detect differences of {100 * self.smallest_detectable:.0f} points or more with {100 * stats.POWER:.0f} % power"
            )
        width = f"Expect an interval of ± {100 * self.half_width:.0f} points."
        return f"{self.benchmark}: primary comparison {self.primary.replace(':', ' – ')}. {size} {found}. {width}"


def outlooks(command: Command, sequences: Mapping[str, Sequence[StepSequence]]) -> list[Outlook]:
    """Return the outlook of the primary comparison on each benchmark."""
    if not command.primary:
        return []
    alpha = 0.05 / max(1, len(sequences))  # The first step of Holm's correction.
    return [outlook(name, command.primary, found, alpha) for name, found in sequences.items()]


def outlook(benchmark: str, primary: str, sequences: Sequence[StepSequence], alpha: float = 0.05) -> Outlook:
    """Return the outlook of a comparison on these sequences."""
    clusters = [cluster_of(one, step) for one in sequences for step in one.steps if step.question is not None]
    again = [step for one in sequences for step in one.steps if step.payload.get("again")]
    design = stats.Design(len(clusters) - len(again), len(set(clusters)), alpha, SPOILED, CORRELATION)
    width = stats.half_width(design, PLANNED_DIFFERENCE)
    return Outlook(benchmark, primary, design.questions, design.clusters, width, stats.smallest_detectable(design))


def cluster_of(sequence: StepSequence, step: Step) -> str:
    """Return the cluster of a question. Tasks of one repository are not independent."""
    return str((step.question.metadata.get("repo") if step.question else "") or sequence.id)


# Plans for an amount of money


@dataclass(frozen=True, slots=True)
class Offer:
    """A selection of tasks from one benchmark that fits an amount.

    `selection` contains the flags that select its tasks, unless all are selected.
    """

    outlook: Outlook
    estimate: Estimate
    arms: tuple[str, ...]
    model: str
    selection: tuple[str, ...]
    usd: float

    @property
    def command(self) -> str:
        """Return the command line that runs it."""
        words = ["python", "-m", "memeval.claudecode.run_bench", "--benchmark", self.outlook.benchmark]
        words += ["--mode", ",".join(self.arms), "--model", self.model, *self.selection]
        return shlex.join([*words, "--primary", self.outlook.primary, "--budget-usd", f"{self.usd:g}"])


def offers(command: Command, families: Mapping[str, Family], usd: float) -> list[Offer]:
    """Return an offer for each benchmark within an amount, ordered by the smallest detectable difference."""
    if not command.primary or command.primary == GRID:
        sides: tuple[str, ...] = tuple(dict.fromkeys(arm for arm, _ in command.cells))
    else:
        sides = tuple(sorted(command.primary.split(":"), key=lambda arm: arm != Arm.OFF))  # cheapest first
    found = [one for name, family in families.items() if (one := _offer(command, name, family, sides, usd)) is not None]
    return sorted(found, key=_unsure)


def _unsure(offer: Offer) -> tuple[float, float]:
    return offer.outlook.smallest_detectable or 2.0, offer.outlook.half_width


SLICES = (0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
"""Shares of all questions. A slice covers all conversations, while the first questions may belong to a single one."""


def _offer(command: Command, name: str, family: Family, sides: tuple[str, ...], usd: float) -> Offer | None:
    """Return the most informative selection that fits: all tasks, the first ones, or a slice."""
    model = command.cells[0][1]

    def effort(sequences: Sequence[StepSequence]) -> Estimate:
        return sum((_estimate_cell(Arm(arm), model, sequences, command) for arm in sides), Estimate())

    def offer(sequences: Sequence[StepSequence], *flags: str) -> Offer:
        view = outlook(name, command.primary or ":".join(sides[:2]), sequences)
        return Offer(view, effort(sequences), sides, model, flags, usd)

    def chosen(**changes: Any) -> list[StepSequence]:
        try:
            return list(family.sequences(replace(command.selection, **changes)))
        except MemevalError:
            return []  # A slice of too few tasks is empty.

    whole = chosen()
    if whole and _fits(effort(whole), usd):
        return offer(whole)
    total = sum(step.question is not None for one in whole for step in one.steps)
    limit = _most(lambda count: _fits(effort(chosen(limit=count)), usd), total)
    found = [offer(chosen(limit=limit), "--limit", str(limit))] if limit else []
    share = next((one for one in SLICES if (part := chosen(dev_slice=one)) and _fits(effort(part), usd)), None)
    found += [offer(chosen(dev_slice=share), "--dev-slice", f"{share:g}")] if share else []
    return min(found, key=_unsure, default=None)


def _fits(one: Estimate, usd: float) -> bool:
    return one.cost_usd is not None and one.cost_usd <= usd


def _most(fits: Any, total: int) -> int:
    """Return the largest number below `total` that fits, or 0."""
    low, high = 0, total
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
