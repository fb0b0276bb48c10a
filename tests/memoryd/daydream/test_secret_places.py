"""Secrets at places that only structure reveals: logged parameters, continued lines, lists of codes.

Secrets are assembled at run time.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.secret_samples import samples_of
from memoryd.daydream.redact import redact

HEAD, TAIL = "kV8rT2xQ9m" + "Zp4LwB7nYc3s", "Hd5GfR1uJ0tX"


@pytest.mark.parametrize(
    "log",
    [
        "update staff set password=? where id=?\nparameter [1] as [VARCHAR] - [{}]\nparameter [2] as [BIGINT] - [7]",
        "insert into staff (login, pwd) values (?, ?)\n: parameter (1:VARCHAR) <- [ann]\n: parameter (2:VARCHAR) <- [{}]",
        "==>  Preparing: UPDATE staff SET user_pwd = ? WHERE id = ?\n==> Parameters: {}(String), 7(Long)",
        "execute: UPDATE staff SET kennwort=$1 WHERE id=$2\nDETAIL:  parameters: $1 = '{}', $2 = '7'",
        "UPDATE staff SET login = %s, password = %s WHERE id = %s; args=('ann', '{}', 7)",
        'UPDATE staff SET mot_de_passe = ? WHERE id = ? {{"params":["{}",7]}}',
    ],
)
@pytest.mark.parametrize("value", ["plainword", "Hazel-Brook"])
def test_the_logged_parameter_of_a_credential_is_found_by_its_number(log: str, value: str) -> None:
    done = redact(log.format(value)).text
    assert value not in done
    assert "ann" not in log or "ann" in done


@pytest.mark.parametrize(
    "log",
    [
        "select name from staff where login=?\nbinding parameter [1] as [VARCHAR] - [annlee]",
        "update staff set password_changed_at=? where id=?\nparameter [1] as [DATE] - [monday]\nparameter [2] as [TEXT] - [ann]",
        "==>  Preparing: SELECT * FROM token_bucket WHERE name = ?\n==> Parameters: shopfront(String)",
    ],
)
def test_logged_parameters_of_other_columns_are_kept(log: str) -> None:
    assert redact(log).text == log


@pytest.mark.parametrize(
    "text",
    [
        "> storage.secretKey={}\n> {}\n> (the mail broke the line)",
        "erp.webservice.apiKey={}\\\n    {}\nerp.timeout=30",
        'curl -H "Authorization: Bearer {}=\n{}" https://erp.example/orders',
        "Cookie: JSESSIONID={}\n {}; path=/",
        "│ secret access key │ {} │\n│                   │ {} │",
        "GOCSPX-" + "{}\n{}\nput both halves together",
    ],
)
def test_the_rest_of_a_secret_on_the_next_line_is_found(text: str) -> None:
    done = redact(text.format(HEAD[:16], TAIL)).text
    assert HEAD[:16] not in done
    assert TAIL not in done


@pytest.mark.parametrize(
    "text",
    [
        "GitHub recovery codes of the owner of the organization, kept in the safe of the office:\n{0}\n{1}",
        "Backup-Codes vom Konto der Organisation (bitte ausdrucken und in den Tresor legen):\n{0}\n{1}",
        "Google backup codes of the shared mailbox, each of them works only once:\n1. {2}\n2. {3}",
        "The PIN attempts are used up, so only this is left: PUK {4}.",
        "The modem asks after each power cut: PIN {5}.",
    ],
)
def test_codes_far_from_their_heading_and_bare_codes_are_found(text: str) -> None:
    codes = ("d61f3-0b27c", "82ea9-4c05d", "4821 0937", "7710 2645", "58291047", "7714")
    done = redact(text.format(*codes)).text
    assert not any(code in done for code in codes)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("#0 lib/Db.php(31): PDO->__construct('mysql:host=db-e...', 'shop', 'hazelbrook')", "hazelbrook"),
        ("#0 lib/Mail.php(4): imap_open('{imap.exam...', 'bill', 'Hazel-Brook')", "Hazel-Brook"),
        ("wget -q 'http://ci:8080/job/nightly/build?token=hazel-brook-runs'", "hazel-brook-runs"),
        ("https://shop.example/einladung/" + HEAD + TAIL, HEAD),
        ("数据库密码是Kx9山鹰db#7，请保管。", "Kx9山鹰db#7"),
        ('session.setPassword("Hazel_Brook");', "Hazel_Brook"),
        ('expect "assword:"\nsend "Hazel_Brook\\r"', "Hazel_Brook"),
        ("/etc/ppp/chap-secrets\nvpn  *  hazelbrook  *", "hazelbrook"),
    ],
)
def test_the_place_of_a_chosen_value_shows_that_it_is_a_secret(text: str, secret: str) -> None:
    assert secret not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "database_password: '%env(resolve:DATABASE_PASSWORD)%'",
        "secret: '%kernel.secret%'",
        "db.password=#{vault.db.password}",
        "password: ((vault.db-password))",
        "openssl pkcs12 -in ca.p12 -nokeys -passin env:P12_PASS",
        "withCredentials([usernamePassword(credentialsId: 'deploy-admin', usernameVariable: 'U')])",
        "Without the password the server reports WFLYSRV0025.",
        "--role-session-name ci-77",
        "idempotency-key: 2f6c1a90-order-4471",
        "密码是AES256加密后存到MySQL8里的。",
        "GPIO: PIN 1024 does not exist on this board",
        "https://api.example/items?page_token=next_page_two",
        "https://app.example/login?token=invalid-or-expired",
        "the tool reads /etc/mosquitto/passwd gateway-07",
    ],
)
def test_references_names_and_codes_of_messages_are_kept(text: str) -> None:
    assert redact(text).text == text


def test_a_redaction_mark_is_not_the_name_of_what_follows() -> None:
    done = redact('{"k1": "' + "gh" + "p_" + HEAD + TAIL + 'ab": "shopfront"}').text
    assert "shopfront" in done


def test_a_file_of_samples_may_list_secrets_and_harmless_texts(tmp_path: Path) -> None:
    path = tmp_path / "samples.json"
    rows = [{"kind": "prose", "text": "a is X, b is Y", "needles": ["X", "Y"]}]
    path.write_text(json.dumps({"secrets": rows, "harmless": ["nothing"]}), encoding="utf-8")
    assert [(sample.kind, sample.needles) for sample in samples_of(path)] == [("prose", ("X", "Y")), ("harmless", ())]
