"""`memoryd review`: one key for each memory."""

from __future__ import annotations

import os

import click
import pytest
from click.testing import CliRunner

from memoryd.cli.app import app
from memoryd.cli.output import Output
from memoryd.daemon.client import Client
from tests.memoryd.cli.conftest import Terminal


def learn(terminal: Terminal, *contents: str) -> list[str]:
    """Write memories like those of a session's model."""
    call = Client(terminal.paths).call
    return [
        call("remember", {"cwd": str(terminal.folder), "caller": "model", "content": content, "session": "s1"})["id"]
        for content in contents
    ]


def press(terminal: Terminal, keys: str, monkeypatch: pytest.MonkeyPatch) -> str:
    environment = {name: value for name, value in os.environ.items() if name.startswith("MEMORYD_")}
    environment |= {"MEMORYD_HOME": str(terminal.home), "MEMORYD_EMBEDDER": "hash", "MEMORYD_LEASE_MINUTES": "2"}
    with monkeypatch.context() as patch:
        patch.setattr(Output, "is_interactive", property(lambda self: True))
        patch.chdir(terminal.folder)
        result = CliRunner().invoke(app(), ["review"], input=keys, env=environment)
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result.output


@pytest.mark.slow
def test_each_key_does_what_it_says_and_a_finished_walk_counts_as_seen(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.run("review", "--seen")
    first, second, third = learn(terminal, "Orders are sharded by region.", "The wiki moved to Gitea.", "Fonts come from a CDN.")
    output = press(terminal, "fsk", monkeypatch)
    assert "1 kept, 1 forgotten" in output
    status = {id: terminal.json("show", id)["memory"] for id in (first, second, third)}
    assert status[third]["status"] == "blacklisted"
    assert "confirmed" in status[first]["tags"] and not status[second]["tags"]
    assert "Nothing new." in terminal.run("review").output


def test_quitting_leaves_the_rest_for_the_next_time(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal.run("review", "--seen")
    learn(terminal, "The proxy caches for a day.", "Invoices are numbered per year.")
    press(terminal, "kq", monkeypatch)
    assert "The proxy caches for a day." in terminal.run("review").output


def test_ctrl_c_keeps_what_was_decided_so_far(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal.run("review", "--seen")
    older, newer = learn(terminal, "Exports are zipped.", "The logo is an SVG.")
    keys = iter("f")

    def pressed(echo: bool = False) -> str:
        """Return the next key, or raise what click raises for Ctrl-C."""
        if key := next(keys, ""):
            return key
        raise KeyboardInterrupt

    monkeypatch.setattr(click, "getchar", pressed)
    assert "0 kept, 1 forgotten" in press(terminal, "", monkeypatch)
    assert terminal.json("show", newer)["memory"]["status"] == "blacklisted"
    assert "Exports are zipped." in terminal.run("review").output
    assert terminal.json("show", older)["memory"]["status"] == "active"


def test_many_are_decided_at_once_without_a_terminal(terminal: Terminal) -> None:
    terminal.run("review", "--seen")
    keep, forget = learn(terminal, "Uploads are scanned twice.", "The intern owns the blog.")
    assert "2 to review" in terminal.run("review").output
    assert terminal.json("review", "--keep", keep, "--forget", forget) == {"kept": [keep], "forgotten": [forget]}
    assert terminal.json("show", forget)["memory"]["status"] == "blacklisted"


def test_confirming_something_unknown_names_it(terminal: Terminal) -> None:
    assert "mem_0123456789ab" in terminal.run("confirm", "mem_0123456789ab", code=3).output
