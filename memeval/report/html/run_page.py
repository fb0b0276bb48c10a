"""Render the page of a run with its questions. For a run with a client, also show the cost of the sessions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from memeval.core.types import Phase
from memeval.report.beside import targets_table
from memeval.report.failures import evidence_found
from memeval.report.html.charts import Bar, LatencySpan, Line, bars, curves, latencies
from memeval.report.html.page import Html, asset, card, el, facts, join, page, table, tile
from memeval.report.runs import MetricCell, QuestionResult, RetrievedHit, RunResult, ScoreEntry, client_label, number
from memeval.report.table import NONE, Table, dollars, interval, is_number, percent, seconds, short
from memeval.report.tables import PHASES, metrics_table, rankings_table, whole_table

MARKS = ("right", "partly", "wrong", "failed", "unscored", "skipped", "open")


def anchor(question: QuestionResult) -> str:
    """Return the page fragment of a question, which is the same in all reports of the benchmark."""
    return anchor_of(question.key)


def anchor_of(key: str) -> str:
    """Return the anchor of the question with the given key."""
    return f"q-{sha256(key.encode()).hexdigest()[:12]}"


def mark(question: QuestionResult, metric: str | None) -> str:
    """Return the outcome of a question in one word, based on the page's metric."""
    if question.status == "pending":
        return "open"
    if question.status == "failed":
        return "failed"
    if metric is None:
        return "unscored"
    entry = question.entry(metric)
    if entry.value is None:
        return entry.status if entry.status in MARKS else "unscored"
    return "right" if entry.value >= 1 else "partly" if entry.value > 0 else "wrong"


def question_row(question: QuestionResult, metric: str | None, more: Html | None = None) -> Html:
    """Render a question's line and its expandable details, which start with `more`."""
    word = mark(question, metric)
    value = question.entry(metric).value if metric else None
    shown = word if value is None or word != "partly" else f"{word} {value:.2f}"
    line = el(
        "summary",
        el("span", shown, cls=f"mark {word}"),
        el("span", question.text, cls="text"),
        el("span", question.type, cls="soft small"),
    )
    return el(
        "details", line, more, question_details(question), cls="q", id=anchor(question), data_type=question.type, data_mark=word
    )


def question_details(question: QuestionResult) -> Html:
    """Render the details of a question: facts, answer, expected answer, scores and retrieved hits."""
    return join(
        [
            facts(
                [
                    ("question", question.key),
                    ("category", question.category),
                    ("asked at", question.at),
                    ("error", f"{question.error_phase}: {question.error}" if question.error_phase else ""),
                    ("evidence found", evidence_found(question)),
                    ("time", _times(question)),
                ]
            ),
            _guarded(question),
            el("h3", "Answered"),
            _said(_answers(question), "No answer was made."),
            el("h3", "Expected"),
            _said(question.answers, "The data set has no gold answer."),
            el("h3", "Judged"),
            _judged(question),
            el("h3", "Retrieved"),
            [_piece(piece, question) for piece in question.retrieved] or el("p", "Nothing was retrieved.", cls="soft"),
        ]
    )


def _guarded(question: QuestionResult) -> Html:
    """Render what the guard said about a tool call, if the provider has a guard."""
    if question.guard is None:
        return join([])
    return join([el("h3", "The guard said"), _said([question.guard] if question.guard else [], "Nothing; the call is made.")])


def _answers(question: QuestionResult) -> Iterable[str]:
    """Return the answer, or the answers of all epochs."""
    return question.epochs or ([question.hypothesis] if question.hypothesis is not None else [])


def _times(question: QuestionResult) -> str:
    return ", ".join(f"{phase} {seconds(question.seconds[phase])}" for phase in Phase if phase in question.seconds)


def _said(texts: Iterable[str], otherwise: str) -> Html:
    found = [el("div", text or "(empty)", cls="said", dir="auto") for text in texts]
    return join(found or [el("p", otherwise, cls="soft")])


def _judged(question: QuestionResult) -> Html:
    """Render the answer scores one by one. The many ranking scores are collapsed."""
    answers = {name: entry for name, entry in question.scores.items() if "." not in name}
    rankings = {name: entry for name, entry in question.scores.items() if "." in name}
    parts: list[Html] = [_scores(answers)] if answers else []
    if rankings:
        parts.append(el("details", el("summary", f"{len(rankings)} retrieval scores", cls="small"), _rankings(rankings)))
    return join(parts or [el("p", "Nothing was scored.", cls="soft")])


