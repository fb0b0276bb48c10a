"""Rules that the user states outright. They are kept whatever the rest of the passage holds."""

from __future__ import annotations

import re

from memoryd.daydream.heuristic.sentences import size

_OPENING = r"(?:(?:please|pls|and|also|ok(?:ay)?|so|no|btw|bitte|por favor|s'il (?:te|vous) plaît|пожалуйста|请|以后)[\s,.!]*)*"
_RULE = re.compile(
    rf"^{_OPENING}(?:"
    r"(?:you (?:should|must) )?(?:always|never)\s+\w+|don'?t ever\b|from now on\b|going forward\b|in (?:the )?future,|"
    r"remember (?:that|to|:)|please remember\b|keep in mind\b|as a rule\b|make it a rule\b|"
    r"(?:immer|niemals|nie)\s+\w+|ab (?:jetzt|sofort)\b|künftig\b|in Zukunft\b|merk(?:e)? dir\b|denk daran\b|"
    r"(?:toujours|jamais|désormais|dorénavant|à l'avenir)\b|souviens-toi\b|(?:siempre|nunca|jamás)\s+\w+|(?:de|"
    r"a partir de) ahora\b|recuerda\b|"
    r"(?:всегда|никогда|впредь|отныне|запомни)\b|(?:以后|永远|从现在开始|从今以后|记住|每次都?|务必|绝不|一律))"
    r"|\bfrom now on\b|\bab (?:jetzt|sofort) (?:immer|nie)|\bdésormais\b|\ba partir de ahora\b|\b(?:don'?t|do not|"
    r"never)\b[^.?]{3,80}\b(?:again|ever)\b"
    r"|\bI (?:always|never|strongly|really|much|generally|usually)? ?prefer\b|\bich bevorzuge\b|\bje préfère\b|"
    r"\bprefiero\b|\bя предпочитаю\b|我更?喜欢|我偏好",
    re.I,
)
_NOT_A_RULE = re.compile(
    r"[?？]\s*$|^(?:if|why|how|what|does|is|are|when did)\b|\b(?:it|this|that|they|he|she|you|which|test|build|page|"
    r"server|code) (?:always|never)\b|never ?mind|吗",
    re.I,
)
_PERSON = re.compile(
    r"\b(?:(?:answer|reply|respond|talk|speak|write to me|explain)\w* (?:to me |me )?(?:in|with|briefly|shortly)|"
    r"emojis?|I (?:always |really )?prefer|my name|call me|"
    r"antworte|réponds|responde|отвечай|tone|verbose|concise(?:ly)?|short answers)\b|用中文|用英文|回答我|表情",
    re.I,
)
_OF_PROJECT = re.compile(
    r"\b(?:this|the|our) (?:project|repo|repository|code ?base|app|service|module|package)\b|`[^`]+`|\w+/\w+|"
    r"\w+\.\w{1,4}\b|这个项目|项目",
    re.I,
)


def is_rule(text: str) -> bool:
    """Whether the text is a standing rule or preference of the user, by its wording alone."""
    return 2 <= size(text) <= 60 and bool(_RULE.search(text)) and not _NOT_A_RULE.search(text)


def about_person(text: str) -> bool:
    """Whether a rule is about how to deal with this person, in any project."""
    return bool(_PERSON.search(text)) and not _OF_PROJECT.search(text)


_QUOTED = re.compile(r"\"[^\"]{8,}\"|“[^”]{8,}”|„[^“”]{8,}[“”]|«[^»]{8,}»")


def quotes_a_rule(text: str) -> bool:
    """Whether a rule stands only between quotation marks: what a page or a file says is not what the user wants."""
    return any(_RULE.search(quoted[1:-1]) for quoted in _QUOTED.findall(text)) and not _RULE.search(_QUOTED.sub(" ", text))


_DENIES = re.compile(
    r"^\W*(?:no\b|nope|wrong|actually|that'?s (?:not|wrong)|nein|falsch|non\b|faux|нет\b|неправильно|"
    r"不[，,。是对]|不对|错了)",
    re.IGNORECASE,
)
_CONTRASTS = re.compile(
    r"\bnot\b|\binstead of\b|\brather than\b|\bno longer\b|\bsondern\b|\bnicht\b|\bstatt\b|\bet non\b|\bpas\b|\bau lieu de\b|"
    r"\bsino\b|\bno en\b|\bа не\b|\bвместо\b|不是|而不是",
    re.IGNORECASE,
)
_SPECIFIC = re.compile(r"\d|`[^`]+`|\w[./_-]\w|[a-z][A-Z]")
_DENIAL_WORDS = (6, 40)


_FAREWELL = re.compile(
    r"^(?:ok(?:ay)?|great|perfect|good|so|well|thanks?(?: you)?|thx|danke|merci|gracias|спасибо|谢谢|[\s,.!])*"
    r"(?:that'?s (?:it|all|enough)|that is (?:it|all)|(?:good|see|talk) (?:night|you|to you)|bye|i'?m done|we'?re done|done for|"
    r"das war'?s|bis morgen|c'est tout|eso es todo|на сегодня всё|это всё|就这样|今天就到这)",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"^\W*(?:(?:the )?(?:actual |real |underlying )?root cause|(?:grund)?ursache|cause racine|causa raíz|причина|"
    r"根(?:本原)?因)\b\s*(?:[:：—-]|is\b|was\b|ist\b|war\b)",
    re.IGNORECASE,
)


def is_farewell(text: str) -> bool:
    """Whether the text only ends the session ("that's it for today")."""
    return size(text) <= 10 and bool(_FAREWELL.match(text))


def names_cause(text: str) -> bool:
    """Whether a statement is labelled as the root cause."""
    return bool(_CAUSE.match(text))


def asks(text: str) -> bool:
    """Whether the text ends as a question."""
    return text.rstrip().endswith(("?", "？"))


_WHETHER_NOT = re.compile(
    r"\b(?:should|could|would|can|do|does|did|is|are|was|were|has|have|had|will|must)n['’]?t "
    r"(?:the|a|an|this|that|these|those|it|we|you|they|there|I|he|she|our|your|my)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"[(（][^()（）]*[)）][.。!?！？]?")


def asks_whether_not(text: str) -> bool:
    """Whether the text is a question with its negation in front ("shouldn't the cache be reused?"): that forbids nothing."""
    return asks(text) and not re.search(r"\bwhy\b", text, re.IGNORECASE) and bool(_WHETHER_NOT.search(text))


def is_aside(text: str) -> bool:
    """Whether all of the text stands in one pair of brackets: a remark on something else."""
    return bool(_ASIDE.fullmatch(text.strip()))


def is_correction(text: str) -> bool:
    """Whether the text denies a claim and gives the right value beside the wrong one ("No, it is on 5544, not on 5432.")."""
    if "?" in text or not _DENIAL_WORDS[0] <= len(text.split()) <= _DENIAL_WORDS[1]:
        return False
    opener = _DENIES.match(text)
    rest = text[opener.end() :] if opener else ""
    return bool(_CONTRASTS.search(rest) and _SPECIFIC.search(rest))
