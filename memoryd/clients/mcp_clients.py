"""Clients that connect through MCP, without hooks. A rules file tells their models when to use memory.

Nothing is injected into their sessions, and their logs are not read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoryd.clients.base import ClientAdapter, FileChange, Installed, Product, System
from memoryd.clients.edits import json_entries, own_file, text_section

RULES = """\
memoryd is the user's long-term memory, over MCP:
- When you begin to work in a project, call its tool `governance` once. It returns the user's standing rules, which you follow.
- Before you plan, debug, or answer about earlier work, conventions, decisions or the environment, call `recall`.
- When the user corrects you, states a rule or preference, or decides something, call `remember` with one self-contained sentence.
"""
_LIMITS = "its model uses memoryd's tools, but nothing is injected automatically, and its sessions are not read."


@dataclass(frozen=True, slots=True)
class Layout:
    """Location and layout of a client's settings.

    Attributes:
        program: The name of its program.
        folder: Returns its settings folder.
        servers: The file of MCP servers in that folder, and the key under which it lists them.
        more: Additional fields of a local server's entry besides command, arguments and environment.
        rules: The file in that folder with rules for all projects, or empty if there is none.
        rules_are_ours: Whether the file contains only memoryd's rules.
        rules_head: First lines of a rules file that contains only memoryd's rules.
    """

    program: str
    folder: Callable[[System], Path]
    servers: tuple[str, str]
    more: dict[str, Any]
    rules: str = ""
    rules_are_ours: bool = False
    rules_head: str = ""


class McpClient(ClientAdapter):
    """A client connected by an MCP server and a rules file."""

    limits = _LIMITS
    layout: Layout

    def find(self, system: System) -> Installed | None:
        """Find the program or its settings folder."""
        program, folder = system.which(self.layout.program), self.layout.folder(system)
        return Installed(program or "", folder) if program or folder.is_dir() else None

    def changes(self, system: System, product: Product) -> Sequence[FileChange]:
        """Return the changes that add the MCP server and the rules."""
        layout, folder = self.layout, self.layout.folder(system)
        name, key = layout.servers
        program, arguments = product.server(system)
        server = layout.more | {"command": program, "args": arguments, "env": product.env}
        found = [json_entries(folder / name, "Add the MCP server memoryd", {(key, "memoryd"): server})]
        if layout.rules:
            path, what = folder / layout.rules, "Add rules on when to use memory"
            own = own_file(path, what, (layout.rules_head + RULES).encode())
            found.append(own if layout.rules_are_ours else text_section(path, what, RULES))
        return found


def _code_folder(system: System) -> Path:
    if sys.platform == "darwin":
        return system.user_home / "Library" / "Application Support" / "Code" / "User"
    if system.windows:
        return system.folder("APPDATA", "AppData/Roaming") / "Code" / "User"
    return system.folder("XDG_CONFIG_HOME", ".config") / "Code" / "User"


class CursorEditor(McpClient):
    """Cursor. It has no file of rules for all projects."""

    name = "cursor"
    title = "Cursor"
    limits = f"{_LIMITS} Add the rules of docs/clients.md in its settings."
    layout = Layout("cursor", lambda system: system.user_home / ".cursor", ("mcp.json", "mcpServers"), {})


class CopilotCli(McpClient):
    """GitHub Copilot CLI."""

    name = "copilot"
    title = "Copilot CLI"
    layout = Layout(
        "copilot",
        lambda system: system.folder("COPILOT_HOME", ".copilot"),
        ("mcp-config.json", "mcpServers"),
        {"type": "local", "tools": ["*"]},
        rules="copilot-instructions.md",
    )


class VSCode(McpClient):
    """Visual Studio Code with an agent."""

    name = "vscode"
    title = "VS Code"
    layout = Layout(
        "code",
        _code_folder,
        ("mcp.json", "servers"),
        {"type": "stdio"},
        rules="prompts/memoryd.instructions.md",
        rules_are_ours=True,
        rules_head='---\ndescription: When to use the memory of memoryd\napplyTo: "**"\n---\n',
    )


class QwenCode(McpClient):
    """Qwen Code."""

    name = "qwen"
    title = "Qwen Code"
    layout = Layout("qwen", lambda system: system.user_home / ".qwen", ("settings.json", "mcpServers"), {}, rules="QWEN.md")


MCP_CLIENTS: tuple[ClientAdapter, ...] = (CursorEditor(), CopilotCli(), VSCode(), QwenCode())
