"""Run OpenCode, and parse its output. The parser skips unknown lines.

`opencode run --format json` of 1.18.33 reads the prompt from its input and prints `text`, `tool_use`, `step_finish` (tokens and
cost of a call) and `error` lines. Our own plugin (`opencode_observer.js`), the same in all arms, prints `observed` lines with
what these leave out: texts added to the context, running tools, refused requests and retries.

OpenCode repeats a refused request, or one whose answer was cut off, without end, and has no limit on the cost of a session. So a
session is ended here after a few such requests, or once it has spent its limit.

Its state is in the home folder of the sandbox: settings and plugins in `.config/opencode`, sessions in a database in
`.local/share/opencode`. A conversation is replayed with `opencode import`, and the ids of its messages sort before real ones.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memeval.claudecode.clients import (
    FIXES,
    PROBE_PROMPT,
    PROBE_SECONDS,
    BenchClient,
    Fault,
    SessionSpec,
    kind_by_status,
    kind_by_words,
    scratch,
    short,
    timeout_fault,
)
from memeval.claudecode.contract import Arm, ClientName, ErrorKind, SessionResult, ToolCall
from memeval.claudecode.daemon import is_local
from memeval.claudecode.processes import Finished, Processes
from memeval.claudecode.sandbox import State
from memeval.claudecode.seeding import times_of
from memeval.core.errors import DataError
from memeval.core.files import json_objects
from memeval.core.types import Session
from memeval.models.prices import load_prices
from memeval.providers.http_client import retry_after
from memoryd.clients.base import Product, this_system
from memoryd.clients.opencode import DATABASE, plugin
from memoryd.core.types import Usage

MAX_RETRIES = 2
LONGEST_WAIT = 60.0
"""Longest wait for a retry, in seconds, that is left to the client. The runner has its own back-off."""
IMPORT_SECONDS = 120.0
ANSWERED = ("stop", "length", "tool-calls", "content-filter")
"""Reasons for the end of an answer that was not cut off."""
PERMISSIONS = {"Read": "read", "Write": "edit", "Edit": "edit", "Bash": "bash", "Glob": "glob", "Grep": "grep"}
"""OpenCode's permissions by the names that tools have in Claude Code."""
OWN_FIXES = {
    **FIXES,
    ErrorKind.LOGIN: "Set the key of the model's provider, such as ANTHROPIC_API_KEY or OPENAI_API_KEY.",
    ErrorKind.MODEL: "Correct --model (PROVIDER/MODEL); `opencode models` lists those that you have.",
    ErrorKind.CLIENT: "Update the client with `opencode upgrade`, or name another with --opencode.",
}


