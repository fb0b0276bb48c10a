"""OpenCode as the client of run_bench: its output, its faults, its settings, and the command with a fake client."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import dictionaries, floats, integers, lists, none, recursive, sampled_from, text

from memeval.claudecode.arms import arms_of
from memeval.claudecode.auth import make_auth
from memeval.claudecode.clients import SessionSpec
from memeval.claudecode.command import Command
from memeval.claudecode.contract import Arm, ClientName, ErrorKind
from memeval.claudecode.grid import CellValues, compare_all
from memeval.claudecode.merge import _whole
from memeval.claudecode.opencode import OpenCode, fault_of, provider_model, read_output
from memeval.claudecode.processes import Finished
from memeval.claudecode.sandbox import State
from memeval.claudecode.seeding import source_cell
from memeval.core.errors import ConfigError, RunError
from memeval.core.types import Session, Turn
from memeval.results.files import ResultsDir
from memoryd.core.types import Usage
from tests.memeval.claudecode.conftest import FakeWorld

CLIENT = OpenCode("opencode")
SCRIPT = """#!{python} -IS
import json, os, sys
from pathlib import Path

def tell(kind, **more):
    print(json.dumps({{"type": kind, "sessionID": "ses_fake", **more}}), flush=True)

if "--version" in sys.argv:
    print(os.environ.get("ANTHROPIC_FAKE_VERSION", "1.18.33"))
    raise SystemExit
prompt = sys.stdin.read()
with (Path(os.environ["ANTHROPIC_FAKE"]) / "calls").open("a") as stream:
    settings = json.loads(os.environ["OPENCODE_CONFIG_CONTENT"])
    stream.write(json.dumps({{"argv": sys.argv[1:], "prompt": prompt, "settings": settings}}) + "\\n")
tell("observed", event="init", servers={{}})
if "REFUSED" in prompt and not os.environ.get("ANTHROPIC_FAKE_WELL"):
    tell("error", error={{"name": "APIError", "data": {{"message": "overloaded", "statusCode": 529}}}})
    raise SystemExit(1)
