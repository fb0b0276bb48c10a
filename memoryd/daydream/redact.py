"""Remove secrets from a text before any of it is stored or sent.

Eight detectors run in this order: split keys (by line ends, concatenation or invisible characters), blocks of private
keys, our own patterns (`secret_rules`), hints from nearby words (`secret_words`), values of named credentials
(`secret_walk`), the detectors of detect-secrets, values that look like secrets (`secret_context`), and a trained
network (`secret_network`). A single pass (`secret_values.Anchors`) determines which detectors could find anything in
the text. The entropy, keyword and IP detectors of detect-secrets are off because they mistake git hashes, identifiers
and addresses for secrets.

All detectors run in linear time. They never log or verify what they find.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from memoryd.core.deadline import NEVER, Deadline
from memoryd.core.types import Passage, Turn
from memoryd.daydream.secret_context import ANCHORS as LOOKS
from memoryd.daydream.secret_context import find_in_context
from memoryd.daydream.secret_network import ANCHORS as ACCESS_WORDS
from memoryd.daydream.secret_network import find_by_network
from memoryd.daydream.secret_rules import KEY_START, MARK, PREFIX_WORDS, PREFIXED, RULES, SHAPES, SecretRule
from memoryd.daydream.secret_values import Anchors, ScannedText, is_described, is_mixed, is_wordy
from memoryd.daydream.secret_walk import ANCHORS as NAMES
from memoryd.daydream.secret_walk import find_named
from memoryd.daydream.secret_words import ANCHORS, find_by_words

# Adjacent secrets may hide each other, so a text is searched repeatedly. Only artificial texts need more rounds than this.
MAX_ROUNDS = 6
MAX_KNOWN_CLEAN = 10_000
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without secrets, and the number of secrets by kind (never the secrets themselves)."""

    text: str
    found: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


def redact(text: str, deadline: Deadline = NEVER) -> Redacted:
    """Replace each secret in the text with `[redacted:<kind>]`.

    Idempotent. Raises TooSlowError.
    """
    clean = _clean()
    if clean.has(text):
        return Redacted(text)
    finds = _Finds()
    for _ in range(MAX_ROUNDS):
        before, text = text, finds.without_repeats(_round(text, finds, deadline))
        if text == before:
            clean.add(text)
            break
    return Redacted(text, MappingProxyType(dict(finds.kinds)))


class _Finds:
    """The secrets found in a text: how many of each kind, and those that are replaced wherever they occur again."""

    def __init__(self) -> None:
        self.kinds = Counter[str]()
        self._values = set[str]()

    def add(self, kind: str, value: str) -> None:
        """Count a secret."""
        self.kinds[kind] += 1
        distinct = _SHORTEST_REPEATED <= len(value) <= _LONGEST_REPEATED and not any(c.isspace() for c in value)
        if distinct and is_mixed(value) and len(self._values) < _MOST_REPEATED:
            self._values.add(value)

    def without_repeats(self, text: str) -> str:
        """Replace other occurrences of the values found, where nothing around them shows that they are secrets."""
        again = [value for value in self._values if value in text]
        if not again:
            return text
        pattern = "|".join(re.escape(value) for value in sorted(again, key=len, reverse=True))
        return re.sub(rf"(?<![\w-])(?:{pattern})(?![\w-])", self._repeat, text)

    def _repeat(self, _match: re.Match[str]) -> str:
        self.kinds["repeated"] += 1
        return f"{MARK}repeated]"


_SHORTEST_REPEATED, _LONGEST_REPEATED, _MOST_REPEATED = 8, 200, 40


def redact_output(text: str, deadline: Deadline = NEVER) -> Redacted:
    """Redact the output of a command that `prints_secret`. A value at its start is a secret even without a name."""
    done = redact(_PRINTING + text, deadline)
    return Redacted(done.text.removeprefix(_PRINTING), done.found)


_PRINTING = "$ pass show it\n"


class _Clean:
    """Remembers, by hash, which recent texts contain no secret.

    This saves time because each turn is checked twice: when it is read, and before it is stored or sent.
    """

    def __init__(self) -> None:
        self._known = set[tuple[int, int]]()

    def has(self, text: str) -> bool:
        return (len(text), hash(text)) in self._known

    def add(self, text: str) -> None:
        if len(self._known) >= MAX_KNOWN_CLEAN:
            self._known = set()
        self._known.add((len(text), hash(text)))


@lru_cache(maxsize=1)
def _clean() -> _Clean:
    return _Clean()


