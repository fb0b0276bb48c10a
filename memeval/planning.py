"""Which questions a run asks, kept with all that later phases need to measure them: the haystack is not at hand then."""

from __future__ import annotations

from typing import Any

from memeval.assembly import Plan
from memeval.calls import Stop
from memeval.checkpoint import Run
from memeval.errors import DataError
from memeval.metrics import targets
from memeval.protocols import Benchmark
from memeval.results.codec import question_to_json
from memeval.results.store import QuestionRow
from memeval.sampling import Ref, select
from memeval.types import Case, Question


def choose_questions(run: Run, plan: Plan, benchmark: Benchmark, stop: Stop) -> None:
    """One pass over the data; what is chosen is kept in one transaction. Raises DataError, ConfigError."""
    rows: list[QuestionRow] = []
    refs: list[Ref] = []
    cases = 0
    for case in benchmark.cases():
        stop.check()
        cases += 1
        for question in case.questions:
            refs.append(Ref(case.id, question.id, question.type, question.category))
            rows.append(QuestionRow(len(rows), case.id, question.id, question_payload(plan, question, case)))
    if not refs:
        raise DataError(f"{plan.benchmark.name}: the data hold no questions.", fix="Name another file with --data.")
    _check_unique(refs, plan.benchmark.name)
    chosen = select(refs, plan.settings.selection)
    about = {"cases": cases, "questions": len(refs), "data_hash": benchmark.data_hash()}
    run.plan((rows[position] for position in chosen), about)


def question_payload(plan: Plan, question: Question, case: Case) -> dict[str, Any]:
    """The question, its targets at each level, and when each of them was said."""
    aims = [targets(plan.variant, question, case, level) for level in plan.benchmark.retrieval.levels]
    wanted = {item for aim in aims for item in aim.ids}
    return {
        "question": question_to_json(question),
        "targets": [aim.to_json() for aim in aims],
        "dates": _dates(case, wanted),
    }


def _dates(case: Case, wanted: set[str]) -> dict[str, str]:
    dates = {session.id: session.at.isoformat() for session in case.sessions if session.at and session.id in wanted}
    for session in case.sessions:
        for turn in session.turns:
            if turn.id in wanted and (at := turn.at or session.at):
                dates[turn.id] = at.isoformat()
    return dates


def _check_unique(refs: list[Ref], benchmark: str) -> None:
    seen: set[tuple[str, str]] = set()
    for ref in refs:
        if (ref.case_id, ref.question_id) in seen:
            raise DataError(f"{benchmark}: question {ref.question_id!r} of case {ref.case_id!r} occurs twice.")
        seen.add((ref.case_id, ref.question_id))
