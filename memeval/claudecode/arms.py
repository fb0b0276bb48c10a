"""Define the arms of a comparison and the conditions they share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from memeval.claudecode.contract import Arm, ClientName
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
    Arm.BLANK: "the plugin without memories: what its presence costs",
    Arm.BUILTIN: "Claude Code's own memory",
    Arm.PLUGIN: "the plugin",
    Arm.BOTH: "Claude Code's own memory and the plugin",
    Arm.DREAMED: "the plugin, after its nightly dream",
    Arm.HISTORY: "no memory, and the whole history in the system prompt",
    Arm.NOTES: "no memory, and a CLAUDE.md (AGENTS.md) as long as what the plugin may inject",
    Arm.PLACEBO: "the plugin without memories, and unrelated memories as long as the text that the plugin injected",
    Arm.ABSENT: "the plugin, whose history lacks the sessions with the answer",
    Arm.SUPERSEDED: "the plugin, whose history also has an earlier, different answer",
    Arm.CONTRADICTORY: "the plugin, whose history has a wrong answer instead of the right one",
    Arm.ADJACENT: "the plugin, whose history has someone else's answer instead",
}


def arms_of(mode: str, client: ClientName = ClientName.CLAUDE_CODE) -> tuple[Arm, ...]:
    """Return the arms of a mode, the cheapest first. Several modes can be separated by commas.

    A mode of several arms leaves out those that the client can't have. Raises ConfigError if one of them is named.
    """
    chosen: list[Arm] = []
    for part in (piece.strip() for piece in mode.split(",")):
        if part not in MODES:
            raise ConfigError(f"There is no mode {part!r}.", fix=f"Known: {', '.join(MODES)}.")
        possible = [arm for arm in MODES[part] if arm in client.arms]
        if not possible:
            raise ConfigError(
                f"{client.label} has no memory of its own, which arm {part!r} needs.",
                fix=f"Arms with {client.label}: {', '.join(client.arms)}.",
            )
        chosen += [arm for arm in possible if arm not in chosen]
    chosen.sort(key=lambda arm: arm is Arm.PLACEBO)  # Its length depends on the text that the plugin's arm has injected.
    return tuple(chosen)


def find_plugin(named: Path | None) -> Path:
    """Return the plugin's folder, by default the source folder of this package. Raises ConfigError."""
    folder = named or Path(__file__).resolve().parents[2]
    if not (folder / ".claude-plugin" / "plugin.json").is_file():
        raise ConfigError(
            f"{folder} is not a plugin: .claude-plugin/plugin.json is missing.", fix="Give memoryd's folder with --plugin-dir."
        )
    return folder.resolve()


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
    """Conditions shared by all arms. Times are in seconds. `ingest` is how the history enters the memory."""

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
        """Return whether logs are imported. Only the plugin can read logs. A model has to see the conversation."""
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
