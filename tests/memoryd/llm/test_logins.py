"""A session's login: only in memory, of the correct session, and removed from the environment."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memoryd.llm.claude import KEPT_SESSIONS, PREFIX, Logins, login_of, take_from


def test_a_run_has_the_login_of_the_session_that_it_reads_or_else_the_latest() -> None:
    logins = Logins()
    assert logins.current() == {}
    assert logins.note("s1", {"ANTHROPIC_API_KEY": "one"})
    assert logins.note("s2", {"ANTHROPIC_API_KEY": "two"})
    assert not logins.note("s2", {"ANTHROPIC_API_KEY": "two"})
    logins.select("s1")
    assert logins.current() == {"ANTHROPIC_API_KEY": "one"}
    logins.select("of another day")
    assert logins.current() == {"ANTHROPIC_API_KEY": "two"}
    logins.clear()
    assert logins.current() == {}


def test_only_the_latest_sessions_are_held() -> None:
    logins = Logins()
    for number in range(KEPT_SESSIONS + 1):
        logins.note(f"s{number}", {"ANTHROPIC_API_KEY": str(number)})
    logins.select("s0")
    assert logins.current() == {"ANTHROPIC_API_KEY": str(KEPT_SESSIONS)}


def test_other_variables_are_not_taken_for_a_login() -> None:
    options = {f"{PREFIX}LD_PRELOAD": "x", f"{PREFIX}PATH": "y", "ANTHROPIC_API_KEY": "z", f"{PREFIX}AWS_PROFILE": "p"}
    assert login_of(options) == {"AWS_PROFILE": "p"}


def test_the_daemon_keeps_nothing_of_it_in_its_environment() -> None:
    environ = {f"{PREFIX}ANTHROPIC_API_KEY": "k", "PATH": "/bin"}
    assert take_from(environ) == {"ANTHROPIC_API_KEY": "k"}
    assert environ == {"PATH": "/bin"}


@given(st.text(st.characters(exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", exclude_categories=["Cs"])))
def test_any_value_survives_its_one_line(value: str) -> None:
    line = value.replace("\\", "\\\\").replace("\n", "\\n")
    assert "\n" not in line
    assert login_of({f"{PREFIX}ANTHROPIC_CUSTOM_HEADERS": line}) == {"ANTHROPIC_CUSTOM_HEADERS": value}
