"""Build candidates from findings, with their kind, polarity, wording and evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TypedDict

from memoryd.core.types import Candidate, Kind, Polarity, Scope, Source, Status, Turn
from memoryd.daydream.offline.acts import MIN_WORDS, Act, worded
from memoryd.daydream.offline.cues import WISH_CUES
from memoryd.daydream.offline.findings import Finding
from memoryd.daydream.offline.observed import ObservedFact
from memoryd.daydream.offline.sentences import sentences, size
from memoryd.daydream.offline.unfit import asks
from memoryd.daydream.offline.units import CueWeights, Unit, decided, picked, probability, without_marks

# "It turned out that …". The rest says by itself what was found.
_TURNED_OUT = re.compile(r"^(?:(?:so|and|then|but),? )?(?:it )?turn(?:s|ed) out,?(?: that)?\s+(?!to\b)", re.IGNORECASE)

# Turn words from a conversation into a sentence that can be understood without it. Pure functions.
#
# Only safe changes are made. Questions around a statement and a denial before a correction are removed. "It" in a correction is
# replaced by the subject of the corrected claim. Everything else keeps the speaker's words.

# Longer messages do more than choose an option.
PICK_WORDS = 9
# "I think we should …" is a wish of the user. "I think the port is 80" is a guess and remains one.
_HEDGE = re.compile(
    r"^(?:(?:(?:I (?:do )?(?:think|guess|feel like|believe)|in my opinion|imh?o|personally|to be clear|honestly|basically)"
    r"(?: that)?\b|ich (?:finde|denke|glaube),?(?: dass)?\b|je pense que\b|creo que\b|(?:я )?думаю,?(?: что)?\b)[\s,]+|"
    r"我觉得[，,]?\s*)+"
    r"(?=(?:for now|we|you|it(?:'?s| is| would be) better|let'?s|this|that|the|a|an|all|each|every|never|always|there should|"
    r"wir|man|nous|on|il faut|hay que|нужно|надо|лучше)\b|[一-鿿])",
    re.IGNORECASE,
)
# "Key finding: …"
_LABEL = re.compile(
    r"^(?:(?:critical|key|important|main|interesting|new|final) (?:finding|insight|point|discovery|observation|takeaway|fact)|"
    r"finding|insight|takeaway|tl;?dr|fyi|note|erkenntnis|wichtig|hinweis|constat|вывод|важно|结论|关键发现|注意)\s*[:：—–]\s*",
    re.IGNORECASE,
)


def stated(unit: Unit) -> str:
    """Return the memory content for a unit."""
    if unit.turn.via == "answer":
        return worded(unit.text)
    text = without_questions(chosen(unit.text) if unit.by_user else unit.text)
    return worded(without_opener(text, wanted=bool(unit.by_user and unit.cues & WISH_CUES)))


def chosen(text: str) -> str:
    """Return the option chosen in a short message.

    "Let's take option 2: use a file" yields "use a file".
    """
    pick, colon, option = text.partition(": ")
    return without_marks(option) if colon and size(pick) <= PICK_WORDS and picked(pick) and size(option) >= MIN_WORDS else text


def without_opener(text: str, wanted: bool) -> str:
    """Remove meaningless introductory words. "I think" is removed only if the text expresses a wish (`wanted`)."""
    rest = _TURNED_OUT.sub("", _LABEL.sub("", text))
    rest = _HEDGE.sub("", rest) if wanted else rest
    return f"{rest[:1].upper()}{rest[1:]}" if rest != text and size(rest) >= MIN_WORDS else text


def without_questions(text: str) -> str:
    """Remove questions before and after a statement. A text consisting only of questions is not changed."""
    parts = sentences(text)
    said = [n for n, part in enumerate(parts) if not asks(part)]
    if not said or len(said) == len(parts) or sum(size(parts[n]) for n in said) < MIN_WORDS:
        return text
    return " ".join(parts[said[0] : said[-1] + 1])


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
    r"^(?:please )?(?:always|from now on,? (?:always|use|keep|run|write|put)|remember|make sure|keep|use|only|"
    r"I (?:\w+ )?prefer|"
    r"immer|toujours|siempre|всегда|务必|记住)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:(?:answer|reply|respond|talk|speak|write to me|explain)\w* (?:to me |me )?(?:in|with|briefly|shortly)|"
    r"emojis?|I (?:always |really )?prefer|my name|call me|I (?:work|am working) (?:on|with)|"
    r"antworte|réponds|responde|отвечай|tone|verbose|concise(?:ly)?|short answers)\b|用中文|用英文|回答我|表情",
    re.I,
)
_OF_PROJECT = re.compile(
    r"\b(?:this|the|our|we) (?:project|repo|repository|code ?base|app|service|module|package)\b|`[^`]+`|\w+/\w+|"
    r"\w+\.\w{1,4}\b|这个项目|项目",
    re.I,
)
SALIENT = -1.2
_DECIDES = frozenset({"norm", "alternative", "proposal", "correction", "via answer"})
# Reasons shown to the user, by cue. Cues about form have none.
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


def about_person(text: str) -> bool:
    """Return whether a rule is about working with this person in any project."""
    return bool(_PERSON.search(text)) and not _OF_PROJECT.search(text)


def of_act(act: Act, turn: Turn) -> Candidate:
    """Create a candidate from an act of memory by the user."""
    wish = act.kind in (Kind.RULE, Kind.PREFERENCE)
    return Candidate(
        content=act.text,
        kind=act.kind,
        polarity=act.polarity,
        source=Source.USER,
        confidence=0.95 if act.kind is Kind.RULE else 0.9,
        importance=3 if wish or act.kind is Kind.DECISION else 2,
        scope=Scope.USER if wish and about_person(act.text) else Scope.PROJECT,
        reason=act.reason,
        **_evidence(act.text, turn),
    )


def of_finding(finding: Finding, turn: Turn) -> Candidate:
    """Create a candidate from a finding of the assistant."""
    return Candidate(
        content=finding.text,
        kind=finding.kind,
        polarity=finding.polarity,
        source=Source.AGENT_STEP,
        confidence=0.8,
        importance=3,
        reason="root cause with its cure" if finding.kind is Kind.FIX else "dead end with its reason",
        **_evidence(finding.text, turn),
    )


def of_retraction(text: str, turn: Turn) -> Candidate:
    """Create a candidate from a sentence in which the assistant retracts a cause.

    It is never injected, and is stored only as the successor of a memory that it ends.
    """
    return Candidate(
        content=worded(text),
        kind=Kind.FACT,
        polarity=Polarity.KNOW,
        source=Source.AGENT_STEP,
        confidence=0.7,
        importance=2,
        status=Status.CANDIDATE,
        reason="takes back a cause",
        **_evidence(text, turn),
    )


def of_choice(turn: Turn) -> Candidate:
    """Create the candidate for an option chosen by the user."""
    text = decided(turn)
    return Candidate(
        content=text,
        kind=Kind.DECISION,
        polarity=Polarity.KNOW,
        source=Source.USER,
        confidence=0.85,
        importance=3,
        reason="chosen by the user",
        **_evidence(text, turn),
    )


def of_observation(one: ObservedFact) -> Candidate:
    """Create a candidate from a fact demonstrated by the assistant's own commands."""
    return Candidate(
        content=one.text,
        kind=one.kind,
        polarity=one.polarity,
        source=Source.AGENT_STEP,
        confidence=0.8 if one.sure else 0.4,
        importance=2,
        reason=one.reason,
        status=Status.ACTIVE if one.sure else Status.CANDIDATE,
        **_evidence(one.text, one.turn),
    )


