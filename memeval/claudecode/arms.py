"""Define the arms of a comparison and the conditions they share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from memeval.claudecode.contract import Arm
from memeval.core.errors import ConfigError
from memeval.core.types import EMPTY
from memoryd.core.config import Settings

MODES: dict[str, tuple[Arm, ...]] = {
    **{str(arm): (arm,) for arm in Arm},
    "all": (Arm.OFF, Arm.BUILTIN, Arm.PLUGIN),
    "controls": (Arm.OFF, Arm.BLANK, Arm.PLUGIN, Arm.PLACEBO, Arm.NOTES, Arm.HISTORY),
    "harm": (Arm.OFF, Arm.PLUGIN, Arm.ABSENT, Arm.SUPERSEDED, Arm.CONTRADICTORY, Arm.ADJACENT),
}
MEANINGS: dict[Arm, str] = {
    Arm.OFF: "no memory",
    Arm.BLANK: "the plugin with nothing remembered: what its presence costs",
    Arm.BUILTIN: "Claude Code's own memory",
    Arm.PLUGIN: "the plugin",
    Arm.BOTH: "Claude Code's own memory and the plugin",
    Arm.DREAMED: "the plugin, after its nightly dream",
    Arm.HISTORY: "no memory, and the whole history in the system prompt",
    Arm.NOTES: "no memory, and a CLAUDE.md as long as what the plugin may inject",
    Arm.PLACEBO: "the plugin with nothing remembered, and unrelated memories as long as what the plugin injected",
    Arm.ABSENT: "the plugin, whose history lacks the sessions with the answer",
    Arm.SUPERSEDED: "the plugin, whose history also has an earlier, different answer",
    Arm.CONTRADICTORY: "the plugin, whose history has a wrong answer instead of the right one",
    Arm.ADJACENT: "the plugin, whose history has the answer of somebody else instead",
}
PLUGIN_TOOLS = "mcp__plugin_memoryd_memoryd__*"
AUTO_MEMORY_OFF = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"


@dataclass(frozen=True, slots=True)
class ArmSetup:
    """The flags and variables that an arm adds to the common ones."""

    arm: Arm
    plugin: Path | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the client's flags."""
        return ("--plugin-dir", str(self.plugin)) if self.arm.has_plugin else ()

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment variables of the arm.

        The built-in memory is on by default. The value `0` keeps it on even if the user has disabled it.
        """
        return {AUTO_MEMORY_OFF: "0" if self.arm.has_builtin else "1"}

    def differences(self, replayed: str) -> dict[str, Any]:
        """Describe the arm's settings for the result and for the user."""
        return {
            "memory": MEANINGS[self.arm],
            "built_in_memory": self.arm.has_builtin,
            "plugin": self.arm.has_plugin,
            "history": replayed,
            "variables": self.variables,
            "flags": ["--plugin-dir", "<plugin>"] if self.arm.has_plugin else [],
        }


def arms_of(mode: str) -> tuple[Arm, ...]:
    """Return the arms of a mode, the cheapest first. Several modes can be separated by commas. Raises ConfigError."""
    chosen: list[Arm] = []
    for part in (piece.strip() for piece in mode.split(",")):
        if part not in MODES:
            raise ConfigError(f"There is no mode {part!r}.", fix=f"Known: {', '.join(MODES)}.")
        chosen += [arm for arm in MODES[part] if arm not in chosen]
    chosen.sort(key=lambda arm: arm is Arm.PLACEBO)  # its length depends on the text that the plugin's arm has injected
    return tuple(chosen)


def find_plugin(named: Path | None) -> Path:
    """Return the plugin's folder, by default the source folder of this package. Raises ConfigError."""
    folder = named or Path(__file__).resolve().parents[2]
    if not (folder / ".claude-plugin" / "plugin.json").is_file():
        raise ConfigError(
            f"{folder} is not a plugin: .claude-plugin/plugin.json is missing.", fix="Name memoryd's folder with --plugin-dir."
        )
    return folder.resolve()


def check_plugin(init: Any, arm: Arm) -> str:
    """Return the problem with the client's plugins, or an empty string if they match the arm."""
    names = [str(one.get("name") if isinstance(one, dict) else one) for one in _list(init, "plugins")]
    loaded = any(name.split("@")[0] == "memoryd" for name in names)
    if not arm.has_plugin:
        return "the plugin is loaded in an arm without it" if loaded else ""
    if errors := _list(init, "plugin_errors"):
        return f"the client could not load the plugin: {errors[0]}"
    if not loaded:
        return "the client did not load the plugin"
    tools = _list(init, "tools")
    return "" if any(str(tool).startswith(PLUGIN_TOOLS[:-1]) for tool in tools) else "the plugin's tools are missing"


def _list(init: Any, key: str) -> Sequence[Any]:
    value = init.get(key) if hasattr(init, "get") else None
    return value if isinstance(value, list | tuple) else ()


REPLAY = "replay"
TRANSCRIPTS = "transcripts"
INGESTS = (REPLAY, TRANSCRIPTS)
_VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")


def setting_value(value: str, environ: Mapping[str, str]) -> str | None:
    """Return the value of a plugin setting, or None if it is unset.

    A value `$NAME` is read from that environment variable, so that no key is stored with a command.
    """
    named = _VARIABLE.fullmatch(value)
    return environ.get(named[1]) if named else value


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions that all arms share. Times are in seconds. `ingest` is the way in which the history enters the memory."""

    ingest: str = REPLAY
    max_turns: int = 30
    timeout: float = 600.0
    settle_timeout: float = 300.0
    retries: int = 2
    backoff: float = 20.0
    workers: int = 1
    embedder: str = "bge-small"
    plugin_settings: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    def imports(self, arm: Arm) -> bool:
        """Return whether logs are imported. Only the plugin can read logs; a model has to see the conversation."""
        return self.ingest == TRANSCRIPTS and arm.has_plugin and not arm.has_builtin

    @property
    def prompt_tokens(self) -> int:
        """Return the maximum number of tokens that the plugin may inject with a prompt."""
        return int(self.plugin_settings.get("prompt_budget", Settings(home=Path()).prompt_budget))

    @property
    def injected_tokens(self) -> int:
        """Return the maximum number of tokens that the plugin may inject at session start and with the first prompt together."""
        return self.prompt_tokens + int(self.plugin_settings.get("session_budget", Settings(home=Path()).session_budget))

    def to_json(self) -> dict[str, Any]:
        """Convert the conditions to JSON. The number of workers is omitted because it does not affect the result."""
        data = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "workers"}
        return data | {"plugin_settings": dict(self.plugin_settings)}
