"""Secrets out of a text, before anything of it is stored or sent.

Six nets, in this order: keys that are split (by a line's end, by concatenation, by signs without a shape), blocks of
private keys, patterns of our own (`secret_rules`), what a word nearby gives away (`secret_words`), the
value that the name of a credential leads to (`secret_walk`), then the detectors of
detect-secrets. One pass finds out which of them the text can hold anything for (`secret_anchors`). Its entropy, keyword and IP
detectors stay off: in sessions they take git hashes, identifiers and addresses for secrets. Every net takes linear time.
Nothing here logs or verifies what it finds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from memoryd.core.deadline import NEVER, Deadline
from memoryd.core.types import Passage, Turn
from memoryd.daydream.secret_rules import KEY_START, MARK, PREFIX_WORDS, PREFIXED, RULES, SHAPES, SecretRule
from memoryd.daydream.secret_values import Anchors, Looked, is_wordy
from memoryd.daydream.secret_walk import ANCHORS as NAMES
from memoryd.daydream.secret_walk import walked
from memoryd.daydream.secret_words import ANCHORS, told

# Secrets that touch hide one another, so a text is looked at again; what is left after so many rounds is no text of a person.
MOST_ROUNDS = 6
MOST_KNOWN_CLEAN = 10_000
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text without secrets, and how many were found of each kind (never the secrets themselves)."""

    text: str
    found: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


def redact(text: str, deadline: Deadline = NEVER) -> Redacted:
    """The text with each secret replaced by `[redacted:<kind>]`. Doing it twice changes nothing. Raises TooSlowError."""
    clean = _clean()
    if clean.has(text):
        return Redacted(text)
    found: Counter[str] = Counter()
    for _ in range(MOST_ROUNDS):
        before, text = text, _round(text, found, deadline)
        if text == before:
            clean.add(text)
            break
    return Redacted(text, MappingProxyType(dict(found)))


class _Clean:
    """Which of the last texts hold no secret, by hash: a turn is looked at when it is read, and before it is kept or sent."""

    def __init__(self) -> None:
        self._known = set[tuple[int, int]]()

    def has(self, text: str) -> bool:
        return (len(text), hash(text)) in self._known

    def add(self, text: str) -> None:
        if len(self._known) >= MOST_KNOWN_CLEAN:
            self._known = set()
        self._known.add((len(text), hash(text)))


@lru_cache(maxsize=1)
def _clean() -> _Clean:
    return _Clean()


def keepable(text: str) -> Redacted:
    """What may be kept of a statement: without secrets, and without the private blocks that are closed in it."""
    public = strip_whole_private(text)
    safe = redact(public)
    return safe if public == text else Redacted(safe.text.strip(), MappingProxyType({**safe.found, "private": 1}))


def left_out(found: Mapping[str, int]) -> dict[str, str]:
    """What an answer says to whoever gave a text with secrets; empty without any."""
    if not found:
        return {}
    if set(found) == {"private"}:
        return {"left_out_secrets": "What stood in <private> was left out."}
    number, kinds = sum(found.values()), ", ".join(sorted(found))
    what = "A secret was" if number == 1 else f"{number} secrets were"
    return {
        "left_out_secrets": f"{what} left out ({kinds}); [redacted:…] stands there instead. Keep secrets in a password store."
    }


def says_something(text: str) -> bool:
    """Whether a redacted text holds more than the marks of what was left out."""
    return any(c.isalnum() for c in _A_MARK.sub("", text))


_A_MARK = re.compile(r"\[redacted:[a-z0-9-]{1,60}\]")


def _round(text: str, found: Counter[str], deadline: Deadline) -> str:
    text = _without_hidden(text)
    looked = Looked(text, _anchors().within(text), deadline)
    if looked.has(_KEY_WORDS):
        looked = looked.changed(_cut(text, _split_keys(text), "api-key", found))
    if looked.has(_BLOCK_WORDS):
        looked = looked.changed(_cut(looked.text, _key_blocks(looked.text), "private-key", found))
    for number in _numbers(looked.there):
        deadline.check()
        rule = RULES[number]
        if all(map(looked.has, rule.needs) if rule.needs or rule.stems else (MARK in looked.text,)):
            looked = looked.changed(_replace(rule, looked, found))
    looked = looked.changed(_cut_kinds(looked.text, told(looked), found))
    looked = looked.changed(_cut_kinds(looked.text, walked(looked), found))
    return _detect(looked, found)


