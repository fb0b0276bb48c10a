"""How the sessions of a run are run, the same in every arm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from memeval.types import EMPTY

REPLAY = "replay"
TRANSCRIPTS = "transcripts"
INGESTS = (REPLAY, TRANSCRIPTS)
_VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")


def setting_value(value: str, environ: Mapping[str, str]) -> str | None:
    """A plugin setting's value: `$NAME` stands for a variable, so that no key is kept with a command; None if it is not set."""
    named = _VARIABLE.fullmatch(value)
    return environ.get(named[1]) if named else value


@dataclass(frozen=True, slots=True)
class Conditions:
    """Times in seconds. `ingest` is how the history gets into memory; `plugin_settings` are memoryd's own."""

    ingest: str = REPLAY
    max_turns: int = 30
    timeout: float = 600.0
    settle_timeout: float = 300.0
    retries: int = 2
    backoff: float = 20.0
    workers: int = 1
    embedder: str = "bge-small"
    plugin_settings: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    def to_json(self) -> dict[str, Any]:
        """What decides the result: all but the number of workers."""
        data = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "workers"}
        return data | {"plugin_settings": dict(self.plugin_settings)}
