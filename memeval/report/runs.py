"""Parse result files into values for tables, comparisons and pages, and choose the main metric of a run."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from memeval.core.errors import RunError
from memeval.core.types import EMPTY
from memeval.metrics.answers import headline, rank
from memeval.metrics.questions import measures_success
from memeval.report.table import is_number
from memeval.results.files import ResultsDir, read_result


def primary_metric(runs: Sequence[RunResult]) -> str:
    """Return the primary metric shared by all runs, or else the best-known metric with a value in all of them.

    Raises RunError.
    """
    own = {run.primary for run in runs}
    if len(own) == 1 and (name := own.pop()) is not None:
        return name
    shared = [name for name in runs[0].metric_names if all(run.has_value(name) for run in runs)]
    if not shared:
        raise RunError(
            "The runs share no metric with a value.", fix="Choose one with --metric; `memeval results RUN` lists them."
        )
    return min(shared, key=rank)


def widest_metric(runs: Sequence[RunResult]) -> str | None:
    """Return the primary metric of most runs, or else the metric with a value in most runs.

    Return None if no run has a metric.
    """
    named = Counter(run.primary for run in runs if run.primary is not None)
    if named:
        return min(named, key=lambda name: (-named[name], rank(name), name))
    covered = Counter(name for run in runs for name in run.metric_names if run.has_value(name))
    return min(covered, key=lambda name: (-covered[name], rank(name), name), default=None)


Value = TypeVar("Value")


CLAUDE_CODE = "claude-code"
CLIENT_LABELS = {CLAUDE_CODE: "Claude Code", "opencode": "OpenCode"}
"""Names of the clients of run_bench, as their makers write them. Results without a client are of Claude Code."""


def client_label(client: Mapping[str, Any]) -> str:
    """Return the readable name of the client in a run's `claudecode` section."""
    name = str(client.get("client") or CLAUDE_CODE)
    return CLIENT_LABELS.get(name, name)


@dataclass(frozen=True, slots=True)
class MetricCell:
    """A metric over a set of questions. `value` counts failed and unscored questions as 0. `value_scored` excludes them."""

    value: float | None
    value_scored: float | None
    low: float | None
    high: float | None
    total: int
    scored: int
    failed: int
    unscored: int
    skipped: int
    by_type: Mapping[str, MetricCell]
    by_category: Mapping[str, MetricCell]
    task_averaged: float | None = None
    epochs: tuple[float, ...] = ()
    """The value in each epoch, if questions were answered several times."""


@dataclass(frozen=True, slots=True)
class ScoreEntry:
    """A score of a question. `status` is scored, unscored, skipped or failed."""

    value: float | None
    status: str
    reason: str = ""
    judge: str = ""
    epochs: tuple[float, ...] = ()
    """The value in each epoch, if the question was answered several times. `value` is their mean."""