@lru_cache(maxsize=1)
def _anchors() -> Anchors:
    """What all nets look for, looked up in one pass."""
    literals = {*_KEY_WORDS, *_BLOCK_WORDS, *ANCHORS, *NAMES}
    for rule in RULES:
        literals.update(*rule.needs, rule.stems.parts if rule.stems else ())
    for groups in _NEEDS.values():
        literals.update(*groups)
    return Anchors(literals - SHAPES.keys(), SHAPES)


def _numbers(there: frozenset[str]) -> list[int]:
    """The numbers of the rules that may find something, in their order."""
    by_anchor = _by_anchor()
    return sorted(set(by_anchor[""]).union(*[by_anchor[anchor] for anchor in there & by_anchor.keys()]))


@lru_cache(maxsize=1)
def _by_anchor() -> Mapping[str, tuple[int, ...]]:
    """The numbers of the rules that begin with an anchor, or else need it; under an empty word those that follow a mark."""
    out: dict[str, list[int]] = {"": []}
    for number, rule in enumerate(RULES):
        anchors = rule.stems.parts if rule.stems else rule.needs[0] if rule.needs else ("",)
        for anchor in anchors:
            out.setdefault(anchor, []).append(number)
    return MappingProxyType({anchor: tuple(numbers) for anchor, numbers in out.items()})


def _replace(rule: SecretRule, looked: Looked, found: Counter[str]) -> str:
    """The text with the rule's secrets replaced."""
    text = looked.text

    def put(match: re.Match[str]) -> str:
        if MARK in match["secret"] or not rule.accept(match):
            return match[0]
        found[rule.kind] += 1
        start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
        return f"{match[0][:start]}{MARK}{rule.kind}]{match[0][end:]}"

    if rule.stems is None:
        return rule.pattern.sub(put, text)
    out, at = [], 0
    for start in looked.positions(rule.stems):
        looked.deadline.check()
        if start >= at and (match := rule.pattern.match(text, start)) is not None:
            out += [text[at:start], put(match)]
            at = match.end()
    return "".join([*out, text[at:]]) if out else text


def _cut(text: str, spans: Iterable[Span], kind: str, found: Counter[str]) -> str:
    """The text with these stretches replaced; they come in order and don't overlap."""
    return _cut_kinds(text, ((start, end, kind) for start, end in spans), found)


def _cut_kinds(text: str, spans: Iterable[tuple[int, int, str]], found: Counter[str]) -> str:
    out, at = [], 0
    for start, end, kind in spans:
        out += [text[at:start], f"{MARK}{kind}]"]
        at = end
        found[kind] += 1
    return "".join([*out, text[at:]]) if out else text


# Keys that are split

_KEY_WORDS = frozenset(PREFIX_WORDS.split())
# Zero-width signs and soft hyphens, between signs that keys are made of.
_HIDDEN = re.compile("(?<=[!-~])[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{1,8}(?=[!-~])")
_QUOTES_BETWEEN = (
    r"[\"']\s{0,3}(?:[+.&~]|<>|\|\|){0,2}\s{0,3}(?:\\?\r?\n[ \t]{0,12})?[+.&]?[ \t]{0,3}[\"']|"
    r"[\"'];?\s{0,3}\n\s{0,12}[\w.$]{1,40}\s{0,3}\+=\s{0,3}[\"']|"
    r"[\"']\s{0,3},\s{0,3}[\"']"
)
# A line's end with what editors, terminals, quotations and diffs put before and after it.
_LINE_BETWEEN = (
    r"=?[ \t]{0,4}[│|]?\r?\n(?:[ \t]{0,8}\d{1,5}[\t:|→ ]{1,4})?[ \t>|│+#*]{0,12}"
    r"(?=[\w+/=.-]{4,200}[\"'`,;.)]{0,3}[ \t]{0,3}[│|]?(?:\r?\n|$))"
)
_JOINT = rf"(?:{_QUOTES_BETWEEN}|\\\r?\n[ \t]{{0,12}}|<wbr\s?/?>|{_LINE_BETWEEN})"
_SPLIT = re.compile(rf"(?<![A-Za-z0-9_/-])(?<![^\n]\+){KEY_START}[\w+/=.-]{{0,300}}?(?:{_JOINT}[\w+/=.-]{{1,300}}){{1,8}}")
_JOINTS = re.compile(_JOINT)
_RANDOM = re.compile(r"\d")
_ANOTHER = re.compile(KEY_START)


