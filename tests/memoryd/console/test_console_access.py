"""Access control: tickets, sessions, form tokens."""

from __future__ import annotations

import pytest

from memoryd.console.sessions import SESSION_SECONDS, TICKET_SECONDS, Sessions
from tests.memoryd.console.console_client import Console


def test_without_a_session_nothing_is_shown_and_nothing_is_asked(console: Console) -> None:
    console.client.cookies.clear()
    console.calls.clear()
    for path in ("/", "/memories", "/memories/mem_0123456789ab", "/no-such-page"):
        answer = console.client.get(path)
        assert (answer.status_code, "memoryd console" in answer.text) == (401, True)
    assert not console.calls


def test_a_ticket_opens_one_session_only(console: Console) -> None:
    ticket = console.sessions.issue()
    first = console.client.get("/open", params={"ticket": ticket})
    cookie = first.headers["set-cookie"]
    assert 'content="0; url=/"' in first.text and "location" not in first.headers
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    console.client.cookies.clear()
    assert console.client.get("/open", params={"ticket": ticket}).status_code == 401


@pytest.mark.parametrize("query", ["ticket=" + "x" * 5_000, "ticket=%ff", "&".join(f"a{n}=1" for n in range(20)), "ticket", ""])
def test_an_address_that_is_not_a_link_of_ours_opens_nothing(console: Console, query: str) -> None:
    answer = console.client.get(f"/open?{query}", headers={"cookie": ""})
    assert answer.status_code in (401, 414)
    assert not console.faults


def test_a_ticket_is_good_for_a_minute() -> None:
    now = 0.0
    sessions = Sessions(lambda: now)
    ticket, late = sessions.issue(), sessions.issue()
    now = TICKET_SECONDS - 1
    assert sessions.redeem(ticket)
    now = TICKET_SECONDS
    assert sessions.redeem(late) is None


def test_a_session_ends_when_it_was_idle_for_long() -> None:
    now = 0.0
    sessions = Sessions(lambda: now)
    token = sessions.redeem(sessions.issue())
    now = SESSION_SECONDS
    assert sessions.get(token)
    now += SESSION_SECONDS + 1
    assert sessions.get(token) is None


def test_a_change_needs_the_token_of_its_own_session(console: Console) -> None:
    foreign = console.sessions.get(console.sessions.redeem(console.sessions.issue())).csrf()
    headers = {"origin": "http://127.0.0.1:4242", "sec-fetch-site": "same-origin"}
    for token in ("", "x", "a.b", foreign):
        assert console.client.post("/theme", data={"csrf": token, "theme": "dark"}, headers=headers).status_code == 400
    own = console.csrf()
    assert console.client.post("/theme", data={"csrf": own, "theme": "dark"}, headers=headers).status_code == 303
    assert 'data-theme="dark"' in console.get("/no-such-page").text


def test_closing_a_session_makes_its_cookie_worthless(console: Console) -> None:
    cookie = console.client.cookies["memoryd-4242"]
    assert console.post("/leave").status_code == 200
    assert console.sessions.get(cookie) is None
    assert console.get("/").status_code == 401
