"""Draw SVG charts without scripts and scale their axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memeval.report.html.page import Html, el, esc, join
from memeval.report.table import dollars, percent, seconds, short


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear or logarithmic mapping of [low, high] to [start, end].

    Values outside are clipped, so that they stay within the chart.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel position of a value, rounded to one decimal."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def steps(high: float, count: int = 5) -> list[float]:
    """Return about `count` round values from 0 to just above `high`. Their spacing is 1, 2 or 5 times a power of ten."""
    if not high > 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(high / count))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power * count >= high * (1 - 1e-9))
    return [number * step for number in range(math.ceil(high / step - 1e-9) + 1)]


def decades(values: Sequence[float]) -> list[float]:
    """Return at least two powers of ten that enclose all values. The values must be positive."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


WIDTH = 520
_COLOURS = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A share with its interval. A row without a `value` says so."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A named curve of points (k, share)."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class LatencySpan:
    """The percentiles of a latency in seconds."""

    label: str
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """A run in the scatter plot, with its cost in US dollars and its accuracy with an interval."""

    label: str
    cost: float
    value: float
    low: float | None = None
    high: float | None = None
    href: str | None = None


def svg(height: int, says: str, *children: object) -> Html:
    """Render the picture. `says` is the text for screen readers."""
    return el("svg", *children, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=says)


def _text(x: float, y: float, words: str, anchor: str = "start", cls: str | None = None) -> Html:
    return el("text", words, x=x, y=y, text_anchor=anchor, cls=cls)


def _line(x1: float, y1: float, x2: float, y2: float, cls: str) -> Html:
    return el("line", x1=x1, y1=y1, x2=x2, y2=y2, cls=cls)


def _cut(words: str, length: int) -> str:
    return words if len(words) <= length else words[: length - 1] + "…"


def bars(rows: Sequence[Bar], says: str) -> Html:
    """Draw shares between 0 and 100 % as bars with a common base line. Whiskers show the intervals."""
    scale = Scale(0, 1, 150, WIDTH - 64)
    height = 28 * len(rows) + 26
    ticks = [_tick_down(scale(share), height - 22, f"{share * 100:.0f}") for share in (0, 0.25, 0.5, 0.75, 1)]
    return svg(height, says, ticks, [_bar(row, 28 * number, scale) for number, row in enumerate(rows)])


def _tick_down(x: float, bottom: float, words: str) -> Html:
    return join([_line(x, 4, x, bottom, "grid-line"), _text(x, bottom + 16, words, "middle")])


def _bar(row: Bar, top: float, scale: Scale) -> Html:
    middle = top + 18
    label = _text(scale.start - 8, middle + 4, _cut(row.label, 22), "end", "v" if row.strong else None)
    if row.value is None:
        return el("g", el("title", f"{row.label}: unscored {row.note}"), label, _text(scale.start + 6, middle + 4, "unscored"))
    end = scale(row.value)
    interval = ""
    shown = end
    if row.low is not None and row.high is not None:
        left, right = scale(row.low), scale(row.high)
        interval = f" ({percent(row.low)} to {percent(row.high)})"
        shown = right
    return el(
        "g",
        el("title", f"{row.label}: {percent(row.value)}{interval} {row.note}".rstrip()),
        label,
        el("rect", x=scale.start, y=middle - 7, width=max(0.0, round(end - scale.start, 1)), height=14, rx=2, cls="f1"),
        _whisker(left, right, middle) if interval else None,
        _text(max(end, shown) + 8, middle + 4, percent(row.value), cls="v"),
    )


def _whisker(left: float, right: float, y: float) -> Html:
    return el("path", d=f"M{left} {y - 4}V{y + 4}M{left} {y}H{right}M{right} {y - 4}V{y + 4}", cls="whisker")


def legend(names: Iterable[str]) -> Html:
    """Render the colour legend."""
    keys = [
        el(
            "li",
            el("svg", el("rect", width=12, height=12, rx=3, cls=f"f{_colour(n)}"), viewBox="0 0 12 12", aria_hidden="true"),
            name,
        )
        for n, name in enumerate(names)
    ]
    return el("ul", keys, cls="legend")


def _colour(number: int) -> int:
    return number % _COLOURS + 1


