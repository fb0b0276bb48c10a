"""Find secrets with a small neural network that considers a value's appearance and its surroundings.

The other detectors are limited to the wordings and syntaxes that their authors thought of. This one was trained on
samples by many authors (benchmarks/train_secrets.py), so it also finds values in new combinations of known wordings.
It examines values within reach of a word for access. Its windows are bounded, so the time is linear.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np

from memoryd.core.errors import ConfigError
from memoryd.core.protocols import FloatArray
from memoryd.daydream.secret_context import IS_DATA, NAMES_ONE, OTHER_THAN_A_SECRET
from memoryd.daydream.secret_values import (
    ScannedText,
    in_address,
    is_described,
    is_lookup,
    is_measure,
    is_placeholder,
    is_strange,
    is_wordy,
    load_letters,
    looks_random,
    name_before,
    stems_in,
    strangeness,
)
from memoryd.daydream.secret_words import MARK, Found, is_chosen, is_name, is_strong

NETWORK_FILE = Path(__file__).with_name("secret_network.npz")
BUCKETS = 1536
_REACH = 150
_AROUND = 60
_CLAUSE_REACH = 110
_LONGEST = 200
_LONG = 20
_LONGEST_DATA_FREE = 40  # Longer values that start like a digest or encoded data are skipped.
_OPENS_A_LINE = frozenset(":=：\\>|([{,")

# Words for access, grouped by meaning. The distance to the nearest word in each group is a feature.
_GROUPS = (
    "passw passwd passwort passphrase passcode pass pwd pw~ pw: pw= mdp mot~de kennwort contrase contrasi senha clave wachtwoord hasł hesl lösen adgang kodeord salasan jelsz parol lozin "
    "zaporka šifr gesl parool slaptaž şifre sandi laluan khẩu пасс парол пассв κωδικ συνθημ पासवर्ड كلمة المرور סיסמ رمز گذر รหัส パスワード パスフレーズ 密码 密碼 口令 暗証 비번 비밀번호 암호 psk",
    "secret geheim secret secreto segreto secreta sekret секрет 密钥 秘密 密鑰 시크릿 秘钥 salt sign hmac jwt crypt cipher",
    "key schlüssel clé llave chave chiave klucz ключ キー 鍵 키 sleutel nyckel avain anahtar",
    "token jeton токен 令牌 トークン 토큰 pat~ _pat bearer oauth",
    "login logon log~in sign~in signed~in zugang accès acceso cred user admin root account konto benutzer usuario compte логин вход 登录 ログイン 로그인 auth access",
    "cookie session sess sid",
    "seed mnemonic recovery words phrase wallet backup~code unseal restore~code",
    "wifi wi-fi wlan ssid vpn router hotspot ldap luks bitlocker vault keepass keystore veracrypt unlock decrypt bind",
    "code pin otp 2fa mfa totp webhook hook dsn code~",
)
STEMS = tuple(stems_in(group) for group in _GROUPS)
# Systems that people log in to. Such words are frequent, so near them only values that look chosen are examined.
_SYSTEMS = stems_in(
    "ssh ftp rdp vnc root jenkins grafana kibana nexus portainer gitlab gitea mysql postgres mongo redis rabbit database datenbank базы сервер server console konsole bastion "
    "nas~ ipmi idrac printer imap smtp mailbox postfach staging prod~ demo panel portal dashboard intranet rotate guest gast master sesame shared typed pasted leaked expired entsperr zugang sudo"
)
_CHOSEN = frozenset(("<chosen>",))
ANCHORS = frozenset().union(*(stems.parts for stems in STEMS), _SYSTEMS.parts, _CHOSEN)
_PASSWORD, _SECRET, _SEED = 0, 1, 6

_CJK = "\u3040-\u9fff\uac00-\ud7a3\u0e00-\u0e7f"
_TOKEN = re.compile(rf"[^\s\"'`<>{{}}\[\](),;|“”„«»‘’「」『』，。、；：（）{_CJK}]{{4,200}}")
_QUOTED = re.compile(r"\"([^\"\n]{4,100})\"|'([^'\n]{4,100})'|`([^`\n]{4,100})`|[„“«「『]([^„“”«»「」『』\n]{4,100})[“”»」』]")
_CLAUSE = re.compile(
    r"(?:[:=→：]|->|=>|\b(?:is|was|been|remains|ist|war|lautet|gilt|bleibt|est|reste|es|siendo|è|resta|é|это|reads|order|enter|set to)\b(?:\s(?:seit \d{4}|seit Jahren|weiterhin|immer noch|nach wie vor|still|toujours|todavía|ancora))?:?)\s{1,3}"
    r"(?P<value>[^\W\d_]{2,16}(?:[ ,.-]{1,2}[^\W\d_]{2,16}){2,25})(?=[.!,;)]?\s{0,3}(?:\n|$)|[.!;,)]\s| -|\s(?:since|seit|depuis|desde|and confirm|ein\b))"
)
_WORD = re.compile(r"[A-Za-z]?[^\W\dA-Z_]+|[A-Z]+|\d+|[^\w\s]+")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z\d]+")
_JOINED = re.compile(
    r"[=:→：(]\s{0,3}[\"'`]?$|\b(?:is|was|ist|war|lautet|est|es|è|é|to|это|with|use|as|set|now)\s$|(?<!\S)--?[\w-]{1,30}[ =]$",
    re.IGNORECASE,
)
# Words with digits, signs or dots inside, as people choose them.
_LOOKS_CHOSEN = re.compile(
    r"(?=\S{0,60}[\d!#$%&*+?@^~._-])(?=\S{0,60}[^\W\d_]{2})[^\s/\\=:<>@]{7,40}|[^\s/\\=:<>]{3,30}@[^\s/\\=:<>.]{2,20}"
)
_JOINING = " \t\"'`=:,;()<>[]{}|-→"
_SIGNS = frozenset("!#$%&*?@^~§€+")
_FUNCTION_WORD = re.compile(
    r"\b(?:the|an?|is|are|was|be|been|to|of|from|for|not|must|should|will|it|this|that|which|has|have|can|may|you|we|they|in|on|by|with|or|and|der|das|die|den|ein|eine|ist|im|mit|nicht|und|muss|"
    r"wird|zu|est|pas|une?|doit|que|para|non|не|это|el|la|le|les|los|se|si|por|con|del|do|da)\b",
    re.IGNORECASE,
)
_SHAPES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:0x)?[0-9a-f]+|[0-9A-F]+",
        r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
        r"[A-Za-z0-9+/]{12,}={0,2}",
        r"[A-Za-z0-9_-]+",
        r"[a-z]+",
        r"[A-Z]+",
        r"[A-Z][a-z]+",
        r"[a-z]+(?:[A-Z][a-z]+)+",
        r"(?:[A-Z][a-z]+){2,}",
        r"[a-z]+(?:-[a-z]+)+",
        r"[a-z]+(?:_[a-z]+)+",
        r"[A-Z]+(?:_[A-Z]+)+",
        r"[a-z]+(?:[-_.][a-z]+)*[-_.]?\d+",
        r"[A-Za-z][a-z]+(?:[-_.][A-Za-z][a-z]+)*[-_.!#?]?\d+[!?#]?",
        r"[a-zA-Z_]\w*(?:\.[a-zA-Z_]\w*)+",
        r"[~.]{0,2}/?[\w.~-]+(?:/[\w.~-]*)+",
        r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
        r"v?\d+(?:\.\d+)+\S*",
        r"[\d.,:%-]+",
        r"\w+:/{1,2}\S+",
        r"[$%#@]\S+|\{\{?.*|.*\$\{.*",
        r"[-–—=_*.#+~^]+",
        r"--?[a-z]\S*",
        r"[\w-]+(?:\.[\w-]+)*\.[a-z]{2,4}",
    )
)


@dataclass(frozen=True, slots=True)
class SecretCandidate:
    """A value that may be a secret.

    `form` encodes its notation: 0 a word, 1 in quotes, 2 words of a clause, 3 after a name.
    """

    start: int
    end: int
    form: int


@dataclass(frozen=True, slots=True)
class Network:
    """The weights of two layers, and the minimum probability for a secret."""

    mean: FloatArray
    scale: FloatArray
    numbers: FloatArray
    words: FloatArray
    bias: FloatArray
    out: FloatArray
    out_bias: float
    limit: float

    def chances(self, rows: list[tuple[list[float], list[int]]]) -> FloatArray:
        """Return the probability for each row of features."""
        dense = np.asarray([numbers for numbers, _ in rows], dtype=np.float32)
        hidden = ((dense - self.mean) / self.scale) @ self.numbers + self.bias
        for at, (_, buckets) in enumerate(rows):
            hidden[at] += self.words[buckets].sum(axis=0)
        score = np.maximum(hidden, 0) @ self.out + self.out_bias
        return np.asarray(1 / (1 + np.exp(-np.clip(score, -30, 30))))


@cache
def load() -> Network:
    """Load the bundled network. Raises ConfigError if the file does not match the features."""
    try:
        with np.load(NETWORK_FILE, allow_pickle=False) as stored:
            arrays = {name: np.asarray(stored[name], dtype=np.float32) for name in stored.files}
        limit, out_bias = float(arrays.pop("limit")), float(arrays.pop("out_bias"))
        network = Network(**arrays, limit=limit, out_bias=out_bias)
        load_letters()
        if network.words.shape[0] != BUCKETS or network.numbers.shape[0] != NUMBERS:
            raise ValueError(f"{network.words.shape[0]} buckets and {network.numbers.shape[0]} numbers")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{NETWORK_FILE} can't be used: {error}", fix="Install memoryd again.") from error
    return network


def find_by_network(scanned: ScannedText) -> list[Found]:
    """Return the secrets found by the network, in order and without overlaps."""
    text, network = scanned.text, load()
    near = NearWords(scanned)
    found: list[tuple[float, SecretCandidate]] = []
    batch: list[SecretCandidate] = []
    for candidate in candidates(scanned, near):
        batch.append(candidate)
        if len(batch) == _BATCH:
            scanned.deadline.check()
            found += _judged(text, near, batch, network)
            batch = []
    found += _judged(text, near, batch, network)
    taken: list[Found] = []
    end = 0
    # Of overlapping values, the earliest wins, then the longest.
    for _, candidate in sorted(found, key=lambda item: (item[1].start, -item[1].end)):
        if candidate.start >= end:
            taken.append((candidate.start, candidate.end, "password" if near.is_password(candidate) else "key"))
            end = candidate.end
    return taken


_BATCH = 256


def _judged(text: str, near: NearWords, batch: list[SecretCandidate], network: Network) -> list[tuple[float, SecretCandidate]]:
    if not batch:
        return []
    chances = network.chances([features(text, near, candidate) for candidate in batch])
    return [
        (float(chance), one)
        for chance, one in zip(chances, batch, strict=True)
        if chance >= network.limit and not _is_lone_hash(text, near, one)
    ]


def _is_lone_hash(text: str, near: NearWords, candidate: SecretCandidate) -> bool:
    """Return whether a value is a hash or an identifier by its signs, and neither its name nor a word close by says that it is a secret."""
    value = text[candidate.start : candidate.end]
    if not _HASH.fullmatch(value) or not _OF_ACCESS.isdisjoint(name_before(text, candidate.start)):
        return False
    if _SUM.search(text, max(0, candidate.start - 60), candidate.start):
        return True
    distances = [near.distance(group, candidate.start, candidate.end) for group in _NAMING_GROUPS]
    account = near.distance(_ACCOUNT, candidate.start, candidate.end)[0]
    return account > _NEXT and all(before > _CLOSE and after > _CLOSE // 2 for before, after in distances)


_HASH = re.compile(r"[0-9a-f]{7,64}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
# "sha1(…) is", "md5sum of the file"
_SUM = re.compile(
    r"\b(?:sha-?\d{1,3}|md5)(?:sums?\b|\(|\s(?:of|is|was|differs|does|for|checksum|digest|mismatch)\b)[^\n;]{0,50}$",
    re.IGNORECASE,
)
_NAMING_GROUPS = (0, 1, 2, 3, 5)  # Passwords, secrets, keys, tokens and cookies.
_ACCOUNT = 4
_CLOSE, _NEXT = 48, 8


class NearWords:
    """The positions of words for access in a text, by group."""

    def __init__(self, scanned: ScannedText) -> None:
        self.places = tuple(scanned.positions(stems) for stems in STEMS)
        self.all = sorted({at for places in self.places for at in places})
        self.systems = scanned.positions(_SYSTEMS) if scanned.has(_CHOSEN) else []

    def windows(self, length: int, places: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield the stretches of text within reach of these positions, in order and without overlaps."""
        begin = end = -1
        for at in places:
            if at - _REACH > end:
                if end > 0:
                    yield begin, min(end, length)
                begin = max(0, at - _REACH)
            end = at + _REACH
        if end > 0:
            yield begin, min(end, length)

    def reaches(self, at: int) -> bool:
        """Return whether a position is within reach of a word for access, where all values are examined."""
        after = bisect_left(self.all, at)
        return any(abs(place - at) <= _REACH for place in self.all[max(0, after - 1) : after + 1])

    def distance(self, group: int, start: int, end: int) -> tuple[int, int]:
        """Return the distances to the nearest word of the group before `start` and after `end`."""
        places = self.places[group]
        after = bisect_left(places, start)
        left = start - places[after - 1] if after else _REACH
        while after < len(places) and places[after] < end:
            after += 1
        right = places[after] - end if after < len(places) else _REACH
        return min(left, _REACH), min(right, _REACH)

    def is_password(self, candidate: SecretCandidate) -> bool:
        """Return whether the nearest word before the value is a word for a password."""
        left, right = self.distance(_PASSWORD, candidate.start, candidate.end)
        return min(left, right) < _REACH and left <= min(self.distance(n, candidate.start, candidate.end)[0] for n in (1, 2, 3))


