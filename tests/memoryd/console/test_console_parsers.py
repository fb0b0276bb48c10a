"""What comes from outside, whatever it is, becomes plain values, safe HTML or one clear error."""

import re
from datetime import UTC, datetime
from itertools import pairwise

from auditing import harm
from hypothesis import given
from hypothesis import strategies as st

from memoryd.console.fields import from_form, from_json, from_query
from memoryd.console.markdown import render
from memoryd.console.sessions import Session, Sessions
from memoryd.errors import InputError
from memoryd.stores.browse import Key, parse_key

PIECES = st.sampled_from(
    [
        "<",
        ">",
        '"',
        "'",
        "&",
        "`",
        "[",
        "](",
        ")",
        "!",
        "javascript:",
        "data:",
        "//",
        "\\",
        "\n",
        "|",
        "-",
        "<script",
        "onload=",
        "&#106;",
        "x",
        " ",
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join))
def test_markdown_of_anything_is_safe(text):
    assert harm(render(text)) == []


@given(st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=12))
def test_headings_of_a_memory_never_skip_a_level_below_the_title_of_the_page(levels):
    text = "\n\n".join(f"{'> ' if quoted else ''}{'#' * level} heading" for level, quoted in levels)
    found = [1, *(int(level) for level in re.findall(r"<h(\d)>", render(text)))]
    assert len(found) == len(levels) + 1
    assert all(2 <= here <= before + 1 for before, here in pairwise(found))
    assert [int(level) for level in re.findall(r"</h(\d)>", render(text))] == found[1:]


def test_a_table_scrolls_by_itself_and_can_be_reached_by_keyboard():
    html = render("| a | b |\n|:-:|---|\n| 1 | 2 |\n\nafter")
    assert html.startswith('<div class="scroll" tabindex="0" role="group" aria-label="Table">\n<table>')
    assert "</table>\n</div>\n<p>after" in html


@given(st.binary(max_size=200))
def test_any_query_form_or_body_is_read_or_refused(raw):
    for read in (from_query, from_form, from_json):
        try:
            fields = read(raw)
        except InputError:
            continue
        for name, value in fields.pairs():
            assert isinstance(name, str) and isinstance(value, str)


@given(st.integers(0, 4_000_000_000), st.from_regex(r"mem_[0-9a-f]{12}", fullmatch=True))
def test_a_place_in_the_list_survives_an_address(moment, id):
    key = Key(datetime.fromtimestamp(moment, UTC), id)
    assert parse_key(key.to_text()) == key


@given(st.text(max_size=100))
def test_no_other_text_is_a_token_or_a_ticket(text):
    session, sessions = Session(), Sessions()
    own = session.csrf()
    assert session.is_csrf(own)
    assert not Session().is_csrf(own)
    assert text == own or not session.is_csrf(text)
    assert sessions.redeem(text) is None
    assert sessions.get(text) is None
