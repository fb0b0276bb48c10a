"""The basis of all pages: extension pages, streams, access to the daemon, compression, JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from memoryd.console import plugins
from memoryd.console.context import Context
from memoryd.console.contract import NavEntry, Page, Route
from memoryd.console.replies import Reply
from memoryd.core.errors import InputError
from tests.memoryd.console.console_client import Console

TEMPLATE = "{% extends 'base.html' %}{% block main %}{{ word }} {{ static('extra/x.js') }}{% endblock %}"


async def hello(ctx: Context) -> Reply:
    return ctx.json({"hello": ctx.path.get("name", ""), "got": ctx.form.texts("a")})


async def ticking(ctx: Context) -> Reply:
    async def events() -> AsyncIterator[Any]:
        for number in range(2):
            await ctx.call("project_names")
            yield "tick", {"number": number}

    return ctx.events(events())


async def failing(ctx: Context) -> None:
    raise InputError("That can't be.", fix="Try something else.")


async def foreign(ctx: Context) -> Reply:
    return await ctx.page("extra/page.html", word="<b>")


@pytest.fixture
def extra(tmp_path: Path) -> Page:
    for name, text in (("templates/page.html", TEMPLATE), ("static/x.js", "export {};")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    routes = (Route("/hello/{name}", hello, ("GET", "POST")), Route("/ticks", ticking, stream=True), Route("/fail", failing))
    return Page("extra", (*routes, Route("/extra", foreign)), NavEntry("Extra", "/extra"), tmp_path)


@pytest.fixture
def framed(extra: Page) -> Iterator[Console]:
    made = Console((extra,))
    with made.client:
        yield made.open()


def test_a_page_of_another_package_has_its_own_templates_and_static_files(framed: Console) -> None:
    text = framed.get("/extra").text
    assert "&lt;b&gt;" in text
    assert framed.client.get(text.split("/static/")[-1].join(["/static/", ""]).split()[0].split("<")[0]).text == "export {};"


def test_a_stream_does_not_count_as_use_of_the_daemon(framed: Console) -> None:
    before = framed.touches
    answer = framed.get("/ticks")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.endswith('event: tick\ndata: {"number":0}\n\nevent: tick\ndata: {"number":1}\n\n')
    assert framed.touches == before
    assert framed.uses[-2:] == [False, False]
    framed.get("/extra")
    assert framed.touches == before + 1


def test_a_script_gets_faults_as_json(framed: Console) -> None:
    answer = framed.client.get("/fail", headers={"accept": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"] == {"code": "input", "message": "That can't be.", "fix": "Try something else."}


def test_a_script_may_post_json_with_the_token_in_a_header(framed: Console) -> None:
    import re

    token = re.search(r'name="csrf" content="([^"]+)"', framed.get("/extra").text)[1]
    headers = {"origin": "http://127.0.0.1:4242", "x-csrf-token": token, "accept": "application/json"}
    answer = framed.client.post("/hello/you", json={"a": ["x", "y"]}, headers=headers)
    assert answer.json() == {"hello": "you", "got": ["x", "y"]}


@pytest.mark.parametrize("name", ["..", ".hidden", "a%2Fb", "a" * 129, "ü"])
def test_a_part_of_an_address_is_a_plain_name(framed: Console, name: str) -> None:
    assert framed.get(f"/hello/{name}").status_code == 404


def test_pages_are_compressed(framed: Console) -> None:
    assert framed.client.get("/extra", headers={"accept-encoding": "gzip"}).headers["content-encoding"] == "gzip"


# Entry points


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, plugins.GROUP)


good = Page("good", (Route("/good", hello),), NavEntry("Good", "/good"))
taken = Page("taken", (Route("/good", hello),))
no_page = "a text"


def test_pages_come_from_entry_points() -> None:
    pages, faults = plugins.load([entry("good", f"{__name__}:good")], ())
    assert (pages, faults) == ([good], [])


@pytest.mark.parametrize("value", ["no_such_module:PAGE", f"{__name__}:nothing", f"{__name__}:no_page", f"{__name__}:taken"])
def test_an_entry_point_that_cannot_be_loaded_is_reported_and_left_out(value: str) -> None:
    pages, faults = plugins.load([entry("bad", value)], (good,))
    assert pages == []
    assert "'bad' could not be loaded" in faults[0]
