"""`choice`: the letter of an option, as PersonaMem asks for it (Jiang et al. 2025).

The last letter in parentheses counts, else a reply that is a letter alone; a reply without one is wrong.
"""

from __future__ import annotations

import re

from memeval import registry
from memeval.core.types import Question
from memeval.judges.base import TextJudge

_MARKED = re.compile(r"\(([a-zA-Z])\)")
_ALONE = re.compile(r"\s*(?:answer|option)?\s*:?\s*\**([a-zA-Z])\**[.)]?\s*", re.IGNORECASE)


@registry.judge("choice")
class ChoiceJudge(TextJudge):
    """1 if the chosen letter is that of a gold."""

    name = "choice"

    def value(self, question: Question, answer: str) -> float:
        """Whether the letter is right."""
        said = letter(answer)
        return float(said is not None and said in {letter(gold) for gold in question.answers})


def letter(text: str) -> str | None:
    """The chosen letter, lower-case; None if there is none."""
    if marked := _MARKED.findall(text):
        return str(marked[-1]).lower()
    alone = _ALONE.fullmatch(text)
    return alone.group(1).lower() if alone else None
