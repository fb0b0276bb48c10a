"""Compile rules on commit messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from memoryd.core.checks import MAX_ALSO, MAX_ENTRY_CHARS, Check, CheckKind, Form
from memoryd.guard.messages import ALTERNATIVES
from memoryd.guard.rules.objects import tokenize
from memoryd.guard.rules.words import FOR_EXAMPLE, NEGATED, REFUSED_BEFORE, entries, natural_languages

_MESSAGE = re.compile(
    r"\bcommit[- ]?(?:messages?|msgs?|subjects?|titles?|types?|nachrichten?|botschaften?|texte?|betreffs?|typen)\b|\bmessages? of (?:a |each |every )?commits?\b|\bcommits?\b(?=.{0,60}\b(?:conventional|prefix\w*|ticket\w*|issue|jira|begin|start)\b)"
    r"|\bconventional commits?\b|\b(?:messages?|nachrichten?)\b(?=.{0,60}\bcommits?\b)|\bcommits?\b(?=.{0,80}\b(?:scopes?|co-?authored|attribution|trailer|mention|emoji))|\b(?:mention|referenc|includ|contain|link)\w{0,4}\b.{0,60}\bcommits?\b"
    r"|(?:co-?authored-?by|attribution|trailers?|emojis?)\b.{0,80}\bcommits?\b|\bsubject lines?\b",
    re.IGNORECASE,
)  # fmt: skip
_TICKET = re.compile(r"\b([A-Z][A-Z0-9]{1,9})-(?:\d{1,7}|[NXn#]{1,4})\b|(?<!\w)(#\d{1,6})\b")
_TICKET_WORD = re.compile(r"\b(?:ticket|issue|jira|linear|task|story|vorgang\w*|ticket-?nummer)\b", re.IGNORECASE)
_LENGTH = re.compile(
    r"\b(\d{2,3})\s(?:chars?|characters?|zeichen|caract\w{1,8}|caratteri|znak\w{1,3}|tekens|字|文字|символ\w{0,3})\b|\b(?:at most|max(?:imum|imal)?\.?(?: of)?|no (?:more|longer) than|under|below|up to|höchstens|unter|nicht länger als|stay within|within|longer than|over|exceed)\s(\d{2,3})\b",
    re.IGNORECASE,
)
_CONTAINED = re.compile(
    r"\b(?:trailers?|contain\w{0,2}|includ\w{1,3}|ends?|footer|enthalten|enden)\b[^`\"]{0,60}(?:`([^`]{3,100})`|\"([^\"]{3,100})\")",
    re.IGNORECASE,
)
_COMMITS = re.compile(
    r"\bcommits?\b|\bcommit[- ]?(?:messages?|msgs?|subjects?|titles?|nachrichten?|botschaften?|texte?|betreffs?)\b|\bsubject lines?\b",
    re.IGNORECASE,
)
_NOT_ON_MESSAGES = re.compile(
    r"\b(?:before|bevor|vor|without|ohne|until|after|nach)\b.{0,25}\bcommit|\bcommit\w*\s(?:to|on|auf|nach|into|directly|\S{1,40}/|secrets?|files?|the \w+ file|anything|generated|large|binar\w+|build)\b"
    r"|\bsign|\bgit add\b",
    re.IGNORECASE,
)


def commit_message(rule: str) -> Check | None:
    """Compile a rule on commit messages, such as "conventional commits" and "no emojis in commit messages"."""
    found: list[Check] = []
    if _COMMITS.search(rule) and not _NOT_ON_MESSAGES.search(rule):
        found = [Check(CheckKind.MESSAGE, form=form, example=example) for form, example in _styles_of_message(rule)]
    if (
        (_MESSAGE.search(rule) or _WIP.search(rule) or re.search(_SKIPS_CI, rule.lower()))
        and (check := _one_form(rule))
        and not (found and check.form is None)
    ):
        found.insert(0, check)
    found = list(dict.fromkeys(found))
    return replace(found[0], also=tuple(found[1 : MAX_ALSO + 1])) if found else None


_WIP = re.compile(
    r"\b(?:wip|fixup|tmp)\b(?! branch).{0,30}\bcommits?\b|\bcommits?\b.{0,60}\b(?:wip|fixup|tmp)\b(?! branch)", re.IGNORECASE
)
_TRAILER_NAME = re.compile(r"\b([A-Z][a-z]{1,20}(?:-[a-z]{1,20}){0,4})(?=:?[`'\"]?[^.;]{0,25}\b(?:trailer|footer|line|zeile)\b)")


def _one_form(rule: str) -> Check | None:
    if NEGATED.search(rule) and (check := _forbidden_in_message(rule)):
        return check
    if not NEGATED.search(rule) and (found := _CONTAINED.search(rule)):
        example = (found[1] or found[2]).strip()
        return Check(CheckKind.MESSAGE, form=Form.CONTAINS, example=re.sub(r"(?<=-)(?:\d+|[NXn#]+|<\w+>)$", "", example))
    if not NEGATED.search(rule) and (found := _ENDS_WITH.search(rule)):
        return Check(CheckKind.MESSAGE, form=Form.CONTAINS, example=found["name"])
    names = [name for name in _TRAILER_NAME.findall(rule) if "-" in name or f"{name}:" in rule]
    if names and not NEGATED.search(rule):
        return Check(CheckKind.MESSAGE, form=Form.CONTAINS, example=f"{names[0]}:")
    form = _form_of_message(rule)
    if form and form[0] in (Form.TICKET, Form.TICKET_IN) and _NO_TICKET.search(rule):
        return None
    return Check(CheckKind.MESSAGE, form=form[0], example=form[1]) if form else None


# Each form of messages with the words that ask for it, and whether a negation before them asks for the opposite.
_NEGATION = r"(?:no|not|never|without|don't|do not|kein\w{0,2}|ohne|nicht|nie|avoid|drop|omit)"
_STYLES: tuple[tuple[str, Form], ...] = (
    (rf"\b{_NEGATION}\b[^.;]{{0,20}}\bone[- ]?lin\w{{1,5}}|(?:\b(?:need|must|should|has|requir|includ|with|mit|always|brauch|have|want|write|add|explain|schreib|immer|contain|deserve|plus|and)\w{{0,5}}\b[^.;,]{{0,40}})"
     r"\b(?:body|bod(?:y|ies)|description|explanation|beschreibung|begründung|erklärung|corps|cuerpo|corpo|second paragraph|why)\b", Form.BODY),
    (rf"\b{_NEGATION}\s(?:\w{{1,12}}\s){{0,3}}(?:body|bodies|description|beschreibung|corps|cuerpo|corpo)\b|\b(?:single|one)[- ]line(?:rs?)?\b|\beinzeil\w{{1,4}}|\bonly (?:a|the|one) (?:subject|title)\b|\b(?:subject|title|betreff) (?:line )?only\b",
     Form.NO_BODY),
    (rf"\b{_NEGATION}\b[^.;]{{0,40}}\b(?:period|full[- ]?stop|dot|punkt|punto|point|ponto|punt)s?\b", Form.NO_PERIOD),
    (r"\blower[- ]?case\w{0,3}\b|\bkleingeschrieben|\bkleinbuchstabe\w{0,2}|\bklein (?:an|be|ge|schreib)\w{0,10}|\bmin[uú]scul\w{1,3}", Form.LOWER),
    (r"\bcapitali[sz]\w{1,4}|\bcapital letters?\b|\bupper[- ]?case|\bgroßgeschrieben|\bgroßbuchstabe\w{0,2}|\bmaj[uú]scul\w{1,3}|\bmay[uú]scul\w{1,3}", Form.UPPER),
    (r"\bimp[eé]rati[vf]\w{0,3}\b|\bpresent tense\b|\bpräsens\b|\bprésent\b", Form.IMPERATIVE),
    (rf"\b{_NEGATION}\b[^.;]{{0,30}}\b(?:past tense|vergangenheit\w{{0,6}})\b", Form.IMPERATIVE),
    (r"\b(?:start|begin|prefix|lead|open|beginn|anfang)\w{0,4}\b[^.;]{0,30}\b(?:gitmoji|emoji)s?\b|\bgitmojis?\b", Form.EMOJI),
)  # fmt: skip
_OPPOSITE = {Form.UPPER: Form.LOWER, Form.LOWER: Form.UPPER, Form.EMOJI: Form.NO_EMOJI}


def _styles_of_message(rule: str) -> Iterator[tuple[Form, str]]:
    """Yield the forms that a rule on commits asks for by name: language, body, case, tense and dots."""
    seen: set[Form] = set()
    for pattern, form in _STYLES:
        found = re.search(pattern, rule, re.IGNORECASE)
        if found is None:
            continue
        asked = _OPPOSITE.get(form, form) if form in _OPPOSITE and REFUSED_BEFORE.search(rule[: found.start()]) else form
        if (
            asked not in seen
            and not (asked is Form.NO_BODY and Form.BODY in seen)
            and not (asked is Form.UPPER and Form.LOWER in seen)
        ):
            seen.add(asked)
            yield asked, ""
    if re.search(
        r"\b(?:in|auf|en|em|op|på|po|на|use|write|written|always|immer|only|nur|no|kein\w{0,2}|not|nicht)\b|:",
        rule,
        re.IGNORECASE,
    ):
        yield from natural_languages(rule)


def _forbidden_in_message(rule: str) -> Check | None:
    low = rule.lower()
    if re.search(_SKIPS_CI, low):
        return Check(CheckKind.MESSAGE, words=("[skip ci]", "[ci skip]", "[no ci]"))
    if "co-author" in low or "coauthor" in low:
        more = [thing.lower() for thing in _quoted(rule) if 2 < len(thing) <= 40]
        more += ["generated with"] if re.search(r"\bgenerated (?:with|by)\b", low) else []
        return Check(CheckKind.MESSAGE, words=entries(["co-authored-by", *more]))
    if re.search(r"\bemojis?\b", low):
        return Check(CheckKind.MESSAGE, form=Form.NO_EMOJI)
    if found := re.search(r"\b(wip|fixup|tmp|temp)\b", low):
        return Check(
            CheckKind.MESSAGE, words=entries([found[1], *(thing.lower() for thing in _quoted(rule) if 1 < len(thing) <= 40)])
        )
    if found := re.search(r"\b(claude|anthropic|ai|chatgpt|copilot)\b", low):
        own = found[1] in ("ai", "claude", "anthropic")
        if own and re.search(r"\b(?:mention|name|refer|word)\w{0,4}\b", low):
            names = re.findall(r"\b(?:claude|anthropic|ai|chatgpt|copilot)\b", low)
            return Check(CheckKind.MESSAGE, words=entries([*names, "co-authored-by: claude", "generated with"]))
        return Check(CheckKind.MESSAGE, words=("co-authored-by: claude", "generated with", "anthropic") if own else (found[1],))
    if _form_of_message(rule):
        return None
    words = [thing.lower() for thing in _quoted(rule) if 1 < len(thing) <= 40]
    return Check(CheckKind.MESSAGE, words=entries(words)) if words else None


_ENDS_WITH = re.compile(r"\b(?:ends? (?:with|in)|footer|trailer|last line)\b[^.;]{0,20}?\b(?P<name>[A-Z][\w-]{2,30}:)(?=\s)")
_NO_TICKET = re.compile(
    r"\b(?:never|don't|do not|must not|nie|nicht)\s(?:ever\s)?(?:contain|mention|includ|referenc|put|add|write|link)\w{0,3}\b|\b(?:no|kein\w{0,2})\s(?:ticket|issue|jira)\s?(?:numbers?|ids?|keys?|references?|refs?|links?|nummern?)\s(?:in|im)\b",
    re.IGNORECASE,
)
_SKIPS_CI = r"\[(?:skip ci|ci skip|no ci)\]"
_INSIDE = re.compile(
    r"\b(?:referenc\w{1,3}|contain\w{0,3}|includ\w{1,3}|mention\w{0,3}|enthalten|enthält|erwähn\w{0,3}|somewhere|end\w{0,3}|carry|have)\b"
)


def _form_of_message(rule: str) -> tuple[Form, str] | None:
    low = rule.lower()
    if re.search(r"\bscopes?\b", low) and re.search(r"\b(?:needs?|must|always|require\w?|every|mandatory|have)\b", low):
        return Form.CONVENTIONAL, "scope"
    if re.search(r"\btype\(scope\):", low):
        return Form.CONVENTIONAL, "scope"
    if (
        "conventional" in low
        or re.search(r"(?<!\w)<?type>?: ?<?(?:subject|summary|description|message)\b", low)
        or re.search(r"\bfeat\b|\bfix\b.{0,4}[:/,].{0,20}\b(?:feat|chore|docs)\b", low)
    ):
        return Form.CONVENTIONAL, "scope" if "scope" in low and re.search(r"mandatory|must|require|always|pflicht", low) else ""
    if found := _LENGTH.search(rule):
        return Form.LENGTH, found[1] or found[2]
    if found := _TICKET.search(rule):
        first = re.search(r"start|begin|prefix|lead|first|front|anfang|vorn|präfix|voran", low) or not _INSIDE.search(low)
        return Form.TICKET if first else Form.TICKET_IN, f"{found[1]}-1" if re.search(r"-[NXn#]+$", found[0]) else found[0]
    if prefixes := _prefixes_of_message(rule):
        return Form.PREFIX, ALTERNATIVES.join(prefixes)[:MAX_ENTRY_CHARS]
    if types := _TYPES_OF_MESSAGE.search(rule):
        return Form.PREFIX, ALTERNATIVES.join(
            re.findall(r"[a-z]{2,12}", re.sub(r"\b(?:and|or|und|oder|only|nur)\b", " ", types["list"]))
        )
    if _TICKET_WORD.search(rule) and re.search(r"start|begin|prefix|lead|first|anfang|vorn", low):
        return Form.TICKET, "ABC-1"
    if re.search(
        r"\b(?:ticket|issue|jira|story|task|vorgang|bug)\w{0,3}[- ]?(?:number|nummer|id|key|reference|ref|link)?s?\b", low
    ) and re.search(
        r"\b(?:referenc\w{1,3}|contain\w{0,3}|includ\w{1,3}|mention\w{0,3}|enthalten|enthält|erwähn\w{0,3}|need\w{0,1}|must have|require\w{0,1}|link\w{0,2}|carry)\b",
        low,
    ):
        return Form.TICKET_IN, ""
    return None


_BEGINS = re.compile(
    r"\b(?:start|starts|begin|begins|prefix\w*|beginnen|beginnt|anfangen|fangen|lead|open)\b(?P<rest>.{1,120})", re.IGNORECASE
)
_TYPES_OF_MESSAGE = re.compile(
    r"(?P<list>(?:[`'\"]?(?:feat|fix|chore|docs|refactor|test|perf|ci|build|style|revert)[`'\"]?:?(?:\s?(?:,|/|\||and|or|und|oder)\s?(?:and |or )?)?){2,10})",
    re.IGNORECASE,
)


def _prefixes_of_message(rule: str) -> list[str]:
    """Return the texts with which messages may begin. From an example in brackets follows only that there is one in brackets."""
    found = _BEGINS.search(rule)
    if found is None:
        return []
    rest = found["rest"]
    brackets = re.findall(r"\[[^\]\n]{1,30}\]", rest)
    if brackets and FOR_EXAMPLE.search(rest) and len(brackets) < 3:
        return ["["]
    texts = [
        next(group for group in groups if group)
        for groups in re.findall(r"`([^`]{1,40})`|\"([^\"]{1,40})\"|'([^']{1,40})'", rest)
    ]
    texts = texts or brackets or re.findall(r"(?<![\w/:])[a-z][\w-]{1,20}:(?![\w/])", rest)
    return (
        []
        if FOR_EXAMPLE.search(rest) and not brackets and len(texts) < 2 and ":" in "".join(texts)
        else [text.strip() for text in texts]
    )


def _quoted(rule: str) -> Iterator[str]:
    return (token.text for token in tokenize(rule) if token.quoted)
