"""Gemini CLI: an extension passes its events to the daemon, and its sessions are read from its recordings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from memoryd.clients import gemini_log
from memoryd.clients.base import ClientAdapter, FileChange, HookEvent, Installed, LogStatus, Product, System, oldest_first
from memoryd.clients.edits import own_file
from memoryd.core.tool_calls import Permission, ToolReply

# Gemini CLI's events, with Claude Code's names of them. PreCompress is missing: it precedes every request, not only compression.
EVENTS = {
    "SessionStart": "SessionStart",
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterAgent": "Stop",
    "SessionEnd": "SessionEnd",
}
GUARDED_TOOLS = "run_shell_command|write_file|replace|read_file|grep_search|glob"
HOOK_MILLISECONDS = 5_000


class Gemini(ClientAdapter):
    """Gemini CLI (`@google/gemini-cli`)."""

    name = "gemini"
    title = "Gemini CLI"

    def read_event(self, name: str, payload: Mapping[str, Any]) -> HookEvent | None:
        """Return the event of a hook's input, whose prompt also holds the context of hooks that ran before."""
        event = super().read_event(name, payload)
        return replace(event, prompt=gemini_log.without_context(event.prompt)) if event is not None else None

    def tool_calls(self, payload: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return the call with the tool and its arguments named as in Claude Code."""
        given = payload.get("tool_input")
        tool, values = gemini_log.tool_call(str(payload.get("tool_name", "")), given if isinstance(given, Mapping) else {})
        return [{**payload, "tool_name": tool, "tool_input": values}]

    def write_reply(self, event: str, reply: ToolReply) -> bytes:
        """Return a refusal. Gemini CLI can neither ask nor add context before a call."""
        return orjson.dumps({"decision": "deny", "reason": reply.reason}) if reply.decision is Permission.DENY else b""

    # Logs

    def owns_log(self, path: Path) -> bool:
        """Return whether the path has the name of a recording."""
        if path.parent.name == "chats":
            return path.name.startswith("session-") and path.suffix in (".jsonl", ".json")
        return path.parent.parent.name == "chats" and path.suffix == ".jsonl"

    def open_log(self, path: Path) -> BinaryIO:
        """Return the session's messages as lines in Claude Code's format. Raises OSError."""
        return gemini_log.FILES.open(path)

    def log_status(self, path: Path) -> LogStatus:
        """Return the size of the converted lines. Raises OSError."""
        return gemini_log.FILES.status(path)

    def log_mark(self, path: Path) -> int:
        """Return the size of the file. Raises OSError."""
        return path.stat().st_size

    def offset_of_mark(self, path: Path, mark: int) -> int:
        """Return the size of what the first bytes of the file are converted to. Raises OSError."""
        return gemini_log.converted_size(path, mark)

    def log_folder(self, path: Path) -> str:
        """Return the project's folder, which Gemini CLI keeps beside the recordings."""
        return gemini_log.project_folder(path)

    def session_of(self, path: Path) -> str:
        """Return the session's id from the recording, as its name holds only a part of it."""
        return gemini_log.session_id(path)

    def past_logs(self, system: System) -> Iterable[Path]:
        """Return the recordings of the user's sessions, oldest first. One in the old format is left out if it was continued."""
        found = [path for path in (self._home(system) / "tmp").glob("*/chats/session-*.json*") if self.owns_log(path)]
        continued = {path.with_suffix(".json") for path in found if path.suffix == ".jsonl"}
        return oldest_first(path for path in found if path not in continued)

    # Installation

    def find(self, system: System) -> Installed | None:
        """Find the program `gemini` or the folder of its settings."""
        program, folder = system.which("gemini"), self._home(system)
        return Installed(program or "", folder) if program or folder.is_dir() else None

    def changes(self, system: System, product: Product) -> Sequence[FileChange]:
        """Return the changes that write the extension's files."""
        folder = self._home(system) / "extensions" / "memoryd"
        program, arguments = product.server(system)
        server = {"command": program, "args": arguments, "env": product.env}
        manifest = {"name": "memoryd", "version": "1.0.0", "mcpServers": {"memoryd": server}}
        hooks = {"description": "Hands the session's events to memoryd.", "hooks": _hooks(system, product)}
        return [
            own_file(folder / "gemini-extension.json", "Add an extension that offers memoryd's tools", _json(manifest), folder),
            own_file(
                folder / "hooks" / "hooks.json", "Pass events to memoryd and add memories to sessions", _json(hooks), folder
            ),
        ]

    @staticmethod
    def _home(system: System) -> Path:
        return system.folder("GEMINI_CLI_HOME", "") / ".gemini"


def _hooks(system: System, product: Product) -> dict[str, list[dict[str, Any]]]:
    groups = {}
    for event, name in EVENTS.items():
        command = product.hook_command(system, Gemini.name, name)
        hook = {"type": "command", "name": "memoryd", "command": command, "timeout": HOOK_MILLISECONDS}
        groups[event] = [({"matcher": GUARDED_TOOLS} if event == "BeforeTool" else {}) | {"hooks": [hook]}]
    return groups


def _json(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()
