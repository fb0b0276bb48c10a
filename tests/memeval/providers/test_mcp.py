"""Providers that are MCP servers, described only by a YAML file, and the handling of a server that fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from memeval.cli.app import build
from memeval.core.errors import ConfigError, ProviderError
from memeval.core.types import SearchRequest
from memeval.providers.mcp import McpProvider
from memeval.specs import load_provider_spec
from tests.memeval.providers.material import attic, garden

SERVER = Path(__file__).with_name("fake_mcp.py")
TOMATOES = SearchRequest("tomatoes in my garden", 3)
FILE = """
name: notes
type: mcp
mcp:
  command: {command}
  callTimeout: 20
tools:
  add:
    tool: note
    unit: turn
    arguments:
      text: $.content
    response:
      idField: $.id
  search:
    tool: find
    arguments:
      words: $.query
      most: $.k
    response:
      results: $.notes
      contentField: $.text
      scoreField: $.score
      idField: $.id
  clear:
    tool: drop
    eachId: true
    arguments:
      note: $.id
"""


def written(folder: Path, fault: str = "", changes: dict[str, str] | None = None) -> Path:
    text = FILE.format(command=json.dumps([sys.executable, str(SERVER), "${folder}/notes.json", fault]))
    for old, new in (changes or {}).items():
        assert old in text
        text = text.replace(old, new)
    path = folder / "notes.yaml"
    path.write_text(text)
    return path


@contextmanager
def opened(folder: Path, fault: str = "", changes: dict[str, str] | None = None) -> Iterator[McpProvider]:
    provider = McpProvider(load_provider_spec(written(folder, fault, changes)), {})
    try:
        provider.open(folder / "state")
        yield provider
    finally:
        provider.close()


def test_what_was_added_is_found_with_source_and_score(tmp_path: Path) -> None:
    with opened(tmp_path) as provider:
        assert provider.ingest("one", garden())["calls"] == 10
        best, *_ = provider.search("one", TOMATOES)
    assert (best.sessions, best.turns) == (("s1",), ("s1-0",))
    assert best.score >= 3


def test_each_case_has_a_server_of_its_own_that_is_cleared_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as provider:
        provider.ingest("one", garden())
        provider.ingest("two", attic())
        assert {piece.sessions for piece in provider.search("two", SearchRequest("my", 20))} <= {("x1",), ("x2",)}
        provider.clear("one")
        assert provider.search("one", TOMATOES) == []
        assert provider.search("two", TOMATOES)


def test_state_is_there_for_the_next_process(tmp_path: Path) -> None:
    with opened(tmp_path) as provider:
        provider.ingest("one", garden()[:1])
    with opened(tmp_path) as provider:
        assert provider.ingest("one", garden())["calls"] == 6
        assert provider.search("one", TOMATOES)[0].turns == ("s1-0",)


def test_more_cases_than_servers_run_in_turn(tmp_path: Path) -> None:
    with opened(tmp_path) as provider:
        for number in range(6):
            provider.ingest(f"case {number}", garden()[:1])
        assert len(provider._servers) <= 4
        assert all(provider.search(f"case {number}", TOMATOES) for number in range(6))


def test_one_server_for_all_keeps_cases_apart_by_an_argument(tmp_path: Path) -> None:
    changes = {
        "  callTimeout": "  perCase: false\n  callTimeout",
        "      text: $.content": "      text: $.content\n      user: ${runTag}",
        "      most: $.k": "      most: $.k\n      user: ${runTag}",
    }
    with opened(tmp_path, changes=changes) as provider:
        provider.ingest("one", garden())
        provider.ingest("two", attic())
        assert {piece.sessions for piece in provider.search("two", SearchRequest("my", 20))} <= {("x1",), ("x2",)}
        provider.clear("two")
        assert provider.search("one", TOMATOES)[0].turns == ("s1-0",)


def test_an_answer_in_plain_words_is_cut_by_a_pattern(tmp_path: Path) -> None:
    changes = {
        "      results: $.notes": r"      pattern: '- (?P<id>\w+) \((?P<score>[\d.]+)\): (?P<text>.+)'"
        "\n      results: $.results"
    }
    with opened(tmp_path, "text", changes) as provider:
        provider.ingest("one", garden())
        best, *_ = provider.search("one", TOMATOES)
    assert (best.turns, best.score) == (("s1-0",), 4.0)


def test_a_fault_in_plain_words_is_an_error_and_not_an_empty_answer(tmp_path: Path) -> None:
    with opened(tmp_path, "words") as provider:
        provider.ingest("one", garden()[:1])
        with pytest.raises(ProviderError, match="no embedding model.*plain text instead of data"):
            provider.search("one", TOMATOES)


def test_a_text_that_the_pattern_does_not_match_is_an_error_unless_it_says_that_nothing_was_found(tmp_path: Path) -> None:
    pattern = r"      pattern: '- (?P<id>\w+) \((?P<score>[\d.]+)\): (?P<text>.+)'"
    nothing = SearchRequest("nothing at all", 3)
    with opened(tmp_path, "text", {"      results: $.notes": f"{pattern}\n      results: $.results"}) as provider:
        provider.ingest("one", garden()[:1])
        with pytest.raises(ProviderError, match="which the pattern does not match"):
            provider.search("one", nothing)
    result = {"      results: $.notes": f"{pattern}\n      nothing: ^No notes\n      results: $.results"}
    with opened(tmp_path, "text", result) as provider:
        assert provider.search("one", nothing) == []


def test_json_inside_a_text_result_is_read_as_json(tmp_path: Path) -> None:
    with opened(tmp_path, "wrapped") as provider:
        provider.ingest("one", garden())
        assert provider.search("one", TOMATOES)[0].turns == ("s1-0",)


def test_a_server_that_ends_is_a_transient_error_and_the_next_call_starts_another(tmp_path: Path) -> None:
    with opened(tmp_path, "die") as provider:
        provider.ingest("one", garden())
        assert provider.search("one", TOMATOES)
        with pytest.raises(ProviderError, match="out of memory") as caught:
            provider.search("one", TOMATOES)
        assert caught.value.transient
        assert provider.search("one", TOMATOES)[0].turns == ("s1-0",)


def test_a_server_that_gives_no_answer_is_ended(tmp_path: Path) -> None:
    with opened(tmp_path, "hang", {"callTimeout: 20": "callTimeout: 1"}) as provider:
        provider.ingest("one", garden()[:1])
        with pytest.raises(ProviderError, match="did not respond to find"):
            provider.search("one", TOMATOES)


def test_what_a_tool_says_of_its_failure_is_the_error(tmp_path: Path) -> None:
    with opened(tmp_path, "broken") as provider:
        provider.ingest("one", garden()[:1])
        with pytest.raises(ProviderError, match="the index is gone") as caught:
            provider.search("one", TOMATOES)
    assert not caught.value.transient


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    with opened(tmp_path, "silent") as provider, pytest.raises(ProviderError, match="no licence"):
        provider.ingest("one", garden())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tool: find", "tool: seek", "has no tool 'seek'.*drop, find, note"),
        ("words: $.query", "query: $.query", "no argument 'query'.*words"),
    ],
)
def test_a_tool_or_argument_that_is_not_there_is_named_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    with opened(tmp_path, changes={old: new}) as provider, pytest.raises(ProviderError, match=said) as caught:
        provider.ingest("one", garden())
    assert "notes.yaml:" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"${folder}/notes.json": "/dev/null"}, r"\$\{folder\} is not used"),
        ({"  callTimeout": "  perCase: false\n  callTimeout"}, r"tools.add.*no argument uses \$\{runTag\}"),
        ({"words: $.query": "words: $.asked"}, "there is no value 'asked'"),
        ({"idField: $.id\n  search": "pattern: '(unclosed'\n  search"}, "is not a regular expression"),
        ({"type: mcp": "type: local"}, "is for type mcp"),
        ({"tool: note": "tool: note\n    path: /notes"}, "path is not a known key"),
    ],
)
def test_a_file_that_would_mix_cases_or_cannot_work_is_refused(tmp_path: Path, changes: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        McpProvider(load_provider_spec(written(tmp_path, changes=changes)), {}).check()


def test_a_program_that_is_not_installed_is_reported_before_any_work(tmp_path: Path) -> None:
    path = written(tmp_path, changes={json.dumps(sys.executable): '"no-such-program"'})
    with pytest.raises(ConfigError, match="there is no program no-such-program"):
        McpProvider(load_provider_spec(path), {}).check()


def test_a_program_beside_this_python_is_found_without_an_active_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "notes-server"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {SERVER} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with opened(tmp_path, changes={json.dumps(sys.executable): '"notes-server"', f"{json.dumps(str(SERVER))}, ": ""}) as provider:
        provider.check()
        assert provider.ingest("one", garden())["calls"] == 10


def test_check_and_a_run_need_nothing_but_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(written(tmp_path))
    checked = CliRunner().invoke(build(), ["check", path])
    assert checked.exit_code == 0, checked.output
    assert "raw  tool find" in checked.output
    assert "s1:1: [2024-03-05 10:00] user: My sister Ines" in checked.output
    run = CliRunner().invoke(build(), ["eval", "--benchmarks", "sample", "--providers", path, "--limit", "3", "--run-id", "r"])
    assert run.exit_code == 0, run.output
    assert "0 failed" in run.output


def test_values_of_the_servers_environment_stay_out_of_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(written(tmp_path, changes={"  callTimeout": "  environment: {KEY: hush-hush}\n  callTimeout"}))
    run = CliRunner().invoke(build(), ["eval", "--benchmarks", "sample", "--providers", path, "--limit", "1", "--run-id", "r"])
    assert run.exit_code == 0, run.output
    kept = [file for file in Path("results").rglob("*") if file.is_file()]
    assert len(kept) > 2
    assert not any(b"hush-hush" in file.read_bytes() for file in kept)
