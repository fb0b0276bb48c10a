"""The real Codex CLI beside the real Claude Code: memories from one client are available in the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import World, all_is_read
from tests.e2e.model_server import Block, Body, conversation, say, texts, use
from tests.waiting import until

pytestmark = pytest.mark.e2e
SETTINGS = """\
model = "m1"
model_provider = "scripted"  # kept as it is

[model_providers.scripted]
name = "Scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
"""


class Codex:
    """Codex CLI with its own settings in the world's home folder."""

    def __init__(self, world: World) -> None:
        self.binary = os.environ.get("CODEX_BIN", "")
        if not self.binary or not Path(self.binary).exists():
            pytest.fail("CODEX_BIN does not name Codex CLI: run 'make e2e', which installs it.")
        self.world = world
        self.config = world.folder / ".codex" / "config.toml"
        self.config.parent.mkdir(parents=True)
        self.config.write_text(SETTINGS.format(url=world.model.url))

    @property
    def environment(self) -> dict[str, str]:
        return self.world.environment | {"SCRIPTED_KEY": "dummy", "MEMORYD_HOOK_SECONDS": "4"}

    def run(self, prompt: str, cwd: Path) -> None:
        command = [self.binary, "exec", "-s", "danger-full-access", prompt]
        done = subprocess.run(
            command, cwd=cwd, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def memoryd(self, *words: str) -> str:
        command = [sys.executable, "-m", "memoryd", *words]
        return subprocess.run(command, env=self.world.environment, capture_output=True, text=True).stdout

    def doctor(self) -> dict[str, Any]:
        checks = json.loads(self.memoryd("doctor", "--json"))["checks"]
        found: dict[str, Any] = next(check for check in checks if check["name"] == "codex")
        return found

    def trust_hooks(self) -> None:
        """Trust all hooks, as the user would on Codex's screen."""
        command = [self.binary, "app-server"]
        with subprocess.Popen(
            command, env=self.environment, cwd=self.world.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdin is not None and server.stdout is not None
            asks, answers = server.stdin, map(json.loads, server.stdout)

            def call(method: str, params: Body) -> Body:
                asks.write(json.dumps({"id": method, "method": method, "params": params}) + "\n")
                asks.flush()
                return next(answer for answer in answers if answer.get("id") == method)

            call("initialize", {"clientInfo": {"name": "test", "version": "1"}})
            listed = call("hooks/list", {"cwds": [str(self.world.folder)]})["result"]["data"][0]["hooks"]
            state = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in listed}
            edit = {"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}
            assert call("config/batchWrite", {"edits": [edit]})["result"]["status"] == "ok"
            server.terminate()

    def last_text(self) -> str:
        return "\n".join(texts(item.get("content")) for item in self.world.model.chats[-1]["input"])


def test_a_rule_from_one_client_is_known_in_the_other(world: World) -> None:
    client, project = Codex(world), world.repository("shop")
    asked: list[str] = []

    def answer(body: Body) -> list[Block]:
        if not any(tool.get("name") == "mcp__memoryd" for tool in body["tools"]):  # Codex starts servers beside the session.
            return [use("exec_command", cmd=f"sleep 0.3; : {len(body['input'])}")]
        if not asked:
            asked.append("recall")
            return [use("mcp__memoryd/recall", query="deployment")]
        return [say("Done.")]

    world.model.chat = answer
    client.memoryd("connect", "codex", "--yes")
    assert "trust" in client.doctor()["fix"]
    client.trust_hooks()
    assert client.doctor()["ok"]

    client.run("From now on never use tabs in this project.", project)
    outputs = [item for item in world.model.chats[-1]["input"] if item.get("type") == "function_call_output"]
    assert "nothing relevant" in json.dumps(outputs)
    until(lambda: all_is_read(world.paths), "the session of Codex was not read", 120)
    world.run("Which indentation?", project)
    assert "never use tabs" in conversation(world.last_request()).lower()

    world.run("From now on always run `make lint-docs` before you commit.", project)
    until(lambda: all_is_read(world.paths), "the session of Claude Code was not read", 120)
    client.run("How do I commit?", project)
    assert "make lint-docs" in client.last_text()
    assert "never use tabs" in client.last_text().lower()

    learnt = {item["content"]: item["id"] for item in world.call("list_memories", cwd=str(project))["memories"]}
    (tabs,) = [id for content, id in learnt.items() if "tabs" in content]
    assert world.call("why", id=tabs)["origin"]["client"] == "codex"
    client.memoryd("connect", "codex", "--undo", "--yes")
    assert client.config.read_text().startswith(SETTINGS.format(url=world.model.url))
    assert "memoryd]" not in client.config.read_text() and not (client.config.parent / "hooks.json").exists()


def test_codex_works_when_memoryd_does_not(world: World) -> None:
    client, project = Codex(world), world.repository("shop")
    client.memoryd("connect", "codex", "--yes")
    for path in (client.config, client.config.with_name("hooks.json")):
        path.write_text(path.read_text().replace(str(Path(__file__).parents[2]), "/nowhere"))
    client.trust_hooks()
    client.run("Hello", project)
    assert world.model.chats
