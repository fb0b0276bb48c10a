"""BEAM: conversations of 100 thousand to 10 million tokens, each with 20 probing questions on ten abilities.

The official data has a folder per conversation, with `chats/100K/1/chat.json` and
`chats/100K/1/probing_questions/probing_questions.json`. The hub has the same data as rows of the form
`{conversation_id, chat, probing_questions}`. User messages end with a marker such as `->-> 1,1`, which is removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, RawTurn, build_session, file_records, role_of
from memeval.benchmarks.reading import Field, load_json, read_date
from memeval.core.errors import DataError
from memeval.core.types import Case, Question, Session

_MARKER = re.compile(r"\s*->->\s*[\w.,/\s-]*\Z")
_GOLD = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")
_PROBES = ("probing_questions.json", "probing_questions.json.gz")


@registry.benchmark_loader("beam")
class Beam(FileBenchmark):
    """Reads BEAM from its folder tree, or from rows in JSON, JSON lines or Parquet. Each batch of turns becomes a session."""

    def _cases(self) -> Iterator[Case]:
        files = self.files()
        chats = [path for path in files if path.name in ("chat.json", "chat.json.gz")]
        for path in chats:
            yield self._from_folder(path)
        rows = (path for path in files if path not in chats and path.name not in _PROBES)
        for path in rows if not chats else ():
            for record in file_records(path, "conversation_id"):
                yield self._case(
                    record["conversation_id"].scalar(), record["chat"].decoded(), record["probing_questions"].decoded()
                )

    def _from_folder(self, path: Path) -> Case:
        root = self.source.parent if self.source.is_file() else self.source
        name = path.parent.relative_to(root).as_posix()
        name = path.parent.name if name == "." else name
        places = [path.parent / folder / file for folder in ("probing_questions", ".") for file in _PROBES]
        probes = next((place for place in places if place.exists()), None)
        if probes is None:
            raise DataError(f"{path} has no probing questions.", fix=f"Put them at {places[0]}.")
        return self._case(name, Field(load_json(path), str(path), "1"), Field(load_json(probes), str(probes), "1"))

    def _case(self, name: str, chat: Field, probes: Field) -> Case:
        sessions: list[Session] = []
        places: dict[str, list[str]] = {}
        for batch in _batches(chat):
            messages = [message for turn in batch["turns"].items() for message in _messages(turn)]
            session = build_session(len(sessions) + 1, map(_said, messages), _anchor(batch, messages), _batch_number(batch))
            kept = {turn.id for turn in session.turns}
            sessions.append(session)
            for index, message in enumerate(messages, start=1):
                if message["id"].present and f"{session.id}:{index}" in kept:
                    places.setdefault(message["id"].scalar(), []).append(f"{session.id}:{index}")
        questions = tuple(
            self._question(f"{name}:{ability}:{index}", ability, field, places)
            for ability, fields in probes.fields()
            for index, field in enumerate(fields.items(), start=1)
        )
        return Case(name, tuple(sessions), questions)

    def _question(self, name: str, ability: str, field: Field, places: Mapping[str, list[str]]) -> Question:
        wanted = list(dict.fromkeys(_ids(field["source_chat_ids"]))) if field["source_chat_ids"].present else []
        turns = tuple(dict.fromkeys(turn for number in wanted for turn in places.get(number, ())))
        missing = tuple(number for number in wanted if number not in places)
        rubric = _rubric(field["rubric"])
        gold = _gold(field)
        if not gold and not rubric:
            raise field["answer"].error(f"a gold answer in one of {', '.join(_GOLD)}, or a rubric")
        metadata: dict[str, Any] = {"rubric": rubric} if rubric else {}
        if missing:
            metadata["unresolved_evidence"] = missing
        return Question(
            id=name,
            text=field["question"].filled(),
            type=self.type_of(field, ability),
            answers=gold,
            evidence_sessions=tuple(dict.fromkeys(turn.partition(":")[0] for turn in turns)),
            evidence_turns=turns,
            category=ability,
            metadata=metadata,
        )


def _batches(chat: Field) -> Iterator[Field]:
    """Yield the batches in order. The longest chats group their batches in plans (`{"plan-1": [...]}`)."""
    for item in chat.items():
        if "turns" in item.mapping():
            yield item
        else:
            for _, plan in item.fields():
                if isinstance(plan.value, list):
                    yield from plan.items()


def _messages(turn: Field) -> list[Field]:
    return turn.items() if isinstance(turn.value, list) else [turn]


def _said(message: Field) -> RawTurn:
    return RawTurn(role_of(message["role"]), _MARKER.sub("", message["content"].text()))


def _anchor(batch: Field, messages: list[Field]) -> Any:
    """Return the date of the batch, or the first date among its messages."""
    for field in (batch["time_anchor"], *(message["time_anchor"] for message in messages)):
        if field.present and field.text().strip():
            return read_date(field)
    return None


def _batch_number(batch: Field) -> str:
    return batch["batch_number"].scalar() if batch["batch_number"].present else ""


def _ids(field: Field) -> Iterator[str]:
    """Collect the ids from nested lists and objects, whose structure depends on the tested ability."""
    if isinstance(field.value, dict):
        for _, item in field.fields():
            yield from _ids(item)
    elif isinstance(field.value, list):
        for item in field.items():
            yield from _ids(item)
    elif field.present:
        yield field.scalar()


def _gold(field: Field) -> tuple[str, ...]:
    for key in _GOLD:
        value = field[key]
        if not value.present:
            continue
        texts = [item.scalar() for item in value.items()] if isinstance(value.value, list) else [value.scalar()]
        if found := tuple(text for text in texts if text.strip()):
            return found
    return ()


def _rubric(field: Field) -> tuple[str, ...]:
    if not field.present:
        return ()
    return tuple(item.scalar() for item in field.items()) if isinstance(field.value, list) else (field.filled(),)