@dataclass(slots=True)
class Printed:
    """What a session has printed so far. `status` and `retry_after` are those of the last refused request.

    `cut_off` is the number of answers in a row that ended without a reason.

    `error` is the client's own report of a failure. `wait` is its announced wait in seconds, and `ended` says why it was ended.
    """

    session_id: str = ""
    texts: dict[str, list[str]] = field(default_factory=dict)
    tool_calls: dict[str, ToolCall] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    injected: list[tuple[str, str]] = field(default_factory=list)
    usage: Usage = field(default_factory=lambda: Usage(1, cost_usd=0.0))
    turns: int = 0
    reason: str = ""
    cut_off: int = 0
    servers: Mapping[str, Any] | None = None
    status: int | None = None
    retry_after: float | None = None
    retries: int = 0
    wait: float | None = None
    said: str = ""
    error: Mapping[str, Any] | None = None
    ended: ErrorKind = ErrorKind.NONE

    @property
    def text(self) -> str:
        """Return the text of the last message that has one."""
        return "\n".join(next(reversed(self.texts.values()), [])).strip()

    def read(self, line: Mapping[str, Any]) -> None:
        """Read one line of the output."""
        match line:
            case {"type": "observed"}:
                self._observe(line)
                return
            case {"type": "text", "part": {"messageID": str(message), "text": str(text)}}:
                self.texts.setdefault(message, []).append(text)
            case {"type": "tool_use", "part": {"callID": str(key), "tool": str(name), "state": dict(state)}}:
                self.running.discard(key)
                self.cut_off = 0
                given, failed = state.get("input"), state.get("status") == "error"
                returned = state.get("error" if failed else "output")
                arguments = given if isinstance(given, dict) else {}
                self.tool_calls[key] = ToolCall(name, arguments, returned if isinstance(returned, str) else "", failed)
            case {"type": "step_finish", "part": {"tokens": dict(tokens)} as part}:
                self.turns += 1
                self.reason = str(part.get("reason") or "")
                self.usage = self.usage + _usage(tokens, part.get("cost"))
                self.cut_off = 0 if self.reason in ANSWERED else self.cut_off + 1
                self.status = None  # the request was answered in the end
            case {"type": "error", "error": dict(error)}:
                self.error = error
        if isinstance(session := line.get("sessionID"), str):
            self.session_id = session

    def _observe(self, line: Mapping[str, Any]) -> None:
        match line:
            case {"event": "session", "id": str(session)}:
                self.session_id = self.session_id or session
            case {"event": "tool", "id": str(key), "status": str(status)}:
                (self.running.add if status == "running" else self.running.discard)(key)
            case {"event": "injected", "name": str(name), "text": str(text)}:
                self.injected.append((name, text))
            case {"event": "init", "servers": dict(servers)}:
                self.servers = servers
            case {"event": "refused", "status": int(status)}:
                self.status, asked = status, line.get("retryAfter")
                self.retry_after = retry_after(asked) if isinstance(asked, str) else None
            case {"event": "retry", "attempt": int(attempt), "next": int() | float() as moment}:
                self.retries, self.said = attempt, str(line.get("message") or "")
                self.wait = max(0.0, moment / 1000 - time.time())


def _usage(tokens: Mapping[str, Any], cost: Any) -> Usage:
    cache = tokens.get("cache") if isinstance(tokens.get("cache"), dict) else {}
    counts = [tokens.get("input"), cache.get("read"), cache.get("write")] if cache is not None else [tokens.get("input")]
    given = sum(count for count in counts if isinstance(count, int))
    taken = sum(count for count in (tokens.get("output"), tokens.get("reasoning")) if isinstance(count, int))
    return Usage(0, given, taken, float(cost) if isinstance(cost, int | float) else 0.0)


def read_output(text: str) -> Printed:
    """Parse the output of one session."""
    printed = Printed()
    for line in json_objects(text.splitlines()):
        printed.read(line)
    return printed


class _Watch:
    """Decides while a session runs whether to end it."""

    def __init__(self, price: _Price, budget_usd: float | None) -> None:
        self._printed = Printed()
        self._price = price
        self._budget = budget_usd
        self.ended = ErrorKind.NONE

    def __call__(self, line: str) -> bool:
        for value in json_objects([line]):
            self._printed.read(value)
        printed = self._printed
        cost = self._price.of(printed.usage).cost_usd
        if self._budget is not None and cost is not None and cost > self._budget:
            self.ended = ErrorKind.BUDGET
        elif max(printed.retries, printed.cut_off) > MAX_RETRIES or (printed.wait or 0.0) > LONGEST_WAIT:
            self.ended = ErrorKind.SERVER
        return self.ended is not ErrorKind.NONE


class _Price:
    """The price of a model, if the client does not know it. It is nothing on a server of this machine."""

    def __init__(self, model: str, base_url: str) -> None:
        self._listed = load_prices().of(model)
        self._otherwise = 0.0 if is_local(base_url) else None

    def of(self, usage: Usage) -> Usage:
        """Return the usage with its cost, which is None if nobody knows the price."""
        if usage.cost_usd or not (usage.input_tokens or usage.output_tokens):
            return usage
        if self._listed is None:
            return replace(usage, cost_usd=self._otherwise)
        return replace(usage, cost_usd=self._listed.cost(usage.input_tokens, usage.output_tokens))


