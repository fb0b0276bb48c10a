"""The command line: `memoryd …`. Every command is a call that MCP and the console share."""

from __future__ import annotations

from memoryd.cli.app import main

__all__ = ["main"]