@dataclass(frozen=True, slots=True)
class RetrievedHit:
    """A retrieved hit. `text` may be truncated, and `length` is the length of the full text."""

    rank: int
    text: str
    length: int
    score: float | None
    sessions: tuple[str, ...]
    turns: tuple[str, ...]
    at: str


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The outcome of one question.

    `error` is empty unless a phase failed. `hypothesis` is None if the question was not answered.
    """

    id: str
    case_id: str
    type: str
    category: str
    text: str
    at: str
    answers: tuple[str, ...]
    evidence_sessions: tuple[str, ...]
    evidence_turns: tuple[str, ...]
    status: str
    error: str
    error_phase: str
    retrieved: tuple[RetrievedHit, ...]
    hypothesis: str | None
    scores: Mapping[str, ScoreEntry]
    seconds: Mapping[str, float]
    cluster: str = ""
    tokens: int | None = None
    confidence: float | None = None
    epochs: tuple[str, ...] = ()
    """The answers of all epochs, if the question was answered several times. `hypothesis` is the first one."""
    guard: str | None = None
    """What the provider's guard said about the tool call, or None without a guard."""

    @property
    def key(self) -> str:
        """Return a key that is unique within a run and the same in all runs of the benchmark."""
        return f"{self.case_id}/{self.id}"

    def entry(self, metric: str) -> ScoreEntry:
        """Return the score of a metric.

        If there is none, the question failed before the metric, or the metric does not apply to it.
        """
        if metric in self.scores:
            return self.scores[metric]
        touched = measures_success(metric) and ("." not in metric or self.error_phase in ("ingest", "search"))
        return ScoreEntry(None, "failed" if self.error_phase and touched else "skipped", self.error if touched else "")


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run. `data` is the content of the result file."""

    run_id: str
    benchmark: str
    provider: str
    metrics: Mapping[str, MetricCell] = field(repr=False)
    questions: tuple[QuestionResult, ...] = field(repr=False)
    data: Mapping[str, Any] = field(repr=False)
    path: Path | None = None

    def __getitem__(self, metric: str) -> float | None:
        """Return the value of a metric, from 0 to 1. Raises RunError for an unknown metric."""
        self.require(metric)
        return self.metrics[metric].value

    @property
    def score(self) -> float | None:
        """Return the value of the primary metric."""
        return None if self.primary is None else self[self.primary]

    @property
    def main_metrics(self) -> list[str]:
        """Return the answer metrics, the primary metric, and rankings at the best-known cut-offs, if they have a value."""
        ends = ("_any@5", "_all@5", "_fraction@10")
        shown = [name for name in self.metrics if "." not in name or name == self.primary or name.endswith(ends)]
        return [name for name in shown if self.metrics[name].total > self.metrics[name].skipped]

    def summary(self) -> str:
        """Return a line that identifies the run, and a line per main metric with its interval in per cent."""
        lines = [f"{self.benchmark} × {self.provider}: {len(self.questions)} questions (run {self.run_id})"]
        for name in self.main_metrics:
            cell = self.metrics[name]
            if cell.value is not None:
                known = cell.low is not None and cell.high is not None
                spread = f" [{100 * (cell.low or 0):.1f}, {100 * (cell.high or 0):.1f}]" if known else ""
                lines.append(f"{'*' if name == self.primary else ' '} {name}: {100 * cell.value:.1f}{spread}")
        return "\n".join(lines)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Return the names of all metrics: answer metrics first, then rankings by level, metric and cut-off."""
        return tuple(self.metrics)

    @property
    def data_hash(self) -> str:
        """Return the SHA-256 of the benchmark's data, or an empty string if it is unknown."""
        return str(self.find("benchmark", "data_hash") or "")

    @property
    def cost(self) -> float | None:
        """Return the cost of all model calls in US dollars, or None if it is unknown."""
        return number(self.find("usage", "total", "cost_usd"))

    @property
    def cached_calls(self) -> int:
        """Return the number of model calls answered from the cache."""
        return int(number(self.find("usage", "total", "cached_calls")) or 0)

    @property
    def finished_at(self) -> str:
        """Return the end time of the run in ISO 8601."""
        return str(self.find("times", "finished_at") or "")

    def find(self, *keys: str) -> Any:
        """Return a nested value of the result file, or None if it is missing."""
        value: Any = self.data
        for key in keys:
            if not isinstance(value, Mapping) or key not in value:
                return None
            value = value[key]
        return value

    def setting(self, name: str) -> str:
        """Return a resolved setting (variant, granularity, top_k, reader, …) as text, or an empty string if unknown."""
        value = self.find("settings", name)
        return "" if value is None else str(value)

    @property
    def answering_model(self) -> str:
        """Return the name of the answering model, or an empty string if there was none."""
        return str(self.find("models", "answering") or "")

    @property
    def judge_model(self) -> str:
        """Return the name of the judge's model, or an empty string for judges without a model."""
        return str(self.find("models", "judge") or "")

    @property
    def fault(self) -> str:
        """Return why the run measures nothing (most questions failed), or an empty string for a finished run."""
        return str(self.data.get("fault") or "broken") if self.data.get("status") == "broken" else ""

    @property
    def fault_fix(self) -> str:
        """Return how to finish a broken run. Results of older versions don't include this."""
        fix = self.data.get("fault_fix")
        return str(fix or f"Correct the cause, then: memeval eval --resume {self.run_id} --retry-failed")

    @property
    def primary(self) -> str | None:
        """Return the primary metric given in the result. For older results, return the best-known metric with a value."""
        named = self.data.get("primary_metric")
        if self.fault:
            return None
        if isinstance(named, str) and named in self.metrics:
            return named
        return headline(name for name in self.metric_names if self.has_value(name))

    @property
    def clusters(self) -> int | None:
        """Return the number of conversations, sequences or repositories shared by questions.

        Return None if the questions are independent.
        """
        found = {question.cluster for question in self.questions}
        return len(found) if 0 < len(found) < len(self.questions) else None

    def has_value(self, metric: str) -> bool:
        """Return whether at least one question is scored or failed. A failed question counts as 0."""
        return metric in self.metrics and self.metrics[metric].scored + self.metrics[metric].failed > 0

    def value_of(self, metric: str) -> float | None:
        """Return the value of a metric, or None if no question has one."""
        return self.metrics[metric].value if self.has_value(metric) else None

    def require(self, metric: str) -> None:
        """Check that a metric exists. Raises RunError with the known names otherwise."""
        if metric not in self.metrics:
            known = ", ".join(self.metric_names) or "none"
            raise RunError(f"Run {self.run_id} has no metric {metric!r}.", fix=f"It has: {known}.")

    def values(self, metric: str) -> dict[str, float | None]:
        """Return the values by question key. A failed question has the value 0, and an unscored or skipped one None."""
        self.require(metric)
        return {q.key: 0.0 if (one := q.entry(metric)).status == "failed" else one.value for q in self.questions}


