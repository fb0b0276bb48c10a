"""Attacks on the console: from other sites and host names, through text, paths and size."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memoryd.console.listener import MAX_CONNECTIONS, Listener, bind
from memoryd.console.markdown import render
from memoryd.console.safety import MAX_BODY_BYTES, MAX_QUERY_BYTES, RequestGuard
from memoryd.core.codec import item_to_dict
from memoryd.core.errors import ConflictError
from memoryd.core.types import EPOCH, MemoryItem
from tests.memoryd.console.auditing import harm
from tests.memoryd.console.console_client import Console
from tests.waiting import until

HOST = "127.0.0.1:4242"
ORIGIN = f"http://{HOST}"
ROUTE = ("backend", "rule", "reason")
ID, OTHER = "mem_0123456789ab", "mem_0123456789ac"
HOSTILE = [
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    '"><svg/onload=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7*7 }}{% for x in y %}",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "[x](javascript:alert(1)) [y](JaVaScRiPt:alert(1)) [z](data:text/html,<script>alert(1)</script>)",
    "[v](vbscript:x) <javascript:alert(1)> [p](//192.0.2.1/x) [b](/\\192.0.2.1)",
    "![pixel](http://192.0.2.1/p.png) ![d](data:image/svg+xml,<svg onload=alert(1)>)",
    "<style>*{display:none}</style><iframe src=/></iframe><base href=//192.0.2.1>",
    "|a|\n|:-:|\n|<b onclick=alert(1)>|",
]


# Who may ask


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:4242",
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost",
        "127.0.0.1:4242.evil.example",
        "[::1]:4242",
        "",
    ],
)
def test_a_name_that_was_rebound_to_this_machine_is_refused(console: Console, host: str) -> None:
    console.calls.clear()
    answer = console.client.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert not console.calls


def test_localhost_is_our_name_too(console: Console) -> None:
    assert console.client.get("/no-such-page", headers={"host": "localhost:4242"}).status_code in (401, 404)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999", "sec-fetch-site": "same-site"},
        {"origin": "null"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": ORIGIN, "sec-fetch-site": "cross-site"},
        {"origin": f"https://{HOST}"},
        {"origin": f"{ORIGIN}.evil.example", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
    ],
)
def test_a_change_from_another_site_is_refused_even_with_a_good_token(console: Console, headers: dict[str, Any]) -> None:
    token = console.csrf()
    console.calls.clear()
    answer = console.client.post(f"/memories/{ID}/forget", data={"csrf": token}, headers=headers)
    assert answer.status_code == 403
    assert not console.calls


@pytest.mark.parametrize("headers", [{"origin": ORIGIN}, {"origin": "null", "sec-fetch-site": "same-origin"}])
def test_a_change_from_our_own_page_is_done(console: Console, headers: dict[str, Any]) -> None:
    console.answers["forget"] = {"id": ID, "status": "blacklisted"}
    answer = console.client.post(f"/memories/{ID}/forget", data={"csrf": console.csrf()}, headers=headers)
    assert answer.status_code == 303


def test_a_change_without_a_token_is_refused(console: Console) -> None:
    headers = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}
    for body in ({}, {"csrf": "x"}, {"csrf": "é.\ud7ff"}):
        assert console.client.post(f"/memories/{ID}/forget", data=body, headers=headers).status_code == 400
    assert not console.asked("forget")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_may_link_to_a_page_but_not_fetch_or_embed_it(console: Console, site: str) -> None:
    get = console.client.get
    for mode, destination in (("no-cors", "script"), ("cors", "empty"), ("navigate", "iframe"), ("no-cors", "image")):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": destination}
        assert get("/no-such-page", headers=headers).status_code == 403
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert get("/no-such-page", headers=headers).status_code == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_not_used(console: Console, method: str) -> None:
    assert console.client.request(method, "/").status_code == 405


def test_a_preflight_from_another_site_is_given_nothing(console: Console) -> None:
    answer = console.client.options("/", headers={"origin": "http://evil.example", "access-control-request-method": "POST"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


# What every answer carries


@pytest.mark.parametrize("path", ["/", "/no-such-page", "/open?ticket=x", "/static/x/style.css", f"/memories/{ID}"])
def test_every_answer_forbids_scripts_of_others_frames_and_sniffing(console: Console, path: str) -> None:
    headers = console.client.get(path).headers
    policy = headers["content-security-policy"]
    for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"


def test_refusals_carry_them_too(console: Console) -> None:
    answer = console.client.get("/", headers={"host": "evil.example"})
    assert "content-security-policy" in answer.headers


def test_pages_are_not_kept_by_the_browser_and_scripts_are(console: Console) -> None:
    assert console.client.get("/no-such-page").headers["cache-control"] == "no-store"
    page = console.client.get("/no-such-page").text
    address = page.split('stylesheet" href="')[1].split('"')[0]
    sheet = console.client.get(address)
    assert "immutable" in sheet.headers["cache-control"]
    assert console.client.get(address, headers={"if-none-match": sheet.headers["etag"]}).status_code == 304


# Text


def test_the_auditor_sees_what_it_has_to() -> None:
    for text in HOSTILE[:3]:
        assert harm(text)
    assert harm("<a href='javascript:x'>") and harm("<a href=//x>") and harm("<p style=x>")


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_has_no_way_to_run_or_load_anything(text: str) -> None:
    assert harm(render(text)) == []


def test_text_in_any_field_of_a_memory_comes_out_as_text(console: Console) -> None:
    for text in HOSTILE:
        item = MemoryItem(text, id=ID, project=text, session=text, tags=(text,), entities=(text,), created_at=EPOCH)
        memory = {**item_to_dict(item), "evidence": {"transcript": text, "lines": [text], "commit": text, "paths": [text]}}
        turn = {"who": text, "text": text, "line": 1, "at": "", "tool": text, "detail": text, "meant": True}
        brief = {**memory, "score": 0.5, "relevancy": 0.5, "backend": text, "parts": {text: 0.1}}
        change = {"at": text, "action": text, "stage": text, "reason": text, "undone": True, "differences": {text: [text, text]}}
        use = {"session": text, "how": text, "at": text}
        console.answers |= {
            "why": {"memory": memory, "is_there": True, "replaces": [text], "replaced_by": [text], "edited_by_hand": True,
                    "changes": [change], "used": {text: 1}, "uses": [use], "path": text},
            "evidence": {"turns": [turn], "reason": text},
            "related": {"related": [{"via": text, "memory": memory}]},
            "get_memory": {"memory": memory, "digest": text, "path": text},
            "recall": {"hits": [brief], "weak": [brief], "below_floor": 1, "route": dict.fromkeys(ROUTE, text)},
            "list_memories": {"memories": [memory], "total": 1, "left_out": 0, "next": text},
            "overview": {"first": "2026-01-01", "last": text},
            "project_names": {"projects": [{"id": "shop", "name": text}], "current": ""},
        }  # fmt: skip
        pages = [f"/memories/{ID}", f"/memories/{ID}/edit", f"/memories/{ID}/merge?other={OTHER}", "/memories", "/memories?q=x"]
        for path in pages:
            answer = console.get(path) if "?" not in path else console.client.get(path)
            assert answer.status_code == 200, (path, console.faults)
            assert harm(answer.text) == [], path
            assert "{{" not in text or "{{ 7*7 }}" in answer.text
        console.answers["update_memory"] = ConflictError(text)
        for form in (
            {"content": f"{text} mine"},
            {"content": text, "tags": "x" * 3_000},
        ):  # A conflict, or a form that is refused.
            answer = console.post(f"/memories/{ID}/edit", **{**form, "digest": "x", "kind": "note"})
            assert answer.status_code in (400, 409) and "<textarea" in answer.text
            assert harm(answer.text) == []


def test_the_searched_text_comes_back_as_text(console: Console) -> None:
    console.answers |= {
        "recall": {"hits": [], "weak": [], "below_floor": 0, "route": {"backend": "x", "rule": "x", "reason": "x"}},
        "overview": {"first": "", "last": ""},
    }
    html = console.client.get("/memories", params={"q": '"><script>alert(1)</script>'}).text
    assert harm(html) == []


# Paths and sizes


@pytest.mark.parametrize(
    "path",
    [
        "/memories/..%2f..%2fetc%2fpasswd",
        "/memories/mem_0123456789ab%00",
        "/memories/mem_0123456789AB",
        "/memories/mem_0123456789ab%0d%0aX-Evil:1",
        "/static/x/../../web.py",
        "/static/x/%2e%2e/%2e%2e/web.py",
        "/static/x//etc/passwd",
        "/static/x/..%2fweb.py",
        "/static/%2e%2e/assets.py",
    ],
)
def test_no_path_leads_out(console: Console, path: str) -> None:
    console.calls.clear()
    answer = console.client.get(path)
    assert answer.status_code == 404
    assert "import" not in answer.text
    assert not console.asked("why")


ELSEWHERE = "//evil.example /\\evil.example https://evil.example javascript:alert(1)".split()


@pytest.mark.parametrize("back", [*ELSEWHERE, "/\t/evil.example", "/x\r\nset-cookie: a=b", "/\u202e", "/x\0"])
def test_a_form_cannot_send_the_browser_elsewhere(console: Console, back: str) -> None:
    assert console.post("/theme", theme="dark", back=back).headers["location"] == "/"


def test_a_long_address_is_refused(console: Console) -> None:
    assert console.client.get("/memories?q=" + "a" * MAX_QUERY_BYTES).status_code == 414
    assert console.client.get("/" + "a" * 2_000).status_code == 414


def test_a_search_that_is_too_long_or_is_invalid_is_a_plain_error(console: Console) -> None:
    console.answers["overview"] = {"first": "", "last": ""}
    for query in ({"q": "a" * 2_000}, {"kind": "x"}, {"after": "yesterday"}, {"status": "x"}, {"backend": "x"}):
        answer = console.get("/memories", **query)
        assert answer.status_code == 400
        assert "What to do" in answer.text
    assert console.client.get("/memories?q=%ff%fe").status_code == 400


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "application/xml"])
def test_a_body_of_another_type_is_refused(console: Console, kind: str) -> None:
    headers = {"origin": ORIGIN, "sec-fetch-site": "same-origin", "content-type": kind, "x-csrf-token": console.csrf()}
    assert console.client.post("/theme", content=b"theme=dark", headers=headers).status_code == 400


@pytest.mark.parametrize("body", [b"[1]", b"{", b'{"theme": {"a": 1}}', b"\xff"])
def test_json_that_is_not_a_form_is_refused(console: Console, body: bytes) -> None:
    headers = {
        "origin": ORIGIN,
        "sec-fetch-site": "same-origin",
        "content-type": "application/json",
        "x-csrf-token": console.csrf(),
    }
    assert console.client.post("/theme", content=body, headers=headers).status_code == 400


def test_a_declared_body_that_is_too_large_is_refused_unread(console: Console) -> None:
    headers = {"origin": ORIGIN, "sec-fetch-site": "same-origin", "content-length": str(MAX_BODY_BYTES + 1)}
    assert console.client.post("/theme", content=b"", headers=headers).status_code == 413


def test_a_body_without_a_length_is_counted_as_it_comes(console: Console) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"a" * 65_536

    async def drive() -> list[dict[str, Any]]:
        sent, pieces = [], endless()

        async def app(scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
            while True:
                await receive()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": next(pieces), "more_body": True}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        headers = [(b"host", HOST.encode()), (b"origin", ORIGIN.encode())]
        await RequestGuard(app, [HOST])({"type": "http", "method": "POST", "headers": headers}, receive, send)  # type: ignore[arg-type]
        return sent

    assert asyncio.run(drive())[0]["status"] == 413


# On a real socket


def talk(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        connection.sendall(data)
        received = b""
        while chunk := connection.recv(65_536):
            received += chunk
    return received


@pytest.fixture
def port(console: Console) -> Iterator[int]:
    """Serve the application on a loopback socket, in a separate event loop."""
    listening = bind(0)
    loop = asyncio.new_event_loop()
    number = listening.getsockname()[1]
    listener = Listener(RequestGuard(console.app._app, [f"127.0.0.1:{number}"]), listening)  # type: ignore[attr-defined]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(listener.start(), loop).result(60)
    yield number
    asyncio.run_coroutine_threadsafe(listener.close(), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(60)
    loop.close()


def test_raw_requests_that_bend_the_protocol_get_nowhere(port: int) -> None:
    host = b"Host: 127.0.0.1:%d\r\n" % port
    end = b"Connection: close\r\n\r\n"
    cases = {
        b"GET / HTTP/1.1\r\n" + end: b"400",
        b"GET / HTTP/1.1\r\n" + host + host + end: b"400",
        b"GET / HTTP/1.1\r\nHost: evil.example\r\n" + end: b"421",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n" + end: b"421",
        b"GET /memories/../../../etc/passwd HTTP/1.1\r\n" + host + end: b"401",
        b"GET / HTTP/1.1\r\n" + host + b"X: " + b"a" * 40_000 + b"\r\n" + end: b"431",
        b"POST /theme HTTP/1.1\r\n" + host + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" + end + b"0\r\n\r\n": b"40",
        b"\x16\x03\x01\x02\x00": b"400",
    }
    for request, status in cases.items():
        first = talk(port, request).split(b"\r\n")[0]
        assert first.split(b" ")[1].startswith(status), (request[:60], first)


def test_it_listens_on_loopback_only() -> None:
    with bind(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def closed(connections: list[Any]) -> int:
    """Count the connections that the other side closed."""
    count = 0
    for connection in connections:
        connection.setblocking(False)
        try:
            while connection.recv(65_536):
                continue
            count += 1
        except BlockingIOError:
            continue
        except OSError:
            count += 1
    return count


def test_half_requests_neither_fill_the_house_nor_stay(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.console.listener.REQUEST_SECONDS", 0.3)
    half = []
    for begin in (b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"\r\n\r\n\r\n") * 50:
        connection = socket.create_connection(("127.0.0.1", port), 60)
        connection.sendall(begin)
        half.append(connection)
    request = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % port
    assert talk(port, request).split(b" ")[1] == b"401"
    assert len(half) > 2 * MAX_CONNECTIONS
    until(lambda: closed(half) == len(half))


def test_a_body_that_does_not_come_is_not_waited_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.console.listener.REQUEST_SECONDS", 0.3)
    us = b"127.0.0.1:%d" % port
    head = b"POST /theme HTTP/1.1\r\nHost: " + us + b"\r\nOrigin: http://" + us + b"\r\nContent-Length: 9\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        connection.sendall(head)
        until(lambda: closed([connection]) == 1)
    assert talk(port, b"GET / HTTP/1.1\r\nHost: " + us + b"\r\nConnection: close\r\n\r\n").split(b" ")[1] == b"401"


def test_a_second_request_on_a_connection_has_its_limit_too(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.console.listener.REQUEST_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 401")
        connection.sendall(b"GET / HT")
        connection.settimeout(60)
        while connection.recv(65_536):
            continue


@pytest.mark.parametrize(
    ("method", "headers"), [("HEAD", {}), ("GET", {"sec-purpose": "prefetch;prerender"}), ("GET", {"purpose": "prefetch"})]
)
def test_looking_ahead_does_not_use_a_ticket_up(console: Console, method: str, headers: dict[str, Any]) -> None:
    ticket = console.sessions.issue()
    console.client.request(method, "/open", params={"ticket": ticket}, headers=headers)
    assert console.client.get("/open", params={"ticket": ticket}).status_code == 200
