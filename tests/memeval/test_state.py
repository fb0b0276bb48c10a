"""Tests of a prepared run's state as readable files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.memeval.current_folder import run
from tests.memeval.providers.test_mcp import written


@pytest.fixture(autouse=True)
def _benchmark(own_folder: None) -> None:
    assert run("init", "benchmark", "team").exit_code == 0


def prepared(provider: str, *more: str) -> dict[str, Any]:
    done = run("prepare", "-b", "team", "-p", provider, "--run-id", "r", *more)
    assert done.exit_code == 0, done.output
    response = run("state", "r")
    assert response.exit_code == 0, response.output
    (folder,) = [Path(line) for line in response.output.split()]
    return {path.stem: json.loads(path.read_text()) for path in folder.iterdir()}


def test_each_case_has_its_sessions_its_vectors_with_their_texts_and_what_made_them() -> None:
    response = prepared("dense", "--provider-option", "embedder=hash")
    assert set(response) == {"db", "vector", "meta"}
    assert [turn["text"] for turn in response["db"]["sessions"][0]["turns"]][0] == "The export breaks on leap days."
    texts = {one["text"] for one in response["vector"]["vectors"]}
    assert texts == {
        "Ines: The export breaks on leap days.",
        "Jon: I will look at the login page.",
        "Ines: The export works again; it was the calendar library.",
    }
    assert {len(one["vector"]) for one in response["vector"]["vectors"]} == {response["vector"]["dimensions"]}
    assert response["meta"]["counts"] | {"sessions": 2, "turns": 3, "vectors": 3} == response["meta"]["counts"]
    assert response["meta"]["case"] == "blue"
    assert response["meta"]["ingest"]["sessions"] == 2


def test_memories_of_the_product_are_shown_as_their_markdown() -> None:
    response = prepared("memoryd", "--provider-option", 'settings={"embedder": "hash"}')
    assert any("leap days" in text for text in response["db"]["markdown"].values())


def test_units_of_a_remote_system_are_shown_with_their_ids(tmp_path: Path) -> None:
    response = prepared(str(written(tmp_path)))
    assert [(one["id"], one["indexed"]) for one in response["db"]["sent"]] == [("n0", True), ("n1", True), ("n2", True)]


def test_a_case_can_be_named_and_a_run_without_a_state_is_reported(tmp_path: Path) -> None:
    assert run("prepare", "-b", "team", "-p", "bm25", "--run-id", "r").exit_code == 0
    assert "has no case" in run("state", "r", "--case", "green").output
    out = tmp_path / "out"
    assert run("state", "r", "--case", "blue", "--output", str(out)).exit_code == 0
    assert len(list(out.rglob("*.json"))) == 3
