from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import ConfigError, DependencyError, ModelError
from memeval.core.protocols import Model
from memeval.models import open_model
from memoryd.core.types import Message, Usage
from tests.waiting import HANGS_SECONDS, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in client is a script with a shebang")
ASK = [Message("system", "Answer."), Message("user", "the question")]
RESULT: dict[str, Any] = {
    "type": "result", "is_error": False, "result": " Oslo\n", "total_cost_usd": 0.25,
    "modelUsage": {"haiku-x": {"inputTokens": 10, "cacheReadInputTokens": 5, "cacheCreationInputTokens": 1, "outputTokens": 2}},
}  # fmt: skip


def client(tmp_path: Path, body: str, **options: Any) -> Model:
    """Return a model over a stand-in: a Python script that receives the same arguments, input and environment."""
    script = tmp_path / "claude"
    script.write_text(f"#!{sys.executable} -IS\nimport json, os, sys, time, subprocess\n{body}\n")
    script.chmod(0o755)
    return open_model("claude-cli/haiku", {"command": str(script), "timeout": HANGS_SECONDS, **options})


def printing(answer: Any) -> str:
    return f"sys.stdin.read(); print({json.dumps(json.dumps(answer))})"


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"


def test_an_answer_comes_with_tokens_and_cost(tmp_path: Path) -> None:
    model = client(tmp_path, printing(RESULT))
    answer = model.complete(ASK)
    assert (answer.text, answer.model, answer.usage) == ("Oslo", "haiku-x", Usage(1, 16, 2, 0.25))
    assert model.name == "claude-cli/haiku"


def test_a_cost_that_is_not_reported_is_unknown(tmp_path: Path) -> None:
    result = {key: value for key, value in RESULT.items() if key != "total_cost_usd"}
    assert client(tmp_path, printing(result)).complete(ASK).usage.cost_usd is None


def test_the_client_runs_without_tools_in_an_empty_folder_with_its_own_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": "/p", "ANTHROPIC_BASE_URL": "http://x", "HOME": "/h"}.items():
        monkeypatch.setenv(name, value)
    seen = tmp_path / "seen.json"
    body = (
        f"told = [sys.argv[1:], sys.stdin.read(), dict(os.environ), os.getcwd(), os.listdir()]\n"
        f"json.dump(told, open({str(seen)!r}, 'w'))\nprint({json.dumps(json.dumps(RESULT))})"
    )
    client(tmp_path, body).complete(ASK, schema={"type": "object"}, max_tokens=77)
    arguments, prompt, env, folder, files = json.loads(seen.read_text())
    assert prompt.startswith("the question\n")
    assert '{"type": "object"}' in prompt
    assert {"-p", "--safe-mode", "--no-session-persistence", "--strict-mcp-config"} <= set(arguments)
    assert arguments[arguments.index("--tools") + 1] == ""
    assert arguments[arguments.index("--model") + 1] == "haiku"
    assert arguments[arguments.index("--system-prompt") + 1] == "Answer."
    assert (env["HOME"], env["ANTHROPIC_BASE_URL"]) == ("/h", "http://x"), "the login stays"
    assert not {"CLAUDECODE", "CLAUDE_PROJECT_DIR"} & env.keys()
    assert (env["MEMORYD_INTERNAL"], env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"]) == ("1", "77")
    assert files == []
    assert not Path(folder).exists(), "the folder goes with the run"


def test_a_conversation_is_sent_as_one_prompt(tmp_path: Path) -> None:
    seen = tmp_path / "prompt"
    body = f"open({str(seen)!r}, 'w').write(sys.stdin.read())\nprint({json.dumps(json.dumps(RESULT))})"
    client(tmp_path, body).complete([*ASK, Message("assistant", "bad"), Message("user", "again")])
    assert "<assistant>\nbad\n</assistant>\n\n<user>\nagain\n</user>" in seen.read_text()


@pytest.mark.parametrize(
    ("fields", "transient", "fix"),
    [
        ({"result": "Not logged in · Please run /login"}, False, "log in"),
        ({"result": "API Error: 401 bad key", "api_error_status": 401}, False, "log in"),
        ({"result": "API Error: (429) slow down", "api_error_status": 429}, True, "retried"),
        ({"result": "You have reached your usage limit. It resets at 3pm."}, True, "retried"),
        ({"result": "API Error: 529 Overloaded", "api_error_status": 529}, True, "retried"),
        ({"result": "API Error: 404 no such model", "api_error_status": 404}, False, "model's name"),
    ],
)
def test_the_clients_failures_say_what_to_do(tmp_path: Path, fields: dict[str, Any], transient: bool, fix: str) -> None:
    with pytest.raises(ModelError) as caught:
        client(tmp_path, printing({**RESULT, "is_error": True, **fields}) + "; sys.exit(1)").complete(ASK)
    assert caught.value.transient is transient
    assert fix in caught.value.fix
    assert str(fields["result"])[:20] in caught.value.message


@pytest.mark.parametrize("output", ["", "not json", "[1]"])
def test_output_that_is_not_a_result_is_a_failure(tmp_path: Path, output: str) -> None:
    with pytest.raises(ModelError, match="no result"):
        client(tmp_path, f"sys.stdin.read(); print({output!r})").complete(ASK)


def test_a_missing_client_is_named() -> None:
    with pytest.raises(DependencyError, match="/nowhere/claude") as caught:
        open_model("claude-cli/haiku", {"command": "/nowhere/claude"}).complete(ASK)
    assert "Install" in caught.value.fix
    with pytest.raises(ConfigError, match="tools"):
        open_model("claude-cli/haiku", {"tools": "Bash"})


def test_a_run_over_its_time_is_ended_with_its_children(tmp_path: Path) -> None:
    pids, script = tmp_path / "pids", tmp_path / "claude"
    script.write_text(f"#!/bin/sh\nsleep 600 &\necho $$ $! > {pids}\nwait\n")  # A shell starts at once, even under load.
    script.chmod(0o755)
    with pytest.raises(ModelError, match="did not respond within 1 s") as caught:
        open_model("claude-cli/haiku", {"command": str(script), "timeout": 1}).complete(ASK)
    assert caught.value.transient
    assert len(pids.read_text().split()) == 2
    for pid in map(int, pids.read_text().split()):
        until(lambda pid=pid: gone(pid), f"process {pid} is left")  # type: ignore[misc]
