"""Whether a session came upon gold answers. Sandboxes name no folder that holds any; a session that found one proves nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from memeval.claudecode.contract import SessionResult
from memeval.errors import ConfigError

SHIPPED = "memeval/data/"
"""The samples that come with the platform, wherever it is installed."""


def came_upon(result: SessionResult, places: Iterable[Path | None]) -> str:
    """Why a session can't be graded; empty when none of its calls named or showed a folder of data."""
    signs = [SHIPPED, *(str(place.expanduser().absolute()) for place in places if place is not None)]
    for call in result.tool_calls:
        if any(sign in text for sign in signs for text in (str(dict(call.arguments)), call.result)):
            return "the session came upon the folder with the gold answers"
    return ""


def check_apart(root: Path, folders: Mapping[str, Path]) -> None:
    """Raises ConfigError when data or results lie in the folder of the sandboxes, where sessions could find them."""
    for what, folder in folders.items():
        place = folder.expanduser().absolute().resolve()
        if place.is_relative_to(root):
            raise ConfigError(
                f"The {what} at {place} lie where sessions can see them.", fix="Name a folder outside with --work-dir."
            )