def _without_hidden(text: str) -> str:
    """Without signs that have no shape, where they stand inside of a run: they are put there by copying, or to hide a key."""
    return text if text.isascii() else _HIDDEN.sub("", text)


def _split_keys(text: str) -> list[Span]:
    return [match.span() for match in _SPLIT.finditer(text) if _is_split_key(match[0])]


def _is_split_key(text: str) -> bool:
    """Whether the parts make a key together, and the last part belongs to it: the next line may be a word of its own."""
    parts = _JOINTS.split(text)
    if MARK in text or not PREFIXED.match("".join(parts)) and not "".join(parts).startswith("eyJ"):
        return False
    return all((_RANDOM.search(part) or part.isupper() or not is_wordy(part)) and not _ANOTHER.match(part) for part in parts[1:])


# Blocks of private keys

_BLOCK_WORDS = frozenset({"----", "private-lines:", "<body>"})
_EDGE = re.compile(r"-----?[ ]?(BEGIN|END) ([A-Z0-9 ]{0,40}?)(?: BLOCK)?[ ]?-----?")
_GAP = r"(?:\s|\\[nr]|\[…\]|[>|])"
_BODY = re.compile(rf"(?:{_GAP}{{0,16}}[A-Za-z0-9+/=]{{16,4000}}){{1,400}}(?:{_GAP}{{1,16}}[A-Za-z0-9+/=]{{1,64}}\b)?")
_FULL_RUN = 16
_RUN_AT_END = re.compile(r"[A-Za-z0-9+/=]{1,100}\Z")
_LINES = re.compile(
    r"(?:(?<=\n)|(?<=\\n)|\A)[ \t>|]{0,8}(?P<secret>(?P<first>[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70})(?:\\n|\r?\n)"
    r"(?:[ \t>|]{0,8}[A-Za-z0-9+/]{64,70}(?:\\n|\r?\n|$)){1,200}(?:[ \t>|]{0,8}[A-Za-z0-9+/]{1,70}={0,2}(?=\s|\\n|$))?)"
)
_PUTTY = re.compile(r"Private-Lines: \d{1,3}\r?\n(?P<secret>(?:[A-Za-z0-9+/=]{1,64}\r?\n?){1,100})")
MOST_OF_A_KEY = 20_000
_HEAD_OF_A_LINE = 200


def _key_blocks(text: str) -> list[Span]:
    """Private keys with their marks, with one of them (long outputs are cut in the middle), or as bare lines."""
    edges = [edge for edge in _EDGE.finditer(text) if "PRIVATE KEY" in edge[2]] if "----" in text else []
    spans: list[Span] = []
    at = 0
    for number, edge in enumerate(edges):
        if edge.start() < at:
            continue
        after = edges[number + 1] if number + 1 < len(edges) else None
        if edge[1] == "BEGIN":
            closed = after is not None and after[1] == "END" and after.start() - edge.end() <= MOST_OF_A_KEY
            body = _BODY.match(text, edge.end(), edge.end() + MOST_OF_A_KEY)
            if closed and after is not None:
                spans.append((edge.start(), after.end()))
            elif body is not None:
                spans.append((edge.start(), body.end()))
            else:
                continue
        else:
            start = _start_of_tail(text, edge.start(), at)
            if start == edge.start():
                continue
            spans.append((start, edge.end()))
        at = spans[-1][1]
    return _merged(spans, _bare_lines(text))


