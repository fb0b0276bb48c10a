"""Score questions and tasks and build the result of a cell.

The family's own scores come first, then retrieval by rank, relevancy, recency and efficiency. The result is memeval's
result file, with client-specific data under `claudecode`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, cast

from memeval import registry
from memeval.claudecode import memories
from memeval.claudecode.contract import (
    OWN_FAULTS,
    ErrorKind,
    Family,
    SessionResult,
    Step,
    StepKind,
    StepRecord,
    StepSequence,
    ToolCall,
)
from memeval.claudecode.faults import ended_by, lost_of
from memeval.claudecode.sessions import StepOutcome, trajectories
from memeval.core.embedding import RememberingEmbedder
from memeval.core.protocols import RetrievalMetric
from memeval.core.types import Answer, Phase, Retrieved, Score
from memeval.metrics import efficiency, relevancy
from memeval.metrics.questions import Observation, measures_success, question_scores
from memeval.results.codec import score_entry, score_from_json, score_to_json, usage_from_json, usage_to_json
from memeval.results.store import Key, Record
from memeval.run import phases
from memeval.run.checkpoint import Run
from memeval.run.plan import make_embedder
from memeval.run.result import about_run, interval_of, result_of
from memoryd.core.types import Usage

EFFICIENCY_TARGET = 0.10
RELEVANCY_TARGET = 0.7
_LEVELS = ("turn.recency", "session.recency")
_GROUPS = ("by_type", "by_category")


@dataclass(frozen=True, slots=True)
class CellReport:
    """Builds the result of a cell from its records. `without` contains the records of the same model without memory."""

    family: Family
    sequences: Sequence[StepSequence]
    results_version: str = ""
    without: Sequence[StepRecord] = ()

    @property
    def benchmark(self) -> str:
        """Return the name of the benchmark."""
        return self.family.name

    def result(self, run: Run) -> dict[str, Any]:
        """Build the result from the records so far."""
        return cell_result(run, self.family, self.sequences, self.without)

    def attachments(self, run: Run, file: Path) -> dict[Path, bytes]:
        """Return the trajectory file, which has one line per session."""
        lines = [json.dumps(line, ensure_ascii=False, sort_keys=True, default=str) for line in trajectories(run.store)]
        return {trajectory_file(file): "".join(line + "\n" for line in lines).encode()}


def trajectory_file(result_file: Path) -> Path:
    """Return the path of the trajectory file: the result's path with another suffix."""
    return result_file.with_name(f"{result_file.stem}.trajectories.jsonl")


def cell_result(
    run: Run, family: Family, sequences: Sequence[StepSequence], without: Sequence[StepRecord] = ()
) -> dict[str, Any]:
    """Build the result from the records so far. `without` contains the records of the same model without memory."""
    store = run.store
    result = result_of(run, _about(run), answered=True)
    result["metrics"] = measured(result["metrics"], result["questions"])
    records = step_records(run, sequences)
    result["claudecode"] = {
        **store.meta("claudecode"),
        "sessions": accounting(run),
        "lost": lost_of(store),
        "unscored": unscored_by_faults(run),
        "daydreams": failed_daydreams(run),
        "costs": costs(run),
        "four_metrics": four_metrics(result["metrics"], result["questions"], run.settings.seed),
        "summary": dict(family.summary(records, without)),
        "trajectories": trajectory_file(Path(store.meta("result_file") or "-")).name,
    }
    return result


def _about(run: Run) -> dict[str, Any]:
    meta = run.store.meta
    info = meta("claudecode")
    settings = run.settings.to_json()
    settings["data"] = Path(settings["data"]).name if settings["data"] else ""
    return {
        "benchmark": {**meta("benchmark_about"), **meta("plan", {})},
        "provider": {
            "name": run.settings.provider,
            "spec": {"type": info.get("client", "claude-code"), "arm": info["arm"]},
            "told": info["differences"],
        },
        "settings": settings,
        "models": {"answering": run.settings.answering_model, "judge": run.settings.judge_model or None, "judges": []},
        "prompts": {"answer": {}},
        "index_backend": None,
        **about_run(run),
        "source_run": info.get("memory_from"),
    }


