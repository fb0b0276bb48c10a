"""Providers that are programs: JSON lines, and the handling of a program that fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import ConfigError, DependencyError, ProviderError
from memeval.core.protocols import Provider
from memeval.core.types import SearchRequest
from tests.memeval.providers.material import attic, garden, make

PROGRAM = Path(__file__).with_name("fake_program.py")
TOMATOES = SearchRequest("tomatoes in my garden", 3)
SOON = 60.0


def options(fault: str = "", **more: Any) -> dict[str, Any]:
    return {"command": [sys.executable, str(PROGRAM), fault], "startSeconds": SOON, "callSeconds": SOON, **more}


@contextmanager
def opened(workdir: Path, fault: str = "", **more: Any) -> Iterator[Provider]:
    provider = make("process", options(fault, **more))
    try:
        provider.open(workdir)
        yield provider
    finally:
        provider.close()


def test_what_was_added_is_found_with_its_source(tmp_path: Path) -> None:
    with opened(tmp_path) as provider:
        result = provider.ingest("one", garden())
        provider.await_indexed("one", SOON)
        best, *rest = provider.search("one", TOMATOES)
    assert result["items"] == result["kept"] == 10
    assert (best.sessions, best.turns) == (("s1",), ("s1-0",))
    assert "I planted tomatoes" in best.text
    assert len(rest) == 2


def test_sessions_are_pieces_in_the_place_of_their_best_turn(tmp_path: Path) -> None:
    with opened(tmp_path) as provider:
        provider.ingest("one", garden())
        pieces = provider.search("one", SearchRequest("red bicycle", 10, granularity="session"))
    assert [piece.sessions for piece in pieces] == [("s2",), ("s1",), ("s3",)]


def test_searches_come_from_another_process_than_writes(tmp_path: Path) -> None:
    with opened(tmp_path) as provider:
        provider.ingest("one", garden())
    with opened(tmp_path) as provider:
        assert provider.search("one", TOMATOES)[0].turns == ("s1-0",)


def test_ingesting_again_adds_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as provider:
        provider.ingest("one", garden()[:2])
        again = provider.ingest("one", garden())
        assert (again["new"], again["items"]) == (1, 4)
        assert len(provider.search("one", SearchRequest("anything", 50))) == 10


def test_scopes_are_apart_and_cleared_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as provider:
        provider.ingest("one", garden())
        provider.ingest("two", attic())
        provider.clear("one")
        assert provider.search("one", TOMATOES) == []
        assert {piece.sessions for piece in provider.search("two", TOMATOES)} <= {("x1",), ("x2",)}


def test_items_can_end_with_what_was_said_before(tmp_path: Path) -> None:
    with opened(tmp_path, keyExpansion=True) as provider:
        provider.ingest("one", garden())
    items = json.loads((tmp_path / "program" / "one.json").read_text())
    assert items[1]["text"].endswith("(after: I planted tomatoes in my garden.)")


def test_the_result_tells_every_process_that_worked(tmp_path: Path) -> None:
    with opened(tmp_path) as provider:
        provider.ingest("one", garden())
        provider.provenance()
    with opened(tmp_path) as provider:
        result = provider.provenance()["processes"]
    assert result == [{"versions": {"fake": "1.0"}, "files": 1}] * 2


def test_a_program_that_ends_is_reported_with_its_last_words_and_started_again(tmp_path: Path) -> None:
    with opened(tmp_path, "crash-search") as provider:
        provider.ingest("one", garden())
        for _ in range(2):
            with pytest.raises(ProviderError, match=r"ended during search \(exit code 3\); it said: out of memory") as caught:
                provider.search("one", TOMATOES)
            assert not caught.value.transient
            assert "process.log" in caught.value.fix
        assert provider.ingest("one", attic())["new"] == 2


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    with opened(tmp_path, "hang-search") as provider:
        provider.ingest("one", garden())
        provider._call_seconds = 0.3  # type: ignore[attr-defined]
        program = provider._program  # type: ignore[attr-defined]
        with pytest.raises(ProviderError, match=r"did not respond to search within 0\.3 s"):
            provider.search("one", TOMATOES)
        assert not program.running


def test_a_program_that_never_gets_ready_is_reported_before_any_work(tmp_path: Path) -> None:
    with (
        pytest.raises(ProviderError, match=r"did not respond to open within 0\.3 s"),
        opened(tmp_path, "hang-open", startSeconds=0.3),
    ):
        pass


@pytest.mark.parametrize("fault", ["chatter-search", "other-search"])
def test_an_answer_out_of_turn_ends_the_program(tmp_path: Path, fault: str) -> None:
    with opened(tmp_path, fault) as provider:
        provider.ingest("one", garden())
        with pytest.raises(ProviderError, match="responded to search with"):
            provider.search("one", TOMATOES)


def test_ok_may_be_anything_where_nothing_is_asked_for(tmp_path: Path) -> None:
    with opened(tmp_path, "bare") as provider:
        assert provider.ingest("one", garden())["items"] == 10
        provider.await_indexed("one", SOON)
        assert provider.search("one", TOMATOES)
        provider.clear("one")


def test_an_error_that_the_program_tells_can_be_transient(tmp_path: Path) -> None:
    with opened(tmp_path, "refuse-add") as provider:
        with pytest.raises(ProviderError, match="could not add: no room") as caught:
            provider.ingest("one", garden())
        assert caught.value.transient


def test_an_id_that_was_never_added_is_an_error(tmp_path: Path) -> None:
    with opened(tmp_path) as provider:
        provider.ingest("one", garden())
        path = tmp_path / "program" / "one.json"
        path.write_text(path.read_text().replace('"s1-0"', '"elsewhere"'))
        with pytest.raises(ProviderError, match="returned 'elsewhere', which is not in one"):
            provider.search("one", TOMATOES)


def test_a_missing_program_is_reported_when_the_run_is_checked() -> None:
    with pytest.raises(DependencyError, match="process is not installed: there is no program /nowhere/python"):
        make("process", {"command": ["/nowhere/python", "adapter.py"]})


@pytest.mark.parametrize("command", ["python adapter.py", [1]])
def test_a_command_is_a_list_of_texts(command: Any) -> None:
    with pytest.raises(ConfigError, match="command"):
        make("process", {"command": command})


def test_without_a_command_nothing_is_started(tmp_path: Path) -> None:
    provider = make("process", {})
    with pytest.raises(ConfigError, match="command"):
        provider.open(tmp_path)