def _start_of_tail(text: str, end: int, least: int) -> int:
    """Where the body before an END mark begins, whose BEGIN was cut off; `end` when there is none."""
    least = max(least, end - MOST_OF_A_KEY)
    start, shortest, seen = end, 1, False
    while run := _last_run(text, least, _without_gap(text, start, least)):
        if len(run[0]) < shortest:
            at_line = run.start() == least or text[run.start() - 1] in "\n]"
            return (run.start() if at_line else start) if seen else end  # half a line, where the cut was
        start, shortest, seen = run.start(), _FULL_RUN, seen or len(run[0]) >= _FULL_RUN
    return start if seen else end


def _last_run(text: str, least: int, end: int) -> re.Match[str] | None:
    return _RUN_AT_END.search(text, max(least, end - 100), end)


def _without_gap(text: str, end: int, least: int) -> int:
    """The end without the spaces and line ends before it, also those that are written as signs."""
    while end > least and (text[end - 1] in " \t\r\n>|" or text.endswith(("\\n", "\\r"), least, end)):
        end -= 1 if text[end - 1] in " \t\r\n>|" else 2
    return end


def _bare_lines(text: str) -> list[Span]:
    found = [(match.start("secret"), match.end("secret")) for match in _LINES.finditer(text) if _is_bare_key(text, match)]
    if "Private-Lines" in text:
        found += [(match.start("secret"), match.end("secret")) for match in _PUTTY.finditer(text)]
    return sorted(found)


def _is_bare_key(text: str, match: re.Match[str]) -> bool:
    """Certificates, public keys and pictures look alike: their first line or what stands before says so."""
    first, before = match["first"], text[max(0, match.start() - _HEAD_OF_A_LINE) : match.start()].casefold()
    if any(
        word in before
        for word in ("certificate", "public key", "base64,", "image/", "signature", "csr-----", "ssh-rsa", "content-transfer")
    ):
        return False
    if any(len(set(first[i : i + 16])) <= 4 for i in range(0, 48, 16)):  # noqa: PLR2004 - padding, drawings
        return False
    return any(c.isdigit() for c in first) and any(c.isupper() for c in first) and any(c.islower() for c in first)


def _merged(first: list[Span], second: list[Span]) -> list[Span]:
    out: list[Span] = []
    for start, end in sorted([*first, *second]):
        if not out or start >= out[-1][1]:
            out.append((start, end))
    return out


# detect-secrets

# Left out: noise in sessions, what the rules do, and patterns whose time grows with the square of the text.
_UNUSED_DETECTORS = frozenset(
    {
        "Base64 High Entropy String",
        "Hex High Entropy String",
        "Secret Keyword",
        "Public IP (ipv4)",
        "Basic Auth Credentials",
        "JSON Web Token",
        "NPM tokens",
        "OpenAI Token",
        "Private Key",
    }
)
_SHORTEST_FOUND = 10
_DIGIT = re.compile(r"[0-9]")
# What a text must hold for a detector to be asked, one of each group. One that is not named here is always asked.
_NEEDS: Mapping[str, tuple[frozenset[str], ...]] = MappingProxyType(
    {
        kind: tuple(frozenset(group.split()) for group in groups)
        for kind, groups in {
            "artifactory-credentials": ("<artifactory>",),
            "aws-access-key": ("akia asia abia acca a3t aws",),
            "azure-storage-account-access-key": ("accountkey=",),
            "cloudant-credentials": ("cl_ cl- clou clkey clap clpw clpass cltoken", "key pwd pw pass token cloudant.com"),
            "discord-bot-token": ("<discord>",),
            "github-token": ("ghp_ gho_ ghu_ ghs_ ghr_",),
            "gitlab-token": ("glpat gldt glft glsoat glrt gr1348941 glcbt glimt glptt glagent gloas",),
            "ibm-cloud-iam-key": ("ibm iam cloud", "key pwd pass token"),
            "ibm-cos-hmac-credentials": ("secret", "key"),
            "mailchimp-access-key": ("<mailchimp>",),
            "pypi-token": ("pypi-",),
            "sendgrid-api-key": ("sg.",),
            "slack-token": ("xox hooks.slack",),
            "softlayer-credentials": ("softlayer sl_ sl- slkey slap slpw slpass sltoken", "key pwd pw pass token"),
            "square-oauth-secret": ("sq0",),
            "stripe-access-key": ("k_live_",),
            "telegram-bot-token": ("<telegram>",),
            "twilio-api-key": ("<twilio>",),
        }.items()
    }
)


