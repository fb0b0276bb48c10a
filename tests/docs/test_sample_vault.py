"""The sample vault equals what the store writes, and the README shows it unchanged."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoryd.cli.output import Output
from memoryd.core.codec import item_to_dict
from memoryd.core.config import load_settings
from memoryd.core.types import MemoryItem, Query, Status
from memoryd.embed import make_embedder
from memoryd.recall.governance import split_by_floor
from memoryd.service import Orchestrator
from memoryd.stores import front_matter, markdown, memory_file
from memoryd.stores.layout import canonical_path
from memoryd.stores.markdown import MarkdownStore
from memoryd.testing import FakeClock

ROOT = Path(__file__).parents[2]
VAULT = ROOT / "memories"
README = (ROOT / "README.md").read_text("utf-8")


def files() -> list[Path]:
    return sorted(path for path in VAULT.rglob("*.md") if path.name != "README.md")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    shutil.copytree(VAULT, tmp_path / "memories")
    return tmp_path


@pytest.fixture
def items(home: Path) -> Iterator[list[MemoryItem]]:
    store = MarkdownStore(load_settings({}, home=str(home)).paths, FakeClock())
    store.sync()
    assert not store.broken()
    yield list(store.all())
    store.close()


def test_the_vault_loads_without_a_broken_file(items: list[MemoryItem]) -> None:
    assert len(items) == len(files()) == 8


def test_the_vault_shows_a_life_of_memories(items: list[MemoryItem]) -> None:
    by_id = {item.id: item for item in items}
    newer = [item for item in items if item.supersedes]
    assert [by_id[item.supersedes or ""].status for item in newer] == [Status.SUPERSEDED]
    assert sum(item.status is Status.BLACKLISTED for item in items) == 1
    assert sum(item.pinned for item in items) == 1
    assert {item.project for item in items} == {"", "shop-3f9c2a71"}
    assert len({item.session for item in items} - {"manual"}) == 2


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_each_file_is_what_the_store_writes(path: Path) -> None:
    data = path.read_bytes()
    file = memory_file.read(data, str(path), path.relative_to(VAULT).as_posix(), 0)
    related = file.document.values.get("related", [])
    assert memory_file.render(file.item, related) == data
    assert path.relative_to(VAULT).as_posix() == canonical_path(file.item)
    assert all(list(VAULT.rglob(f"{link[2:-2]}.md")) for link in related)


def test_the_vault_holds_only_memories_and_the_inverted_index_leads_to_them(home: Path) -> None:
    store = MarkdownStore(load_settings({}, home=str(home)).paths, FakeClock())
    store.rebuild()
    store.flush()
    store.close()
    index = json.loads((home / "index" / markdown.NAME).read_bytes())
    assert all((home / "memories" / path).is_file() for path in index["cents"])
    assert {path.suffix for path in (home / "memories").rglob("*") if path.is_file()} == {".md"}


def test_every_file_is_explained() -> None:
    text = (VAULT / "README.md").read_text("utf-8")
    assert not [path.name for path in files() if path.name not in text]


def test_the_memory_in_the_readme_is_the_file() -> None:
    shown = re.search(r"A memory, `memories/(?P<path>\S+)`:\n\n```markdown\n(?P<text>.*?)\n```", README, re.DOTALL)
    assert shown is not None
    assert (VAULT / shown["path"]).read_text("utf-8") == shown["text"] + "\n"
    assert front_matter.parse(shown["text"].encode(), "README.md").values["kind"] == "decision"


def test_the_recall_in_the_readme_is_what_the_vault_answers(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    console = re.search(r"```console\n(.*?)```", README, re.DOTALL)
    assert console is not None
    settings = load_settings({}, home=str(home))
    service = Orchestrator(settings, FakeClock(datetime(2026, 11, 27, tzinfo=UTC)), make_embedder(settings))
    service.catch_up()
    assert service.settle(60)
    asked = re.findall(r"\$ memoryd search --project all (.*)\n((?:(?!\$).*\n)+)", console[1])
    assert len(asked) == 2
    for question, shown in asked:
        hits, unsure = split_by_floor(question, service.search(Query(text=question), 8), settings.floor)
        assert hits or not unsure, question
        Output(as_json=False).memories([item_to_dict(hit.item) | {"relevancy": hit.relevancy} for hit in hits])
        assert (capsys.readouterr().out or "Nothing relevant.\n") == shown, question
    service.close()
