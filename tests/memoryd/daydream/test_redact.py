"""Secrets are removed, and everything else is kept. Test secrets are assembled at run time, so that no scanner reports them."""

from __future__ import annotations

import base64
import logging
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.daydream.redact import redact
from tests.costs import assert_linear, repeated, seconds


def chars(length: int, alphabet: str = "a7Kd9Qx2Lm4Zp8Rt") -> str:
    """Return a random-looking but constant run of characters."""
    return (alphabet * (length // len(alphabet) + 1))[:length]


WORDS_COST = 100  # How often all words could be found in that time: 20 on the machine it was measured on.
HEX = "3f9a1c7e5b2d8046"
UPPER = "Q7K2M9XA4ZP8RT6D"
_DASHES = "-" * 5
PEM = f"{_DASHES}BEGIN RSA PRIVATE" + f" KEY{_DASHES}\n" + (chars(64) + "\n") * 6 + f"{_DASHES}END RSA PRIVATE" + f" KEY{_DASHES}"
JWT = "eyJ" + chars(30) + "." + "eyJ" + chars(60) + "." + chars(43)

# Text before, the secret, text after, kind.
POSITIVES = [
    ("key ", "sk-" + "ant-" + "api03-" + chars(40), " end", "api-key"),
    ("key ", "sk-" + "proj-" + chars(48), "", "api-key"),
    ("key ", "sk-" + chars(48), ".", "api-key"),
    ("key ", "sk-" + "or-v1-" + chars(64, HEX), "", "api-key"),
    ("(", "ghp" + "_" + chars(36), ")", "api-key"),
    ("", "gho" + "_" + chars(36), "", "api-key"),
    ("'", "github" + "_pat_" + chars(22) + "_" + chars(40), "'", "api-key"),
    ("", "xox" + "b-" + "1234567890-1234567890-" + chars(24), "", "api-key"),
    ("", "AK" + "IA" + chars(16, UPPER), "", "api-key"),
    ("", "AS" + "IA" + chars(16, UPPER), "", "api-key"),
    ("", "AI" + "za" + chars(35), "", "api-key"),
    ("", "gl" + "pat-" + chars(20), "", "api-key"),
    ("", "npm" + "_" + chars(36), "", "api-key"),
    ("", "hf" + "_" + chars(34), "", "api-key"),
    ("", "py" + "pi-" + "AgEIcHlwaS5vcmc" + chars(70), "", "api-key"),
    ("", "sk" + "_live_" + chars(24), "", "api-key"),
    ("", "S" + "G." + chars(22) + "." + chars(43), "", "api-key"),
    ("", "dop" + "_v1_" + chars(64, HEX), "", "api-key"),
    ("", "hv" + "s." + chars(24), "", "api-key"),
    ("", "whsec" + "_" + chars(32), "", "api-key"),
    ("", "gsk" + "_" + chars(52), "", "api-key"),
    ("token ", JWT, " x", "jwt"),
    ("", PEM, "", "private-key"),
    ("json: ", PEM.replace("\n", "\\n"), " end", "private-key"),
    ("", PEM[:300], "", "private-key"),
    ("…]\n", PEM[-300:], "", "private-key"),
    ("postgres://app:", chars(12), "@db.example:5432/shop", "password"),
    ("redis://:", "p4ss:w@rd", "@cache:6379/0", "password"),
    ("https://ann:", chars(20), "@git.example/r.git", "password"),
    ("Authorization: Bearer ", chars(40), "", "authorization"),
    ('"authorization": "Basic ', base64.b64encode(b"ann:open sesame").decode(), '"', "authorization"),
    ("curl -H 'Authorization: token ", chars(40, HEX), "'", "authorization"),
    ("use bearer ", chars(32), "", "authorization"),
    ("password=", "hunter2", "", "assignment"),
    ("PASSWORD: ", "Tr0ub4dor&3", "", "assignment"),
    ("password=", "letmein", " host=db", "assignment"),
    ('{"password": "', "correcthorse", '"}', "assignment"),
    ("const dbPassword = '", "s3cr3tpw", "';", "assignment"),
    ("export DB_PASSWORD=", "xK9vQ2", "", "assignment"),
    ("PGPASSWORD=", "geheim42", " psql", "assignment"),
    ("api_key: ", chars(24), "", "assignment"),
    ("X-Api-Key: ", chars(32, HEX), "", "header"),
    ('client_secret = "', chars(30), '"', "assignment"),
    ("access_token=", chars(32), "&x=1", "assignment"),
    ("Server=db;User Id=sa;Password=", "Pa55w0rd!", ";Encrypt=true", "assignment"),
    ("AccountName=a;AccountKey=", chars(86) + "==", ";", "assignment"),
    ("deploy --token ", chars(20), " --yes", "assignment"),
    ("deploy --password '", "open5esame", "'", "assignment"),
    ("curl -u ann:", "s3same", " https://x.example", "password"),
    ("mysql -u root -p", "s3same!", " shop", "password"),
    ("echo '", "my5udo", "' | sudo -S apt update", "password"),
    ("The password is ", "hunter2", ".", "password"),
    ("password for ann is `", "Blue-42-Moon", "`, ok?", "password"),
    ("Das Passwort ist ", "geheim42", "", "password"),
    ("密码是", "abc12345", "。", "password"),
    ("the code is ", "482913", "", "one-time-code"),
    ("Your OTP is **", "123 456", "**", "one-time-code"),
    ("2FA code: ", "904112", "", "one-time-code"),
    ("my verification code is ", "77213", ", hurry", "one-time-code"),
    ("PIN: ", "4921", "", "one-time-code"),
    ("验证码：", "884211", "", "one-time-code"),
    ("https://x.example/blob?sv=1&sig=", chars(43) + "%3D", "&se=2", "url-parameter"),
    ("//registry.example/:_auth" + "Token=", "npm" + "_" + chars(36), "", "api-key"),
    ("bot ", "123456789:" + chars(35), "", "telegram-bot-token"),
    ("mailchimp ", chars(32, HEX) + "-us" + "12", "", "mailchimp-access-key"),
    ("twilio ", "A" + "C" + chars(32, HEX), "", "twilio-api-key"),
]

NEGATIVES = [
    "git show 3f9a1c7e5b2d80463f9a1c7e5b2d80463f9a1c7e",
    "commit 9bfe6c1 fixes it",
    "uuid 0f3c2d1e-aaaa-4bbb-8ccc-123456789abc",
    "sha256:" + chars(64, HEX),
    "sha512-" + chars(86) + "==",
    "/home/ann/projects/shop/src/components/CheckoutButton2.tsx",
    "C:\\Users\\ann\\AppData\\Local\\Temp\\claude\\x1",
    "data:image/png;base64," + base64.b64encode(bytes(range(250)) * 4).decode(),
    "https://github.com/ann/shop/pull/757/changes#r2001",
    "http://localhost:3000/evaluation/6e47bfce-57ce?tab=summary",
    "git@github.com:ann/shop.git",
    "ssh://git@host.example:22/repo.git",
    "postgres://app:${DB_PASSWORD}@db/shop",
    "postgres://app:<password>@db/shop",
    "user@example.com wrote",
    "password: string",
    "password: str = None",
    "password=password",
    "connect(user=user, password=config.password)",
    "token = get_token()",
    "const token = req.headers.authorization",
    "token: process.env.GITHUB_TOKEN",
    "api_key=os.environ['OPENAI_API_KEY']",
    "API_KEY=your-api-key-here",
    "API_KEY=<your key>",
    "export TOKEN=$TOKEN",
    "secret: ${{ secrets.DEPLOY }}",
    "token: Uint8Array",
    "privateKey: CryptoKey;",
    "secret: null",
    '"token": "Please enter your token"',
    '"password": "Password"',
    "password: '***'",
    "The token is invalid.",
    "The password is required and the secret is optional.",
    "Next token: the parser reads a comma",
    "max_tokens=4096, token_count: 1200",
    "tokens: 300, total_tokens: 15233",
    "passwordless login with a passkey",
    "never store the password in local storage",
    "use `--password-stdin` instead",
    "key: value, primary key: order_id_2024",
    "sort key=lambda x2: x2.id",
    "exit code 137, error code 100054, status code 404",
    "zip code 94107 and area code: 415555",
    "the code is in src/auth.py line 482913",
    "code 200 after 482913 requests",
    "port 5432, pid 482913, line 12345",
    "GPIO pin 13",
    "pinned at version 20240101",
    "The pinned port is 8080, the pinout is 2048.",
    "sk-learn-contrib-something-very-long-name",
    "npm_config_registry and npm_lifecycle_event",
    "hf_hub_download(repo_id)",
    "ghp_ prefixes mark personal tokens",
    "eyJ is how base64 JSON begins",
    "basic auth and bearer authentication are both supported",
    "Authorization: Bearer $TOKEN",
    "curl -u $USER:$PASS https://x.example",
    "echo $PASSWORD | sudo -S ls",
    "mysql -u root -p shop",
    "2026-03-01T10:00:00.000Z 192.168.0.10 10.0.0.1:8080",
    "arn:aws:iam::123456789012:role/deploy",
    "APPLICATION_STARTED APACHE2 APIGATEWAY",
    'class="text-sm sk-cube-grid" id="AccountKey"',
    "-----BEGIN CERTIFICATE-----",
    "the header BEGIN PRIVATE KEY starts a key file",
    "我的密码忘了，请重置",
    "OTP is sent by mail; the TOTP window is 30 seconds",
]


@pytest.mark.parametrize(("before", "secret", "after", "kind"), POSITIVES)
def test_a_secret_is_replaced_and_the_rest_kept(before: str, secret: str, after: str, kind: str) -> None:
    done = redact(f"Note: {before}{secret}{after}")
    assert done.text == f"Note: {before}[redacted:{kind}]{after}"
    assert done.found == {kind: 1}


@pytest.mark.parametrize("text", NEGATIVES)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    done = redact(f"Note: {text}")
    assert (done.text, dict(done.found)) == (f"Note: {text}", {})


def test_there_are_enough_cases() -> None:
    assert min(len(POSITIVES), len(NEGATIVES)) >= 40


PARTS = st.one_of(
    st.sampled_from([before + secret + after for before, secret, after, _ in POSITIVES]),
    st.sampled_from(NEGATIVES),
    st.text(max_size=20),
    st.sampled_from(["password", "token", ": ", "=", '"', "code is ", "[redacted:", "]", "://", "@"]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PARTS, max_size=6), st.sampled_from([" ", "\n", ""]))
def test_redacting_twice_changes_nothing(parts: list[str], glue: str) -> None:
    once = redact(glue.join(parts))
    twice = redact(once.text)
    assert (twice.text, dict(twice.found)) == (once.text, {})


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(POSITIVES), st.text(max_size=40), st.text(max_size=40))
def test_a_secret_is_found_on_a_line_of_its_own_in_any_text(case: tuple[str, str, str, str], head: str, tail: str) -> None:
    before, secret, after, _ = case
    assert secret not in redact(f"{head}\n{before}{secret}{after}\n{tail}").text


def test_every_occurrence_is_replaced_and_counted() -> None:
    key = "ghp" + "_" + chars(36)
    done = redact(f"{key} and {key}\n{key}")
    assert key not in done.text
    assert done.found == {"api-key": 3}


def test_secrets_that_touch_are_all_found() -> None:
    bot, key = "123456789:" + chars(35), "dop" + "_v1_" + chars(64, HEX)
    done = redact(f"bot {bot}{key}")
    assert chars(8) not in done.text
    assert chars(8, HEX) not in done.text
    assert sum(done.found.values()) == 2


def test_nothing_that_was_found_is_logged(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.DEBUG)
    for before, secret, after, _ in POSITIVES:
        redact(before + secret + after)
    shown = capsys.readouterr()
    assert caplog.text + shown.out + shown.err == ""


def test_ordinary_text_is_fast() -> None:
    line = "The build failed in src/app/main.py: see the log of step 3, and use the cached wheel from 2024-05-01.\n"
    redact("warm up 1234567890")
    baseline = min(seconds(lambda: re.findall(r"\w+", line * 500)) for _ in range(3))
    assert min(seconds(lambda: redact(repeated(line)(len(line) * 500))) for _ in range(3)) < WORDS_COST * baseline


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "A7",
        "//",
        "-----BEGIN PRIVATE KEY-----",
        "://a:",
        pytest.param("token=", marks=pytest.mark.slow),
    ],
)
def test_no_text_takes_long(unit: str) -> None:
    assert_linear(redact, unit, 6_000)


def test_the_end_of_a_key_does_not_make_a_long_text_slow() -> None:
    unit = "abcdefghijklmnop1 "
    assert_linear(redact, lambda characters: "-----END private key " + repeated(unit)(characters), 6_000)
