"""Rates of redaction, on generated secrets of all kinds and similar harmless strings."""

from __future__ import annotations

import pytest

from benchmarks.secret_samples import harmless, passed, rounds, secrets, touched
from memoryd.daydream.redact import redact
from tests.costs import assert_linear


@pytest.mark.parametrize("seed", [11, 12])
def test_at_most_three_in_a_hundred_secrets_pass(seed: int) -> None:
    samples = list(secrets(seed, each=1))
    through = [sample.text for sample in samples if passed(sample)]
    assert len(samples) > 200
    assert len(through) <= 0.03 * len(samples), through


@pytest.mark.parametrize("seed", [11, 12])
def test_at_most_two_in_a_hundred_harmless_strings_are_touched(seed: int) -> None:
    samples = list(harmless(seed, each=2))
    wrong = [sample.text for sample in samples if touched(sample)]
    assert len(samples) > 150
    assert len(wrong) <= 0.02 * len(samples), wrong


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_secrets_written_without_a_look_at_the_patterns_are_found_and_harmless_strings_stay(step: int) -> None:
    samples = [*rounds()][::step]
    hidden, plain = [s for s in samples if s.needles], [s for s in samples if not s.needles]
    assert len(hidden) > 250
    assert len(plain) > 80
    through, wrong = [s.text for s in hidden if passed(s)], [s.text for s in plain if touched(s)]
    assert len(through) <= 0.03 * len(hidden), through
    assert len(wrong) <= 0.02 * len(plain), wrong


def test_each_kind_has_a_secret_that_is_found() -> None:
    kinds: dict[str, int] = {}
    for sample in secrets(3, each=1):
        kinds[sample.kind] = kinds.get(sample.kind, 0) + (not passed(sample))
    assert len(kinds) > 10
    assert all(kinds.values()), kinds


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        "sk-a-",
        "/",
        "1234567890-",
        "AKIA",
        "password is ",
        pytest.param("pass:", marks=pytest.mark.slow),
        "password 'a' + ",
        "eyJ",
        "Cookie: a=b; ",
        "-----END PRIVATE KEY-----",
        "recovery codes: 12345678 ",
        pytest.param("machine a login b password ", marks=pytest.mark.slow),
        "://a:",
        "abandon ",
        "secret:\n  a",
        "A\u200b",
        pytest.param("MIIEvQ", marks=pytest.mark.slow),
        "密码",
        "pw=",
        "token set ",
        "x1 is the password ",
        "code 123456 ",
        "| password | x9k |\n",
        "|\n",
        "admin:",
        "crisp orbit velvet seed ",
        pytest.param("A_KEY=", marks=pytest.mark.slow),
    ],
)
def test_the_time_grows_with_the_length_and_no_faster(part: str) -> None:
    redact("warm up 1234567890")
    assert_linear(redact, part, 6_000)
