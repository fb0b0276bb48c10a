"""Preprocess sessions as specified in a benchmark's file: field removal, template, escapes and chunking.

A chunk is a turn with its own id. The source turns of each chunk are stored with the case's ingest record, so that retrieval
is scored on the original turns.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from memeval.core.text import sentences
from memeval.core.types import Session, Turn
from memeval.specs import ChunkingSpec, PreprocessingSpec

Chunks = Mapping[str, Sequence[str]]
"""The source turn ids of each chunk, by chunk id."""


def preprocessed(session: Session, spec: PreprocessingSpec) -> Session:
    """Return a session with preprocessed turns."""
    turns = tuple(_turn(turn, session, spec) for turn in session.turns)
    return replace(session, turns=turns, at=None if "date" in spec.remove else session.at)


def _turn(turn: Turn, session: Session, spec: PreprocessingSpec) -> Turn:
    if "speaker" in spec.remove:
        turn = replace(turn, speaker="")
    if "role" in spec.remove:
        turn = replace(turn, role="user")
    at = turn.at or session.at
    if "date" in spec.remove:
        turn, at = replace(turn, at=None), None
    text = turn.text
    if spec.template:
        date = f"{at:%Y-%m-%d %H:%M}" if at else ""
        values = {"text": text, "speaker": turn.speaker or turn.role, "role": turn.role, "date": date}
        text = re.sub(r"\{(\w+)\}", lambda match: values[match[1]], spec.template)
    if spec.escape == "html":
        text = html.escape(text, quote=False)
    elif spec.escape == "json":
        text = json.dumps(text, ensure_ascii=False)[1:-1]
    return replace(turn, text=text)


def chunked(session: Session, spec: ChunkingSpec) -> tuple[Session, dict[str, list[str]]]:
    """Split turns into chunks and map each chunk to its source turns. A turn that is not split keeps its id."""
    pieces = list(_windows(session.turns, spec) if spec.strategy == "turns" else _parts(session.turns, spec))
    return replace(session, turns=tuple(turn for turn, _ in pieces)), {turn.id: ids for turn, ids in pieces if ids != [turn.id]}


def _parts(turns: Sequence[Turn], spec: ChunkingSpec) -> Iterator[tuple[Turn, list[str]]]:
    for turn in turns:
        texts = _cut(turn.text, spec)
        if len(texts) < 2:
            yield turn, [turn.id]
            continue
        for number, text in enumerate(texts, start=1):
            yield replace(turn, id=f"{turn.id}/{number}", text=text), [turn.id]


def _cut(text: str, spec: ChunkingSpec) -> list[str]:
    if spec.strategy == "characters":
        return [text[start:end] for start, end in _spans(len(text), spec)]
    units = sentences(text) if spec.strategy == "sentences" else text.split()
    return [" ".join(units[start:end]) for start, end in _spans(len(units), spec)]


def _windows(turns: Sequence[Turn], spec: ChunkingSpec) -> Iterator[tuple[Turn, list[str]]]:
    for number, (start, end) in enumerate(_spans(len(turns), spec), start=1):
        some = turns[start:end]
        if len(some) == 1 and not spec.overlap:
            yield some[0], [some[0].id]
            continue
        lines = [f"{turn.speaker or turn.role}: {turn.text}" for turn in some]
        yield replace(some[0], id=f"{some[0].id}/w{number}", text="\n".join(lines), speaker=""), [turn.id for turn in some]


def _spans(total: int, spec: ChunkingSpec) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each window. The last window ends at the end of the text."""
    step = spec.size - spec.overlap
    for start in range(0, total, step):
        yield start, min(start + spec.size, total)
        if start + spec.size >= total:
            return