def candidates(scanned: ScannedText, near: NearWords) -> Iterator[SecretCandidate]:
    """Yield the values that may be secrets. They may overlap."""
    text = scanned.text
    yield from _near_systems(text, near)
    last = 0
    for begin, end in near.windows(len(text), near.all):
        begin = max(begin, last)
        yield from _in_quotes(text, begin, min(len(text), end + _AROUND))
        for token in _TOKEN.finditer(text, begin, min(len(text), end + _AROUND)):
            last = token.end()
            yield from _of_token(text, token)
        if near.places[_PASSWORD] or near.places[_SEED] or near.places[_SECRET]:
            for match in _CLAUSE.finditer(text, begin, min(len(text), end + _AROUND)):
                left = (
                    near.distance(_PASSWORD, match.start(), match.start())[0],
                    near.distance(_SEED, match.start(), match.start())[0],
                )
                variable = " " not in match["value"] and _is_variable(text, match.start("value"), match["value"])
                if min(left) < _CLAUSE_REACH and not variable:
                    yield SecretCandidate(*match.span("value"), 2)


def _near_systems(text: str, near: NearWords) -> Iterator[SecretCandidate]:
    last = 0
    for begin, end in near.windows(len(text), near.systems):
        for token in _TOKEN.finditer(text, max(begin, last), end):
            last = token.end()
            if _LOOKS_CHOSEN.fullmatch(token[0]) and not near.reaches(token.start()):
                yield from _of_token(text, token)


