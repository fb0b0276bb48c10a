"""Tags that the client, its hooks and memoryd add to a context, and the characters that can disguise such tags."""

from __future__ import annotations

import re

RECALL_TAG = "memoryd-recall"
# Alternatives of a regular expression. Each matches a whole tag name.
NAMES = (
    rf"{RECALL_TAG}|memoryd-[a-z-]{{1,40}}|system|system-[a-z-]{{1,40}}|system_[a-z_]{{1,40}}|task-[a-z-]{{1,40}}|"
    "local-command-[a-z-]{1,40}|command-[a-z-]{1,40}|[a-z-]{1,40}-hook|ide_[a-z_]{1,40}|ide-[a-z-]{1,40}|bash-[a-z-]{1,40}|"
    "teammate-message|agent-message|cross-session-message|tools-used-before-summary|new-diagnostics|diagnostics|"
    "background-task-[a-z-]{1,40}|channel|channel-message|total_tokens|tool_use_error|tool_result|function_results|function_calls|"
    "tick|fork-boilerplate|claude_background_info|env|antml:[a-z_]{1,40}"
)
# Invisible and direction-changing characters that nobody types. Joiners are legitimate only in some scripts and emojis.
HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)
# The second alternative matches only at the start of a run. Otherwise, the rest of the run would be scanned again for
# each character.
JOINERS = re.compile(
    "(?<=[\x00-\x7f\uff01-\uff5e])[\u200c\u200d\ufe00-\ufe0f]+|(?<![\u200c\u200d])[\u200c\u200d]++(?=[\x00-\x7f\uff01-\uff5e])"
)
# Homoglyphs of tag characters, mapped to ASCII.
LOOKALIKES = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | dict(zip("﹤﹥⟨⟩〈〉‹›❮❯⁄∕‐‑", "<><><><><>//--", strict=True))
    # Cyrillic and Greek letters that look like letters of a tag or of a speaker's name
    | dict(zip("аеорсухіјѕһԁԛԝьЬАВЕКМНОРСТХІЈЅ", "aeopcyxijshdqwbbABEKMHOPCTXIJS", strict=True))
    | dict(zip("οαινρυΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "oaivpuABEZHIKMNOPTYX", strict=True))
)


def without_hidden(text: str) -> str:
    """Remove invisible characters."""
    return text if text.isascii() else JOINERS.sub("", HIDDEN.sub("", text))


def folded(text: str) -> str:
    """Replace homoglyphs of tag characters with ASCII.

    The length of the text is preserved, so that positions of tags remain valid.
    """
    return text if text.isascii() or _LOOKALIKE.search(text) is None else text.translate(LOOKALIKES)


# Searching for a homoglyph first takes a fifth of the time needed to translate the whole text.
_LOOKALIKE = re.compile(f"[{''.join(map(chr, LOOKALIKES))}]")