def load_run(results: ResultsDir, run: str) -> RunResult:
    """Load the result of a run, given its id, folder or result file. Raises RunError.

    If the run's store is not on this machine, the run is looked up in the ledger.
    """
    path = Path(run)
    if path.suffix == ".json" and path.is_file():
        return read_run(path)
    if run not in results.run_ids() and (file := ledger_file(results, run)) is not None:
        return read_run(file)
    return parse_run(results.load(run), None, f"the result of run {run}")


def load_runs(results: ResultsDir, names: Iterable[str]) -> list[RunResult]:
    """Load the results of several runs.

    The name of a command (`eval` of a matrix) expands to all of its runs. Raises RunError.
    """
    return [load_run(results, run) for name in names for run in _members(results, name)]


def latest_run(results: ResultsDir, benchmark: str, provider: str) -> RunResult:
    """Return the latest finished run of a provider on a benchmark. Raises RunError if there is none."""
    lines = [line for line in results.ledger_lines() if line.get("benchmark") == benchmark]
    own = [line for line in lines if line.get("provider") == provider and ledger_file(results, str(line.get("run_id")))]
    if not own:
        known = sorted({str(line.get("provider")) for line in lines})
        raise RunError(
            f"There is no finished run of {provider} on {benchmark}.",
            fix=f"Providers with one: {', '.join(known)}." if known else f"Make one: memeval eval -b {benchmark} -p {provider}",
        )
    last = sorted(own, key=lambda line: str(line.get("finished_at") or ""))[-1]  # On a tie, the later line wins.
    return load_run(results, str(last["run_id"]))


def _members(results: ResultsDir, name: str) -> list[str]:
    if Path(name).suffix == ".json" and Path(name).is_file():
        return [name]
    known = list(dict.fromkeys([*results.run_ids(), *(str(line.get("run_id")) for line in results.ledger_lines())]))
    if name in known:
        return [name]
    return sorted(run for run in known if run.startswith(f"{name}.")) or results.group(name)


def ledger_file(results: ResultsDir, run_id: str) -> Path | None:
    """Return the last result file listed in the ledger for a run, if that file exists."""
    files = [line.get("file") for line in results.ledger_lines() if line.get("run_id") == run_id]
    found = [results.root / file for file in files if isinstance(file, str) and (results.root / file).is_file()]
    return found[-1] if found else None


