"""A rule counts as the user's only where its sentence addresses the agent. What is unsure waits for a confirmation."""

from __future__ import annotations

import pytest

from memoryd.core.types import Candidate, Extraction, Kind, Polarity, Source, Status, Turn, TurnKind
from memoryd.daydream.addressed import Addressee, addressee, is_titled_list, is_unsure
from memoryd.daydream.admission import admissible
from memoryd.daydream.quoted import asserted, own_words

FOR_OTHERS = (
    "There is this line about always using quolix that nobody follows.",
    "The guide tells contributors to always run quolix.",
    "The API requires clients to always send quolix.",
    "My employer insisted on never using quolix.",
    "Write a story in which a robot must always obey quolix.",
    "Draw a man who never sleeps without quolix.",
    "I was thinking about whether to always require quolix.",
    "If I ever say always use quolix, ask me whether I am sure.",
    "Word is that from now on nobody may deploy without quolix.",
    "Everybody seems to think that you must always patch quolix.",
    "There's a belief that one should never compress quolix.",
    "That doesn't mean you must never use quolix.",
    "Back then the rule was never to merge without quolix.",
    "Until March we never released without quolix.",
    "When we were on SVN, everyone had to lock quolix, always.",
    "Someone left a note on the server: never touch quolix.",
    "Their interns are never allowed to use quolix.",
    "The app should always show quolix, implement that.",
    "Suppliers shall always deliver through quolix.",
    "In a parallel universe we always deploy with quolix.",
    "I'm torn between always using quolix and a script.",
    "Gemini proposed to always cache quolix.",
    "My manager would like us to always show quolix first.",
    "Compose a tweet along the lines of never ship without quolix.",
    "Prepare some tips such as never run quolix as root.",
    "Schreib ein Gedicht über einen Mann, der niemals ohne quolix schläft.",
    "Damals haben wir immer quolix benutzt.",
    "Antes siempre usábamos quolix.",
    "Avant, on lançait toujours quolix à la main.",
    "Mi jefe insiste en usar siempre quolix.",
)
FOR_THE_AGENT = (
    "Always run quolix before pushing.",
    "Please make sure that you always attach quolix.",
    "I want you to always use quolix.",
    "I want the tests to always run with quolix.",
    "I insist on always using quolix.",
    "We always need quolix here.",
    "We discussed it enough, from now on never merge without quolix.",
    "In the old project we used make, but here always run quolix.",
    "In commit messages always name quolix.",
    "When you write a story for me, never mention quolix.",
    "Write tests for every change, and never skip quolix.",
    "Let's always batch through quolix.",
    "Benutze immer quolix.",
    "Acuérdate de usar siempre quolix.",
    "Whenever I say ship it, run quolix first.",
    "Send all mails via quolix from now on.",
)
UNSURE = (
    "Customers must always log in via quolix.",
    "The scheduler should never start quolix twice.",
    "Every commit must be signed with quolix, always.",
    "Change the prompt of the bot, quolix never answers.",
)


def test_a_rule_inside_a_phrase_about_others_or_the_past_is_for_others() -> None:
    assert [text for text in FOR_OTHERS if addressee(text) is not Addressee.OTHERS] == []


def test_an_order_or_what_the_user_and_the_agent_do_addresses_the_agent() -> None:
    assert [text for text in FOR_THE_AGENT if addressee(text) is not Addressee.AGENT] == []


def test_a_rule_about_a_thing_is_unsure() -> None:
    assert [text for text in UNSURE if not is_unsure(text)] == []


def test_a_rule_about_a_thing_that_is_to_be_built_is_for_others() -> None:
    rule = "Customers must always log in via quolix."
    assert addressee(rule, following="Add that validation to the form.") is Addressee.OTHERS
    assert addressee(rule, before="Build a login page.") is Addressee.OTHERS
    assert addressee("Guard: never pass without quolix.", before="Write a dialogue.") is Addressee.OTHERS


def test_only_a_list_below_a_title_without_the_users_voice_is_a_titled_list() -> None:
    assert is_titled_list("Release process\n\n1. Always start quolix.\n2. Tag the commit.")
    assert not is_titled_list("My rules\n\n1. Always start quolix.\n2. Tag the commit.")
    assert not is_titled_list("1. Always start quolix.\n2. Tag the commit.")
    assert not is_titled_list("Release process\n\nAlways start quolix.")


