"""A second machine joins with the commands of docs/sync.md, each machine with its own daemon."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.daemon.client import Client
from tests.memoryd.cli.conftest import Terminal

pytestmark = pytest.mark.slow


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[tuple[Terminal, Terminal]]:
    made = []
    for name in ("desk", "laptop"):
        (tmp_path / name / "shop").mkdir(parents=True)
        made.append(Terminal(tmp_path / name / "home", tmp_path / name / "shop"))
    yield made[0], made[1]
    for machine in made:
        Client(machine.paths).stop(60)


def test_a_machine_has_the_others_memories_as_soon_as_it_is_set_up(machines: tuple[Terminal, Terminal], tmp_path: Path) -> None:
    desk, laptop = machines
    (tmp_path / "shared").mkdir()
    id = desk.json("remember", "My editor is Helix.", "--scope", "user")["id"]
    shown = desk.run("sync", "init", str(tmp_path / "shared"), "--name", "desk").output
    assert "0 received, 1 sent" in shown
    code = re.search(r"--code (\S+)", shown)
    assert code is not None
    assert (
        "1 received, 0 sent" in laptop.run("sync", "init", str(tmp_path / "shared"), "--code", code[1], "--name", "laptop").output
    )
    assert laptop.json("show", id)["memory"]["trust"] == "instruction"
    assert [machine["name"] for machine in laptop.json("sync", "status")["machines"]] == ["desk"]
    laptop.run("forget", id)
    laptop.run("sync", "now")
    desk.run("sync", "now")
    assert desk.json("search", "editor")["hits"] == []
