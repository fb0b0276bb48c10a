"""Codex CLI: hooks pass its events to the daemon, and its sessions are read from its rollout files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from memoryd.clients import codex_log
from memoryd.clients.base import (
    CLIENT_KEY,
    ClientAdapter,
    FileChange,
    HookEvent,
    Installed,
    LogStatus,
    Product,
    System,
    oldest_first,
)
from memoryd.clients.edits import HookGroups, json_entries, toml_table
from memoryd.core.files import files_below
from memoryd.core.tool_calls import Permission, ToolReply

# Seconds until Codex stops a hook. It allows SessionEnd no more than three.
HOOK_SECONDS = {
    "SessionStart": 5,
    "UserPromptSubmit": 5,
    "PreToolUse": 5,
    "SubagentStart": 5,
    "Stop": 5,
    "PreCompact": 5,
    "SessionEnd": 3,
}
GUARDED_TOOLS = "Bash|apply_patch|Edit|Write"
SERVER = ("mcp_servers", "memoryd")


class Codex(ClientAdapter):
    """Codex CLI (`@openai/codex`). Its hooks have the events and fields of Claude Code's."""

    name = "codex"
    title = "Codex CLI"
    limits = "At its next start Codex says that hooks need review: choose 'Trust all and continue'. Until then only tools work."

    def read_event(self, name: str, payload: Mapping[str, Any]) -> HookEvent | None:
        """Return the event of a hook's input. A fork of a session starts like a resumed one."""
        event = super().read_event(name, payload)
        return replace(event, source="resume") if event is not None and event.source == "fork" else event

    def tool_calls(self, payload: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return the calls of a tool hook's input: also an edit for each file of a patch, even if a command applies it."""
        given = payload.get("tool_input")
        command = given.get("command") if isinstance(given, Mapping) else None
        edits = codex_log.patch_edits(command) if isinstance(command, str) else []
        own = [] if payload.get("tool_name") == "apply_patch" and edits else [payload]
        return own + [{**payload, "tool_name": tool, "tool_input": values} for tool, values in edits]

    def write_reply(self, event: str, reply: ToolReply) -> bytes:
        """Return the output of a tool hook. Codex reports a question as an error, so it is left out."""
        return super().write_reply(event, replace(reply, decision=Permission.NONE) if reply.decision is Permission.ASK else reply)

    # Logs

    def owns_log(self, path: Path) -> bool:
        """Return whether the path has the name of a rollout file."""
        return path.name.startswith("rollout-") and path.suffix == ".jsonl"

    def open_log(self, path: Path) -> BinaryIO:
        """Return the session's complete lines in Claude Code's format. Raises OSError."""
        return codex_log.FILES.open(path)

    def log_status(self, path: Path) -> LogStatus:
        """Return the size of the converted lines. Raises OSError."""
        return codex_log.FILES.status(path)

    def log_mark(self, path: Path) -> int:
        """Return the size of the file. Raises OSError."""
        return path.stat().st_size

    def offset_of_mark(self, path: Path, mark: int) -> int:
        """Return the size of what the first bytes of the file are converted to. Raises OSError."""
        return codex_log.FILES.converted_size(path, mark)

    def log_folder(self, path: Path) -> str:
        """Return the folder from the log's first line."""
        return codex_log.session_head(path).folder

    def session_of(self, path: Path) -> str:
        """Return the session's id, with which the file's name ends."""
        return codex_log.id_in_name(path.stem)

    def past_logs(self, system: System) -> Iterable[Path]:
        """Return the rollout files of the user's sessions, archived ones too, oldest first."""
        home = self._home(system)
        found = [path for name in ("sessions", "archived_sessions") for path in files_below(home / name)]
        logs = oldest_first(path for path in found if fnmatchcase(path.name, "rollout-*.jsonl"))
        return [path for path in logs if not codex_log.session_head(path).is_subagent]

    # Installation

    def find(self, system: System) -> Installed | None:
        """Find the program `codex` or the folder of its settings."""
        program, folder = system.which("codex"), self._home(system)
        return Installed(program or "", folder) if program or folder.is_dir() else None

    def changes(self, system: System, product: Product) -> Sequence[FileChange]:
        """Return the changes that add the hooks and the MCP server."""
        home = self._home(system)
        what = "Add hooks that pass events to memoryd and add memories to sessions"
        program, arguments = product.server(system)
        server: dict[str, object] = {"command": program, "args": arguments}
        # Codex starts servers with few variables of its environment.
        server |= {"env": product.env} if product.env else {}
        server["env_vars"] = [name for name in ("MEMORYD_HOME", "MEMORYD_PYTHON") if name not in product.env]
        return [
            json_entries(home / "hooks.json", what, {}, hook_groups(system, product)),
            toml_table(home / "config.toml", "Add the MCP server memoryd", SERVER, server),
        ]

    def warning(self, system: System) -> tuple[str, str] | None:
        """Return a warning if the user has not trusted all hooks yet, which Codex does not mention outside its own screen."""
        home = self._home(system)
        hooks = _parsed(home / "hooks.json", orjson.loads).get("hooks", {})
        state = _parsed(home / "config.toml", tomllib.loads).get("hooks", {})
        trusted = state.get("state", {}) if isinstance(state, dict) else {}
        for event, position in _positions(hooks):
            entry = trusted.get(f"{home / 'hooks.json'}:{event}:{position}:0") if isinstance(trusted, dict) else None
            if not isinstance(entry, dict) or not entry.get("trusted_hash"):
                return "Codex has not been allowed to run memoryd's hooks", "Start 'codex', enter /hooks, and trust them."
            if entry.get("enabled") is False:
                return "a hook of memoryd is disabled in Codex", "Start 'codex', enter /hooks, and enable it."
        return None

    @staticmethod
    def _home(system: System) -> Path:
        return system.folder("CODEX_HOME", ".codex")


def hook_groups(system: System, product: Product) -> HookGroups:
    """Return the hooks for this installation of memoryd."""
    groups: dict[str, dict[str, Any]] = {}
    for event, seconds in HOOK_SECONDS.items():
        matcher = {"matcher": GUARDED_TOOLS} if event == "PreToolUse" else {}
        command = product.hook_command(system, Codex.name, event)
        groups[event] = {**matcher, "hooks": [{"type": "command", "command": command, "timeout": seconds}]}
    return HookGroups(groups, CLIENT_KEY)


def _parsed(path: Path, parse: Any) -> dict[str, Any]:
    try:
        values = parse(path.read_text("utf-8"))
    except (OSError, ValueError):  # `changes` reports what is wrong with the file
        return {}
    return values if isinstance(values, dict) else {}


def _positions(hooks: Any) -> Iterable[tuple[str, int]]:
    """Yield Codex's name of each event with a hook of memoryd, and the position of its group."""
    ours = HookGroups({}, CLIENT_KEY)
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for position, group in enumerate(groups if isinstance(groups, list) else ()):
            if ours.is_ours(group):
                yield "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_"), position
