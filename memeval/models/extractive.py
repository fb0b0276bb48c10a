"""`extractive`: answer without a model by quoting the best retrieved sentence, and abstain if none fits.

    score(s) = Σ_{t ∈ q ∩ s} idf(t) / Σ_{t ∈ q} idf(t)      idf(t) = ln(1 + N / n_t)

t is a stem, and function words are ignored. N is the number of retrieved sentences, and n_t is the number of those
that contain t, so a name in the question that occurs in almost every sentence has little weight. A question about a
time is answered with a date. The model parses the tags of the built-in prompts. In other prompts, the last line with
a question mark is the question, and the rest are memories. This is a baseline rather than a reader, because it can't
combine or count facts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from memeval import registry
from memeval.core.protocols import Model
from memeval.core.text import content_stems, estimate_tokens, sentences
from memeval.models.options import check_options
from memeval.prompts import MEMORIES, QUESTION, tagged
from memoryd.core.types import Completion, Message, Usage

REFUSAL = "No information available"
"""LoCoMo's own wording, which the official score recognises."""
_HEAD = re.compile(r"^\[\d+\](?: (\d{4}-\d{2}-\d{2}) \(\w{3}\) \d{2}:\d{2})?$")
_SPEAKER = re.compile(r"^(?:\*\*)?(?:user|assistant|[A-Z][\w .'-]{0,30})(?:\*\*)?: ")
_YESTERDAY = re.compile(r"\b(?:yesterday|last night)\b", re.IGNORECASE)
_DAYS_AGO = re.compile(r"\b(\d{1,3}|two|three|four|five|six) days ago\b", re.IGNORECASE)
_LAST = re.compile(r"\blast (week|weekend|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b", re.IGNORECASE)
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_MONTHS = (
    "January February March April May June July August September October November December".split()
)  # English regardless of the locale.
_WHEN = re.compile(r"\b(?:when|what (?:date|day|month|year)|which (?:date|day|month|year)|how long ago)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    stems: frozenset[str]
    date: str  # YYYY-MM-DD, or empty.


@registry.model("extractive")
class Extractive(Model):
    """A model that quotes sentences.

    The option `threshold` is the minimum score for an answer (0 to 1). `sentences` is the maximum number of sentences to quote.
    """

    def __init__(self, name: str = "extractive", options: Mapping[str, Any] | None = None) -> None:
        check_options(name, options or {}, {"threshold": (int, float), "sentences": int})
        self._threshold = float((options or {}).get("threshold", 0.2))
        self._most = int((options or {}).get("sentences", 1))

    @property
    def name(self) -> str:
        """The name, which is always `extractive`."""
        return "extractive"

    @property
    def cache_salt(self) -> str:
        """The options, which affect the answers."""
        return f"{self._threshold} {self._most}"

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the best sentences, or the refusal. The usage is zero because no model is involved."""
        question, memories = _parts(next((m.content for m in reversed(messages) if m.role == "user"), ""))
        best = self._best(set(content_stems(question)), _split(memories))
        text = " ".join(_quoted(sentence, question) for sentence in best) or REFUSAL
        if max_tokens is not None and estimate_tokens(text) > max_tokens:
            text = text[: max_tokens * 4]
        return Completion(text, self.name, Usage(calls=1))

    def _best(self, asked: set[str], said: list[_Sentence]) -> list[_Sentence]:
        weights = _weights(said)
        whole = math.fsum(weights.get(stem, _idf(len(said), 0)) for stem in sorted(asked))
        if not whole or not said:
            return []
        scored = [(math.fsum(weights[stem] for stem in sorted(asked & one.stems)) / whole, one) for one in said]
        scored.sort(key=lambda pair: -pair[0])  # The sort is stable, so ties keep the order of retrieval.
        return [one for score, one in scored[: self._most] if score >= self._threshold]


def _parts(prompt: str) -> tuple[str, str]:
    memories = tagged(MEMORIES, prompt)
    rest = prompt.rpartition(f"</{MEMORIES}>")[2]  # Memories may contain anything, including tags.
    if f"<{QUESTION}>" in rest:
        return tagged(QUESTION, rest), memories
    lines = prompt.splitlines()
    at = next((number for number in reversed(range(len(lines))) if "?" in lines[number]), None)
    if at is None:
        return "", prompt
    return lines[at], "\n".join(lines[:at] + lines[at + 1 :])


def _split(memories: str) -> list[_Sentence]:
    out: list[_Sentence] = []
    day = ""
    for line in memories.splitlines():
        head = _HEAD.match(line.strip())
        if head:
            day = _valid(head.group(1) or "")
            continue
        speaker = _SPEAKER.match(line)
        own = frozenset(content_stems(speaker.group())) if speaker else frozenset()
        for text in sentences(line[speaker.end() :] if speaker else line):
            if not text.endswith("?"):  # A question in a memory isn't an answer.
                out.append(_Sentence(text, frozenset(content_stems(text)) | own, day))
    return out


def _valid(day: str) -> str:
    """Return the date if it exists. Memories may contain lines that merely look like our format."""
    try:
        return day if day and date.fromisoformat(day).year > 1 else ""
    except ValueError:
        return ""


def _weights(said: Sequence[_Sentence]) -> dict[str, float]:
    counts = Counter(stem for sentence in said for stem in sentence.stems)
    return {stem: _idf(len(said), count) for stem, count in counts.items()}


def _idf(total: int, count: int) -> float:
    return math.log(1 + total / max(1, count))


def _quoted(sentence: _Sentence, question: str) -> str:
    """Return the sentence or, for a question about a time, the date in the sentence if it can be resolved."""
    if sentence.date and _WHEN.search(question):
        return _day_of(sentence.text, date.fromisoformat(sentence.date))
    return sentence.text


def _day_of(text: str, said: date) -> str:
    """Resolve a date from the message's date and words such as "yesterday".

    Expressions such as "last week" are kept unchanged.
    """
    if ago := _DAYS_AGO.search(text):
        number = ago.group(1).lower()
        return _shown(said - timedelta(days=_NUMBERS.get(number) or int(number)))
    if _YESTERDAY.search(text):
        return _shown(said - timedelta(days=1))
    if last := _LAST.search(text):
        return f"the {last.group(1).lower()} before {_shown(said)}"
    return _shown(said)


def _shown(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