class OpenCode(BenchClient):
    """OpenCode (`opencode run`). `base_url` is the address of a gateway, in the form that Claude Code takes."""

    name = ClientName.OPENCODE
    oldest = (1, 18, 0)
    flag = "--opencode"
    update = "opencode upgrade"

    def __init__(self, program: str, processes: Processes | None = None, base_url: str = "") -> None:
        super().__init__(program, processes)
        self.base_url = base_url

    def run(self, spec: SessionSpec) -> SessionResult:
        """Run one session. Raises DependencyError if the client can't be started."""
        started = time.monotonic()
        environment = {**spec.environment, "OPENCODE_CONFIG_CONTENT": json.dumps(self._settings(spec))}
        price = _Price(provider_model(spec.model), self.base_url)
        watch = _Watch(price, spec.budget_usd)
        _write_plugins(spec)
        done = self.processes.run(self.command(spec), spec.cwd, environment, spec.timeout, spec.prompt, watch)
        printed = read_output(done.stdout)
        printed.ended = watch.ended
        result = SessionResult(
            text=printed.text,
            usage=price.of(printed.usage),
            seconds=round(time.monotonic() - started, 3),
            session_id=printed.session_id,
            turns=printed.turns,
            tool_calls=tuple(printed.tool_calls.values()),
            init={"model": provider_model(spec.model), "mcp_servers": dict(printed.servers)}
            if printed.servers is not None
            else {},
            injected=tuple(printed.injected),
        )
        if (fault := fault_of(spec, done, printed)) is not None:
            asked = printed.wait if printed.retry_after is None else printed.retry_after
            result = replace(result, error=fault.kind, message=fault.message, fix=fault.fix, retry_after=asked)
        return result

    def command(self, spec: SessionSpec) -> list[str]:
        """Build the command line of a session. Its prompt is passed as input, because an argument would be put in quotes."""
        command = [self.program, "run", "--format", "json", "--title", "session", "--model", provider_model(spec.model)]
        return [*command, "--session", spec.resume] if spec.resume else command

    def _settings(self, spec: SessionSpec) -> dict[str, Any]:
        allowed = dict.fromkeys((PERMISSIONS[tool] for tool in spec.tools), "allow")
        return {
            "$schema": "https://opencode.ai/config.json",
            "share": "disabled",
            "snapshot": False,
            "autoupdate": False,
            "plugin": [_observer(spec.state).as_uri()],
            "permission": {"*": "deny", **allowed, "memoryd_*": "allow"},
            "agent": {"build": {"steps": spec.max_turns}},
            "provider": _provider(provider_model(spec.model), self.base_url),
        }

    def probe(self, environment: Mapping[str, str], model: str, state: State) -> SessionResult:
        """Run a session of a few tokens."""
        return self.run(SessionSpec(PROBE_PROMPT, state.folder, model, environment, state, max_turns=1, timeout=PROBE_SECONDS))

    def limit_left(self, environment: Mapping[str, str], model: str, root: Path) -> float | None:
        """Return the remaining seconds of a rate limit, or None."""
        with scratch(root) as state:
            return self.probe({**environment, **state.variables()}, model, state).retry_after

    def check_plugin(self, init: Mapping[str, Any], arm: Arm) -> str:
        """Return the problem with the plugin, or an empty string. A loaded plugin has registered its server of tools."""
        server = init["mcp_servers"].get("memoryd")
        if not arm.has_plugin:
            return "the plugin is loaded in an arm without it" if server is not None else ""
        if server is None:
            return "the client did not load the plugin"
        return "" if server.get("status") == "connected" else f"the plugin's tools are missing: {server.get('error', server)}"

    def settings_of(self, arm: Arm) -> dict[str, Any]:
        """Return the files of the arm."""
        return {"files": [".config/opencode/plugin/memoryd.js"] if arm.has_plugin else []}

    # Logs and notes

    def session_id(self, own: str) -> str:
        """Return the id with the client's prefix."""
        return f"ses_{own.replace('-', '')}"

    def line_id(self, session_id: str, place: int) -> str:
        """Return the id of a replayed message. It sorts before the ids of later ones, which begin with the time."""
        return f"msg_0000{place:08}{hashlib.sha256(session_id.encode()).hexdigest()[:14]}"

    def write_log(
        self,
        session: Session,
        session_id: str,
        state: State,
        cwd: Path,
        version: str,
        environment: Mapping[str, str],
        *,
        number: int = 0,
    ) -> Path:
        """Import the conversation into the client's database. Raises DataError if the client refuses it."""
        _prepare_home(state)
        file = state.folder / "conversation.json"
        file.write_text(json.dumps(self._exported(session, session_id, cwd, version, number)), "utf-8")
        settings = json.dumps({"share": "disabled", "autoupdate": False})
        variables = {**environment, "OPENCODE_CONFIG_CONTENT": settings}
        done = self.processes.run([self.program, "import", str(file)], cwd, variables, IMPORT_SECONDS)
        file.unlink()
        if done.code != 0 or session_id not in done.stdout:
            raise DataError(
                f"OpenCode could not import a conversation: {short(done.stderr or done.stdout) or f'code {done.code}'}",
                fix=OWN_FIXES[ErrorKind.CLIENT],
            )
        return _database(state) / session_id

    def _exported(self, session: Session, session_id: str, cwd: Path, version: str, number: int) -> dict[str, Any]:
        """Return the conversation in the form of `opencode export`."""
        times = [round(moment.timestamp() * 1000) for moment in times_of(session, number)]
        messages: list[dict[str, Any]] = []
        asked = self.line_id(session_id, 0)
        for place, (turn, moment) in enumerate(zip(session.turns, times, strict=True)):
            own = self.line_id(session_id, place)
            info = {"id": own, "sessionID": session_id, "role": turn.role, **_about_message(turn.role, asked, moment, cwd)}
            part = {"id": f"prt_{own[4:]}", "sessionID": session_id, "messageID": own, "type": "text", "text": turn.text}
            messages.append({"info": info, "parts": [part]})
            asked = own if turn.role == "user" else asked
        info = {
            "id": session_id,
            "slug": "session",
            "version": version,
            "projectID": "global",
            "directory": str(cwd),
            "title": "session",
            "time": {"created": times[0] if times else 0, "updated": times[-1] if times else 0},
        }
        return {"info": info, "messages": messages}

    def transcript(self, state: State, session_id: str) -> Path | None:
        """Return the path of the database followed by the session's id."""
        database = _database(state)
        return database / session_id if session_id and database.is_file() else None

    def notes_file(self, state: State) -> Path:
        """Return the user's AGENTS.md."""
        return _config(state) / "AGENTS.md"


