"""Build result files for tests from fictitious records, with the code that builds real ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memeval.core.types import Phase
from memeval.results.files import ResultsDir
from memeval.results.store import Key, QuestionRow, Record, Status
from memeval.run.result import RunFacts, build_result


@dataclass
class Asked:
    """One question: metric → value (None: unscored), or the phase and text of its error."""

    id: str
    scores: Mapping[str, float | None] = field(default_factory=dict)
    type: str = "fact_recall"
    case: str = "c1"
    text: str = "Where does Ada keep the key?"
    expected: tuple[str, ...] = ("under the pot",)
    answer: str | None = "under the pot"
    pieces: tuple[str, ...] = ("Ada: the key is under the pot",)
    error: tuple[Phase, str] | None = None
    reason: str = ""
    cost: float | None = 0.001
    category: str = "single"


def result(run_id: str, asked: Sequence[Asked], **about: Any) -> dict[str, Any]:
    rows, records = [], {}
    for position, one in enumerate(asked):
        rows.append(QuestionRow(position, one.case, one.id, _payload(one)))
        records.update({(record.key.phase, one.case, one.id): record for record in _records(one)})
    cases = [
        Record(Key(Phase.INGEST, case), Status.DONE, {"sessions": 3, "turns": 12}, seconds=0.5)
        for case in sorted({one.case for one in asked})
    ]
    facts = RunFacts(run_id, 7, any(one.answer for one in asked), {**_about(), **about}, cases)
    return build_result(facts, rows, lambda phase, row: records.get((phase, row.case_id, row.question_id)))


def _payload(one: Asked) -> dict[str, Any]:
    question = {"text": one.text, "type": one.type, "category": one.category, "answers": list(one.expected),
                "at": "2024-05-01T10:00:00"}  # fmt: skip
    targets = [{"level": "session", "ids": ["s1"]}, {"level": "turn", "ids": ["s1:2"]}]
    return {"question": question, "targets": targets}


def _records(one: Asked) -> list[Record]:
    pieces = [
        {"text": text, "score": 1.0 - rank / 10, "sessions": [f"s{rank + 1}"], "turns": [f"s{rank + 1}:2"], "at": None}
        for rank, text in enumerate(one.pieces)
    ]
    usage = {"calls": 1, "cached_calls": 0, "input_tokens": 100, "output_tokens": 10, "cost_usd": one.cost}
    scores = [
        {"metric": name, "value": value, "status": "unscored" if value is None else "scored", "reason": one.reason, "judge": ""}
        for name, value in one.scores.items()
    ]
    payloads: dict[Phase, dict[str, Any] | None] = {
        Phase.SEARCH: {"kept": 10, "retrieved": pieces},
        Phase.ANSWER: {"text": one.answer, "model": "scripted", "prompt_hash": "ab", "usage": usage} if one.answer else None,
        Phase.EVALUATE: {"scores": scores},
    }
    records, failed = [], bool(one.error and one.error[0] is Phase.INGEST)
    for number, (phase, payload) in enumerate(payloads.items(), start=1):
        key = Key(phase, one.case, one.id)
        if one.error and (failed or phase is one.error[0]):
            text = one.error[1] if phase is one.error[0] else f"[{one.error[0]}] {one.error[1]}"
            records.append(Record(key, Status.FAILED, error=text))
            failed = True
        elif payload is not None:
            records.append(Record(key, Status.DONE, payload, seconds=number / 100))
    return records


def _about() -> dict[str, Any]:
    return {
        "benchmark": {"name": "sample", "cases": 1, "questions": 3, "data_hash": "d" * 64},
        "provider": {"name": "bm25"},
        "settings": {
            "benchmark": "sample",
            "provider": "bm25",
            "variant": "evidence",
            "granularity": "turn",
            "top_k": 10,
            "search_k": 50,
            "reader": "direct",
        },
        "models": {"answering": "scripted/one", "judge": None, "judges": []},
        "provenance": {"git": {"commit": "0123456789abcdef", "dirty": False}},
        "times": {"created_at": "2024-06-01T08:00:00Z", "finished_at": "2024-06-01T08:10:00Z"},
    }


def write(root: Path, data: Mapping[str, Any], name: str = "") -> Path:
    """Write to a results folder, including the ledger line."""
    path = Path("v0.1") / f"{name or data['run_id']}.json"
    return ResultsDir(root).write(path, data)


def rewritten(path: Path, **changes: Any) -> Path:
    """Rewrite the file with other values of some keys."""
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changes}), "utf-8")
    return path


K = (1, 3, 5, 10, 30, 50)


def many(count: int = 60, right: int = 40, **changes: Any) -> list[Asked]:
    """Return questions over all types, the first `right` of them correct, in five cases, with retrieval curves."""
    types = ("fact_recall", "multi_hop", "temporal", "inference", "preference", "knowledge_update", "abstention")
    out = []
    for number in range(count):
        good = number < right
        depth = 1 + number % 7 if good else 20 + number
        scores = {"llm_accuracy": float(good)}
        for level in ("session", "turn"):
            for metric, shift in (("recall_any", 0), ("recall_all", 4), ("recall_fraction", 2), ("ndcg", 6)):
                scores |= {f"{level}.{metric}@{k}": float(depth + shift + (level == "turn") * 3 <= k) for k in K}
        out.append(Asked(f"q{number}", scores, types[number % 7], case=f"c{number % 5}", text=f"Question {number}?", **changes))
    return out
