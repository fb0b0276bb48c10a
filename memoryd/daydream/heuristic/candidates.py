"""From a kept unit to a candidate: kind, polarity, wording, evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from memoryd.daydream.heuristic.explicit import about_person, is_correction
from memoryd.daydream.heuristic.score import Weights, probability
from memoryd.daydream.heuristic.select import Scored
from memoryd.daydream.heuristic.units import Unit
from memoryd.daydream.heuristic.wording import stated
from memoryd.types import Candidate, Kind, Polarity, Scope, Source

_PATH = re.compile(
    r"(?<![\w/:.@-])(?:[~.]{0,2}/)?(?:[\w.@-]+/)*[\w@-]+(?:\.[\w-]+)*\.(?:[a-z]{1,5}\d?)(?![\w/(])|"
    r"(?<![\w/:.-])[~.]{0,2}/[\w./@-]{3,}"
)
_CHOOSES = re.compile(
    r"^(?:ok(?:ay)?|so|then|well|yes|[\s,.])*(?:let'?s (?:go with|use|take|do|keep|stick)|go with|"
    r"(?:we|I)(?:'ll| will)? (?:go with|take|choose|decided)|wir nehmen|nehmen wir|on prend|prenons|vamos con|tomamos|"
    r"берём|возьмём|我们用|就用|采用)",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(
    r"\b(?:localhost|docker|port|host|server|proxy|vpn|ssh|sudo|tty|shell|path|env(?:ironment)?(?: var\w*)?|\.env\w*|"
    r"version|installed|python ?\d|node ?\d|"
    r"macos|windows|linux|wsl|homebrew|brew|pre-?(?:commit|push) hook|ci|machine|\d{1,3}(?:\.\d{1,3}){3})\b|"
    r":\d{4,5}\b|环境|镜像|端口|服务器",
    re.I,
)
_DEAD_END = re.compile(
    r"\b(?:revert(?:ed)?|abandon(?:ed)?|gave up|dead end|did(?: not|n'?t) work|does(?: not|n'?t) work|won'?t work|"
    r"not possible|impossible)\b|行不通|不支持|放弃|回滚",
    re.I,
)
_TODO = re.compile(
    r"\b(?:todo|later|follow-?up|next step|not yet implemented|tracked (?:as|in)|in (?:the )?future)\b|待办|以后再|TODO", re.I
)
_OPENS_WITH_DO = re.compile(
    r"^(?:please )?(?:always|from now on,? (?:always|use|keep|run|write|put)|remember|make sure|keep|use|only|I (?:\w+ )?prefer|"
    r"immer|toujours|siempre|всегда|务必|记住)\b",
    re.IGNORECASE,
)
_DECIDES = frozenset({"norm", "alternative", "proposal", "correction", "via answer"})
# What is said to the user for a cue; cues of mere form are not named.
_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "standing rule": "standing rule",
        "prohibition": "prohibition",
        "wish": "wish",
        "norm": "what should be",
        "alternative": "one thing instead of another",
        "proposal": "proposal",
        "correction": "correction",
        "reason": "gives a reason",
        "condition": "says when",
        "habit": "habit",
        "agreed": "the assistant agreed",
        "answers question": "answers a question",
        "via answer": "answers a question",
        "via rejected_tool": "said when rejecting a step",
        "root cause": "root cause",
        "because": "gives a reason",
        "fix": "fix",
        "limit": "limit or missing thing",
        "contrast": "one thing instead of another",
        "behaviour": "standing behaviour",
        "about request": "about what the user asked",
        "like the user's": "repeats the user's words",
        "said twice": "said twice",
        "heading good": "under a heading for results",
    }
)


def candidate(scored: Scored, weights: Weights) -> Candidate:
    """The candidate of a kept unit."""
    unit = scored.unit
    kind = kind_of(unit, scored.sure)
    chance = 0.9 if scored.sure else probability(scored.score)
    trusted = unit.by_user and not unit.pasted
    return Candidate(
        content=stated(unit),
        kind=kind,
        polarity=polarity_of(unit, kind),
        source=Source.USER if trusted else Source.AGENT_STEP,
        confidence=round(min(0.95, (0.6 if trusted else 0.45) + 0.4 * chance), 2),
        importance=importance_of(kind, scored),
        lines=(unit.turn.line,) if unit.turn.line else (),
        uuids=(unit.turn.uuid,) if unit.turn.uuid else (),
        paths=tuple(dict.fromkeys(_PATH.findall(unit.text)))[:8],
        scope=Scope.USER if scored.sure and about_person(unit.text) else Scope.PROJECT,
        at=unit.turn.at,
        reason=reason_of(unit, weights, scored.sure),
    )


def kind_of(unit: Unit, sure: bool) -> Kind:
    """The kind by the strongest sort of cue. Pasted and assistant text never becomes a rule."""
    return _kind_by_user(unit, sure) if unit.by_user and not unit.pasted else _kind_by_agent(unit)


def _kind_by_user(unit: Unit, sure: bool) -> Kind:
    has = unit.cues.__contains__
    if is_correction(unit.text):
        return _state_of(unit)
    if _TODO.search(unit.text) and not sure:
        return Kind.TODO
    if has("wish") and not has("standing rule"):
        return Kind.PREFERENCE
    if _CHOOSES.match(unit.text) and not sure:
        return Kind.DECISION
    if sure or has("standing rule") or has("prohibition"):
        return Kind.RULE
    if unit.cues & _DECIDES:
        return Kind.DECISION
    return _state_of(unit)


def _state_of(unit: Unit) -> Kind:
    return Kind.ENVIRONMENT if _ENVIRONMENT.search(unit.text) else Kind.FACT


def _kind_by_agent(unit: Unit) -> Kind:
    has = unit.cues.__contains__
    if has("root cause") or has("fix"):
        return Kind.FIX
    if _DEAD_END.search(unit.text):
        return Kind.DEAD_END
    return _state_of(unit)


def polarity_of(unit: Unit, kind: Kind) -> Polarity:
    """Do and don't for what the user asks for, know for the rest."""
    if kind is Kind.DEAD_END:
        return Polarity.DONT
    if kind not in (Kind.RULE, Kind.PREFERENCE, Kind.DECISION, Kind.TODO) or not unit.by_user:
        return Polarity.KNOW
    opens_with_do = _OPENS_WITH_DO.match(unit.text) or _CHOOSES.match(unit.text)
    return Polarity.DONT if "prohibition" in unit.cues and not opens_with_do else Polarity.DO


def importance_of(kind: Kind, scored: Scored) -> int:
    """3 for rules and for what is very likely kept, 1 for what just passed."""
    if scored.sure or kind is Kind.RULE or scored.score > 0.3:
        return 3
    return 2 if scored.score > -1.2 else 1


def reason_of(unit: Unit, weights: Weights, sure: bool) -> str:
    """Up to three cues that spoke most for it, in words."""
    table = weights.user if unit.by_user else weights.agent
    best = sorted((c for c in unit.cues if c in _REASONS), key=lambda c: (-table.get(c, 0.0), c))
    said = (["stated as a rule"] if sure else []) + [_REASONS[c] for c in best]
    return ", ".join(list(dict.fromkeys(said))[:3]) or "specific statement"
