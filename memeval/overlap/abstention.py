"""Whether an answer says that nothing is known. A rule, not a model: it reads the beginning of the answer.

Own rule. It covers LoCoMo's two phrases and the ways in which models refuse; an answer that gives a fact first
and doubts later is no abstention.
"""

from __future__ import annotations

import re

from memeval.text import sentences

_NOTHING = re.compile(
    r"""
      \bno\s+(?:such\s+|relevant\s+|specific\s+)?(?:information|mention|record|evidence|memory|memories|answer)\b
    | \bnot\s+(?:mentioned|stated|specified|available|known|recorded|provided|discussed|given|answerable|enough\s+information)\b
    | \b(?:un(?:known|answerable)|insufficient\s+information)\b
    | \b(?:do|does|did|is|are|was|were|have|has|can)(?:n['’]?t|\s+not)\s+
        (?:\w+\s+){0,3}?(?:know|mention|mentioned|have\s+(?:any\s+|enough\s+)?(?:information|memory|record)|say|said|specify|specified
        |contain|find|found|tell|told|determine|recall|answer|provide|provided|enough|state|stated|include)\b
    | \bcannot\s+(?:\w+\s+){0,2}?(?:answer|determine|tell|find|know|say|be\s+(?:answered|determined))\b
    | \bnothing\s+(?:is\s+|was\s+)?(?:known|mentioned|recorded|said)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def says_nothing_known(answer: str) -> bool:
    """Whether the answer abstains: it is empty, or its first sentence says that the memory has no answer."""
    parts = sentences(answer)
    return not parts or _NOTHING.search(parts[0]) is not None
