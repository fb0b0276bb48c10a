"""What a secret looks like: a table of patterns, and tests that tell values from placeholders and code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

MARK = "[redacted:"


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern whose group `secret` is a secret when `accept` agrees. One of `words` must occur, in lower case."""

    kind: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    accept: Callable[[re.Match[str]], bool]


_NOT_VALUES = frozenset(
    """none null nil true false undefined string str text bytes int number bool boolean any unknown object optional required
    invalid missing expired valid wrong correct incorrect empty unset default example placeholder redacted hidden secret
    password passwd passphrase token changeme value your here yes no not set removed masked""".split()
)
_TEMPLATE = re.compile(r"^[$%<{(&@*\[]|\$\{|\$\(|\{\{|\.\.\.|…|[()]|\*{3}|x{4,}|^your[-_ ]|^my[-_ ]", re.IGNORECASE)
_LOOKUP = re.compile(
    r"^(?:process|os|env|self|this|config|settings|options|args|req|request)\.|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$"
)
_PATH = re.compile(r"^(?:\.{0,2}/|~/|[A-Za-z]:\\)|^[\w./-]+\.(?:tsx?|jsx?|py|go|rs|md|json|ya?ml|toml|txt|html|css|sh|pem)$")
_KEY_WORD = re.compile(r"password|passwd|passphrase|secret|token|api_?key", re.IGNORECASE)
_SIGNS = frozenset("!#$%^&+=*?@")


def _is_placeholder(value: str) -> bool:
    bare = value.strip("\"'`<>[]{}().,;:!?-_").casefold()
    return bare in _NOT_VALUES or not bare or _TEMPLATE.search(value) is not None or _PATH.search(value) is not None


def _is_mixed(value: str) -> bool:
    """Letters with digits, or with signs that words don't have."""
    letters, digits = any(c.isalpha() for c in value), any(c.isdigit() for c in value)
    return letters and (digits or any(c in _SIGNS for c in value[1:-1]))


def _looks_random(value: str) -> bool:
    """For keys: the longer, the fewer digits are asked for. Names of types hold one digit at most."""
    digits = sum(c.isdigit() for c in value)
    return any(c.isalpha() for c in value) and (digits >= 3 and len(value) >= 8 or digits >= 2 and len(value) >= 12)


def _is_password_key(key: str) -> bool:
    return key.casefold().startswith(("pass", "pwd", "парол", "密码", "kennwort"))


def _always(_match: re.Match[str]) -> bool:
    return True


def _accept_value(match: re.Match[str]) -> bool:
    return not _is_placeholder(match["secret"])


def _accept_told(match: re.Match[str]) -> bool:
    return _accept_value(match) and _is_mixed(match["secret"])


def _accept_with_digit(match: re.Match[str]) -> bool:
    return any(c.isdigit() for c in match["secret"])


def _accept_quoted(match: re.Match[str]) -> bool:
    key, value = match["key"], match["secret"]
    if _is_placeholder(value):
        return False
    if any(c.isspace() for c in value):
        return key.casefold() == "passphrase"
    if _is_password_key(key):
        return _is_mixed(value) or not value.istitle()
    return _looks_random(value)


def _accept_bare(match: re.Match[str]) -> bool:
    """An unquoted value in code is mostly an expression, in prose mostly a word: only what looks random counts."""
    key, value = match["key"], match["secret"]
    if _is_placeholder(value) or _LOOKUP.search(value):
        return False
    if not _is_password_key(key):
        return _looks_random(value)
    tight = match["sep"] == "=" and len(value) >= 6 and _KEY_WORD.search(value) is None
    return tight or _is_mixed(value)


