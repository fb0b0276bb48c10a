"""Settings of clients are edited without loss, and edits can be taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.base import FileChange
from memoryd.clients.edits import json_entries, own_file, text_section
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