def read_run(path: Path) -> RunResult:
    """Read a result file. Raises RunError if it is not a result, is malformed, or has a newer schema."""
    return parse_run(read_result(path), path, str(path))


def parse_run(data: Mapping[str, Any], path: Path | None = None, name: str = "the result") -> RunResult:
    """Parse a result from plain JSON values. Raises RunError with the missing or wrong key."""
    node = _Node(data, name, "")
    questions = tuple(_question(item) for item in node.items("questions"))
    metrics = node.child("metrics")
    return RunResult(
        run_id=node.text("run_id"),
        benchmark=node.child("benchmark").text("name"),
        provider=node.child("provider").text("name"),
        metrics=MappingProxyType({key: _cell(metrics.child(key)) for key in sorted(metrics.data, key=_metric_order)}),
        questions=questions,
        data=data,
        path=path,
    )


def parse_question(data: Mapping[str, Any], name: str) -> QuestionResult:
    """Parse the entry of one question. Raises RunError."""
    return _question(_Node(data, name, ""))


def light(run: RunResult) -> RunResult:
    """Return the run without the texts of its questions, which can take many megabytes.

    Only the primary metric's values are kept.
    """
    name = run.primary

    def kept(question: QuestionResult) -> Mapping[str, ScoreEntry]:
        entry = question.scores.get(name) if name is not None else None
        return EMPTY if name is None or entry is None else MappingProxyType({name: replace(entry, reason="", judge="")})

    emptied: dict[str, Any] = {
        "text": "",
        "answers": (),
        "hypothesis": None,
        "epochs": (),
        "retrieved": (),
        "seconds": EMPTY,
        "guard": None,
    }
    questions = tuple(replace(one, scores=kept(one), **emptied) for one in run.questions)
    return replace(run, questions=questions, data={key: value for key, value in run.data.items() if key != "questions"})


def _metric_order(name: str) -> tuple[bool, str, int]:
    stem, _, k = name.partition("@")
    return "." in name, stem, int(k) if k.isdecimal() else 0


def number(value: object) -> float | None:
    """Return a finite number, or None for a value that was not measured."""
    return float(value) if is_number(value) and isinstance(value, int | float) else None


def _question(node: _Node) -> QuestionResult:
    error, answer, evidence = node.maybe("error"), node.maybe("answer"), node.maybe("evidence")
    return QuestionResult(
        id=node.text("id"),
        case_id=node.text("case_id"),
        type=node.text("type"),
        category=node.text("category", ""),
        text=node.text("question"),
        at=node.text("at", ""),
        answers=node.texts("expected"),
        evidence_sessions=evidence.texts("session") if evidence else (),
        evidence_turns=evidence.texts("turn") if evidence else (),
        status=node.text("status", "done"),
        error=error.text("message", "") if error else "",
        error_phase=error.text("phase", "") if error else "",
        retrieved=tuple(_piece(item) for item in node.items("retrieved")),
        hypothesis=answer.text("text") if answer else None,
        scores=MappingProxyType(dict(_scores(node))),
        seconds=MappingProxyType({key: value for key, value in node.numbers("seconds").items() if value is not None}),
        cluster=node.text("cluster", node.text("case_id")),
        tokens=None if (tokens := number(node.data.get("tokens"))) is None else int(tokens),
        confidence=number(answer.data.get("confidence")) if answer else None,
        epochs=tuple(epoch.text("text") for epoch in answer.items("epochs")) if answer else (),
        guard=node.text("guard") if "guard" in node.data else None,
    )


def _piece(node: _Node) -> RetrievedHit:
    text = node.text("text", "")
    return RetrievedHit(
        rank=node.count("rank"),
        text=text,
        length=node.count("length", len(text)),
        score=number(node.data.get("score")),
        sessions=node.texts("sessions"),
        turns=node.texts("turns"),
        at=node.text("at", ""),
    )


_TEXTS = ("metric", "status", "reason", "judge")


