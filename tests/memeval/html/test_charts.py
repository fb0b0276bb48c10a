from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.report.html.charts import (
    WIDTH,
    Bar,
    LatencySpan,
    Line,
    Scale,
    ScatterPoint,
    bars,
    curves,
    decades,
    latencies,
    scatter,
    steps,
)

SHARE = st.floats(0, 1)


def numbers(markup: str, name: str) -> list[float]:
    return [float(value) for value in re.findall(rf' {name}="(-?[\d.]+)"', markup)]


def test_bars_are_as_long_as_their_values() -> None:
    chart = bars([Bar("half", 0.5, 0.4, 0.6, "n = 9"), Bar("all", 1.0), Bar("none", 0.0)], "shares")
    half, whole, nothing = numbers(chart, "width")
    assert half == pytest.approx(whole / 2) and nothing == 0
    assert "<title>half: 50.0 (40.0 to 60.0) n = 9</title>" in chart and 'aria-label="shares"' in chart


def test_a_bar_without_a_value_says_so() -> None:
    chart = bars([Bar("odd", None)], "x")
    assert "unscored" in chart and "<rect" not in chart


def test_a_small_chart_is_drawn_as_it_was() -> None:
    assert bars([Bar("a", 0.5, 0.25, 0.75)], "x") == "".join(
        [
            f'<svg viewBox="0 0 {WIDTH} 54" role="img" aria-label="x">',
            *(
                f'<line x1="{x}" y1="4" x2="{x}" y2="32" class="grid-line"></line>'
                f'<text x="{x}" y="48" text-anchor="middle">{label}</text>'
                for x, label in ((150.0, 0), (226.5, 25), (303.0, 50), (379.5, 75), (456.0, 100))
            ),
            '<g><title>a: 50.0 (25.0 to 75.0)</title><text x="142" y="22" text-anchor="end">a</text>',
            '<rect x="150" y="11" width="153.0" height="14" rx="2" class="f1"></rect>',
            '<path d="M226.5 14V22M226.5 18H379.5M379.5 14V22" class="whisker"></path>',
            '<text x="387.5" y="22" text-anchor="start" class="v">50.0</text></g></svg>',
        ]
    )


def test_curves_rise_to_the_right_and_upwards() -> None:
    chart = curves([Line("recall_any", ((1, 0.2), (5, 0.8), (50, 1.0)))], "x")
    xs, ys = numbers(chart, "cx"), numbers(chart, "cy")
    assert xs == sorted(xs) and ys == sorted(ys, reverse=True) and len(xs) == 3
    assert "<title>recall_any@5: 80.0</title>" in chart and "<li>" in chart


def test_a_single_cut_off_is_drawn_too() -> None:
    assert "<circle" in curves([Line("recall_any", ((5, 0.2),))], "x")


def test_latencies_of_zero_do_not_break_the_axis() -> None:
    chart = latencies([LatencySpan("search", 0.0, 0.5, 90.0), LatencySpan("answer", 1.0, 1.0, 1.0)], "x")
    assert len(numbers(chart, "cx")) == 6
    assert "search p99: 90 s" in chart


def test_costs_are_on_the_way_right_and_accuracy_on_the_way_up() -> None:
    chart = scatter([ScatterPoint("cheap", 0.0, 0.5, 0.4, 0.6, "cheap.html"), ScatterPoint("dear", 2.5, 0.9)], "x")
    (x1, x2), (y1, y2) = numbers(chart, "cx"), numbers(chart, "cy")
    assert x1 < x2 and y1 > y2
    assert '<a href="cheap.html">cheap</a> 50.0, $0' in chart


def test_all_costs_may_be_zero() -> None:
    assert scatter([ScatterPoint("a", 0.0, 0.5), ScatterPoint("b", 0.0, 0.6)], "x").count("<circle") == 2


@given(st.lists(st.builds(Bar, st.text(), SHARE, SHARE, SHARE, st.text()), max_size=5), st.text())
def test_any_chart_is_well_formed_and_stays_inside(rows: list[Bar], says: str) -> None:
    root = ElementTree.fromstring(bars(rows, says).replace("&#x27;", "'"))
    assert root.tag == "svg"
    for rect in root.iter("rect"):
        assert 0 <= float(rect.attrib["x"]) + float(rect.attrib["width"]) <= WIDTH


@given(st.floats(1e-9, 1e9))
def test_steps_are_few_and_round_and_reach_the_highest_value(high: float) -> None:
    found = steps(high)
    assert 2 <= len(found) <= 7 and found[0] == 0 and found[-1] >= high * (1 - 1e-6)


@given(st.lists(st.floats(1e-4, 1e5), min_size=1, max_size=5))
def test_decades_enclose_all_values(values: list[float]) -> None:
    found = decades(values)
    assert found[0] <= min(values) * (1 + 1e-9) and found[-1] >= max(values) * (1 - 1e-9) and len(found) >= 2


def test_a_scale_clips_what_is_beyond_it() -> None:
    scale = Scale(0, 1, 100, 200)
    assert [scale(-5), scale(0.25), scale(7)] == [100, 125, 200]
    assert Scale(3, 3, 100, 200)(3) == 150