_KEY = (
    r"(?P<key>passw(?:or)?d|passwort|passphrase|pwd|kennwort|пароль|密码|secret|token|api[_-]?key|access[_-]?key|"
    r"secret[_-]?key|private[_-]?key|auth[_-]?key|account[_-]?key|sharedaccesskey|encryption[_-]?key|credentials?)"
)
_KEY_WORDS = "pass pwd kennwort парол 密码 secret token key credential"
_SEPARATOR = r"[\"']?(?P<sep>\s{0,3}(?:=>|:=|[:=：])\s{0,3})"
_TOLD_KEY = r"(?<![\w-])(?P<key>password|passwort|passphrase|passcode|kennwort|пароль|密码|api key|token|secret)"
_IS = r"(?: for [\w.@-]{1,40})?\s{0,2}(?:is|was|ist|lautet|—|-|是|为)\s{0,2}"
_WORD_END = r"(?=[\"'`]?(?:[.,;!?)]*(?:\s|$)|[，。]))"
_OPTION = r"--(?P<key>password|passwd|token|api-key|secret|auth-token|access-token)(?P<sep>[ =])"

_GAP = r"(?:\s|\\[nr]|\[…\])"
_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_B64 = r"[A-Za-z0-9+/=]"
# Long outputs are cut in the middle: the beginning or the end of a key may stand alone.
_KEY_HEAD = rf"(?P<secret>{_BEGIN}(?:(?s:.{{0,20000}}?){_END}|(?:{_GAP}*{_B64}{{16,}})+(?:{_GAP}{{1,4}}{_B64}{{1,64}}\b)?))"
_KEY_TAIL = (
    rf"(?<!{_B64})(?P<secret>(?:{_B64}{{1,64}}{_GAP}{{1,4}})?{_B64}{{16,}}(?:{_GAP}{{1,4}}{_B64}{{1,100}}){{0,60}}{_GAP}*{_END})"
)

_PREFIXED = (
    r"sk-ant-[\w-]{8,}",
    r"sk-(?=[\w-]*\d)(?:[a-z0-9]+-)*[A-Za-z0-9_]{20,}[\w-]*",
    r"gh[pousr]_[A-Za-z0-9]{10,}",
    r"github_pat_[A-Za-z0-9_]{10,}",
    r"xox[a-z]-[\w-]{10,}",
    r"xapp-\d-[\w-]{10,}",
    r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[0-9A-Z]{16}",
    r"AIza[\w-]{30,}",
    r"ya29\.[\w-]{20,}",
    r"gl(?:pat|dt|rt|ft|soat|ptt|agent)-[\w-]{16,}",
    r"npm_[A-Za-z0-9]{20,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"pypi-(?=[\w-]*\d)[\w-]{20,}",
    r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}",
    r"whsec_[A-Za-z0-9+/=]{16,}",
    r"SG\.[\w-]{16,}\.[\w-]{16,}",
    r"do[opr]_v1_[a-f0-9]{32,}",
    r"dckr_pat_[\w-]{16,}",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{20,}",
    r"(?:lin_api|figd|gsk|r8|pscale_tkn|glsa|sntrys|phx|rnd)_(?=[\w-]*\d)[\w-]{20,}",
    r"(?:nvapi|pplx|tskey|xai)-(?=[\w-]*\d)[\w-]{20,}",
    r"hv[sb]\.[\w-]{20,}",
    r"ATATT3[\w=-]{20,}",
    r"AGE-SECRET-KEY-1[0-9A-Z]{20,}",
)
_PREFIX_WORDS = (
    "sk- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ xox xapp- akia asia abia acca a3t aiza ya29. glpat gldt glrt glft glsoat glptt"
    " glagent npm_ hf_ pypi- sk_ rk_ whsec_ sg. _v1_ dckr_pat_ shpat_ shpca_ shppa_ shpss_ lin_api figd_ gsk_ r8_ nvapi- pplx-"
    " sntrys_ glsa_ tskey- xai- phx_ rnd_ pscale_tkn hvs. hvb. atatt3 age-secret-key"
)

_FILLER = r"(?:\s+(?:is|was|ist|of|from|the|sms|email|number|here|that|i|got|received))*"
_CODE_NAME = (
    r"\b(?:[mt]?otp|2fa|mfa|one[- ]time (?:code|password|passcode)|passcode|pin|(?:verification|security|auth(?:entication)?|"
    r"authenticator|login|sms|confirmation|access|2fa|mfa|otp|pin)[ -]code)\b"
)
_NO_CODE = "".join(f"(?<!{word} )" for word in "error exit status zip return area response postal country".split())