def _scores(node: _Node) -> Iterator[tuple[str, ScoreEntry]]:
    """Parse the scores of a question. A run has tens of thousands, so only unusual entries are parsed as nodes."""
    for place, data in enumerate(node.sequence("scores")):
        plain = type(data) is dict and "metric" in data and "epochs" not in data
        if plain and all(type(data.get(key, "")) is str for key in _TEXTS):
            texts = data.get("status", ""), data.get("reason", ""), data.get("judge", "")
            yield sys.intern(data["metric"]), _score(data.get("value"), *texts)
        else:
            item = node.item("scores", place)
            texts = item.text("status", ""), item.text("reason", ""), item.text("judge", "")
            epochs = tuple(float(one) for one in item.data.get("epochs", ()) if is_number(one))
            yield item.text("metric"), _score(item.data.get("value"), *texts, epochs)


def _score(data: object, status: str, reason: str, judge: str, epochs: tuple[float, ...] = ()) -> ScoreEntry:
    value = number(data)
    status = status or ("unscored" if value is None else "scored")
    return ScoreEntry(value, "unscored" if status == "scored" and value is None else status, reason, judge, epochs)


def _cell(node: _Node) -> MetricCell:
    interval = node.maybe("interval")
    return MetricCell(
        value=number(node.data.get("value")),
        value_scored=number(node.data.get("value_scored")),
        low=number(interval.data.get("low")) if interval else None,
        high=number(interval.data.get("high")) if interval else None,
        total=node.count("total"),
        scored=node.count("scored"),
        failed=node.count("failed", 0),
        unscored=node.count("unscored", 0),
        skipped=node.count("skipped", 0),
        by_type=_cells(node.maybe("by_type")),
        by_category=_cells(node.maybe("by_category")),
        task_averaged=number(node.data.get("task_averaged")),
        epochs=tuple(map(float, epochs.data.get("values", ()))) if (epochs := node.maybe("epochs")) else (),
    )


def _cells(node: _Node | None) -> Mapping[str, MetricCell]:
    return MappingProxyType({key: _cell(node.child(key)) for key in node.data} if node else {})


class _Node:
    """An object in the result file, with its path for error messages."""

    def __init__(self, data: object, name: str, place: str) -> None:
        if not isinstance(data, Mapping):
            raise _broken(name, place, "is not of type object")
        self.data: Mapping[str, Any] = data
        self._name = name
        self._place = place

    def _at(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key

    def _get(self, key: str, check: Callable[[Any], Value | None], kind: str, default: Value | None = None) -> Value:
        value = self.data.get(key)
        if value is None and default is not None:
            return default
        checked = check(value)
        if checked is None:
            raise _broken(self._name, self._at(key), f"is not of type {kind}" if key in self.data else "is missing")
        return checked

    def text(self, key: str, default: str | None = None) -> str:
        return self._get(key, lambda value: value if isinstance(value, str) else None, "text", default)

    def count(self, key: str, default: int | None = None) -> int:
        return self._get(key, lambda value: int(value) if is_number(value) else None, "number", default)

    def numbers(self, key: str) -> dict[str, float | None]:
        node = self.maybe(key)
        return {name: number(value) for name, value in node.data.items()} if node else {}

    def sequence(self, key: str) -> Sequence[Any]:
        return self._get(key, lambda value: value if isinstance(value, list | tuple) else None, "list", ())

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(str(item) for item in self.sequence(key))

    def items(self, key: str) -> list[_Node]:
        return [self.item(key, place) for place in range(len(self.sequence(key)))]

    def item(self, key: str, place: int) -> _Node:
        return _Node(self.sequence(key)[place], self._name, f"{self._at(key)}[{place}]")

    def child(self, key: str) -> _Node:
        if key not in self.data:
            raise _broken(self._name, self._at(key), "is missing")
        return _Node(self.data[key], self._name, self._at(key))

    def maybe(self, key: str) -> _Node | None:
        return None if self.data.get(key) is None else self.child(key)


def _broken(name: str, place: str, what: str) -> RunError:
    return RunError(f"{name} is broken: {place or 'it'} {what}.", fix="Create the report again: memeval eval --resume RUN.")
