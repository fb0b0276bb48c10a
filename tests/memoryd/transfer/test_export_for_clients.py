"""Memories are exported to the Markdown files that clients load, within their limits and with unchanged trust."""

from __future__ import annotations

import pytest

from memoryd.core.config import IN_CLIENT
from memoryd.core.errors import InputError
from memoryd.core.types import Kind, MemoryItem
from memoryd.transfer.exporting import MEMORY_BYTES, MEMORY_LINES
from tests.memoryd.transfer.conftest import Desk


def export(desk: Desk, name: str, form: str, **params: object) -> dict[str, object]:
    return desk.call("export", path=str(desk.folder / name), form=form, **params)


def test_a_section_holds_the_users_words_and_leaves_the_rest_of_the_file_alone(desk: Desk) -> None:
    desk.call("remember", content="Never push to main.", kind="rule", polarity="dont")
    desk.call("remember", content="Use pnpm.", kind="rule", polarity="do")
    (desk.folder / ".cursorrules").write_text("Obey the cursor file.\n")
    desk.take_in(desk.folder, "cursor")
    target = desk.folder / "CLAUDE.md"
    target.write_bytes(b"# Shop\r\n\r\n- use pnpm\r\n")
    done = export(desk, "CLAUDE.md", "section")
    text = target.read_bytes()
    assert text.startswith(b"# Shop\r\n\r\n- use pnpm\r\n") and b"- Never push to main.\r\n" in text
    assert done["memories"] == 1, "neither what the file says already nor what the user never said"
    assert b"cursor" not in text
    assert "main" not in desk.governance(), "the client gives it now"
    desk.call("remember", content="Deploy on Tuesdays.", kind="rule", polarity="do")
    export(desk, "CLAUDE.md", "section")
    export(desk, "AGENTS.md", "section")
    assert "Never push" in (desk.folder / "AGENTS.md").read_text(), "its clients do not read CLAUDE.md"
    again = target.read_bytes()
    assert again.count(b"memoryd:begin") == 1 and b"Tuesdays" in again and b"Never push" in again
    assert desk.take_in(target, "rules", dry_run=True)["known"] == 1, "the section is not imported again"


def test_memory_md_keeps_the_limits_of_the_client_and_is_never_written_over_another(desk: Desk) -> None:
    texts = [f"Decision {number}: the {'very ' * 30}long queue {number} is kept in the database." for number in range(170)]
    desk.api._service.write_many(_decisions(desk, texts))
    done = export(desk, "MEMORY.md", "memory")
    data = (desk.folder / "MEMORY.md").read_bytes()
    assert len(data) <= MEMORY_BYTES and data.count(b"\n") <= MEMORY_LINES
    assert 50 < int(str(done["memories"])) < 170 and int(str(done["left_out"])) > 0
    assert (desk.folder / "MEMORY.md").stat().st_mode & 0o077 == 0
    export(desk, "MEMORY.md", "memory")
    (desk.folder / "MEMORY.md").write_text("# My own notes\n")
    with pytest.raises(InputError, match="not written by memoryd"):
        export(desk, "MEMORY.md", "memory")


def _decisions(desk: Desk, texts: list[str]) -> list[MemoryItem]:
    project = desk.api._registry.resolve(desk.folder).id
    return [MemoryItem(text, kind=Kind.DECISION, project=project) for text in texts]


def test_a_model_in_the_clients_shell_can_not_write_rules_files(desk: Desk) -> None:
    with pytest.raises(InputError):
        export(desk, "CLAUDE.md", "section", caller=IN_CLIENT)
