"""Compute the result of a run (phase 5).

It depends only on the records, so a resumed run reports the same values as an uninterrupted one.

The format is described in results/SCHEMA.md. Values that depend on the clock are under the keys `times` and `seconds`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import stdev
from typing import Any

from memeval import stats
from memeval.core.overlap import says_nothing_known
from memeval.core.types import EMPTY, Phase, QuestionType
from memeval.metrics import AnswerOutcome, abstention, accuracy, latency
from memeval.metrics.answers import AnswerRow, headline
from memeval.metrics.questions import measures_success
from memeval.results.codec import usage_from_json, usage_to_json
from memeval.results.store import Key, QuestionRow, Record, Status
from memeval.run.checkpoint import Run
from memeval.run.phases import sizes
from memoryd.core.types import Usage

EMPTY_FROM = 3
"""Minimum number of searches for finding nothing at all to count as a broken set-up. One or two may well have no result."""
SHOWN_TEXT = 500
"""Maximum characters of a retrieved hit in the result file."""
RESAMPLES = 2000
Fetch = Callable[[Phase, QuestionRow], Record | None]
_SECRET = re.compile(r"key|token|secret|password", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts about a run that are not in its records. `about` is merged into the result unchanged.

    `ranked` contains the names of the ranking metrics, which are reported even if all questions failed.
    `may_be_empty` is for systems that are meant to find nothing.
    """

    run_id: str
    seed: int
    answered: bool
    about: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    cases: Sequence[Record] = ()
    ranked: Sequence[str] = ()
    strict: bool = False
    may_be_empty: bool = False


def result_of(
    run: Run,
    about: Mapping[str, Any],
    *,
    answered: bool,
    ranked: Sequence[str] = (),
    strict: bool = False,
    may_be_empty: bool = False,
) -> dict[str, Any]:
    """Build the result of a run from the records so far. The run may be incomplete.

    With `strict`, a run with mostly failed questions, or without a single hit, is reported as a broken set-up rather than a
    measurement of the system (`status`, `fault`).
    """
    store = run.store

    def fetch(phase: Phase, row: QuestionRow) -> Record | None:
        return store.get(Key(phase, row.case_id, row.question_id))

    cases = list(store.whole_records(Phase.INGEST))
    empty = may_be_empty or run.settings.allow_empty
    facts = RunFacts(run.id, run.settings.seed, answered, about, cases, ranked, strict, empty)
    return build_result(facts, store.questions(), fetch)


def about_run(run: Run) -> dict[str, Any]:
    """Return the entries shared by the results of all subjects."""
    meta = run.store.meta
    return {
        "source_run": meta("source_run"),
        "hypotheses": meta("hypotheses"),
        "merged_from": meta("merged_from"),
        "provenance": meta("provenance"),
        "resumed_with": meta("resumed_with", []),
        "times": {"created_at": meta("created_at"), "finished_at": meta("finished_at")},
    }


def without_secrets(options: Mapping[str, Any]) -> dict[str, Any]:
    """Mask the values of options that look like secrets."""
    return {key: "***" if _SECRET.search(key) else value for key, value in options.items()}


def build_result(facts: RunFacts, rows: Sequence[QuestionRow], fetch: Fetch) -> dict[str, Any]:
    """Build the result as plain JSON values."""
    questions = [question_entry(row, fetch) for row in rows]
    metrics = _metrics(questions, facts)
    fault = _fault(questions, metrics) if facts.strict else ""
    empty = facts.strict and not fault and not facts.may_be_empty and _found_nothing(questions)
    if empty:
        fault = "no search found anything"
    if fault:
        metrics = {name: _without_value(cell) if empty or _mostly_missing(cell) else cell for name, cell in metrics.items()}
    return {
        "schema_version": 1,
        "kind": "memeval-result",
        "run_id": facts.run_id,
        "seed": facts.seed,
        **facts.about,
        "status": "broken" if fault else "finished",
        "fault": fault or None,
        "fault_fix": _fault_fix(facts, empty=empty) if fault else None,
        "totals": _totals(questions),
        "primary_metric": None if fault else headline(name for name, cell in metrics.items() if cell["scored"] + cell["failed"]),
        "clusters": _clusters(questions),
        "handed_over": _handed_over(questions),
        "metrics": metrics,
        "abstention": _abstention(questions),
        "usage": _usage(questions, facts.cases),
        "times": {**facts.about.get("times", {}), "latency": _latency(questions, facts.cases)},
        "ingest": _ingest(facts.cases),
        "questions": questions,
    }