def proposal(unit: Unit, score: float, weights: CueWeights) -> Candidate:
    """Create a candidate from a promising statement. Its confidence is the probability that it is worth keeping."""
    kind = kind_of(unit)
    trusted = unit.by_user and not unit.pasted
    return Candidate(
        content=stated(unit),
        kind=kind,
        polarity=polarity_of(unit, kind),
        source=Source.USER if trusted else Source.AGENT_STEP,
        confidence=round(min(0.95, max(0.01, probability(score))), 3),
        importance=2 if score > SALIENT else 1,
        reason=reason_of(unit, weights),
        status=Status.CANDIDATE,
        **_evidence(unit.text, unit.turn),
    )


class _Evidence(TypedDict):
    lines: tuple[int, ...]
    uuids: tuple[str, ...]
    paths: tuple[str, ...]
    at: datetime | None


def _evidence(text: str, turn: Turn) -> _Evidence:
    return {
        "lines": (turn.line,) if turn.line else (),
        "uuids": (turn.uuid,) if turn.uuid else (),
        "paths": tuple(dict.fromkeys(_PATH.findall(text)))[:8],
        "at": turn.at,
    }


def kind_of(unit: Unit) -> Kind:
    """Return the kind, based on the strongest type of cue. Pasted text and the assistant's text never become rules."""
    return _kind_by_user(unit) if unit.by_user and not unit.pasted else _kind_by_agent(unit)


def _kind_by_user(unit: Unit) -> Kind:
    has = unit.cues.__contains__
    if _TODO.search(unit.text):
        return Kind.TODO
    if has("wish") and not has("standing rule"):
        return Kind.PREFERENCE
    if _CHOOSES.match(unit.text):
        return Kind.DECISION
    if has("standing rule") or has("prohibition"):
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
    """Return the polarity: do or don't for the user's requests, know for everything else."""
    if kind is Kind.DEAD_END:
        return Polarity.DONT
    if kind not in (Kind.RULE, Kind.PREFERENCE, Kind.DECISION, Kind.TODO) or not unit.by_user:
        return Polarity.KNOW
    opens_with_do = _OPENS_WITH_DO.match(unit.text) or _CHOOSES.match(unit.text)
    return Polarity.DONT if "prohibition" in unit.cues and not opens_with_do else Polarity.DO


def reason_of(unit: Unit, weights: CueWeights) -> str:
    """Describe up to three cues, those with the highest weights."""
    table = weights.user if unit.by_user else weights.agent
    best = sorted((c for c in unit.cues if c in _REASONS), key=lambda c: (-table.get(c, 0.0), c))
    return ", ".join(list(dict.fromkeys(_REASONS[c] for c in best))[:3]) or "specific statement"