def provider_model(model: str) -> str:
    """Return the model with its provider, which is Anthropic if none is named."""
    return model if "/" in model else f"anthropic/{model}"


def _provider(model: str, base_url: str) -> dict[str, Any]:
    """Return the settings of the model's provider behind an address. A provider other than Anthropic speaks OpenAI's chat API."""
    provider, _, name = model.partition("/")
    if not base_url:
        return {}
    address = base_url.rstrip("/")
    address = address if address.endswith("/v1") else f"{address}/v1"
    if provider == "anthropic":
        return {provider: {"options": {"baseURL": address}, "models": {name: {}}}}
    key = f"{{env:{provider.upper().replace('-', '_')}_API_KEY}}"
    return {
        provider: {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": address, "apiKey": key},
            "models": {name: {"name": name}},
        }
    }


def _about_message(role: str, asked: str, moment: int, cwd: Path) -> dict[str, Any]:
    if role == "user":
        model = {"providerID": "anthropic", "modelID": "replayed"}
        return {"time": {"created": moment}, "agent": "build", "model": model}
    return {
        "parentID": asked,
        "time": {"created": moment, "completed": moment},
        "modelID": "replayed",
        "providerID": "anthropic",
        "mode": "build",
        "agent": "build",
        "path": {"cwd": str(cwd), "root": str(cwd)},
        "cost": 0,
        "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
        "finish": "stop",
    }