def storable_text(text: str, *, typed: bool = False) -> Redacted:
    """Return the storable part of a statement, without secrets and private blocks.

    An unclosed block counts only if a person typed the text.
    """
    public = strip_private(text) if typed else strip_whole_private(text)
    safe = redact(public)
    return safe if public == text else Redacted(safe.text.strip(), MappingProxyType({**safe.found, "private": 1}))


def left_out(found: Mapping[str, int]) -> dict[str, str]:
    """Return a notice for whoever provided a text with secrets.

    Returns an empty string if the text had none.
    """
    if not found:
        return {}
    if set(found) == {"private"}:
        return {"left_out_secrets": "The content of <private> was left out."}
    number, kinds = sum(found.values()), ", ".join(sorted(found))
    what = "A secret was" if number == 1 else f"{number} secrets were"
    return {"left_out_secrets": f"{what} left out ({kinds}); replaced by [redacted:…]. Keep secrets in a password store."}


def says_something(text: str) -> bool:
    """Return whether a redacted text contains more than redaction marks."""
    return any(c.isalnum() for c in _A_MARK.sub("", text))


_A_MARK = re.compile(r"\[redacted:[a-z0-9-]{1,60}\]")


def _round(text: str, finds: _Finds, deadline: Deadline, *, network: bool = True) -> str:
    text = _without_hidden(text)
    scanned = ScannedText(text, _anchors().within(text), deadline)
    if scanned.has(_KEY_WORDS):
        scanned = scanned.changed(_cut(text, _split_keys(text), "api-key", finds))
    if scanned.has(_BLOCK_WORDS):
        scanned = scanned.changed(_cut(scanned.text, _key_blocks(scanned.text), "private-key", finds))
    for number in _numbers(scanned.there):
        deadline.check()
        rule = RULES[number]
        if all(map(scanned.has, rule.needs) if rule.needs or rule.stems else (MARK in scanned.text,)):
            scanned = scanned.changed(_replace(rule, scanned, finds))
    scanned = scanned.changed(_cut_kinds(scanned.text, find_by_words(scanned), finds))
    scanned = scanned.changed(_cut_kinds(scanned.text, find_named(scanned), finds))
    scanned = scanned.changed(_detect(scanned, finds))
    text = _cut_kinds(scanned.text, find_in_context(scanned), finds)
    return _cut_kinds(text, find_by_network(scanned.changed(text)), finds) if network else text


def has_secret_by_rules(text: str) -> bool:
    """Return whether a detector other than the network finds a secret."""
    return _round(text, _Finds(), NEVER, network=False) != text


def scan(text: str) -> ScannedText:
    """Scan the text for the literals required by the detectors."""
    return ScannedText(text, _anchors().within(text))


@lru_cache(maxsize=1)
def _anchors() -> Anchors:
    """Return the anchors of all detectors, for a single search pass."""
    literals = {*_KEY_WORDS, *_BLOCK_WORDS, *ANCHORS, *NAMES, *LOOKS, *ACCESS_WORDS}
    for rule in RULES:
        literals.update(*rule.needs, rule.stems.parts if rule.stems else ())
    for groups in _NEEDS.values():
        literals.update(*groups)
    return Anchors(literals - SHAPES.keys(), SHAPES)


def _numbers(there: frozenset[str]) -> list[int]:
    """Return the numbers of the rules that may match, in order."""
    by_anchor = _by_anchor()
    return sorted(set(by_anchor[""]).union(*[by_anchor[anchor] for anchor in there & by_anchor.keys()]))


@lru_cache(maxsize=1)
def _by_anchor() -> Mapping[str, tuple[int, ...]]:
    """Return, for each anchor, the numbers of the rules that start with it or require it.

    Rules that follow a redaction mark are listed under an empty string.
    """
    out: dict[str, list[int]] = {"": []}
    for number, rule in enumerate(RULES):
        anchors = rule.stems.parts if rule.stems else rule.needs[0] if rule.needs else ("",)
        for anchor in anchors:
            out.setdefault(anchor, []).append(number)
    return MappingProxyType({anchor: tuple(numbers) for anchor, numbers in out.items()})


