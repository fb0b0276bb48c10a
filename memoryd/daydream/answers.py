"""What the user answered to the client's questions (AskUserQuestion), with the text of the options. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoryd.daydream.user_text import well_formed

_ANSWER = re.compile(r'"((?:[^"\\]|\\.)+)"="((?:[^"\\]|\\.)*)"')
_MARK = re.compile(r"\s*\((?:recommended|empfohlen|recommandé|recomendad[oa]|рекомендуется|推荐)\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was asked and answered. `offered`: the answer is an option, in the agent's words, not text that was typed."""

    question: str
    text: str
    offered: bool


def answers_of(tool: str, text: str, result: Any) -> list[Answer]:
    """The answers of a result of AskUserQuestion; none for another tool.

    `text` is what the model was shown, `result` the client's own record of it. Where that holds the options, an
    answer that is an option comes as "label: description". Without a record nobody can tell an option from typed text.
    """
    if tool != "AskUserQuestion":
        return []
    record: Mapping[str, Any] = result if isinstance(result, Mapping) else {}
    answers = record.get("answers")
    if isinstance(answers, Mapping):
        pairs = [(_string(question), _text(answer)) for question, answer in answers.items()]
    else:
        pairs = [(match.group(1), match.group(2)) for match in _ANSWER.finditer(text)]
    options = _options(record.get("questions"))
    known = isinstance(record.get("questions"), list)
    return [_answer(question, answer, options.get(question, {}), known) for question, answer in pairs]


def _answer(question: str, answer: str, options: Mapping[str, str], known: bool) -> Answer:
    text = _told(answer, options)
    return Answer(question, text, not known or text != answer or answer in options)


def _string(value: Any) -> str:
    return well_formed(value) if isinstance(value, str) else ""


def _text(value: Any) -> str:
    """An answer is a text, a list of texts, or (in early versions) blocks with a text."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [entry.get("text") if isinstance(entry, Mapping) else entry for entry in value]
        return ", ".join(part for part in map(_string, parts) if part)
    return _string(value)


def _options(questions: Any) -> dict[str, dict[str, str]]:
    """The description of each option by the question and the label."""
    out: dict[str, dict[str, str]] = {}
    for entry in questions if isinstance(questions, list) else []:
        options = entry.get("options") if isinstance(entry, Mapping) else None
        for option in options if isinstance(options, list) else []:
            if isinstance(option, Mapping) and _string(option.get("label")):
                described = out.setdefault(_string(entry.get("question")), {})
                described[_string(option["label"])] = _string(option.get("description"))
    return out


def _told(answer: str, options: Mapping[str, str]) -> str:
    """The answer with the descriptions of the options that it names; several are joined by commas in the record."""
    chosen = [answer] if answer in options else [label for label in options if _names(answer, label)]
    if not chosen:
        return answer
    return "; ".join(_described(label, options[label]) for label in chosen)


def _names(answer: str, label: str) -> bool:
    """Whether the label is one of the answer's parts; a label may hold commas itself."""
    return re.search(rf"(?:\A|, ){re.escape(label)}(?:\Z|, )", answer) is not None


def _described(label: str, description: str) -> str:
    plain = _MARK.sub("", label).strip()
    return f"{plain}: {description.strip()}" if description.strip() else plain
