"""Render the page of a run_bench command: its cells, their comparison, and each session's use of memory."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memeval.core.types import EMPTY
from memeval.report.html.charts import ScatterPoint, scatter
from memeval.report.html.page import Html, card, el, esc, facts, join, page, table
from memeval.report.html.run_page import anchor, mark, metric_text, trajectories
from memeval.report.runs import CLAUDE_CODE, MetricCell, RunResult, client_label, number
from memeval.report.table import NONE, dollars, interval, is_number, p_value, percent, points

TASK_CHARACTERS = 120
_NUMBERS = frozenset(
    {"accuracy %", "95 % interval", "against off", "recency", "efficiency", "relevancy", "tokens", "cost", "of it memory"}
)


@dataclass(frozen=True, slots=True)
class CellView:
    """The values of a run shown on the page.

    `marks` maps tasks, in order, to a word and a page fragment. `texts` contains the beginning of each task's prompt.
    """

    run_id: str
    group: str
    benchmark: str
    arm: str
    model: str
    repeat: int
    metric: MetricCell | None
    client: Mapping[str, Any]
    cost: float | None
    tokens: float
    trajectories: str
    marks: Mapping[str, tuple[str, str]]
    day: str = ""
    texts: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    @property
    def name(self) -> str:
        """Return a name that is unique within the benchmark."""
        return f"{self.arm} {self.model}" + (f" #{self.repeat}" if self.repeat > 1 else "")

    @property
    def accuracy(self) -> float | None:
        """Return the accuracy as counted by the command. Running out of time or turns counts as wrong.

        Older files only count scored questions.
        """
        reported = self._reported_accuracy()
        return number(reported["value"]) if "interval" in reported else self.metric.value_scored if self.metric else None

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Return the confidence interval of `accuracy`."""
        reported = self._reported_accuracy()
        if "interval" in reported:
            ends = reported["interval"] or {}
            return number(ends.get("low")), number(ends.get("high"))
        return (self.metric.low, self.metric.high) if self.metric else (None, None)

    def _reported_accuracy(self) -> Mapping[str, Any]:
        four = self.client.get("four_metrics")
        reported = four.get("accuracy") if isinstance(four, Mapping) else None
        return reported if isinstance(reported, Mapping) else {}


def cell_view(run: RunResult) -> CellView | None:
    """Build the view of a run, or None if it is not a cell of a run_bench command."""
    client = run.find("claudecode")
    if not isinstance(client, Mapping) or not client.get("group"):
        return None
    named = run.find("claudecode", "four_metrics", "accuracy", "metric")
    metric = named if isinstance(named, str) and named in run.metrics else run.primary
    tokens = [number(run.find("usage", "total", name)) or 0 for name in ("input_tokens", "output_tokens")]
    repeat = number(client.get("repeat"))
    file = trajectories(run)
    return CellView(
        run.run_id,
        str(client["group"]),
        run.benchmark,
        str(client.get("arm")),
        str(client.get("model")),
        int(repeat or 1),
        run.metrics[metric] if metric else None,
        client,
        run.cost,
        sum(tokens),
        file.name if file else "",
        {question.key: (mark(question, metric), anchor(question)) for question in run.questions},
        run.finished_at[:10],
        {question.key: _beginning(question.text) for question in run.questions},
    )


def _beginning(text: str) -> str:
    return text if len(text) <= TASK_CHARACTERS else f"{text[: TASK_CHARACTERS - 1]}…"


def grouped(cells: Iterable[CellView]) -> dict[str, list[CellView]]:
    """Group cells by command, sorted by benchmark, then memory before no memory, then model and repeat."""
    groups: dict[str, list[CellView]] = defaultdict(list)
    for cell in cells:
        groups[cell.group].append(cell)
    for members in groups.values():
        members.sort(key=lambda cell: (cell.benchmark, cell.arm == "off", cell.model, cell.arm, cell.repeat))
    return dict(groups)


def command_title(cells: Sequence[CellView]) -> str:
    """Return the arms, models and day of a command, which are more informative than its id."""
    arms = ", ".join(dict.fromkeys(cell.arm for cell in sorted(cells, key=lambda cell: (cell.arm != "off", cell.arm))))
    models = ", ".join(dict.fromkeys(cell.model for cell in cells))
    clients = ", ".join(dict.fromkeys(client_label(cell.client) for cell in cells if _is_other(cell)))
    day = max((cell.day for cell in cells), default="")
    return " · ".join(part for part in (clients, arms, models, day) if part)