def _scores(scores: dict[str, ScoreEntry]) -> Html:
    rows = [(name, _value(entry), entry.status, entry.reason, entry.judge) for name, entry in scores.items()]
    return table(("metric", "value", "status", "reason", "judge"), rows, frozenset({"value"}))


def _value(entry: ScoreEntry) -> str:
    """Format a score, with the scores of the epochs in brackets."""
    if entry.value is None:
        return NONE
    epochs = f" ({', '.join(f'{value:.3g}' for value in entry.epochs)})" if entry.epochs else ""
    return f"{entry.value:.3f}{epochs}"


def _rankings(scores: dict[str, ScoreEntry]) -> Html:
    """Render rankings with a row per metric and a column per cut-off. A missing value is replaced by its status."""
    rows: dict[str, dict[str, str]] = {}
    for name, entry in scores.items():
        stem, _, cut_off = name.partition("@")
        rows.setdefault(stem, {})[cut_off] = entry.status if entry.value is None else f"{entry.value:.3g}"
    cut_offs = sorted({k for row in rows.values() for k in row}, key=lambda k: (len(k), k))
    columns = ("metric", *(f"@{k}" if k else "value" for k in cut_offs))
    return table(columns, [(stem, *(row.get(k, "") for k in cut_offs)) for stem, row in rows.items()], frozenset(columns[1:]))


def _piece(piece: RetrievedHit, question: QuestionResult) -> Html:
    """Render a retrieved hit. A hit from the evidence has a green edge."""
    is_hit = not {*question.evidence_sessions, *question.evidence_turns}.isdisjoint({*piece.sessions, *piece.turns})
    where = ", ".join([*piece.sessions, *piece.turns][:8])
    more = f" … {piece.length - len(piece.text):,} more characters" if piece.length > len(piece.text) else ""
    score = "" if piece.score is None else f", score {short(round(piece.score, 3))}"
    heading = f"{piece.rank}{' (evidence)' if is_hit else ''}{score}{', ' + piece.at if piece.at else ''}"
    return join(
        [
            el("p", heading, el("br"), where, cls="soft small"),
            el("div", piece.text or "(empty)", el("span", more, cls="soft"), cls="said hit" if is_hit else "said", dir="auto"),
        ]
    )


_RANKED = re.compile(r"(?P<level>[\w-]+)\.(?P<metric>[\w-]+)@(?P<k>\d+)")
_CURVES = ("recall_any", "recall_all", "recall_fraction", "ndcg")
_RECORDED = (
    "settings",
    "models",
    "prompts",
    "index_backend",
    "benchmark",
    "provider",
    "provenance",
    "abstention",
    "ingest",
)


def run_page(run: RunResult, *, index: str = "index.html") -> str:
    """Render the whole page. `index` is the path of the list of all runs."""
    metric = run.primary
    return page(
        f"{run.benchmark} with {run.provider}",
        el("p", el("a", "All runs", href=index), cls="small"),
        el("h1", f"{run.benchmark} with {run.provider}"),
        el("p", f"Run {run.run_id}. {sentence(run)}", cls="soft"),
        el("div", list(tiles(run, metric)), cls="tiles"),
        el("div", [chart for _, chart in charts(run, metric)], cls="grid"),
        el("h2", "All metrics"),
        el("p", "A failed or unscored question counts as 0 in the value. Skipped ones, which the protocol excludes, do "
        "not count.",
           cls="soft small"),
        list(metrics(run)),
        list(client_section(run)),
        el("h2", "How it was made"),
        made(run),
        el("h2", "Questions"),
        el("p", f"Right, partly and wrong are determined by {metric}." if metric else "Nothing was scored.", cls="soft small"),
        _filters(run, metric),
        [question_row(question, metric) for question in run.questions],
        script=asset("filter.js"),
    )  # fmt: skip


def metrics(run: RunResult) -> Iterator[Html]:
    """Render all answer metrics, and rankings by cut-off. The intervals and denominators of rankings are collapsed."""
    everything = metrics_table(run)
    answers = [row for row in everything.rows if "." not in row[0]]
    if answers:
        yield table(everything.columns, answers, everything.numbers)
    for content in (targets_table(run), whole_table(run)):
        if content.rows:
            yield _table(content)
    if len(answers) < len(everything.rows):
        yield _table(rankings_table(run))
        yield el("details", el("summary", "Every metric with its interval and denominators", cls="small"), _table(everything))