def _rule(
    kind: str, words: str, pattern: str, accept: Callable[[re.Match[str]], bool] = _always, *, ignore_case: bool = True
) -> Rule:
    return Rule(kind, tuple(words.split()), re.compile(pattern, re.IGNORECASE if ignore_case else 0), accept)


RULES: tuple[Rule, ...] = (
    _rule("private-key", "-----begin", _KEY_HEAD, ignore_case=False),
    _rule("private-key", "-----end", _KEY_TAIL, ignore_case=False),
    _rule("password", "://", r"://[^\s:/@'\"<>`]{0,100}:(?P<secret>[^\s/'\"<>`]{1,200})@(?=[\w\[$])", _accept_value),
    _rule(
        "authorization",
        "authorization",
        r"authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token|digest|apikey|key)\s+(?P<secret>[^\s\"',;]{6,})",
        _accept_value,
    ),
    _rule("authorization", "bearer", r"\bbearer\s+(?P<secret>[\w.~+/=-]{16,})", _accept_with_digit),
    _rule("api-key", _PREFIX_WORDS, rf"(?<![A-Za-z0-9_+/])(?P<secret>{'|'.join(_PREFIXED)})", ignore_case=False),
    _rule("jwt", "eyj", r"(?<![\w+/])(?P<secret>eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?)", ignore_case=False),
    _rule("signature", "sig", r"[?&](?:sig|x-amz-signature|x-goog-signature)=(?P<secret>[\w%+/=-]{20,})"),
    _rule(
        "assignment",
        _KEY_WORDS,
        _KEY + _SEPARATOR + r"\\?(?P<quote>[\"'`])(?P<secret>[^\"'`\n\\]{4,300})\\?(?P=quote)",
        _accept_quoted,
    ),
    _rule("assignment", _KEY_WORDS, _KEY + _SEPARATOR + r"(?P<secret>(?:[^\s\"'`,;|\\&]|&(?!\w+=)){4,300})", _accept_bare),
    _rule("assignment", "--", _OPTION + r"[\"']?(?P<secret>[^\s\"'`]{4,300})", _accept_value),
    _rule("password", _KEY_WORDS, _TOLD_KEY + _IS + r"[\"'`]?(?P<secret>[^\s\"'`，。]{5,200}?)" + _WORD_END, _accept_told),
    _rule(
        "password",
        "curl wget",
        r"\b(?:curl|wget)\b[^\n]{0,400}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,80}:(?P<secret>[^\s\"']{2,200})",
        _accept_value,
    ),
    _rule(
        "password",
        "mysql sshpass docker",
        r"\b(?:mysql(?:dump|admin)?\b[^\n]{0,200}?\s-p|sshpass\s+-p\s*|docker login\b[^\n]{0,200}?\s-p\s+)"
        r"[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,100})",
        _accept_value,
        ignore_case=False,
    ),
    _rule(
        "password",
        "sudo",
        r"\becho\s+(?:-n\s+)?[\"']?(?P<secret>[^\s\"'|]{3,100})[\"']?\s*\|\s*sudo\s+(?:-\w+\s+)*-S",
        _accept_value,
        ignore_case=False,
    ),
    _rule(
        "one-time-code",
        "otp 2fa mfa code pin",
        _CODE_NAME + _FILLER + r"\s*[:=]?\s*[\"'`*]{0,3}(?P<secret>\d{4,8}|\d{3}[ -]\d{3})\b(?![.:/]\d)",
    ),
    _rule(
        "one-time-code",
        "code",
        _NO_CODE + r"(?<![\w-])code\s*(?:is|:|=|ist)\s*[\"'`]?(?P<secret>\d{6}|\d{3}[ -]\d{3})\b",
    ),
    _rule("one-time-code", "验证码 код", r"(?:验证码|код(?:а)?(?: подтверждения)?)\s*(?:是|为)?[：: ]{0,3}(?P<secret>\d{4,8})\b"),
)
