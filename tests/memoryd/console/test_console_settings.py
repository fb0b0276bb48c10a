"""The settings page: changes, refusals, and no lost input."""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.config import Settings
from tests.memoryd.console.console_client import Console

FILE = "# mine\nfloor = 0.6  # tried\n"


@pytest.fixture
def page(real_console: Any, settings: Settings, tmp_path: Path) -> Any:
    """Return a real home with a config.toml and a project with one memory."""
    settings.paths.config.write_text(FILE, "utf-8")
    (tmp_path / "shop").mkdir()
    real_console.folder = str(tmp_path / "shop")
    real_console.memory = real_console.api.call(
        "remember", {"content": "The parser <b>is</b> ours.", "cwd": real_console.folder}
    )["id"]
    real_console.project = real_console.api.call("projects", {})["projects"][0]["id"]
    real_console.file = settings.paths.config
    return real_console


def result(console: Console) -> str:
    return str(console.get("/settings").text)


def test_each_setting_has_its_default_and_its_cost(page: Any) -> None:
    text = result(page)
    entries = [entry for group in page.api.call("settings", {})["groups"] for entry in group["settings"]]
    shown = text.split('<div class="setting">')[1:]
    assert len(shown) == len(entries) > 30
    for entry, part in zip(entries, shown, strict=True):
        assert entry["cost"] and "Cost: " in part and "Default: " in part, entry["name"]
    for words in (
        "daily token budget",
        "Default: <code>200000</code>",
        "Up to this many tokens of each session.",
        "Excluded folders",
    ):
        assert words in text


def test_only_what_was_changed_is_written_and_comments_stay(page: Any) -> None:
    sent = {
        "shown": ["floor", "session_budget", "inject_prompt"],
        "floor": "0.7",
        "session_budget": "600",
        "inject_prompt": "false",
    }
    assert page.post("/settings", **sent).status_code == 303
    assert page.file.read_text("utf-8") == "# mine\nfloor = 0.7  # tried\ninject_prompt = false\n"
    assert "Saved: floor, inject_prompt." in result(page)
    page.post("/settings", reset="floor")
    assert page.file.read_text("utf-8") == "# mine\n# tried\ninject_prompt = false\n"


def test_a_form_that_was_open_while_something_else_changed_takes_nothing_back(page: Any) -> None:
    text = result(page)
    was = {name: re.search(rf'name="was-{name}" value="=([^"]*)"', text)[1] for name in ("floor", "session_budget", "exclude")}
    page.api.call("change_settings", {"values": {"session_budget": "700", "exclude": ["/tmp"]}})
    page.post(
        "/settings", shown=list(was), **{**was, "floor": "0.7"}, **{f"was-{name}": f"={value}" for name, value in was.items()}
    )
    written = page.file.read_text("utf-8")
    assert "floor = 0.7" in written and "session_budget = 700" in written and "/tmp" in written


def test_a_wrong_value_is_reported_and_what_was_typed_is_still_there(page: Any) -> None:
    answer = page.post("/settings", shown=["floor", "session_budget"], floor="7<i>", session_budget="450")
    assert answer.status_code == 400
    assert "could not convert" in answer.text or "number" in answer.text
    assert 'value="7&lt;i&gt;"' in answer.text and 'value="450"' in answer.text
    assert page.file.read_text("utf-8") == FILE


def test_a_broken_file_is_reported_and_left_alone(page: Any) -> None:
    page.file.write_text("floor = = 1", "utf-8")
    assert "can&#39;t be read" in result(page)
    assert page.post("/settings", shown="session_budget", session_budget="450").status_code == 400
    assert page.file.read_text("utf-8") == "floor = = 1"


def test_a_wrong_value_in_the_file_can_be_repaired_on_the_page(page: Any) -> None:
    page.file.write_text("floor = 7\n", "utf-8")
    assert "floor = 7" in result(page)
    page.post("/settings", shown="floor", floor="0.4")
    assert page.file.read_text("utf-8") == "floor = 0.4\n"


def test_folders_are_given_a_line_each(page: Any) -> None:
    page.post("/settings", shown="exclude", exclude="/a/b\r\n\r\n/c d\r\n")
    assert 'exclude = ["/a/b", "/c d"]' in page.file.read_text("utf-8")
    assert "/a/b\n/c d</textarea>" in result(page)


def test_a_key_is_taken_and_never_shown_and_no_program_can_be_named(page: Any) -> None:
    page.post("/settings", shown=["openai_api_key", "claude_command"], openai_api_key="sk-hidden", claude_command="/bin/evil")
    assert "sk-hidden" in page.file.read_text("utf-8") and "evil" not in page.file.read_text("utf-8")
    assert "sk-hidden" not in result(page)
    page.post("/settings", shown="openai_api_key", openai_api_key="")
    assert "sk-hidden" in page.file.read_text("utf-8")
    assert page.post("/settings", reset="claude_command").status_code == 400


def test_a_project_is_switched_off_and_on(page: Any) -> None:
    page.post("/settings/switch", project=page.project, memory="off")
    assert "memory is off" in result(page)
    page.post("/settings/switch", project=page.project, memory="on")
    assert "memory is off" not in result(page)
    assert page.post("/settings/switch", project="nowhere", memory="off").status_code == 404


def test_everything_can_be_copied_out(page: Any) -> None:
    answer = page.post("/settings/export", format="tar.gz")
    assert answer.headers["content-disposition"].startswith('attachment; filename="memoryd-')
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        assert f"items/{page.memory}.json" in archive.getnames()
    assert page.memory in page.post("/settings/export", format="jsonl", project=page.project).text
    assert page.post("/settings/export", format="../x").status_code == 400
    assert page.post("/settings/export", project="../..").status_code == 404


def test_a_project_is_forgotten_only_when_its_name_is_typed_and_comes_back(page: Any) -> None:
    where = f"/settings/forget/{page.project}"
    assert "Type <code>shop</code>" in page.get(where).text
    assert page.post(where, name="shp").status_code == 400
    assert page.api.call("get_memory", {"id": page.memory})["memory"]["status"] == "active"
    entry = page.post(where, name="shop").headers["location"]
    assert page.api.call("get_memory", {"id": page.memory})["memory"]["status"] == "blacklisted"
    assert "Undo all of it" in page.get(entry).text
    page.post(f"{entry}/undo")
    assert page.api.call("get_memory", {"id": page.memory})["memory"]["status"] == "active"
