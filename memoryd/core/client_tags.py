"""Names of the blocks that the client, its hooks and memory write into a context, and signs that hide them."""

from __future__ import annotations

import re

RECALL_TAG = "memoryd-recall"
# As parts of a pattern; a name is the whole name of a tag.
NAMES = (
    rf"{RECALL_TAG}|memoryd-[a-z-]{{1,40}}|system|system-[a-z-]{{1,40}}|system_[a-z_]{{1,40}}|task-[a-z-]{{1,40}}|"
    "local-command-[a-z-]{1,40}|command-[a-z-]{1,40}|[a-z-]{1,40}-hook|ide_[a-z_]{1,40}|ide-[a-z-]{1,40}|bash-[a-z-]{1,40}|"
    "teammate-message|agent-message|cross-session-message|tools-used-before-summary|new-diagnostics|diagnostics|"
    "background-task-[a-z-]{1,40}|channel|channel-message|total_tokens|tool_use_error|tool_result|function_results|function_calls|"
    "fork-boilerplate|claude_background_info|env|antml:[a-z_]{1,40}"
)
# Signs that hide or turn text around, and that nobody types; joiners belong to scripts and emojis, but to no Latin letter.
HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)
# The second kind begins only where a run begins: else each sign of a long run would look through the rest of it.
JOINERS = re.compile(
    "(?<=[\x00-\x7f\uff01-\uff5e])[\u200c\u200d\ufe00-\ufe0f]+|(?<![\u200c\u200d])[\u200c\u200d]++(?=[\x00-\x7f\uff01-\uff5e])"
)
# Signs that look like those of a tag, each for one of these.
LOOKALIKES = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | dict(zip("﹤﹥⟨⟩〈〉‹›❮❯⁄∕‐‑", "<><><><><>//--", strict=True))
)


def without_hidden(text: str) -> str:
    """Text without signs that hide something."""
    return text if text.isascii() else JOINERS.sub("", HIDDEN.sub("", text))


def folded(text: str) -> str:
    """Text of the same length in which tags are written with plain signs, to look for them in."""
    return text if text.isascii() or _LOOKALIKE.search(text) is None else text.translate(LOOKALIKES)


# Looking for one takes a fifth of the time of replacing each sign of a text.
_LOOKALIKE = re.compile(f"[{''.join(map(chr, LOOKALIKES))}]")