def _is_other(cell: CellView) -> bool:
    """Return whether the client is one that a title names. The default one is not named."""
    return bool(cell.client.get("client", CLAUDE_CODE) != CLAUDE_CODE)


def by_size(commands: Mapping[str, Sequence[CellView]]) -> list[str]:
    """Return the ids of commands, those with the most tasks first. Ties are ordered latest first."""
    newest = sorted(commands, key=lambda group: (max(cell.day for cell in commands[group]), group), reverse=True)
    return sorted(newest, key=lambda group: -_tasks_of(commands[group]))


def _tasks_of(cells: Sequence[CellView]) -> int:
    """Return the number of tasks of the largest cell."""
    return max((len(cell.marks) for cell in cells), default=0)


def read_summary(file: Path) -> Mapping[str, Any]:
    """Read a command's summary with its comparisons. It is empty if the command did not finish."""
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def run_bench_page(
    group: str,
    cells: Sequence[CellView],
    links: Mapping[str, str],
    summary: Mapping[str, Any],
    tasks: Mapping[str, Mapping[str, str]] = EMPTY,
) -> str:
    """Render the whole page. `links` maps run ids to pages, and `tasks` maps each benchmark's tasks to their pages."""
    return page(
        f"Does memory pay? {command_title(cells)}",
        el("p", el("a", "All runs", href="index.html"), cls="small"),
        el("h1", "Does memory pay?"),
        el("p", f"{_client(cells)} on the same tasks: {command_title(cells)}. Run {group}.", cls="soft"),
        list(sections(cells, links, summary, tasks)),
    )


def _client(cells: Sequence[CellView]) -> str:
    """Return the client of a command with its version, if all cells have the same."""
    named = {f"{client_label(cell.client)} {cell.client.get('client_version') or ''}".strip() for cell in cells}
    return named.pop() if len(named) == 1 else " and ".join(sorted({client_label(cell.client) for cell in cells}))


def sections(
    cells: Sequence[CellView],
    links: Mapping[str, str],
    summary: Mapping[str, Any],
    tasks: Mapping[str, Mapping[str, str]] = EMPTY,
) -> Iterator[Html]:
    """Render the answers, a section per benchmark (those with the most tasks first), and a section for the repeats."""
    by_benchmark: dict[str, list[CellView]] = defaultdict(list)
    for cell in cells:
        by_benchmark[cell.benchmark].append(cell)
    ordered = sorted(by_benchmark.items(), key=lambda pair: -_tasks_of(pair[1]))
    yield el("h2", "In short")
    yield el("div", [_answer(name, members, _comparisons(summary, name)) for name, members in ordered], cls="grid")
    yield from _faults(cells)
    for name, members in ordered:
        yield _benchmark(name, members, links, _comparisons(summary, name), tasks.get(name, {}))
    yield from _spread(summary)


_ANSWERS = {"pays": "Yes", "harms": "No, it harms"}


def _answer(benchmark: str, cells: Sequence[CellView], comparisons: Sequence[Mapping[str, Any]]) -> Html:
    """Render the conclusion of a benchmark's primary comparison: the effect, its interval, its cost and its certainty."""
    found = [one for one in comparisons if _is_primary(one)]
    if not found:
        return card(benchmark, el("p", "No conclusion yet: the command is unfinished, or has no two arms to compare."))
    one = found[0]
    first, second = (one[side] for side in ("first", "second"))
    verdict = str(one["verdict"])
    low, high = one["interval"]["low"], one["interval"]["high"]
    size = f"{one['questions']} tasks" + (f" in {one['power']['clusters']} groups" if one.get("power") else "")
    rows: list[tuple[str, object]] = [
        ("effect", f"{points(one['difference'])} points, {first['arm']} instead of {second['arm']}"),
        ("95 % interval", f"{points(low)} to {points(high)}"),
        ("cost", _cost_of(cells, first, second)),
        ("how sure", f"p {p_value(one['p_holm'])} ({one['test']}), on {size}"),
    ]
    more = el("p", one["enough"], cls="soft small") if one.get("enough") else None
    return card(benchmark, join([el("p", el("strong", _ANSWERS.get(verdict, verdict)), cls="tile"), facts(rows), more or ""]))