def _replace(rule: SecretRule, scanned: ScannedText, finds: _Finds) -> str:
    """Replace the secrets that the rule finds in the text."""
    text = scanned.text

    def put(match: re.Match[str]) -> str:
        if MARK in match["secret"] or _is_in_mark(match) or not rule.accept(match):
            return match[0]
        if rule.kind in _NAMED_KINDS and is_described(match.string, match.start("secret")):
            return match[0]
        finds.add(rule.kind, match["secret"])
        start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
        return f"{match[0][:start]}{MARK}{rule.kind}]{match[0][end:]}"

    if rule.stems is None:
        return rule.pattern.sub(put, text)
    out, at = [], 0
    for start in scanned.positions(rule.stems):
        scanned.deadline.check()
        if start < at or (match := rule.pattern.match(text, start)) is None:
            continue
        changed = put(match)
        if changed != match[0] or "\n" not in match[0]:  # A rejected match must not hide a secret on its next line.
            out += [text[at:start], changed]
            at = match.end()
    return "".join([*out, text[at:]]) if out else text


def _is_in_mark(match: re.Match[str]) -> bool:
    """Return whether the match begins in a redaction mark, whose kind is not the name of what follows."""
    return match.string.startswith(MARK, match.start() - len(MARK)) if match.start() >= len(MARK) else False


# Kinds that are found by the name of a value, not by its look.
_NAMED_KINDS = frozenset(("assignment", "password", "key", "header"))


def _cut(text: str, spans: Iterable[Span], kind: str, finds: _Finds) -> str:
    """Replace these spans of the text. They must be in order and must not overlap."""
    return _cut_kinds(text, ((start, end, kind) for start, end in spans), finds)


def _cut_kinds(text: str, spans: Iterable[tuple[int, int, str]], finds: _Finds) -> str:
    out, at = [], 0
    for start, end, kind in spans:
        out += [text[at:start], f"{MARK}{kind}]"]
        at = end
        finds.add(kind, text[start:end])
    return "".join([*out, text[at:]]) if out else text


# Keys split into parts

_KEY_WORDS = frozenset(PREFIX_WORDS.split())
# Zero-width characters and soft hyphens between the characters of a key.
_HIDDEN = re.compile("(?<=[!-~])[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{1,8}(?=[!-~])")
_QUOTES_BETWEEN = (
    r"[\"']\s{0,3}(?:[+.&~]|<>|\|\|){0,2}\s{0,3}(?:\\?\r?\n[ \t]{0,12})?[+.&]?[ \t]{0,3}[\"']|"
    r"[\"'];?\s{0,3}\n\s{0,12}[\w.$]{1,40}\s{0,3}\+=\s{0,3}[\"']|"
    r"[\"']\s{0,3},\s{0,3}[\"']"
)
# A line end, with the characters that editors, terminals, quotes and diffs add around it.
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
    """Remove invisible characters inside a run of characters.

    They result from copying or are meant to hide a key.
    """
    return text if text.isascii() else _HIDDEN.sub("", text)


def _split_keys(text: str) -> list[Span]:
    return [match.span() for match in _SPLIT.finditer(text) if _is_split_key(match[0])]


def _is_split_key(text: str) -> bool:
    """Return whether the parts form a key that includes the last part.

    The last part may also be a separate word on the next line.
    """
    parts = _JOINTS.split(text)
    if MARK in text or not PREFIXED.match("".join(parts)) and not "".join(parts).startswith("eyJ"):
        return False
    return all(_may_go_on(before, part) for before, part in pairwise(parts))


def _may_go_on(before: str, part: str) -> bool:
    """Return whether a part may belong to the key in the previous part. The second part of a JWT begins like the first."""
    if _ANOTHER.match(part):
        return before.endswith(".") and part.startswith("eyJ")
    return _RANDOM.search(part) is not None or part.isupper() or not is_wordy(part)


# Blocks of private keys

_BLOCK_WORDS = frozenset({"----", "private-lines:", "<body>"})
_EDGE = re.compile(r"-----?[ ]?(BEGIN|END) ([A-Z0-9 ]{0,40}?)(?: BLOCK)?[ ]?-----?")
_GAP = r"(?:\s|\\[nr]|\[…\]|[>|])"
_BODY = re.compile(rf"(?:{_GAP}{{0,16}}[A-Za-z0-9+/=]{{16,4000}}){{1,400}}(?:{_GAP}{{1,16}}[A-Za-z0-9+/=]{{1,64}}\b)?")
_FULL_RUN = 16
_OF_A_BODY = re.compile(r"[A-Za-z0-9+/=]{12}")
_RUN_AT_END = re.compile(r"[A-Za-z0-9+/=]{1,100}\Z")
_LINES = re.compile(
    r"(?:(?<=\n)|(?<=\\n)|\A)[ \t>|]{0,8}(?P<secret>(?P<first>[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70})(?:\\n|\r?\n)"
    r"(?:[ \t>|]{0,8}[A-Za-z0-9+/]{64,70}(?:\\n|\r?\n|$)){1,200}(?:[ \t>|]{0,8}[A-Za-z0-9+/]{1,70}={0,2}(?=\s|\\n|$))?)"
)
_PUTTY = re.compile(r"Private-Lines: \d{1,3}\r?\n(?P<secret>(?:[A-Za-z0-9+/=]{1,64}\r?\n?){1,100})")
MAX_KEY_CHARACTERS = 20_000
_HEAD_OF_A_LINE = 200


