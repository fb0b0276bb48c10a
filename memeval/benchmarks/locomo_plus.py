"""LoCoMo-Plus: a remark (cue) inserted into a LoCoMo conversation is the only explanation for a later remark (trigger).

The official data are `locomo_plus.json`, a list of `{relation_type, cue_dialogue, trigger_query, time_gap}`, and the
conversations of LoCoMo. As in `unified_input.py`, item i is inserted into conversation i modulo the number of conversations,
and A and B are renamed to its speakers. The trigger comes seven days after the last session, and the cue comes `time_gap`
before the trigger. As in that script, an unparsable gap ("some time later") counts as 0 days, so the cue becomes the last
session. The trigger is the question. There is no gold answer, and the cue is the evidence.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, RawTurn, build_session, file_records
from memeval.benchmarks.locomo import Locomo
from memeval.benchmarks.reading import Field, file_sha256
from memeval.core.errors import DataError
from memeval.core.types import Case, Question, Session

DAYS_TO_TRIGGER = 7
_DAYS = {"week": 7, "month": 30, "year": 365}
_NUMBERS = {
    name: number
    for number, name in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), start=1)
} | {"a": 1, "an": 1}  # fmt: skip
_GAP = re.compile(r"\b(\d{1,9}|" + "|".join(_NUMBERS) + r")\b\s{0,9}(week|month|year)s?\b")
CONVERSATIONS = ("locomo10.json", "locomo10.json.gz")


@registry.benchmark_loader("locomo-plus")
class LoCoMoPlus(FileBenchmark):
    """Reads `locomo_plus.json`, or the folder that contains it.

    The option `conversations` is the path of LoCoMo's file. The default is the same folder.
    """

    OPTIONS = {"conversations": "", "captions": True}

    def files(self) -> list[Path]:
        """Return the file of items and the file of conversations."""
        items = self.source
        if items.is_dir():
            found = sorted(path for path in items.rglob("locomo_plus*.json*") if not path.name.startswith("."))
            if len(found) != 1:
                raise DataError(
                    f"{items} contains {len(found)} files named locomo_plus.json instead of one.",
                    fix="Give the file with --data.",
                )
            items = found[0]
        return [items, self._conversations(items)]

    def data_hash(self) -> str:
        """Return the SHA-256 of the items and conversations, independent of the location of the files."""
        return hashlib.sha256("".join(file_sha256(path) for path in self.files()).encode()).hexdigest()

    def _conversations(self, items: Path) -> Path:
        named = str(self.options["conversations"])
        places = [Path(named).expanduser()] if named else [items.parent / name for name in CONVERSATIONS]
        there = next((place for place in places if place.is_file()), None)
        if there is None:
            raise DataError(
                f"LoCoMo-Plus requires the conversations of LoCoMo; there is no {places[0]}.",
                fix="Put locomo10.json next to it, or give its path with --benchmark-option conversations=PATH.",
            )
        return there

    def _cases(self) -> Iterator[Case]:
        items, conversations = self.files()
        spec = replace(self.spec, options={"captions": self.options["captions"]})
        talks = list(Locomo(spec, conversations).talks())
        if not talks:
            raise DataError(f"{conversations} contains no conversation.", fix="Give locomo10.json.")
        for number, record in enumerate(file_records(items)):
            yield self._case(f"cognitive:{number + 1}", record, talks[number % len(talks)])

    def _case(self, name: str, record: Field, talk: Case) -> Case:
        speakers = tuple(str(one) for one in talk.metadata["speakers"])
        cue = _turns(record["cue_dialogue"], speakers)
        trigger = _turns(record["trigger_query"], speakers)
        last = _last_time(talk, record)
        asked_at = last + timedelta(days=DAYS_TO_TRIGGER)
        said_at = asked_at - timedelta(days=days_of(record["time_gap"].text()))
        sessions, place = _with_cue(talk.sessions, cue, said_at)
        category = record["relation_type"].filled() if record["relation_type"].present else "cognitive"
        question = Question(
            id=f"{name}:q1",
            text="\n".join(f"{turn.speaker}: {turn.text}" for turn in trigger),
            type=self.type_of(record["relation_type"], category),
            at=asked_at,
            evidence_sessions=(sessions[place].id,),
            evidence_turns=tuple(turn.id for turn in sessions[place].turns),
            category=category,
            metadata={
                "evidence_texts": ("\n".join(f"{turn.speaker}\uff1a{turn.text}" for turn in cue),),  # As in the script.
                "speakers": " and ".join(speakers),
                "time_gap": record["time_gap"].text(),
            },
        )
        return Case(name, sessions, (question,), {"cluster": talk.id, "speakers": speakers})


def days_of(gap: str) -> int:
    """Return the number of days in a gap such as "about two months later", or 0 for a gap that can't be parsed."""
    match = _GAP.search(gap.lower())
    if match is None:
        return 0
    number = match[1]
    return (int(number) if number.isdecimal() else _NUMBERS[number]) * _DAYS[match[2]]


def _turns(field: Field, speakers: tuple[str, ...]) -> list[RawTurn]:
    """Return the lines that begin with A: or B:. As in the official code, other lines are ignored."""
    out = []
    for line in field.filled().split("\n"):
        text = line.strip()
        if text[:2] in ("A:", "B:"):
            first = text[0] == "A"
            out.append(RawTurn("user" if first else "assistant", text[2:].strip(), speakers[0 if first else 1]))
    if not any(turn.text for turn in out):
        raise field.error("lines that begin with A: or B:")
    return out


def _last_time(talk: Case, record: Field) -> datetime:
    times = [session.at for session in talk.sessions if session.at is not None]
    if len(times) < len(talk.sessions) or not times:
        raise DataError(
            f"{record.file}: record {record.record} belongs in conversation {talk.id}, whose sessions have no dates.",
            fix="Use locomo10.json as published.",
        )
    return times[-1]


def _with_cue(sessions: tuple[Session, ...], cue: list[RawTurn], at: datetime) -> tuple[tuple[Session, ...], int]:
    """Insert the cue into the sessions. Return the renumbered sessions and the position of the cue.

    The cue comes after other sessions with the same time.
    """
    ordered = sorted(sessions, key=lambda session: session.at or at)
    place = sum(session.at is not None and session.at <= at for session in ordered)
    parts = [*ordered[:place], None, *ordered[place:]]
    built = []
    for number, part in enumerate(parts, start=1):
        said = cue if part is None else [RawTurn(turn.role, turn.text, turn.speaker) for turn in part.turns]
        built.append(build_session(number, said, at if part is None else part.at, "cue" if part is None else part.source_id))
    return tuple(built), place
