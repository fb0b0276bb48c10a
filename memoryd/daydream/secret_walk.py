"""Find the values of named credentials, in any syntax.

Constants, flags, headers, attributes and words in a sentence all name credentials in the same way. The value is the nearest token
before or after the name that is neither punctuation nor a joining word. A walk over a few tokens on each side therefore covers
all syntaxes and languages. The requirements for the value depend on the name and on how closely the two are joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

from memoryd.daydream.secret_bound import ANCHORS as BOUND
from memoryd.daydream.secret_bound import find_bound
from memoryd.daydream.secret_values import (
    ScannedText,
    in_address,
    is_compound,
    is_described,
    is_lookup,
    is_measure,
    is_placeholder,
    is_setting,
    is_strange,
    is_wordy,
    looks_random,
    stems_in,
)
from memoryd.daydream.secret_words import (
    ACCOUNTS,
    ASKS_FOR,
    CHANGED,
    JOINS,
    MARK,
    TO,
    Found,
    is_about,
    is_chosen,
    is_name,
    is_strong,
    may_be_password,
)

_REACH = 220  # Number of characters to search on each side of a name.
_MAX_TOKENS = 14
_MAX_WORDS = 6  # Maximum number of plain words between a name and the sign that joins its value to it.
_LONGEST_NAME = 60
_SHORTEST = 6
_SHORTEST_KEY = 16
_DIGITS = 3  # Minimum length of a run of letters that is not a word.
_SHORTEST_BARE_KEY = 20


class ValueRequirement(Enum):
    """Requirements for the value of a name."""

    PASSWORD = auto()
    SECRET = auto()  # A key that may also have been chosen by a person.
    KEY = auto()
    ANY_KEY = auto()  # "key" alone, which has many meanings.


# Names

_STEMS = stems_in(
    "pass pwd pw psk kennwort contrase senha clave mdp wachtwoord hasło heslo lösenord passord şifre парол secret "
    "token key auth cred cookie _pat pat: pat= pat~ khẩu sandi รหัสผ่าน المرور סיסמה पासवर्ड lozinka salasana jelsz "
    "adgangskode schlüssel clé jeton llave chave chiave klucz ключ токен секрет"
)
_PIECE = re.compile(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![^\W\dA-Z_])|\d+")
_PASSWORD = re.compile(
    r"(?:\w*(?:passw(?:or)?ds?|passwd|passwort|passphrases?|passcode|pwd|kennwort|wachtwoord|lösenord|passord)|(?:db|my|"
    r"pg|auth|user|admin|root|become|sudo|smtp|mail|ftp|redis|wifi)?pass|(?!by|com|tres|sur|over|under|"
    r"encom)[a-z]{2,10}pass|[a-z]{0,10}pw|psk|mdp|"
    r"contrase[nñ]as?|senhas?|clave|hasł\w|heslo|şifre\w{0,4}|парол\w{1,3}|khẩu|sandi|รหัสผ่าน|المرور|סיסמה|पासवर्ड|"
    r"lozink\w|salasana\w{0,2}|jelszó\w{0,3}|adgangskoden?)"
)
_KEY = re.compile(
    r"(?:\w*(?:tokens?|secrets?|apikey|authkey|accesskey|secretkey|privatekey|masterkey)|credentials?|auth|cookie|"
    r"schlüssel|jeton|токен\w{0,3}|секрет\w{0,2})"
)
_CHOSEN = frozenset("secret cookie credential credentials".split())
# Qualifiers that turn a key into a password
_OF_NETWORK = frozenset("wpa wpa2 wpa3 wifi wlan network ssid hotspot".split())
_BARE_KEY = frozenset("key keys schlüssel clé llave chave chiave klucz ключ ключа clef".split())
_TAILS = frozenset("base value string str prod production dev staging test live new old raw plain hex list b64 base64".split())
# Qualifiers that make a key grant access
_ACCESS = frozenset(
    """api app auth admin access account service signing sign encryption encrypt aes hmac cipher fernet crypt master shared
    deploy storage client bot webhook license licence licen recovery unseal root personal session bearer refresh jwt
    secret private stripe openai anthropic datadog dd sentry sonar algolia ingest write read project sdk google maps aws
    azure sendgrid mailgun twilio cloudflare github gitlab npm secrète secreta segreta secreto privée privata privada
    доступа секретный api's d'api""".split()
)
_NO_KEY = frozenset(
    """public pub primary foreign partition sort range cache idempotency dedup routing row object s3 bucket host known ssh
    rsa gpg pgp natural surrogate composite unique index map dict lookup next prev page pagination cursor sync react item
    list query group message event trace span lock hot shortcut keyboard translation i18n arrow enter return hash minus
    turn answer""".split()
)

# Another name, whose value is searched for separately.
_OTHER = re.compile(rf"{_PASSWORD.pattern}|{_KEY.pattern}|login")

# Signs and words between a name and its value

_TOKEN = re.compile(r"[^\s\"'`<>(){}\[\],;|“”„«»‚‘’「」『』（），。；：]{1,400}")
_SIGNS = ":=>→–—-*&~+."
_HARD = re.compile(r"[=:→>—–：\"'`“„«「『(]|<-")
_FIELD = re.compile(r"(?P<name>[\w.:-]{1,40}?)[=:](?P<value>[^=:].*)")
_SYNTAX = frozenset(
    """parametervalue parameterkey settingvalue keyvalue defaultvalue str string char byte bytes text value values val
    default type data content var let const static final private public readonly auto mut new string-value secret-string
    setting body serializeas name id_value option secretstr b f r u fr rb br from-literal set add init config configure
    define export env put get field in into init header begin required sensitive true false optional plain raw mount with
    value_from number variable param property entry key android to be should must""".split()
)
_PROSE = frozenset(
    """the a an my our your his her for of it it's its this that here there you i we please still now just really der die
    das den dem ein mein unser le la les un une mon notre el los una mi nuestro il lo o os um uma vaut valt to jest
    would has""".split()
)
_IS = frozenset("is was are now still".split())
_JOINS = JOINS | {"below", "unten", "là", "adalah", "vaut", "vale", "valt", "to", "should", "must", "enter", "type"}
_SKIPPED = _SYNTAX | _PROSE | _JOINS | ASKS_FOR
_BEFORE = (
    frozenset("still as the a an my our your in at into to for field is # // -- als in das le la como the".split())
    | JOINS
    | _ACCESS
)
_FLAG = re.compile(r"--?[A-Za-z][\w-]{0,30}")
# Names that are also verbs or have other meanings
_LOOSE = frozenset("pass clave cookie".split())
_ENTER = frozenset(
    """use enter type put try paste insert using gib tippe nimm verwende entre tape usa introduce escribe digite inserisci
    введи используй""".split()
)
_STATES = frozenset("is was ist est es whether".split())
_VERB = re.compile(rf"\b(?:{'|'.join(sorted(_ENTER))})\s", re.IGNORECASE)
_WEAK = re.compile(r"[a-z]{3,14}(?:[-_.][a-z]{3,14})+[-_.]?\d{2,4}[!?]?")
_HEX = re.compile(r"[0-9a-fA-F]{32,128}|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
# Names with a version and a date: "model-mini-2024-07-18"
_MODEL = re.compile(r"(?:[\w./]{1,40}-){1,6}(?:20\d{6}|20\d\d-\d\d-\d\d|\d{2,4})")
_RUN = re.compile(r"[\w+/=.~%-]{16,400}")
_NOT_ABOUT = re.compile(
    r"(?:ids?|hash\w*|sha\d*|md5|checksum|digest|length|count|version|commit|fingerprint|uuid|url|path|name|names|len|"
    r"type|limit)$"
)


@dataclass(frozen=True, slots=True)
class _Join:
    """How a value is joined to its name."""

    hard: bool  # Joined by a sign, a quote or "is".
    words: int  # Number of plain words in between.
    quoted: bool
    prose: bool = False  # An article precedes the name.


def find_named(scanned: ScannedText) -> list[Found]:
    """Return the values of named credentials, in order and without overlaps."""
    text, found, done = scanned.text, list[Found](), 0
    for at in scanned.positions(_STEMS):
        scanned.deadline.check()
        if at < done:
            continue
        start, done = _name_around(text, at)
        asked = _asked(text, start, done)
        if asked is None:
            continue
        kind = "password" if asked is ValueRequirement.PASSWORD else "key"
        if not is_about(text, done):
            loose = text[start:done].casefold() in _LOOSE
            found += [(*span, kind) for span in (_behind(text, done, asked, loose), _ahead(text, start, asked)) if span]
        if asked is ValueRequirement.PASSWORD and (span := _entered(text, start)):
            found.append((*span, kind))
    if scanned.has(_CALL_WORDS):
        found += [*_arguments(text), *_keyed(text)]
    if scanned.has(_PAIR_WORDS):
        found += _pairs(text)
    found += find_bound(scanned)
    out: list[Found] = []
    for item in sorted(found):
        if (not out or item[0] >= out[-1][1]) and MARK not in text[item[0] : item[1]] and not is_described(text, item[0]):
            out.append(item)
    return out


def _name_around(text: str, at: int) -> tuple[int, int]:
    """Return the identifier or word at a position."""
    start, least, end, most = at, max(0, at - _LONGEST_NAME), at, min(len(text), at + _LONGEST_NAME)
    while start > least and (text[start - 1].isalnum() or text[start - 1] in "_-.$"):
        start -= 1
    while end < most and (text[end].isalnum() or text[end] in "_-"):
        end += 1
    return start, max(end, at + 1)


def _asked(text: str, start: int, end: int) -> ValueRequirement | None:
    """Return the requirements for the value of a name, based on the last part of the name.

    Return None if it does not name a credential.
    """
    pieces = [piece.casefold() for piece in _PIECE.findall(text[start:end])]
    while len(pieces) > 1 and (pieces[-1].isdigit() or pieces[-1] in _TAILS):
        pieces.pop()
    if (
        not pieces
        or text[start:end].casefold() == "auth0"
        or _OF_A_DIGEST.search(text, max(0, start - 40), start)
        or _IN_BASE64.search(text, max(0, start - 20), start)
    ):
        return None
    last, before = pieces[-1], pieces[-2] if len(pieces) > 1 else _word_before(text, start)
    if before in ("api", "access", "secret", "auth", "private") and last == "key":
        return ValueRequirement.KEY
    if last in _BARE_KEY:
        if before in _OF_NETWORK:
            return ValueRequirement.PASSWORD
        if before in _NO_KEY:
            return None
        return ValueRequirement.KEY if before in _ACCESS or _word_after(text, end) in _ACCESS else ValueRequirement.ANY_KEY
    if before in ("public", "next", "page", "csrf") or last == "clave" and _word_after(text, end) in _OF_A_TABLE:
        return None
    return _asked_by(last, compound=len(pieces) > 1 or text[start:end] == "PAT")


def _asked_by(last: str, *, compound: bool) -> ValueRequirement | None:
    if _PASSWORD.fullmatch(last):
        return ValueRequirement.PASSWORD
    if last in _CHOSEN:
        return ValueRequirement.SECRET
    return ValueRequirement.KEY if _KEY.fullmatch(last) or last == "pat" and compound else None


_OF_A_TABLE = frozenset("primaria foránea foranea externa ajena única unica compuesta candidata pública publica".split())
_OF_A_DIGEST = re.compile(
    r"\b(?:checksum|hash|digest|md5\w{0,3}|sha\d{0,3}\w{0,3}|fingerprint|size|id)\s(?:of|for)\s(?:the\s)?$", re.IGNORECASE
)
_IN_BASE64 = re.compile(r"[A-Za-z0-9+/]{15}[+/]$")


def _word_before(text: str, at: int) -> str:
    words = text[max(0, at - 24) : at].split()
    return words[-1].casefold().strip("-\"'`(") if words and at and text[at - 1] in " \t" else ""


def _word_after(text: str, at: int) -> str:
    words = text[at : at + 20].split(maxsplit=1)
    return words[0].casefold().strip(":,.\"'") if words else ""


@dataclass(slots=True)
class _Way:
    """State of the search from a name to its value."""

    loose: bool  # The name is also a verb, so only a sign or "is" joins a value to it.
    syntax: bool = False  # A syntactic sign was passed.
    joined: bool = False  # The last word or sign joins the next token to the name.
    changed: bool = False  # A word like "changed" or "set" was passed.
    words: int = 0  # Number of plain words.

    def passes(self, word: str, core: str, hard: bool) -> None:
        """Record a word that may occur between a name and its value."""
        self.changed = self.changed or word in CHANGED
        if self.loose:
            joins = word in _IS
        else:
            joins = word in _JOINS - TO or word in ASKS_FOR or word in TO and (self.changed or not self.words)
        self.joined = joins or core[-1:] in (":", "=") or self.joined and word in _PROSE or not word and hard


def _behind(text: str, at: int, asked: ValueRequirement, loose: bool) -> tuple[int, int] | None:
    """Return the value after a name."""
    end, way, prose = at, _Way(loose), _ARTICLE.search(text, max(0, at - 40), at) is not None
    for token in islice(_TOKEN.finditer(text, at, at + _REACH), _MAX_TOKENS):
        between, raw = text[end : token.start()], token[0]
        if not between and end == at and (raw[0] == "." or raw[0] == "/" and in_address(text, at)):
            return None  # An attribute, a longer key, or a place of an address.
        if between != " " and (
            "\n" in between
            and is_setting(raw)
            or ";" in between
            or "," in between
            and text[at - 4 : at].casefold() == "pass"
            or "。" in between
            or not _may_cross(between, way)
        ):
            return None
        end = token.end()
        if between.endswith("<"):  # The name of an XML element.
            way.syntax = True
            continue
        core = raw.lstrip(_SIGNS) if raw != "/" else ""
        start = end - len(core)
        signs = between + raw[: len(raw) - len(core)]
        signed = not signs.isspace() and _HARD.search(signs) is not None
        way.syntax, hard = way.syntax or signed, way.joined or signed
        field = _FIELD.fullmatch(core) if "=" in core or ":" in core else None
        if field is not None and field["name"].casefold().rpartition(":")[2] in _SYNTAX:
            start, core, hard = start + field.start("value"), field["value"], True
        word = core.rstrip(".,:=?!").casefold().rpartition(":")[2]
        if (
            not word
            or word in _SKIPPED
            or word.isdigit()
            and len(word) == 1
            or word in _ACCESS
            and not hard
            or raw[0] == "-"
            and _FLAG.fullmatch(raw)
        ):
            if word and core[-1] in ".!":
                return None
            way.passes(word, core, hard)
            continue
        value = _trimmed(core)
        quoted = between[-1:] != "" and between[-1] in "\"'`“„«「『("
        if (hard or not loose) and _is_value(value, asked, _Join(hard, way.words, quoted, prose)):
            return start, start + len(value)
        plain = (
            word.replace("-", "").replace("'", "").isalpha() and _NOT_ABOUT.search(word) is None and not _OTHER.fullmatch(word)
        )
        if not plain or core[-1] in ".!?;" or "," in between or way.words >= _MAX_WORDS:
            return None
        way.joined, way.words = core[-1] in ":=", way.words + 1
    return None


_ARTICLE = re.compile(
    r"\b(?:the|my|our|a|this|new|der|den|mein|unser|la|le|el|il|o|a|mi|ma|notre)\s(?:[\w']{1,20}\s)?[\w-]{1,20}$", re.IGNORECASE
)


def _may_cross(between: str, way: _Way) -> bool:
    """Return whether a line end is allowed between a name and its value.

    It is allowed in a block, in an element, and after a colon.
    """
    if "\n" not in between:
        return True
    return (
        way.words == 0
        and between.count("\n") <= 2
        and (way.syntax or way.joined or _HARD.search(between) is not None or "{" in between)
    )  # noqa: PLR2004


def _ahead(text: str, at: int, asked: ValueRequirement) -> tuple[int, int] | None:
    """Return the value before a name, as in "put X in API_KEY" and "X as the token"."""
    left = max(0, text.rfind("\n", max(0, at - _REACH // 2), at) + 1, at - _REACH // 2)
    tokens = [*_TOKEN.finditer(text, left, at)]
    end, joins, comment = at, 0, False
    for number in range(len(tokens) - 1, max(-1, len(tokens) - 8), -1):
        token = tokens[number]
        if re.search(r"[;=]", text[token.end() : end]):
            return None
        raw = token[0]
        folded = raw.rstrip(".,:").casefold()
        if folded in _BEFORE or folded in ("#", "//", "--") or comment and folded.isalpha():
            comment = comment or folded in ("#", "//", "--")
            joins, end = joins + 1, token.start()
            continue
        if not comment and folded.isalpha() and any(t[0] in ("#", "//") for t in tokens[max(0, number - 3) : number]):
            end = token.start()
            continue
        value = _trimmed(raw)
        verbs = ASKS_FOR | _STATES if asked is ValueRequirement.PASSWORD else ASKS_FOR
        verb = number > 0 and tokens[number - 1][0].casefold().strip(",:") in verbs
        before = text[token.start() - 1 : token.start()] if token.start() else ""
        enclosed = before in tuple("\"'`“„«「(") and before != ""
        if joins and (verb or enclosed) and _is_value(value, asked, _Join(True, 0, enclosed)):
            return token.start(), token.start() + len(value)
        return None
    return None


_SENTENCE_END = re.compile(r"[.!?;](?=\s)|\n")


def _entered(text: str, at: int) -> tuple[int, int] | None:
    """Return the value to enter according to a sentence such as "type X when it asks for the password"."""
    left = max(0, at - _REACH // 2)
    if _VERB.search(text, left, at) is None:
        return None
    left = max([left, *[end.end() for end in _SENTENCE_END.finditer(text, left, at)]])
    tokens = [*_TOKEN.finditer(text, left, at)]
    for verb, token in zip(tokens, tokens[1:], strict=False):
        value = _trimmed(token[0])
        if verb[0].casefold() in _ENTER and is_picked(value):
            return token.start(), token.start() + len(value)
    return None


def _trimmed(raw: str) -> str:
    """Remove punctuation at the end of a sentence or a line of code."""
    return raw.rstrip(".,:…")


def _is_value(value: str, asked: ValueRequirement, join: _Join) -> bool:
    """Return whether a value meets the requirements of its name.

    The more loosely the two are joined, the stricter the check.
    """
    if len(value) < _SHORTEST or value[0] in "\\$" or _OF_ANALYTICS.match(value) or MARK in value:
        return False
    if not _DIGIT.search(value) and not is_strange(value):
        return False
    if (
        join.words
        and (not join.hard or asked is ValueRequirement.ANY_KEY and not join.prose)
        or _NAME_OF_ONE.fullmatch(value)
        or is_placeholder(value)  # The most expensive test.
        or is_measure(value)
    ):
        return False
    if asked is not ValueRequirement.PASSWORD:
        chosen = asked is ValueRequirement.SECRET and join.quoted and join.hard and not join.words and is_picked(value)
        return chosen or _is_key(value, asked, join)
    if is_picked(value):
        return True
    return join.hard and not join.words and (may_be_password(value) or _is_key(value, ValueRequirement.KEY, join))


_DIGIT = re.compile(r"\d")
# Cookies that only count visitors
_OF_ANALYTICS = re.compile(r"_(?:ga|gid|gat|gcl|fbp|fbc|hj|utm|pk_id)\w{0,20}=")
_NAME_OF_ONE = re.compile(
    r"[\w.]{0,60}?(?:password|passwd|passphrase|pass|pwd|pw|token|secret|key|auth)s?(?:_?\d{0,2}|_?(?:field|input|label|box|hint|error|form|placeholder)\d?)[:;)]?",
    re.IGNORECASE,
)


def is_picked(value: str) -> bool:
    """Return whether the word looks like a human-chosen password, in any context."""
    return (_WEAK.fullmatch(value) is not None or is_strong(value) or is_chosen(value)) and not is_placeholder(value)


def _is_key(value: str, asked: ValueRequirement, join: _Join) -> bool:
    if _HEX.fullmatch(value):
        return asked is not ValueRequirement.ANY_KEY or join.prose and join.hard and "-" not in value
    if is_strange(value):
        return join.hard and not join.words
    if is_lookup(value) or "-" in value and (is_wordy(value) or _MODEL.fullmatch(value)) or not any(c.isdigit() for c in value):
        return False
    if _RUN.fullmatch(value) is None or len(value) < (_SHORTEST_BARE_KEY if asked is ValueRequirement.ANY_KEY else _SHORTEST_KEY):
        return False
    plain = value.isalnum() and join.hard and asked is not ValueRequirement.ANY_KEY and sum(c.isdigit() for c in value) >= _DIGITS
    return plain or looks_random(value) and not is_wordy(value)


# Arguments of login calls

_CALL_WORDS = frozenset(("<call>",))
_CALL = re.compile(
    r"(?:connect\w{0,10}|log_?in|begin|PDO|mysqli|connection|credentials?|auth\w{0,12}|sign_?in|basic|(?:create|add)_?user|"
    r"register|\bbind(?:_s)?)(?:(?:->|::)__construct)?\((?P<arguments>[^()\n]{3,300})",
    re.IGNORECASE,
)
# Calls that take a key as their first argument, such as service clients and cryptographic functions
_KEYED = re.compile(
    r"(?:\b(?:stripe|openai|anthropic|twilio|sendgrid|mailgun|algolia\w{0,6}|bot|redis\w{0,10}(?:->|::|\.)auth|fernet|aes\.new|hmac\.new|secretbox|"
    r"bcrypt\.hash\w{0,4}|hash_?password))\(\s{0,3}b?"
    r"[\"'`](?P<secret>[^\"'`\s]{6,200})[\"'`]",
    re.IGNORECASE,
)
# A password flag and its value, as items of a list
_FLAGGED = re.compile(r"[\"'](?:-p|-pw|-P|-a|--pass\w{0,8})[\"']\s{0,2},\s{0,3}[\"'](?P<secret>[^\"'\s]{6,200})[\"']")
_ARGUMENT = re.compile(r"(?P<quote>[\"'`])(?P<secret>[^\"'`\s]{6,200})(?P=quote)")


def _arguments(text: str) -> Iterator[Found]:
    for call in _CALL.finditer(text):
        arguments = [*_ARGUMENT.finditer(text, call.start("arguments"), call.end("arguments"))]
        for argument in arguments:
            value = argument["secret"]
            first = not text[call.start("arguments") : argument.start()].strip()
            if not first and (is_picked(value) or may_be_password(value)):
                yield *argument.span("secret"), "password"


def _keyed(text: str) -> Iterator[Found]:
    for match in _KEYED.finditer(text):
        if _is_key(match["secret"], ValueRequirement.KEY, _Join(True, 0, True)) or is_picked(match["secret"]):
            yield *match.span("secret"), "key"
    for match in _FLAGGED.finditer(text):
        if is_picked(match["secret"]) or may_be_password(match["secret"]):
            yield *match.span("secret"), "password"


# A user name next to a password

_PAIR_WORDS = frozenset("<pair> admin root postgres deploy administrator".split())
_PAIR = re.compile(
    r"(?<![\w./@:-])(?P<user>[A-Za-z][\w.@-]{1,40}|\[redacted:[a-z-]{2,30}\])"
    r"(?P<bar>/|\s/\s|:|\s(?:(?:and|und|et|y|e|with|mit|avec|con|com)\s)?)"
    r"(?P<secret>[^\s\"'`/,;()<>]{6,80})"
)
_HEADS = frozenset("admin root sa postgres deploy administrator".split())
_LOGIN = re.compile(
    r"\b(?:log ?-?in|log(?:ged|s)? in|logins?|creds?|credentials|default|sign ?-?in|account|jenkins|grafana|kibana|ssh|"
    r"basic|auth|vpn|40[13]|"
    r"unifi|controller|kafka|sasl|minio|rabbitmq|mosquitto|mqtt|nas|synology|fritz\w{0,4}|printer|idrac|ipmi|ilo|"
    r"sftp|ftp|smb|ldap|portainer|proxmox|esxi|vcenter|pi-?hole|nextcloud|gitea|gitlab|web ?ui|console|"
    r"htpasswd|password|zugang|anmeld\w{0,6}|accès|acceso|wi-?fi|wlan|network|ssid|router|hotspot)\b",
    re.IGNORECASE,
)


_CAPITALS = re.compile(r"[A-Z][a-zà-ÿ]{2,14}[-_.][A-Z][a-zà-ÿ]{2,14}")
# Software with its version, as in "debian-12.7"
_VERSIONED = re.compile(r"[a-z]{2,20}-v?\d{1,4}(?:\.\d{1,4}){0,3}")


def _pairs(text: str) -> Iterator[Found]:
    for pair in _PAIR.finditer(text):
        value, user = _trimmed(pair["secret"]), pair["user"].casefold()
        if user.startswith(MARK):
            if _is_key(value, ValueRequirement.KEY, _Join(True, 0, False)):
                yield pair.start("secret"), pair.start("secret") + len(value), "key"
            continue
        start = text.rfind("\n", max(0, pair.start() - _REACH), pair.start()) + 1
        end = text.find("\n", pair.end(), pair.end() + _REACH)
        around = text[max(start, pair.start() - _REACH) : pair.end() + _REACH if end < 0 else end].replace(value, "")
        named = (
            user in ACCOUNTS
            or is_strong(value)
            or pair["bar"] == " / "
            or pair["bar"] == ":"
            and (not value.islower() or _WEAK.fullmatch(value))
        )
        spaced = pair["bar"] not in ("/", " / ", ":") and user not in _HEADS
        if is_name(value) or _VERSIONED.fullmatch(value) or not named or spaced or not _LOGIN.search(around):
            continue
        words = (
            pair["bar"] == " / " and pair["user"].islower() and _CAPITALS.fullmatch(value) is not None and not is_compound(value)
        )
        if words or is_picked(value) or pair["bar"] == " / " and _is_key(value, ValueRequirement.KEY, _Join(True, 0, False)):
            yield pair.start("secret"), pair.start("secret") + len(value), "password"


# The search runs only on texts that contain one of these literals.
ANCHORS = _STEMS.parts | _CALL_WORDS | _PAIR_WORDS | BOUND