def _key_blocks(text: str) -> list[Span]:
    """Return the spans of private keys.

    A key may have both marks, only one of them (long outputs are cut in the middle), or consist of bare lines.
    """
    edges = [edge for edge in _EDGE.finditer(text) if "PRIVATE KEY" in edge[2]] if "----" in text else []
    spans: list[Span] = []
    at = 0
    for number, edge in enumerate(edges):
        if edge.start() < at:
            continue
        after = edges[number + 1] if number + 1 < len(edges) else None
        if edge[1] == "BEGIN":
            closed = after is not None and after[1] == "END" and after.start() - edge.end() <= MAX_KEY_CHARACTERS
            if closed and after is not None and _OF_A_BODY.search(text, edge.end(), after.start()) is None:
                continue  # Only dots or a placeholder are between the marks.
            body = _BODY.match(text, edge.end(), edge.end() + MAX_KEY_CHARACTERS)
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
    """Return the start of the body before an END mark whose BEGIN mark was cut off, or `end` if there is none."""
    least = max(least, end - MAX_KEY_CHARACTERS)
    start, shortest, seen = end, 1, False
    while run := _last_run(text, least, _without_gap(text, start, least)):
        if len(run[0]) < shortest:
            at_line = run.start() == least or text[run.start() - 1] in "\n]"
            return (run.start() if at_line else start) if seen else end  # Half a line, where the text was cut.
        start, shortest, seen = run.start(), _FULL_RUN, seen or len(run[0]) >= _FULL_RUN
    return start if seen else end


def _last_run(text: str, least: int, end: int) -> re.Match[str] | None:
    return _RUN_AT_END.search(text, max(least, end - 100), end)


def _without_gap(text: str, end: int, least: int) -> int:
    """Return the end of the text without trailing whitespace, whether literal or escaped."""
    while end > least and (text[end - 1] in " \t\r\n>|" or text.endswith(("\\n", "\\r"), least, end)):
        end -= 1 if text[end - 1] in " \t\r\n>|" else 2
    return end


def _bare_lines(text: str) -> list[Span]:
    found = [(match.start("secret"), match.end("secret")) for match in _LINES.finditer(text) if _is_bare_key(text, match)]
    if "Private-Lines" in text:
        found += [(match.start("secret"), match.end("secret")) for match in _PUTTY.finditer(text)]
    return sorted(found)


def _is_bare_key(text: str, match: re.Match[str]) -> bool:
    """Return whether the lines are a private key rather than a certificate, a public key or an image.

    This is judged by the first line and the text before it.
    """
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

# Excluded because they cause noise in sessions, are covered by the rules, or have patterns with quadratic time.
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
# Literals required by each detector: the text must contain one from each group. Detectors not listed always run.
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
    """Return the detect-secrets patterns in use, with the kind of secret that each one finds.

    The detectors themselves are not run, because they use the network.
    """
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    classes: Mapping[str, Any] = get_mapping_from_secret_type_to_class()
    wanted = ((name, kind()) for name, kind in sorted(classes.items()) if name not in _UNUSED_DETECTORS)
    return tuple((_slug(name), tuple(getattr(detector, "denylist", ()))) for name, detector in wanted)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


def _detect(scanned: ScannedText, finds: _Finds) -> str:
    """Redact secrets that only detect-secrets finds."""
    text = scanned.text
    for kind, patterns in _detectors():
        scanned.deadline.check()
        if all(map(scanned.has, _NEEDS.get(kind, ()))):
            for pattern in patterns:
                text = _cut(text, _matches(pattern, text), kind, finds)
    return text


_EXAMPLE_ENDS = ("EXAMPLE", "XXXX")


