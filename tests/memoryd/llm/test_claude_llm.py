from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.config import Settings
from memoryd.core.errors import ModelError
from memoryd.core.protocols import LLM
from memoryd.core.types import Message, Usage
from memoryd.llm import ClaudeLLM, extractor_folder, is_internal_text, mark
from tests.waiting import HANGS_SECONDS, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in client is a shell script")
ASK = [Message("system", "Extract."), Message("user", "the session")]
RESULT: dict[str, Any] = {
    "type": "result", "is_error": False, "result": "{}", "total_cost_usd": 0.25,
    "modelUsage": {"haiku-x": {"inputTokens": 10, "cacheReadInputTokens": 5, "cacheCreationInputTokens": 1, "outputTokens": 2}},
}  # fmt: skip


def client(tmp_path: Path, body: str, timeout: float = HANGS_SECONDS, environ: dict[str, str] | None = None) -> ClaudeLLM:
    """Return a ClaudeLLM with a fake client: a Python script that receives the same arguments, input and environment."""
    script = tmp_path / "claude"
    script.write_text(f"#!{sys.executable} -IS\nimport json, os, sys, time, subprocess\n{body}\n")
    script.chmod(0o755)
    settings = Settings(home=tmp_path / "home", claude_command=str(script), claude_model="haiku")
    return ClaudeLLM(settings, environ or {"PATH": os.environ["PATH"]}, timeout)


def printing(answer: Any) -> str:
    return f"sys.stdin.read(); print({json.dumps(json.dumps(answer))})"


def wait_for_the_end_of(pids: Path) -> None:
    """Wait for a killed process to disappear."""
    for pid in pids.read_text().split():
        until(lambda pid=int(pid): _ended(pid), f"process {pid} is left")  # type: ignore[misc]


def _ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except FileNotFoundError:
        return True


def test_an_answer_comes_with_tokens_and_cost(tmp_path: Path) -> None:
    llm: LLM = client(tmp_path, printing(RESULT))
    answer = llm.complete(ASK)
    assert (answer.text, answer.model) == ("{}", "haiku-x")
    assert answer.usage == Usage(1, 16, 2, 0.25)
    assert llm.name == "haiku"


