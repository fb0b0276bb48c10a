from __future__ import annotations

import base64
import re
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import RunError
from memeval.core.types import Phase
from memeval.report import parse_run, read_run
from memeval.report.html import page_name, write_run, write_site
from memeval.report.html.run_page import anchor, mark, run_page
from memeval.report.html.site import index_page
from memeval.results.files import ResultsDir
from tests.memeval.result_files import Asked, many, result, rewritten, write

ATTACKS = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><svg onload=alert(1)>",
    "<!--",
    "]]><a href=javascript:alert(1)>x</a>",
    "{{7*7}}\u202e\x00",
)


class Page(HTMLParser):
    """Collects tags with attributes, and all text except in script and style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.raw: dict[str, str] = {}
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in:
            self.raw[self._in] = data
        else:
            self.text += data


def hostile(attack: str) -> dict[str, Any]:
    """Return a result with an attack in every untrusted text: data sets, answers, errors, names and settings."""
    asked = [
        Asked("q1" + attack, {"f1" + attack: 0.5}, type=attack, case=attack, text=attack, expected=(attack,), answer=attack,
              pieces=(attack,), reason=attack, category=attack),
        Asked("q2", error=(Phase.ANSWER, attack)),
    ]  # fmt: skip
    about = {
        "benchmark": {"name": attack, "data_hash": attack},
        "provider": {"name": attack},
        "settings": {attack: attack, "variant": attack},
        "models": {"answering": attack, "judge": attack},
        "times": {"finished_at": attack, "created_at": attack},
        "provenance": {"git": {"commit": attack}},
    }
    return result(f"run {attack}", asked, **about)


def own_tags(page: Page) -> list[tuple[str, list[str]]]:
    return [(tag, sorted(attrs)) for tag, attrs in page.tags]


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_of_a_result_becomes_markup(attack: str) -> None:
    run, harmless = parse_run(hostile(attack)), parse_run(hostile("x"))
    for page, plain in (
        (Page(run_page(run)), Page(run_page(harmless))),
        (Page(index_page([run], {}, [attack])), Page(index_page([harmless], {}, ["x"]))),
    ):
        assert own_tags(page) == own_tags(plain)
        assert sum(tag == "script" for tag, _ in page.tags) <= 1
        assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)


def test_the_attack_is_shown_as_the_text_that_it_is() -> None:
    assert Page(run_page(parse_run(hostile(ATTACKS[0])))).text.count(ATTACKS[0]) > 10


@pytest.mark.parametrize("make", [lambda run: run_page(run), lambda run: index_page([run], {"r1": "r1.html"})])
def test_a_page_needs_nothing_but_itself(make: Any) -> None:
    text = make(parse_run(result("r1", many())))
    page = Page(text)
    assert not re.search(r"https?:|url\(|@import|<link|<iframe|<img|<object|fetch\(|XMLHttp|WebSocket", text)
    links = [attrs["href"] for _, attrs in page.tags if "href" in attrs]
    assert links and all(link and re.fullmatch(r"[\w.-]+\.html", link) for link in links)
    assert not [attrs for _, attrs in page.tags if "src" in attrs or "style" in attrs]


def test_the_policy_allows_the_pages_own_style_and_script_only() -> None:
    page = Page(run_page(parse_run(result("r1", many(3)))))
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy and "default-src 'none'" in policy and "unsafe" not in policy
    for kind in ("style", "script"):
        digest = base64.b64encode(sha256(page.raw[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_every_question_can_be_opened() -> None:
    asked = [
        *many(5, 3),
        Asked("e", error=(Phase.SEARCH, "HTTP 500")),
        Asked("u", {"llm_accuracy": None}, reason="it said maybe"),
    ]
    page = Page(run_page(parse_run(result("r1", asked))))
    rows = [attrs for tag, attrs in page.tags if tag == "details" and attrs.get("class") == "q"]
    assert [row["data-mark"] for row in rows] == ["right"] * 3 + ["wrong"] * 2 + ["failed", "unscored"]
    assert len({row["id"] for row in rows}) == 7
    for words in ("Question 4?", "under the pot", "Ada: the key is under the pot", "search: HTTP 500", "it said maybe",
                  "No answer was made.", "Nothing was retrieved.", "48 retrieval scores"):  # fmt: skip
        assert words in page.text


def test_numbers_and_denominators_are_on_the_page() -> None:
    asked = [*many(8, 6), Asked("e", error=(Phase.ANSWER, "x")), Asked("u", {"llm_accuracy": None})]
    text = Page(run_page(parse_run(result("r1", asked)))).text
    assert "60.0 %" in text and "8 of 10" in text and "1 failed, 1 unscored, 0 skipped" in text
    assert "Retrieval by session" in text and "by evidence targets" in text and "Latency" in text and "$0.009" in text


def test_a_result_of_the_first_schema_has_a_page() -> None:
    run = read_run(Path(__file__).parents[2] / "golden" / "results_v1.json")
    text = Page(run_page(run)).text
    assert run.questions[1].error and run.questions[1].error in text and run.metric_names[0] in text


def test_a_cost_that_an_earlier_run_paid_is_said() -> None:
    data = result("a", many(5, 4))
    data["usage"]["total"]["cached_calls"] = 5
    run = parse_run(data)
    assert "5 calls from the cache" in Page(run_page(run)).text
    assert "bm25 (in part from the cache)" in Page(index_page([run], {})).text


def test_a_run_in_which_nothing_is_scored_has_a_page() -> None:
    for asked in ([], [Asked("a", error=(Phase.INGEST, "down"))], [Asked("a", {"f1": None})]):
        text = Page(run_page(parse_run(result("r1", asked)))).text
        assert "Nothing was scored" in text and not re.search(r"\bnan\b", text.lower())


def test_marks_follow_the_score() -> None:
    questions = parse_run(result("r", [Asked(str(v), {"f1": v}) for v in (1.0, 0.5, 0.0, None)])).questions
    assert [mark(question, "f1") for question in questions] == ["right", "partly", "wrong", "unscored"]
    assert mark(questions[0], "exact") == "skipped" and mark(questions[0], None) == "unscored"


def test_an_anchor_is_the_same_in_each_run_and_differs_between_cases() -> None:
    one, same, other = (
        parse_run(result(run, [Asked("q", case=case)])).questions[0] for run, case in (("a", "c"), ("b", "c"), ("a", "d"))
    )
    assert anchor(one) == anchor(same) != anchor(other)


def test_the_index_keeps_benchmarks_apart_and_links_the_pages() -> None:
    runs = [parse_run(result("a", many(5, 4))), parse_run(result("b", many(5, 2), benchmark={"name": "locomo"}))]
    text = index_page(runs, {"a": "a.html", "b": "b.html"})
    assert "2 runs of 2 benchmarks" in text and text.count("<h2>") == 2
    assert '<a href="a.html">a</a>' in text and '<a href="b.html">b</a>' in text


def test_a_run_of_unknown_cost_is_left_out_of_the_cost_chart_and_counted() -> None:
    runs = [parse_run(result("a", many(5, 4))), parse_run(result("b", many(5, 2, cost=None)))]
    text = Page(index_page(runs, {})).text
    assert "1 with unknown cost not shown" in text


def test_the_site_has_a_page_for_each_run_and_names_what_it_left_out(tmp_path: Path) -> None:
    write(tmp_path, result("r1", many(5, 4)))
    write(tmp_path, result("r2", many(5, 3)))
    rewritten(write(tmp_path, result("r3", many(5, 3))), schema_version=99)
    write(tmp_path, result("r2", many(5, 5), times={"finished_at": "2025-01-01T00:00:00Z"}), name="again")
    index = write_site(ResultsDir(tmp_path))
    assert index == tmp_path / "html" / "index.html"
    assert sorted(path.name for path in index.parent.iterdir()) == ["index.html", "r1.html", "r2.html"]
    text = Page(index.read_text("utf-8")).text
    assert "2 runs of 1 benchmark" in text and "schema version 99" in text and "r2.json is an older result of run r2" in text
    assert "2025-01-01" in (index.parent / "r2.html").read_text("utf-8")


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path, result("r1", many(5, 4)))
    first = {path.name: path.read_bytes() for path in write_site(ResultsDir(tmp_path)).parent.iterdir()}
    assert first == {path.name: path.read_bytes() for path in write_site(ResultsDir(tmp_path), tmp_path / "x").parent.iterdir()}


def test_a_folder_without_results_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="There are no results in"):
        write_site(ResultsDir(tmp_path))


@pytest.mark.parametrize("run_id", ["../../etc/x", "a/b", "", "index", "...", "x" * 300, "a b", "run-é"])
def test_any_run_id_gives_a_name_within_the_folder(run_id: str, tmp_path: Path) -> None:
    name = page_name(run_id)
    assert re.fullmatch(r"[A-Za-z0-9][\w.-]{0,140}\.html", name) and name != "index.html" and "/" not in name
    path = write_run(parse_run(result(run_id or "x", [])), tmp_path)
    assert path.parent == tmp_path and path.exists()


def test_names_that_are_safe_stay_as_they_are_and_others_stay_apart() -> None:
    assert page_name("20240601-080000-ab12.sample.bm25") == "20240601-080000-ab12.sample.bm25.html"
    assert page_name("a b") != page_name("a-b") != page_name("a/b")
