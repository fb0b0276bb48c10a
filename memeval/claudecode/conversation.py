"""Measure conversation memory by replaying each session of a case and asking each question in a separate session.

Used for longmemeval, locomo, memoryagentbench, convomem, sample and all other conversation benchmarks in the catalog.
Where both speakers are people (LoCoMo), their names precede their messages, because the client's user and assistant
have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memeval.benchmarks.opening import known_options, open_benchmark
from memeval.claudecode.contract import Family, Need, SessionResult, Step, StepKind, StepRecord, StepSequence
from memeval.claudecode.controls import MISLED, is_misled
from memeval.claudecode.families import FETCHED, FamilyOptions, family
from memeval.claudecode.faults import JUDGE_FAULT
from memeval.claudecode.memories import without_ids
from memeval.claudecode.sandbox import contamination
from memeval.claudecode.seeding import CLOSING, aware, end_of
from memeval.core.errors import ConfigError, DataError, ModelError
from memeval.core.protocols import Benchmark, Judge
from memeval.core.types import EMPTY, Answer, Case, Question, Score, Session, Turn
from memeval.run import plan as plans
from memeval.run.plan import Plan, make_plan, question_payload
from memeval.run.settings import Ref, Selection, Settings, select
from memeval.specs import SourceType, to_plain

TOOLS = ("Read", "Write", "Edit")
"""Tools of every arm. The built-in memory uses the file tools."""
WITHOUT_MODEL = "contains"
ASKING = (
    "Answer this question about me, the user, and our earlier conversations as shortly as you can. "
    'If you don\'t know, say "No information available".'
)
"""Instructions for a question. They are part of the system prompt, because the plugin uses the user's text for recall."""
REPLAYING = (
    "The conversation so far was recorded earlier, and you had no tools in it. If you keep a memory, save now what you would "
    "have saved in the course of it."
)
"""Instructions for a replayed session. They give the model a chance to save memories in every arm."""
LATER = timedelta(hours=1)
"""Time between the last conversation and a question without a date."""
NOW = "It is {at:%A, %Y-%m-%d %H:%M} now."


