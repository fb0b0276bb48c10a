from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.report.html.page import Html, el, esc, join


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(markup: str) -> Seen:
    seen = Seen()
    seen.feed(markup)
    seen.close()
    return seen


@given(st.text())
def test_no_text_becomes_markup(text: str) -> None:
    seen = parsed(el("p", text, title=text))
    assert [tag for tag, _ in seen.tags] == ["p"]
    assert list(seen.tags[0][1]) == ["title"]
    clean = str(esc(text))
    assert "<" not in clean and ">" not in clean and '"' not in clean and "'" not in clean


def test_elements_nest_and_lists_are_opened() -> None:
    assert el("ul", [el("li", 1), [el("li", "<b>")]], None, cls="a b", aria_label='"x"') == (
        '<ul class="a b" aria-label="&quot;x&quot;"><li>1</li><li>&lt;b&gt;</li></ul>'
    )
    assert el("input", type="search", disabled=True, hidden=False, value=None) == '<input type="search" disabled>'
    assert join(["a", Html("<br>"), "&"], ", ") == "a, <br>, &amp;"


def test_control_characters_and_direction_overrides_are_replaced() -> None:
    assert esc("a\x00b\x1b[31m\u202egpj\ud800") == "a\ufffdb\ufffd[31m\ufffdgpj\ufffd"
    assert esc("tab\tline\n") == "tab\tline\n"


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", " JaVaScRiPt:alert(1)", "https://example.org/", "//example.org", "/etc/passwd", "\\\\host\\x",
             "data:text/html,x", "file:///x", "java\tscript:alert(1)", "\x01javascript:alert(1)"],
)  # fmt: skip
def test_links_stay_in_the_folder_of_the_report(link: str) -> None:
    with pytest.raises(ValueError, match="points outside the report"):
        el("a", "x", href=link)


def test_links_to_files_beside_and_to_anchors_are_fine() -> None:
    assert el("a", "x", href="run-1.html#q-1") == '<a href="run-1.html#q-1">x</a>'


@pytest.mark.parametrize("name", ["", "a b", "x>", "1a", "on\nclick"])
def test_names_are_checked(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid element"):
        el(name)
    with pytest.raises(ValueError, match="is not a valid element"):
        el("p", **{name: "x"})
