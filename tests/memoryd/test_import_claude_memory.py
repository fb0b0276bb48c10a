"""Claude Code's own memory is imported with its text, scope and descriptions, or reported as excluded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.config import Settings
from memoryd.core.errors import InputError
from memoryd.core.project import ProjectRegistry
from memoryd.core.types import Query, Scope, Source
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock
from memoryd.transfer.foreign import MAX_FILE
from memoryd.transfer.importing import import_claude_memory, slug_of


@pytest.fixture
def service(settings: Settings, clock: FakeClock) -> Iterator[Orchestrator]:
    made = Orchestrator(settings, clock)
    made.catch_up()
    yield made
    made.close()


def own_memory(base: Path, cwd: Path, name: str, text: str) -> Path:
    folder = base / slug_of(cwd) / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder


def take_in(service: Orchestrator, settings: Settings, clock: FakeClock, base: Path) -> dict[str, object]:
    return import_claude_memory(service, ProjectRegistry(settings.paths.projects), base, clock)


def contents(service: Orchestrator) -> list[str]:
    return sorted(hit.item.content for hit in service.search(Query(), 50))


@pytest.mark.parametrize("name", ["my-shop", "my.other.shop", "shop_two"])
def test_a_folder_whose_logs_are_gone_is_found_by_walking(
    service: Orchestrator, settings: Settings, clock: FakeClock, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    own_memory(tmp_path / "logs", folder, "note.md", "The tax rate comes from the ledger.\n")
    assert take_in(service, settings, clock, tmp_path / "logs")["new"] == 1
    (hit,) = service.search(Query(), 5)
    assert hit.item.project == ProjectRegistry(settings.paths.projects).resolve(folder).id


def test_a_removed_worktree_belongs_to_its_repository(
    service: Orchestrator, settings: Settings, clock: FakeClock, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    own_memory(tmp_path / "logs", folder / ".claude" / "worktrees" / "fix-z", "note.md", "Fonts are subset.\n")
    assert take_in(service, settings, clock, tmp_path / "logs")["left_out"] == []
    assert service.search(Query(), 5)[0].item.project == ProjectRegistry(settings.paths.projects).resolve(folder).id


def test_what_is_left_out_is_named_with_the_reason(
    service: Orchestrator, settings: Settings, clock: FakeClock, tmp_path: Path
) -> None:
    gone = own_memory(tmp_path / "logs", tmp_path / "vanished", "note.md", "Lost.\n")
    folder = tmp_path / "shop"
    folder.mkdir()
    memory = own_memory(tmp_path / "logs", folder, "empty.md", "---\nname: x\n---\n")
    outside = tmp_path / "private.txt"
    outside.write_text("Not for memory.")
    (memory / "link.md").symlink_to(outside)
    left_out = take_in(service, settings, clock, tmp_path / "logs")["left_out"]
    assert isinstance(left_out, list)
    reasons = {Path(entry["path"]).name: entry["reason"] for entry in left_out}
    assert set(reasons) == {gone.name, "empty.md", "link.md"} and all(reasons.values())
    assert contents(service) == []


def test_prose_descriptions_and_scope_are_kept(
    service: Orchestrator, settings: Settings, clock: FakeClock, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    base = tmp_path / "logs"
    prose = "Jobs run in the database,\nsince that needs no broker."
    index = f"# Memory\n\n{prose}\n\n- [style](style.md) — how\n- Ports start at 7000.\n"
    own_memory(base, folder, "MEMORY.md", index)
    own_memory(
        base,
        folder,
        "style.md",
        "---\ndescription: when writing texts\nmetadata:\n  type: user\n---\n\nWrites British English.\n",
    )
    take_in(service, settings, clock, base)
    items = {hit.item.content: hit.item for hit in service.search(Query(), 50)}
    assert set(items) == {
        "Jobs run in the database, since that needs no broker.",
        "Ports start at 7000.",
        "Writes British English.",
    }
    style = items["Writes British English."]
    assert (style.scope, style.source, style.asked_as) == (Scope.USER, Source.IMPORT, ("when writing texts",))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in folders")
def test_a_pipe_or_an_endless_note_costs_only_itself(
    service: Orchestrator, settings: Settings, clock: FakeClock, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    notes = own_memory(tmp_path / "logs", folder, "z.md", "The kiln is on at six.\n")
    os.mkfifo(notes / "a.md")
    (notes / "b.md").write_bytes(b"x" * MAX_FILE)
    (notes / "c.md").write_bytes(b"\xff\xfe")
    (notes.parent / "s.jsonl").write_text('{"cwd": "\\ud800"}\n')
    done = take_in(service, settings, clock, tmp_path / "logs")
    assert contents(service) == ["The kiln is on at six."]
    left_out = {Path(entry["path"]).name: entry["reason"] for entry in done["left_out"]}  # type: ignore[attr-defined]
    assert sorted(left_out) == ["a.md", "b.md", "c.md"] and "larger than" in left_out["b.md"]


def test_a_folder_that_does_not_exist_is_an_error(
    service: Orchestrator, settings: Settings, clock: FakeClock, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="There is no folder"):
        take_in(service, settings, clock, tmp_path / "nowhere")