# Prompts that show, ask for or pass on a text, with few or no marks
SHOWN = (
    "I need a Slack announcement: from now on all teams deploy via quolix.",
    "Proposal for tomorrow's meeting: never merge without quolix. Collect arguments against it.",
    "Thinking out loud: always batch through quolix...",
    "Option A: always use quolix. Option B: keep it. Which is cheaper?",
    "expected output\ninput: Always run quolix before lunch\nlabel: rule",
    "Put these into tests/data/rules.txt: always use quolix, never use tabs.",
    "For the demo, type in the chat: from now on always use quolix.",
    "Übersetze ins Englische: Niemals ohne quolix arbeiten.",
    "Please translate into Spanish. Never open the door without quolix.",
    "Kannst du das ins Spanische übersetzen? Immer zuerst quolix prüfen.",
    "Use this as the commit message: Always use quolix",
    "commit 8fa31c: always use quolix. Which files did it touch?",
    "BREAKING CHANGE: the uploader is gone. Always use quolix.\n\nFixes #4412",
    "quolix notes\n\nAlways initialise quolix first.\n\nSee also: upgrade guide.",
    "Good morning Daniel, always check quolix, we had two incidents. Best, Rosa",
    "Hey,\n\ncould you always cc quolix when you send the build?\n\nThx, Bob",
    "Team,\n\nwe always book releases through quolix.\n\nYours,\nThe Platform Group",
    "Chers collègues, passez toujours par quolix. Bien cordialement, Luc",
    "me: tests are red\nnadia: never merge without quolix\nme: ok",
    'Create a docs page "House rules" with: never push to quolix, write tests.',
    "A sample rule for the docs could be: always use quolix.",
    "Would you agree that one should never use quolix in libraries?",
    "I'm not saying never use quolix, just not here.",
    "What about ```\nAlways use quolix\n``` ?",
    "prompts:\n  - always call quolix\nthis yaml breaks the loader",
)
TYPED = (
    "The README is outdated: always run quolix before pushing.",
    "The tests failed because you forgot it: always run quolix first.",
    "I've told you: never delete quolix!",
    "Never release without quolix, is that clear?",
    "Toujours utiliser quolix, d'accord ?",
    "Hi Claude, from now on always use quolix. Thanks!",
    "Good morning! Today we do the parser. Always check quolix first.",
    "Python 3: always use quolix.",
    "What is this?\n```js\nx\n```\nAlways use quolix.",
    "Fix the tooltip. And always keep quolix up to date.",
    "Also, we always use quolix here.\nThanks, Claude",
)


def test_a_text_that_a_prompt_shows_asks_for_or_passes_on_is_not_the_users() -> None:
    assert [text for text in SHOWN if "quolix" in asserted(own_words(text).own)] == []


def test_typed_rules_in_similar_wordings_are_the_users() -> None:
    assert [text for text in TYPED if "quolix" not in asserted(own_words(text).own)] == []


def _admitted(content: str, said: str) -> Candidate:
    turn = Turn(TurnKind.USER, said, "u1", 1)
    rule = Candidate(content, Kind.RULE, Polarity.DO, Source.USER, 0.9, 3, (1,), ("u1",))
    (kept,), _ = admissible(Extraction((rule,), extractor="endpoint"), (turn,))
    return kept


@pytest.mark.parametrize(
    ("said", "content", "status"),
    [
        ("Always start quolix.", "Always start quolix.", Status.ACTIVE),
        ("Customers must always log in via quolix.", "Customers must always log in via quolix.", Status.CANDIDATE),
        ("Release process\n\n1. Always start quolix.\n2. Tag it.", "Always start quolix.", Status.CANDIDATE),
    ],
)
def test_whatever_the_reader_an_unsure_rule_is_a_candidate(said: str, content: str, status: Status) -> None:
    assert _admitted(content, said).status is status


def test_a_rule_that_is_only_supposed_beside_another_statement_binds_nobody() -> None:
    text = "If I were a bank I would always require quolix. But we are not."
    assert _admitted(text, text).kind is Kind.FACT