def _in_quotes(text: str, begin: int, end: int) -> Iterator[SecretCandidate]:
    for match in _QUOTED.finditer(text, begin, end):
        start, stop = match.span(match.lastindex or 0)
        quoted = text[start:stop]
        if (
            MARK in quoted
            or _IS_PUBLIC.match(quoted)
            or quoted != quoted.strip()
            or quoted.isdigit()
            or _IS_REGEX.search(quoted)
            or _FIELD.match(quoted)
            or _NAMES_A_FIELD.fullmatch(quoted)
            or _NO_VALUE.fullmatch(quoted)
        ):
            continue
        if not is_described(text, start) and not _PUBLIC_FIELD.search(text, max(0, start - 12), start):
            yield SecretCandidate(start, stop, 1)


_IS_REGEX = re.compile(r"\.\*|\[\^?\w-\w|\\[xudws][\w\\-]?.*\\|\[\^|\(\?[:=!<]")
# A header or an assignment in quotes: its value is a candidate of its own.
_FIELD = re.compile(r"[A-Za-z][\w-]{1,40}: ")
# The name of a field or method.
_NAMES_A_FIELD = re.compile(
    r"[A-Za-z_][A-Za-z_.-]{0,30}(?:[Pp]assword|[Tt]oken|[Ss]ecret|[Ll]ogin|[Kk]ey)[A-Za-z_.-]{0,30}\d?|(?:password|token|secret|login|key)[A-Za-z_.-]{0,30}\d?"
)
# Recipients, accounts and other objects of well-known services, references, keys of a keyboard, and texts to be replaced.
_IS_PUBLIC = re.compile(
    r"(?:SCOPE|ROLE|PERM)_[A-Za-z]|(?:argon2(?:id|i|d)?|bcrypt|scrypt|pbkdf2)[,; ]|pk_(?:live|test)_|age1[0-9a-z]{58}$|dXNlcjpwYXNz|dXNlcm5hbWU6cGFz|QWxhZGRpbjpv|Zm9vOmJhcg|[CUTGDBW]0[0-9A-Z]{8,10}$|(?-i:E(?=[A-Z]{0,12}\d)[0-9A-Z]{12,14}$)|(?:acct|cus|pi|ch|evt|sub|price|prod|in|seti|si|usr|user|org|app|req|txn|po|card|src|pm|prj|proj|team|acc|run|job|msg|thread|asst|file|batch|ft|"
    r"resp|call|toolu|chatcmpl|cmpl)[_-][A-Za-z0-9]{8,40}$|%[\w.]{1,60}[(%]|#\{|@[\w.]{1,60}[@(]|\{cipher\}|(?:ctrl|strg|cmd|alt|shift|option|meta)\+\w|(?:env|file|fd|stdin):\S|please[-_]|[\w-]{0,30}(?:change|replace)[-_]?(?:me|it|this)(?:[-_](?:now|in|later|please)\w{0,20})?$",
    re.IGNORECASE,
)
_QUOTES = ('"', "'")
# The public numbers of a key in JSON.
_PUBLIC_FIELD = re.compile(r"[\"'](?:n|x|y|e|kid|x5[ct]|alg|crv|kty)[\"']\s{0,2}:\s{0,2}[\"']$")


