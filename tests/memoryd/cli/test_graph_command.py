"""`memoryd graph`, and the results folder of `memoryd console`."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryd.cli import console
from tests.memoryd.cli.conftest import Terminal


@pytest.mark.slow
def test_the_graph_around_a_name_and_a_memory_and_the_names_there_are(terminal: Terminal) -> None:
    one = terminal.json("remember", "`make seed` fills the tables of `db/ferry.sql`.")["id"]
    two = terminal.json("remember", "Nobody edits `db/ferry.sql` by hand.")["id"]
    around = terminal.json("graph", "DB/ferry.sql")
    assert [node["key"] for node in around["nodes"]][0] == "db/ferry.sql"
    assert {edge["source"] for edge in around["edges"]} == {one, two}
    assert two in [node["key"] for node in terminal.json("graph", one, "--depth", "2")["nodes"]]
    assert two not in [node["key"] for node in terminal.json("graph", one, "--depth", "2", "--type", "supersedes")["nodes"]]
    assert {"name": "db/ferry.sql", "mentions": 2} in terminal.json("graph")["names"]
    assert "MENTIONS\tdb/ferry.sql" in terminal.run("graph", one).stdout
    terminal.run("graph", "no-such-name.sql", code=3)


def test_results_of_the_folder_are_shown_unless_others_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert console._results(None) == ""
    (tmp_path / "results").mkdir()
    (tmp_path / "other").mkdir()
    assert console._results(None) == str(tmp_path / "results")
    assert console._results(Path("other")) == str(tmp_path / "other")
