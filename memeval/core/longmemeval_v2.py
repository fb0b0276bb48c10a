r"""Score answers to LongMemEval-V2 questions that need no model.

The answer is the content of the last `\\boxed{}` in the reply, or the whole reply if there is no box. Each question
specifies one of these functions and its options:

    norm_phrase_set_match          every gold phrase occurs in the normalised answer, as whole words
    norm_phrase_set_match_ordered  the same, with the phrases in order
    mc_choice_match                the letter matches the gold answer
    mc_choice_set_match            the letters match the gold answer, in any order

Source: evaluation/qa_eval_metrics.py of xiaowu0162/LongMemEval-V2, commit be15ea6 (2026). Tests compare with a stored
table of its results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

BY_MODEL = ("llm_abstention_checker", "llm_gotchas_checker")
"""Functions scored by a model."""
_BOX = "\\boxed{"
_FILLERS = frozenset("AND ANSWER ANSWERS CHOICE CHOICES FINAL LETTER LETTERS OPTION OPTIONS".split())


def boxed(text: str) -> str:
    """Return the content of the last box, including nested braces, or the whole text if there is no box or it is empty."""
    start = text.rfind(_BOX)
    if start < 0:
        return text.strip()
    depth = 1
    out = []
    for sign in text[start + len(_BOX) :]:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth == 0:
            break
        out.append(sign)
    return "".join(out).strip() or text.strip()


def is_unknown(answer: str) -> bool:
    """Return whether the answer is UNKNOWN, which is never correct."""
    return answer.strip().lower() == "unknown"


def parse_function(spec: str) -> tuple[str, dict[str, Any]]:
    """Parse `name|key=value|…` into a name and its options. Raises ValueError."""
    name, *parts = (part.strip() for part in spec.split("|"))
    options: dict[str, Any] = {}
    for part in filter(None, parts):
        key, sign, value = part.partition("=")
        if not sign or not key.strip() or key.strip() in options:
            raise ValueError(f"{part!r} is not an option")
        options[key.strip()] = _value(key.strip(), value.strip())
    if name not in FUNCTIONS and name not in BY_MODEL:
        raise ValueError(f"{name!r} is not one of {', '.join((*FUNCTIONS, *BY_MODEL))}")
    return name, options


def _value(key: str, text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.lower() in ("none", "null"):
        return None
    if key in ("separators", "separator"):
        if text.startswith("[") and text.endswith("]"):
            return json.loads(text)
        return [sign for sign in text if not sign.isspace()]
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def score(spec: str, answer: str, gold: str) -> bool:
    """Score an answer with the function given by the question. Raises ValueError for an unknown function."""
    name, options = parse_function(spec)
    return FUNCTIONS[name](answer, gold, options)


def _normal(text: str, options: Mapping[str, Any]) -> str:
    if options.get("lower", True):
        text = text.lower()
    if options.get("normalize_hyphen", True):
        text = text.replace("-", " ").replace("_", " ")
    text = re.sub(r"[,;]", " ", text)
    if options.get("strip_punct", True):
        text = re.sub(r"[^\w\s]", "", text)
    return " ".join(re.split(r"\s+", text)).strip()


def _phrases(gold: str, options: Mapping[str, Any]) -> list[str]:
    separators: Sequence[str] = options.get("separators", (",", ";"))
    parts = re.split("|".join(map(re.escape, separators)), gold) if separators else [gold]
    return [phrase for part in parts if (phrase := _normal(part, options))]


def _in_any_order(answer: str, gold: str, options: Mapping[str, Any]) -> bool:
    said, phrases = _normal(answer, options), _phrases(gold, options)
    if options.get("require_non_empty", True) and (not said or not phrases):
        return False
    return all(_found(phrase, said) for phrase in set(phrases))


def _in_order(answer: str, gold: str, options: Mapping[str, Any]) -> bool:
    said, phrases = _normal(answer, options), _phrases(gold, options)
    if options.get("require_non_empty", True) and (not said or not phrases):
        return False
    for phrase in phrases:
        match = _found(phrase, said)
        if match is None:
            return False
        said = said[match.end() :]
    return True


def _found(phrase: str, said: str) -> re.Match[str] | None:
    return re.search(rf"\b{re.escape(phrase)}\b", said)


def _letter(answer: str, gold: str, options: Mapping[str, Any]) -> bool:
    match = re.search(r"\\boxed\{([^}]*)\}", answer.lower())
    chosen = re.sub(r"\b(choice|option)\b", "", match[1] if match else answer, flags=re.IGNORECASE)
    for sign in str(options.get("strip_chars", ".")):
        chosen = chosen.replace(sign, "")
    chosen, expected = chosen.strip().upper(), gold.strip().upper()
    if options.get("require_non_empty", True) and (not chosen or not expected):
        return False
    return chosen == expected


def _letters(answer: str, gold: str, options: Mapping[str, Any]) -> bool:
    chosen, expected = (set(_letters_of(text)) for text in (answer, gold))
    if options.get("require_non_empty", True) and (not chosen or not expected):
        return False
    return chosen == expected


def _letters_of(text: str) -> str:
    return "".join(chunk for chunk in re.findall(r"[A-Z]+", text.upper()) if chunk not in _FILLERS)


FUNCTIONS: Mapping[str, Callable[[str, str, Mapping[str, Any]], bool]] = {
    "norm_phrase_set_match": _in_any_order,
    "norm_phrase_set_match_ordered": _in_order,
    "mc_choice_match": _letter,
    "mc_choice_set_match": _letters,
}


def binary_label(reply: str) -> float | None:
    """Return the `label` (0 or 1) from the judge's JSON object, or None if there is no label.

    If the reply isn't valid JSON, a regular expression is used instead.
    """
    text = reply.strip()
    lines = text.splitlines()
    if text.startswith("```") and text.endswith("```") and len(lines) >= 3:
        text = "\n".join(lines[1:-1]).strip()
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        try:
            label = json.loads(text[start : end + 1]).get("label")
            if label in (0, 1, "0", "1"):
                return float(label)
        except (ValueError, TypeError):
            pass  # Not strict JSON: fall back to the regex.
    match = re.search(r"""["']label["']\s{0,9}:\s{0,9}([01])|\blabel\b\s{0,9}[:=]\s{0,9}([01])""", text, re.IGNORECASE)
    return float(match[1] or match[2]) if match else None