@lru_cache(maxsize=1)
def _detectors() -> tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]:
    """The patterns of detect-secrets that are used, with their kinds. None of its detectors is run: no network."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    classes: Mapping[str, Any] = get_mapping_from_secret_type_to_class()
    wanted = ((name, kind()) for name, kind in sorted(classes.items()) if name not in _UNUSED_DETECTORS)
    return tuple((_slug(name), tuple(getattr(detector, "denylist", ()))) for name, detector in wanted)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


def _detect(looked: Looked, found: Counter[str]) -> str:
    """What detect-secrets finds on top."""
    text = looked.text
    for kind, patterns in _detectors():
        looked.deadline.check()
        if all(map(looked.has, _NEEDS.get(kind, ()))):
            for pattern in patterns:
                text = _cut(text, _matches(pattern, text), kind, found)
    return text


def _matches(pattern: re.Pattern[str], text: str) -> list[Span]:
    """Where the pattern's secrets stand: its groups as the library takes them, or all of a match without groups."""
    out = []
    for match in pattern.finditer(text):
        group = next((number for number in range(1, pattern.groups + 1) if match[number]), 0)
        start, end = match.span(group)
        if group and match[group].isalpha() and len(match[group]) < _SHORTEST_FOUND:
            start, end = match.span()  # a group that only names the prefix
        start += len(text[start:end]) - len(text[start:end].lstrip("\"'=: \t\r\n"))
        end -= len(text[start:end]) - len(text[start:end].rstrip("\"'=: \t\r\n"))
        secret = text[start:end]
        if len(secret) >= _SHORTEST_FOUND and MARK not in secret and _DIGIT.search(secret) and not secret.endswith("EXAMPLE"):
            out.append((start, end))
    return out


# What a person keeps out of memory: `<private>` blocks, and secrets, before any extractor sees a text.

# Signs without a shape of their own, which copying puts between letters.
_INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
_OPENING, _CLOSING, _SLASH = "<＜﹤〈⟨‹❮", ">＞﹥〉⟩›❯", "/／∕⁄"
_SPACING = rf"[\s\\{_INVISIBLE}]{{0,8}}"
_LETTERS = (("p", "pｐ"), ("r", "rｒ"), ("i", "iｉ"), ("v", "vｖ"), ("a", "aａ"), ("t", "tｔ"), ("e", "eｅ"))
_NAME = rf"[{_INVISIBLE}]{{0,3}}".join(f"[{spellings}{spellings.upper()}]" for _, spellings in _LETTERS)
_ATTRIBUTES = rf"[^{_OPENING}{_CLOSING}]{{0,300}}"
# The word in other languages, or cut short, which people type by habit; such a tag counts when it is closed.
_OTHER_NAMES = "privates?|privat[oa]?|privad[oa]|privée?|priv|приватное|приватно|личное|私密|隐私|非公開|プライベート|비공개"
# What people call such a block; behind another word (`<private-key>`) a tag counts when it is closed.
_NOTE = (
    "notes?|texts?|stuff|parts?|info|sections?|blocks?|data|bits?|only|memos?|messages?|comments?|contents?|things?|details?|"
    "notiz(?:en)?|begin|start"
)
_PRIVATE = re.compile(
    rf"(?:(?P<comment>(?:[{_OPENING}]|&lt;)[!！][-–—]{{1,4}})|(?P<angle>[{_OPENING}]|&lt;|&#60;)|(?P<square>[\[［【《])|(?P<curly>[{{｛]))"
    rf"{_SPACING}(?P<close>(?:[{_SLASH}]{_SPACING}|(?i:end|ende|fin|close)[\s:_-]{{1,3}})?)(?i:(?:begin|start)[\s:_-]{{1,3}})?"
    rf"(?:{_NAME}|(?P<other>(?i:{_OTHER_NAMES})))(?:[\s_-](?i:{_NOTE})(?!\w)|(?P<behind>[_-]\w{{1,30}}))?"
    rf"(?P<rest>(?:{_SPACING}[{_SLASH}]{{0,1}}[-–—]{{0,4}}|[\s{_INVISIBLE}:=;,.!?|(*~]{_ATTRIBUTES}))"
    rf"(?:(?P<end>(?(square)[\]］】》]|(?(curly)[}}｝]|(?:[{_CLOSING}]|&gt;|&#62;))))|(?(angle)(?<=[\s:])(?!{_ATTRIBUTES}[{_CLOSING}])|(?!)))"
)
_FAMILIES = ("comment", "angle", "square", "curly")
_WORD = re.compile(r"\w")
_SIGN_OF_ATTRIBUTE = re.compile("[:=;,.!?|]")
_BEGINS_HERE = re.compile(r"(?:(?:\A|\n)[ \t>*#+-]{0,12}|[.!?:;。！？：；]\s{0,3})\Z")
_HEAD = 16
_LINKS = ("(", "[", ":")


