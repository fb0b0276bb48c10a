"""LoCoMo: ten long conversations between two people, and 1,986 questions about them.

Evidence is written in several ways ('D8:6; D9:17', 'D9:1 D4:4', 'D:11:26', 'D', 'D30:05') and sometimes refers to
turns that do not exist. Resolvable entries become evidence. The rest are kept in the question's metadata, together
with all entries exactly as the official script reads them (`evidence_entries`), because its recall requires them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, RawTurn, build_session, file_records
from memeval.benchmarks.reading import Field, read_date
from memeval.core.types import Case, Question, Session

_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)")
Spot = tuple[int, int]
"""The numbers of a session and of a turn within it."""


@dataclasses.dataclass(slots=True)
class _Conversation:
    """A conversation, and the positions of its sessions and turns.

    Sessions are looked up by number. Turns are looked up by number, and by id as spelled in the data set.
    """

    case: Case
    homes: dict[int, str] = dataclasses.field(default_factory=dict)
    turns: dict[Spot, str] = dataclasses.field(default_factory=dict)
    named: dict[str, str] = dataclasses.field(default_factory=dict)


@registry.benchmark_loader("locomo")
class Locomo(FileBenchmark):
    """Reads `locomo10.json`.

    With the option `captions`, captions of shared photos are included in the turn, as in the official code.
    """

    OPTIONS = {"captions": True}

    def _cases(self) -> Iterator[Case]:
        for path in self.files():
            for record in file_records(path, "sample_id"):
                yield self._case(record)

    def talks(self) -> Iterator[Case]:
        """Yield the conversations without their questions."""
        for path in self.files():
            for record in file_records(path, "sample_id"):
                yield self._talk(record).case

    def _case(self, record: Field) -> Case:
        talk = self._talk(record)
        questions = tuple(
            self._question(f"{talk.case.id}:q{index}", field, talk) for index, field in enumerate(record["qa"].items(), start=1)
        )
        return dataclasses.replace(talk.case, questions=questions)

    def _talk(self, record: Field) -> _Conversation:
        conversation = record["conversation"]
        speakers = (conversation["speaker_a"].filled(), conversation["speaker_b"].filled())
        sessions: list[Session] = []
        talk = _Conversation(Case(record["sample_id"].filled(), (), (), {"speakers": speakers}))
        for number, field in _sessions(conversation):
            session = self._session(len(sessions) + 1, number, field, conversation, speakers[0])
            sessions.append(session)
            talk.homes[number] = session.id
            spots, ids = _spots(number, field, session)
            talk.turns.update(spots)
            talk.named.update(ids)
        talk.case = dataclasses.replace(talk.case, sessions=tuple(sessions))
        return talk

    def _session(self, index: int, number: int, field: Field, conversation: Field, first: str) -> Session:
        date = conversation[f"session_{number}_date_time"]
        said = (self._said(turn, first) for turn in field.items())
        return build_session(index, said, read_date(date) if date.present else None, f"session_{number}")

    def _said(self, turn: Field, first: str) -> RawTurn:
        speaker = turn["speaker"].filled()
        text = turn["text"].scalar().strip()
        caption = turn["blip_caption"]
        if self.options["captions"] and caption.present:
            text = f"{text} [shares a photo: {caption.text().strip()}]".strip()
        return RawTurn("user" if speaker == first else "assistant", text, speaker)

    def _question(self, name: str, field: Field, talk: _Conversation) -> Question:
        homes, turns = talk.homes, talk.turns
        category = field["category"]
        spots, unresolved = _evidence(field["evidence"], homes, turns)
        metadata: dict[str, Any] = {"evidence_entries": _entries(field["evidence"], homes, talk.named)}
        if unresolved:
            metadata["unresolved_evidence"] = tuple(unresolved)
        if field["adversarial_answer"].present:
            metadata["adversarial_answer"] = field["adversarial_answer"].scalar()
        return Question(
            id=name,
            text=field["question"].filled(),
            type=self.type_of(category),
            answers=(field["answer"].scalar(),) if field["answer"].present else _no_answer(field),
            evidence_sessions=tuple(dict.fromkeys(homes[session] for session, _ in spots if session in homes)),
            evidence_turns=tuple(dict.fromkeys(turns[spot] for spot in spots if spot in turns)),
            category=category.scalar(),
            metadata=metadata,
        )


def _no_answer(field: Field) -> tuple[str, ...]:
    """Return an empty answer. Only adversarial questions may lack an answer."""
    if not field["adversarial_answer"].present:
        raise field["answer"].error("an answer (or an adversarial_answer)")
    return ()


def _sessions(conversation: Field) -> list[tuple[int, Field]]:
    """Return the sessions, sorted by number. Date keys without a session are ignored."""
    found = ((_SESSION.fullmatch(key), field) for key, field in conversation.fields())
    return sorted(((int(match.group(1)), field) for match, field in found if match and field.present), key=lambda pair: pair[0])


def _spots(number: int, field: Field, session: Session) -> tuple[dict[Spot, str], dict[str, str]]:
    """Return the turn ids of a session, keyed by the numbers in `dia_id` and by its exact text. Blank turns are omitted."""
    kept = {turn.id for turn in session.turns}
    spots: dict[Spot, str] = {}
    named: dict[str, str] = {}
    for index, turn in enumerate(field.items(), start=1):
        written = turn["dia_id"].filled()
        match = _EVIDENCE.fullmatch(written)
        if match is None or int(match.group(1)) != number:
            raise turn["dia_id"].error(f"an id like 'D{number}:{index}'")
        if (name := f"{session.id}:{index}") in kept:
            spots[number, int(match.group(2))] = name
            named[written] = name
    return spots, named


def _entries(field: Field, homes: Mapping[int, str], named: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the session and turn of each evidence entry, as interpreted by the official script.

    The whole entry identifies the turn, and the part before the first colon identifies the session. Either is "" if
    it doesn't exist.
    """
    numbers = {str(number): session for number, session in homes.items()}
    entries = [entry.text() for entry in field.items()] if field.present else []
    return tuple((numbers.get(entry.split(":")[0][1:], ""), named.get(entry, "")) for entry in entries)


def _evidence(field: Field, homes: Mapping[int, str], turns: Mapping[Spot, str]) -> tuple[list[Spot], list[str]]:
    """Resolve an evidence list. Also return the entries that can't be fully resolved."""
    spots: list[Spot] = []
    unresolved: list[str] = []
    for entry in field.items() if field.present else []:
        found = [(int(session), int(turn)) for session, turn in _EVIDENCE.findall(entry.text())]
        spots += found
        if not found or any(spot not in turns for spot in found):
            unresolved.append(entry.text())
    return spots, unresolved