def _of_token(text: str, token: re.Match[str]) -> Iterator[SecretCandidate]:
    raw = token[0]
    if "redacted:" in raw or raw.startswith("redacted"):
        return
    start, end = token.span()
    if (
        _PROMPT.fullmatch(raw)
        or _FULL_PATH.match(raw)
        or _is_part_of_data(text, start, end)
        or "\x1b" in raw
        or raw.count("\\") > 1
        or raw.startswith(_PATHS)
        or text.startswith(_OPENS_SUBSCRIPT, end)
        or _is_a_name(text, start, end)
    ):
        return
    if in_address(text, end):
        return  # Secrets in URLs are found by their syntax.
    end -= len(raw) - len(raw.rstrip(".,:?…").removesuffix("**").removesuffix("__").rstrip(".,:?…"))
    joined = max(raw.find("=", 0, 32), raw.find(":", 0, 32)) + 1
    if end - start - joined >= _LONG and OTHER_THAN_A_SECRET.search(text, max(0, start + joined - 48), start + joined):
        return
    named = joined > 0 and (
        raw[joined - 1] == "=" and _IDENTIFIER.fullmatch(raw, 0, joined - 1) or is_measure(raw[joined : end - start])
    )
    if end - start >= 4 and not named and _may_be_value(text, start, end):  # noqa: PLR2004
        yield SecretCandidate(start, end, 0)
    for sign in "=", ":", "/", "@":
        at = raw.find(sign) + 1
        near_end = at <= 0 or end - start - at < 4 or raw.startswith("://", at - 1)  # noqa: PLR2004
        # A path is no pair of a name and a value.
        near_end = near_end or sign == "/" and (len(raw) > _LONGEST_DATA_FREE or at == 1)
        near_end = near_end or sign == ":" and raw.startswith(":", at)  # The name of a module.
        near_end = near_end or _NO_VALUE.fullmatch(raw, at) is not None
        if not near_end and not is_described(text, start + at) and not is_measure(raw[at : end - start]):
            yield SecretCandidate(start + at, end, 3)


