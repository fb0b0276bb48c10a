"""The page on adding a provider, followed exactly."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memeval.cli.app import build
from memeval.providers.local import Options
from memeval.registry import Catalog
from memeval.specs import ProviderSpec, ProviderType
from tests.memeval.providers.fake_api import Asked, FakeApi, Reply, serving
from tests.memeval.providers.vendors import guarded, ranked

PAGE = Path(__file__).parents[3] / "docs" / "providers.md"


class Notebook:
    """The API that the page describes: notes are indexed at the second look, with ten on a page."""

    def __init__(self) -> None:
        self.notes: dict[str, list[dict[str, Any]]] = {}

    def __call__(self, asked: Asked) -> Reply:
        parts = asked.path.strip("/").split("/")
        if asked.method == "POST":
            note = {**asked.body, "id": f"{parts[1]}:{len(self.notes.get(parts[1], []))}", "state": "new"}
            self.notes.setdefault(parts[1], []).append(note)
            return Reply({"note": {"id": note["id"]}}, 201)
        if parts[0] == "notes":
            note = next(note for notes in self.notes.values() for note in notes if note["id"] == parts[1].replace("%3A", ":"))
            answer, note["state"] = Reply({"state": note["state"]}), "indexed"
            return answer
        if asked.method == "DELETE":
            return Reply(None, 204 if self.notes.pop(parts[1], None) else 404)
        page = int(asked.query.get("page", ["1"])[0])
        ready = [note for note in self.notes.get(parts[1], []) if note["state"] == "indexed"]
        found = ranked(asked.query["q"][0], ready, lambda note: note["text"])[10 * page - 10 : 10 * page]
        return Reply({"notes": [{**note, "score": score} for note, score in found]})


def block(language: str) -> str:
    match = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.S)
    assert match is not None
    return match[1]


def test_a_new_provider_is_one_file_and_the_page_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = re.search(r"`(memeval\.d/providers/\w+\.yaml)`", PAGE.read_text())
    assert name is not None
    monkeypatch.chdir(tmp_path)
    Path(name[1]).parent.mkdir(parents=True)
    Path(name[1]).write_text(block("yaml"))
    commands = [line.strip() for line in PAGE.read_text().splitlines() if line.startswith("    ")]
    export = next(line for line in commands if line.startswith("export "))
    variable, _, value = export.removeprefix("export ").partition("=")
    monkeypatch.setenv(variable, value)
    with serving(FakeApi(guarded("Authorization", f"Bearer {value}", Notebook()))) as api:
        monkeypatch.setenv("NOTEBOOK_URL", api.url)
        for command in (line for line in commands if line.startswith("memeval ")):
            words = command.split()[1:]
            if words[0] == "eval":
                words += ["--limit", "3"]
            result = CliRunner().invoke(build(), words, catch_exceptions=False)
            assert result.exit_code == 0, result.output
    assert "0 failed" in result.output
    assert any(asked.path.endswith("/search") for asked in api.asked)


def test_every_provider_is_on_the_page() -> None:
    text = PAGE.read_text()
    for name in Catalog.default(environ={}).providers():
        assert f"`{name}`" in text, name


def test_every_option_of_a_local_provider_is_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    from memeval import registry

    rows = {
        name: line
        for line in PAGE.read_text().splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`([\w-]+)`", line.split("|")[1])
    }
    wanted: dict[str, set[str]] = {}
    monkeypatch.setattr(Options, "finish", lambda self: wanted.setdefault(self._spec.name, set(self._known)))
    shared = set(re.findall(r"`(\w+)`", rows["dense"] + rows["hybrid"]))
    for name in registry.provider.names():
        if name in rows:
            registry.provider.get(name)(ProviderSpec(name, ProviderType.LOCAL), {})
            outcome = set(re.findall(r"`(\w+)`", rows[name])) | (shared if "those of" in rows[name] else set())
            assert wanted.get(name, set()) <= outcome, (name, wanted[name] - outcome)


def section(heading: str) -> list[str]:
    """Return the indented lines below a heading, as they would be typed."""
    text = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [
        line.removeprefix("    ") if line.strip() else "" for line in text.splitlines() if line.startswith("    ") or not line
    ]


def test_the_mcp_file_of_the_page_is_right(tmp_path: Path) -> None:
    from memeval.providers.mcp import McpProvider
    from memeval.specs import load_provider_spec

    path = tmp_path / "graph.yaml"
    path.write_text("\n".join(section("A system that is an MCP server")))
    provider = McpProvider(load_provider_spec(path), {})
    assert provider.name == "graph"


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    lines = section("A system that is Python")
    code = lines[: next(number for number, line in enumerate(lines) if line.startswith("name: "))]
    exec("\n".join(code), {})
    assert "sample × Notes: 66 questions" in capsys.readouterr().out