def _matches(pattern: re.Pattern[str], text: str) -> list[Span]:
    """Return the spans of the secrets that the pattern matches.

    These are its groups, as in the library, or the whole match if there are none.
    """
    out = []
    for match in pattern.finditer(text):
        group = next((number for number in range(1, pattern.groups + 1) if match[number]), 0)
        start, end = match.span(group)
        if group and match[group].isalpha() and len(match[group]) < _SHORTEST_FOUND:
            start, end = match.span()  # The group only contains the prefix.
        start += len(text[start:end]) - len(text[start:end].lstrip("\"'=: \t\r\n"))
        end -= len(text[start:end]) - len(text[start:end].rstrip("\"'=: \t\r\n"))
        secret = text[start:end]
        if (
            len(secret) >= _SHORTEST_FOUND
            and MARK not in secret
            and _DIGIT.search(secret)
            and not secret.upper().endswith(_EXAMPLE_ENDS)
        ):
            out.append((start, end))
    return out


# Private text. `<private>` blocks and secrets are removed before any extractor sees a text.

# Invisible characters that copying may insert between letters.
_INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
_OPENING, _CLOSING, _SLASH = "<＜﹤〈⟨‹❮", ">＞﹥〉⟩›❯", "/／∕⁄"
_SQUARE, _SQUARE_END = r"\[［【《「『", r"\]］】》」』"
_SPACING = rf"[\s\\{_INVISIBLE}]{{0,8}}"
_LETTERS = (("p", "pｐ"), ("r", "rｒ"), ("i", "iｉ"), ("v", "vｖ"), ("a", "aａ"), ("t", "tｔ"), ("e", "eｅ"))
_NAME = rf"[{_INVISIBLE}]{{0,3}}".join(f"[{spellings}{spellings.upper()}]" for _, spellings in _LETTERS)
_ATTRIBUTES = rf"[^{_OPENING}{_CLOSING}]{{0,300}}"
# The word with one typing error, in other languages, or abbreviated. Such a tag counts only if it is closed.
_MISSPELT = (
    *("rivate", "pivate", "prvate", "priate", "privte", "privae"),
    *("rpivate", "pirvate", "prviate", "priavte", "privtae", "privaet"),
    *("pprivate", "prrivate", "priivate", "privvate", "privaate", "privatte", "privatee"),
)
_OTHER_NAMES = (
    "privates?|privat[oa]?|privad[oa]|priv[ée]e?|priv|prywatn[eya]|privát|приватное|приватно|личное|私密|隐私|非公開|プライベート|비공개|"
    + "|".join(_MISSPELT)
)
# Alternative names for such a block. If another word follows (`<private-key>`), the tag counts only if it is closed.
_NOTE = (
    "notes?|texts?|stuff|parts?|info|sections?|blocks?|data|bits?|only|memos?|messages?|comments?|contents?|things?|details?|"
    "notiz(?:en)?|begin|start"
)
_PRIVATE = re.compile(
    rf"(?:(?P<comment>(?:[{_OPENING}]|&lt;)[!！][-–—]{{1,4}})|(?P<angle>[{_OPENING}]|&lt;|&#60;)|(?P<square>[{_SQUARE}])|(?P<curly>[{{｛]))"
    rf"{_SPACING}(?P<close>(?:[{_SLASH}]{_SPACING}|(?i:end|ende|fin|close)[\s:_-]{{1,3}})?)(?i:(?:begin|start)[\s:_-]{{1,3}})?"
    rf"(?:{_NAME}|(?P<other>(?i:{_OTHER_NAMES})))(?:[\s_-](?i:{_NOTE})(?!\w)|(?P<behind>[_-]\w{{1,30}}))?"
    rf"(?P<rest>(?:{_SPACING}[{_SLASH}]{{0,1}}[-–—]{{0,4}}|[\s{_INVISIBLE}:=;,.!?|(*~]{_ATTRIBUTES}))"
    rf"(?:(?P<end>(?(square)[{_SQUARE_END}]|(?(curly)[}}｝]|(?:[{_CLOSING}]|&gt;|&#62;))))|(?(angle)(?<=[\s:])(?!{_ATTRIBUTES}[{_CLOSING}])|(?!)))"
)
# A private aside, which ends with its bracket: "[private: …]".
_ASIDE = re.compile(
    rf"[{_SQUARE}(（{{｛]{_SPACING}(?:{_NAME}|(?i:{_OTHER_NAMES}))\s{{0,2}}[:：]\s{{0,3}}[^\s{_SQUARE_END})）}}｝][^{_SQUARE_END})）}}｝]{{0,2000}}[{_SQUARE_END})）}}｝]"
)
# For each word in tags, the opening character before it and the maximum distance. The pattern above is only tried there.
_PRIVATE_WORD = re.compile(
    rf"{_NAME[: _NAME.index('[vｖ')]}[vｖVＶ]|(?i:prywatn|{'|'.join(_MISSPELT)})|"
    r"[пП]риватн|ПРИВАТН|[лЛ]ичное|ЛИЧНОЕ|私密|隐私|非公開|プライベート|비공개"
)
# Each name in plain letters contains one of these.
_ASCII_WORDS = ("priv", "rivate", "pivate", "rvate", "priate", "prviate", "priavte", "priiv", "prywatn")
_PLAIN_WORDS = ("приватн", "личное", "私密", "隐私", "非公開", "プライベート", "비공개")
_DISGUISED = re.compile(f"[ｐＰ{_INVISIBLE}]")
_BEGINS_TAG = re.compile(rf"[{_OPENING}{_SQUARE}{{｛]|&lt;|&#60;")
_SIGNS = (*_OPENING, "&lt;", "&#60;", *"[［【《「『{｛(（")
_LONGEST_HEAD = 64
_FAMILIES = ("comment", "angle", "square", "curly")
_WORD = re.compile(r"\w")
_SIGN_OF_ATTRIBUTE = re.compile("[:=;,.!?|]")
_BEGINS_HERE = re.compile(r"(?:(?:\A|\n)[ \t>*#+-]{0,12}|[.!?:;。！？：；]\s{0,3})\Z")
_HEAD = 16
_LINKS = ("(", "[", ":")