_PATHS = ("~/", "./", "../")
_OPENS_SUBSCRIPT = ("(", "['", '["')


def _is_a_name(text: str, start: int, end: int) -> bool:
    """Return whether a token is an option, a class, a range of commits, a place in a package or a name that is given a type or a value."""
    raw = text[start:end]
    if _NO_VALUE.fullmatch(raw) or raw.startswith("@") and text[start - 1 : start] in (">", "}") and "." in raw:
        return True
    if text.startswith(";", end) and _ENTITY.search(raw) is not None:
        return True
    name = _IDENTIFIER_START.match(text, start, end)
    return name is not None and raw[len(name[0]) :] in ("", ":", "?:") and _IS_GIVEN.match(text, name.end()) is not None


# The last alternative is the start of an identifier that was cut off.
_NO_VALUE = re.compile(
    r"--[a-z][a-z\d-]{1,60}:?|[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}|(?:[a-z_][a-z\d_]{0,40}\.){2,8}[A-Z][a-z]{1,40}(?:[A-Z][a-z\d]{0,40}){1,10}|"
    r"(?:[A-Za-z_]\w{0,40}\.){2,8}[a-z][a-z\d]{0,40}_\w{1,40}|"
    r"(?:[A-Za-z][\w.]{1,20}-){2,6}[0-9a-f]{32,64}|[^:=]{0,120}(?:node_modules|site-packages)/\S{1,200}|"
    r"(?:hover|focus|active|disabled|dark|first|last|odd|even|placeholder|group-hover|focus-visible|sm|md|lg|xl|2xl):[a-z][\w:/.%#-]{1,60}|"
    r"[a-z]{2,20}(?:-[a-z]{2,20}){0,4}-20\d\d-[01]\d(?:-[0-3]\d)?[.,:]?|"
    r"(?:issue|pr|mr|bug|ticket|[\w.-]{1,40}/[\w.-]{1,60})#\d{1,8}[.,]?|#[a-z][\w-]{3,80}|(?:package|node|npm|jsr|file):\S{1,200}|[\w./-]{2,80}@sha\d{3}:\w{4,128}|[A-Z\d]{10}(?:\.[a-z][\w-]{1,30}){2,5}|eyJ[\w-]{8,80}(?:\.{3}|…)|hashlib\.\w{3,12}|"
    r"(?:sess(?:ion)?|users?|cart|orders?|cache|lock|rate|rate-?limit|queue|jobs?|tenant|profile)(?::[\w{}@.-]{1,60}){1,4}:[a-z_]{2,20}|"
    r"(?:\w{1,60}=)?arn:\S{1,300}|\.[a-z][\w.-]{2,40}|[a-z\d-]{1,60}(?:\.[a-z\d-]{1,60}){1,5}(?::\d{2,5})?/[a-z\d._/-]{1,120}:[\w.-]{1,60}|"
    r"(?:[A-Za-z_]{2,20}%2F){1,4}[A-Za-z_]{2,20}|[0-9a-f]{8}-(?:[0-9a-f]{0,4}-){0,3}[0-9a-f]{0,11}(?:\.{3}|…)"
)
_ENTITY = re.compile(r"&(?:[a-z]{2,6}|#\d{1,5})$")
_IDENTIFIER_START = re.compile(r"[A-Za-z_$][\w$]{2,60}")
_IS_GIVEN = re.compile(
    r"\?:\s|\s?:=\s|\s=\s|\s\+\s|:\s(?:string|number|boolean|bool|int|any|str|object|void|never|unknown|null|undefined|Promise|Date|Record|float|bytes)\b"
)
_FULL_PATH = re.compile(
    r"/(?:Users|home|root|etc|opt|usr|var|srv|tmp|mnt|media|data|app|work|workspace|private|Applications|Library)/[\w.@-]"
)
_PROMPT = re.compile(r"[\w.-]{1,40}@[\w.-]{1,60}:[~/][\w/.~-]{0,80}[#$%]?")