def _fault(questions: Sequence[Mapping[str, Any]], metrics: Mapping[str, Any]) -> str:
    """Return why the run is not a valid measurement of the system, or an empty string.

    Either most questions failed, or most verdicts of the judge were unclear.
    """
    failed = sum(question["status"] == "failed" for question in questions)
    if 2 * failed > len(questions):
        return f"{failed} of {len(questions)} questions failed"
    name = headline(name for name, cell in metrics.items() if "." not in name and cell["scored"] + cell["unscored"])
    cell = metrics[name] if name else {"unscored": 0, "total": 0, "skipped": 0}
    if 2 * cell["unscored"] > cell["total"] - cell["skipped"]:
        return f"the judge gave no clear verdict on {cell['unscored']} of {cell['total'] - cell['skipped']} questions ({name})"
    return ""


def _found_nothing(questions: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether enough searches were made and all of them found nothing."""
    searched = [question for question in questions if question["tokens"] is not None and question["question"].strip()]
    return len(searched) >= EMPTY_FROM and not any(question["retrieved"] or question.get("guard") for question in searched)


def _fault_fix(facts: RunFacts, *, empty: bool) -> str:
    """Return how to finish a broken run."""
    if not empty:
        return f"Correct the cause, then: memeval eval --resume {facts.run_id} --retry-failed"
    name = (facts.about.get("provider") or {}).get("name", "PROVIDER")
    again = f"memeval eval --resume {facts.run_id} --force"
    keep = f"memeval eval --from {facts.run_id} --phase evaluate --allow-empty"
    return (
        f"Check with `memeval check {name}` whether it finds what it adds, correct the cause, then: {again}. If the "
        f"result is correct: {keep}"
    )


def _mostly_missing(cell: Mapping[str, Any]) -> bool:
    return bool(2 * (cell["failed"] + cell["unscored"]) > cell["total"] - cell["skipped"])


def _without_value(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Keep only the counts of a cell. A value consisting mostly of failures does not measure the system."""
    groups = {
        key: {name: _without_value(one) for name, one in cell[key].items()} for key in ("by_type", "by_category") if key in cell
    }
    averaged = {"task_averaged": None} if "task_averaged" in cell else {}
    cell = {key: value for key, value in cell.items() if key != "epochs"}
    return {**cell, "value": None, "interval": None, **averaged, **groups}


def question_entry(row: QuestionRow, fetch: Fetch, shown: int | None = SHOWN_TEXT) -> dict[str, Any]:
    """Build the entry of a question from its records. Texts of hits are truncated to `shown` characters."""
    records = {phase: fetch(phase, row) for phase in (Phase.SEARCH, Phase.ANSWER, Phase.EVALUATE)}
    question = row.payload["question"]
    return {
        "id": row.question_id,
        "case_id": row.case_id,
        "cluster": row.payload.get("cluster") or row.case_id,
        "position": row.position,
        "type": question["type"],
        "category": question["category"],
        "question": question["text"],
        "at": question["at"],
        "expected": question["answers"],
        "dangling": list(question.get("metadata", {}).get("unresolved_evidence", ())),
        "evidence": {target["level"]: target["ids"] for target in row.payload["targets"]},
        **_outcome(records),
        "retrieved": _retrieved(records[Phase.SEARCH], shown),
        "tokens": _tokens(records[Phase.SEARCH]),
        **_guard(records[Phase.SEARCH]),
        "answer": _answer(records[Phase.ANSWER]),
        "scores": _scores(records[Phase.EVALUATE]),
        "usage": {
            str(phase): record.payload["usage"] for phase, record in records.items() if record and record.payload.get("usage")
        },
        "seconds": {str(phase): record.seconds for phase, record in records.items() if record and record.status is Status.DONE},
    }


def _outcome(records: Mapping[Phase, Record | None]) -> dict[str, Any]:
    """Return the outcome of a question, which is `failed` (with the first failed phase), `pending` or `done`."""
    for phase, record in records.items():
        if record is not None and record.status is Status.FAILED:
            return {"status": "failed", "error": _error(phase, record.error)}
    complete = records[Phase.EVALUATE] is not None
    return {"status": "done" if complete else "pending", "error": None}


def _error(phase: Phase, text: str) -> dict[str, str]:
    """Parse an error. An inherited error begins with its phase in brackets."""
    if text.startswith("[") and "] " in text:
        name, _, rest = text[1:].partition("] ")
        return {"phase": name, "message": rest}
    return {"phase": str(phase), "message": text}


def _retrieved(record: Record | None, shown: int | None) -> list[dict[str, Any]]:
    if record is None or record.status is not Status.DONE:
        return []
    return [
        {
            "rank": rank,
            "score": piece["score"],
            "sessions": piece["sessions"],
            "turns": piece["turns"],
            "at": piece["at"],
            "text": piece["text"][:shown],
            "length": len(piece["text"]),
        }
        for rank, piece in enumerate(record.payload["retrieved"][: record.payload["kept"]], start=1)
    ]


def _guard(record: Record | None) -> dict[str, Any]:
    """Return the guard's message about the call in a question, if the provider has a guard."""
    if record is None or "guard" not in record.payload:
        return {}
    return {"guard": record.payload["guard"]["said"]}


def _tokens(record: Record | None) -> int | None:
    """Estimate the tokens of the hits passed to a reader."""
    if record is None or record.status is not Status.DONE:
        return None
    return sum(sizes(record.payload)[: record.payload["kept"]])


def _handed_over(questions: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return statistics of the tokens passed to the reader per question, or None if there was no search."""
    found = latency(float(question["tokens"]) for question in questions if question["tokens"] is not None)
    return {"mean": found.mean, "p50": found.p50, "p95": found.p95} if found else None


def _clusters(questions: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the number of clusters (conversations, sequences, repositories) if any are shared."""
    found = {question["cluster"] for question in questions}
    return len(found) if 0 < len(found) < len(questions) else None


def _answer(record: Record | None) -> dict[str, Any] | None:
    if record is None or record.status is not Status.DONE:
        return None
    epochs = [_answer_of(one) for one in record.payload.get("epochs", ())]
    return {**_answer_of(record.payload), **({"epochs": epochs} if epochs else {})}


def _answer_of(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {key: payload[key] for key in ("text", "model", "prompt_hash", "confidence", "withheld") if key in payload}


def _scores(record: Record | None) -> list[dict[str, Any]]:
    if record is None:
        return []
    return [
        {
            key: score[key]
            for key in ("metric", "value", "status", "reason", "judge", "epochs")
            if key in score and score[key] != ""
        }
        for score in record.payload.get("scores", ())
    ]


def _totals(questions: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    counts = {"total": len(questions), "done": 0, "failed": 0, "pending": 0}
    for question in questions:
        counts[question["status"]] += 1
    return counts


# Cells


def _metrics(questions: Sequence[dict[str, Any]], facts: RunFacts) -> dict[str, Any]:
    """Return a cell for each metric. Judge metrics come before ranking metrics, each in order of appearance."""
    names = _names(questions, facts)
    if any(question["error"] for question in questions):
        _leave_out(questions, names)
    by_question = [{score["metric"]: score for score in question["scores"]} for question in questions]
    return {
        name: _metric(name, [(q, scores.get(name)) for q, scores in zip(questions, by_question, strict=True)], facts.seed)
        for name in names
    }


def _names(questions: Sequence[Mapping[str, Any]], facts: RunFacts) -> list[str]:
    """Return the names of all metrics, including those without a value because all questions failed."""
    found = dict.fromkeys(score["metric"] for question in questions for score in question["scores"])
    names = sorted(found, key=lambda name: ("." in name, not measures_success(name)))
    if facts.answered and not any("." not in name for name in names):
        names.append("accuracy")
    if not any("." in name for name in names) and any(question["error"] for question in questions):
        names += facts.ranked
    return names


def _metric(name: str, pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]], seed: int) -> dict[str, Any]:
    """Compute a metric.

    The task average is taken over the benchmark's own types. LongMemEval has six, each including its `_abs` questions.
    """
    rated = [(question, _rated(name, question, score)) for question, score in pairs]
    by_type = accuracy(AnswerOutcome(question["id"], question["type"], *one[:2]) for question, one in rated)
    by_task = accuracy(
        AnswerOutcome(question["id"], question["category"] or question["type"], *one[:2]) for question, one in rated
    )
    return {
        **_cell(by_type.overall, rated, seed),
        "task_averaged": by_task.task_averaged,
        **_between_epochs(rated),
        "by_type": _groups("type", by_type.groups, rated, seed),
        "by_category": _groups("category", _by_category(rated), rated, seed),
    }


Rating = tuple[float | None, str, Sequence[float]]
"""The value and status of a question, and the values of its epochs if there are several."""
Rated = Sequence[tuple[Mapping[str, Any], Rating]]


def _rated(name: str, question: Mapping[str, Any], score: Mapping[str, Any] | None) -> Rating:
    """Return the value and status of a question.

    Without a score, the question failed before this metric, or the metric does not apply.
    """
    if score is not None:
        return score["value"], score["status"], score.get("epochs", ())
    return None, "failed" if _failed_before(name, question) else "skipped", ()


def _observations(rated: Rated) -> list[tuple[str, Sequence[float]]]:
    """Return the cluster and the values of each counted question, with one value per epoch. Missing values count as 0."""
    count = max((len(one[2]) for _, one in rated), default=0) or 1
    return [(question["cluster"], one[2] or [one[0] or 0.0] * count) for question, one in rated if one[1] != "skipped"]


def _between_epochs(rated: Rated) -> dict[str, Any]:
    """Return the value of each epoch and the standard deviation between epochs, if questions were answered more than once."""
    if not any(one[2] for _, one in rated):
        return {}
    values = [sum(column) / len(column) for column in zip(*(each for _, each in _observations(rated)), strict=True)]
    return {"epochs": {"values": values, "sd": stdev(values)}}


def _failed_before(name: str, question: Mapping[str, Any]) -> bool:
    """Return whether a question has no value for the metric because it failed."""
    error = question["error"]
    return error is not None and measures_success(name) and ("." not in name or error["phase"] in (Phase.INGEST, Phase.SEARCH))


def _leave_out(questions: Sequence[dict[str, Any]], names: Iterable[str]) -> None:
    """Mark the metrics skipped by the protocol for failed questions, so that the failures do not count as 0."""
    for name in names:
        left_out = _types_left_out(name, questions)
        for question in questions:
            asked = question["type"] not in left_out and ("." not in name or question["evidence"].get(name.partition(".")[0]))
            if not asked and _failed_before(name, question) and all(score["metric"] != name for score in question["scores"]):
                question["scores"].append(
                    {"metric": name, "value": None, "status": "skipped", "reason": "not required by the protocol"}
                )


def _types_left_out(name: str, questions: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the question types for which every score of the metric was skipped."""
    seen: dict[str, set[str]] = defaultdict(set)
    for question in questions:
        seen[question["type"]].update(score["status"] for score in question["scores"] if score["metric"] == name)
    return {kind for kind, found in seen.items() if found == {"skipped"}}


def _by_category(rated: Rated) -> Mapping[str, AnswerRow]:
    named = [pair for pair in rated if pair[0]["category"]]
    return accuracy(AnswerOutcome(question["id"], question["category"], *one[:2]) for question, one in named).groups


def _groups(key: str, cells: Mapping[str, AnswerRow], rated: Rated, seed: int) -> dict[str, Any]:
    members: dict[str, list[tuple[Mapping[str, Any], Rating]]] = defaultdict(list)
    for pair in rated:
        members[pair[0][key]].append(pair)
    return {name: _cell(cell, members[name], seed) for name, cell in cells.items()}


def _cell(cell: AnswerRow, rated: Rated, seed: int) -> dict[str, Any]:
    """Return the counts, both means, and the interval of `value`. Failed and unscored questions count as 0 in `value`."""
    counted = [(cluster, value) for cluster, values in _clustered(_observations(rated)) for value in values]
    return {
        "value": cell.accuracy,
        "value_scored": cell.accuracy_scored,
        "total": cell.total + cell.skipped,
        "scored": cell.scored,
        "failed": cell.failed,
        "unscored": cell.unscored,
        "skipped": cell.skipped,
        "interval": interval_of(counted, seed),
    }


def _clustered(observations: Sequence[tuple[str, Sequence[float]]]) -> Sequence[tuple[str, Sequence[float]]]:
    """Treat each question as a cluster of its epochs unless the questions already belong to several clusters."""
    several = len({cluster for cluster, _ in observations}) > 1
    if several or not any(len(values) > 1 for _, values in observations):
        return observations
    return [(str(number), values) for number, (_, values) in enumerate(observations)]


def interval_of(counted: Sequence[tuple[str, float]], seed: int) -> dict[str, Any] | None:
    """Compute a clustered interval if questions share several clusters.

    Otherwise, the Wilson interval is used for yes/no values and a bootstrap for graded values.

    Questions of a single cluster count as independent, because nothing is known about other clusters.
    """
    if not counted:
        return None
    values = [value for _, value in counted]
    clusters = [cluster for cluster, _ in counted]
    if 1 < len(set(clusters)) < len(clusters):
        interval = stats.cluster_mean(values, clusters)
        if interval is not None and all(0.0 <= value <= 1.0 for value in values):
            interval = replace(interval, low=max(0.0, interval.low), high=min(1.0, interval.high))
    elif all(value in (0.0, 1.0) for value in values):
        interval = stats.wilson(sum(values), len(values))
    else:
        interval = stats.bootstrap_mean(values, seed=seed, resamples=RESAMPLES)
    return asdict(interval) if interval else None


# Sums


def _abstention(questions: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Measure how well abstentions match the unanswerable questions. Only answered questions count."""
    answered = [q for q in questions if q["answer"] is not None]
    if not answered:
        return None
    counts = abstention(
        (says_nothing_known(answer["text"]), q["type"] == QuestionType.ABSTENTION)
        for q in answered
        for answer in q["answer"].get("epochs", [q["answer"]])
    )
    by_pattern = {**asdict(counts), "questions": len(answered), "precision": counts.precision, "recall": counts.recall}
    return {**by_pattern, "judged": _judged_abstention(answered)}


def _judged_abstention(answered: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the model-judged abstention accuracy: the mean of the judge's metric over unanswerable questions.

    Return None if no model judged them. The counts next to this value come from pattern matching on the answers.
    """
    asked = [question for question in answered if question["type"] == QuestionType.ABSTENTION]
    scored = [
        (score["metric"], score["value"])
        for question in asked
        for score in question["scores"]
        if "(" in score.get("judge", "") and score["value"] is not None
    ]
    name = headline(metric for metric, _ in scored)
    values = [value for metric, value in scored if metric == name]
    return {"metric": name, "questions": len(values), "accuracy": sum(values) / len(values)} if values else None


def _usage(questions: Sequence[Mapping[str, Any]], cases: Sequence[Record]) -> dict[str, Any]:
    """Return the usage of model calls by phase and in total."""
    sums = {phase: Usage() for phase in (Phase.INGEST, Phase.SEARCH, Phase.ANSWER, Phase.EVALUATE)}
    for case in cases:
        sums[Phase.INGEST] += usage_from_json(case.payload.get("usage", {}))
    for question in questions:
        for phase, usage in question["usage"].items():
            sums[Phase(phase)] += usage_from_json(usage)
    total = sum(sums.values(), Usage())
    return {**{str(phase): usage_to_json(usage) for phase, usage in sums.items()}, "total": usage_to_json(total)}


def _latency(questions: Sequence[Mapping[str, Any]], cases: Sequence[Record]) -> dict[str, Any]:
    """Return the latency percentiles by phase. Cached answers are excluded, because they were not timed in this run."""
    out = {"ingest": _spread(case.seconds for case in cases if case.status is Status.DONE)}
    for phase in ("search", "answer", "evaluate"):
        timed = (q for q in questions if phase in q["seconds"] and not q["usage"].get(phase, {}).get("cached_calls"))
        out[phase] = _spread(question["seconds"][phase] for question in timed)
    return out


def _spread(seconds: Iterable[float]) -> dict[str, Any] | None:
    found = latency(seconds)
    return asdict(found) if found else None


def _ingest(cases: Sequence[Record]) -> dict[str, Any]:
    done = [case for case in cases if case.status is Status.DONE]
    return {
        "cases": len(cases),
        "failed": sum(case.status is Status.FAILED for case in cases),
        "sessions": sum(case.payload["sessions"] for case in done),
        "turns": sum(case.payload["turns"] for case in done),
    }
