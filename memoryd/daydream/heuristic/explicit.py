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