def _table(content: Table) -> Html:
    return table(content.columns, content.rows, content.numbers)


def sentence(run: RunResult) -> str:
    """Summarise the answering model, the judge and the date in one sentence."""
    model, judge = run.answering_model, run.judge_model
    answered = f"Answered by {model}" if model else "Retrieval only, no answers"
    judged = f", judged by {judge}" if model and judge else ""
    return f"{answered}{judged}. Finished {run.finished_at}." if run.finished_at else f"{answered}{judged}."


def tiles(run: RunResult, metric: str | None) -> Iterator[Html]:
    """Render the most important figures."""
    if metric is not None:
        cell = run.metrics[metric]
        yield tile(metric, f"{percent(cell.value)} %", f"95 % interval {interval(cell.low, cell.high)}")
        yield tile("scored", f"{cell.scored:,} of {cell.total - cell.skipped:,}", _missing(cell))
    failed = sum(question.status == "failed" for question in run.questions)
    yield tile("questions", f"{len(run.questions):,}", f"{failed:,} failed")
    yield tile("search, median", seconds(_latency(run, "search", "p50")), f"p95 {seconds(_latency(run, 'search', 'p95'))}")
    yield tile("cost", dollars(run.cost), _tokens(run))


def _missing(cell: MetricCell) -> str:
    return f"{cell.failed:,} failed, {cell.unscored:,} unscored, {cell.skipped:,} skipped"


def _tokens(run: RunResult) -> str:
    used = [number(run.find("usage", "total", name)) for name in ("input_tokens", "output_tokens")]
    cached = f", {run.cached_calls:,} calls from the cache" if run.cached_calls else ""
    return f"{sum(value or 0 for value in used):,.0f} tokens{cached}"


def _latency(run: RunResult, phase: str, name: str) -> float | None:
    return number(run.find("times", "latency", phase, name))


def charts(run: RunResult, metric: str | None) -> Iterator[tuple[str, Html]]:
    """Render a card for each available chart, by name."""
    if metric is not None and run.metrics[metric].by_type:
        by_type = bars(type_bars(run, metric), f"{metric} by question type, per cent")
        yield "types", card(f"{metric} by question type", by_type, note="Per cent, with 95 % intervals.")
    for level, lines in retrieval_lines(run).items():
        over_k = curves(lines, f"retrieval metrics over k at {level} level")
        yield f"retrieval by {level}", card(f"Retrieval by {level}", over_k, note=_targets(run))
    if spans := latency_spans(run):
        percentiles = latencies(spans, "latency percentiles of each phase")
        yield "latency", card("Latency", percentiles, note="Seconds a call; logarithmic.")
    if run.cost:
        yield "cost", card("Cost", _costs(run))


def _targets(run: RunResult) -> str:
    variant = run.setting("variant")
    return f"Per cent, by {variant} targets." if variant else "Per cent."


def type_bars(run: RunResult, metric: str) -> list[Bar]:
    """Return a bar for each question type, followed by one for all questions."""
    cell = run.metrics[metric]
    rows = [*cell.by_type.items(), ("all", cell)]
    return [Bar(name, one.value, one.low, one.high, f"n = {one.total - one.skipped}", one is cell) for name, one in rows]


