"""A field with any wrong value: a loader either reads it, or reports which file and record is broken."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memeval.benchmarks.opening import open_benchmark
from memeval.core.errors import DataError
from tests.memeval.golden.conftest import table

from . import test_chat_benchmarks as chat
from . import test_document_benchmarks as documents
from . import test_locomo as locomo
from . import test_longmemeval as longmemeval
from .conftest import lines, put, shipped

WRONG: tuple[Any, ...] = (None, 7, "odd", [], {}, [[]], True)
BELIEFS = table("precisionmembench")
PRECISION = {key: BELIEFS[key][:2] for key in ("beliefs", "cases", "session_cases")}
TASK = documents.task(1, gold_context=[{"file": "a.py", "start_line": 1, "end_line": 2}])
SAMPLES: dict[str, Any] = {
    "locomo": locomo.sample(locomo.question(["D1:1"]), locomo.question([], 5, adversarial_answer="x")),
    "longmemeval-s": [longmemeval.record()],
    "beam": [{"conversation_id": "1", "chat": chat.CHAT, "probing_questions": {"summarization": [chat.probe(answer="x")]}}],
    "convomem": [entry | {"category": "user_evidence"} for entry in chat.ITEMS],
    "nolima": [documents.NEEDLE],
    "memoryagentbench": [documents.row(split="accurate_retrieval")],
    "swe-bench-cl": {"sequences": [{"id": "s", "tasks": [documents.nested(1), documents.nested(2, 1)]}]},
    "swe-contextbench": [documents.task(1)],
    "contextbench": [TASK],
    "precisionmembench": PRECISION,
    "precisionmembench-session": PRECISION,
    "sample": json.loads(Path(open_benchmark(shipped("sample")).source).read_text())[:1],  # type: ignore[attr-defined]
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(min(len(value), 2)):
            yield from places(value[index], (*path, index))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    whole = copy.deepcopy(value)
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return whole


@pytest.mark.parametrize("name", SAMPLES)
def test_json_loaders(tmp_path: Path, name: str) -> None:
    put(tmp_path / "book.txt", documents.BOOK)
    path = tmp_path / "needle_set.json"
    refused = 0
    spec = shipped(name)
    for place in places(SAMPLES[name]):
        for wrong in WRONG:
            put(path, json.dumps(replaced(SAMPLES[name], place, wrong)))
            try:
                list(open_benchmark(spec, path).cases())
            except DataError as error:
                refused += 1
                assert str(path) in str(error), (place, wrong)
    assert refused > 20


def test_tables_and_contexts_of_personamem(tmp_path: Path) -> None:
    folder = chat.personamem(tmp_path, chat.row("q", 3))
    table = (folder / "questions_32k.csv").read_text()
    refused = 0
    for place in places(chat.CONTEXT):
        for wrong in WRONG:
            put(folder / "shared_contexts_32k.jsonl", lines([replaced(chat.CONTEXT, place, wrong)]))
            refused += fails(folder)
    put(folder / "shared_contexts_32k.jsonl", lines([chat.CONTEXT]))
    for cut in range(1, len(table), 5):
        put(folder / "questions_32k.csv", table[:cut])
        refused += fails(folder)
    assert refused > 50


def fails(folder: Path) -> bool:
    try:
        list(open_benchmark(shipped("personamem"), folder).cases())
    except DataError as error:
        assert str(folder) in str(error)
        return True
    return False