def measured(metrics: Mapping[str, Any], questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the metrics. A metric without any measurement has no value, because 0 would mean that all answers were wrong.

    As in comparisons, a question that ran out of time or turns counts as wrong.
    """
    wrong = any(question["error"] and question["error"]["message"].startswith(OWN_FAULTS) for question in questions)
    return {name: _measured(cell, wrong) for name, cell in metrics.items()}


def _measured(cell: Mapping[str, Any], wrong: bool) -> dict[str, Any]:
    groups = {key: {name: _measured(one, wrong) for name, one in cell[key].items()} for key in _GROUPS if key in cell}
    nothing = cell["scored"] == 0 and not (wrong and cell["failed"])
    gone = dict.fromkeys(key for key in ("value", "interval", "task_averaged") if key in cell) if nothing else {}
    return {**cell, **groups, **gone}


def accounting(run: Run) -> dict[str, Any]:
    """Count the outcomes of sessions. Each session is in exactly one count of `by_status`, so the counts add up to `total`."""
    statuses: Counter[str] = Counter()
    starts = cached = 0
    for line in trajectories(run.store):
        statuses[line["status"]] += 1
        starts += line["attempts"]
        cached += line.get("cached", False)
    by_status = dict(sorted(statuses.items()))
    return {"total": sum(statuses.values()), "by_status": by_status, "starts": starts, "cached": cached}


def costs(run: Run) -> dict[str, Any]:
    """Return the usage of a cell by purpose. The parts add up to the total.

    `replays` covers the sessions that bring the history into memory, `answers` those of questions and tasks, `memory` the
    plugin's models (day dream, dream), and `judge` the judges.
    """
    parts = dict.fromkeys(("replays", "answers", "memory", "judge"), Usage())
    for line in trajectories(run.store):
        parts["memory"] += usage_from_json(line.get("memory_usage", {}))
        parts["replays" if line["kind"] == StepKind.REPLAY else "answers"] += usage_from_json(line["usage"])
    for record in run.store.whole_records(Phase.EVALUATE):
        parts["judge"] += usage_from_json(record.payload.get("usage", {}))
    return {name: usage_to_json(usage) for name, usage in parts.items()}


def failed_daydreams(run: Run) -> dict[str, Any]:
    """Count the steps whose day dream failed or is still waiting, and return the first reason."""
    reasons = [line["message"] for line in trajectories(run.store) if line["status"] == ErrorKind.DAYDREAM]
    return {"failed": len(reasons), "problem": reasons[0] if reasons else ""}


def unscored_by_faults(run: Run) -> dict[str, int]:
    """Count the questions left unscored by a fault, grouped by fault. Any --resume runs them again."""
    found = Counter(ended_by(record.payload) for record in run.store.whole_records(Phase.ANSWER))
    return {fault: count for fault, count in sorted(found.items()) if fault}


def four_metrics(metrics: Mapping[str, Any], questions: Sequence[Mapping[str, Any]], seed: int) -> dict[str, Any]:
    """Return the accuracy, recency, efficiency and relevancy of a cell with their targets.

    The accuracy gain is in the comparison.

    Accuracy is counted as in comparisons: a session that ran out of time, turns or money counts as wrong, and one ended by a
    crash or a limit is left out.
    """

    def value(name: str) -> float | None:
        cell = metrics.get(name)
        return None if cell is None else cell["value_scored"]

    recency = next((value(name) for name in _LEVELS if value(name) is not None), None)
    share, near = value("efficiency"), value("relevancy")
    return {
        "recency": {"value": recency},
        "efficiency": {"value": share, "target": EFFICIENCY_TARGET, "met": None if share is None else share <= EFFICIENCY_TARGET},
        "relevancy": {"value": near, "target": RELEVANCY_TARGET, "met": None if near is None else near >= RELEVANCY_TARGET},
        "accuracy": _accuracy(main_metric(metrics), questions, seed),
    }


def _accuracy(metric: str | None, questions: Sequence[Mapping[str, Any]], seed: int) -> dict[str, Any]:
    found = ((question["cluster"], _counted(metric, question)) for question in questions) if metric else ()
    counted = [(case, value) for case, value in found if value is not None]
    mean = math.fsum(value for _, value in counted) / len(counted) if counted else None
    return {"value": mean, "metric": metric, "interval": interval_of(counted, seed)}


def _counted(metric: str, question: Mapping[str, Any]) -> float | None:
    error = question["error"]
    if error and error["message"].startswith(OWN_FAULTS):
        return 0.0
    found = (score["value"] for score in question["scores"] if score["metric"] == metric)
    value = next(found, None)
    return None if value is None else float(value)


def main_metric(metrics: Mapping[str, Any]) -> str | None:
    """Return the family's first metric."""
    return next((name for name in metrics if is_main(name)), None)


def step_records(run: Run, sequences: Sequence[StepSequence]) -> list[StepRecord]:
    """Return the records of questions and tasks, in order."""
    out = []
    for sequence in sequences:
        for step in sequence.steps:
            if step.question is None:
                continue
            answer = run.store.get(Key(Phase.ANSWER, sequence.id, step.question.id))
            judged = run.store.get(Key(Phase.EVALUATE, sequence.id, step.question.id))
            if answer is not None and judged is not None and "trajectory" in answer.payload:
                out.append(
                    StepRecord(sequence.id, step, _result(answer), _scores(judged), answer.payload["trajectory"]["attempts"])
                )
    return out


def _result(record: Record) -> SessionResult:
    info = record.payload["trajectory"]
    status = info["status"]
    return SessionResult(
        text=record.payload["text"],
        usage=usage_from_json(record.payload["usage"]),
        seconds=record.seconds,
        session_id=info["session"],
        error=ErrorKind.NONE if status == "done" else ErrorKind(status),
        message=info["message"],
        turns=info["turns"],
        tool_calls=tuple(ToolCall(**call) for call in info["calls"]),
    )


def _scores(record: Record) -> tuple[Score, ...]:
    keys = ("metric", "value", "reason", "judge", "usage")
    empty = {"reason": "", "judge": "", "usage": {}}
    return tuple(score_from_json({key: one.get(key, empty.get(key)) for key in keys}) for one in record.payload["scores"])


# Scores


CUT_OFFS = (1, 5, 10)
METRICS = ("recall_any", "recall_all", "mrr")
_embedding = Lock()


AGAIN = "again_"
"""Prefix of the metrics of a repeated task. They count towards forgetting, but not towards accuracy again."""


def family_scores(scores: Sequence[Score], *, again: bool = False) -> list[dict[str, Any]]:
    """Convert scores to the format of the result.

    A score without a value is unscored, unless its reason says that it was skipped.
    """
    out = []
    for score in scores:
        data = score_to_json(replace(score, metric=AGAIN + score.metric) if again else score)
        data["status"] = "scored" if score.value is not None else "skipped" if score.reason.startswith("skipped") else "unscored"
        if not score.usage.calls and not score.usage.cached_calls:
            del data["usage"]
        out.append(data)
    return out


def memory_scores(step: Step, outcome: StepOutcome, found: Sequence[Retrieved], embedder: str) -> list[dict[str, Any]]:
    """Score the texts returned by memory. Without memory there is nothing to rank, and only efficiency has a value (0)."""
    usage = outcome.result.usage
    share = efficiency(memories.tokens(outcome.given), usage.input_tokens + usage.output_tokens)
    out = [score_entry("efficiency", share, "the client reports no tokens")]
    if found and embedder:
        out.append(score_entry("relevancy", _relevancy(step, found, embedder), "nothing was retrieved"))
    if step.question is not None and outcome.result.text:
        answer = Answer(outcome.result.text, str(outcome.result.init.get("model") or ""), "", usage, outcome.result.seconds)
        given = "\n".join(one.text for one in outcome.given)
        seen = Observation(step.question, found, len(found), CUT_OFFS, answer, given)
        out += [entry for entry in question_scores(seen) if entry["metric"] != "efficiency"]
    if found and step.payload.get("targets"):
        gold = phases.gold_from_json(step.payload)
        chosen = [cast(RetrievalMetric, registry.metric.get(name)) for name in METRICS]
        out += phases.ranking_scores(found, gold, chosen, CUT_OFFS)
    return out


def _relevancy(step: Step, found: Sequence[Retrieved], embedder: str) -> float | None:
    text = step.question.text if step.question else step.prompt
    texts = [piece.text for piece in found if piece.text]
    with _embedding:
        model = _embedder(embedder)
        return relevancy(model.embed_query(text), model.embed(texts)) if texts else None


def check_embedder(name: str) -> None:
    """Check that the embedder works before any session is paid for. Raises ConfigError or another MemevalError."""
    if name:
        with _embedding:
            _embedder(name).embed_query("ready")


@cache
def _embedder(name: str) -> RememberingEmbedder:
    return make_embedder(name)


def headline(scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the main metric and its value.

    The main metric is the first one that has a value and does not measure retrieval.
    """
    first = next(iter(scores), None)
    return {} if first is None or not is_main(first["metric"]) or first["value"] is None else {first["metric"]: first["value"]}


def is_main(metric: str) -> bool:
    """Return whether a metric measures answers rather than retrieval or storage."""
    return "." not in metric and measures_success(metric) and not metric.startswith(AGAIN)
