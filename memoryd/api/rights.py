"""What the command line may ask where a model types: in the client's own shell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memoryd.errors import InputError

# What only a person does: it undoes what bounds a model, or takes in texts as somebody's words.
USERS_METHODS = frozenset(
    {"restore", "confirm", "reviewed", "decide", "undo", "forget_project", "merge", "on", "change_settings", "console_open",
     "import_file", "import_claude_memory", "import_transcripts", "move_project", "train_router"}
)  # fmt: skip


def refuse_in_client(method: str, values: Mapping[str, Any]) -> None:
    """Raise InputError for what only a person does: the client's shell is a model's."""
    named_log = method == "daydream" and values.get("transcript")
    if method in USERS_METHODS or named_log or (method == "forget" and values.get("purge")):
        raise InputError(
            "Only you may do that, and inside Claude Code's shell memoryd can't tell you from the model.",
            fix="Run the command in a terminal of your own.",
        )
