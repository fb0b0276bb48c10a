from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import Kind, Passage, Polarity, Source, Status
from memoryd.daydream.offline import HeuristicExtractor
from memoryd.daydream.offline.acts import is_correction, worded
from memoryd.daydream.offline.findings import refuted
from memoryd.daydream.offline.reader import Skipped, passage_units, room
from memoryd.daydream.offline.sentences import episodes, sentences, size, statements
from memoryd.daydream.offline.unfit import is_farewell
from tests.memoryd.daydream.talk import contents, talk


def test_code_tables_and_headings_give_no_statement() -> None:
    text = "## Setup\n\nUse the `dev` profile.\n\n```sh\nrm -rf build\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nIt is faster."
    assert [s.text for s in statements(text)] == ["Use the `dev` profile.", "It is faster."]
    assert statements(text)[0].heading == "Setup"


def test_an_open_code_block_reaches_to_the_end() -> None:
    assert [s.text for s in statements("Look here.\n```\nnot this\nnor this")] == ["Look here."]


def test_a_fence_closes_only_with_its_own_marks() -> None:
    assert [s.text for s in statements("~~~\nnot this\n```\nnor this\n~~~\nBut this.")] == ["But this."]
    assert [s.text for s in statements("```one line```\nBut this.")] == ["But this."]


def test_list_items_stay_apart_and_wrapped_lines_are_joined() -> None:
    found = statements("- **First** item\n- Second item\n\nA paragraph that\nis wrapped.")
    assert [(s.text, s.bullet) for s in found] == [
        ("First item", True),
        ("Second item", True),
        ("A paragraph that is wrapped.", False),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Use e.g. Redis. Then stop.", ["Use e.g. Redis.", "Then stop."]),
        ("Run `a. B` now. Done.", ["Run `a. B` now.", "Done."]),
        ("Version 1.2.3 is out. See foo.py for it.", ["Version 1.2.3 is out.", "See foo.py for it."]),
        ("先这样。然后再说！好", ["先这样。", "然后再说！", "好"]),
        ("Это так. А то нет.", ["Это так.", "А то нет."]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(max_size=400))
def test_sentences_lose_no_word(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(st.text(max_size=600))
def test_statements_never_fail_and_are_never_empty(text: str) -> None:
    assert all(s.text and 0 <= s.position <= 1 for s in statements(text))


def test_size_counts_words_and_pairs_of_characters() -> None:
    assert size("three little words") == 3
    assert size("四个汉字") == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use tabs", "Use tabs."),
        ("`npm` is not used here", "`npm` is not used here."),
        ("is this it?", "Is this it?"),
        ("the steps are:", "The steps are."),
        ("src/a.py is generated", "src/a.py is generated."),
        ("不要用 npm", "不要用 npm."),
        ("不要修改这个文件", "不要修改这个文件。"),
    ],
)
def test_a_content_reads_as_a_sentence(text: str, expected: str) -> None:
    assert worded(text) == expected


def test_an_episode_starts_when_the_user_speaks() -> None:
    parts = episodes(talk("U: a", "U: b", "A: c", "T: d", "U: e", "A: f"))
    assert [(len(p.user), len(p.rest), p.first) for p in parts] == [(2, 2, True), (1, 1, False)]
    assert parts[1].before is not None and parts[1].before.text == "c"


def test_the_first_episode_answers_the_context() -> None:
    (part,) = episodes(talk("U: yes", first=2), talk("A: Shall I?"))
    assert part.before is not None and part.before.text == "Shall I?" and not part.first


def test_a_passage_that_starts_in_an_answer_knows_what_was_asked() -> None:
    (part,) = episodes(talk("A: Because it is late.", first=3), talk("U: why?", "A: Let me look."))
    assert part.user == () and [t.text for t in part.asked] == ["why?"]


def test_a_claim_is_refuted_by_its_later_opposite() -> None:
    parts = episodes(
        talk(
            "U: do both hooks run?",
            "A: The hooks in `local.json` and `settings.json` never run twice.",
            "U: please test that",
            "A: The hooks in `local.json` and `settings.json` run twice.",
        )
    )
    units = list(passage_units(parts, Skipped()))
    assert [units[i].turn.line for i in refuted(units, parts)] == [2]


def test_a_cause_is_not_refuted_by_its_cure() -> None:
    parts = episodes(
        talk(
            "U: why is the flag ignored?",
            "A: The bug is that `runEnable` does not receive the `noTelemetry` flag.",
            "U: fix it",
            "A: Now `runEnable` does receive the `noTelemetry` flag.",
        )
    )
    units = list(passage_units(parts, Skipped()))
    assert refuted(units, parts) == set()


def test_three_prompts_have_room_for_eight_proposals() -> None:
    proposed = 0
    for _ in range(9):
        proposed += room(proposed)
    assert proposed == 24


def test_what_the_session_gave_before_is_not_proposed_again() -> None:
    turns = talk("U: why does the login fail?", "A: The login reads its token from `cache.json`, which is never refreshed.")
    (first,) = HeuristicExtractor().extract(Passage(turns)).candidates
    again = HeuristicExtractor().extract(Passage(turns, given=(first.content,)))
    assert again.candidates == ()
    assert [entry.reason for entry in again.refused if "login reads" in entry.text] == ["repeated"]


@pytest.mark.parametrize(
    ("text", "corrects"),
    [
        ("No, the staging database is on port 5544, not on 5432.", True),
        ("Nein, die Datenbank liegt auf `db2`, nicht auf `db1`.", True),
        ("No, not that one.", False),
        ("No, is it on port 5544, not on 5432?", False),
        ("The staging database is on port 5544, not on 5432.", False),
        ("No problem at all, let us go on with the next step please.", False),
    ],
)
def test_a_correction_names_the_right_value_beside_the_wrong_one(text: str, corrects: bool) -> None:
    assert is_correction(text) is corrects


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("thanks, that's it for today", True),
        ("Das war's für heute.", True),
        ("That's it: the proxy must strip the header before it forwards the request to the backend.", False),
        ("Always say goodbye to the user when the session ends.", False),
    ],
)
def test_words_of_farewell_are_no_memory(text: str, ends: bool) -> None:
    assert is_farewell(text) is ends


def test_a_correction_in_a_later_turn_is_kept_as_surely_as_in_a_whole_log() -> None:
    turns = talk(
        "U: Which port has the staging database?",
        "A: The staging database listens on port 5432, as usual.",
        "U: No, the staging database is on port 5544, not on 5432.",
        "A: Understood, I will use port 5544.",
    )
    for passage in (Passage(turns), Passage(turns[2:], context=turns[:2])):
        (kept,) = [one for one in HeuristicExtractor().extract(passage).candidates if one.status is Status.ACTIVE]
        assert (kept.kind, kept.polarity, kept.source) == (Kind.ENVIRONMENT, Polarity.KNOW, Source.USER)


def test_a_rule_that_follows_a_question_is_kept_without_it() -> None:
    assert contents(talk("U: Which port is it? From now on always run `make lint` before you commit.")) == (
        "From now on always run `make lint` before you commit."
    )


def test_a_labelled_root_cause_is_kept_in_a_short_session() -> None:
    turns = talk(
        "U: Why is the total off by a cent?",
        "A: Root cause: `applyDiscount` in src/total.ts rounds each line before summing, so the total is off by a cent.",
    )
    (kept,) = HeuristicExtractor().extract(Passage(turns)).candidates
    assert kept.kind is Kind.FIX
