"""Memories are sentences that can be understood without their conversation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import Passage, Source
from memoryd.daydream.offline import HeuristicExtractor
from memoryd.daydream.offline.acts import corrected
from memoryd.daydream.offline.candidates import chosen, without_opener, without_questions
from memoryd.daydream.offline.findings import is_retraction
from memoryd.language import Relation, relate
from tests.memoryd.daydream.talk import active, contents, in_session, talk

CLAIM = "A: I checked the settings. The staging database listens on port 5432. I will use that."


@pytest.mark.parametrize(
    ("said", "stated"),
    [
        ("No, the staging database is on port 5544, not on 5432.", "The staging database is on port 5544, not on 5432."),
        ("Actually, the build uses Node 22, not Node 20.", "The build uses Node 22, not Node 20."),
        ("that's wrong: our API lives under /v2, not under /v1", "Our API lives under /v2, not under /v1."),
        ("No, it's on port 5544, not on 5432.", "The staging database is on port 5544, not on 5432."),
        ("Nope, it runs on 5544, not on 5432.", "The staging database runs on 5544, not on 5432."),
        ("Nein, die Datenbank läuft auf Port 5544, nicht auf 5432.", "Die Datenbank läuft auf Port 5544, nicht auf 5432."),
    ],
)
def test_a_correction_is_kept_as_a_statement_that_names_its_subject(said: str, stated: str) -> None:
    (kept,) = active(talk("U: start the app please", CLAIM, f"U: {said}"))
    assert kept.content == stated
    assert kept.source is Source.USER


@pytest.mark.parametrize(
    "text",
    [
        "No test may be skipped in CI, not even flaky_login.",  # "no" belongs to the statement.
        "No, not 5432.",  # Too little remains.
        "No, it is 5544, not 6000.",  # Nobody claimed 6000, so "it" could be anything.
    ],
)
def test_a_correction_that_cannot_be_reworded_soundly_stays_as_it_was_said(text: str) -> None:
    assert corrected(text, CLAIM[3:]) == text


def test_a_reworded_correction_still_replaces_what_it_corrects() -> None:
    old, new = "The staging database listens on port 5432.", "The staging database is on port 5544, not on 5432."
    assert relate(old, new) in (Relation.REPLACES,)


@pytest.mark.parametrize("opener", ["It turned out that the", "Turns out, the", "So it turns out the"])
def test_a_cause_that_turned_out_is_kept_without_these_words(opener: str) -> None:
    cause = "exports are empty because the job reads the replica too early; reading from the primary gives full files."
    assert f"The {cause}" in contents(talk("U: why are the exports empty?", f"A: I looked into it. {opener} {cause}", "U: ok"))


def test_questions_around_a_statement_are_left_out() -> None:
    text = "What does upper bound mean here? Rebased commits are newer than the checkpoint. Does this make sense?"
    assert without_questions(text) == "Rebased commits are newer than the checkpoint."
    assert without_questions("Shall we? Yes please.") == "Shall we? Yes please."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(I'm not 100% sure but it did start with an 'e')", "aside"),
        ("(it is only in the list of models in the old `config.yaml`)", "aside"),
        ("Learning Q: shouldn't the blobs have been reused in the new branch?", "question"),
        ("Hmm, doesn't the old index in `store.db` say that it should not be locked?", "question"),
        ("This is why I wanted to log the file.", "no subject"),
        ("@docs/prompt.md really ULTRATHINK this and never stop early.", "for this task"),
        ("Seems users can't get past the login of `portal-web`.", "report"),
        ("请你先别实现 `RetryQueue`，给出方案。", "for this task"),
    ],
)
def test_what_says_nothing_without_its_conversation_is_not_a_memory(text: str, reason: str) -> None:
    result = HeuristicExtractor().extract(Passage(talk("A: The parser is done.", f"U: {text}")))
    assert not result.candidates
    assert reason in result.skipped, result.skipped


@pytest.mark.parametrize(
    "text",
    [
        "Why don't we use `uv` instead of pip for the lock file?",
        "We decided to keep the queue in Redis (not in Kafka), because Kafka was too slow.",
    ],
)
def test_a_question_that_names_what_is_wanted_and_a_remark_within_a_sentence_stay(text: str) -> None:
    result = HeuristicExtractor().extract(Passage(talk("A: The parser is done.", f"U: {text}")))
    assert not {"question", "aside"} & result.skipped.keys()


@given(st.text(max_size=200), st.text(max_size=300))
def test_rewording_never_adds_words_but_those_of_the_corrected_text(text: str, before: str) -> None:
    known = set((text + " " + before).casefold().split()) | {"is"}
    assert set(corrected(text, before).casefold().split()) <= known


def test_a_question_with_a_statement_is_kept_without_the_question() -> None:
    text = "From now on run the linter with --strict before each commit. Is that clear?"
    assert contents(talk(f"U: {text}", "A: Understood.")) == "From now on run the linter with --strict before each commit."


@pytest.mark.parametrize(
    ("text", "wanted", "stated"),
    [
        ("I think we should keep the old export files", True, "We should keep the old export files"),
        ("imo, the name must never be shown in the list", True, "The name must never be shown in the list"),
        ("我觉得我们应该保留原有的计算逻辑", True, "我们应该保留原有的计算逻辑"),
        ("I think the server listens on port 8080", False, "I think the server listens on port 8080"),  # A guess remains a guess.
        ("Key finding: the cache of `store.db` is read twice", False, "The cache of `store.db` is read twice"),
    ],
)
def test_words_before_a_statement_go_where_that_changes_nothing(text: str, wanted: bool, stated: str) -> None:
    assert without_opener(text, wanted) == stated


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("let's take option 2: Store the token in the keychain (recommended)", "Store the token in the keychain"),
        ("option 1 please: Return the name from the endpoint, or", "Return the name from the endpoint"),
        ("Never use option 2: it breaks the build of the docs", "Never use option 2: it breaks the build of the docs"),
        ("The rule is: keep every line of the log", "The rule is: keep every line of the log"),
    ],
)
def test_a_pick_is_shown_as_the_option_that_was_picked(text: str, option: str) -> None:
    assert chosen(text) == option


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            "Good idea. From now on we always release on Tuesdays before lunch.",
            "From now on we always release on Tuesdays before lunch.",
        ),
        (
            "Good, from now on we always release on Tuesdays before lunch.",
            "From now on we always release on Tuesdays before lunch.",
        ),
        ("Right side panels must always stay open on wide screens.", "Right side panels must always stay open on wide screens."),
    ],
)
def test_an_opening_word_goes_and_a_word_of_the_statement_stays(said: str, kept: str) -> None:
    assert kept in contents(talk(CLAIM, f"U: {said}"))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Remember that Jonas owns the billing service now, Marta left.", "Jonas owns the billing service now, Marta left."),
        ("Remember: we use Kafka for the mail queue now.", "We use Kafka for the mail queue now."),
        ("Scrap that: remember the API timeout is 90 seconds.", "The API timeout is 90 seconds."),
        ("Correction, remember: the cache lives for 10 minutes.", "The cache lives for 10 minutes."),
        ("Actually no, remember: the demo is on port 3333.", "The demo is on port 3333."),
        ("Merke dir: der Testserver läuft jetzt auf Port 6000.", "Der Testserver läuft jetzt auf Port 6000."),
        (
            "Souviens-toi : le serveur de test écoute maintenant sur le port 9090.",
            "Le serveur de test écoute maintenant sur le port 9090.",
        ),
        ("Recuerda: la base de datos está ahora en el puerto 6000.", "La base de datos está ahora en el puerto 6000."),
        ("Lembre-se: o deploy agora é feito com GitHub Actions.", "O deploy agora é feito com GitHub Actions."),
        ("记住：现在测试数据库端口是6000。", "现在测试数据库端口是6000。"),
        ("覚えておいて：テストDBのポートは6000になりました。", "テストDBのポートは6000になりました。"),
        ("訂正：覚えておいて、キャッシュは10分です。", "キャッシュは10分です。"),
        ("기억해: 테스트 DB 포트는 5433이야.", "테스트 DB 포트는 5433이야."),
    ],
)
def test_what_is_to_be_remembered_may_say_that_it_is_new(said: str, kept: str) -> None:
    assert [one.content for one in active(in_session(said))] == [kept]


@pytest.mark.parametrize(
    "said",
    [
        "Remember to run the tests now.",
        "Remember: run the tests now.",
        "Remember that I'm testing the login now.",
        "Remember we're debugging the importer now.",
        "Remember that for now the tests are skipped.",
        "Remember, now is a bad time to deploy.",
        "Don't forget: deploy it right now.",
    ],
)
def test_what_is_to_be_remembered_for_the_moment_is_not_kept(said: str) -> None:
    assert not active(in_session(said))


@pytest.mark.parametrize(
    "said",
    [
        "My earlier diagnosis of the cart test was wrong, the fixture has no race.",
        "The initial explanation of the failing upload was mistaken.",
        "I take back what I said about the race in the fixture.",
        "I retract my claim that the fixture breaks the cart test.",
        "The fixture was never the problem: the cart test compares unsorted lists.",
        "The fixture has nothing to do with it.",
    ],
)
def test_an_agent_may_retract_a_cause_in_its_own_words(said: str) -> None:
    assert is_retraction(said)