def strip_private(text: str) -> str:
    """Without `<private>` blocks, however they are spelled; one that is never closed reaches to the end. Blocks may be nested."""
    return "".join(_outside(text, to_the_end=True))


def strip_whole_private(text: str) -> str:
    """Without the blocks that are closed: in a text that is not the user's, a lone tag is only talked about."""
    return "".join(_outside(text, to_the_end=False))


def _outside(text: str, *, to_the_end: bool) -> Iterator[str]:
    """The stretches outside of blocks. A tag is closed by one in the same kind of brackets."""
    found = [(match, _family(match)) for match in _PRIVATE.finditer(text)] if _may_hold_private(text) else []
    last_close = {family: match.start() for match, family in found if match["close"]}
    depth: Counter[str] = Counter()
    start = 0
    for match, family in found:
        if not match["close"] and match.start() > last_close.get(family, -1) and not _counts_alone(match, family):
            continue
        if not any(depth.values()):
            yield text[start : match.start()]
            start = match.start()
        depth[family] = max(0, depth[family] - 1) if match["close"] else depth[family] + 1
        if not any(depth.values()):
            start = match.end()
    if not any(depth.values()) or not to_the_end:
        yield text[start:]


def _family(match: re.Match[str]) -> str:
    return next(name for name in _FAMILIES if match[name])


def _counts_alone(match: re.Match[str], family: str) -> bool:
    """Whether an opening tag that is never closed is one: `<private key>` may be a placeholder, `[private]` a word."""
    text = match.string
    before = text[max(0, match.start() - _HEAD) : match.start()]
    if match["other"] or match["behind"]:
        return False
    if family == "comment":
        return True
    words_only = _WORD.search(match["rest"]) and not _SIGN_OF_ATTRIBUTE.search(match["rest"])
    if not match["end"]:  # without its last bracket: "<private my salary"
        return not before or before[-1].isspace()
    if words_only:
        return False
    if family == "angle":
        return True
    return _BEGINS_HERE.search(before) is not None and not text.startswith(_LINKS, match.end())


def _may_hold_private(text: str) -> bool:
    """Whether a text holds what every tag needs; most texts don't, and are not walked through sign by sign."""
    if not any(sign in text for sign in (*_OPENING, "&lt;", "&#60;", *"[［【《{｛")):
        return False
    return not text.isascii() or "priv" in text.lower()


def redacted_passage(passage: Passage) -> Passage:
    """The passage with each turn redacted as a whole: once a text is cut, half a secret is not recognised."""
    return replace(passage, turns=_redacted(passage.turns), context=_redacted(passage.context))


def _redacted(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    return tuple(replace(turn, text=redact(turn.text).text, detail=redact(turn.detail).text) for turn in turns)
