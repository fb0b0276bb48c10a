"""How our own model runs are told from the user's sessions, so that memory never feeds on itself.

Three marks, each enough alone: the variable MEMORYD_INTERNAL (our hooks do nothing), the working
folder, and a first line with a nonce in the prompt (should a transcript be written after all).
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from memoryd.config import Settings

MARKER = "memoryd-internal-run"
_MARKED = re.compile(rf"\s*<{MARKER} [0-9a-f]{{32}}>")


def mark(prompt: str) -> str:
    """The prompt under a first line that only our own runs have."""
    return f"<{MARKER} {secrets.token_hex(16)}>\n{prompt}"


def is_internal_text(text: str) -> bool:
    """Whether the text begins like a prompt of ours. Text that only talks about the marker does not."""
    return _MARKED.match(text) is not None


def extractor_folder(settings: Settings) -> Path:
    """The working folder of `claude` runs; nothing else ever runs there."""
    return settings.paths.run / "extractor"
