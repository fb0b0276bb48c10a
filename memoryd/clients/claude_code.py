"""Claude Code, whose event and log formats are used internally. `memoryd install-claude` connects it through `claude plugin`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from memoryd.clients.base import ClientAdapter, Installed, System, oldest_first
from memoryd.core.files import files_below


class ClaudeCode(ClientAdapter):
    """Claude Code."""

    name = "claude-code"
    title = "Claude Code"

    def past_logs(self, system: System) -> Iterable[Path]:
        """Return the session logs below the folder of projects."""
        return logs_below(self._folder(system) / "projects")

    def find(self, system: System) -> Installed | None:
        """Find the program `claude`. Its settings folder alone is not enough, because `claude` makes the changes."""
        program = system.which("claude")
        return Installed(program, self._folder(system)) if program else None

    @staticmethod
    def _folder(system: System) -> Path:
        return system.folder("CLAUDE_CONFIG_DIR", ".claude")


def logs_below(folder: Path) -> list[Path]:
    """Return Claude Code's session logs under a folder, oldest first."""
    return oldest_first(
        path
        for path in files_below(folder)
        if path.suffix == ".jsonl" and "subagents" not in path.parts and not path.name.startswith("agent-")
    )
