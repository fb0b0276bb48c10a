"""What a session did with memory: one JSON line for each, beside the result file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memeval.claudecode import memories
from memeval.claudecode.contract import Step, StepSequence
from memeval.claudecode.sessions import Outcome
from memeval.results.codec import usage_to_json
from memeval.results.store import RunStore
from memeval.text import estimate_tokens
from memeval.types import Phase, Retrieved

SHOWN = 2000


def trajectory(sequence: StepSequence, step: Step, outcome: Outcome, found: Sequence[Retrieved]) -> dict[str, Any]:
    """What was written, retrieved, injected and used. Token counts are estimates, but for the session's own."""
    result = outcome.result
    injected = [one for one in outcome.given if not one.via.startswith("tool:")]
    asked = [one for one in outcome.given if one.via.startswith("tool:")]
    return {
        "sequence": sequence.id,
        "step": step.id,
        "kind": str(step.kind),
        "session": result.session_id,
        "prompt": step.prompt[:SHOWN],
        "answer": result.text[:SHOWN],
        "status": "done" if result.ok else str(result.error),
        "message": result.message,
        "attempts": outcome.attempts,
        "cached": outcome.cached,
        "turns": result.turns,
        "usage": usage_to_json(result.usage),
        "calls": [
            {"name": call.name, "arguments": dict(call.arguments), "result": call.result[:SHOWN], "is_error": call.is_error}
            for call in result.tool_calls
        ],
        "injected": _told(injected),
        "retrieved": _told(asked),
        "used": memories.used(outcome.given, result),
        "written": {name: _written(change) for name, change in outcome.written.items()},
        "daydreams": {"failing": list(outcome.daydreams.get("failing", ()))},
        "sources": {piece.metadata["id"] or piece.metadata["via"]: list(piece.turns) for piece in found if piece.turns},
    }


def _told(given: Sequence[memories.Given]) -> dict[str, Any]:
    items = [{"via": one.via, "id": one.id, "text": one.text[:SHOWN], "tokens": estimate_tokens(one.text)} for one in given]
    return {"tokens": memories.tokens(given), "items": items}


def _written(change: dict[str, Any]) -> dict[str, Any]:
    shown = {kind: {key: text[:SHOWN] for key, text in change[kind].items()} for kind in ("new", "changed")}
    tokens = sum(estimate_tokens(text) for kind in ("new", "changed") for text in change[kind].values())
    return {**shown, "removed": change["removed"], "tokens": tokens}


def trajectories(store: RunStore) -> Iterator[dict[str, Any]]:
    """All of a run, histories first, then questions in the order of the report."""
    for key in store.keys(Phase.INGEST):
        record = store.get(key)
        if key.part and record is not None:
            yield {**record.payload["trajectory"], "seconds": record.seconds}
    for record in store.whole_records(Phase.ANSWER):
        yield {**record.payload["trajectory"], "seconds": record.seconds}
