"""A secret without a name is found by its form and by the topic of the surrounding text."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest

from memoryd.core.deadline import NEVER
from memoryd.daydream.redact import redact, redact_output
from memoryd.daydream.secret_context import looks_generated, prints_secret
from memoryd.daydream.transcript import read_all

from .log_lines import Log, write

LETTERS = string.ascii_letters + string.digits


def _random_value(seed: int, length: int) -> str:
    chosen = random.Random(seed)  # noqa: S311 - test data
    while True:
        value = "".join(chosen.choice(LETTERS) for _ in range(length))
        if looks_generated(value):
            return value


PLACES = ("quokka login @", "the worker sends @ with each call", "client = Client('@')", "@\n", "use @ from now on")
HARMLESS_PLACES = (
    "https://files.example/d/@/view",
    "etag: @",
    "request id @ failed",
    "Fingerprint: SHA256:@",
    "cursor=@",
    "peer public key @",
    "sha384-@",
    "the folder @ on the drive",
    "data:font/woff2;base64,@",
)


def test_a_long_random_value_is_found_without_a_name() -> None:
    for seed in range(40):
        value = _random_value(seed, 32 + seed)
        for place in PLACES:
            assert value not in redact(place.replace("@", value)).text, (place, value)


def test_a_random_value_that_is_said_to_be_something_else_stays() -> None:
    for seed in range(40):
        value = _random_value(seed, 32 + seed)
        for place in HARMLESS_PLACES:
            text = place.replace("@", value)
            assert redact(text).text == text


CHOSEN = ("Zitrone!4471", "lantern@8812", "Pflaume&Kern7", "bluefish482", "Zinnober-Falke-77")
ABOUT_ACCESS = (
    "guest wlan: @",
    "VeraCrypt opens only using @",
    "the vault: type @ to unlock it",
    "κωδικός: @",
    "גישה עם סיסמה: @",
    "كلمة السر: @",
    "heslo: @",
    "lozinka je @",
    "kata laluan: @",
    "slaptažodis: @",
    "гасло: @",
)


@pytest.mark.parametrize("place", ABOUT_ACCESS)
def test_a_chosen_password_is_found_in_a_line_about_access(place: str) -> None:
    through = [value for value in CHOSEN if value in redact(place.replace("@", value)).text]
    assert len(through) <= 1, through


@pytest.mark.parametrize(
    "text",
    [
        "log in with user alice42 from host web03",
        "unlock level42boss with two keys",
        "the login page runs on Ubuntu22 and Python3.11",
        "passwords match [a-zA-Z0-9!@#$%^&*]{8,32}",
        "logins per day: 1234, see issue#4412",
        "wifi drops on iPhone15 with channel=36",
        "sign in at https://login.example/a1b2c3/d4?next=/home",
        "pass left-pad@1.3.0 and lodash@4 to the bundler",
        "the door of room 4471 is blue",
        "tx 0x" + "4b" * 32 + " of the deployer wallet's block hash 0x" + "5c" * 32,
    ],
)
def test_names_and_numbers_in_a_line_about_access_stay(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("BitLocker asks: " + "-".join(str(118_374 + 71_113 * n) for n in range(8)), "118374-189487"),
        ("smtp pass: vkqz npwt rlhs ymdc", "vkqz npwt"),
        ("the deployer key 0x" + "4b1d" * 16, "4b1d4b1d"),
        ("paid by card 5425 2334 3010 9903, cvv 481", "2334 3010"),
        ("paid by card 5425 2334 3010 9903, cvv 481", "481"),
        ("type this into the authenticator: KRSX G5CT MVRX EZLU", "KRSX G5CT"),
        ('the passphrase has always been "seven purple llamas dancing"', "purple llamas"),
        ("alarm: disarm code 7719 then OK", "7719"),
        ("snmpwalk -v2c -c gewuerz-r0 10.0.0.1", "gewuerz-r0"),
        ("net use X: \\\\nas\\films Lavendel77 /user:bob", "Lavendel77"),
        ("curl -u Ab3dE6gH9jK2mN5pQ8s: https://api.example", "Ab3dE6gH9"),
        ("the key is 8f14e45fceea167a5a36dedd4bea2543", "8f14e45f"),
        ('  ~ value = "Vq8-zLm2.Kx9w" -> (known after apply)', "Vq8-zLm2"),
    ],
)
def test_secrets_of_a_known_shape_are_found(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in redact(text).text


def test_well_known_test_cards_and_other_long_numbers_stay() -> None:
    for text in ("the card 4242 4242 4242 4242 always works", "order 4471 8829 1102 5536 shipped", "card 1234 5678 9012 3456"):
        assert redact(text).text == text


PRINTING = ("pass show work/mail", "op read op://dev/db/password", "vault kv get -field=pw secret/app", "openssl rand -hex 12")


@pytest.mark.parametrize("command", PRINTING)
def test_what_a_command_prints_whose_purpose_is_a_secret_is_one(command: str) -> None:
    assert prints_secret(command)
    assert "q8lx2zvt" not in redact(f"$ {command}\nq8lx2zvt9mwk\n$ ls\n").text
    assert "q8lx2zvt" not in redact_output("q8lx2zvt9mwk\n", NEVER).text


@pytest.mark.parametrize("command", ["ls -la", "git log --oneline", "pytest -q tests/test_token.py", "cat README.md"])
def test_other_commands_print_no_secret(command: str) -> None:
    assert not prints_secret(command)
    assert redact(f"$ {command}\nq8lx2zvt9mwk\n").text == f"$ {command}\nq8lx2zvt9mwk\n"


def test_the_output_of_such_a_command_is_redacted_in_a_log(tmp_path: Path) -> None:
    log = Log()
    entries = (log.tool_use("t1", "Bash", command="pass show work/mail"), log.result("t1", "q8lx2zvt9mwk"))
    turns = next(iter(read_all(write(tmp_path / "log.jsonl", *entries)))).turns
    assert len(turns) == len(entries)
    assert not any("q8lx2zvt" in turn.text for turn in turns)