def test_the_run_is_marked_and_knows_nothing_of_the_surrounding_session(tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    body = (
        f"json.dump([sys.argv[1:], sys.stdin.read(), dict(os.environ), os.getcwd()], open({str(seen)!r}, 'w'))\n"
        f"print({json.dumps(json.dumps(RESULT))})"
    )
    environ = {
        "PATH": os.environ["PATH"], "HOME": "/h", "ANTHROPIC_BASE_URL": "http://x", "CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": "/p",
        "CLAUDE_PLUGIN_OPTION_OPENAI_API_KEY": "k", "MEMORYD_OPENAI_API_KEY": "k",
    }  # fmt: skip
    client(tmp_path, body, environ=environ).complete(ASK)
    arguments, prompt, env, folder = json.loads(seen.read_text())
    assert is_internal_text(prompt)
    assert prompt.endswith("\nthe session")
    assert Path(folder) == extractor_folder(Settings(home=tmp_path / "home")).resolve()
    assert env["MEMORYD_INTERNAL"] == "1"
    assert env["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] == "1"
    assert (env["HOME"], env["ANTHROPIC_BASE_URL"]) == ("/h", "http://x"), "the login stays"
    assert not {"CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_OPTION_OPENAI_API_KEY", "MEMORYD_OPENAI_API_KEY"} & env.keys()
    assert arguments[arguments.index("--tools") + 1] == ""
    assert arguments[arguments.index("--model") + 1] == "haiku"
    assert arguments[arguments.index("--system-prompt") + 1] == "Extract."
    assert {"-p", "--safe-mode", "--no-session-persistence", "--strict-mcp-config"} <= set(arguments)
    assert "the session" not in arguments


def test_a_conversation_is_sent_as_one_prompt(tmp_path: Path) -> None:
    seen = tmp_path / "prompt"
    body = f"open({str(seen)!r}, 'w').write(sys.stdin.read())\nprint({json.dumps(json.dumps(RESULT))})"
    client(tmp_path, body).complete([*ASK, Message("assistant", "bad"), Message("user", "again")])
    assert "<assistant>\nbad\n</assistant>\n\n<user>\nagain\n</user>" in seen.read_text()


@pytest.mark.parametrize(
    ("fields", "transient", "fix"),
    [
        ({"result": "Not logged in · Please run /login", "api_error_status": None}, False, "log in"),
        ({"result": "Failed to authenticate. API Error: 401 bad key", "api_error_status": 401}, False, "log in"),
        ({"result": "API Error: Request rejected (429) · slow down", "api_error_status": 429}, True, "retried"),
        ({"result": "You have reached your usage limit. It resets at 3pm.", "api_error_status": None}, True, "retried"),
        ({"result": "API Error: 529 Overloaded", "api_error_status": 529}, True, "retried"),
        ({"result": "API Error: 404 no such model", "api_error_status": 404}, False, "claude_model"),
        ({"result": "API Error: Connection error.", "api_error_status": None}, True, "network"),
    ],
)
def test_the_clients_failures_say_what_to_do(tmp_path: Path, fields: dict[str, Any], transient: bool, fix: str) -> None:
    with pytest.raises(ModelError) as caught:
        client(tmp_path, printing({**RESULT, "is_error": True, **fields}) + "; sys.exit(1)").complete(ASK)
    assert caught.value.transient is transient
    assert fix in caught.value.fix
    assert str(fields["result"])[:20] in caught.value.message


def test_a_run_that_ends_without_a_result_is_a_failure(tmp_path: Path) -> None:
    stopped = {key: value for key, value in RESULT.items() if key != "result"} | {"is_error": True, "errors": ["Reached maximum"]}
    with pytest.raises(ModelError, match="Reached maximum"):
        client(tmp_path, printing(stopped)).complete(ASK)


def test_an_old_client_must_be_updated(tmp_path: Path) -> None:
    body = "sys.stderr.write(\"error: unknown option '--safe-mode'\"); sys.exit(1)"
    with pytest.raises(ModelError, match="too old") as caught:
        client(tmp_path, body).complete(ASK)
    assert "claude update" in caught.value.fix


@pytest.mark.parametrize("output", ["", "not json", "[1]"])
def test_output_that_is_not_a_result_is_a_failure(tmp_path: Path, output: str) -> None:
    with pytest.raises(ModelError, match="no result"):
        client(tmp_path, f"sys.stdin.read(); print({output!r})").complete(ASK)


def test_a_missing_client_is_named(tmp_path: Path) -> None:
    llm = ClaudeLLM(Settings(home=tmp_path, claude_command="/nowhere/claude"), {})
    with pytest.raises(ModelError, match="/nowhere/claude") as caught:
        llm.complete(ASK)
    assert not caught.value.transient
    assert "claude_command" in caught.value.fix


HANG = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open({pids!r} + ".part", "w") as out:
    out.write(f"{{os.getpid()}} {{child.pid}}")
os.rename({pids!r} + ".part", {pids!r})
os.write(os.open({fifo!r}, os.O_WRONLY), b"x")
time.sleep(600)
"""


def test_a_run_over_its_time_is_ended_with_its_children(tmp_path: Path) -> None:
    pids, fifo = tmp_path / "pids", tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    for seconds in (1.5, 6.0, HANGS_SECONDS):
        llm = client(tmp_path, HANG.format(pids=str(pids), fifo=str(fifo)), timeout=seconds)
        with pytest.raises(ModelError, match="did not respond within") as caught:
            llm.complete(ASK)
        assert caught.value.transient
        if pids.exists():  # It was there in time. On a busy machine this takes longer.
            break
    os.close(reader)
    wait_for_the_end_of(pids)


def test_closing_ends_the_run_and_refuses_further_ones(tmp_path: Path) -> None:
    pids, fifo = tmp_path / "pids", tmp_path / "fifo"
    os.mkfifo(fifo)
    llm = client(tmp_path, HANG.format(pids=str(pids), fifo=str(fifo)), timeout=10 * HANGS_SECONDS)
    failed: list[ModelError] = []

    def ask() -> None:
        try:
            llm.complete(ASK)
        except ModelError as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    with fifo.open("rb") as started:
        assert started.read(1) == b"x"
    llm.close()
    thread.join(HANGS_SECONDS)
    assert not thread.is_alive()
    assert failed[0].transient
    wait_for_the_end_of(pids)
    with pytest.raises(ModelError, match="shutting down"):
        llm.complete(ASK)


def test_runs_of_one_home_folder_come_one_after_the_other(tmp_path: Path) -> None:
    busy = tmp_path / "busy"
    body = (
        f"os.open({str(busy)!r}, os.O_CREAT | os.O_EXCL)\nsys.stdin.read(); time.sleep(0.05)\nos.unlink({str(busy)!r})\n"
        f"print({json.dumps(json.dumps(RESULT))})"
    )
    client(tmp_path, body)  # Writes the stand-in.
    settings = Settings(home=tmp_path / "home", claude_command=str(tmp_path / "claude"))
    done: list[str] = []
    runs = [
        threading.Thread(target=lambda: done.append(ClaudeLLM(settings, {}, HANGS_SECONDS).complete(ASK).text)) for _ in range(4)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join(HANGS_SECONDS)
    assert done == ["{}"] * 4


def test_only_a_prompt_that_begins_with_the_mark_is_internal() -> None:
    assert is_internal_text(mark("anything"))
    assert mark("x") != mark("x")
    assert not is_internal_text("what is memoryd-internal-run?")
    assert not is_internal_text("<memoryd-internal-run> quoted")
