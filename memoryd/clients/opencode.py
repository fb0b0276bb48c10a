"""OpenCode. A plugin passes its events to the daemon, and sessions are read from its database."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from memoryd.clients import opencode_log
from memoryd.clients.base import ClientAdapter, FileChange, Installed, LogStatus, Product, System
from memoryd.clients.edits import own_file

DATABASE = "opencode.db"


class OpenCode(ClientAdapter):
    """OpenCode (`opencode-ai`)."""

    name = "opencode"
    title = "OpenCode"

    def owns_log(self, path: Path) -> bool:
        """Return whether the path identifies a session in a database."""
        return path.parent.suffix == ".db" and path.parent.name.startswith("opencode") and path.name.startswith("ses_")

    def open_log(self, path: Path) -> BinaryIO:
        """Return the session's complete messages as lines in Claude Code's format. Raises OSError."""
        return opencode_log.open_session(path)

    def log_status(self, path: Path) -> LogStatus:
        """Return the size of the session's complete messages. Raises OSError."""
        return opencode_log.session_status(path)

    def log_folder(self, path: Path) -> str:
        """Return the session's folder from the database."""
        return opencode_log.session_folder(path)

    def past_logs(self, system: System) -> Iterable[Path]:
        """Return the sessions in the user's database, oldest first. Raises OSError."""
        database = self.database(system)
        return opencode_log.sessions_of(database) if database.is_file() else []

    def find(self, system: System) -> Installed | None:
        """Find the program `opencode` or its settings folder."""
        program, folder = system.which("opencode"), self._config(system)
        return Installed(program or "", folder) if program or folder.is_dir() else None

    def changes(self, system: System, product: Product) -> Sequence[FileChange]:
        """Return the change that writes the plugin file. The plugin also registers the MCP server."""
        path = self._config(system) / "plugin" / "memoryd.js"
        what = "Add a plugin that passes events to memoryd, adds memories to sessions and offers its tools"
        return [own_file(path, what, plugin(system, product))]

    @staticmethod
    def database(system: System) -> Path:
        """Return the path of the database. OPENCODE_DB overrides its name. A relative value refers to the same folder."""
        data = system.folder("XDG_DATA_HOME", ".local/share") / "opencode"
        return data / (system.env.get("OPENCODE_DB") or DATABASE)

    @staticmethod
    def _config(system: System) -> Path:
        return system.folder("XDG_CONFIG_HOME", ".config") / "opencode"


def plugin(system: System, product: Product) -> bytes:
    """Return the plugin's source for this installation of memoryd."""
    source = Path(__file__).with_name("opencode_plugin.js").read_text("utf-8")
    program, arguments = product.server(system)
    server = [program, *arguments] if system.windows else ["sh", program, *arguments]
    values = {'"@HOOK@"': product.hook_program(system), '"@SERVER@"': server, '"@ENV@"': product.env}
    for name, value in values.items():
        source = source.replace(name, json.dumps(value), 1)
    return source.encode()
