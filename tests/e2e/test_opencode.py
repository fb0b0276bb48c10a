"""The real OpenCode beside the real Claude Code: memories from one client are available in the other."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import World, all_is_read, opencode_binary
from tests.e2e.model_server import Body, conversation, say, texts, use
from tests.waiting import until

pytestmark = pytest.mark.e2e
QUIET = {name: "1" for name in ("OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD")}


class OpenCode:
    """OpenCode with its own settings in the world's home folder."""

    def __init__(self, world: World) -> None:
        self.binary = opencode_binary()
        self.world = world
        self.config = world.folder / ".config" / "opencode"
        self.config.mkdir(parents=True)
        options = {"baseURL": f"{world.model.url}/v1", "apiKey": "dummy"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "options": options, "models": {"m1": {"name": "m1"}}}
        settings = {
            "$schema": "https://opencode.ai/config.json",  # OpenCode would add it.
            "provider": {"scripted": provider},
            "model": "scripted/m1",
            "small_model": "scripted/m1",
            "share": "disabled",
        }
        (self.config / "opencode.json").write_text(json.dumps(settings, indent=2))

    @property
    def environment(self) -> dict[str, str]:
        return self.world.environment | QUIET | {"MEMORYD_HOOK_SECONDS": "4"}

    def run(self, prompt: str, cwd: Path, *flags: str) -> None:
        command = [self.binary, "run", "--format", "json", "-m", "scripted/m1", prompt, *flags]
        done = subprocess.run(
            command, cwd=cwd, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def connect(self, *flags: str) -> str:
        command = [sys.executable, "-m", "memoryd", "connect", "opencode", "--yes", *flags]
        done = subprocess.run(command, env=self.world.environment, capture_output=True, text=True, check=True)
        return done.stdout

    def main_requests(self) -> list[Body]:
        return [body for body in self.world.model.chats if body.get("tools")]

    def last_text(self) -> str:
        return "\n".join(texts(message["content"]) for message in self.main_requests()[-1]["messages"])


def test_a_rule_from_one_client_is_known_in_the_other(world: World) -> None:
    client, project = OpenCode(world), world.repository("shop")
    client.connect()
    before = (client.config / "opencode.json").read_bytes()

    client.run("From now on never use tabs in this project.", project)
    until(lambda: all_is_read(world.paths), "the session of OpenCode was not read", 120)
    world.run("Which indentation?", project)
    assert "never use tabs" in conversation(world.last_request()).lower()

    world.run("From now on always run `make lint-docs` before you commit.", project)
    until(lambda: all_is_read(world.paths), "the session of Claude Code was not read", 120)
    client.run("How do I commit?", project)
    assert "make lint-docs" in client.last_text()
    assert "never use tabs" in client.last_text().lower()
    assert "memoryd_recall" in {tool["function"]["name"] for tool in client.main_requests()[-1]["tools"]}

    learnt = {item["content"]: item["id"] for item in world.call("list_memories", cwd=str(project))["memories"]}
    (tabs,) = [id for content, id in learnt.items() if "tabs" in content]
    assert world.call("why", id=tabs)["origin"]["client"] == "opencode"
    assert (client.config / "opencode.json").read_bytes() == before
    client.connect("--undo")
    assert not (client.config / "plugin" / "memoryd.js").exists()


def test_a_tool_call_a_continued_session_and_a_file_are_read_as_what_they_are(world: World) -> None:
    client, project = OpenCode(world), world.repository("shop")
    (project / "NOTES.md").write_text("From now on always deploy on Fridays.\n")
    client.connect()
    asked: list[Body] = []

    def answer(body: Body) -> list[Body]:
        if not asked and body.get("tools"):
            asked.append(body)
            return [use("memoryd_recall", query="deployment")]
        return [say("Done.")]

    world.model.chat = answer
    client.run("Look into the notes.", project, "--file", "NOTES.md")
    client.run("From now on always use port 8081 for the server.", project, "--continue")
    until(lambda: all_is_read(world.paths), "the sessions were not read", 120)
    results = [message for body in client.main_requests() for message in body["messages"] if message["role"] == "tool"]
    assert results and "nothing relevant" in texts(results[0]["content"]).lower()
    contents = [item["content"] for item in world.call("list_memories", cwd=str(project))["memories"]]
    assert any("8081" in content for content in contents)
    assert not any("Friday" in content for content in contents)
    database = world.folder / ".local" / "share" / "opencode" / "opencode.db"
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as sessions:
        assert sessions.execute("SELECT count(*) FROM session").fetchone() == (1,)


def test_opencode_works_when_memoryd_does_not(world: World) -> None:
    client, project = OpenCode(world), world.repository("shop")
    client.connect()
    plugin = client.config / "plugin" / "memoryd.js"
    plugin.write_text(plugin.read_text().replace(str(Path(__file__).parents[2]), "/nowhere"))
    client.run("Hello", project)
    assert client.main_requests()
