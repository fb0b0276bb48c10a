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


@pytest.mark.parametrize(
    "text",
    [
        "SMTP_PASS=\nSMTP_HOST=localhost",
        "JWT_SECRET=\nJWT_EXPIRES_IN=15m",
        "spring.datasource.password=\nspring.jpa.open-in-view=false",
        "[database]\npassword =\nport = 5432",
    ],
)
def test_the_line_after_an_empty_setting_is_not_its_value(text: str) -> None:
    assert redact(text).text == text


def test_a_value_alone_on_the_line_after_its_name_is_found() -> None:
    assert "Hazel" not in redact("password:\n  Hazel-Brook-71").text
    assert MIXED not in redact(f"SECRET=\n{MIXED}").text
    assert "hazel71" not in redact("DB_PASSWORD=\nDB_PASSWORD_RO=hazel71brook").text


@pytest.mark.parametrize(
    "text",
    [
        "ansible-playbook site.yml --ask-become-pass --ask-vault-pass",
        "redis-cli --askpass ping",
        "docker build --secret id=npm,src=.npmrc -t api:dev .",
        "gcloud secrets versions access latest --secret=stripe-key",
        "the object replace mechanism can be bypassed with --no-replace-objects",
    ],
)
def test_what_follows_an_option_without_a_value_and_the_name_of_a_secret_are_kept(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "secretKeyRef:\n  name: third-party\n  key: weather-api-key",
        "adminPasswordKey: postgres-password",
        "credentials('docker-hub-creds')",
        'form.password = form.cleaned_data["password1"]',
        "sort key created_at#desc, partition key tenant#42",
        "la clave primaria es pedido_2024",
        "Cache restored from key: node-cache-Linux-x64-" + HEX_32,
        "password: Rails.application.credentials.smtp_password",
        "org.springframework.security.authentication.UsernamePasswordAuthenticationToken",
        "  walletAddress?: string; // JWT wallet",
        "Passwords are hashed with argon2id (m=65536, t=3, p=4).",
        "sha1(password.txt) differs: " + HEX_32 + "9b1f04c7",
        "diff --git a/auth/token.go b/auth/token.go\nindex 83db48f..bf2a1c9 100644",
        "redis://:<password>@localhost:6379",
        'next_cursor: "MjAyNC0wNi0xOVQxMDowMDowMFp8MTI0"',
        'palabra clave: "zapatos-rojos"',
        "label.password=Contraseña",
        "密码由 Terraform 生成后直接写入 Vault",
        "0x" + "71C7656EC7ab88b098defB751B7401B5f6d8976F" + " holds the keys of the multisig",
    ],
)
def test_names_references_and_positions_near_words_for_access_are_kept(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("PGPASSWORD='hazel(brook)71' psql shop", "brook"),
        ('password: "hazel[brook]71"', "brook"),
        (f"Datadog:\n  api key {HEX_32}\n  application key {HEX_32[::-1]}9b1f04c7", HEX_32[::-1]),
        ("Recovery codes for the shared shop-bot account, keep them in the safe:\n4f1c9-e07ab\nb83d2-96c5f", "e07ab"),
        ("恢复码（请存好）：\nk3m9-x7q2\np8n4-z1v6", "x7q2"),
        (':crypto.mac(:hmac, :sha256, "hazel-brook-71", body)', "hazel-brook"),
        ("OpenSSL::HMAC.digest('sha256', 'Hazel.Brook', data)", "Hazel.Brook"),
        ('CryptoJS.HmacSHA256(msg, "hazel-brook-71")', "hazel-brook"),
        ("cookieParser('hazel-brook-71')", "hazel-brook"),
        ('conn.Login("ann", "Hazel-brook")', "Hazel-brook"),
        ("the sandbox: ops / Hazel-Brook for the login", "Hazel-Brook"),
    ],
)
def test_brackets_long_headings_and_arguments_of_calls_hide_no_secret(text: str, secret: str) -> None:
    assert secret not in redact(text).text


@pytest.mark.parametrize(
    "text", ["Use code 448201 to sign in", "usa el código 448201 para iniciar sesión", "Code 448201, um dich anzumelden"]
)
def test_a_code_to_sign_in_with_is_found(text: str) -> None:
    assert "448201" not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "exit code 1370 to stop the pod",
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        "the publishable key pk_" + "test_TYooMQauvdEDq54NiTphI7jx goes into the page",
        "if password1 != password2: raise",
    ],
)
def test_other_codes_examples_publishable_keys_and_keywords_are_kept(text: str) -> None:
    assert redact(text).text == text