def _is_variable(text: str, start: int, value: str) -> bool:
    """Return whether a value repeats its name, as in "salt: retrySalt" and "token: tokenRef.current", so it is a variable."""
    name, folded = name_before(text, start), value.casefold()
    repeats = bool(name) and (
        (len(name[-1]) >= _SHORTEST_PIECE and name[-1] in folded) or len(name) > 1 and "".join(name) in folded
    )
    return repeats and not value.islower()


_SHORTEST_PIECE = 3
# Keywords that follow a condition about a credential
_STATEMENTS = frozenset("raise return throw break continue assert yield exit goto elif else then await".split())
_DOTTED_WORDS = re.compile(r"[A-Za-z]{1,40}(?:\.[A-Za-z]{1,40}){0,4}")
_OPENS_ARGUMENTS = ("(", "{")
# "pass x down to y"
_PASSES = re.compile(r"\bpass(?:es|ed|ing)?\s$", re.IGNORECASE)
_ONWARDS = re.compile(r"\s(?:down|along|on|in|into|to|through|as|by|around|back|over)\b", re.IGNORECASE)


def _is_part_of_data(text: str, start: int, end: int) -> bool:
    """Return whether a token is a part of a run that is too long for a secret, such as an image in base64."""
    if end - start <= _LONGEST_DATA_FREE:
        return False
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    return any(c.isalnum() or c in "+/_-=" for c in before + after if not c.isspace())


