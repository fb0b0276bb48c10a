"""The known clients, and access to the logs of any of them."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from memoryd.clients.base import ClientAdapter, LogStatus
from memoryd.clients.claude_code import ClaudeCode
from memoryd.clients.codex import Codex
from memoryd.clients.gemini import Gemini
from memoryd.clients.mcp_clients import MCP_CLIENTS
from memoryd.clients.opencode import OpenCode

CLAUDE_CODE = ClaudeCode()
CLIENTS: tuple[ClientAdapter, ...] = (CLAUDE_CODE, OpenCode(), Codex(), Gemini(), *MCP_CLIENTS)


def client_named(name: str) -> ClientAdapter:
    """Return the client with this name, or Claude Code if the name is empty or unknown. Claude Code's hooks send no name."""
    return next((client for client in CLIENTS if client.name == name), CLAUDE_CODE)


def client_of_log(path: Path) -> ClientAdapter:
    """Return the client that wrote a log."""
    return next((client for client in CLIENTS if client.owns_log(path)), CLAUDE_CODE)


def open_log(path: Path) -> BinaryIO:
    """Open a session's log as lines in Claude Code's format. Raises OSError."""
    return client_of_log(path).open_log(path)


def log_status(path: Path) -> LogStatus:
    """Return a log's size and the time of its last change. Raises OSError."""
    return client_of_log(path).log_status(path)


def log_mark(path: Path) -> int:
    """Return how far a log that must not be read is written. Raises OSError."""
    return client_of_log(path).log_mark(path)


def foreign_client(transcript: str) -> str:
    """Return the name of the client that wrote a log. It is empty for Claude Code and for an empty path."""
    client = client_of_log(Path(transcript)) if transcript else CLAUDE_CODE
    return "" if client is CLAUDE_CODE else client.name
