"""The questions and tasks of a cell, with their places in the whole benchmark, whatever was selected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memeval.checkpoint import Run
from memeval.claudecode.contract import Family, Step, StepSequence
from memeval.errors import ConfigError
from memeval.results.codec import question_to_json
from memeval.results.store import QuestionRow
from memeval.sampling import Selection


def plan_cell(run: Run, family: Family, sequences: Sequence[StepSequence]) -> None:
    """Keep what is to be asked. Raises ConfigError when that is nothing."""
    whole = list(family.sequences(Selection()))
    places = {(sequence.id, step.id): number for number, (sequence, step) in enumerate(_asked(whole))}
    rows = [_row(places[sequence.id, step.id], sequence, step) for sequence, step in _asked(sequences)]
    if not rows:
        raise ConfigError(f"The selection leaves no task of {family.name}.", fix="Loosen its flags.")
    run.plan(rows, {"cases": len(whole), "questions": len(places)})


def _asked(sequences: Sequence[StepSequence]) -> Iterator[tuple[StepSequence, Step]]:
    return ((sequence, step) for sequence in sequences for step in sequence.steps if step.question is not None)


def _row(position: int, sequence: StepSequence, step: Step) -> QuestionRow:
    assert step.question is not None
    gold = {"targets": step.payload.get("targets", []), "dates": step.payload.get("dates", {})}
    return QuestionRow(position, sequence.id, step.question.id, {"question": question_to_json(step.question), **gold})