def curves(lines: Sequence[Line], says: str) -> Html:
    """Draw shares over the cut-off k on a logarithmic axis. There are at most four lines, each with its own colour."""
    lines = lines[:_COLOURS]
    cut_offs = sorted({k for line in lines for k, _ in line.points})
    across = Scale(cut_offs[0], cut_offs[-1], 40, WIDTH - 20, log=True)
    up = Scale(0, 1, 200, 12)
    grid = [
        join([_line(40, up(y), WIDTH - 20, up(y), "grid-line"), _text(32, up(y) + 4, f"{y * 100:.0f}", "end")])
        for y in (0, 0.25, 0.5, 0.75, 1)
    ]
    names = [_text(across(k), 218, f"{k:g}", "middle") for k in cut_offs]
    drawn = [_curve(line, _colour(number), across, up) for number, line in enumerate(lines)]
    title = _text((across.start + across.end) / 2, 236, "k, pieces retrieved", "middle")
    return join([legend(line.name for line in lines), svg(242, says, grid, names, title, drawn)])


def _curve(line: Line, colour: int, across: Scale, up: Scale) -> Html:
    path = "L".join(f"{across(k)} {up(value)}" for k, value in line.points)
    marks = [
        el("circle", el("title", f"{line.name}@{k:g}: {percent(v)}"), cx=across(k), cy=up(v), r=4, cls=f"f{colour} ring")
        for k, v in line.points
    ]
    return el("g", el("path", d=f"M{path}", cls=f"l{colour}"), marks)


_PERCENTILES = ("p50", "p95", "p99")


def latencies(rows: Sequence[LatencySpan], says: str) -> Html:
    """Draw the median and the 95th and 99th percentiles of each phase on a shared logarithmic axis."""
    values = [max(value, 1e-4) for row in rows for value in (row.p50, row.p95, row.p99)]
    marks = decades(values)
    scale = Scale(marks[0], marks[-1], 90, WIDTH - 30, log=True)
    height = 34 * len(rows) + 30
    ticks = [_tick_down(scale(mark), height - 24, seconds(mark)) for mark in marks]
    drawn = [_span(row, 34 * number + 20, scale) for number, row in enumerate(rows)]
    return join([legend(_PERCENTILES), svg(height, says, ticks, drawn)])


def _span(row: LatencySpan, y: float, scale: Scale) -> Html:
    values = (row.p50, row.p95, row.p99)
    dots = [
        el(
            "circle",
            el("title", f"{row.label} {name}: {seconds(value)}"),
            cx=scale(max(value, scale.low)),
            cy=y,
            r=5,
            cls=f"f{_colour(number)} ring",
        )
        for number, (name, value) in enumerate(zip(_PERCENTILES, values, strict=True))
    ]
    span = _line(scale(max(row.p50, scale.low)), y, scale(max(row.p99, scale.low)), y, "span")
    return el("g", _text(scale.start - 12, y + 4, _cut(row.label, 12), "end", "v"), span, dots[::-1])


def scatter(dots: Sequence[ScatterPoint], says: str) -> Html:
    """Draw accuracy over cost. Each run is a numbered dot with its interval. The names are listed below."""
    marks = steps(max(dot.cost for dot in dots))
    across = Scale(0, marks[-1], 48, WIDTH - 24)
    up = Scale(0, 1, 216, 14)
    grid = [
        join([_line(48, up(y), WIDTH - 24, up(y), "grid-line"), _text(40, up(y) + 4, f"{y * 100:.0f}", "end")])
        for y in (0, 0.25, 0.5, 0.75, 1)
    ]
    names = [_text(across(mark), 234, dollars(mark), "middle") for mark in marks]
    title = _text((across.start + across.end) / 2, 252, "cost of the run, US dollars", "middle")
    drawn = [_dot(dot, number, across, up) for number, dot in enumerate(dots, start=1)]
    keys = el("ol", [el("li", _named(dot)) for dot in dots], cls="small soft")
    return join([svg(258, says, grid, names, title, drawn), keys])


def _named(dot: ScatterPoint) -> Html:
    label = el("a", dot.label, href=dot.href) if dot.href else esc(dot.label)
    return join([label, f" {percent(dot.value)}, {dollars(dot.cost)}"])


def _dot(dot: ScatterPoint, number: int, across: Scale, up: Scale) -> Html:
    x, y = across(dot.cost), up(dot.value)
    whisker = None
    if dot.low is not None and dot.high is not None:
        whisker = el("path", d=f"M{x} {up(dot.low)}V{up(dot.high)}", cls="whisker")
    title = el("title", f"{dot.label}: {percent(dot.value)}, {dollars(dot.cost)}")
    return el("g", title, whisker, el("circle", cx=x, cy=y, r=5, cls="f1 ring"), _text(x + 8, y + 4, short(number), cls="v"))