_IDENTIFIER = re.compile(r"--?[a-z][\w-]{1,40}|[A-Z][A-Z0-9_]{2,60}|_?[A-Za-z]{2,40}(?:[_.-][A-Za-z]{2,30}){0,6}")


def _may_be_value(text: str, start: int, end: int) -> bool:
    value = text[start:end]
    if value.isalpha() and not is_strange(value) and _JOINED.search(text, max(0, start - 32), start) is None:
        return False
    if (
        is_described(text, start)
        or text.startswith("(", end)
        or _IS_PUBLIC.match(value)
        or text[start - 1 : start] in _QUOTES
        and _PUBLIC_FIELD.search(text, max(0, start - 12), start) is not None
    ):
        return False
    if not any(c.isalpha() for c in value) or value in _STATEMENTS or len(set(value)) <= 2:  # noqa: PLR2004
        return False  # Codes and PINs are found by their words.
    if _PASSES.search(text, max(0, start - 12), start) and _ONWARDS.match(text, end):
        return False
    if value.isalpha() and text.startswith(":", end) and text[start - 1 : start] in _OPENS_ARGUMENTS:
        return False  # The name of an argument.
    if NAMES_ONE.search(value) and value.isalnum() or len(value) > _LONGEST_DATA_FREE and IS_DATA.match(value):
        return False
    line = text.rfind("\n", max(0, start - _AROUND), start) + 1
    if line and not text[line:start].strip() and text[line - 2 : line - 1] not in _OPENS_A_LINE:
        return False  # A value alone on its line belongs to the previous line only if that line is incomplete.
    return not (value.count("/") > 1 and is_wordy(value) or _DOTTED_WORDS.fullmatch(value) and _is_variable(text, start, value))


# Words that end the name of a credential, and words that say that it is none.
_OF_ACCESS = frozenset(
    """password passwd passphrase passcode pass pwd pw psk secret token key apikey auth authorization cookie sid session credential credentials cred creds salt pepper signature sig pin code dsn
    passwort kennwort senha clave wachtwoord haslo heslo jwt bearer seed mnemonic community webhook""".split()
)
_OF_NONE = frozenset(
    """public pub primary foreign partition sort cache id uuid guid hash sha sha256 md5 checksum digest integrity fingerprint etag commit rev ref branch tag version url uri path file image host port
    user username email name type class model region bucket topic index order request trace span build release serial sku color format date time""".split()
)

NUMBERS = 20 + len(_SHAPES) + 9 + 2 * len(_GROUPS) * 2 + 4 + 9


