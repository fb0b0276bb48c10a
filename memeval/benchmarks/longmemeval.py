"""LongMemEval: one question per haystack of chat sessions. S, M and oracle have the same format.

Sessions are sorted by time, because the files are sorted only by day. Sessions later than the question are kept,
because some evidence comes later on the same day. The data set's session ids give away the gold answer
(`answer_...`), so they are replaced. A repeated id results in two sessions, both of which count as evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, RawTurn, build_session, file_records, role_of
from memeval.benchmarks.reading import Field, read_date
from memeval.core.types import Case, Question, QuestionType, Session


@dataclass(frozen=True, slots=True)
class _Haystack:
    sessions: tuple[Session, ...]
    evidence: tuple[str, ...]  # sessions
    turns: tuple[str, ...]  # Turns marked has_answer.
    unresolved: tuple[str, ...]


@registry.benchmark_loader("longmemeval")
class LongMemEval(FileBenchmark):
    """Reads `longmemeval_{s,m}_cleaned.json` or `longmemeval_oracle.json`.

    The question's metadata lists the evidence from user turns in `user_evidence_turns` and `user_evidence_sessions`.
    The official retrieval script counts only this evidence.
    """

    def _cases(self) -> Iterator[Case]:
        for path in self.files():
            for record in file_records(path, "question_id"):
                yield self._case(record)

    def _case(self, record: Field) -> Case:
        name = record["question_id"].filled()
        haystack = _haystack(record)
        category = record["question_type"]
        kind = self.type_of(category)
        roles = {turn.id: turn.role for session in haystack.sessions for turn in session.turns}
        by_user = tuple(turn for turn in haystack.turns if roles[turn] == "user")
        question = Question(
            id=name,
            text=record["question"].filled(),
            type=QuestionType.ABSTENTION if name.endswith("_abs") else kind,
            answers=(record["answer"].scalar(),),
            at=read_date(record["question_date"]),
            evidence_sessions=haystack.evidence,
            evidence_turns=haystack.turns,
            category=category.text(),
            metadata={
                "user_evidence_turns": by_user,
                "user_evidence_sessions": tuple(dict.fromkeys(turn.partition(":")[0] for turn in by_user)),
                **({"unresolved_evidence": haystack.unresolved} if haystack.unresolved else {}),
            },
        )
        return Case(name, haystack.sessions, (question,))


def _haystack(record: Field) -> _Haystack:
    names, dates, sessions = (record[f"haystack_{part}"].items() for part in ("session_ids", "dates", "sessions"))
    if not len(names) == len(dates) == len(sessions):
        raise record["haystack_sessions"].error(f"{len(names)} sessions, the same number as ids ({len(dates)} dates)")
    dated = sorted(zip(map(read_date, dates), names, sessions, strict=True), key=lambda entry: entry[0])
    gold = {field.text() for field in record["answer_session_ids"].items()}
    built: list[Session] = []
    marked: list[str] = []
    for number, (at, name, turns) in enumerate(dated, start=1):
        fields = turns.items()
        session = build_session(
            number, (RawTurn(role_of(turn["role"]), turn["content"].text()) for turn in fields), at, name.text()
        )
        kept = {turn.id for turn in session.turns}
        ids = [f"{session.id}:{index}" for index, turn in enumerate(fields, start=1) if _has_answer(turn)]
        built.append(session)
        marked += [turn for turn in ids if turn in kept]
    evidence = tuple(session.id for session in built if session.source_id in gold)
    missing = gold - {session.source_id for session in built}
    return _Haystack(tuple(built), evidence, tuple(marked), tuple(sorted(missing)))


def _has_answer(turn: Field) -> bool:
    field = turn["has_answer"]
    if not field.present:
        return False
    if not isinstance(field.value, bool):
        raise field.error("true or false")
    return field.value
