"""The page on adding a benchmark, followed exactly."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from memeval.cli.app import build
from memeval.specs import SchemaSpec

PAGE = Path(__file__).parents[3] / "docs" / "adding-a-benchmark.md"


def block(language: str) -> str:
    match = re.search(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert match is not None
    return match[1]


def named(ending: str) -> Path:
    match = re.search(rf"`(memeval\.d/benchmarks/\w+\.{ending})`", PAGE.read_text("utf-8"))
    assert match is not None
    return Path(match[1])


def test_a_new_benchmark_is_one_file_and_the_page_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMEVAL_CACHE", str(tmp_path / "cache"))
    for language, ending in (("json", "jsonl"), ("yaml", "yaml")):
        named(ending).parent.mkdir(parents=True, exist_ok=True)
        named(ending).write_text(block(language), "utf-8")
    commands = [line.split()[1:] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("    memeval ")]
    assert [words[0] for words in commands] == ["list", "describe", "eval"]
    for words in commands:
        done = CliRunner().invoke(build(), words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert "standup" in done.output
    (path,) = (tmp_path / "results").glob("v*/standup-*.json")
    result = json.loads(path.read_text("utf-8"))
    assert result["totals"] == {"total": 3, "done": 3, "failed": 0, "pending": 0}
    assert {question["type"] for question in result["questions"]} == {"fact_recall", "abstention"}
    found = result["metrics"]["turn.recall_any@5"]
    assert (found["value"], found["scored"], found["skipped"]) == (1.0, 2, 1)


def test_every_key_of_a_schema_is_on_the_page() -> None:
    text = PAGE.read_text("utf-8")
    for part in dataclasses.fields(SchemaSpec):
        head, *rest = part.name.split("_")
        key = head + "".join(word.capitalize() for word in rest)
        assert f"`{key}`" in text, key
