"""Claims of the assistant that did not stand: the user corrected them, or a later statement says the opposite."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memoryd.daydream.heuristic import cues
from memoryd.daydream.heuristic.episodes import Episode
from memoryd.daydream.heuristic.units import PASTE_CHARS, Unit
from memoryd.text import keywords
from memoryd.types import TurnKind

# Least token F1 with an opposite statement, and with a correction. How many later statements are compared.
OPPOSED, CORRECTED = 0.5, 0.3
WINDOW = 400
_NEGATION = re.compile(
    r"\b(?:not|no|never|cannot|without|nor|neither|none|unless)\b|n't\b|\bdont\b|\b(?:nicht|kein\w*|nie|pas|jamais|"
    r"sin|nunca|нет|не|нельзя|без)\b|不|没|无|未|别",
    re.IGNORECASE,
)
_MENDED = re.compile(
    r"\b(?:now|fixed|added|updated|changed|restored|works?|will)\b|现在|已|修复|теперь|jetzt|maintenant|ahora", re.IGNORECASE
)
_CORRECTS = re.compile(
    r"^(?:no\b|nope|wrong|actually|not (?:the|that|true|quite)|that'?s (?:not|wrong)|thats (?:not|wrong)|but (?:this|"
    r"that|it|the)|this should|you (?:forgot|missed|misunderst)|I mean|"
    r"nein|falsch|non\b|faux|нет|неправильно|не так)|\bshould ?n[o']t be|\bdoes ?n[o']t work\b|\binstead\b|"
    r"^(?:不[，,。是对]|不对|错了|其实|为什么(?:是|不是))|而不是",
    re.IGNORECASE,
)


def _close(a: frozenset[str], b: frozenset[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def opposed(units: Sequence[Unit]) -> set[int]:
    """Indexes of claims of the assistant to which a later statement gives the opposite, in nearly the same words."""
    negated = [bool(_NEGATION.search(u.text)) for u in units]
    out: set[int] = set()
    for index, unit in enumerate(units):
        if unit.by_user or unit.cues & {"root cause", "fix"}:
            continue
        later = range(index + 1, min(len(units), index + WINDOW))
        if any(negated[k] != negated[index] and _opposes(units[k], unit) for k in later):
            out.add(index)
    return out


def _opposes(later: Unit, unit: Unit) -> bool:
    """That something is mended now does not refute what was wrong with it; a question refutes nothing."""
    if later.turn is unit.turn or _close(unit.words, later.words) < OPPOSED:
        return False
    return not _MENDED.search(later.text) and "noise question" not in later.cues


def corrections(parts: Sequence[Episode]) -> dict[int, frozenset[str]]:
    """By the id of an assistant's turn, the key words of the correction by which the user answered it."""
    out: dict[int, frozenset[str]] = {}
    for part, following in zip(parts, parts[1:], strict=False):
        said = [t.text for t in following.user if len(t.text) <= PASTE_CHARS and _CORRECTS.search(t.text)]
        replies = [t for t in following.rest if t.kind is TurnKind.ASSISTANT]
        if said and replies and cues.AGREEMENT.search(replies[0].text[:80]):
            words = frozenset(keywords(" ".join(said)))
            out |= {id(t): words for t in part.rest if t.kind is TurnKind.ASSISTANT}
    return out


def refuted(units: Sequence[Unit], parts: Sequence[Episode]) -> set[int]:
    """Indexes of the units that should not be kept."""
    answers = corrections(parts)
    corrected = {i for i, u in enumerate(units) if _close(u.words, answers.get(id(u.turn), frozenset())) >= CORRECTED}
    return corrected | opposed(units)