# Folders


def _config(state: State) -> Path:
    return state.folder / "home" / ".config" / "opencode"


def _database(state: State) -> Path:
    return state.folder / "home" / ".local" / "share" / "opencode" / DATABASE


def _observer(state: State) -> Path:
    return _config(state) / "observer.js"


NEEDLESS = "@opencode-ai/plugin"
"""Package with the types of plugins, which the client installs from a registry unless its folder claims to have it."""


def _prepare_home(state: State) -> None:
    config = _config(state)
    (config / "node_modules").mkdir(parents=True, exist_ok=True)
    claim = {"packages": {"": {"dependencies": {NEEDLESS: "*"}}}}
    (config / "package-lock.json").write_text(json.dumps(claim), "utf-8")


def _write_plugins(spec: SessionSpec) -> None:
    """Write the observer, and memoryd's plugin as `memoryd connect opencode` does."""
    _prepare_home(spec.state)
    source = Path(__file__).with_name("opencode_observer.js").read_text("utf-8")
    for name, value in (("@INSTRUCTIONS@", spec.system), ("@PLACEBO@", spec.placebo)):
        source = source.replace(f'"{name}"', json.dumps(value), 1)
    _observer(spec.state).write_text(source, "utf-8")
    file = _config(spec.state) / "plugin" / "memoryd.js"
    file.unlink(missing_ok=True)
    if spec.arm.has_plugin and spec.plugin is not None:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(plugin(this_system(), Product(spec.plugin, spec.state.memory_home)))


# Faults


def fault_of(spec: SessionSpec, done: Finished, printed: Printed) -> Fault | None:
    """Return the fault of a session, or None if it produced an answer."""
    if printed.ended is ErrorKind.BUDGET:
        return _fault(ErrorKind.BUDGET, f"The session was ended at its limit of ${spec.budget_usd or 0.0:.2f}.")
    if printed.cut_off:
        return _fault(ErrorKind.SERVER, "The server's answer was cut off.")
    if printed.ended is not ErrorKind.NONE or printed.error is not None:
        return _of_server(printed)
    if done.timed_out and printed.servers is None:
        return _fault(ErrorKind.CRASH, f"The client asked its model nothing within {spec.timeout:g} s.")
    if done.timed_out:
        if printed.status is not None:
            return _of_server(printed)
        fault = timeout_fault(spec, done, works=bool(printed.running))
        return replace(fault, fix=OWN_FIXES[fault.kind])
    if done.code != 0 and not printed.text:
        said = short(done.stderr)
        kind = kind_by_words(said) or ErrorKind.CRASH
        return _fault(kind, f"The client ended with code {done.code} and no answer{': ' + said if said else '.'}")
    return None if printed.text else _fault(ErrorKind.CRASH, "The client gave no answer.")


def _of_server(printed: Printed) -> Fault:
    error = printed.error or {}
    data = error.get("data")
    data = data if isinstance(data, Mapping) else {}
    said = short(str(data.get("message") or printed.said or error.get("name") or "no reason"))
    kind = kind_by_status(data.get("statusCode")) or kind_by_status(printed.status) or kind_by_words(said)
    if kind is None and "Auth" in str(error.get("name")):
        kind = ErrorKind.LOGIN
    if kind is None:
        kind = printed.ended if printed.ended is not ErrorKind.NONE else ErrorKind.CRASH
    return _fault(kind, f"The client failed: {said}")


def _fault(kind: ErrorKind, message: str) -> Fault:
    return Fault(kind, message, OWN_FIXES[kind])