tell("text", part={{"messageID": "m", "text": "The answer is 1."}})
tell("step_finish", part={{"reason": "stop", "tokens": {{"input": 90, "output": 5, "cache": {{"read": 10}}}}, "cost": 0.02}})
"""


def printed(*lines: dict[str, Any]) -> str:
    return "".join(json.dumps({"sessionID": "ses_1", **line}) + "\n" for line in lines)


def said(message: str, words: str) -> dict[str, Any]:
    return {"type": "text", "part": {"messageID": message, "text": words}}


def finished(reason: str = "stop", cost: float = 0.01) -> dict[str, Any]:
    tokens = {"input": 100, "output": 5, "reasoning": 2, "cache": {"read": 30, "write": 4}}
    return {"type": "step_finish", "part": {"reason": reason, "tokens": tokens, "cost": cost}}


def observed(event: str, **more: Any) -> dict[str, Any]:
    return {"type": "observed", "event": event, **more}


def spec(state: State, **more: Any) -> SessionSpec:
    return SessionSpec("How?", state.folder, "claude-haiku-4-5", {}, state, **more)


def fault(*lines: dict[str, Any], code: int = 0, stderr: str = "", **more: Any) -> tuple[ErrorKind, str] | None:
    done = Finished(code, "", stderr, **more)
    found = fault_of(spec(State(Path("/nowhere")), timeout=10), done, read_output(printed(*lines)))
    return None if found is None else (found.kind, found.message)


def test_an_answer_is_the_text_of_the_last_message_and_usage_is_that_of_all_calls() -> None:
    call = {"callID": "c", "tool": "bash", "state": {"status": "completed", "input": {"command": "ls"}, "output": "a.py"}}
    found = read_output(
        printed(
            observed("injected", name="SessionStart", text="- [mem_0123456789ab] (rule) Use tabs."),
            observed("init", servers={"memoryd": {"status": "connected"}}),
            observed("tool", id="c", status="running"),
            said("m1", "I will look."),
            {"type": "tool_use", "part": call},
            finished("tool-calls"),
            said("m2", "It is"),
            said("m2", "a.py."),
            finished(),
        )
        + "not json\n"
    )
    assert (found.text, found.session_id, found.turns, found.running) == ("It is\na.py.", "ses_1", 2, set())
    assert found.usage == Usage(1, 268, 14, 0.02)
    assert [(tool.name, tool.arguments, tool.result) for tool in found.tool_calls.values()] == [
        ("bash", {"command": "ls"}, "a.py")
    ]
    assert found.injected == [("SessionStart", "- [mem_0123456789ab] (rule) Use tabs.")]
    assert CLIENT.check_plugin({"mcp_servers": found.servers}, Arm.PLUGIN) == ""


def test_each_fault_is_told_from_an_answer() -> None:
    def error(**data: Any) -> dict[str, Any]:
        return {"type": "error", "error": {"name": "APIError", "data": data}}

    refused = observed("refused", status=429, retryAfter="100")
    assert fault(said("m", "Yes."), finished()) is None
    assert fault(refused, said("m", "Yes."), finished()) is None, "a request that was retried with success"
    assert fault(error(message="bad key", statusCode=401), code=1) == (ErrorKind.LOGIN, "The client failed: bad key")
    assert fault(error(message="Model not found: x", statusCode=404), code=1) == (
        ErrorKind.MODEL,
        "The client failed: Model not found: x",
    )
    assert fault(error(message="oops"), refused, code=1) == (ErrorKind.RATE_LIMIT, "The client failed: oops")
    assert fault(said("m", "Ye"), finished("unknown")) == (ErrorKind.SERVER, "The server's answer was cut off.")
    assert fault(finished()) == (ErrorKind.CRASH, "The client gave no answer.")
    assert fault(code=-9) == (ErrorKind.CRASH, "The client ended with code -9 and no answer.")
    asked, running = observed("init", servers={}), observed("tool", id="c", status="running")
    late = [fault(*lines, timed_out=True, silent=9.0) for lines in ([], [asked], [asked, running])]
    assert [found and found[0] for found in late] == [ErrorKind.CRASH, ErrorKind.HANG, ErrorKind.TIMEOUT]


JSON = recursive(
    none() | integers() | floats() | text(max_size=5),
    lambda inner: lists(inner, max_size=3) | dictionaries(text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("type", "event", "part", "error", "text", "messageID", "tokens", "cost", "state", "callID", "servers", "status", "next")
TYPES = sampled_from(["text", "tool_use", "step_finish", "error", "observed", "refused", "retry", "init", "injected", "tool"])


@given(
    lists(
        dictionaries(sampled_from(KEYS), TYPES | JSON | dictionaries(sampled_from(KEYS), JSON, max_size=4), max_size=6),
        max_size=5,
    )
)
def test_output_of_another_form_is_skipped(lines: list[dict[str, Any]]) -> None:
    assert isinstance(read_output(printed(*lines)).text, str)


def test_a_session_that_spends_its_limit_or_retries_without_end_is_ended(tmp_path: Path) -> None:
    def run(lines: Sequence[dict[str, Any]], budget: float | None = None) -> tuple[ErrorKind, float | None]:
        program = tmp_path / "opencode"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{printed(*lines)}END\nexec sleep 60\n")
        program.chmod(0o700)
        result = OpenCode(str(program)).run(spec(State(tmp_path / "s").make(), timeout=50, budget_usd=budget))
        assert result.seconds < 30
        return result.error, result.retry_after

    assert run([said("m", "1"), finished("tool-calls"), finished("tool-calls")], 0.015)[0] is ErrorKind.BUDGET
    retries = [observed("retry", attempt=number, next=0, message="scripted") for number in (1, 2, 3)]
    assert run([observed("refused", status=500, retryAfter=None), *retries]) == (ErrorKind.SERVER, 0.0)
    cut = [said("m", "No"), finished("unknown")] * 3
    assert run(cut)[0] is ErrorKind.SERVER
    far = observed("retry", attempt=1, next=4e12, message="scripted")
    assert run([observed("refused", status=429, retryAfter="700"), far]) == (ErrorKind.RATE_LIMIT, 700.0)


def test_a_replayed_conversation_keeps_its_times_and_sorts_before_what_follows() -> None:
    at = datetime(2025, 1, 14, 19, 40, tzinfo=UTC)
    session = Session("s", tuple(Turn(f"t{n}", "user" if n % 2 == 0 else "assistant", f"Text {n}") for n in range(12)), at)
    own = CLIENT.session_id("6f0a1e52-3c0b")
    whole = CLIENT._exported(session, own, Path("/work/project"), "1.18.33", 0)
    messages = [message["info"] for message in whole["messages"]]
    ids = [info["id"] for info in messages]
    assert own.startswith("ses_") and ids == sorted(ids) and ids[-1] < "msg_0001"
    assert ids[3] == CLIENT.line_id(own, 3) != CLIENT.line_id("ses_other", 3)
    assert messages[0]["time"]["created"] == at.timestamp() * 1000
    assert messages[1]["parentID"] == ids[0]
    assert [message["parts"][0]["text"] for message in whole["messages"]] == [turn.text for turn in session.turns]


def test_a_session_has_the_tools_of_its_step_and_the_plugin_only_in_its_arms(tmp_path: Path) -> None:
    state = State(tmp_path / "s").make()
    made = spec(state, tools=("Read", "Write", "Bash"), system='Say "hi".', placebo="- note", max_turns=7, plugin=tmp_path)
    settings = CLIENT._settings(made)
    assert settings["permission"] == {"*": "deny", "read": "allow", "edit": "allow", "bash": "allow", "memoryd_*": "allow"}
    assert settings["agent"]["build"]["steps"] == 7
    assert CLIENT.command(replace(made, resume="ses_1"))[-4:] == ["--model", "anthropic/claude-haiku-4-5", "--session", "ses_1"]
    (place,) = settings["plugin"]
    config = state.folder / "home" / ".config" / "opencode"
    OpenCode("true").run(replace(made, arm=Arm.PLUGIN))
    assert str(state.memory_home) in (config / "plugin" / "memoryd.js").read_text("utf-8")
    OpenCode("true").run(made)
    assert not (config / "plugin" / "memoryd.js").exists()
    observer = Path(place.removeprefix("file://")).read_text("utf-8")
    assert 'const INSTRUCTIONS = "Say \\"hi\\".";' in observer and 'const PLACEBO = "- note";' in observer
    assert CLIENT.check_plugin({"mcp_servers": {}}, Arm.PLUGIN) == "the client did not load the plugin"
    assert CLIENT.check_plugin({"mcp_servers": {"memoryd": {}}}, Arm.OFF) == "the plugin is loaded in an arm without it"


def test_a_gateway_gets_the_form_of_its_provider() -> None:
    assert provider_model("claude-haiku-4-5") == "anthropic/claude-haiku-4-5"
    own = OpenCode("opencode", None, "http://host:1")
    state = State(Path("/nowhere"))
    assert own._settings(spec(state))["provider"]["anthropic"]["options"] == {"baseURL": "http://host:1/v1"}
    other = own._settings(replace(spec(state), model="my-host/big"))["provider"]["my-host"]
    assert other["npm"] == "@ai-sdk/openai-compatible" and other["options"]["apiKey"] == "{env:MY_HOST_API_KEY}"
    assert CLIENT._settings(spec(state))["provider"] == {}
    environment = make_auth(None, "", ClientName.OPENCODE).environment({"OPENAI_API_KEY": "k", "HOME": "/h", "SECRET": "s"})
    assert environment["OPENAI_API_KEY"] == "k" and not {"HOME", "SECRET"} & environment.keys()
    with pytest.raises(ConfigError, match="subscription"):
        make_auth("subscription", "", ClientName.OPENCODE)


def test_modes_choose_what_a_client_has_and_an_arm_that_it_can_not_have_is_refused() -> None:
    assert arms_of("all", ClientName.OPENCODE) == (Arm.OFF, Arm.PLUGIN)
    assert arms_of("all") == (Arm.OFF, Arm.BUILTIN, Arm.PLUGIN)
    with pytest.raises(ConfigError, match="OpenCode has no memory of its own, which arm 'both' needs") as raised:
        arms_of("off,both", ClientName.OPENCODE)
    assert "blank" in raised.value.fix and "builtin" not in raised.value.fix


@pytest.fixture
def opencode(world: FakeWorld) -> FakeWorld:
    script = world.folder / "opencode"
    script.write_text(SCRIPT.format(python=sys.executable))
    script.chmod(0o700)
    world.extra["OPENCODE_BIN"] = str(script)
    return world


def test_the_command_runs_it_and_its_result_names_it_and_a_resume_stays_with_it(opencode: FakeWorld) -> None:
    world = opencode
    world.questions(3, lambda number: "REFUSED" if number == 2 else "")
    flags = ("-b", "forty", "--client", "opencode", "--base-url", world.address, "--backoff", "0", "--retries", "0")
    done = world.bench(*flags, "--mode", "off", "--run-id", "g", "--json")
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert (cell["client"], cell["client_version"]) == ("opencode", "1.18.33")
    assert cell["sessions"]["by_status"] == {"done": 2, "rate_limit": 1}
    assert cell["costs"]["answers"] == {"calls": 3, "cached_calls": 0, "input_tokens": 200, "output_tokens": 10, "cost_usd": 0.04}
    result = world.result("g")
    assert (result["provider"]["name"], result["provider"]["spec"]) == ("opencode-off", {"type": "opencode", "arm": "off"})
    assert world.calls()[-1]["prompt"].startswith("What is the answer to number")
    world.extra["ANTHROPIC_FAKE_WELL"] = "1"
    again = world.bench("--resume", "g", "--base-url", world.address, "--no-probe", "--json")
    assert json.loads(again.stdout)["cells"][0]["sessions"]["by_status"] == {"done": 3}
    refused = world.bench("--resume", "g", "--client", "claude-code")
    assert refused.returncode == 2 and "omit --client" in refused.stderr


def test_what_it_can_not_do_is_said_before_anything_is_started(opencode: FakeWorld) -> None:
    opencode.questions(1)
    flags = ("-b", "forty", "--client", "opencode", "--base-url", opencode.address)
    refused = opencode.bench(*flags, "--mode", "builtin")
    assert refused.returncode == 2 and "Arms with OpenCode: off, blank, plugin" in refused.stderr
    opencode.extra["ANTHROPIC_FAKE_VERSION"] = "0.9.1"
    old = opencode.bench(*flags, "--mode", "off")
    assert old.returncode == 2 and "OpenCode 0.9.1 is too old" in old.stderr and "opencode upgrade" in old.stderr
    assert opencode.calls() == []


def test_cells_of_different_clients_are_not_compared_or_merged() -> None:
    values = {str(number): float(number % 2) for number in range(30)}
    clusters = {key: key for key in values}
    off = CellValues("b", Arm.OFF, "m", "accuracy", values, clusters)
    plugin = CellValues("b", Arm.PLUGIN, "m", "accuracy", values, clusters, client="opencode")
    assert compare_all([off, plugin], 0)["comparisons"] == []
    assert len(compare_all([off, replace(plugin, client=off.client)], 0)["comparisons"]) == 1
    command = Command(("sample",), (("off", "m"),))
    stored = replace(command, client=ClientName.OPENCODE)
    assert Command.from_json(json.loads(json.dumps(stored.to_json()))) == stored
    assert Command.from_json({key: value for key, value in command.to_json().items() if key != "client"}) == command
    with pytest.raises(RunError, match="differ in client"):
        _whole({"s1": command, "s2": stored})


def test_a_run_does_not_start_with_the_memory_of_another_client(opencode: FakeWorld) -> None:
    opencode.questions(1)
    flags = ("-b", "forty", "--base-url", opencode.address, "--no-probe", "--mode", "off")
    assert opencode.bench(*flags, "--client", "opencode", "--run-id", "g").returncode == 0
    with pytest.raises(ConfigError, match="The memory of run g was built by sessions of OpenCode"):
        source_cell(ResultsDir(opencode.folder / "results"), "g", "forty", Arm.OFF)