def _is_primary(one: Mapping[str, Any]) -> bool:
    """Return whether a comparison was chosen before the run. Older summaries corrected all comparisons against no memory."""
    return bool(one["role"] == "primary" if "role" in one else one.get("kind") in ("memory", "grid"))


def _cost_of(cells: Sequence[CellView], first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Return the cost of a task in both arms, including the history that memory needs."""
    costs = [_cost_per_task([cell for cell in cells if (cell.arm, cell.model) == (side["arm"], side["model"])])
             for side in (first, second)]  # fmt: skip
    one, two = costs
    if one is None or two is None:
        return NONE
    return f"{dollars(one)} per task instead of {dollars(two)}, including history"


def _cost_per_task(cells: Sequence[CellView]) -> float | None:
    paid = [cell.cost for cell in cells if cell.cost is not None]
    tasks = sum(len(cell.marks) for cell in cells)
    return sum(paid) / tasks if tasks and len(paid) == len(cells) else None


def _faults(cells: Sequence[CellView]) -> Iterator[Html]:
    """List the faults of all cells before the figures that they affect."""
    lines = [f"{cell.benchmark}, {line}" for cell in cells for line in fault_lines(cell.name, cell.client)]
    if lines:
        yield join([el("h2", "Faults"), el("ul", [el("li", el("strong", line)) for line in lines])])


def _benchmark(
    name: str,
    cells: Sequence[CellView],
    links: Mapping[str, str],
    comparisons: Sequence[Mapping[str, Any]],
    pages: Mapping[str, str],
) -> Html:
    columns = ("arm", "model", "accuracy %", "95 % interval", "against off", "recency", "efficiency", "relevancy", "sessions",
               "tokens", "cost", "of it memory")  # fmt: skip
    parts = [el("h2", name), table(columns, [_row(cell, cells, links) for cell in cells], _NUMBERS, stacked=True)]
    if comparisons:
        parts.append(_verdicts(comparisons))
    dots = [
        ScatterPoint(cell.name, cell.cost, cell.accuracy, *cell.interval, links.get(cell.run_id))
        for cell in cells
        if cell.cost is not None and cell.accuracy is not None
    ]
    if dots:
        note = "Per cent, with 95 % intervals. Costs include the history, day dreams and judges."
        parts.append(card("Score against cost", scatter(dots, f"accuracy over cost of each arm on {name}"), note=note))
    return join([*parts, el("h3", "Every task"), _tasks(cells, links, pages)])


def _row(cell: CellView, cells: Sequence[CellView], links: Mapping[str, str]) -> tuple[object, ...]:
    name = cell.arm + (f" #{cell.repeat}" if cell.repeat > 1 else "")
    four = cell.client.get("four_metrics")
    metrics = four if isinstance(four, Mapping) else {}
    sessions = _sessions(cell.client.get("sessions"))
    return (
        el("a", name, href=links[cell.run_id]) if cell.run_id in links else esc(name),
        cell.model,
        percent(cell.accuracy),
        interval(*cell.interval),
        points(_delta(cell, cells)),
        *(metric_text(metrics.get(one)) for one in ("recency", "efficiency", "relevancy")),
        el("a", sessions, href=cell.trajectories) if cell.trajectories else sessions,
        f"{cell.tokens:,.0f}",
        dollars(cell.cost),
        dollars(memory_cost(cell.client)),
    )


def memory_cost(client: Mapping[str, Any]) -> float | None:
    """Return the cost of memory itself: replaying the history, and its own models.

    Older results don't contain it.
    """
    parts = client.get("costs")
    found = [number(parts[name].get("cost_usd")) for name in ("replays", "memory")] if isinstance(parts, Mapping) else [None]
    known = [cost for cost in found if cost is not None]
    return sum(known) if len(known) == len(found) else None


def fault_lines(name: str, client: Mapping[str, Any]) -> Iterator[str]:
    """Describe the faults of a cell: failed day dreams, and questions left unscored by a fault."""
    dreams, unscored = client.get("daydreams"), client.get("unscored")
    if isinstance(dreams, Mapping) and dreams.get("failed"):
        yield f"{name}: {dreams['failed']} day dreams failed, so its memory is incomplete. {dreams.get('problem', '')}"
    if isinstance(ungraded := _ungraded(client), Mapping) and ungraded:
        task, reason = next(iter(ungraded.items()))
        tasks = ", ".join(list(ungraded)[:10]) + (" …" if len(ungraded) > 10 else "")
        yield f"{name}: not scored because they can't be graded on this machine: {tasks}. {task}: {reason}"
    if isinstance(unscored, Mapping) and unscored:
        causes = ", ".join(f"{count} {fault}" for fault, count in unscored.items())
        yield f"{name}: {sum(unscored.values())} questions are unscored because of faults ({causes}) until a --resume."


def _ungraded(client: Mapping[str, Any]) -> Any:
    summary = client.get("summary")
    return summary.get("ungraded") if isinstance(summary, Mapping) else None


def _delta(cell: CellView, cells: Sequence[CellView]) -> float | None:
    """Return the difference from the cell without memory with the same model and repeat."""
    for other in cells:
        if other.arm == "off" != cell.arm and (other.model, other.repeat) == (cell.model, cell.repeat):
            one, two = cell.accuracy, other.accuracy
            return None if one is None or two is None else one - two
    return None


def _sessions(sessions: Any) -> str:
    if not isinstance(sessions, Mapping) or not isinstance(sessions.get("by_status"), Mapping):
        return NONE
    ended = ", ".join(f"{count} {status}" for status, count in sessions["by_status"].items())
    return f"{ended}; {sessions['cached']} from the cache" if sessions.get("cached") else ended


def _comparisons(summary: Mapping[str, Any], benchmark: str) -> list[Mapping[str, Any]]:
    found = summary.get("comparisons")
    return [one for one in found if one.get("benchmark") == benchmark] if isinstance(found, list) else []


def _verdicts(comparisons: Sequence[Mapping[str, Any]]) -> Html:
    columns = ("comparison", "verdict", "questions", "difference, points", "95 % interval", "p", "detectable, points", "test")
    return table(columns, [_verdict(one) for one in comparisons], frozenset(columns[2:7]), stacked=True)


def _verdict(one: Mapping[str, Any]) -> tuple[object, ...]:
    first, second = (f"{one[side]['arm']} {one[side]['model']}" for side in ("first", "second"))
    question = f"{one['question']} " if one.get("question") else ""
    low, high = one["interval"]["low"], one["interval"]["high"]
    return (
        f"{question}{first} – {second}",
        str(one["verdict"]) if _is_primary(one) else f"exploratory: {one['verdict']}",
        str(one["questions"]),
        points(one["difference"]),
        f"{points(low)} to {points(high)}",
        p_value(one["p"] if one["p_holm"] is None else one["p_holm"]),
        points(_detectable(one)).lstrip("+"),
        one["test"],
    )


def _detectable(one: Mapping[str, Any]) -> float | None:
    limits = one.get("power")
    return number(limits.get("smallest_detectable")) if isinstance(limits, Mapping) else None


def _tasks(cells: Sequence[CellView], links: Mapping[str, str], pages: Mapping[str, str]) -> Html:
    """Render one row per task.

    Tasks on which the cells differ come first. Each mark links to the task on the cell's page.
    """
    tasks = list(dict.fromkeys(task for cell in cells for task in cell.marks))
    tasks.sort(key=lambda task: len({cell.marks[task][0] for cell in cells if task in cell.marks}) < 2)
    texts = {task: text for cell in cells for task, text in cell.texts.items()}
    columns = ("task", "asked", *(cell.name for cell in cells))
    names = {task: el("a", task, href=pages[task]) if task in pages else esc(task) for task in tasks}
    return table(columns, [(names[task], texts.get(task, ""), *(_mark(cell, task, links) for cell in cells)) for task in tasks])


def _mark(cell: CellView, task: str, links: Mapping[str, str]) -> Html:
    if task not in cell.marks:
        return esc(NONE)
    word, fragment = cell.marks[task]
    shown = el("span", word, cls=f"mark {word}")
    return el("a", shown, href=f"{links[cell.run_id]}#{fragment}") if cell.run_id in links else shown


def _spread(summary: Mapping[str, Any]) -> Iterator[Html]:
    found = summary.get("variance")
    rows = [one for one in found if is_number(one.get("mean"))] if isinstance(found, list) else []
    if rows:
        columns = ("cell", "repeats", "mean %", "standard deviation")
        cells = [(one["cell"], len(one["repeats"]), percent(one["mean"]), percent(one["standard_deviation"])) for one in rows]
        yield join([el("h2", "Repeats"), table(columns, cells, frozenset(columns[1:]))])