def strip_private(text: str) -> str:
    """Remove `<private>` blocks, however they are spelled.

    An unclosed block extends to the end of the text. Blocks may be nested.
    """
    return _without_asides("".join(_outside(text, to_the_end=True)))


def strip_whole_private(text: str) -> str:
    """Remove closed private blocks. In other people's text, an unclosed tag merely mentions the feature."""
    return _without_asides("".join(_outside(text, to_the_end=False)))


def _without_asides(text: str) -> str:
    return _ASIDE.sub("", text) if _may_hold_private(text) else text


def _outside(text: str, *, to_the_end: bool) -> Iterator[str]:
    """Yield the text outside private blocks. A closing tag must have the same kind of brackets as its opening tag."""
    found = [(match, _family(match)) for match in _private_tags(text)] if _may_hold_private(text) else []
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


def _private_tags(text: str) -> Iterator[re.Match[str]]:
    """Yield the tags in order.

    Searching for the words first takes a tenth of the time needed to try every bracket.
    """
    end = 0
    for word in _PRIVATE_WORD.finditer(text):
        for begin in _BEGINS_TAG.finditer(text, max(end, word.start() - _LONGEST_HEAD), word.start()):
            if match := _PRIVATE.match(text, begin.start()):
                end = match.end()
                yield match
                break


def _family(match: re.Match[str]) -> str:
    return next(name for name in _FAMILIES if match[name])


def _counts_alone(match: re.Match[str], family: str) -> bool:
    """Return whether an unclosed tag counts.

    `<private key>` may be a placeholder, and `[private]` may be a word.
    """
    text = match.string
    before = text[max(0, match.start() - _HEAD) : match.start()]
    if match["other"] or match["behind"]:
        return False
    if family == "comment":
        return True
    words_only = _WORD.search(match["rest"]) and not _SIGN_OF_ATTRIBUTE.search(match["rest"])
    if not match["end"]:  # The closing bracket is missing, as in "<private my salary".
        return not before or before[-1].isspace()
    if words_only:
        return False
    if family == "angle":
        return True
    if _ASIDE.match(text, match.start()):
        return False
    return _BEGINS_HERE.search(before) is not None and not text.startswith(_LINKS, match.end())


def _may_hold_private(text: str) -> bool:
    """Quickly check for the words used in tags. Most texts have none of them and are not scanned."""
    if not any(sign in text for sign in _SIGNS):
        return False
    low = text.lower()
    if any(word in low for word in _ASCII_WORDS):
        return True
    return not text.isascii() and (any(word in low for word in _PLAIN_WORDS) or _DISGUISED.search(text) is not None)


def redacted_passage(passage: Passage) -> Passage:
    """Redact each turn of the passage as a whole, because half a secret in a truncated text would not be recognised."""
    return replace(passage, turns=_redacted(passage.turns), context=_redacted(passage.context))


def _redacted(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    return tuple(replace(turn, text=redact(turn.text).text, detail=redact(turn.detail).text) for turn in turns)
