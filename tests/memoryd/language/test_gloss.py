"""Word-by-word glosses in English."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.language.gloss import LONGEST, gloss, in_english, is_readable, senses
from tests.costs import assert_linear


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Wo liegt die Datenbanksicherung?", "where database backup"),
        ("pourquoi le déploiement échoue sur le serveur ?", "why deploy fail server"),
        ("¿dónde se guardan los registros de errores?", "where save log error"),
        ("qual porta usa o servidor de testes?", "port use server test"),
        ("per quale motivo il ripristino della sessione non riesce?", "restore session"),
        ("waarom mislukt de aanmelding op de server?", "why fail login server"),
        ("dlaczego zapis ustawień nie działa?", "why save setting work"),
        ("почему не проходит сборка на сервере?", "why fail build server"),
        ("为什么部署之后登录会失败？", "why deploy login fail"),
        ("なぜデプロイ後にログインが失敗しますか", "why deploy login fail"),
        ("왜 배포 후 로그인이 실패하나요?", "why deploy login fail"),
    ],
)
def test_each_language_is_put_into_english_words_in_its_own_order(text: str, words: str) -> None:
    found = iter(gloss(text).split())
    assert all(word in found for word in words.split()), gloss(text)


def test_a_sign_that_may_be_part_of_an_unknown_word_says_nothing() -> None:
    assert "minute" not in gloss("按我们一贯的分工开始") and "minute" in gloss("多少分钟？")


def test_a_word_keeps_what_else_it_may_say() -> None:
    assert {"bill", "invoice"} <= {english for of_word in senses("die Rechnung ist nicht bezahlt") for english in of_word}


def test_names_and_identifiers_stay_as_they_are() -> None:
    said = gloss("Почему handle_login в cart.py падает?")
    assert "handle_login" in said and "cart.py" in said and "fail" in said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "why does the login fail?",
        "fix the parser in foo.py",
        "rename 数据 to data in the whole file and run tests",
        "???",
        "ъыь",
    ],
)
def test_english_and_the_unknown_have_no_gloss(text: str) -> None:
    assert gloss(text) == ""


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    assert len(gloss(text)) <= LONGEST


@pytest.mark.parametrize(("unit", "tail"), [("часть ", ""), ("服务器", ""), ("der", ""), ("x", " und der die das")])
def test_a_long_text_takes_linear_time(unit: str, tail: str) -> None:
    assert_linear(gloss, lambda characters: unit * (characters // len(unit)) + tail, 60_000)


def test_a_key_is_read_in_english_where_its_script_says_nothing() -> None:
    assert in_english("gateway port") == "gateway port" and in_english("wo liegt die Sicherung?") == "wo liegt die Sicherung?"
    assert in_english("备份在哪里？") == "backup where" and is_readable("备份在哪里？")
    assert in_english("ъыь") == "ъыь" and not is_readable("ъыь")


def test_a_word_of_two_languages_says_what_it_says_in_the_language_of_the_text() -> None:
    assert "yesterday" in gloss("qu'est-ce que le serveur a fait hier ?")
    assert "yesterday" not in gloss("Was macht der Server hier mit der Datei?")
    assert "empty" in gloss("Die Datei ist leer und wird nicht geprüft") and "read" in gloss(
        "¿cómo leer los registros del servidor?"
    )