def retrieval_lines(run: RunResult) -> dict[str, list[Line]]:
    """Return the curves over k by level. Their order is fixed, so that a metric keeps its colour."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for name, cell in run.metrics.items():
        match = _RANKED.fullmatch(name)
        if match and match["metric"] in _CURVES and cell.value is not None and int(match["k"]) > 0:
            found.setdefault(match["level"], {}).setdefault(match["metric"], []).append((int(match["k"]), cell.value))
    return {
        level: [Line(name, tuple(sorted(by_metric[name]))) for name in _CURVES if name in by_metric]
        for level, by_metric in found.items()
    }


def latency_spans(run: RunResult) -> list[LatencySpan]:
    """Return the latency percentiles of all measured phases."""
    spans = []
    for phase in PHASES:
        p50, p95, p99 = (_latency(run, phase, name) for name in ("p50", "p95", "p99"))
        if p50 is not None and p95 is not None and p99 is not None:
            spans.append(LatencySpan(phase, p50, p95, p99))
    return spans


def _costs(run: RunResult) -> Html:
    rows = []
    for phase in (*PHASES, "total"):
        used = run.find("usage", phase) or {}
        tokens = (f"{number(used.get(name)) or 0:,.0f}" for name in ("calls", "input_tokens", "output_tokens"))
        rows.append((phase, *tokens, dollars(number(used.get("cost_usd")))))
    columns = ("phase", "calls", "tokens in", "tokens out", "cost")
    return table(columns, rows, frozenset(columns[1:]))


def made(run: RunResult) -> Html:
    """Render all recorded settings of the run."""
    commit = run.find("provenance", "git", "commit")
    dirty = " with changes" if run.find("provenance", "git", "dirty") else ""
    pairs = [
        ("commit", f"{commit}{dirty}" if commit else NONE),
        ("data", run.data_hash),
        ("seed", run.find("seed")),
        ("index", run.find("index_backend")),
        ("begun", run.find("times", "created_at")),
        ("finished", run.finished_at),
    ]
    whole = {name: run.find(name) for name in _RECORDED}
    dump = json.dumps({key: value for key, value in whole.items() if value}, ensure_ascii=False, indent=1, default=str)
    everything = el("details", el("summary", "All recorded settings", cls="small"), el("div", dump, cls="said small"))
    return join([facts(pairs), everything])


def _filters(run: RunResult, metric: str | None) -> Html:
    types = sorted({question.type for question in run.questions})
    found = {mark(question, metric) for question in run.questions}
    return el(
        "div",
        _choice("type", "all types", types),
        _choice("mark", "all results", [name for name in MARKS if name in found]),
        el("input", id="words", type="search", placeholder="words", aria_label="words in the question or what is behind it"),
        el("span", id="shown", cls="soft small", aria_live="polite"),
        cls="filters",
    )


def _choice(name: str, everything: str, options: list[str]) -> Html:
    chosen = [el("option", everything, value=""), *[el("option", option, value=option) for option in options]]
    return el("select", chosen, id=name, aria_label=name)


def client_section(run: RunResult) -> Iterator[Html]:
    """Render the section of a run with a client such as Claude Code, which is empty for other runs."""
    client = run.find("claudecode")
    if not isinstance(client, Mapping):
        return
    yield el("h2", client_label(client))
    rows = [(name, str(value)) for name, value in _facts(run, client)]
    yield table(("what", "value"), rows, frozenset())
    if (file := trajectories(run)) is not None:
        yield el("p", el("a", "Trajectories", href=file.name), " of all sessions, one JSON line each.", cls="small")


def trajectories(run: RunResult) -> Path | None:
    """Return the path of the trajectory file next to the result, or None if it is missing.

    The file is copied to the page's folder.
    """
    name = run.find("claudecode", "trajectories")
    if not isinstance(name, str) or run.path is None or Path(name).name != name:
        return None
    file = run.path.with_name(name)
    return file if file.is_file() else None


def _facts(run: RunResult, client: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield "arm", client.get("arm", NONE)
    yield "model", client.get("model", NONE)
    yield "client", f"{client_label(client)} {client.get('client_version', NONE)}"
    yield "history", run.find("claudecode", "differences", "history") or NONE
    ended = run.find("claudecode", "sessions", "by_status")
    if isinstance(ended, Mapping):
        yield "sessions", ", ".join(f"{number} {status}" for status, number in ended.items())
        if cached := run.find("claudecode", "sessions", "cached"):
            yield "from the cache", f"{cached} sessions paid for by an earlier run"
    dreams = run.find("claudecode", "daydreams")
    if isinstance(dreams, Mapping) and dreams.get("failed"):
        yield "day dreams that failed", f"{dreams['failed']}: {dreams.get('problem', '')}"
    parts = run.find("claudecode", "costs")
    if isinstance(parts, Mapping):
        yield "costs", ", ".join(f"{name} {dollars(number(one.get('cost_usd')))}" for name, one in parts.items())
    for name in ("accuracy", "recency", "efficiency", "relevancy"):
        yield name, metric_text(run.find("claudecode", "four_metrics", name))


def metric_text(cell: Any) -> str:
    """Format a metric with its target and whether the target is met."""
    if not isinstance(cell, Mapping) or not is_number(cell.get("value")):
        return NONE
    target = (
        f" (target {percent(cell['target'])} %, {'met' if cell.get('met') else 'not met'})"
        if is_number(cell.get("target"))
        else ""
    )
    return f"{percent(cell['value'])} %{target}"
