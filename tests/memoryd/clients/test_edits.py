"""Settings of clients are edited without loss, and edits can be taken back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.base import FileChange
from memoryd.clients.edits import HookGroups, json_entries, own_file, text_section, toml_table
from memoryd.core.errors import ConfigError

PATH = Path("settings.json")
SERVER = {"command": "memoryd", "args": ["mcp"]}
VALUES = st.none() | st.integers() | st.text(max_size=9) | st.just({"args": [1, {}]})


def entry() -> FileChange:
    return json_entries(PATH, "Add the server", {("servers", "memoryd"): SERVER})


@given(
    st.dictionaries(st.text(max_size=9).filter(lambda key: key != "servers"), VALUES, max_size=4),
    st.sampled_from([None, 2, 4, "\t"]),
)
def test_an_entry_is_added_once_and_nothing_else_is_changed(values: dict[str, Any], indent: int | str | None) -> None:
    present = json.dumps(values, indent=indent).encode()
    once = entry().edit(present)
    assert once is not None
    assert json.loads(once) == values | {"servers": {"memoryd": SERVER}}
    assert entry().edit(once) == once
    reverted = entry().revert(once)
    assert json.loads(reverted or b"{}") == values
    assert entry().revert(present) == present


def test_a_file_is_created_and_deleted_again() -> None:
    made = entry().edit(None)
    assert made is not None and entry().revert(made) is None
    mine = own_file(PATH, "Write it", b"x")
    assert (mine.edit(None), mine.edit(b"x"), mine.revert(b"x")) == (b"x", b"x", None)


@pytest.mark.parametrize("present", [b'{"a": 1, // a comment\n}', b"[1]", b'{"servers": 3}', b"\xff"])
def test_a_file_that_would_lose_something_is_refused(present: bytes) -> None:
    with pytest.raises(ConfigError) as caught:
        entry().edit(present)
    assert caught.value.fix


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])).filter(lambda text: "memoryd:" not in text))
def test_a_section_is_added_renewed_and_removed(text: str) -> None:
    present = text.encode()
    first, second = (text_section(Path("AGENTS.md"), "Add it", section) for section in ("Use memory.", "Use it more."))
    once = first.edit(present)
    assert once is not None and first.edit(once) == once
    renewed = second.edit(once)
    assert renewed is not None and b"Use memory." not in renewed and b"Use it more." in renewed
    assert (second.revert(renewed) or b"").split() == present.split()
    assert second.revert(present) == present


def group(command: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command}]}


def hooks(version: int) -> FileChange:
    groups = {event: group(f"env MARK=codex sh hook.sh {event} v{version}") for event in ("Stop", "SessionStart")}
    return json_entries(PATH, "Add hooks", {}, HookGroups(groups, "MARK=codex"))


@given(st.dictionaries(st.sampled_from(["Stop", "Other"]), st.lists(st.builds(group, st.text(max_size=9)), max_size=3)))
def test_hooks_are_added_renewed_and_removed_beside_those_of_the_user(mine: dict[str, Any]) -> None:
    present = json.dumps({"hooks": mine} if mine else {}).encode()
    once = hooks(1).edit(present)
    assert once is not None and hooks(1).edit(once) == once
    added = json.loads(once)["hooks"]
    assert added["Stop"][:-1] == mine.get("Stop", []) and added["SessionStart"] == [
        group("env MARK=codex sh hook.sh SessionStart v1")
    ]
    renewed = hooks(2).edit(once)
    assert renewed is not None and json.loads(renewed) == json.loads(once.replace(b"v1", b"v2"))
    left = json.loads(hooks(2).revert(renewed) or b"{}").get("hooks", {})
    assert {event: groups for event, groups in left.items() if groups} == {event: g for event, g in mine.items() if g}
    assert hooks(1).revert(present) == present


TOML = """\
# mine
model = "o1"   # not formatted

[projects."/a[b]"]
trust = '''
[mcp_servers.memoryd]
'''
"""
PARTS = [
    '[mcp_servers.other]\nargs = [\n  "x", # why\n]\n',
    "[[list]]\na = 1\n",
    '\n# a comment\n["q.r"] # end\n',
    "[t]\r\nb = 1\r\n",
]


def table(command: str) -> FileChange:
    values = {"command": command, "args": ["mcp"], "env": {"MEMORYD_HOME": command}}
    return toml_table(Path("config.toml"), "Add the server", ("mcp_servers", "memoryd"), values)


@given(st.lists(st.sampled_from(PARTS), unique=True), st.lists(st.sampled_from(PARTS), unique=True), st.text(max_size=9))
def test_a_toml_table_is_set_and_removed_and_every_other_byte_is_kept(before: list[str], after: list[str], path: str) -> None:
    head, tail = TOML.partition("[projects")[0] + "".join(before), "".join(part for part in after if part not in before)
    made = table(path).edit(head.encode())
    assert made is not None and made.startswith(head.encode()) and table(path).edit(made) == made
    assert tomllib.loads(made.decode())["mcp_servers"]["memoryd"]["env"]["MEMORYD_HOME"] == path
    # The client adds the user's decisions below it, and other tables.
    grown = made + b"enabled = false\n[mcp_servers.memoryd.tools.recall]\napproval_mode = 'approve'\n" + tail.encode()
    renewed = table("/new").edit(grown)
    assert renewed is not None and renewed.endswith(grown[len(made) :])
    assert tomllib.loads(renewed.decode())["mcp_servers"]["memoryd"]["enabled"] is False
    assert (table("/new").revert(renewed) or b"").split() == (head + tail).encode().split()
    assert table(path).revert(head.encode()) == head.encode()
    assert table(path).revert(table(path).edit(b"") or b"") is None


@pytest.mark.parametrize(
    "present", [TOML, "mcp_servers = {}\n", "[mcp_servers]\nmemoryd = { command = 'x' }\n", "a = \n", "a = '\xff"]
)
def test_a_toml_file_that_would_lose_something_is_refused(present: str) -> None:
    with pytest.raises(ConfigError) as caught:
        table("x").edit(present.encode("latin-1"))
    assert caught.value.fix
