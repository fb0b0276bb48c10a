"""Private text: `<private>` in every spelling, and cursors without text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from memoryd.core.client_tags import without_hidden
from memoryd.core.state import Cursor
from memoryd.daydream.redact import strip_private, strip_whole_private
from memoryd.daydream.transcript import ReadLimits, read_transcript
from tests.costs import assert_linear

SPELLINGS = [
    ("<private>", "</private>"),
    ("<PRIVATE>", "</Private>"),
    ('<private reason="a client">', "</private>"),
    ("<private reason = x>", "</private >"),
    ("< private >", "</ private >"),
    ("<\tprivate\n>", "< / private>"),
    ("<pri\u200bvate>", "</private>"),
    ("\u200b<\u2060private>", "</\ufeffprivate>"),
    ("＜private＞", "＜/private＞"),
    ("<ｐｒｉｖａｔｅ>", "</private>"),
    ("&lt;private&gt;", "&lt;/private&gt;"),
    ("‹private›", "‹/private›"),
    ("<private: salary>", "</private>"),
    ("<private note>", "</private>"),
    ("<private />", "</private>"),
    ("<private!>", "</private>"),
    ("<private;>", "</private>"),
    ("<private|mine>", "</private>"),
    ("<private-note>", "</private-note>"),
    ("<private_data>", "</private>"),
    ("<begin private>", "<end private>"),
    ("<private\\>", "\\</private\\>"),
    ("&#60;private&#62;", "&#60;/private&#62;"),
    ("<!-- private -->", "<!-- /private -->"),
    ("<!--private-->", "<!--/private-->"),
    ("<!-- begin private -->", "<!-- end private -->"),
    ("＜!-- private: salary --＞", "＜!-- /private --＞"),
]
# They count when they are closed: alone they are a word in brackets, or the name of something else.
CLOSED_ONLY = [
    ("[private]", "[/private]"),
    ("[private]", "[end private]"),
    ("{private}", "{/private}"),
    ("［private］", "［/private］"),
    ("【private】", "【/private】"),
    ("｛private｝", "｛/private｝"),
    ("<private-key>", "</private-key>"),
    ("<priv>", "</priv>"),
    ("<privat>", "</privat>"),
    ("<Privé>", "</privé>"),
    ("<prive>", "</prive>"),
    ("<prywatne>", "</prywatne>"),
    ("<privte>", "</privte>"),
    ("<priavte>", "</private>"),
    ("<pivate>", "</private>"),
    ("<privatte>", "</private>"),
    ("「private」", "「/private」"),
    ("<privado>", "</privado>"),
    ("<privates>", "</privates>"),
    ("<приватное>", "</приватное>"),
    ("<私密>", "</私密>"),
    ("<非公開>", "</非公開>"),
]


@pytest.mark.parametrize(("opening", "closing"), [*SPELLINGS, *CLOSED_ONLY])
def test_what_is_marked_private_is_left_out_however_it_is_spelled(opening: str, closing: str) -> None:
    text = f"Before. {opening}the zirkonglobe{closing} After."
    assert strip_private(text).replace("\u200b", "") == "Before.  After."
    assert "zirkonglobe" not in strip_whole_private(text)


@pytest.mark.parametrize("opening", [opening for opening, _ in SPELLINGS if opening != "<private note>"])
def test_a_block_that_is_never_closed_reaches_to_the_end(opening: str) -> None:
    assert "zirkonglobe" not in strip_private(f"Before. {opening} the zirkonglobe\n\nand more of the zirkonglobe")


@pytest.mark.parametrize("opening", [opening for opening, _ in CLOSED_ONLY])
def test_a_word_in_brackets_that_is_never_closed_hides_nothing(opening: str) -> None:
    assert strip_private(f"Look at {opening} in the settings") == f"Look at {opening} in the settings"


@pytest.mark.parametrize(
    "opening", ["[private]", "{private}", "［private］", "- [private:]", "So far.\n{private note}", "Use tabs. [private]"]
)
def test_a_bracket_that_begins_a_sentence_and_is_never_closed_reaches_to_the_end(opening: str) -> None:
    assert "zirkonglobe" not in strip_private(f"{opening} the zirkonglobe\n\nand more of the zirkonglobe")


@pytest.mark.parametrize(
    "aside",
    ["[private: the zirkonglobe]", "(private: my zirkonglobe)", "{ Private : zirkonglobe }", "（私密：zirkonglobe）"],
)
def test_an_aside_ends_with_its_bracket(aside: str) -> None:
    assert strip_private(f"Take the bus {aside}, as always.") == "Take the bus , as always."
    assert strip_private(f"{aside} Take the bus.") == " Take the bus."


def test_a_tag_without_its_last_bracket_reaches_to_the_end_too() -> None:
    assert strip_private("Before. <private the zirkonglobe\nis mine") == "Before. "


def test_another_kind_of_bracket_closes_nothing() -> None:
    assert strip_private("The [private] part, and <private>that</private>.") == "The [private] part, and ."
    assert strip_private("<private>the zirkonglobe[/private] and more") == ""


def test_blocks_may_be_nested_and_a_stray_closing_tag_ends_nothing() -> None:
    assert strip_private("a<private>b<private>c</private>d</private>e") == "ae"
    assert strip_private("a</private>b<private>c</private>d") == "abd"


@pytest.mark.parametrize(
    "text",
    [
        "git clone <private key> here",
        "take <private-key> of it",
        "[private](https://example.org) is a link",
        "const {private} = x;",
        "privately <b>bold</b>",
        "a <privateer>",
        "if (a<private_count) {",
        "List<PrivateKey> keys",
    ],
)
def test_what_only_looks_like_the_tag_stays(text: str) -> None:
    assert strip_private(text) == text


@pytest.mark.parametrize(
    "part",
    [
        "<private>",
        "< private ",
        "<private a=",
        "</private>",
        "<",
        "<pri\u200b",
        "[private]",
        "{private}",
        "<!-- private",
        "<private-",
        "<private x",
        "<end private ",
    ],
)
def test_the_time_for_many_tags_grows_with_their_number(part: str) -> None:
    assert_linear(strip_private, part, 12_500)


def test_a_cursor_carries_no_text_and_the_turns_before_are_read_from_the_log(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = []
    for number in range(40):
        role = "assistant" if number % 2 else "user"
        message = {"role": role, "content": [{"type": "text", "text": f"zirkonglobe {number} " + "and so on " * 30}]}
        lines.append({"type": role, "uuid": f"u{number}", "sessionId": "s1", "cwd": "/w", "message": message})
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    limits = ReadLimits(tokens=300)
    held = stored = Cursor(str(path))
    for _ in range(8):
        by_process, by_log = (
            read_transcript(path, held, limits=limits),
            read_transcript(path, replace(stored, live=""), limits=limits),
        )
        assert (by_process.context, by_process.turns) == (by_log.context, by_log.turns)
        assert "zirkonglobe" not in by_log.cursor.context
        held, stored = by_process.cursor, by_log.cursor
    assert len(by_log.context) > 2


def test_a_long_run_of_joiners_costs_no_more_than_its_length() -> None:
    text = "\u200d" * 100_000
    assert without_hidden(text) == text
    assert without_hidden(f"a{text}b") == "ab"
    assert_linear(without_hidden, "\u200d", 12_500)
