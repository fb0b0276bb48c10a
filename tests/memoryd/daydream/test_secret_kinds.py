"""Kinds of secrets and of harmless text that redaction tells apart by structure. Secrets are assembled at run time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.daydream.redact import redact
from memoryd.daydream.secret_values import is_described, is_strange

HEX_32 = "9b1f" + "04c7e2d85a63" + "b8f10d72c4e95a3e"
UUID = "5d0c2b7e-91aa-4f3e-" + "b6c8-0e7712fd93ab"
MIXED = "kV8rT2xQ9m" + "Zp4LwB7nYc3sHd"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Parameters:\n  AdminPassword:\n    Type: String\n    NoEcho: true\n    Default: Hazel.Brook7", "Hazel.Brook7"),
        ('"adminPassword": {\n  "type": "string",\n  "value": "Hazel.Brook7"\n}', "Hazel.Brook7"),
        ("stringData:\n  user: shop\n  db-password: opaque-Words", "opaque-Words"),
        ("rabbitmq_erlang_cookie: " + "ZQPXK" + "TRWLMGBVNCQJXW", "TRWLM"),
        ("auth:\n  rootPassword: hazelBrook\n  port: 1", "hazelBrook"),
        ("password=Hazel;Brook\nhost=db", "Brook"),
    ],
)
def test_the_value_of_a_field_below_or_beside_the_name_of_a_credential_is_found(text: str, secret: str) -> None:
    assert secret not in redact(text).text


@pytest.mark.parametrize(
    "address",
    [
        f"https://hc-ping.com/{UUID}",
        f"https://mainnet.infura.io/v3/{HEX_32}",
        f"https://calendar.example/ical/ann%40x.example/private-{HEX_32}/basic.ics",
        f"https://feeds.example/rss/{HEX_32}.xml",
        f"https://app.example/auth/magic?t={MIXED}",
        f"https://app.example/d/{MIXED} (anyone with the link can edit)",
        f"webcal://cloud.example/ical/{HEX_32}/basic.ics",
    ],
)
def test_an_address_that_grants_access_to_whoever_knows_it_loses_its_secret_part(address: str) -> None:
    text = redact(f"see {address}").text
    assert HEX_32 not in text
    assert UUID not in text
    assert MIXED not in text
    assert "://" in text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('mysqli_connect("localhost", "shop", "hazelbrook", "shop");', "hazelbrook"),
        ("createHmac('sha256', 'hazel-brook-seven')", "hazel-brook-seven"),
        ('var jwtKey = Encoding.UTF8.GetBytes("three hazels by the brook");', "three hazels"),
        ("define('AUTH_KEY', 'r|J9=7#8Lh8nP#N9U0fz{Z');", "8nP#N9U0"),
        ('WiFi.begin("attic", "hazelBrook");', "hazelBrook"),
        ("username admin password 0 hazelBr00k", "hazelBr00k"),
        ("passwd <<EOF\nhazel_brook_7\nhazel_brook_7\nEOF", "hazel_brook_7"),
        (': PSK "hazelBrook"', "hazelBrook"),
        ("ALTER USER app IDENTIFIED BY 'hazelBrook';", "hazelBrook"),
        ("7z a -pHazel.Brook7 out.7z dir", "Hazel.Brook7"),
        ("npm publish --otp 615208", "615208"),
        ("$ heroku auth:token\n ›   Warning: token will expire\n" + UUID, UUID),
    ],
)
def test_a_place_that_always_holds_a_secret_needs_no_random_value(text: str, secret: str) -> None:
    assert secret not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "1. crawl 2. ribbon 3. mango 4. siege 5. oxygen 6. tattoo 7. ladder 8. prize 9. umbrella 10. fetch 11. glide 12. vapor",
        '["crawl","ribbon","mango","siege","oxygen","tattoo","ladder","prize","umbrella","fetch","glide","vapor"]',
        "Crawl\nRibbon\nMango\nSiege\nOxygen\nTattoo\nLadder\nPrize\nUmbrella\nFetch\nGlide\nVapor",
    ],
)
def test_the_words_of_a_wallet_are_found_without_any_word_about_them(text: str) -> None:
    assert "siege" not in redact(text).text.lower()


def test_a_secret_that_was_named_once_is_replaced_wherever_else_it_occurs() -> None:
    text = "password: Hazel-Brook-71\n\nWe typed Hazel-Brook-71 and it let us in."
    assert "Hazel-Brook-71" not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        'secret_name = "shop-db-credentials-2"',
        "existingSecret: mariadb-root-v2",
        "JWT_ALGORITHM=RS256",
        'password_policy: "min12-upper-digit"',
        "-e DB_PASSWORD=${DB_PASSWORD:?not set}",
        "postgres://USER:PASSWORD@HOST:5432/DBNAME",
        '{"kty":"EC","crv":"P-256","x":"' + MIXED + MIXED[:19] + '","y":"' + MIXED[::-1] + MIXED[:19] + '"}',
        'key: "-----BEGIN ' + "PRIVATE KEY-----\\n...\\n-----END " + 'PRIVATE KEY-----\\n"',
        "hasło jest wymagane",
        "wachtwoord is verplicht",
        "change the password in Settings → Security",
        "requirepass sets the password that clients send",
        "password = sys.argv[2]",
        "gpg --list-secret-keys 3AA5C34371567BD2",
        "Cookie: _ga=GA1.2.814978002.6869990306; lang=en",
        f"https://api.example/v1/orders/{HEX_32}",
        f"https://github.com/acme/shop/blob/{HEX_32}dcba0123/src/auth.ts",
    ],
)
def test_data_about_a_credential_and_references_to_it_are_kept(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("$pw = -join @('harbour','-light-','77')", ("harbour", "light")),
        ('password = "".join(["Hazel", "brook", "77!"])', ("Hazel", "brook")),
        (f"const k = ['{MIXED[:14]}', '{MIXED[10:]}'].join('')", (MIXED[:14], MIXED[10:])),
        (f'String key = "{MIXED}"\n    .concat("{HEX_32}");', (MIXED, HEX_32)),
        (f"{'ey' + 'J'}hbGciOiJIUzI1NiJ9.\n{'ey' + 'J'}{MIXED}.\n{MIXED}{HEX_32}", (MIXED, HEX_32)),
    ],
)
def test_no_part_of_a_split_secret_remains(text: str, parts: tuple[str, ...]) -> None:
    done = redact(text).text
    assert not any(part in done for part in parts)


@given(st.text(st.characters(codec="ascii"), max_size=60))
def test_a_name_that_describes_protects_any_value(text: str) -> None:
    start = len("secret_name = ")
    assert is_described("secret_name = " + text, start)


def test_random_letters_are_distinguished_from_words() -> None:
    assert is_strange("ZQPXK" + "TRWLMGBVNC")
    for word in ("authentication", "Bundesministerium", "getUserByIdentifier", "kubernetes"):
        assert not is_strange(word)