def features(text: str, near: NearWords, candidate: SecretCandidate) -> tuple[list[float], list[int]]:
    """Return the numeric features of a candidate, and the buckets of its parts and its surroundings."""
    start, end, form = candidate.start, candidate.end, candidate.form
    value = text[start:end][:_LONGEST]
    left, right = text[max(0, start - _AROUND) : start], text[end : end + _AROUND // 2]
    numbers = _looks(value)
    numbers += [float(shape.fullmatch(value) is not None) for shape in _SHAPES]
    numbers += [
        float(test(value))
        for test in (is_placeholder, is_lookup, is_measure, is_wordy, looks_random, is_name, is_chosen, is_strong)
    ]
    line = text[max(0, text.rfind("\n", max(0, start - _REACH), start) + 1, start - _REACH) : start]
    for group in range(len(_GROUPS)):
        before, after = near.distance(group, start, end)
        numbers += [
            1 - min(before, _AROUND) / _AROUND,
            1 - min(after, _AROUND) / _AROUND,
            float(before <= len(line)),
            float("\n" not in text[end : end + after] and after < _REACH),
        ]
    numbers += [
        float(_JOINED.search(left) is not None),
        len(_FUNCTION_WORD.findall(line[-_AROUND:])) / 4,
        len(_FUNCTION_WORD.findall(right)) / 4,
        float(form == 2),  # noqa: PLR2004
        float(_FUNCTION_WORD.search(value) is not None),
    ]
    name = name_before(text, start)
    numbers += [
        float(bool(name)),
        float(name[-1:] != () and name[-1] in _OF_ACCESS),
        float(not _OF_ACCESS.isdisjoint(name)),
        float(name[-1:] != () and name[-1] in _OF_NONE),
        float(not _OF_NONE.isdisjoint(name[:-1])),
        float("\n" in right[:1] or not right),
        float(not line.strip(" \t-#>*|")),
        *strangeness(value),
    ]
    return numbers, _buckets(value, left, right, form)


def _looks(value: str) -> list[float]:
    length = len(value)
    digits, upper = sum(c.isdigit() for c in value), sum(c.isupper() for c in value)
    lower, signs = sum(c.islower() for c in value), sum(c in _SIGNS for c in value)
    pieces = _PIECE.findall(value)
    counts = [value.count(c) / length for c in set(value)]
    entropy = -sum(share * math.log2(share) for share in counts)
    return [
        math.log(length),
        float(length >= 8),  # noqa: PLR2004
        float(length >= 16),  # noqa: PLR2004
        float(length >= 32),  # noqa: PLR2004
        float(length > 64),  # noqa: PLR2004
        digits / length,
        upper / length,
        lower / length,
        signs / length,
        float(digits > 0),
        float(upper > 0),
        float(lower > 0),
        float(signs > 0),
        (digits > 0) + (upper > 0) + (lower > 0) + (length - digits - upper - lower > 0),
        len(pieces) / length,
        entropy,
        entropy / math.log2(length + 1),
        float(" " in value),
        (value.count("-") + value.count("_") + value.count(".") + value.count("/")) / length,
        float(value.isascii()),
    ]


def _buckets(value: str, left: str, right: str, form: int) -> list[int]:
    before = _WORD.findall(left.casefold())[-8:]
    after = _WORD.findall(right.casefold())[:4]
    gap = left[len(left.rstrip(_JOINING)) :]
    names = [f"l{min(n, 3)}{word}" for n, word in enumerate(reversed(before))]
    names += [f"b{word}" for word in before]
    names += [f"r{min(n, 2)}{word}" for n, word in enumerate(after)]
    names += [f"g{gap}", f"f{form}", f"e{right[:1]}", f"g{form}{gap.strip()}"]
    shape = "".join(_kind_of(c) for c in value)
    short = re.sub(r"(.)\1+", r"\1", shape)
    names += [f"s{short[:8]}", f"s{short[:3]}", f"p{value[:3]}", f"p{value[:4]}", f"z{short[-3:]}", f"n{len(value)}"]
    if form in (1, 2) and " " in value:
        names += [f"v{word}" for word in value.casefold().split()[:8]]
    else:
        names += [f"v{piece.casefold()}" for piece in _PIECE.findall(value)[:6] if len(piece) > 2]  # noqa: PLR2004
    return [crc32(name.encode("utf-8", "replace")) % BUCKETS for name in dict.fromkeys(names)]


def _kind_of(c: str) -> str:
    if c.isdigit():
        return "0"
    if c.isalpha():
        return "A" if c.isupper() else "a"
    return c