@family("conversation")
class Conversations(Family):
    """Any catalog benchmark with sessions and questions."""

    def __init__(self, name: str, options: FamilyOptions) -> None:
        self._options = options
        settings = Settings(
            benchmark=name,
            provider="none",
            answering_model="claude-code",
            judge=options.judge,
            judge_model=options.judge_model,
            data=str(options.data) if options.data else "",
            benchmark_options=options.options,
        )
        self._plan: Plan = make_plan(settings, options.context.catalog)
        self._judges: list[Judge] | None = None
        self._data: Benchmark | None = None

    @staticmethod
    def known_options(name: str, options: FamilyOptions) -> frozenset[str] | None:
        """Return the names of the loader's options."""
        return known_options(options.context.catalog.benchmark(name))

    @property
    def name(self) -> str:
        """Return the name of the benchmark."""
        return self._plan.benchmark.name

    def needs(self) -> Sequence[Need]:
        """List the requirements: only the data."""
        if self._options.data is not None:
            return (Need(f"data at {self._options.data}", self._options.data.exists(), "Correct --data."),)
        try:
            replace(self._options.context.sources, offline=True).resolve(self._plan.benchmark)
        except (DataError, ConfigError) as error:
            fetched = self._plan.benchmark.source.type is not SourceType.LOCAL and not self._options.context.sources.offline
            return (Need(f"data {FETCHED}" if fetched else "data", False, error.fix or error.message),)
        return (Need("data", True),)

    def check(self) -> None:
        """Check that every judge exists and has its model. Raises ConfigError."""
        self._make_judges()

    def about(self) -> Mapping[str, Any]:
        """Describe the benchmark by its spec and the hash of its data."""
        return {"name": self.name, "data_hash": self._benchmark().data_hash(), "spec": to_plain(self._plan.benchmark)}

    def sequences(self, selection: Selection) -> Iterator[StepSequence]:
        """Return a sequence for each case with a selected question. Other cases are not replayed."""
        refs = [
            Ref(case.id, question.id, question.type, question.category)
            for case in self._benchmark().cases()
            for question in case.questions
        ]
        wanted = {(refs[place].case_id, refs[place].question_id) for place in select(refs, selection)}
        for case in self._benchmark().cases():
            questions = [question for question in case.questions if (case.id, question.id) in wanted]
            if questions:
                yield StepSequence(case.id, (*_replays(case), *self._questions(case, questions)))

    def _questions(self, case: Case, questions: Sequence[Question]) -> Iterator[Step]:
        ends = [end_of(session, number) for number, session in enumerate(case.sessions)]
        last = max(ends) + LATER if ends else None
        for question in questions:
            measured = question_payload(self._plan, question, case)
            payload = {key: measured[key] for key in ("targets", "dates")}
            yield Step(
                id=question.id,
                kind=StepKind.QUESTION,
                prompt=question.text,
                question=question,
                tools=TOOLS,
                payload=payload,
                system=_dated(ASKING, question.at),
                at=aware(question.at) if question.at else last,
            )

    def prepare(self, step: Step, work: Path) -> None:
        """Create an empty working folder."""
        (work / step.folder).mkdir(parents=True, exist_ok=True)

    def grade(self, step: Step, result: SessionResult, work: Path) -> Sequence[Score]:
        """Score an answer with the benchmark's judges, or with judges that need no model.

        It is unscored if a judge fails.
        """
        if step.question is None or not result.ok:
            return ()
        why = contamination(result, [self._options.data, self._options.context.sources.cache])
        answer = Answer(without_ids(result.text), "claude-code", "", result.usage, result.seconds)
        scores: list[Score] = []
        for judge in self._make_judges():
            try:
                scores += judge.score(step.question, answer)
            except ModelError as error:
                scores.append(Score(judge.name, None, f"{JUDGE_FAULT if error.transient else ''}{error}", judge.name))
        misled = is_misled(step, answer.text)
        if misled is not None:
            scores.append(Score(MISLED, float(misled), f"memory was made to say: {step.payload['misleading']}", MISLED))
        return tuple(replace(score, value=None, reason=why) for score in scores) if why else tuple(scores)

    def summary(self, records: Sequence[StepRecord], without: Sequence[StepRecord] = ()) -> Mapping[str, Any]:
        """Return an empty mapping, because conversations have no further metrics."""
        return EMPTY

    @property
    def judges(self) -> Sequence[str]:
        """Return the names of the judges in use."""
        return tuple(judge.name for judge in self._make_judges())

    def _benchmark(self) -> Benchmark:
        if self._data is None:
            settings = self._plan.settings
            self._data = open_benchmark(
                self._plan.benchmark,
                Path(settings.data) if settings.data else None,
                options=settings.benchmark_options,
                sources=self._options.context.sources,
            )
        return self._data

    def _make_judges(self) -> Sequence[Judge]:
        if self._judges is None:
            plan = self._plan
            if not plan.settings.judge and not plan.settings.judge_model:
                own = [name for name in plan.judges if name not in ("llm", "rubric", WITHOUT_MODEL)]
                plan = plans.with_settings(plan, judge=",".join([WITHOUT_MODEL, *own]))
            self._judges = plans.make_judges(plan, self._options.context)
        return self._judges


def _replays(case: Case) -> Iterator[Step]:
    for number, session in enumerate(case.sessions):
        yield Step(
            id=f"r{number:04}",
            kind=StepKind.REPLAY,
            prompt=CLOSING,
            session=_named(session),
            tools=TOOLS,
            payload={"number": number},
            system=_dated(REPLAYING, session.at),
            at=end_of(session, number),
        )


def _dated(instructions: str, at: datetime | None) -> str:
    """Return the instructions with the time of the session, which the client would not know otherwise."""
    return f"{instructions}\n{NOW.format(at=at)}" if at else instructions


def _named(session: Session) -> Session:
    """Return the session with each message prefixed by its speaker's name, if any."""
    turns = tuple(_with_name(turn) for turn in session.turns)
    return replace(session, turns=turns)


def _with_name(turn: Turn) -> Turn:
    if not turn.speaker or turn.speaker.lower() in ("user", "assistant"):
        return turn
    return replace(turn, text=f"{turn.speaker}: {turn.text}")
