"""Tests of the login and the environment variables of a session."""

from __future__ import annotations

import socket

import pytest

from memeval.claudecode.auth import Auth, AuthKind, make_auth
from memeval.core.errors import ConfigError

USER = {
    "PATH": "/bin",
    "ANTHROPIC_API_KEY": "key",
    "ANTHROPIC_AUTH_TOKEN": "token",
    "ANTHROPIC_BASE_URL": "http://elsewhere",
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "AWS_PROFILE": "work",
    "CLAUDE_CODE_OAUTH_TOKEN": "login",
    "CLAUDECODE": "1",
    "MEMORYD_HOME": "/home",
    "HTTPS_PROXY": "http://proxy",
}


def test_a_subscription_gets_the_login_and_no_key_address_or_cloud() -> None:
    made = Auth(AuthKind.SUBSCRIPTION).environment(USER)
    assert made["CLAUDE_CODE_OAUTH_TOKEN"] == "login"
    assert not [name for name in made if name.startswith(("ANTHROPIC_", "AWS_", "CLAUDE_CODE_USE_", "MEMORYD_"))]
    assert "CLAUDECODE" not in made
    assert made["HTTPS_PROXY"] == "http://proxy"


def test_a_key_is_kept_and_the_login_is_not() -> None:
    made = Auth(AuthKind.API_KEY).environment(USER)
    assert (made["ANTHROPIC_API_KEY"], made["ANTHROPIC_BASE_URL"]) == ("key", "http://elsewhere")
    assert "CLAUDE_CODE_OAUTH_TOKEN" not in made


def test_an_address_means_a_key_and_a_subscription_is_not_sent_there() -> None:
    auth = make_auth(None, "http://127.0.0.1:1")
    assert auth.kind is AuthKind.API_KEY
    assert auth.environment({})["ANTHROPIC_API_KEY"] == "none"
    with pytest.raises(ConfigError, match="not be sent"):
        make_auth("subscription", "http://127.0.0.1:1")
    with pytest.raises(ConfigError, match="not an address"):
        make_auth(None, "localhost")


@pytest.mark.parametrize("kind", list(AuthKind))
def test_without_a_login_it_says_what_to_set(kind: AuthKind) -> None:
    with pytest.raises(ConfigError, match="No login"):
        Auth(kind).check({})


def test_an_address_that_answers_is_fine_and_one_that_does_not_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        Auth(AuthKind.API_KEY, address).check({})
    with pytest.raises(ConfigError, match="No response from"):
        Auth(AuthKind.API_KEY, address).check({})
